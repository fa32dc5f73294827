"""What one noised coordinate costs: a pair of laws (P, Q) that dominates it, as a law of its loss L = log dP/dQ
under P.

Each loss answers, for its stated direction or, where it has none, for the worse one (a maximum of profiles is again the
profile of a pair: it is convex in e^eps):

    pure          largest log ratio, a fraction that is not below it (inf where there is none)
    rho           a zCDP parameter that is known exactly, a fraction (inf where none is: `renyi` then says more)
    renyi(alpha)  Renyi divergence of an order > 1, rounded up
    mu            a GDP parameter, rounded up (inf where none is known)
    mirrored      the same coordinate when the two datasets change places
    profile(eps)  delta(eps) = E_P[(1 - e^(eps - L))^+] on a vector of real eps, negative ones included, rounded up
    cells(edges)  P- and Q-masses between edges, each with a relative error of at most `eta`
    window(tail)  where all of L is but for masses of about `tail`
    on_points(..) a law on points above it (see `grid_law`)

Dominating pairs compose under adaptivity (Zhu, Dong, Wang 2022, Theorem 10 and Proposition 9): what is computed from
them is an upper bound, whatever the directions in which coordinates without a stated one move. Where it is a loose one,
see `adaptive`. Losses are frozen and hashable, so that compositions can be cached.

A smaller shift is dominated by the full one: every noise here is log-concave, so the likelihood ratio of a
shift is monotone, the best tests are thresholds, and their power grows with the shift.
"""

import math
from abc import ABC, abstractmethod
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpverify.accounting import grid_law
from dpverify.accounting.grid_law import Cells, GridLaw
from dpverify.base.rounding import float_up, UNIT

Array = npt.NDArray[np.float64]
Exact = Fraction | float  # a fraction, or math.inf

RENYI_POINTS = 2**12 + 1
MODERATE = 600.0  # e^600 times any mass is a float
_PROBES = 2.0 ** np.arange(-60.0, 24.0, 0.25)


class Loss(ABC):
    """Base of all losses: a new family says `profile` and `cells`, and whatever of the rest it knows better."""

    @property
    def eta(self) -> float:
        """Bound on the relative error of every number that `cells` gives."""
        return 16 * UNIT

    @property
    def pure(self) -> Exact:
        """Largest log ratio; inf unless a family says otherwise."""
        return math.inf

    @property
    def pure_ways(self) -> "tuple[Exact, Exact]":
        """Largest log ratio in either order of the datasets, which for losses with a direction differ."""
        return self.pure, self.pure

    @property
    def rho(self) -> Exact:
        """D_alpha <= rho alpha for all alpha > 1, where that is known in closed form."""
        return math.inf

    @property
    def mu(self) -> float:
        """N(0,1) against N(mu,1) dominates the pair; inf where no such mu is known."""
        return math.inf

    @property
    def mirrored(self) -> "Loss":
        """The loss of the same coordinate when the two datasets change places; itself unless it has a direction."""
        return self

    @property
    def listable(self) -> bool:
        """False where the law has too many outputs to be listed: then only `pure`, `rho` and `renyi` are used."""
        return True

    @abstractmethod
    def profile(self, eps: Array) -> Array:
        """delta(eps), shape of eps: of the stated direction, else the larger of the two."""

    @abstractmethod
    def cells(self, edges: Array) -> Cells:
        """Masses of P and Q in (x_i, x_(i+1)], below and above, for increasing edges (one edge: no cell).

        Never differences of a computed profile: what counts is the *relative* error, also of 1e-40. The edges are the
        floats that are given, exactly.
        """

    def renyi(self, alpha: float) -> float:
        """D_alpha of the loss, rounded up, 1 < alpha < inf; here for pure losses, from a law on points.

        E_Q[(dP/dQ)^alpha] is the mean of v^(1 - alpha) under P, v = e^-L, convex and non-increasing as in Lemma 1 of
        `grid_law`, so the law above the loss has the larger divergence.
        """
        if not isinstance(self.pure, Fraction) or not 0 < self.pure < 10**4:
            return 0.0 if self.pure == 0 else math.inf
        pure = max(float_up(self.pure), 1e-280)  # points that floats tell apart
        law = self.on_points(np.linspace(-pure, pure, RENYI_POINTS))
        return math.inf if law.infinite > 0 else renyi_of(law.masses, law.points, alpha, 4 * self.eta + 64 * UNIT)

    def window(self, tail: float) -> tuple[float, float]:
        """(low, high) with P(L < low) and P(high < L < inf) of about `tail`; tightness hangs on it, never safety."""
        points = np.concatenate([-_PROBES[::-1], [0.0], _PROBES])
        cells = self.cells(points)
        at_most = cells.below[0] + np.concatenate([[0.0], np.cumsum(cells.p)])
        beyond = np.concatenate([np.cumsum(cells.p[::-1])[::-1], [0.0]])
        low = points[max(0, int(np.searchsorted(at_most, tail, side="right")) - 1)]
        high = points[min(len(points) - 1, int(np.argmax(beyond <= tail)))]
        pure = float_up(self.pure) if isinstance(self.pure, Fraction) else math.inf
        return max(float(low), -pure), min(float(high), pure)

    def on_points(self, points: Array) -> GridLaw:
        """A law above this one on increasing points: mass below goes to the lowest, mass above to infinite loss."""
        return grid_law.of_cells(points, self.cells(points), self.eta)


def renyi_of(masses: Array, losses: Array, alpha: float, slack: float) -> float:
    """log(E[e^((alpha - 1) L)])/(alpha - 1), rounded up, of upper bounds of losses and of masses that sum to 1.

    Masses are at most the share `slack` too large. Small exponents: log1p of the mean of expm1, whose positive terms
    take the masses and whose negative ones take them less the slack; no digits are lost where alpha is near 1.
    """
    losses, masses = losses[masses > 0], masses[masses > 0]
    if not len(losses):
        return 0.0
    size = float(np.abs(losses).max())
    if (alpha - 1) * size < 1:
        exponents = (alpha - 1) * losses
        terms = masses * np.expm1(exponents)
        terms = np.where(terms < 0, terms * (1 - slack), terms)
        moment = math.fsum(terms) + 8 * UNIT * math.fsum(np.abs(terms))
        return max(0.0, math.log1p(moment) / (alpha - 1) * (1 + 8 * UNIT))
    top = float(losses.max())
    with np.errstate(over="ignore"):
        log = math.log(math.fsum(masses * np.exp((alpha - 1) * (losses - top))))
    error = 8 * UNIT * (2 * size + (abs(log) + 2) / (alpha - 1))
    return max(0.0, (top + log / (alpha - 1) + error) * (1 + 4 * UNIT))


def renyi_of_symmetric(masses: Array, losses: Array, alpha: float) -> float:
    """The same where Q against P is the same pair, from upper bounds of losses and masses: nothing cancels.

    The outputs of loss l > 0 have mirror images of mass p e^-l at -l. With c = alpha - 1 and v = e^-l, E[e^(cL)] - 1 is
    the sum over l > 0 of p f(v), f(v) = (e^(cl) - 1) + e^-l (e^(-cl) - 1) = (e^(cl) - 1)(1 - e^(-alpha l)) = v^-c - v -
    1 + v^alpha: convex, non-increasing, and 0 with its derivative at v = 1. Set to 0 beyond, it stays so, hence laws
    above this one (`grid_law`, Lemma 1) have a larger sum. Terms err by 16u, exponents by 3u of themselves.
    """
    used = (losses > 0) & (masses > 0)
    losses, masses = losses[used], masses[used]
    if not len(losses):
        return 0.0
    c, top = alpha - 1, float(losses.max())
    with np.errstate(over="ignore"):
        falls = -np.expm1(-alpha * losses)
        if c * top < MODERATE:
            excess = math.fsum(masses * np.expm1(c * losses) * falls)
            return math.log1p(excess) / c * (1 + (32 + 4 * c * top) * UNIT)
        terms = masses * np.exp(c * (losses - top)) * -np.expm1(-c * losses) * falls
    log = math.log(math.fsum([math.exp(-min(c * top, 745.0)), *terms.tolist()]))
    return (top + log / c + 16 * UNIT * (2 * top + (abs(log) + 2) / c)) * (1 + 4 * UNIT)
