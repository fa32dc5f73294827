"""Certifying blocks that survive a crash: one line of a journal a block, written as soon as the block is counted.

A line belongs to a key: a digest of everything that determines the block's summary. Lines of other keys, a
last line cut short by the crash and repeated lines change nothing, so no block is lost and none counted twice.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, runtime_checkable, TypeVar

from dpverify.runs import provenance
from dpverify.runs.fingerprint import fingerprint
from dpverify.runs.journal import Journal

Result = TypeVar("Result")


class Store(Protocol):
    """Plain values by key: a journal, or a way to one."""

    def get(self, key: tuple[Any, ...]) -> Any:
        """The value, or None."""

    def add(self, key: tuple[Any, ...], value: Any) -> None:
        """Remembers it."""


@runtime_checkable
class PatientStore(Store, Protocol):
    """A store that may never need a value: most audits are done before anybody writes their blocks down."""

    def add_later(self, key: tuple[Any, ...], make: Callable[[], Any]) -> None:
        """Remembers what `make` returns."""


def digest(*parts: Any) -> str:
    """A key for an experiment: of its values and of the code that it runs, as loaded (`runs.fingerprint`).

    Equal keys: the same releases. What cannot be told apart only costs the blocks done before.
    """
    return fingerprint(*parts)


@dataclass
class Checkpoint(Generic[Result]):
    """Summaries by (block index, block size) under one key, in a file or store that may hold several keys."""

    path: Path | Store
    key: str
    encode: Callable[[Result], Any]
    decode: Callable[[Any], Result]
    _store: Store = field(init=False)

    def __post_init__(self) -> None:
        with provenance.aside():
            self._store = Journal.of(self.path) if isinstance(self.path, Path) else self.path

    def get(self, block: tuple[int, int]) -> Result | None:
        """The summary of a block that was done before, or None."""
        found = self._store.get(("block", self.key, *block))
        return None if found is None else self.decode(found)

    def add(self, block: tuple[int, int], summary: Result) -> None:
        """Remembers a block; where the store is a file, on disk before this returns."""
        with provenance.aside():
            place = ("block", self.key, *block)
            if isinstance(self._store, PatientStore):
                self._store.add_later(place, partial(self.encode, summary))
            else:
                self._store.add(place, self.encode(summary))
