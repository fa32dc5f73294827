"""What a value of a program is, for all datasets at once.

    Rows        one value for each row: a function of the row
    Sum         sum over the rows of a function of one row, plus public numbers
    Aggregate   any other function of the whole dataset, known by its range and by how far a neighbour moves it
    Weights     exp of scores, their shares and their total: what an exponential mechanism draws from
    Noise       fresh noise that nothing has been added to
    Noisy       data plus noise, not yet looked at
    Public      anything that may be known: released values, and what is computed from them

`Symbol` is the object that the program holds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.proof.ending import ProofEnds
from dpverify.proof.rows import Node

Array = npt.NDArray[np.float64]
Powers = tuple[tuple["Unknown", int], ...]


@dataclass(frozen=True, eq=False)
class Unknown:
    """A positive public number that has a name only: the number of rows, or a released value.

    Parameters
    ----------
    name : str
        What it is called in a derivation.
    low, high : float
        Ends of its range, 0 <= low; high may be infinite.
    """

    name: str
    low: float
    high: float


def times(first: Powers, second: Powers, sign: int = 1) -> Powers:
    """Powers of a product (`sign` 1) or of a quotient (-1)."""
    found: dict[Unknown, int] = dict(first)
    for unknown, power in second:
        found[unknown] = found.get(unknown, 0) + sign * power
    return tuple(sorted(((u, p) for u, p in found.items() if p), key=lambda each: id(each[0])))


def largest(powers: Powers) -> tuple[float, float]:
    """Supremum of a product of powers over the ranges of its unknowns, as a numerator and a denominator."""
    top, bottom = 1.0, 1.0
    for unknown, power in powers:
        end = unknown.high if power > 0 else unknown.low
        size = end ** abs(power)
        size = size if float(size).is_integer() else math.nextafter(size, math.inf if power > 0 else 0.0)
        top, bottom = (top * size, bottom) if power > 0 else (top, bottom * size)
    return top, bottom


@dataclass(eq=False)
class Rows:
    """A function of one row, for each row (or for each of those that `mask` chooses).

    `scope` is None for all rows at once, or says in which loop over rows this is the value of one of them.
    """

    node: Node
    powers: Powers = ()
    mask: Node | None = None
    scope: Any = None


@dataclass(eq=False)
class Table:
    """Rows with named columns: a data frame, or a list of dicts (`scope`: one dict of it)."""

    columns: dict[Any, Node]
    mask: Node | None = None
    scope: Any = None


@dataclass(eq=False)
class Sum:
    """`powers` times the sum over rows of `node`, plus public numbers within `offset` (None: any)."""

    node: Node
    powers: Powers = ()
    offset: tuple[Array, Array] | None = field(default_factory=lambda: (np.zeros(()), np.zeros(())))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value."""
        return self.node.shape


@dataclass(eq=False)
class Aggregate:
    """A function of the dataset: `low`, `high` its range, `move` how far a neighbour moves each entry.

    `l1`, `l2` bound the norms of the move, `spread` its largest entry minus its smallest one. Moves (not the range)
    are multiples of `powers`. `whole`: the values are whole numbers. `maximum_of`: it is the largest of these scores.
    `truth`: NumPy may have it as truth values, whose squares, roots and the like have few bits. It is never infinite.
    """

    low: Array
    high: Array
    move: Array
    l1: float
    l2: float
    spread: float
    powers: Powers = ()
    whole: bool = False
    maximum_of: Any = None
    truth: bool = False
    parts: frozenset[Any] = frozenset()  # parts of the rows, by public places, that alone it depends on; none: unknown

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value."""
        return self.move.shape


@dataclass(eq=False)
class Weights:
    """exp(scores - anything common to all), as it stands ("weight"), summed up ("total") or divided ("share").

    `key` names the scores that are summed in a total or share; equal keys are equal scores.
    """

    scores: Any  # Sum or Aggregate
    form: str
    key: Any
    shift: Any = None  # what was subtracted from all scores before exp

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value."""
        shape: tuple[int, ...] = () if self.form == "total" else self.scores.shape
        return shape


@dataclass(eq=False)
class Noise:
    """Noise of one law: `scale` (with sign) times `powers` times a standard variable for each entry, plus public.

    `ids` number the variables; `by_row`: one such draw for each row. `shift`: the public number, where it is known.
    """

    law: str
    ids: npt.NDArray[np.int64]
    scale: Array
    powers: Powers = ()
    parameter: float = 0.0
    by_row: bool = False
    shift: float | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value (of a row's, where there is one draw for each row)."""
        return self.scale.shape


@dataclass(eq=False)
class Release:
    """One look at data plus noise; the event is booked when the value is used as a number."""

    booked: bool = False
    spent: bool = False
    merged: "Release | None" = None
    data: Any = None
    noise: Noise | None = None
    anchor: Any = None  # stands for the released value, where others lie beside it
    chosen: bool = False  # the place of the largest or least of the values is known

    def last(self) -> "Release":
        """The release that this one has become a part of."""
        return self if self.merged is None else self.merged.last()


@dataclass(eq=False)
class Noisy:
    """Data plus noise. `release` is the value that it was made as; this one is a public linear function of it."""

    data: Any  # Sum, Aggregate, or Rows with noise for each row
    noise: Noise
    release: Release
    beside: Fraction | None = None  # how far one number is above the value that was released, where that is known

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value."""
        return self.noise.shape


@dataclass(eq=False)
class Public:
    """A public value of which only its shape and range are known; `shape` None: no array, anything at all.

    `coefficient` times `powers` is its value where that is known. `defined`: it is never NaN, which is in no range;
    `finite`: it is never infinite. A value of which nobody has said so may be both. `truth`: as of an `Aggregate`.
    """

    shape: tuple[int, ...] | None
    low: float = -math.inf
    high: float = math.inf
    whole: bool = False
    coefficient: float | None = None
    powers: Powers = ()
    by_row: bool = False
    anchor: Any = None  # (another public value, what this one is above it)
    was: Any = None  # (the draw or the noisy value that it was, which entry of it or None for all)
    defined: bool = False
    finite: bool = False
    truth: bool = False

    def __post_init__(self) -> None:
        self.low = -math.inf if math.isnan(self.low) else self.low
        self.high = math.inf if math.isnan(self.high) else self.high
        self.finite = self.finite or (self.defined and math.isfinite(self.low) and math.isfinite(self.high))

    @property
    def facts(self) -> dict[str, Any]:
        """Whether it is a number or a truth value, for a value that is one where this one is."""
        return {"defined": self.defined, "finite": self.finite, "truth": self.truth}


@dataclass(eq=False)
class Distinct:
    """The set of the values of the rows: only how many there are has a rule."""

    rows: Rows

    @property
    def shape(self) -> tuple[int, ...]:
        """It has none."""
        raise ProofEnds("the distinct values of rows are taken", "count the values of a public list")


@dataclass(eq=False)
class Order:
    """Places of noisy values from the largest (or least) on: as many as are looked at are charged.

    `symbol` is the array of noisy values, `charged` how many places from the front are known.
    """

    symbol: Any
    least: bool
    charged: int = 0


@dataclass(eq=False)
class Leader:
    """The largest of several noisy numbers that nobody has looked at."""

    entries: list[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """It is looked at through the run only."""
        raise ProofEnds("the largest of noisy values is used in a form that is not followed")


@dataclass(eq=False)
class Pick(Leader):
    """The item that belongs to the largest of several noisy numbers."""

    items: list[Any] = field(default_factory=list)


Term = Rows | Table | Sum | Aggregate | Weights | Noise | Noisy | Public | Distinct | Order | Leader


class Opaque:
    """An object of the proof that a program holds; whatever touches it other than the hooks ends the proof."""

    __slots__ = ()
    run: Any

    def _ends(self, *args: Any, **kwargs: Any) -> Any:
        raise self.run.ends("code that the proof does not read touches data")

    def __repr__(self) -> str:
        """A text for whoever looks at the proof; a program that runs gets none."""
        if self.run is not None and self.run.line():
            self._ends()
        return f"<{type(self).__name__}>"

    __bool__ = __iter__ = __len__ = __hash__ = __eq__ = __float__ = __int__ = __index__ = __str__ = __format__ = _ends
    __array__ = __getitem__ = __contains__ = __complex__ = __lt__ = __le__ = __gt__ = __ge__ = __ne__ = _ends
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __neg__ = __abs__ = (
        _ends
    )
    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = __round__ = __call__ = __enter__ = __matmul__ = __pow__ = (
        _ends
    )
    __mod__ = __rmod__ = __floordiv__ = __and__ = __or__ = __xor__ = __invert__ = __setitem__ = __array_ufunc__ = _ends
    __array_function__ = _ends


class Symbol(Opaque):
    """The object that a program holds in place of a value that is not known.

    It can do nothing by itself: the rewritten program hands every operation to the run. Whatever else touches it (a
    compiled library, a hash, a text) ends the proof.
    """

    __slots__ = ("guise", "run", "shared", "term")

    def __init__(self, run: Any, term: Any, guise: str, shared: list[Any] | None = None) -> None:
        self.run = run
        self.term: Any = term
        self.guise = guise
        self.shared = shared if shared is not None else []
        self.shared.append(None)


class Labelled(Symbol):
    """A series or frame of pandas whose labels are public: for each axis of its array the labels in their order."""

    __slots__ = ("labels",)

    def __init__(self, run: Any, term: Any, labels: tuple[list[Any], ...]) -> None:
        super().__init__(run, term, "series" if len(labels) == 1 else "frame")
        self.labels = labels

    @property
    def array(self) -> Symbol:
        """The entries as an array of the same memory."""
        return Symbol(self.run, self.term, "array", self.shared)


def shape_of(term: Any) -> tuple[int, ...]:
    """Shape of a value that is no table; rows have the shape of one row's value."""
    if isinstance(term, Rows):
        return term.node.shape
    if isinstance(term, Table) or term.shape is None:
        raise ProofEnds("a value whose shape is not known is used as numbers")
    return tuple(term.shape)


def flat(terms: Sequence[Any]) -> list[Any]:
    """Entries of nested lists and tuples."""
    found: list[Any] = []
    for each in terms:
        found += flat(each) if isinstance(each, list | tuple) else [each]
    return found


# ----------------------------------------------------------------------------------------------------------------------
# Loops over rows


@dataclass(eq=False, repr=False)
class Running(Opaque):
    """A number that a loop over rows adds to: what is added is collected until the loop has ended.

    `closed` is its value after the loop, which is one object for all who hold it.
    """

    run: Any
    loop: Any
    start: Any
    added: list[tuple[Node | None, Rows]] = field(default_factory=list)
    closed: Any = None


@dataclass(eq=False, repr=False)
class RowPart(Opaque):
    """What a loop over rows has appended to a list: one value for each row that the mask chooses."""

    run: Any
    node: Node
    powers: Powers
    mask: Node | None


@dataclass(eq=False)
class Scope:
    """One loop (or comprehension) over rows: the value of a row inside of it belongs to it.

    `conditions` are the branches that this pass has taken, `outcomes` how its first ones go.
    `lasting`: the row is the whole dataset (`local`), and its value never ends.
    """

    mask: Node | None = None
    conditions: list[tuple[Node, bool]] = field(default_factory=list)
    outcomes: list[bool] = field(default_factory=list)
    pending: list[tuple[Any, Any]] = field(default_factory=list)
    lasting: bool = False
    local: bool = False
    checking: bool = False
    loop: Any = None
    by_rule: bool = False  # a function that is not the program's calls it for every row

    @property
    def taken(self) -> list[bool]:
        """Outcomes of the branches of this pass."""
        return [outcome for _, outcome in self.conditions]


@dataclass(eq=False, repr=False)
class Source:
    """A generator of the program: `kind` is its real type; `seeded` says why its draws are no noise."""

    run: Any
    kind: type
    seeded: str = ""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Draw(self, name)


@dataclass(frozen=True)
class Draw:
    """A method of a generator, before it is called."""

    source: Source
    name: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.source.run.hooks.draw(self.source, self.name, *args, **kwargs)
