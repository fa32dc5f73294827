"""Null hypotheses as curves: the largest rate c of right guesses that w, the rate of wrong ones, allows."""

import math

import numpy as np

from dpverify.claims.claim import Claim
from dpverify.evidence.bounds.rejection_region import FloatArray, Limit


def response_limit(eps: float, d: float) -> Limit:
    """w -> min(1 - w, e^eps w + d), attained by the pair "reveal, else randomised response"."""
    ratio = math.exp(min(eps, 700.0))
    return lambda wrong: np.minimum(1 - wrong, ratio * wrong + d)


def exact_limit(claim: Claim) -> Limit:
    """The claim's own limit, vectorised; each rate costs one call."""
    return lambda wrong: np.array([claim.accuracy_limit(float(w)) if w < 1 else 0.0 for w in wrong])


def curve_limit(claim: Claim, low: float, high: float, *, one_sided: bool) -> Limit:
    """Upper bound on c given w in [low, high], vectorised: a concave curve lies below its extended chords.

    Between two of about 60 nodes in and around the interval the bound is the lower one of the chords of the
    neighbouring intervals, extended. It is never below the claim's limit, and meets it at inner nodes.
    """
    if one_sided:
        low, high = 2 * low, min(1.0, 2 * high)
    margin = 0.1 * (high - low) + 1e-12
    start, reach = max(0.0, low - margin), min(1.0, high + margin)
    near_zero = np.geomspace(max(start, reach * 1e-8), reach, 30)
    nodes = np.unique(np.concatenate([np.linspace(start, reach, 30), near_zero]))
    value = exact_limit(claim)(nodes)
    slope = np.diff(value) / np.diff(nodes)
    last = slope.size - 1

    def above(wrong: FloatArray) -> FloatArray:
        i = np.clip(np.searchsorted(nodes, wrong, side="right") - 1, 0, last)
        left, right = np.maximum(i - 1, 0), np.minimum(i + 1, last)
        from_left = np.where(i > 0, value[i] + slope[left] * (wrong - nodes[i]), np.inf)
        from_right = np.where(i < last, value[right] + slope[right] * (wrong - nodes[right]), np.inf)
        bound = np.maximum(np.minimum(from_left, from_right), 0.0)  # a chord through the origin may round below it
        return np.asarray(np.minimum(1 - wrong, bound), dtype=np.float64)

    return scaled(above, one_sided)


def scaled(limit: Limit, one_sided: bool) -> Limit:
    """g for a two-sided rule; for a one-sided one P(E)/2 <= f(Q(E))/2, and f(q) = g(q) where g(q) < 1 - q.

    Where g is cut off nothing better than 1 - w is claimed.
    """
    if not one_sided:
        return limit

    def half(wrong: FloatArray) -> FloatArray:
        both = np.minimum(2 * wrong, 1.0)
        value = limit(both)
        return np.asarray(np.where(value < 1 - both - 1e-12, value / 2, 1 - wrong), dtype=np.float64)

    return half


def explained(limit: Limit, wrong: FloatArray) -> FloatArray:
    """The limit made increasing: 1 from where it is not below 1 - w."""
    value = limit(wrong)
    return np.asarray(np.where(value < 1 - wrong - 1e-12, value, 1.0), dtype=np.float64)
