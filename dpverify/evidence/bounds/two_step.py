"""delta > 0, one threshold: two Clopper-Pearson limits, one for how often and one for how well it guesses.

With c = Pr[right], w = Pr[wrong], tau = c + w: c <= rho (tau - c) + d gives
theta = c/tau <= r + (1 - r) d/tau. tau enters weakly, so almost all of alpha is spent on theta.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.base import require
from dpverify.evidence.bounds import binomial_tails
from dpverify.evidence.bounds.binomial_tails import log10_of, log10_up, log_at_least, log_at_most
from dpverify.evidence.bounds.protocol import check_hypothesis, check_level, pooled, slack
from dpverify.evidence.bounds.rejection_region import (
    blocks,
    FloatArray,
    Region,
    response_limit,
    smallest_true,
    wrong_interval,
)
from dpverify.evidence.tally import IntArray, Tally

RATE_SHARE = 0.05  # share of alpha that goes to tau; fixed in advance for everybody, never tuned on data
_LOG_SMALLEST = -690.0  # `p_value` reads no less than e^-690, `log10_p_value` goes on


@dataclass(frozen=True)
class TwoStepTest:
    """eps_lower = logit((theta_L - kappa)/(1 - kappa)), kappa = d/tau_L.

    theta_L is the lower limit of v/m at 19 alpha/20, tau_L that of m/n at alpha/20; the error is at most
    their sum. Needs a fixed rule (independent trials), not the m most confident outputs of a batch.
    Rejections are nested in alpha, so the p-value is the smallest alpha that rejects.
    The first `levels` levels are pooled, None pools all.
    """

    levels: int | None = None
    name: ClassVar[str] = "threshold"

    @property
    def working(self) -> dict[str, Any]:
        return {}

    def p_value(self, tally: Tally, *, eps: float, delta: float) -> float:
        check_hypothesis(eps, delta)
        low, high = _LOG_SMALLEST, 0.0
        if not self._log_ratio(tally, delta, math.nextafter(1.0, 0.0)) >= eps:
            return 1.0
        if self._log_ratio(tally, delta, math.exp(low)) >= eps:
            return math.exp(low)
        while high - low > 1e-13 * max(1.0, -high):
            middle = (low + high) / 2
            rejected = self._log_ratio(tally, delta, math.exp(middle)) >= eps
            low, high = (low, middle) if rejected else (middle, high)
        return math.exp(high)

    def log10_p_value(self, tally: Tally, *, eps: float, delta: float) -> float:
        p = self.p_value(tally, eps=eps, delta=delta)
        if p > math.exp(_LOG_SMALLEST):
            return log10_of(p)
        right, wrong = pooled(tally, self.levels)
        guesses, d, rest = right + wrong, slack(tally, delta), float(special.expit(-eps))

        def rejected(log_level: float) -> bool:
            """Both limits at once: (1 - theta_L)(1 + rho) <= 1 - d/tau_L, each tail at its share of the level."""
            rate = _rate_lower(guesses, tally.trials, log_level + math.log(RATE_SHARE), d)
            wrong_rate = rest * (1 - d / rate) if rate > d else 0.0
            if not wrong_rate > 0:
                return False
            return bool(log_at_most(wrong, guesses, wrong_rate) <= log_level + math.log1p(-RATE_SHARE))

        low, high = 2 * _LOG_SMALLEST, _LOG_SMALLEST  # `high` rejects by `p_value`
        while rejected(low):
            low, high = 2 * low, low
        while high - low > 1e-12 * -high:
            middle = (low + high) / 2
            low, high = (low, middle) if rejected(middle) else (middle, high)
        return log10_up(high)

    def eps_lower(self, tally: Tally, *, delta: float, significance: float) -> float:
        check_level(delta, significance)
        bound = self._log_ratio(tally, delta, significance)
        return bound if bound > 0 else 0.0

    def _log_ratio(self, tally: Tally, delta: float, significance: float) -> float:
        """The bound before it is cut at 0; -inf where not even a ratio of 0 can be excluded."""
        right, wrong = pooled(tally, self.levels)
        guesses = right + wrong
        rate = binomial_tails.clopper_pearson_lower(guesses, tally.trials, RATE_SHARE * significance)
        slack_a_trial = slack(tally, delta)
        if not slack_a_trial < rate:
            return -math.inf
        kappa = slack_a_trial / rate
        rest = binomial_tails.clopper_pearson_upper(wrong, guesses, (1 - RATE_SHARE) * significance)  # 1 - theta_L
        return math.log((1 - kappa - rest) / rest) if 1 - kappa - rest > 0 else -math.inf


def _rate_lower(guesses: int, trials: int, log_level: float, least: float) -> float:
    """A lower limit of the rate of guesses at a level given by its logarithm; 0.0 where it is below `least`."""
    low, high = least, guesses / trials
    if least == 0:
        return high  # a slack of 0 asks nothing about the rate
    if not low < high or log_at_least(guesses, trials, low) > log_level:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if log_at_least(guesses, trials, middle) <= log_level else (low, middle)
    return low


# ----------------------------------------------------------------------------------------------------------------------
# delta > 0 with few or no wrong guesses, or many revealed trials: the exact unconditional test.
#
# Outcomes are ordered by the bound that the conditional test would give if the share of revealed guesses
# were its mean, kappa = d n/m; the bound is then made exact for this order (Buehler 1957): the p-value of
# H0(eps, delta) is the largest probability of an outcome at least as extreme as the observed one.
# The order does not depend on eps, so these p-values increase with eps and a bisection is valid.
# The rate of wrong guesses, a nuisance, is confined to a Clopper-Pearson interval whose error is added
# (Berger, Boos 1994).


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

    @property
    def working(self) -> dict[str, Any]:
        return {"nuisance": self.nuisance_level, "order": self.order_level}

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
