"""Reports of local protocols: what they support, unbiased frequencies, log ratios (Wang, Blocki, Li, Jha 2017).

A report supports a value v: a bit that is set, a member of a subset, a value whose hash is the reported one. Where a
user with value v supports v with probability p, and every other value with probability q,

    f^(v) = (mean over users of 1{report supports v} - q)/(p - q)

is an unbiased estimate of the share of users with value v (their Theorem 1).
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpverify import Pair
from dpverify.base import require
from dpverify.errors import ParameterError, TargetError
from mechanisms.toolbox import query_values as queries
from mechanisms.toolbox.query_values import FloatArray, IntArray

INWARD = 2**-48  # relative: probabilities are moved so much towards each other, which outweighs all rounding


def inward(p: float, q: float) -> tuple[float, float]:
    """p > q in (0, 1) a little closer to each other, as doubles: p down, q and 1 - p up by a relative 2^-48."""
    return p * (1 - INWARD) - (1 - p) * INWARD, q * (1 + INWARD) + (1 - q) * INWARD / 4


def checked_reports(eps: float, k: int) -> None:
    """ParameterError unless 0 < eps <= 30 and k >= 2 is a whole number."""
    require.positive(eps=eps)
    require.integer(at_least=2, k=k)
    if eps > 30:
        raise ParameterError("eps", eps, "at most 30: a lie must not be rarer than 2^-53")


def categories(data: Any, k: int) -> IntArray:
    """`data` as integers 0..k-1; ParameterError otherwise."""
    values = queries.wholes(data)
    if values.size and not (0 <= values.min() and values.max() < k):
        raise ParameterError("data", data, f"integers 0..{k - 1}")
    return values


def frequencies(supports: Any, p: float, q: float) -> FloatArray:
    """Estimated shares of all values; `supports` (..., users, k) is 1 where a report supports a value."""
    shares: FloatArray = (np.asarray(supports, dtype=np.float64).mean(axis=-2) - q) / (p - q)
    return shares


def reports_log_ratio(
    outputs: Any, pair: Pair, k: int, width: int, of_report: Callable[[IntArray, IntArray, IntArray], FloatArray]
) -> FloatArray:
    """Sum over users of log P(report | first)/P(report | second), `of_report(reports, first, second)`.

    Reports (size, users, width) and values (users,). TargetError for another shape of outputs.
    """
    first, second = categories(pair.first, k), categories(pair.second, k)
    seen = queries.wholes(outputs)
    if first.shape != second.shape or seen.shape[1:] != (*first.shape, width):
        raise TargetError(f"outputs {seen.shape} expected for values {first.shape} and {second.shape}")
    each = of_report(seen.reshape(len(seen), first.size, width), first.ravel(), second.ravel())
    total: FloatArray = np.where(first.ravel() == second.ravel(), 0.0, each).sum(axis=1)
    return total


def bit_eps(p: float, q: float) -> float:
    """log of p (1 - q)/((1 - p) q): two bits that swap their probabilities p and q."""
    return math.log(p) - math.log(q) + math.log1p(-q) - math.log1p(-p)
