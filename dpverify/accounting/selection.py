"""The best of a random number of runs: its Renyi divergences, from those of one run.

Let a run have law Q on outputs that are ordered by their score (ties by fresh coins), F its distribution function, f
the generating function of the number of runs K, drawn apart from all data. The best run's output is y with chance
f(F(y)) - f(F(y-)) = Q(y) E f'(X), X uniform on [F(y-), F(y)]. With Q', X' on the neighbour and X, X' made of one
uniform, u^a v^(1-a) is jointly convex, so by Jensen's inequality

    e^((a-1) D_a(A || A')) <= sum_y Q(y)^a Q'(y)^(1-a) E[f'(X)^a f'(X')^(1-a)]  (+ Pr[K = 0]),

and the bracket has a bound that does not depend on y, in terms of 1 - X: the chance of an event of one run.

Truncated negative binomial of shape s > -1 and parameter g: f'(x) = E[K] g^(s+1) (1 - (1-g) x)^(-s-1). p = 1 - (1-g) X
lies in [g, 1] and is the chance of an event of a run with a coin, so p'^b p^(1-b) <= e^((b-1) R(b)) for every order
b > 1. Hence p'^((s+1)(a-1)) p^(-(s+1)a) <= e^((s+1)(a-1)(1-1/b) R(b)) p^(-(s+1)(1 + (a-1)/b)), which is largest at
p = g:

    D_a <= R(a) + (s+1) ((1 - 1/b) R(b) + log(1/g)/b) + log E[K]/(a - 1).     (Theorem 2; b = 1 is its limit)

Poisson with mean m: f'(x) = m e^(m (x - 1)), and (a-1)(1-X') - a (1-X) <= (a-1) d where a run is (e, d)-DP with
e^e = a/(a-1):

    e^((a-1) D_a) <= e^-m + m e^((a-1) (R(a) + m d)).     (Theorem 6, with the chance e^-m of no run at all)

References: Papernot, Steinke (2022), Hyperparameter tuning with Renyi differential privacy, ICLR.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from dpverify.accounting.loss_laws import Array, ConvertedLoss, Exact, Losses
from dpverify.accounting.parameters import renyi_of_loss
from dpverify.base.rounding import UNIT
from dpverify.claims import profiles

ORDERS = 1 + np.exp(np.arange(-4.0, 7.0, 1 / 4))  # at which divergences are known; others may have smaller ones
UP = 1 + 64 * UNIT  # for a few operations on positive terms
LEAST_GAMMA = 1e-300  # smaller ones have no finite divergence here: their powers overflow
LEAST_SHAPE = 1e-30  # E[K] of a smaller one is that of 0 times 1 + |s| log(1/g) at most, which rounding covers
Runs = tuple[Losses, ...]  # what one run may cost: in both orders of the datasets


@dataclass(frozen=True)
class SelectedLoss(ConvertedLoss):
    """A SelectedLoss is the loss of the best of a random number of runs.

    Parameters
    ----------
    runs : tuple of tuple of (Loss, int)
        What one run may cost: losses and their numbers, in both orders of the datasets.
    gamma : float or None
        Parameter in (0, 1) of a truncated negative binomial number of runs; None for a Poisson one.
    shape : Fraction
        Its shape, above -1; 1 is geometric, 0 logarithmic.
    mean : float or None
        Mean of a Poisson number of runs; None for a negative binomial one.

    Notes
    -----
    Papernot, Steinke (2022), Hyperparameter tuning with Renyi differential privacy, Theorems 2 and 6; the module has
    the proofs.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpverify.accounting.noise_losses import LaplaceLoss
    >>> run = ((LaplaceLoss(Fraction(1, 2)), 1),)
    >>> SelectedLoss((run,), gamma=0.1, shape=Fraction(1), mean=None).pure  # (2 + shape) times that of a run
    Fraction(3, 2)
    """

    runs: Runs
    gamma: float | None
    shape: Fraction
    mean: float | None

    @property
    def pure(self) -> Exact:
        """(2 + shape) times that of a run: f' and the length of its interval change by no more."""
        totals = [[count * loss.pure for loss, count in losses] for losses in self.runs]
        if self.mean is not None or any(each == math.inf for total in totals for each in total):
            return math.inf
        return (2 + self.shape) * max((Fraction(sum(total)) for total in totals), default=Fraction(0))

    @property
    def listable(self) -> bool:
        return False

    def renyi(self, alpha: float) -> float:
        """See the module."""
        once = divergence(self.runs, alpha)
        if self.mean is not None:
            return self._poisson(once, alpha)
        assert self.gamma is not None
        if self.gamma < LEAST_GAMMA:
            return math.inf
        return (once + self._of_events() + _log_up(self.runs_on_average) / (alpha - 1)) * UP

    @property
    def runs_on_average(self) -> float:
        """E[K], rounded up."""
        if self.mean is not None:
            return self.mean
        assert self.gamma is not None
        shape, log = float(self.shape), math.log(self.gamma)
        ratio = 1 / -log if abs(shape) < LEAST_SHAPE else shape / -math.expm1(shape * log)
        return (1 - self.gamma) / self.gamma * ratio * (1 + 2**12 * UNIT)  # 1 - g has no error where it is small

    def _of_events(self) -> float:
        """(s+1) min over b of (1 - 1/b) R(b) + log(1/g)/b."""
        assert self.gamma is not None
        curve, log = divergences(self.runs), -math.log(self.gamma)
        least = min(log, float(np.min((1 - 1 / ORDERS) * curve + log / ORDERS)))
        return float(self.shape + 1) * least * UP

    def _poisson(self, once: float, alpha: float) -> float:
        assert self.mean is not None
        eps = math.log1p(1 / (alpha - 1)) * (1 - 4 * UNIT)  # e^eps <= alpha/(alpha - 1)
        missed = float(profiles.renyi_delta(ORDERS, divergences(self.runs), eps))
        if all(len(losses) == 1 and losses[0][1] == 1 for losses in self.runs):
            missed = min(missed, max(float(losses[0][0].profile(np.array([eps]))[0]) for losses in self.runs))
        inside = _log_up(self.mean) + (alpha - 1) * (once + self.mean * missed) * UP
        return float(np.logaddexp(-self.mean, inside)) / (alpha - 1) * UP + 64 * UNIT / (alpha - 1)

    def delta(self, eps: float) -> float:
        return profiles.renyi_delta(ORDERS, self._divergences, eps)

    @cached_property
    def _divergences(self) -> Array:
        return np.array([self.renyi(float(alpha)) for alpha in ORDERS])


def divergence(runs: Runs, alpha: float) -> float:
    """Compute the Renyi divergence of one run: the largest over its alternatives.

    Parameters
    ----------
    runs : tuple of tuple of (Loss, int)
        What one run may cost: losses and their numbers, for each alternative.
    alpha : float
        The order, 1 < alpha < inf.

    Returns
    -------
    float
        The largest of the sums, rounded up.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpverify.accounting.noise_losses import GaussianLoss
    >>> round(divergence((((GaussianLoss(Fraction(1, 4)), 2),),), 2.0), 12)
    0.5
    """
    return (
        max((math.fsum(count * renyi_of_loss(loss, alpha) for loss, count in losses) for losses in runs), default=0.0)
        * UP
    )


@lru_cache(maxsize=256)
def divergences(runs: Runs) -> Array:
    """Compute the Renyi divergences of one run at all of `ORDERS`.

    Parameters
    ----------
    runs : tuple of tuple of (Loss, int)
        What one run may cost: losses and their numbers, for each alternative.

    Returns
    -------
    array of float, shape (orders,)
        The largest of the sums at each order, rounded up.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpverify.accounting.noise_losses import GaussianLoss
    >>> from dpverify.accounting.selection import ORDERS
    >>> found = divergences((((GaussianLoss(Fraction(2)), 1),),))  # D_alpha = alpha
    >>> bool(abs(found / ORDERS - 1).max() < 1e-12)
    True
    """
    return np.array([divergence(runs, float(alpha)) for alpha in ORDERS])


def _log_up(number: float) -> float:
    """Its logarithm, rounded up, of either sign."""
    found = math.log(number)
    return found + 4 * UNIT * (abs(found) + 1)
