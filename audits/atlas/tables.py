"""A TOML table -> a frozen dataclass, by the types of its fields: what is wrong is one line with its file and place."""

import math
import tomllib
import types
from dataclasses import field, fields, is_dataclass, MISSING
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from dpverify.errors import UsageError


def one_of(*words: str) -> Any:
    """A field that has one of these words."""
    return field(metadata={"of": words})


def toml(file: Path) -> dict[str, Any]:
    """The file's table; UsageError where it has none."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{file}: cannot be read ({error})") from error


class Table:
    """A table of a file: `FILE: place.key = value: must be ...` for what is wrong in it."""

    def __init__(self, file: Path, values: Any, place: str = "") -> None:
        self.file, self.place = file, place
        if not isinstance(values, dict):
            raise UsageError(f"{file}: {place} = {values!r:.60}: must be a table")
        self.values: dict[str, Any] = dict(values)

    def wrong(self, key: str, allowed: str) -> UsageError:
        """The line for a value of `key` that is not allowed, or not there."""
        said = f"= {self.values[key]!r:.80}" if key in self.values else "is missing"
        return UsageError(f"{self.file}: {f'{self.place}.{key}'.strip('.')} {said}: must be {allowed}")

    def below(self, key: str, values: Any) -> "Table":
        """A table in the table."""
        return Table(self.file, values, f"{self.place}.{key}".strip("."))

    def tables(self, key: str) -> list["Table"]:
        """A list of tables; empty where it is not there."""
        value = self.values.get(key, [])
        if not isinstance(value, list):
            raise self.wrong(key, "a list of tables")
        return [self.below(f"{key}[{i}]", each) for i, each in enumerate(value)]

    def made(self, of: type[Any], **given: Any) -> Any:
        """The table as `of`; fields in `given` are not read, and no key may be left over."""
        hints, known = get_type_hints(of), {each.name: each for each in fields(of)}
        for key in self.values:
            if key not in known and key not in given:
                raise self.wrong(key, "left out: no such key; known here: " + ", ".join(sorted(known)))
        for name, each in known.items():
            if name in given:
                continue
            if name in self.values:
                given[name] = self._read(name, hints[name], each.metadata.get("of"))
            elif each.default is MISSING and each.default_factory is MISSING:
                raise self.wrong(name, "given")
        return of(**given)

    def _read(self, key: str, kind: Any, words: tuple[str, ...] | None) -> Any:
        value, parts = self.values[key], get_args(kind)
        if kind is str:
            if not isinstance(value, str) or not value.strip():
                raise self.wrong(key, "a text")
            value = " ".join(value.split())
            if words is not None and value not in words:
                raise self.wrong(key, "one of " + ", ".join(sorted(words)))
            return value
        if kind is bool:
            if not isinstance(value, bool):
                raise self.wrong(key, "true or false")
            return value
        if isinstance(kind, type) and is_dataclass(kind):
            return self.below(key, value).made(kind)
        if get_origin(kind) is tuple and parts[0] is str:
            if not isinstance(value, list) or not all(isinstance(each, str) and each.strip() for each in value):
                raise self.wrong(key, "a list of texts")
            return tuple(value)
        if get_origin(kind) is tuple:
            return tuple(each.made(parts[0]) for each in self.tables(key))
        if get_origin(kind) is dict:
            if not isinstance(value, dict):
                raise self.wrong(key, "a table")
            return value
        if isinstance(kind, types.UnionType) and parts[0] is float:
            if not is_number(value):
                raise self.wrong(key, "a number")
            return float(value)
        if not isinstance(value, list) or len(value) != 2 or not all(map(is_number, value)) or value[0] > value[1]:
            raise self.wrong(key, "two numbers, the smaller one first")
        return float(value[0]), float(value[1])


def is_number(value: Any) -> bool:
    """Whether it is a number, infinite ones too: no truth value, and not NaN."""
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)
