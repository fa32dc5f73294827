"""What a trial can end in: a value, or a failure that has a name. Nothing is dropped.

An exception raised on one dataset and not on the other is a leak like any other, so it must reach the score.
`release_outcomes` calls the target once for a whole block; when that raises, the block is released one trial
at a time and every exception becomes the outcome of its trial.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base.errors import DpverifyError, TargetError
from dpverify.trials.target import Array, name_of, Target


@dataclass(frozen=True, eq=False)
class Outcomes:
    """`values` has shape (size, ...); `failures` names the exception of each failed trial, "" where it has a value.

    Rows of `values` that belong to failed trials are zeros and must not be read.
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
    """Shape and kind of one release, fixed by the first successful one; every later block must agree."""

    shape: tuple[int, ...]
    kind: str  # NumPy dtype kind, after booleans became integers

    @property
    def items(self) -> int:
        """Numbers in one release."""
        return int(np.prod(self.shape, dtype=np.int64))


def output_form(target: Target, datasets: tuple[Any, Any], rngs: list[np.random.Generator]) -> OutputForm:
    """Form of one release, tried on the first dataset and, should that raise, on the second.

    TargetError when both raise: a target that never answers has no outcomes to compare.
    """
    raised: list[Exception] = []
    for data, rng in zip(datasets, rngs, strict=True):
        try:
            values = _as_values(target, target.release(data, rng=rng, size=1), size=1)
        except DpverifyError:
            raise
        except Exception as error:  # the target is foreign code: anything may come out of it
            raised.append(error)
        else:
            return OutputForm(values.shape[1:], values.dtype.kind)
    first = raised[0]
    raise TargetError(f"{name_of(target)}: release raised {type(first).__name__} on both datasets: {first}") from first


def release_outcomes(target: Target, data: Any, form: OutputForm, *, rng: np.random.Generator, size: int) -> Outcomes:
    """`size` trials on `data`, each with an outcome; TargetError when a release has another form than `form`."""
    if size == 0:
        return Outcomes(np.zeros((0, *form.shape), dtype=_DTYPES[form.kind]))
    try:
        return Outcomes(_checked(target, target.release(data, rng=rng, size=size), form, size))
    except DpverifyError:
        raise
    except Exception:  # some trial of the block failed: find out which
        return _one_by_one(target, data, form, rng, size)


def _one_by_one(target: Target, data: Any, form: OutputForm, rng: np.random.Generator, size: int) -> Outcomes:
    blank = np.zeros((1, *form.shape), dtype=_DTYPES[form.kind])
    rows, names = [], []
    for _ in range(size):
        try:
            rows.append(_checked(target, target.release(data, rng=rng, size=1), form, 1))
            names.append("")
        except DpverifyError:
            raise
        except Exception as error:
            rows.append(blank)
            names.append(type(error).__name__)
    return Outcomes(np.concatenate(rows), np.array(names))


_DTYPES: dict[str, Any] = {"f": np.float64, "i": np.int64, "u": np.uint64, "U": "U1"}


def _as_values(target: Target, released: Any, size: int) -> Array:
    values = np.asarray(released)
    if values.shape[:1] != (size,):
        raise TargetError(
            f"{name_of(target)}: release(..., size={size}) returned shape {values.shape}, must be ({size}, ...)"
        )
    if values.dtype.kind == "b":
        values = values.astype(np.int64)
    if values.dtype.kind not in _DTYPES:
        raise TargetError(f"{name_of(target)}: release returned dtype {values.dtype}, must be numbers or strings")
    return values


def _checked(target: Target, released: Any, form: OutputForm, size: int) -> Array:
    values = _as_values(target, released, size)
    if values.shape[1:] != form.shape:
        raise TargetError(
            f"{name_of(target)}: release returned shape {values.shape}, one release before had shape {form.shape}"
        )
    return values
