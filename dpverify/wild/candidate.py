"""A pair of neighbouring datasets as records, before they have a form."""

from dataclasses import dataclass, replace

from dpverify.base.errors import NeighbourError
from dpverify.claims.neighbours import Relation
from dpverify.wild.datasets import Records
from dpverify.wild.neighbours import _cell, counted


@dataclass(frozen=True)
class Candidate:
    """Two datasets as records, neighbours under `relation`; `domain` is "in" or "out"."""

    name: str
    relation: Relation
    first: Records
    second: Records
    domain: str = "in"

    def __post_init__(self) -> None:
        ours, theirs = ([tuple(map(_cell, record)) for record in each] for each in (self.first, self.second))
        found = counted(ours, theirs)
        if not found.allowed_by(self.relation) or ours == theirs:
            raise NeighbourError(f"pair {self.name!r} is not {self.relation}: {found}")

    def swapped(self, first: Records, second: Records) -> "Candidate":
        """The same with other records."""
        return replace(self, first=first, second=second)

    def placed(self, row: int) -> "Candidate":
        """The same with the last record of the longer dataset, which is the changed one, as row `row` (from 0)."""
        if row == len(self.second) - 1:
            return self
        where = "the first" if row == 0 else f"row {row + 1}"
        name = self.name.replace("the last becomes", f"{where} becomes").replace("added:", f"added as {where}:")
        rest = self.second[:-1]
        first = (*rest[:row], self.first[-1], *rest[row:]) if len(self.first) == len(self.second) else self.first
        return replace(self, name=name, first=first, second=(*rest[:row], self.second[-1], *rest[row:]))
