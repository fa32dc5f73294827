"""The one definition of neighbouring datasets.

`REPLACE_ONE`: same number of users, one user's record replaced by any other.
`ADD_OR_REMOVE_ONE`: one dataset is the other with one user's record added (removed).
A factor of two in l1 sensitivity lies between them, which is why a relation is part of every claim.

Typed datasets (anything with `differences`, see `Dataset`) are checked and refused when they are not
neighbours; plain arrays and objects are taken as the caller declares them, and the record says so. They must be of one
kind and shape: where one of them is no dataset for the code at all, what it does with it is no event of a release.
"""

import numbers
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dpverify.base import require
from dpverify.errors import NeighbourError


class Relation(Enum):
    """Which datasets count as neighbours."""

    REPLACE_ONE = "replace-one"
    ADD_OR_REMOVE_ONE = "add-or-remove-one"

    def __str__(self) -> str:
        return self.value


class Unit(Enum):
    """Whose data is protected: what one record stands for."""

    RECORD = "record"
    TRAJECTORY = "trajectory"  # a user = one whole episode

    def __str__(self) -> str:
        return self.value


class View(Enum):
    """What the adversary sees of a release."""

    CENTRAL = "central"  # the whole output of a trusted curator
    JOINT = "joint"  # every output but the one sent to the user who changed
    LOCAL = "local"  # the message of one user
    SHUFFLE = "shuffle"  # the multiset of all messages, without senders

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Difference:
    """How two datasets differ, counted in users: replaced in place, only in the second, only in the first."""

    replaced: int = 0
    added: int = 0
    removed: int = 0

    def allowed_by(self, relation: Relation) -> bool:
        """True when two datasets that differ so are neighbours (equal datasets are, trivially)."""
        if relation is Relation.REPLACE_ONE:
            return self.replaced <= 1 and not self.added and not self.removed
        return not self.replaced and self.added + self.removed <= 1

    def __str__(self) -> str:
        return f"{self.replaced} replaced, {self.added} added, {self.removed} removed"


@runtime_checkable
class Dataset(Protocol):
    """A dataset that knows how it differs from another one."""

    def differences(self, other: Any, /) -> Difference:
        """Difference from `self` to `other`."""
        ...


@dataclass(frozen=True, init=False)
class Records:
    """An ordered dataset of hashable records, one a user: `Records([3, 1, 2])`.

    Order is kept, since online mechanisms see a stream; one user added or removed may stand anywhere.
    """

    rows: tuple[Hashable, ...]

    def __init__(self, rows: Iterable[Hashable]) -> None:
        object.__setattr__(self, "rows", tuple(rows))

    def __len__(self) -> int:
        return len(self.rows)

    def differences(self, other: "Records", /) -> Difference:
        """Replaced where lengths agree; otherwise what is left after the common prefix and suffix."""
        return sequence_difference(self.rows, other.rows)


def sequence_difference(first: Sequence[Any], second: Sequence[Any]) -> Difference:
    """Difference of two streams of records (comparison with ==), by position or by one gap."""
    if len(first) == len(second):
        return Difference(replaced=sum(a != b for a, b in zip(first, second, strict=True)))
    shorter = min(len(first), len(second))
    head = next((i for i in range(shorter) if first[i] != second[i]), shorter)
    tail = next((i for i in range(shorter - head) if first[-1 - i] != second[-1 - i]), shorter - head)
    left, right = len(first) - head - tail, len(second) - head - tail
    both = min(left, right)
    return Difference(replaced=both, added=right - both, removed=left - both)


@dataclass(frozen=True)
class Pair:
    """Two neighbouring datasets, `first` and `second`.

    `relation`, where given, is the relation that the caller declares; a claim with another relation
    refuses the pair. `verified` is set by `Claim.check`: True where the datasets themselves were compared.
    `mixed`: the datasets may be of different kinds or shapes, as the code takes both; else such a pair is refused.
    """

    first: Any
    second: Any
    relation: Relation | None = None
    name: str = ""
    verified: bool = False
    mixed: bool = False

    def __iter__(self) -> Iterator[Any]:
        return iter((self.first, self.second))

    def __getitem__(self, arm: int) -> Any:
        return (self.first, self.second)[arm]

    def checked(self, relation: Relation) -> "Pair":
        """The pair under `relation`, or NeighbourError with how the two datasets really differ."""
        require.member(Relation, relation=relation)
        if self.relation is not None and self.relation is not relation:
            raise NeighbourError(f"pair {self.name!r} is declared {self.relation}, the claim is about {relation}")
        typed = isinstance(self.first, Dataset), isinstance(self.second, Dataset)
        if True in typed and type(self.first) is not type(self.second):
            raise NeighbourError(
                f"pair {self.name!r}: a {type(self.first).__name__} and a {type(self.second).__name__} "
                "cannot be compared; both datasets must be of one type"
            )
        unlike = "" if self.mixed else _unlike(self.first, self.second, same_size=relation is Relation.REPLACE_ONE)
        if unlike:
            raise NeighbourError(
                f"pair {self.name!r}: {unlike}; datasets must be of one kind and shape, "
                "or Pair(first, second, mixed=True) where the code takes both"
            )
        if typed == (False, False):
            return replace(self, relation=relation)
        difference = self.first.differences(self.second)
        if not difference.allowed_by(relation):
            raise NeighbourError(f"pair {self.name!r} is not {relation}: {difference}")
        return replace(self, relation=relation, verified=True)


# ----------------------------------------------------------------------------------------------------------------------
# Whether two datasets are of one kind and shape: numbers of all types are one kind, and so are lists and tuples.
#
# Objects of other classes say nothing of what is in them: they are of one kind where their classes are.


NUMERIC = "biufc"  # kinds of dtype


def _unlike(first: Any, second: Any, *, same_size: bool) -> str:
    """How the kinds or shapes differ, in words; empty where they do not."""
    kinds = _kind(first), _kind(second)
    if kinds[0] != kinds[1]:
        related = isinstance(first, type(second)) or isinstance(second, type(first))
        return "" if related and _is_other(first) and _is_other(second) else f"{kinds[0]} and {kinds[1]}"
    if isinstance(first, Records):
        return _unlike(first.rows, second.rows, same_size=False)  # lengths are compared as differences
    if isinstance(first, np.ndarray):
        if same_size and first.shape != second.shape:
            return f"arrays of shape {first.shape} and {second.shape}"
        return (
            _unlike(first.ravel().tolist(), second.ravel().tolist(), same_size=False) if first.dtype == object else ""
        )
    if hasattr(first, "columns"):
        if list(first.columns) != list(second.columns):
            return f"columns {list(first.columns)} and {list(second.columns)}"
        return _unlike_dtypes(first, second) or _unlike_sizes(first, second, same_size)
    if isinstance(first, dict):
        if first.keys() != second.keys() and (same_size or len(first.keys() ^ second.keys()) > 1):
            return f"keys {list(first)} and {list(second)}"
        found = (_unlike(first[key], second[key], same_size=False) for key in first.keys() & second.keys())
        return next((f"{each} under one key" for each in found if each), "")
    if isinstance(first, list | tuple | range):
        one, two = ({_kind(each): None for each in rows} for rows in (first, second))
        if one and two and one.keys() != two.keys():
            return f"records that are {' or '.join(one)}, and {' or '.join(two)}"
        return _unlike_sizes(first, second, same_size)
    return ""


def _unlike_sizes(first: Any, second: Any, same_size: bool) -> str:
    differ = same_size and len(first) != len(second)
    return f"{len(first)} and {len(second)} records under {Relation.REPLACE_ONE}" if differ else ""


def _unlike_dtypes(first: Any, second: Any) -> str:
    one, two = ([_kind_of_dtype(each) for each in frame.dtypes] for frame in (first, second))
    return "" if one == two else f"columns of {', '.join(one)} and {', '.join(two)}"


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {_kind_of_dtype(value.dtype)} with {value.ndim} axes"
    if isinstance(value, numbers.Number | np.bool_):
        return "a number"
    if value is None:
        return "None"
    for kind, word in ((str, "a string"), (bytes, "bytes"), (dict, "a dict"), (list | tuple | range, "a list")):
        if isinstance(value, kind):
            return word
    return f"a {type(value).__name__}"


def _kind_of_dtype(dtype: Any) -> str:
    kind = getattr(dtype, "kind", str(dtype))
    return {**dict.fromkeys(NUMERIC, "numbers"), **dict.fromkeys("UST", "strings")}.get(kind, str(dtype))


def _is_other(value: Any) -> bool:
    return not isinstance(value, np.ndarray | numbers.Number | str | bytes | dict | list | tuple | range)
