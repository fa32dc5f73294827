"""Interval arithmetic on arrays of floats, rounded outwards only where a result is not exact.

An interval is a pair (low, high) of float arrays of one shape. Sums, products and quotients that a float holds exactly
keep their ends, so that a sensitivity of 1 stays 1; all others are widened by one float at each end.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Interval = tuple[Array, Array]


def _widen(value: Array, error: Array) -> Interval:
    """The value as an interval: one float to the side on which the error lies; both where that is not known."""
    unknown = ~np.isfinite(error) & np.isfinite(value)
    low = np.where((error < 0) | unknown, np.nextafter(value, -np.inf), value)
    high = np.where((error > 0) | unknown, np.nextafter(value, np.inf), value)
    return low, high


def sum_of(a: Any, b: Any) -> Interval:
    """Bounds of a + b for two arrays of floats (the two-sum of Knuth gives the sign of the rounding error)."""
    a, b = np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float))
    with np.errstate(all="ignore"):
        total = a + b
        part = total - a
        error = (a - (total - part)) + (b - part)
        return _widen(total, np.where(np.isfinite(total), error, 0.0))


def product_of(a: Any, b: Any) -> Interval:
    """Bounds of a * b for two arrays of floats; 0 times infinity is 0 (the bound of a product with 0)."""
    a, b = np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float))
    with np.errstate(all="ignore"):
        zero = (a == 0) | (b == 0)
        product = np.where(zero, 0.0, a * b)
        error = np.where(np.isfinite(product) & ~zero, _product_error(a, b, product), 0.0)
        return _widen(product, error)


def _product_error(a: Array, b: Array, product: Array) -> Array:
    """a * b - product by Dekker's splitting; NaN where it overflows or underflows."""
    a1, a2 = _split(a)
    b1, b2 = _split(b)
    error = ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2
    tiny = np.abs(product) < 1e-290
    return np.where(tiny, np.nan, error)


def _split(a: Array) -> Interval:
    big = a * 134217729.0
    high = big - (big - a)
    return high, a - high


def quotient_of(a: Any, b: Any) -> Interval:
    """Bounds of a / b for arrays of floats without zeros in b."""
    a, b = np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float))
    with np.errstate(all="ignore"):
        quotient = a / b
        back = quotient * b
        remainder = (a - back) - _product_error(quotient, b, back)
        error = np.where(np.isfinite(quotient) & (a != 0), remainder * np.sign(b), 0.0)
        error = np.where(~np.isfinite(b) | ~np.isfinite(a), 0.0, error)
        return _widen(quotient, error)


def add(x: Interval, y: Interval) -> Interval:
    """Interval of sums; all numbers where infinities of both signs meet."""
    low, high = sum_of(x[0], y[0])[0], sum_of(x[1], y[1])[1]
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def subtract(x: Interval, y: Interval) -> Interval:
    """Interval of differences."""
    return add(x, (-np.asarray(y[1]), -np.asarray(y[0])))


def multiply(x: Interval, y: Interval) -> Interval:
    """Interval of products: the extremes of the products of ends."""
    products = [product_of(a, b) for a in x for b in y]
    low = np.minimum.reduce([low for low, _ in products])
    high = np.maximum.reduce([high for _, high in products])
    return low, high


def divide(x: Interval, y: Interval) -> Interval:
    """Interval of quotients; where the divisor may be 0: all numbers, or [0, inf] for non-negative both."""
    safe = (y[0] > 0) | (y[1] < 0)
    divisor = (np.where(safe, y[0], 1.0), np.where(safe, y[1], 1.0))
    quotients = [quotient_of(a, b) for a in x for b in divisor]
    low = np.minimum.reduce([low for low, _ in quotients])
    high = np.maximum.reduce([high for _, high in quotients])
    positive = (x[0] >= 0) & (y[0] >= 0)
    with np.errstate(all="ignore"):
        least = np.where(np.isfinite(y[1]) & (y[1] > 0), quotient_of(x[0], np.where(y[1] > 0, y[1], 1.0))[0], 0.0)
    low = np.where(safe, low, np.where(positive, least, -np.inf))
    return low, np.where(safe, high, np.inf)


def increasing(function: Callable[[Array], Any], x: Interval, floats: int = 4) -> Interval:
    """Interval of an increasing function whose floats are wrong by at most `floats` of the last place."""
    with np.errstate(all="ignore"):
        low, high = np.asarray(function(x[0]), float), np.asarray(function(x[1]), float)
    for _ in range(floats):
        low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
    return low, high


def hull(x: Interval, y: Interval) -> Interval:
    """The smallest interval that holds both."""
    return np.minimum(x[0], y[0]), np.maximum(x[1], y[1])


def total(x: Interval, axis: int) -> Interval:
    """Interval of sums along an axis."""
    low = np.zeros(np.delete(x[0].shape, axis % x[0].ndim))
    high = low.copy()
    for at in range(x[0].shape[axis]):
        low, high = add((low, high), (np.take(x[0], at, axis), np.take(x[1], at, axis)))
    return low, high
