"""Vocabulary of the single releases: query values as arrays, and how far they move.

`data` is the true value of a query, a scalar or an array of any shape v; a release has shape (size, *v).
The mechanism cannot know how the value was computed, so the sensitivity is a public setting, stated for
each relation (`dpverify.ledger.events.Sensitivity`).
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify import Pair, Relation
from dpverify.base import require
from dpverify.base.rounding import float_up
from dpverify.errors import ParameterError, TargetError
from dpverify.ledger import Sensitivity

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

IDEAL_REALS = "real arithmetic: what float64 rounding leaks (Mironov 2012) is not covered"


def reals(data: Any) -> FloatArray:
    """`data` as finite float64; ParameterError otherwise."""
    values = np.asarray(data)
    if values.dtype.kind not in "iuf" or not np.isfinite(values).all():
        raise ParameterError("data", data, "finite real numbers")
    return values.astype(np.float64)


def wholes(data: Any, *, limit: int = 2**60) -> IntArray:
    """`data` as int64; ParameterError when it is not of an integer type (2.0 is refused) or beyond `limit`."""
    values = np.asarray(data)
    if values.dtype.kind not in "iu" or np.any(values > limit) or np.any(values < -limit):
        raise ParameterError("data", data, f"integers between -{limit} and {limit}")
    return values.astype(np.int64)


def coordinates_of_pair(outputs: Any, pair: Pair) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(outputs, first, second) with shapes (size, n), (n,), (n,): n noised coordinates."""
    first, second = reals(pair.first), reals(pair.second)
    seen = np.asarray(outputs, dtype=np.float64)
    if first.shape != second.shape or seen.shape[1:] != first.shape or np.isnan(seen).any():
        raise TargetError(f"outputs {seen.shape} without NaN expected for values {first.shape} and {second.shape}")
    return seen.reshape(len(seen), first.size), first.ravel(), second.ravel()


def whole_side_by_side(outputs: Any, pair: Pair) -> tuple[IntArray, IntArray, IntArray]:
    """As `coordinates_of_pair`, in int64: distances between outputs and values cannot overflow."""
    first, second = wholes(pair.first), wholes(pair.second)
    seen = wholes(outputs, limit=2**62)
    if first.shape != second.shape or seen.shape[1:] != first.shape:
        raise TargetError(f"outputs {seen.shape} expected for values {first.shape} and {second.shape}")
    return seen.reshape(len(seen), first.size), first.ravel(), second.ravel()


def l1(sensitivity: Sensitivity, relation: Relation) -> Fraction:
    """Largest l1 distance between the values of neighbours, exactly."""
    return sum((Fraction(shift.size) * shift.count for shift in sensitivity.under(relation)), Fraction(0))


def laplace_scale(eps: float, sensitivity: Sensitivity, relation: Relation) -> float:
    """The least scale b of (discrete) Laplace noise with s/b <= eps, s the l1 distance; rounded up."""
    require.positive(eps=eps)
    checked_sensitivity(sensitivity, relation)
    return float_up(l1(sensitivity, relation) / Fraction(eps))


def laplace_eps(scale: float, sensitivity: Sensitivity, relation: Relation) -> float:
    """s/b for (discrete) Laplace noise of scale b, s the l1 distance; rounded up."""
    return float_up(l1(sensitivity, relation) / Fraction(scale))


def l2_squared(sensitivity: Sensitivity, relation: Relation) -> Fraction:
    """Square of the largest l2 distance between the values of neighbours, exactly."""
    return sum((Fraction(shift.size) ** 2 * shift.count for shift in sensitivity.under(relation)), Fraction(0))


def least_root(square: Fraction) -> float:
    """Smallest float >= sqrt(square)."""
    root = math.sqrt(square)
    while Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    while (below := math.nextafter(root, 0.0)) != root and Fraction(below) ** 2 >= square:
        root = below
    return root


def one_use_under(relation: Relation) -> Sensitivity:
    """One affected step under `relation`; nothing is stated about the other one."""
    replaced = relation is Relation.REPLACE_ONE
    return Sensitivity(replace=1 if replaced else None, add_remove=None if replaced else 1)


def checked_sensitivity(sensitivity: Sensitivity, relation: Relation) -> None:
    """Refuses anything but a `Sensitivity` that states something under `relation`."""
    require.member(Relation, relation=relation)
    if not isinstance(sensitivity, Sensitivity):
        raise ParameterError("sensitivity", sensitivity, "a Sensitivity(replace=..., add_remove=...)")
    sensitivity.under(relation)
