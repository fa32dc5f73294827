"""Inside a workflow of GitHub Actions: its runner reads commands in the output (`::error::`, `##[group]`).

While dpverify runs, commands are switched off by a token that nobody can guess: names, messages and whatever
audited code prints are text. Our own annotations are printed between the two.
"""

import os
import secrets
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

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
