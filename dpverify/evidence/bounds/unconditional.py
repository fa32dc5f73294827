"""delta > 0 with few or no wrong guesses, or many revealed trials: the exact unconditional test.

Outcomes are ordered by the bound that the conditional test would give if the share of revealed guesses
were its mean, kappa = d n/m; the bound is then made exact for this order (Buehler 1957): the p-value of
H0(eps, delta) is the largest probability of an outcome at least as extreme as the observed one.
The order does not depend on eps, so these p-values increase with eps and a bisection is valid.
The rate of wrong guesses, a nuisance, is confined to a Clopper-Pearson interval whose error is added
(Berger, Boos 1994).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.base import require
from dpverify.evidence.bounds import binomial_tails
from dpverify.evidence.bounds.binomial_tails import log10_of
from dpverify.evidence.bounds.protocol import check_hypothesis, check_level, pooled, slack
from dpverify.evidence.bounds.rejection_region import (
    blocks,
    FloatArray,
    Region,
    response_limit,
    smallest_true,
    wrong_interval,
)
from dpverify.evidence.bounds.two_step import TwoStepTest
from dpverify.evidence.tally import IntArray, Tally

_TOLERANCE = 1e-6  # eps_lower is this close to the largest rejected eps


@dataclass(frozen=True)
class UnconditionalTest:
    """p(eps) = max over w of Pr[an outcome at least as extreme], c = e^eps w + d, plus `nuisance_level`.

    nuisance_level   spent on the interval for the wrong rate; no p-value is smaller
    order_level      level of the conditional bound that orders the outcomes; any value is valid
    Both are fixed in advance. The first `levels` levels are pooled, None pools all.
    The computed p-value is an upper bound, tight to about 1 %, on one that increases with eps.
    """

    levels: int | None = None
    nuisance_level: float = 1e-3
    order_level: float = 0.05
    name: ClassVar[str] = "unconditional"

    def __post_init__(self) -> None:
        require.open_unit(nuisance_level=self.nuisance_level, order_level=self.order_level)

    def p_value(self, tally: Tally, *, eps: float, delta: float) -> float:
        check_hypothesis(eps, delta)
        region = self._region(tally, delta)
        return 1.0 if region is None else self._p_value(region, eps, slack(tally, delta))

    def log10_p_value(self, tally: Tally, *, eps: float, delta: float) -> float:
        return log10_of(self.p_value(tally, eps=eps, delta=delta))

    def eps_lower(self, tally: Tally, *, delta: float, significance: float) -> float:
        check_level(delta, significance)
        region = self._region(tally, delta)
        if region is None:
            return 0.0
        d = slack(tally, delta)
        near = TwoStepTest(self.levels).eps_lower(tally, delta=delta, significance=significance)
        return binomial_tails.largest_refuted(
            lambda eps: self._p_value(region, eps, d), significance, start=max(near, 0.01), tolerance=_TOLERANCE
        )

    def _p_value(self, region: Region, eps: float, d: float) -> float:
        return min(1.0, region.worst_probability(response_limit(eps, d)) + self.nuisance_level)

    def _region(self, tally: Tally, delta: float) -> Region | None:
        """Outcomes at least as extreme as the observed one; None when that is every outcome."""
        right, wrong = pooled(tally, self.levels)
        revealed = tally.trials * slack(tally, delta)
        if not right > revealed:
            return None
        # each outcome takes the weakest value among those with as many right and fewer wrong guesses
        fewer = np.arange(wrong + 1)
        observed = float(self._rest(np.full(wrong + 1, right), fewer, revealed).max()) * (1 + 1e-12)
        low, high = wrong_interval(wrong, tally.trials, self.nuisance_level)
        j, end = blocks(wrong, tally.trials, low, high)

        def as_extreme(v: IntArray) -> npt.NDArray[np.bool_]:
            guesses = np.maximum(v + j, 1)
            rest = observed * np.maximum(1 - revealed / guesses, 0.0)
            return np.asarray(
                (v > 0) & (special.betaincc(j + 1, np.maximum(v, 1), np.minimum(rest, 1)) <= self.order_level)
            )

        start = np.maximum.accumulate(smallest_true(as_extreme, j.size, tally.trials))
        start = np.where(j <= wrong, np.minimum(start, right), start)  # rounding must not exclude the observed one
        return Region(tally.trials, j, end, start, low, high)

    def _rest(self, right: IntArray, wrong: IntArray, revealed: float) -> FloatArray:
        """(1 - theta_L)/(1 - kappa) = 1/(1 + e^bound): smaller is more extreme."""
        rest = special.betainccinv(wrong + 1, right, self.order_level)
        return np.asarray(rest / (1 - revealed / (right + wrong)), dtype=np.float64)
