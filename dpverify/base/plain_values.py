"""Plain values against the types of dataclass fields: what comes from a child or a file is looked at before use."""

import json
import math
import traceback
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, TYPE_CHECKING, TypeVar

from dpverify.errors import DpverifyError, LostWorker, UsageError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")


def decoded(kind: type[T], plain: Any) -> T:
    """A value of `kind`, a dataclass, from what `asdict` and JSON make of it.

    Strict: every field is of its type ("1" is no number, true no integer) and no number is NaN, so that whatever a
    child answers or a file holds, all reports can be written. Names that are no fields are not looked at.

    Raises
    ------
    ValueError
        Names the first field that is not of its type.
    """
    import pydantic  # here: who reads no results need not load it

    if (place := _place_of_nan(plain)) is not None:
        raise ValueError(f"{place or kind.__name__} is NaN")
    try:
        found: T = _adapter(kind).validate_json(json.dumps(plain), strict=True)  # type: ignore[arg-type]
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or kind.__name__
        raise ValueError(f"{place} is {str(first['input'])[:60]!r}: {first['msg']}") from None
    return found


def json_schema(kind: type) -> dict[str, Any]:
    """The JSON schema (2020-12) of what `asdict` makes of a dataclass."""
    return dict(_adapter(kind).json_schema(mode="serialization"))


@cache
def _adapter(kind: Any) -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _place_of_nan(value: Any, place: str = "") -> str | None:
    """Where in plain values there is a NaN, as names with dots between them; None where there is none."""
    if isinstance(value, float):
        return place if math.isnan(value) else None
    inside: Any = value.items() if isinstance(value, Mapping) else enumerate(value) if _is_list(value) else ()
    found = (_place_of_nan(each, f"{place}.{name}" if place else str(name)) for name, each in inside)
    return next((each for each in found if each is not None), None)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


# ----------------------------------------------------------------------------------------------------------------------
# An exception as plain values: one line, its traceback, and the place in foreign code that it came from.


LONGEST = 4000  # characters of a message or a traceback that are handed on


def describe_error(error: BaseException) -> dict[str, Any]:
    """An exception as plain values: kind, one line, traceback, and the place in foreign code that it came from.

    The place is ("", 0) where it came from none.
    """
    frames_ = traceback.extract_tb(error.__traceback__)
    foreign = [frame for frame in frames_ if not _is_ours(frame.filename)]
    return {
        "kind": "memory" if _has(error, MemoryError) else "cluster" if _has(error, LostWorker) else "error",
        "expected": isinstance(error, DpverifyError),
        "usage": isinstance(error, UsageError),
        "type": type(error).__name__,
        "text": _text(error),
        "traceback": _told(error),
        "file": foreign[-1].filename if foreign else "",
        "line": (foreign[-1].lineno or 0) if foreign else 0,
    }


def is_described(plain: Any) -> bool:
    """Whether it may have been written by `describe_error`: what a child answers is not taken on its word."""
    kinds = {
        "kind": str,
        "expected": bool,
        "usage": bool,
        "type": str,
        "text": str,
        "traceback": str,
        "file": str,
        "line": int,
    }
    return isinstance(plain, dict) and all(isinstance(plain.get(name), kind) for name, kind in kinds.items())


def _told(error: BaseException) -> str:
    """The traceback of foreign code, causes included, without our files around it; all of it for a bug of ours."""
    shown = traceback.TracebackException.from_exception(error)
    pending: list[traceback.TracebackException | None] = [shown]
    foreign = False
    while pending:
        each = pending.pop()
        if each is not None:
            frames_ = [frame for frame in each.stack if not _is_ours(frame.filename)]
            foreign |= bool(frames_)
            each.stack = traceback.StackSummary.from_list(frames_)
            if not frames_:
                each.stack = None  # type: ignore[assignment]  # a header without lines is none
            pending += [each.__cause__, each.__context__, *(each.exceptions or ())]
    return "".join(shown.format() if foreign else traceback.format_exception(error))[-LONGEST:]


def _text(error: BaseException) -> str:
    try:
        return str(error)[:LONGEST]
    except Exception:  # foreign exceptions may fail to say what they are
        return ""


def _has(error: BaseException | None, kind: type[BaseException]) -> bool:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, kind):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def _is_ours(file: str) -> bool:
    return Path(file).is_relative_to(Path(__file__).parents[1])
