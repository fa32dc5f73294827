"""The one definition of neighbouring datasets.

`REPLACE_ONE`: same number of users, one user's record replaced by any other.
`ADD_OR_REMOVE_ONE`: one dataset is the other with one user's record added (removed).
A factor of two in l1 sensitivity lies between them, which is why a relation is part of every claim.
A user may have many records (`unit`, `most`): then all of them are replaced, added or removed together.

Typed datasets (anything with `differences`, see `Dataset`) are checked and refused when they are not
neighbours; plain arrays and objects are taken as the caller declares them, and the record says so. They must be of one
kind and shape: where one of them is no dataset for the code at all, what it does with it is no event of a release.
"""

import numbers
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dpverify.base import require
from dpverify.errors import NeighbourError, UsageError


class Relation(Enum):
    """A Relation says which datasets count as neighbours.

    An l1 sensitivity under one of them may be twice that under the other, which is why a relation is part of every
    claim.

    Attributes
    ----------
    REPLACE_ONE
        Same number of users, one user's record replaced by any other.
    ADD_OR_REMOVE_ONE
        One dataset is the other with one user's record added (removed).

    Examples
    --------
    >>> from dpverify import PureDP, Relation
    >>> str(Relation.REPLACE_ONE), PureDP(1.0).relation is Relation.REPLACE_ONE
    ('replace-one', True)
    """

    REPLACE_ONE = "replace-one"
    ADD_OR_REMOVE_ONE = "add-or-remove-one"

    def __str__(self) -> str:
        return self.value


class Unit(Enum):
    """A Unit says whose data is protected: what one record stands for.

    Attributes
    ----------
    RECORD
        One record.
    USER
        All rows of one user, of which there may be many.
    TRAJECTORY
        One whole episode, which is a user.

    Examples
    --------
    >>> from dpverify import PureDP, Unit
    >>> str(PureDP(1.0, unit=Unit.USER).unit)
    'user'
    """

    RECORD = "record"
    USER = "user"  # all rows of one user, of which there may be many
    TRAJECTORY = "trajectory"  # a user = one whole episode

    def __str__(self) -> str:
        return self.value


class View(Enum):
    """A View says what the adversary sees of a release.

    Attributes
    ----------
    CENTRAL
        The whole output of a trusted curator.
    JOINT
        Every output but the one sent to the user who changed.
    LOCAL
        The message of one user.
    SHUFFLE
        The multiset of all messages, without senders.

    Examples
    --------
    >>> from dpverify import PureDP, View
    >>> str(PureDP(1.0, view=View.LOCAL).view)  # 1-LDP
    'local'
    """

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
        """True when two datasets that differ in at most so much are neighbours."""
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
    """An ordered dataset of hashable records, of which a pair can be checked to be neighbours.

    Order is kept, since online mechanisms see a stream. One user that is added or removed may stand anywhere. Without
    `unit` each record is a user.

    Parameters
    ----------
    rows : iterable of hashable
        The records.
    unit : int, str or callable, optional
        Says whose row it is, where a user has many rows: a place, the name of a field, or a function of the row.
    most : int, optional
        How many rows a user has at most.

    Raises
    ------
    UsageError
        For `most` without `unit`, a row without a user, and a user with more than `most` rows.

    Examples
    --------
    >>> from dpverify import Records
    >>> str(Records([3, 1, 2]).differences(Records([3, 2])))
    '0 replaced, 0 added, 1 removed'
    >>> users = Records([("ann", 3), ("bob", 1), ("ann", 2)], unit=0, most=2)
    >>> str(users.differences(Records([("bob", 1)], unit=0, most=2)))
    '0 replaced, 0 added, 1 removed'
    """

    rows: tuple[Hashable, ...]
    unit: Any = None
    most: int | None = None

    def __init__(self, rows: Iterable[Hashable], *, unit: Any = None, most: int | None = None) -> None:
        object.__setattr__(self, "rows", tuple(rows))
        object.__setattr__(self, "unit", unit)
        object.__setattr__(self, "most", most)
        _check_unit(unit, most)
        if unit is not None:
            rows_of_units(self.rows, unit, most)

    def __len__(self) -> int:
        return len(self.rows)

    def differences(self, other: "Records", /) -> Difference:
        """Replaced where lengths agree; otherwise what is left after the common prefix and suffix; users by `unit`."""
        if self.unit is None and other.unit is None:
            return sequence_difference(self.rows, other.rows)
        if (self.unit, self.most) != (other.unit, other.most):
            raise NeighbourError("the units of two Records differ: both need the same unit and most")
        return unit_difference(*(rows_of_units(each.rows, each.unit, each.most) for each in (self, other)))


def sequence_difference(first: Sequence[Any], second: Sequence[Any]) -> Difference:
    """Difference of two streams of records (comparison with ==), by position or by one gap."""
    if len(first) == len(second):
        return Difference(replaced=sum(a != b for a, b in zip(first, second, strict=True)))
    head, tail = common_ends(first, second)
    left, right = len(first) - head - tail, len(second) - head - tail
    both = min(left, right)
    return Difference(replaced=both, added=right - both, removed=left - both)


def common_ends(first: Sequence[Any], second: Sequence[Any]) -> tuple[int, int]:
    """Lengths of the longest common prefix, and of the longest common suffix of what is left."""
    shorter = min(len(first), len(second))
    head = next((i for i in range(shorter) if first[i] != second[i]), shorter)
    tail = next((i for i in range(shorter - head) if first[-1 - i] != second[-1 - i]), shorter - head)
    return head, tail


# ----------------------------------------------------------------------------------------------------------------------
# A unit with many rows: rows with the name of their unit in front.


UnitRows = Sequence[tuple[Hashable, Any]]


def changed_units(first: UnitRows, second: UnitRows) -> set[Hashable]:
    """Units whose rows differ, or that one dataset does not have."""
    ours, theirs = _by_unit(first), _by_unit(second)
    return {unit for unit in ours.keys() | theirs.keys() if ours.get(unit) != theirs.get(unit)}


def unit_difference(first: UnitRows, second: UnitRows) -> Difference:
    """Counted in units, whose rows may stand anywhere; a row of another unit that has moved counts as replaced."""
    changed = changed_units(first, second)
    there = [{unit for unit, _ in rows} for rows in (first, second)]
    added, removed = len(changed - there[0]), len(changed - there[1])
    both = min(added, removed)
    rest = ([each for each in rows if each[0] not in changed] for rows in (first, second))
    moved = sum(one != two for one, two in zip(*rest, strict=True))
    replaced = len(changed) - added - removed + both + moved
    return Difference(replaced=replaced, added=added - both, removed=removed - both)


def rows_of_units(data: Any, unit: Any, most: int | None) -> UnitRows:
    """The rows of Records, a list, an array, a table or a dict of columns, each with its unit.

    UsageError where a row has no such unit, and where a unit has more than `most` rows.
    """
    rows, names = _table(data)
    if names is not None and not callable(unit):
        if unit not in names:
            raise UsageError(f"unit = {unit!r}: no such column; there are " + ", ".join(map(str, names)))
        unit = names.index(unit)
    found = [(_unit_of(row, unit), row) for row in rows]
    if most is not None:
        refuse_more_rows((name for name, _ in found), most)
    return found


def refuse_more_rows(units: Iterable[Hashable], most: int) -> None:
    """UsageError for a unit with more rows than it may have."""
    name, count = max(Counter(units).items(), key=lambda each: each[1], default=("", 0))
    if count > most:
        raise UsageError(f"unit {name!r} has {count} rows; the most are {most}")


def _by_unit(rows: UnitRows) -> dict[Hashable, list[Any]]:
    found: dict[Hashable, list[Any]] = {}
    for unit, row in rows:
        found.setdefault(unit, []).append(row)
    return found


def _table(data: Any) -> tuple[list[Any], list[Any] | None]:
    """Rows, and the names of their columns where they have some."""
    if isinstance(data, Records):
        data = data.rows
    if isinstance(data, np.ndarray):
        names = list(data.dtype.names) if data.dtype.names else None
        return [_same(row) for row in data.tolist()] if data.ndim else [], names
    if hasattr(data, "columns") or isinstance(data, dict):
        names = list(data.columns if hasattr(data, "columns") else data)
        columns = [np.asarray(data[name]).tolist() for name in names]
        if not all(isinstance(each, list) for each in columns) or len(set(map(len, columns))) > 1:
            raise UsageError("unit: the columns of a dataset must be lists of one length")
        return [_same(row) for row in zip(*columns, strict=True)], names
    if isinstance(data, list | tuple):
        return [_same(row) for row in data], None
    raise UsageError(f"unit: {_kind(data)} has no rows; it must be a list, an array, a table, a dict or Records")


NAN = ("nan",)


def _same(row: Any) -> Any:
    """NaN is NaN."""
    if isinstance(row, list | tuple):
        return tuple(NAN if isinstance(each, float) and each != each else each for each in row)
    return row


def _unit_of(row: Any, unit: Any) -> Hashable:
    try:
        if callable(unit):
            found = unit(row)
        elif isinstance(unit, str) and not isinstance(row, dict):
            found = getattr(row, unit)
        else:
            found = row[unit]
        hash(found)
        if found is None or found is NAN:
            raise LookupError
    except (LookupError, TypeError, AttributeError):
        raise UsageError(f"unit = {unit!r}: there is none in a row that is {_kind(row)}") from None
    return found  # type: ignore[no-any-return]


def _check_unit(unit: Any, most: Any) -> None:
    if most is not None:
        require.integer(at_least=1, most=most)
        if unit is None:
            raise UsageError(f"most = {most!r}: needs unit, which says whose row it is")


@dataclass(frozen=True)
class Pair:
    """Two neighbouring datasets.

    Parameters
    ----------
    first, second : any
        What the target takes as `data`.
    relation : Relation, optional
        What the caller declares. A claim with another relation refuses the pair.
    name : str
        What reports call the pair.
    verified : bool
        Is set by `Claim.check`: True if the datasets themselves were compared.
    mixed : bool
        True if the datasets may be of different kinds or shapes, because the code takes both. Otherwise such a pair is
        refused.
    unit : str, int or callable, optional
        Says whose row it is, where a user has many rows: a column, a field, or a function of the row. The pair may then
        differ in all rows of one user, and the claim must be about users: `unit=Unit.USER`.
    most : int, optional
        How many rows a user has at most.

    Raises
    ------
    UsageError
        For `most` without `unit`, and for a `most` that is no whole number.

    Examples
    --------
    >>> from dpverify import Pair, PureDP, Records
    >>> pair = Pair(Records([1, 0, 1]), Records([1, 1, 1]), name="a bit flipped")
    >>> PureDP(1.0).check(pair).verified
    True
    """

    first: Any
    second: Any
    relation: Relation | None = None
    name: str = ""
    verified: bool = False
    mixed: bool = False
    unit: Any = None
    most: int | None = None

    def __post_init__(self) -> None:
        _check_unit(self.unit, self.most)

    @property
    def of_users(self) -> bool:
        """Whether all rows of a user are the unit."""
        return self.unit is not None or any(isinstance(each, Records) and each.unit is not None for each in self)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.first, self.second))

    def __getitem__(self, arm: int) -> Any:
        return (self.first, self.second)[arm]

    def checked(self, relation: Relation, unit: Unit | None = None) -> "Pair":
        """The pair under `relation`, or NeighbourError with how the two datasets really differ."""
        require.member(Relation, relation=relation)
        if self.relation is not None and self.relation is not relation:
            raise NeighbourError(f"pair {self.name!r} is declared {self.relation}, the claim is about {relation}")
        if unit is Unit.RECORD and self.of_users:
            raise NeighbourError(
                f"pair {self.name!r} differs in all rows of a user, the claim is about one record: it "
                "needs unit=Unit.USER"
            )
        typed = isinstance(self.first, Dataset), isinstance(self.second, Dataset)
        if True in typed and type(self.first) is not type(self.second):
            raise NeighbourError(
                f"pair {self.name!r}: a {type(self.first).__name__} and a {type(self.second).__name__} "
                "cannot be compared; both datasets must be of one type"
            )
        same_size = relation is Relation.REPLACE_ONE and self.unit is None  # a user may have other numbers of rows
        unlike = "" if self.mixed else _unlike(self.first, self.second, same_size=same_size)
        if unlike:
            raise NeighbourError(
                f"pair {self.name!r}: {unlike}; datasets must be of one kind and shape, "
                "or Pair(first, second, mixed=True) where the code takes both"
            )
        if self.unit is not None:
            difference = unit_difference(*(rows_of_units(each, self.unit, self.most) for each in self))
        elif typed == (False, False):
            difference = None
        else:
            difference = self.first.differences(self.second)
        if difference == Difference() or equal_values(self.first, self.second):
            raise NeighbourError(
                f"pair {self.name!r}: both datasets are equal, so nothing can be seen on them; "
                "neighbours differ in one unit"
            )
        if difference is None:
            return replace(self, relation=relation)
        if not difference.allowed_by(relation):
            users = " user" if self.of_users else ""
            raise NeighbourError(f"pair {self.name!r} is not {relation}{users}: {difference}")
        return replace(self, relation=relation, verified=True)


def equal_values(first: Any, second: Any) -> bool:
    """True where two datasets hold the same values, in the same types and in the same order.

    False where that cannot be told: an object is compared by its own `==`, or by its attributes.
    """
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if isinstance(first, np.ndarray):
        if first.dtype != second.dtype or first.shape != second.shape:
            return False
        if first.dtype == object:
            return all(map(equal_values, first.ravel(), second.ravel()))
        return np.ascontiguousarray(first).tobytes() == np.ascontiguousarray(second).tobytes()
    if hasattr(first, "columns") and hasattr(first, "equals"):
        return bool(first.equals(second))
    if isinstance(first, dict):
        same_keys = list(map(_same, first)) == list(map(_same, second))
        return same_keys and all(map(equal_values, first.values(), second.values()))
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(equal_values, first, second))
    try:
        if first == second:
            return True
        own = any("__eq__" in vars(kind) for kind in type(first).__mro__[:-1])
        return not own and hasattr(first, "__dict__") and equal_values(vars(first), vars(second))
    except Exception:  # foreign code: the truth of an array, a comparison that raises
        return False


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
