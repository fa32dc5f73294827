"""Certifying blocks that survive a crash: one line of a journal a block, written as soon as the block is counted.

A line belongs to a key: a digest of everything that determines the block's summary. Lines of other keys, a
last line cut short by the crash and repeated lines change nothing, so no block is lost and none counted twice.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from dpverify.base.errors import UsageError
from dpverify.runs import sources
from dpverify.runs.journal import Journal

Result = TypeVar("Result")


def digest(target: Any, *parts: Any) -> str:
    """A key for an experiment: the values of its target and of all else, the sources behind them, and our own.

    Data files that the target reads, and globals that are not as their modules are written, are the user's business, as
    with joblib.Memory. UsageError for values without a digest of their own: functions that are not importable by name.
    """
    import joblib

    home = sources.file_of(getattr(target, "function", None) or getattr(target, "once", None) or target)
    if not home:
        raise UsageError("checkpoint: the target has no source file, so that no edit of it would be seen")
    loaded = [str(getattr(each, "__file__", None) or "") for each in list(sys.modules.values())]
    code = [sources.digest([home, *loaded]), sources.own_digest(), sources.installed()]
    try:
        return str(joblib.hash((target, parts, code), hash_name="sha1"))
    except Exception as error:  # whatever a foreign object raises when it is pickled
        raise UsageError(
            f"checkpoint: the target has values that cannot be told apart ({type(error).__name__}: {error}); "
            "use functions and classes of a module"
        ) from error


@dataclass
class Checkpoint(Generic[Result]):
    """Summaries by (block index, block size) under one key, in a file that may hold several keys."""

    path: Path
    key: str
    encode: Callable[[Result], Any]
    decode: Callable[[Any], Result]
    _store: Journal = field(init=False)

    def __post_init__(self) -> None:
        self._store = Journal.of(self.path)

    def get(self, block: tuple[int, int]) -> Result | None:
        """The summary of a block that was done before, or None."""
        found = self._store.get(("block", self.key, *block))
        return None if found is None else self.decode(found)

    def add(self, block: tuple[int, int], summary: Result) -> None:
        """Remembers a block: on disk before this returns."""
        self._store.add(("block", self.key, *block), self.encode(summary))
