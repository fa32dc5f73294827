"""Plain values against the types of dataclass fields: what comes from a child or a file is looked at before use."""

import math
import traceback
import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints, Union

from dpverify.errors import DpverifyError, LostWorker, UsageError


def check_fields(kind: type, plain: Any) -> None:
    """ValueError, which names the field, where a field of `kind` is not of its type or holds NaN somewhere.

    `plain` is what JSON makes of the dataclass: lists for tuples, strings for enumerations. Fields that are not there
    and names that are none are not looked at.
    """
    if not isinstance(plain, Mapping):
        raise ValueError(f"{kind.__name__} is {type(plain).__name__}, must be fields by name")
    for name, hint in _hints(kind).items():
        if name in plain and not _fits(plain[name], hint):
            raise ValueError(
                f"{name} is {str(plain[name])[:60]!r}, must be {getattr(hint, '__name__', hint)}, without NaN"
            )


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {each.name: hints[each.name] for each in fields(kind)}


_ATOMS: dict[type, Callable[[Any], bool]] = {
    str: lambda value: isinstance(value, str),
    bool: lambda value: isinstance(value, bool),
    int: lambda value: isinstance(value, int) and not isinstance(value, bool),
    float: lambda value: isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value),
    type(None): lambda value: value is None,
}


def _fits(value: Any, hint: Any) -> bool:
    if hint in _ATOMS:
        return _ATOMS[hint](value)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return value in [each.value for each in hint]
    if is_dataclass(hint) and isinstance(hint, type):
        return isinstance(value, Mapping) and all(
            name in value and _fits(value[name], inside) for name, inside in _hints(hint).items()
        )
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, each) for each in inside)
    if origin is tuple:
        return isinstance(value, list | tuple) and _all_fit(value, inside)
    if origin is dict:
        return isinstance(value, Mapping) and all(_fits(k, inside[0]) and _fits(v, inside[1]) for k, v in value.items())
    return _without_nan(value)


def _all_fit(values: Any, inside: tuple[Any, ...]) -> bool:
    if inside[-1] is Ellipsis:
        return all(_fits(each, inside[0]) for each in values)
    return len(values) == len(inside) and all(_fits(each, hint) for each, hint in zip(values, inside, strict=True))


def _without_nan(value: Any) -> bool:
    """Any: whatever JSON can hold, without NaN."""
    if isinstance(value, Mapping):
        return all(map(_without_nan, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_without_nan, value))
    return not (isinstance(value, float) and math.isnan(value))


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
    kinds = {"kind": str, "expected": bool, "usage": bool, "type": str, "text": str, "traceback": str, "file": str,
             "line": int}  # fmt: skip
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
