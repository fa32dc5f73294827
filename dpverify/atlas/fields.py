"""One TOML table, its keys asked for by kind: what is wrong is one line with file, place and what is allowed."""

import math
from collections.abc import Collection
from typing import Any

from dpverify.base.errors import UsageError

MISSING = object()


class Table:
    """A table of a TOML file. Every key that is not asked for until `done` is refused there.

    Every reader raises UsageError: `FILE: place.key = value: must be ...`.
    """

    def __init__(self, file: str, values: Any, place: str = "") -> None:
        self.file, self.place, self._asked = file, place, set[str]()
        if not isinstance(values, dict):
            raise UsageError(f"{file}: {place} = {values!r:.60}: must be a table")
        self._values = values

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def wrong(self, key: str, allowed: str) -> UsageError:
        """The line for a value of `key` that is not allowed, or not there."""
        name = f"{self.place}.{key}".strip(".")
        value = self._values.get(key, MISSING)
        said = "is missing" if value is MISSING else f"= {value!r:.80}"
        return UsageError(f"{self.file}: {name} {said}: must be {allowed}")

    def any(self, key: str, default: Any = MISSING) -> Any:
        """The value as it is."""
        self._asked.add(key)
        value = self._values.get(key, default)
        if value is MISSING:
            raise self.wrong(key, "given")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """A text that is not blank, on one line."""
        value = self.any(key, MISSING if default is None else default)
        if not isinstance(value, str) or (key in self and not value.strip()):
            raise self.wrong(key, "a text")
        return " ".join(value.split())

    def choice(self, key: str, allowed: Collection[str], default: str | None = None) -> str:
        """One of some texts."""
        value = self.text(key, default)
        if value not in allowed:
            raise self.wrong(key, "one of " + ", ".join(sorted(allowed)))
        return value

    def flag(self, key: str) -> bool:
        """True or false; false where it is not there."""
        value = self.any(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def number(self, key: str) -> float:
        """A number, inf allowed, NaN not."""
        value = self.any(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
            raise self.wrong(key, "a number")
        return float(value)

    def optional(self, key: str) -> float | None:
        """A number, or None where it is not there."""
        return self.number(key) if key in self else None

    def ends(self, key: str) -> tuple[float, float] | None:
        """Two numbers in order, or None where it is not there."""
        value = self.any(key, None)
        if value is None:
            return None
        fine = isinstance(value, list) and len(value) == 2
        if not fine or not all(isinstance(each, int | float) and not isinstance(each, bool) for each in value):
            raise self.wrong(key, "two numbers")
        low, high = map(float, value)
        if not low <= high:
            raise self.wrong(key, "two numbers, the smaller one first")
        return low, high

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; empty where it is not there."""
        value = self.any(key, [])
        if not isinstance(value, list) or not all(isinstance(each, str) and each.strip() for each in value):
            raise self.wrong(key, "a list of texts")
        return tuple(value)

    def mapping(self, key: str) -> dict[str, Any]:
        """A table that is handed on as it is; empty where it is not there."""
        value = self.any(key, {})
        if not isinstance(value, dict):
            raise self.wrong(key, "a table")
        return value

    def table(self, key: str) -> "Table":
        """A table in the table."""
        if key not in self:
            raise self.wrong(key, "a table")
        return Table(self.file, self.any(key), f"{self.place}.{key}".strip("."))

    def tables(self, key: str) -> list["Table"]:
        """A list of tables; empty where it is not there."""
        value = self.any(key, [])
        if not isinstance(value, list):
            raise self.wrong(key, "a list of tables")
        return [Table(self.file, each, f"{self.place}.{key}[{i}]".strip(".")) for i, each in enumerate(value)]

    def done(self) -> None:
        """Raises UsageError for a key that nobody asked for."""
        for key in self._values:
            if key not in self._asked:
                raise self.wrong(key, "left out: no such key; known here: " + ", ".join(sorted(self._asked)))
