"""An exception as plain values: one line, its traceback, and the place in foreign code that it came from."""

import traceback
from pathlib import Path
from typing import Any

from dpverify.base.errors import DpverifyError, LostWorker, UsageError

LONGEST = 4000  # characters of a message or a traceback that are handed on


def described(error: BaseException) -> dict[str, Any]:
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
    """Whether it may have been written by `described`: what a child answers is not taken on its word."""
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
