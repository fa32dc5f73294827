"""Foreign text, made fit to be shown: one `clean()` for every boundary.

Names of subjects, messages of exceptions, notes, witnesses and paths are written by others, and are read by
terminals, browsers, XML parsers and the runners of workflows, each with signs of its own that do something.
"""

import ast
import hashlib
import os
import secrets
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

from dpverify.errors import UsageError

LONGEST = 10_000
LABEL = 64  # signs of a label
# Cc control (with ESC, so no colours), Cf format (bidi overrides, zero width, soft hyphen), Cs lone surrogates,
# Co private, Cn unassigned, Zl and Zp line and paragraph separators
_SHOWN_AS_CODE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_SPACES = {"\t": " ", "\n": " ", "\r": " ", "\v": " ", "\f": " ", "\x85": " ", "\u2028": " ", "\u2029": " "}


def clean(text: object, *, lines: bool = False) -> str:
    r"""The text on one line, with every sign that does not print written as its code: ESC becomes \x1b.

    `lines` keeps line ends (as \n) and tabs. Equal texts stay equal, clean text stays as it is, and the result can
    be encoded in UTF-8 and in XML 1.0. Longer texts than 10,000 signs are cut, and say so.
    """
    found = text if isinstance(text, str) else str(text)
    if len(found) > LONGEST:
        found = found[: LONGEST - 40] + f"... ({len(found) - LONGEST + 40} more signs)"
    if found.isascii() and found.isprintable():
        return found
    if lines:
        found = found.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(map(_kept if lines else _shown, found))


def label(name: str) -> str:
    """A short clean name for what foreign code calls something: kept where it is one, else cut and told apart.

    Two names have one label only where they are equal (or 64-bit digests collide); no label is empty.
    """
    if 0 < len(name) <= LABEL and clean(name) == name and not name.isspace():
        return name
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{clean(name[:LABEL])[: LABEL - 20].strip() or 'unnamed'} [{digest}]"


def _kept(sign: str) -> str:
    return sign if sign in "\n\t" else _shown(sign)


def _shown(sign: str) -> str:
    if sign in _SPACES:
        return " "
    if unicodedata.category(sign) not in _SHOWN_AS_CODE:
        return sign
    code = ord(sign)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def cleaned(value: Any, *, long: tuple[str, ...] = ("traceback",)) -> Any:
    """A value with every text in it clean: in tuples, lists, dictionaries and dataclasses. `long` fields keep lines."""
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        return type(value)(cleaned(each, long=long) for each in value)
    if isinstance(value, dict):
        return {cleaned(name): cleaned(each, long=long) for name, each in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        changed: dict[str, Any] = {}
        for field in fields(value):
            old = getattr(value, field.name)
            new = clean(old, lines=True) if field.name in long and isinstance(old, str) else cleaned(old, long=long)
            if new is not old and new != old:
                changed[field.name] = new
        return replace(value, **changed) if changed else value
    return value


# ----------------------------------------------------------------------------------------------------------------------
# Inside a workflow of GitHub Actions: its runner reads commands in the output (`::error::`, `##[group]`).
#
# While dpverify runs, commands are switched off by a token that nobody can guess: names, messages and whatever
# audited code prints are text. Our own annotations are printed between the two.


_token = ""


@contextmanager
def only_text() -> Iterator[None]:
    """No line that is printed inside is a command; nothing is done outside of GitHub Actions."""
    global _token
    if os.environ.get("GITHUB_ACTIONS") != "true" or _token:
        yield
        return
    _token = secrets.token_hex(16)
    _print(f"::stop-commands::{_token}")
    try:
        yield
    finally:
        _print(f"::{_token}::")
        _token = ""


def commands(lines: Iterable[str]) -> None:
    """Prints workflow commands of our own; nothing outside of GitHub Actions."""
    lines = list(lines)
    if _token and lines:
        _print(f"::{_token}::", *lines, f"::stop-commands::{_token}")


def _print(*lines: str) -> None:
    sys.stderr.flush()
    for line in lines:
        print(line, flush=True)


def arguments(texts: list[str]) -> dict[str, Any]:
    """{name: value} of NAME=VALUE, each value as Python writes it; UsageError for anything else."""
    found: dict[str, Any] = {}
    for each in texts:
        name, sign, value = each.partition("=")
        if not sign or not name.isidentifier():
            raise UsageError(f"--arg {each!r}: must look like NAME=VALUE")
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise UsageError(
                f"--arg {each!r}: the value must be a number, tuple, ... as Python writes it; a text "
                f"in quotes: --arg \"{name}='{value}'\""
            ) from None
    return found


def many(count: int, noun: str) -> str:
    """`1 pair`, `2 pairs`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
