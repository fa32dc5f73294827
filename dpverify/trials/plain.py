"""What was released as an array, or INVALID: an array must not make two different releases one.

An array of numbers keeps what it was made from. A list need not: NumPy writes 1 beside "1" as "1", 2^53 + 1 beside 0.5
as 2^53, and no array of text keeps NUL at the end of a text. A long double has low bits that no score reads.
"""

from typing import Any

import numpy as np

from dpverify.base.errors import InvalidTrials
from dpverify.trials.target import Array, name_of

WIDEST = 8  # bytes of a floating-point number that scores read
WHOLE = 2**53  # integers beyond it need not be floating-point numbers
PLAIN = {float: "f", int: "iu", bool: "b"}  # Python's numbers, and what kind of array keeps them


def as_array(target: Any, released: Any) -> Array:
    """The release as an array, equal to it value by value; InvalidTrials where there is none."""
    values = np.asarray(released)
    if values.dtype.kind == "f" and values.dtype.itemsize > WIDEST:
        raise InvalidTrials(
            f"{name_of(target)}: release returned {values.dtype}, whose low bits are not read: return 64-bit numbers"
        )
    if values.dtype.kind in "biufU" and not _keeps(values, released):
        raise InvalidTrials(
            f"{name_of(target)}: release returned a list that no array keeps as it is (text beside numbers or bytes, "
            "whole numbers beyond 2^53 beside others, text that ends in NUL): return numbers of one kind, or text"
        )
    return values


def as_floats(target: Any, values: Array) -> Array:
    """Whole numbers among floating-point ones; InvalidTrials where they are too large to be the same numbers."""
    if values.dtype.kind in "iu" and values.size and (values.max() > WHOLE or values.min() < -WHOLE):
        raise InvalidTrials(f"{name_of(target)}: whole numbers beyond 2^53 beside floating-point ones: return one kind")
    return values.astype(float)


def _keeps(values: Array, released: Any) -> bool:
    """True where every value is what was released."""
    kind = type(released)
    if hasattr(released, "dtype") and not isinstance(released, str):
        return True
    if kind in PLAIN:
        return values.dtype.kind in PLAIN[kind]
    if isinstance(released, list | tuple) and all(_has(each, values.dtype) for each in released):
        return True
    given = np.array(released, dtype=object)
    if given.shape != values.shape:
        return False
    flat = given.ravel().tolist()
    kinds = set(map(type, flat))
    if len(kinds) == 1 and values.dtype.kind in PLAIN.get(next(iter(kinds), type(None)), ""):
        return True
    return all(_same(each, value) for each, value in zip(flat, values.ravel().tolist(), strict=True))


def _has(value: Any, dtype: np.dtype[Any]) -> bool:
    """True for an array of this type; False for text of its own, which may end in NUL."""
    return hasattr(value, "dtype") and not isinstance(value, str) and bool(value.dtype == dtype)


def _same(given: Any, value: Any) -> bool:
    if isinstance(value, str) or isinstance(given, str | bytes):
        return isinstance(given, str) and isinstance(value, str) and given == value
    if isinstance(given, np.generic):
        given = given.item()
    return bool(given == value or (given != given and value != value))
