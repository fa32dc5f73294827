"""What a trial can end in: a value, or a failure that has a name. Nothing is dropped.

How an exception becomes a failure: `failing`.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base.text import label
from dpverify.errors import InvalidTrials, TargetError
from dpverify.trials.target import Array, name_of

# ----------------------------------------------------------------------------------------------------------------------
# What was released as an array, or INVALID: an array must not make two different releases one.
#
# An array of numbers keeps what it was made from. A list need not: NumPy writes 1 beside "1" as "1", 2^53 + 1 beside
# 0.5 as 2^53, and no array of text keeps NUL at the end of a text. A long double has low bits that no score reads.


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


# ----------------------------------------------------------------------------------------------------------------------
# What a trial can end in: a value, or a failure that has a name. Nothing is dropped.


@dataclass(frozen=True, eq=False)
class Outcomes:
    """`values` has shape (size, ...); `failures` names the failure of each failed trial, "" where it has a value.

    A target may return one: its failures are outcomes then, and never lose a block (see `failing`). Rows of `values`
    that belong to failed trials are not read.
    """

    values: Array
    failures: npt.NDArray[np.str_] | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def failed(self) -> npt.NDArray[np.bool_]:
        """True where the trial has no value, shape (size,)."""
        return np.zeros(len(self), bool) if self.failures is None else self.failures != ""

    @property
    def finite(self) -> npt.NDArray[np.bool_]:
        """True where every coordinate is an ordinary number (or a category), shape (size,)."""
        if self.values.dtype.kind not in "fc":
            return ~self.failed
        return np.isfinite(self.rows).all(axis=1) & ~self.failed

    @property
    def rows(self) -> Array:
        """`values` with one row for each trial, shape (size, coordinates); also where there is no trial."""
        return self.values.reshape(len(self), math.prod(self.values.shape[1:]))

    def take(self, rows: Any) -> "Outcomes":
        """The selected trials."""
        return Outcomes(self.values[rows], None if self.failures is None else self.failures[rows])


def concatenate(parts: list[Outcomes]) -> Outcomes:
    """All trials of `parts`, in order."""
    values = np.concatenate([part.values for part in parts])
    if all(part.failures is None for part in parts):
        return Outcomes(values)
    names = [np.zeros(len(part), "U1") if part.failures is None else part.failures for part in parts]
    return Outcomes(values, np.concatenate(names))


@dataclass(frozen=True)
class OutputForm:
    """Shape, kind and dtype of one release, fixed by the first successful one; every later block must agree."""

    shape: tuple[int, ...]
    kind: str  # NumPy dtype kind, after booleans became integers
    dtype: str = ""  # of the array that was returned, see `dtype_of`; "" where it was none

    @property
    def items(self) -> int:
        """Numbers in one release."""
        return int(np.prod(self.shape, dtype=np.int64))


DTYPES: dict[str, Any] = {"f": np.float64, "i": np.int64, "u": np.uint64, "U": "U1"}


def read_outcomes(target: Any, released: Any, size: int) -> Outcomes:
    """What a target returned for `size` trials; TargetError for another shape or what is no number or string.

    InvalidTrials for a masked array, whose mask no score reads, and for what no array keeps, see above.
    """
    failures = None
    if isinstance(released, Outcomes):
        released, failures = released.values, released.failures
        if failures is not None and (np.shape(failures) != (size,) or np.asarray(failures).dtype.kind != "U"):
            raise TargetError(f"{name_of(target)}: failures must be {size} names, one a trial")
    if isinstance(released, np.ma.MaskedArray):
        raise InvalidTrials(
            f"{name_of(target)}: release returned a masked array, whose mask is not read: return plain numbers, "
            "and NaN or failures where there is no value"
        )
    values = as_array(target, released)
    if values.shape[:1] != (size,):
        raise TargetError(
            f"{name_of(target)}: release(..., size={size}) returned shape {values.shape}, must be ({size}, ...)"
        )
    if values.dtype.kind == "b":
        values = values.astype(np.int64)
    if values.dtype.kind not in DTYPES:
        raise TargetError(f"{name_of(target)}: release returned dtype {values.dtype}, must be numbers or strings")
    if failures is None:
        return Outcomes(values)
    names = _labels(np.asarray(failures))
    values = np.array(values)
    values[names != ""] = "" if values.dtype.kind == "U" else 0
    return Outcomes(values, names)


def _labels(names: npt.NDArray[np.str_]) -> npt.NDArray[np.str_]:
    """A copy with short clean names: an array of text is as wide as its longest, and all of them are shown."""
    known, index = np.unique(names, return_inverse=True)
    return np.array([label(str(each)) if each else "" for each in known], dtype="U")[index.reshape(-1)]


def dtype_of(released: Any) -> str:
    """Kind and width of the numbers that a target returned, byte order apart; "" for lists and the like, and text.

    Python's own numbers have no width, and that of an array of text is the length of its longest.
    """
    values = released.values if isinstance(released, Outcomes) else released
    if not hasattr(values, "dtype"):
        return ""
    dtype = np.asarray(values).dtype
    return "" if dtype.kind == "U" else dtype.str[1:]


def checked(target: Any, released: Any, form: OutputForm, size: int) -> Outcomes:
    """`read`, in the form of the first release; InvalidTrials where kind or width have changed: no score sees them."""
    outcomes = read_outcomes(target, released, size)
    if outcomes.values.shape[1:] != form.shape:
        raise TargetError(
            f"{name_of(target)}: release returned shape {outcomes.values.shape}, one release before had shape "
            f"{form.shape}"
        )
    if outcomes.values.dtype.kind != form.kind:
        raise InvalidTrials(
            f"{name_of(target)}: release returned {_KINDS[outcomes.values.dtype.kind]}, before it returned "
            f"{_KINDS[form.kind]}: every release must be of one kind"
        )
    same_dtype(target, dtype_of(released), form)
    return outcomes


def same_dtype(target: Any, dtype: str, form: OutputForm) -> None:
    """InvalidTrials where numbers are wider or narrower than those of the first release."""
    if dtype and form.dtype and dtype != form.dtype:
        raise InvalidTrials(
            f"{name_of(target)}: release returned {np.dtype(dtype)}, before it returned {np.dtype(form.dtype)}: every "
            "release must be of one dtype, which may tell the datasets apart and which no score reads"
        )


_KINDS = {"f": "floating-point numbers", "i": "integers", "u": "unsigned integers", "U": "text"}
