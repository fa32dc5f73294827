"""Binomial tails in logarithms, from above: a p-value of 10^-400 is a number too.

Where the tail itself is a double its logarithm is taken. Below that the largest term is summed as a geometric series:
beyond k the ratio of neighbouring terms only falls, so pmf(k)/(1 - first ratio) is an upper bound, and tight so far
out. Every result is raised by more than its own rounding.
"""

import math

import numpy as np
import numpy.typing as npt
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
