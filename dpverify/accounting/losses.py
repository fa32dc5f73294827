"""What one noised coordinate costs: the dominating pair of each noise family.

Each loss answers, for its worst neighbouring pair and for its direction (both at once where it has none):

    pure      largest log ratio, an exact fraction (inf where there is none)
    rho       its zCDP parameter, an exact fraction (inf where none is known)
    reach()   a loss beyond which `profile` is below TAIL
    profile() delta(eps) on a vector of real eps, negative ones included

A profile is the maximum over pairs and, without a direction, over directions. A maximum of convex functions
of e^eps is convex, so it is itself the profile of a dominating pair, and dominating pairs compose under
adaptivity (Zhu, Dong, Wang 2022, Theorem 10 and Proposition 9). That is why what `pld` computes from these
profiles is an upper bound, whatever the directions in which coordinates without a stated one move. Where
it is a loose one, see `adaptive`.

A smaller shift is dominated by the full one: every noise here is log-concave, so the likelihood ratio of a
shift is monotone, the best tests are thresholds, and their power grows with the shift.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.accounting.divergence import pure_to_zcdp
from dpverify.base.rounding import float_up, sqrt_up
from dpverify.claims import profiles

Array = npt.NDArray[np.float64]
Exact = Fraction | float  # a fraction, or math.inf

TAIL = 1e-18  # mass beyond `reach`, charged as infinite loss


class Loss(ABC):
    """Base of all losses; frozen and hashable, so that compositions can be cached."""

    @property
    def pure(self) -> Exact:
        """Largest log ratio; inf unless a family says otherwise."""
        return math.inf

    @property
    def rho(self) -> Exact:
        """zCDP parameter: eps^2/2 of a pure loss unless a family knows a better one."""
        pure = self.pure
        return pure_to_zcdp(pure) if isinstance(pure, Fraction) else math.inf

    @property
    def mirrored(self) -> "Loss":
        """The loss of the same coordinate when the two datasets change places; itself unless it has a direction."""
        return self

    @abstractmethod
    def reach(self) -> float:
        """A loss beyond which `profile` is at most TAIL, or the largest loss there is; that of the mirror, too."""

    @abstractmethod
    def profile(self, eps: Array) -> Array:
        """delta(eps), shape of eps: of the stated direction, else the larger of the two."""


@dataclass(frozen=True)
class _PureLoss(Loss):
    """A loss that reaches `eps` and never exceeds it."""

    eps: Fraction

    @property
    def pure(self) -> Fraction:
        return self.eps

    def reach(self) -> float:
        return float_up(self.pure)


@dataclass(frozen=True)
class LaplaceLoss(_PureLoss):
    """Lap(b) moved by a b: delta(eps) = 1 - exp((eps - a)/2) for |eps| <= a, and (1 - e^eps)^+ outside."""

    def profile(self, eps: Array) -> Array:
        a = self.reach()
        inside = -np.expm1((np.maximum(eps, -a) - a) / 2)
        return np.where(eps >= a, 0.0, np.where(eps <= -a, -np.expm1(np.minimum(eps, 0)), inside))


@dataclass(frozen=True)
class ResponseLoss(_PureLoss):
    """Any eps-DP step, as randomised response of eps (Kairouz, Oh, Viswanath 2015, Theorem 2.5)."""

    def profile(self, eps: Array) -> Array:
        a = self.reach()
        inside = -np.expm1(np.minimum(eps, a) - a) / (1 + math.exp(-a))
        return np.where(eps <= -a, -np.expm1(np.minimum(eps, 0)), inside)


@dataclass(frozen=True)
class KaryLoss(_PureLoss):
    """k-ary randomised response: two outputs with loss +-eps, k - 2 with loss 0."""

    k: int

    def profile(self, eps: Array) -> Array:
        a = self.reach()
        total = 1 + (self.k - 1) * math.exp(-a)  # every mass is divided by e^a
        told = -np.expm1(np.minimum(eps, a) - a)
        others = (self.k - 2) * math.exp(-a) * -np.expm1(np.minimum(eps, 0))
        other = math.exp(-a) * -np.expm1(np.minimum(eps + a, 0))
        return np.asarray((told + others + other) / total, dtype=np.float64)


@dataclass(frozen=True)
class GaussianLoss(Loss):
    """N(0,1) against N(mu,1); `square` = mu^2. Any number of Gaussians is one Gaussian (Dong, Roth, Su 2022)."""

    square: Fraction

    @property
    def rho(self) -> Fraction:
        return self.square / 2

    @property
    def mu(self) -> float:
        """mu rounded up; outside what floats carry, the next larger number that they do."""
        if not Fraction(1, 10**300) < self.square < 10**300:
            return math.inf if self.square > 1 else 1e-150
        return sqrt_up(self.square)

    def reach(self) -> float:
        return profiles.invert_profile(lambda eps: profiles.gaussian_delta(self.mu, eps), TAIL)

    def profile(self, eps: Array) -> Array:
        """Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), for any real eps."""
        mu = self.mu
        upper = special.log_ndtr(mu / 2 - eps / mu)
        lower = eps + special.log_ndtr(-mu / 2 - eps / mu)
        return np.asarray(-np.exp(upper) * np.expm1(np.minimum(lower - upper, 0)), dtype=np.float64)


@dataclass(frozen=True)
class RevealedLoss(Loss):
    """Released without noise: delta = 1."""

    def reach(self) -> float:
        return 0.0

    def profile(self, eps: Array) -> Array:
        return np.ones_like(eps)
