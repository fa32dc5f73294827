"""What a trial can end in: a value, or a failure that has a name. Nothing is dropped.

How an exception becomes a failure: below.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base.plain_values import describe_error
from dpverify.base.text import clean, label
from dpverify.errors import DpverifyError, InvalidTrials, ParameterError, TargetError
from dpverify.trials.target import Array, Failed, name_of, Target

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
    if (label := _labels_of(released)) is not None:
        raise InvalidTrials(
            "KIND",
            f"{name_of(target)}: release returned a {type(label).__name__}, whose labels no array keeps, and they are "
            "released as well: return its numbers (`.to_numpy()`), with labels that are public, or the labels as text",
        )
    values = np.asarray(released)
    if values.dtype == np.complex128:  # two numbers for each
        return np.stack([values.real, values.imag], axis=-1)
    if values.dtype.kind == "f" and values.dtype.itemsize > WIDEST:
        raise InvalidTrials(
            "KIND",
            f"{name_of(target)}: release returned {values.dtype}, whose low bits are not read: return 64-bit numbers",
        )
    if values.dtype.kind in "biufU" and not _keeps(values, released):
        raise InvalidTrials(
            "KIND",
            f"{name_of(target)}: release returned a list that no array keeps as it is (text beside numbers or bytes, "
            "whole numbers beyond 2^53 beside others, text that ends in NUL): return numbers of one kind, or text",
        )
    return values


def _labels_of(released: Any) -> Any:
    """The first series, frame or labelled array in a release: what an array would make of it is not all of it."""
    if isinstance(released, list | tuple):
        return next((found for each in released if (found := _labels_of(each)) is not None), None)
    if type(released) is np.ndarray or not hasattr(released, "__array__"):
        return None
    labelled = any(not callable(getattr(released, name, len)) for name in ("index", "columns", "coords"))
    return released if labelled else None


def as_floats(target: Any, values: Array) -> Array:
    """Whole numbers among floating-point ones; InvalidTrials where they are too large to be the same numbers."""
    if values.dtype.kind in "iu" and values.size and (values.max() > WHOLE or values.min() < -WHOLE):
        raise InvalidTrials(
            "KIND", f"{name_of(target)}: whole numbers beyond 2^53 beside floating-point ones: return one kind"
        )
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


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Releases of several trials, some of which may have failed.

    A target may return this in place of an array. Its failures are outcomes then: an attack may guess from them.

    Parameters
    ----------
    values : array of shape (size, ...)
        One row for each trial. Rows of failed trials are not read.
    failures : array of str, shape (size,), optional
        Name of the failure of each trial, "" for a trial that has a value. None if no trial failed.

    Examples
    --------
    >>> import numpy as np
    >>> from dpverify import Outcomes
    >>> Outcomes(np.array([1.5, 0.0]), np.array(["", "no candidate"])).failed
    array([False,  True])
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
            "KIND",
            f"{name_of(target)}: release returned a masked array, whose mask is not read: return plain numbers, "
            "and NaN or failures where there is no value",
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
            "KIND",
            f"{name_of(target)}: release returned {_KINDS[outcomes.values.dtype.kind]}, before it returned "
            f"{_KINDS[form.kind]}: every release must be of one kind",
        )
    same_dtype(target, dtype_of(released), form)
    return outcomes


def same_dtype(target: Any, dtype: str, form: OutputForm) -> None:
    """InvalidTrials where numbers are wider or narrower than those of the first release."""
    if dtype and form.dtype and dtype != form.dtype:
        raise InvalidTrials(
            "KIND",
            f"{name_of(target)}: release returned {np.dtype(dtype)}, before it returned {np.dtype(form.dtype)}: every "
            "release must be of one dtype, which may tell the datasets apart and which no score reads",
        )


_KINDS = {"f": "floating-point numbers", "i": "integers", "u": "unsigned integers", "U": "text"}


# ----------------------------------------------------------------------------------------------------------------------
# Trials that fail: what is recorded has the law of what was asked, for every block size.
#
# An exception raised on one dataset and not on the other is a leak like any other, so it must reach the score. How a
# failing trial becomes an outcome is settled by protocol, before anything is drawn:
#
#     returned    the target returns its failures as values: `Outcomes(values, failures)`, or `failure(name)` from the
#                 function given to `loop_trials`
#     looped      one trial a call (`loop_trials`): an exception is the outcome of its trial and of no other
#     redrawn     a vectorised call that raises says only that *some* trial of it failed. It is redrawn one trial a
#       call,
#                 again and again until a redrawn call contains a failure, and that one is recorded
#
# The last is exact. Let f be the probability that a call of n trials contains a failure. With probability 1 - f the
# call is recorded as it came, with the law of n trials given no failure; with probability f it is a draw from the law
# of n trials given at least one (rejection sampling). The mixture is the law of n trials. Throwing the failing call
# away and recording *any* redrawn call instead would thin failures by the factor f: about their squared rate in small
# blocks. It costs 1/f redrawn calls with probability f: one more pass over the trials on average, whatever the rate.
#
# A target whose vectorised call raises where single calls do not would be redrawn for ever. After every 16, 32, 64, ...
# vain calls as many vectorised ones are made with fresh streams. If both fail equally often, the first r failures are
# all among the vectorised ones with probability at most 2^-r: beyond `_needed` the target is called unfaithful.


RUN_FAILURES = (MemoryError, OSError, ImportError, RecursionError)  # of the machine, not answers of the mechanism
REDRAWN = "failing calls were redrawn one trial at a time until they contained a failure"
LOOPED = "one trial a call"
RETURNED = "returned by the target as values"
FIRST_COMPARISON = 16  # vain redrawn calls
SURE = 26  # failures of vectorised calls, 0 of single ones: 2^-26, twice for the arms, is 3e-8
MOST_REDRAWN = 5_000_000  # trials of one call that are redrawn at most
ATTEMPTS = 64  # releases that are tried before a target is said never to answer

Answers = tuple[type[BaseException], ...]
Streams = Callable[[int], np.random.Generator]  # the k-th stream of one call


def check_answers(answers: Any) -> Answers:
    """A tuple of exception types; ParameterError for anything else, and for KeyboardInterrupt, which is the user's."""
    allowed = "a tuple of exception types, without KeyboardInterrupt"
    kinds = isinstance(answers, tuple) and all(isinstance(e, type) and issubclass(e, BaseException) for e in answers)
    if not kinds or any(issubclass(KeyboardInterrupt, each) for each in answers):
        raise ParameterError("outcomes", answers, allowed)
    return tuple(answers)


def _named(target: Target, error: BaseException, answers: Answers) -> str:
    """The label under which an exception is the outcome of its trial; raises where it is none.

    Our own errors and Ctrl-C go on as they are. A failure of the run (`RUN_FAILURES`, and what is no `Exception`, such
    as SystemExit) is a TargetError unless it is listed as an answer.
    """
    if isinstance(error, DpverifyError | KeyboardInterrupt):
        raise error
    if isinstance(error, answers):
        return label(type(error).__name__)
    if isinstance(error, RUN_FAILURES) or not isinstance(error, Exception):
        kind = label(type(error).__name__)
        raise TargetError(
            f"{name_of(target)}: {kind}: {_told(error)}. That is a failure of the run and no outcome of a trial; where "
            f"it is an answer of the mechanism, say so: outcomes=({kind},)"
        ) from error
    return label(type(error).__name__)


def release_outcomes(
    target: Target, data: Any, form: OutputForm, streams: Streams, size: int, *, answers: Answers = (), index: int = 0
) -> tuple[Outcomes, str]:
    """`size` trials on `data`, each with an outcome, and how failures became outcomes ("" where none did).

    `index` counts the calls of an audit. Raises TargetError for a release of another shape than `form` and for a
    failure of the run, InvalidTrials for a release of another kind and for an unfaithful target.
    """
    if size == 0:
        return blank(form, 0), ""
    outcomes = one_call(target, data, form, streams(0), size, answers)
    looped = hasattr(target, "attempts")
    if isinstance(outcomes, Outcomes):
        return outcomes, "" if not outcomes.failed.any() else LOOPED if looped else RETURNED
    if size == 1:
        return Outcomes(blank(form, 1).values, np.array([outcomes])), LOOPED
    return _redrawn(target, data, form, streams, size, answers, index), REDRAWN


def one_call(
    target: Target, data: Any, form: OutputForm, rng: np.random.Generator, size: int, answers: Answers
) -> Outcomes | str:
    """What one call gives: outcomes, or the name of what it raised for all its trials together."""
    attempts = getattr(target, "attempts", None)
    if attempts is not None:
        return _looped(target, attempts(data, rng=rng, size=size, named=_namer(target, answers)), form, size)
    try:
        return checked(target, target.release(data, rng=rng, size=size), form, size)
    except BaseException as error:  # the target is foreign code: anything may come out of it
        return _named(target, error, answers)


def first_form(target: Target, datasets: tuple[Any, Any], streams: list[Streams], answers: Answers = ()) -> OutputForm:
    """Form of one release: of the first that succeeds, tried on both datasets in turn.

    TargetError when none of `ATTEMPTS` on either does: a target that never answers has no outcomes to compare.
    """
    last: BaseException | None = None
    for attempt in range(ATTEMPTS):
        for data, stream in zip(datasets, streams, strict=True):
            try:
                given = target.release(data, rng=stream(attempt), size=1)
                released = read_outcomes(target, given, size=1)
            except BaseException as error:
                _named(target, error, answers)
                last = last or error
                continue
            if not released.failed.any():
                return OutputForm(released.values.shape[1:], released.values.dtype.kind, dtype_of(given))
    if last is None:
        raise TargetError(f"{name_of(target)}: every release on both datasets is a failure")
    raise TargetError(
        f"{name_of(target)}: release raised {type(last).__name__} on both datasets: {_told(last)}"
    ) from last


def _told(error: BaseException) -> str:
    """What an exception says, and where in foreign code it was raised."""
    found = describe_error(error)
    try:
        text = clean(error)
    except Exception:  # foreign code
        text = "(no text)"
    return f"{text} ({Path(found['file']).name}:{found['line']})" if found["file"] else text


def blank(form: OutputForm, size: int) -> Outcomes:
    """`size` rows of zeros in this form."""
    return Outcomes(np.zeros((size, *form.shape), dtype=DTYPES[form.kind]))


def _redrawn(
    target: Target, data: Any, form: OutputForm, streams: Streams, size: int, answers: Answers, index: int
) -> Outcomes:
    """The call one trial at a time, conditioned on a failure; see the module."""
    rng = streams(1)
    vain, probed, raised = 0, 0, 0
    while vain * size < MOST_REDRAWN:
        outcomes = _one_by_one(target, data, form, rng, size, answers)
        if outcomes.failed.any():
            return outcomes
        vain += 1
        if vain >= FIRST_COMPARISON and vain & (vain - 1) == 0:
            calls = (one_call(target, data, form, streams(2 + k), size, answers) for k in range(probed, vain))
            raised += sum(isinstance(each, str) for each in calls)
            probed = vain
            if raised >= _needed(vain, index):
                raise InvalidTrials(
                    "CALL_SIZE",
                    f"{name_of(target)}: release(..., size={size}) raises where single releases do not ({raised} of "
                    f"{probed} calls against 0 of {vain}): what a call does must not depend on its size",
                )
    raise InvalidTrials(
        "CALL_SIZE",
        f"{name_of(target)}: release(..., size={size}) raised, and none of {vain * size} single releases did: either "
        "the call fails where its trials do not, or failures are too rare to be redrawn; return them as values "
        "(dpverify.trials.outcomes.Outcomes)",
    )


def _needed(vain: int, index: int) -> int:
    """Sum of 2^-needed over all comparisons of all calls and both arms: below 1e-7."""
    return math.ceil(SURE + math.log2(vain / FIRST_COMPARISON) + 2 * math.log2(index + 1))


def _one_by_one(
    target: Target, data: Any, form: OutputForm, rng: np.random.Generator, size: int, answers: Answers
) -> Outcomes:
    rows: list[Outcomes] = []
    for _ in range(size):
        found = one_call(target, data, form, rng, 1, answers)
        rows.append(found if isinstance(found, Outcomes) else Outcomes(blank(form, 1).values, np.array([found])))
    return concatenate(rows)


def _namer(target: Target, answers: Answers) -> Callable[[BaseException], str]:
    return lambda error: _named(target, error, answers)


def _looped(target: Target, released: list[Any], form: OutputForm, size: int) -> Outcomes:
    """Single releases, some of them `Failed`, stacked."""
    good = [as_array(target, each) for each in released if not isinstance(each, Failed)]
    shapes = {each.shape for each in good}
    if len(shapes) > 1:
        raise TargetError(f"{name_of(target)}: releases of different shapes: {sorted(shapes)}")
    for each in released:  # before they are stacked, which makes them equally wide
        if getattr(getattr(each, "dtype", None), "kind", "") == form.kind:
            same_dtype(target, dtype_of(each), form)
    if form.kind == "f":  # `return 0` beside floats: one number to Python, and to us
        good = [as_floats(target, each) if each.dtype.kind in "biu" else each for each in good]
    if form.kind == "U" and any(each.dtype.kind != "U" for each in good):
        raise InvalidTrials(
            "KIND", f"{name_of(target)}: release returned numbers, before it returned text: return one kind"
        )
    if len(good) == size:
        return checked(target, np.stack(good), form, size)
    names = np.array([label(each.name) if isinstance(each, Failed) else "" for each in released])
    if not good:
        return Outcomes(blank(form, size).values, names)
    stacked = checked(target, np.stack(good), form, len(good)).values
    values = np.zeros((size, *form.shape), dtype=stacked.dtype)
    values[names == ""] = stacked
    return Outcomes(values, names)
