"""Certifying blocks that survive a crash: one JSON line a block, written as soon as the block is counted.

A line belongs to a key: a digest of everything that determines the block's summary. Lines of other keys, a
last line cut short by the crash and repeated lines change nothing, so no block is lost and none counted twice.
"""

import hashlib
import json
import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")


def digest(*parts: Any) -> str:
    """A key for an experiment: SHA-256 of its pickled parts. Equal experiments in equal versions agree.

    A part whose pickle is not reproducible (a set, an open handle) only costs the blocks done before.
    """
    return hashlib.sha256(pickle.dumps(parts, protocol=5)).hexdigest()


@dataclass
class Checkpoint(Generic[Result]):
    """Summaries by (block index, block size) under one key, in a file that may hold several keys."""

    path: Path
    key: str
    encode: Callable[[Result], Any]
    decode: Callable[[Any], Result]
    _done: dict[tuple[int, int], Result] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        if not self.path.exists():
            return
        text = self.path.read_text(encoding="utf-8")
        for line in text.splitlines():
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:  # cut short by a crash: that block is run again
                continue
            if isinstance(entry, dict) and entry.get("key") == self.key:
                self._done[entry["block"], entry["size"]] = self.decode(entry["summary"])
        if text and not text.endswith("\n"):
            with self.path.open("a", encoding="utf-8") as file:
                file.write("\n")

    def __len__(self) -> int:
        return len(self._done)

    def get(self, block: tuple[int, int]) -> Result | None:
        """The summary of a block that was done before, or None."""
        return self._done.get(block)

    def add(self, block: tuple[int, int], summary: Result) -> None:
        """Remembers a block; on disk before this returns."""
        entry = {"key": self.key, "block": block[0], "size": block[1], "summary": self.encode(summary)}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._done[block] = summary
