"""Which fields of an output are looked at: all, or those that `--out` names, without those of `--public`."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.errors import UsageError
from dpverify.wild.local import ReleaseSource

AFTER = "[#.:"
MOST_NAMED = 12  # of the fields that are left out


def is_among(name: str, wanted: Sequence[str]) -> bool:
    """Whether a field is one of these, or a part of one."""
    return any(name == each or (name.startswith(each) and name[len(each)] in AFTER) for each in wanted)


class Narrowed:
    """A source whose releases show only some fields; exceptions and warnings always show."""

    def __init__(self, source: ReleaseSource, out: Sequence[str], public: Sequence[str]) -> None:
        self._source, self._out, self._public = source, tuple(out), tuple(public)
        self.name, self.hello = source.name, source.hello
        self.left_out: set[str] = set()
        self._met = False
        self.made = 0  # releases so far
        self.raised = ""  # where the last exception came from

    def check(self, data: bytes) -> None:
        """See `ReleaseSource`."""
        self._source.check(data)

    def versions(self) -> dict[str, str]:
        """See `ReleaseSource`."""
        return self._source.versions()

    def close(self) -> None:
        """See `ReleaseSource`."""
        self._source.close()

    def fields(self, data: bytes, seeds: Sequence[int]) -> dict[str, Any]:
        """See `ReleaseSource`."""
        answer = self._source.fields(data, seeds)
        self.made += len(seeds)
        self.raised = answer.get("raised", "") or self.raised
        answer["fields"] = [
            {name: value for name, value in each.items() if self._shown(name)} for each in answer["fields"]
        ]
        return answer

    def _shown(self, name: str) -> bool:
        if name[0] in "!~":
            return True
        met = not self._out or is_among(name, self._out)
        self._met |= met
        shown = met and not is_among(name, self._public)
        if not shown:
            self.left_out.add(name.rstrip("#").partition(":")[0])
        return shown

    @property
    def not_shown(self) -> str:
        """The fields that were left out, as `--out` takes them; the first of many."""
        every = sorted(self.left_out)
        return ", ".join(every[:MOST_NAMED]) + (f" and {len(every) - MOST_NAMED} more" * (len(every) > MOST_NAMED))

    def objection(self) -> None:
        """UsageError where no release had any field that was asked for."""
        if self._out and not self._met:
            raise UsageError(f"--out {', '.join(self._out)}: no such field; there are " + (self.not_shown or "none"))


# ----------------------------------------------------------------------------------------------------------------------
# Fields of releases as rows of numbers: learned from a first sample, complete for all that comes later.
#
# A field that varies in the sample gives its number, an indicator for each of its frequent texts, and whether it is
# there. A field that never varied costs nothing until it does: all of them, fields that are new, and texts that are new
# are one coordinate, `other`. Nothing is dropped, and None, NaN, infinities and absence are never 0.


FEW = 12  # texts of a field that have an indicator
OTHER = "any other field"
Fields = dict[str, Any]
Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class FieldColumn:
    """One coordinate: `kind` is value, present or text (equal to `text`)."""

    name: str
    kind: str
    text: str = ""

    @property
    def label(self) -> str:
        """The field in words."""
        return f"{self.name} = {self.text!r}" if self.kind == "text" else self.name


@dataclass(frozen=True, eq=False)
class Codebook:
    """Coordinates, and the fields that never varied with their value."""

    columns: tuple[FieldColumn, ...]
    constants: Fields
    varying: frozenset[str]
    twins: tuple[tuple[int, int], ...]  # (place among all columns of a copy, of what it copies)
    _all: tuple[FieldColumn, ...] = field(default=())

    @classmethod
    def of(cls, sample: Sequence[Fields]) -> "Codebook":
        """Learned from releases on both datasets."""
        names = sorted({name for each in sample for name in each})
        constants: Fields = {}
        columns: list[FieldColumn] = []
        for name in names:
            values = [each[name] for each in sample if name in each]
            if len(values) == len(sample) and all(_same(each, values[0]) for each in values):
                constants[name] = values[0]
                continue
            if len(values) < len(sample):
                columns.append(FieldColumn(name, "present"))
            if any(isinstance(each, float) for each in values):
                columns.append(FieldColumn(name, "value"))
            texts = Counter(each for each in values if isinstance(each, str))
            columns += [FieldColumn(name, "text", text) for text, _ in sorted(texts.most_common(FEW))]
        varying = frozenset(each.name for each in columns)
        rough = cls((), constants, varying, (), tuple(columns))
        matrix, _ = rough._filled(sample)
        kept: list[int] = []
        twins: list[tuple[int, int]] = []
        seen: dict[bytes, int] = {}
        for at in range(len(columns)):
            key = matrix[:, at].tobytes()
            if key in seen:
                twins.append((at, seen[key]))
            else:
                seen[key] = at
                kept.append(at)
        return cls(tuple(columns[at] for at in kept), constants, varying, tuple(twins), tuple(columns))

    @property
    def labels(self) -> tuple[FieldColumn, ...]:
        """All coordinates of a row."""
        return (*self.columns, FieldColumn(OTHER, "other"))

    def rows(self, releases: Sequence[Fields]) -> Array:
        """One row a release: the columns, then 1 where anything else is not as it was in the sample."""
        matrix, other = self._filled(releases)
        for copy, origin in self.twins:
            one, two = matrix[:, copy], matrix[:, origin]
            other |= ~((one == two) | (np.isnan(one) & np.isnan(two)))
        dropped = {copy for copy, _ in self.twins}
        kept = [at for at in range(len(self._all)) if at not in dropped]
        return np.column_stack([matrix[:, kept], other.astype(float)])

    def _filled(self, releases: Sequence[Fields]) -> tuple[Array, npt.NDArray[np.bool_]]:
        matrix = np.zeros((len(releases), len(self._all)))
        other = np.zeros(len(releases), bool)
        known: dict[str, set[str]] = {}
        for column in self._all:
            if column.kind == "text":
                known.setdefault(column.name, set()).add(column.text)
        numeric = {column.name for column in self._all if column.kind == "value"}
        may_lack = {column.name for column in self._all if column.kind == "present"}
        for row, release in enumerate(releases):
            for at, column in enumerate(self._all):
                value = release.get(column.name)
                if column.kind == "value":
                    matrix[row, at] = value if isinstance(value, float) else math.nan
                elif column.kind == "present":
                    matrix[row, at] = column.name in release
                else:
                    matrix[row, at] = value == column.text
            other[row] = self._odd(release, known, numeric, may_lack)
        return matrix, other

    def _odd(self, release: Fields, known: dict[str, set[str]], numeric: set[str], may_lack: set[str]) -> bool:
        for name, constant in self.constants.items():
            if name not in release or not _same(release[name], constant):
                return True
        for name, value in release.items():
            if name in self.constants:
                continue
            if name not in self.varying:
                return True
            if isinstance(value, str):
                if value not in known.get(name, ()):
                    return True
            elif name not in numeric:
                return True
        return any(name not in release and name not in may_lack for name in self.varying)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    return type(one) is type(other) and bool(one == other)
