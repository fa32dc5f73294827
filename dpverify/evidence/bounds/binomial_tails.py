"""Binomial tails in logarithms, from above: a p-value of 10^-400 is a number too.

Where the tail itself is a double its logarithm is taken. Below that the largest term is summed as a geometric series:
beyond k the ratio of neighbouring terms only falls, so pmf(k)/(1 - first ratio) is an upper bound, and tight so far
out. Every result is raised by more than its own rounding.
"""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt
import scipy
from scipy import special

FloatArray = npt.NDArray[np.float64]
Numbers = float | int | npt.NDArray[np.int64] | FloatArray

SMALLEST = math.ulp(0.0)  # what a p-value reads where a double cannot hold it
_LINEAR = 1e-290  # below, the incomplete beta function loses its accuracy, and then itself
_RELATIVE = 2.0**-40  # more than the relative error of the incomplete beta function
_ROUNDING = 2.0**-49  # more than the relative error of the terms of a log pmf


def log_at_most(k: Numbers, trials: int, p: float) -> FloatArray:
    """log Pr[Bin(trials, p) <= k] for 0 <= k <= trials and a small p; vectorised in k."""
    count = np.asarray(k, dtype=np.float64)
    if p <= 0:
        return np.zeros_like(count)
    tail = np.where(count < trials, special.betaincc(count + 1, np.maximum(trials - count, 1), p), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = count * (1 - p) / ((trials - count + 1) * p)
        return _bound(tail, ratio, _log_pmf(count, trials, p))


def log_at_least(k: Numbers, trials: int, p: float) -> FloatArray:
    """log Pr[Bin(trials, p) >= k] for 0 <= k <= trials and a small p; vectorised in k."""
    count = np.asarray(k, dtype=np.float64)
    tail = np.where(count > 0, special.betainc(np.maximum(count, 1), trials - count + 1, p), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (trials - count) * p / ((count + 1) * (1 - p))
        return _bound(tail, ratio, _log_pmf(count, trials, p))


def log_pmf(k: Numbers, trials: int, p: float) -> FloatArray:
    """log Pr[Bin(trials, p) = k], 0 < p < 1, from above."""
    return _log_pmf(np.asarray(k, dtype=np.float64), trials, p)


def log10_up(log: float) -> float:
    """Decimal logarithm from a natural one, at most 0, rounded up."""
    return min(0.0, log / math.log(10) + 2.0**-51 * abs(log))


def log10_of(p: float) -> float:
    """Decimal logarithm of a p-value that is a double > 0, rounded up."""
    return log10_up(math.log(p))


def _bound(tail: FloatArray, ratio: FloatArray, log_pmf: FloatArray) -> FloatArray:
    linear = np.log(np.maximum(tail, _LINEAR)) + _RELATIVE
    deep = log_pmf - np.log1p(-np.clip(ratio, 0.0, 1.0)) + _RELATIVE
    return np.minimum(0.0, np.where(tail >= _LINEAR, linear, deep))


def _log_pmf(k: FloatArray, trials: int, p: float) -> FloatArray:
    terms = [
        np.full_like(k, special.gammaln(trials + 1.0)),
        -special.gammaln(k + 1),
        -special.gammaln(trials - k + 1),
        k * math.log(p),
        (trials - k) * math.log1p(-p),
    ]
    size: FloatArray = np.abs(terms).sum(axis=0)
    return np.asarray(np.sum(terms, axis=0) + _ROUNDING * size)


# ----------------------------------------------------------------------------------------------------------------------
# Clopper-Pearson confidence limits for one binomial rate, each on its safe side.
#
# The inverse of the incomplete beta function is checked against the function itself and moved outwards by
# a relative 1e-14, 2e-14, 4e-14, ... until the binomial tail really is at most the level.


def clopper_pearson_lower(successes: int, trials: int, level: float) -> float:
    """Largest p with Pr[Bin(trials, p) >= successes] <= level; 0.0 for no success."""
    if successes == 0:
        return 0.0
    a, b = successes, trials - successes + 1
    return _outwards(float(special.betaincinv(a, b, level)), -1, lambda p: bool(special.betainc(a, b, p) <= level))


def clopper_pearson_upper(successes: int, trials: int, level: float) -> float:
    """Smallest p with Pr[Bin(trials, p) <= successes] <= level; 1.0 for no failure.

    Accurate for small rates: `1 - lower(failures, ...)` would lose them.
    """
    if successes == trials:
        return 1.0
    a, b = successes + 1, trials - successes
    start = float(special.betainccinv(a, b, level))
    return min(1.0, _outwards(start, +1, lambda p: bool(special.betaincc(a, b, p) <= level)))


def _outwards(start: float, direction: int, safe: Callable[[float], bool]) -> float:
    p, step = start, 1e-14
    while not safe(min(p, 1.0)) and step < 1:
        p *= 1 + direction * step
        step *= 2
    return p


# ----------------------------------------------------------------------------------------------------------------------
# Where something monotone changes: sup{eps : p(eps) <= alpha} on the side that is certified, and plans.


_TOLERANCE = 1e-12


def largest_refuted(
    p_value: Callable[[float], float], significance: float, *, start: float = 1.0, tolerance: float = _TOLERANCE
) -> float:
    """An eps >= 0 with p(eps) <= significance, about `tolerance` below the largest; 0.0 if p(0) > significance.

    `p_value` is increasing and exceeds `significance` < 1 somewhere. The returned point has been evaluated
    itself, so a certificate rests neither on the tolerance nor on the search. `start` > 0 is a guess.
    """
    p_value = cache(p_value)
    if p_value(0.0) > significance:
        return 0.0
    low, high, step = 0.0, start, 0.05 * start
    while p_value(high) <= significance:
        low, high, step = high, high + step, 2 * step
    while low == 0.0 and high > step and p_value(high - step) > significance:
        high, step = high - step, 2 * step
    low = max(low, high - step)

    def distance(eps: float) -> float:  # nearly linear where p behaves like a normal tail
        p = min(max(p_value(eps), 1e-300), 1 - 1e-16)
        return float(special.ndtri(p) - special.ndtri(significance))

    eps = float(scipy.optimize.brentq(distance, low, high, xtol=tolerance)) if distance(low) < 0 else low
    return step_down(p_value, significance, eps, tolerance)


def step_down(p_value: Callable[[float], float], significance: float, eps: float, step: float = _TOLERANCE) -> float:
    """First of eps, eps - step, eps - 3 step, eps - 7 step, ... that is rejected; 0.0 when none above 0 is."""
    while eps > 0 and p_value(eps) > significance:
        eps -= step
        step *= 2
    return eps if eps > 0 else 0.0


def least_reached(reached: Callable[[float], bool], low: float, high: float, *, most: float = math.inf) -> float:
    """Smallest x > low from which on `reached` is true, from above to 1e-4 of itself; inf when not up to `most`.

    `high` > 0 is a guess, doubled while it is too small. For plans: the point returned has been evaluated itself.
    """
    while not reached(high):
        if high >= most:
            return math.inf
        low, high = high, 2 * high
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
