"""What has been done, one line at a time: an append-only file of results by key (JSON lines).

    {"sum": "0123456789abcdef", "key": [...], "value": ...}

A line is on disk before the next one starts, and carries a checksum of itself. A last line that a crash cut
short and a line that does not agree with its checksum count as not written. Of lines with one key the last
counts.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, IO

from dpverify.errors import RunError

FOLDER = Path(".dpverify")
KEPT = 20  # journals of finished runs in a folder
_SUM = 16


@dataclass
class Journal:
    """Lines of one file; opened by `start` or, without a lock, `of`."""

    path: Path
    damaged: int = 0  # lines that were written and cannot be read
    _values: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    _file: IO[bytes] | None = None

    @classmethod
    def of(cls, path: Path) -> "Journal":
        """The lines of a file, which need not exist; it is locked while a line is written."""
        journal = cls(path)
        journal._read()
        return journal

    @classmethod
    def start(cls, path: Path, *, resume: bool = False) -> "Journal":
        """The journal of a run; what an earlier one left is dropped, or with `resume` read.

        RunError where another run has the file.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        ignore = path.parent / ".gitignore"
        if path.parent.name == FOLDER.name and not ignore.exists():
            ignore.write_text("*\n", encoding="ascii")
        journal = cls(path)
        journal._lock()
        assert journal._file is not None
        if resume:
            journal._read()
        else:
            journal._file.truncate(0)
        return journal

    def get(self, key: tuple[Any, ...]) -> Any:
        """The value of the last line with this key, or None."""
        return self._values.get(_plain_key(key))

    def items(self) -> Iterator[tuple[tuple[Any, ...], Any]]:
        """Keys and values, in the order of their first lines."""
        yield from self._values.items()

    def add(self, key: tuple[Any, ...], value: Any) -> None:
        """One more line; on disk when this returns."""
        line = _line(key, value)
        if self._file is not None:
            _append(self._file, line)
        else:
            with self.path.open("ab", buffering=0) as file, _locked(file, wait=True):
                _append(file, line)
        self._values[_plain_key(key)] = value

    def close(self) -> None:
        """Lets others have it."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _lock(self) -> None:
        file = self.path.open("ab", buffering=0)
        try:
            _locked(file, wait=False)
        except OSError:
            file.close()
            raise RunError(f"{self.path}: another run of the same selection is under way here") from None
        self._file = file

    def _read(self) -> None:
        if not self.path.exists():
            return
        *lines, torn = self.path.read_bytes().split(b"\n")
        for line in (*lines, torn):
            entry = _entry(line)
            if entry is not None:
                self._values[entry[0]] = entry[1]
            elif line and line is not torn:
                self.damaged += 1
        if torn:  # the next line begins on a line of its own
            with self.path.open("ab", buffering=0) as file:
                file.write(b"\n")


def prune(folder: Path, keep: int = KEPT) -> None:
    """Drops all but the newest journals of a folder."""
    with contextlib.suppress(OSError):
        found = sorted(folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in found[keep:]:
            path.unlink(missing_ok=True)


def _line(key: tuple[Any, ...], value: Any) -> bytes:
    body = json.dumps({"key": list(key), "value": value})
    return f'{{"sum": "{_checksum(body[1:])}", {body[1:]}\n'.encode("ascii")


def _entry(line: bytes) -> tuple[tuple[Any, ...], Any] | None:
    start = b'{"sum": "'
    try:
        text = line.decode("ascii")
        body = text[len(start) + _SUM + 3 :]
        if not line.startswith(start) or text[len(start) : len(start) + _SUM] != _checksum(body):
            return None
        entry = json.loads("{" + body)
        return _plain_key(tuple(entry["key"])), entry["value"]
    except (ValueError, KeyError, TypeError):
        return None


def _plain_key(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(tuple(each) if isinstance(each, list) else each for each in key)


def _checksum(body: str) -> str:
    return hashlib.sha256(body.encode("ascii")).hexdigest()[:_SUM]


def _append(file: IO[bytes], line: bytes) -> None:
    rest = memoryview(line)
    while rest:
        rest = rest[file.write(rest) :]
    os.fsync(file.fileno())


def _locked(file: IO[bytes], *, wait: bool) -> "contextlib.AbstractContextManager[Any]":
    """Holds the file's lock until it is closed; OSError where somebody else has it and `wait` is False."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        return contextlib.nullcontext()
    fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    return contextlib.nullcontext()
