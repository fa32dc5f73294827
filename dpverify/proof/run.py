"""One run of a program on symbols: where it branched, which noise it drew, what it released."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dpverify.claims.neighbours import Relation
from dpverify.proof.ending import NeedsNumberOfRows, ProofEnds
from dpverify.proof.rows import Domain
from dpverify.proof.terms import (
    Aggregate,
    Leader,
    Noise,
    Noisy,
    Order,
    Pick,
    Public,
    Release,
    Symbol,
    Term,
    times,
    Unknown,
)

FRESH, JOINED, KNOWN = 0, 1, 2  # what became of a standard variable
WHOLE = ("geometric", "discrete laplace", "uniform integers", "rounded laplace", "rounded normal")
RELEASED = {  # laws that bound the loss of what they are added to, and the kind of event
    "laplace": "laplace",
    "normal": "gaussian",
    "discrete laplace": "discrete laplace",
    "rounded laplace": "laplace",
    "rounded normal": "gaussian",
}


@dataclass(eq=False)
class Event:
    """Something that depends on data and left the run.

    Parameters
    ----------
    kind : str
        "laplace", "discrete laplace", "gaussian" or "choice".
    data : Sum, Aggregate or Rows
        What the noise was added to, or what the choice is made by.
    scale : array
        Scale of the noise of each entry, positive.
    powers : tuple
        The unknowns that scale and data are multiples of: those of the data divided by those of the scale.
    line : int
        Line of the program where the noise was drawn or the choice made.
    """

    kind: str
    data: Any
    scale: Any
    powers: Any
    line: int
    text: str
    release: Release | None = None
    noise_powers: Any = ()
    queries: Any = ()  # of a threshold: what was compared with it, and whether it was below
    bar: float = 0.0  # scale of the noise of a threshold
    joint: bool = False  # it shares noise with others: losses add up as pure eps, and in no better way


@dataclass
class OneByOne:
    """Rows that an iterator gives; `calls`: a function is called when each of them is read; `read`: it was read."""

    rows: Symbol
    calls: bool
    read: bool = False


@dataclass
class Run:
    """State of one run.

    Parameters
    ----------
    domain : Domain
        Rows that the schema allows.
    relation : Relation
        Which datasets are neighbours.
    fewest, most : int
        Numbers of rows that the schema allows.
    rows : int or None
        The number of rows of this run; None: any of them.
    outcomes : sequence of bool
        How the first branches on public values go; later ones go to False first.
    files : set of str
        Files whose lines are lines of the program.
    """

    domain: Domain
    relation: Relation
    fewest: int
    most: float
    rows: int | None = None
    outcomes: Sequence[bool] = ()
    files: set[str] = field(default_factory=set)
    taken: list[bool] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    state: list[int] = field(default_factory=list)
    drawn_at: dict[int, int] = field(default_factory=dict)
    ended: ProofEnds | None = None
    ended_line: int | None = None
    ended_file: str = ""
    scope: Any = None
    notes: set[str] = field(default_factory=set)
    promoted: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    limit_of_branches: int = 64
    running_release: bool = False
    modules: set[str] = field(default_factory=set)
    loaded: dict[str, Any] = field(default_factory=dict)
    root: Path | None = None
    gives: bool = False  # a generator that the program returned is read: whoever gets it runs the rest of the program
    made_anew: Any = None  # what it gave last, where nobody else has it
    tries: int = 0  # statements that may catch exceptions, around what runs now
    kept_iterators: set[int] = field(default_factory=set)
    lent: dict[int, Any] = field(default_factory=dict)  # arrays that somebody else may read later, see `lend`
    reordered: list[Any] = field(default_factory=list)  # masks of all rows in a random order
    record: Any = None  # of the operations of the program, for the rehearsal
    hooks: Any = None  # what the rewritten program calls; rules use it to run parts of the program
    split: dict[int, tuple[int, int]] = field(default_factory=dict)  # sign and size of symmetric variables
    places: dict[int, int] = field(default_factory=dict)  # number of rows of a part, by its mask
    plain: Any = None  # where the run is on one plain dataset: the generator of the tape that it draws from
    rehearses: bool = False  # the plain dataset is an example, on which the program is compared with its proof
    branches: int = 0  # conditions that were looked at
    of_floats: dict[int, Symbol] = field(default_factory=dict)  # arrays of floats into which data were written
    written: dict[int, Any] = field(default_factory=dict)  # arrays that were written to, with their entries
    one_by_one: dict[int, OneByOne] = field(default_factory=dict)  # iterators over rows
    assumed: list[tuple[Any, bool]] = field(default_factory=list)  # conditions on a row under which a value is used
    slices: dict[Any, tuple[Any, Any, Any]] = field(default_factory=dict)  # places of a part, by its mask
    contests: dict[int, Any] = field(default_factory=dict)  # entries whose largest one is known, by their list
    alone: bool = False  # what is returned is one noisy value, and nothing else: its law is that of its noise
    known_classes: set[type] = field(default_factory=set)  # whose members are known, see `surroundings`
    bars: dict[int, Event] = field(default_factory=dict)  # comparisons with a noisy threshold, by its noise

    def __post_init__(self) -> None:
        self.number_of_rows = Unknown("n", float(max(self.fewest, 0)), float(self.most))

    @property
    def replaces(self) -> bool:
        """Whether the relation replaces a row; else a row comes or goes."""
        return self.relation is Relation.REPLACE_ONE

    @property
    def least_rows(self) -> int:
        """The fewest rows that a dataset of this run has."""
        return self.rows if self.rows is not None else self.fewest

    # ------------------------------------------------------------------------------------------------------------------

    def line(self) -> int:
        """The line of the program that is running."""
        frame: Any = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename in self.files:
                return int(frame.f_lineno)
            frame = frame.f_back
        return 0

    def ends(
        self, reason: str, remedy: str = "", *, exposed: bool = False, kind: type[ProofEnds] = ProofEnds
    ) -> ProofEnds:
        """The signal to raise; the run is marked, whoever catches it."""
        signal = kind(reason, remedy, exposed=exposed)
        return self.mark(signal)

    def mark(self, signal: ProofEnds) -> ProofEnds:
        """Keep the first signal and the line that it came from."""
        if self.ended is None:
            self.ended = signal
            frame: Any = sys._getframe(1)
            while frame is not None and frame.f_code.co_filename not in self.files:
                frame = frame.f_back
            if frame is not None:
                self.ended_line, self.ended_file = frame.f_lineno, frame.f_code.co_filename
        return signal

    def needs_rows(self, use: str) -> ProofEnds:
        """The number of rows is used otherwise than as a factor."""
        return self.ends(f"the number of rows is {use}", kind=NeedsNumberOfRows)

    # ------------------------------------------------------------------------------------------------------------------

    def symbol(self, term: Term, guise: str = "") -> Symbol:
        """The object that the program holds for a term."""
        if not guise:
            shape = getattr(term, "shape", None)
            guise = "number" if shape == () else "array"
        return Symbol(self, term, guise)

    def public(self, shape: tuple[int, ...] | None = (), **facts: Any) -> Symbol:
        """A public value of which only its range is known."""
        return self.symbol(Public(shape, **facts), "number" if shape == () else "array" if shape is not None else "any")

    def count_of_rows(self) -> Any:
        """The number of rows, where it is public: a number, or a symbol for all of them."""
        if self.rows is not None:
            return self.rows
        if self.fewest == self.most:
            return self.fewest
        unknown = self.number_of_rows
        return self.symbol(
            Public((), unknown.low, unknown.high, True, 1.0, ((unknown, 1),), defined=True, finite=True),
            "number",
        )

    # ------------------------------------------------------------------------------------------------------------------

    def draw(
        self,
        law: str,
        shape: tuple[int, ...],
        scale: Any,
        powers: Any = (),
        *,
        parameter: float = 0.0,
        by_row: bool = False,
    ) -> Noise:
        """Fresh noise: one standard variable for each entry."""
        count = int(np.prod(shape, dtype=int)) if shape else 1
        first = len(self.state)
        self.state += [FRESH if self.running_release else KNOWN] * count  # a draw at import is a constant
        line = self.line()
        for each in range(first, first + count):
            self.drawn_at[each] = line
        ids = np.arange(first, first + count).reshape(shape)
        return Noise(law, ids, np.broadcast_to(np.asarray(scale, float), shape).copy(), powers, parameter, by_row, 0.0)

    def take(self, noise: Noise, state: int) -> None:
        """Marks variables as added to data (JOINED) or as known (KNOWN); each can be taken once."""
        names = self.variables_of(noise)
        if len(set(names)) < len(names) and state == JOINED:
            raise self.ends("one draw of noise is added to several values", "draw fresh noise for each entry")
        for each in names:
            if self.state[each] == JOINED or (self.state[each] == KNOWN and state == JOINED):
                raise self.ends(
                    f"noise drawn at line {self.drawn_at[each]} is used a second time",
                    "name the noisy value, noisy = value + noise, and use the name; or draw fresh noise",
                )
        for each in names:
            self.state[each] = state
        for whole, parts in reversed(self.split.items()):  # who knows a part knows something of the whole
            if any(each in names for each in parts):
                names.append(whole)
                self.state[whole] = max(self.state[whole], state, key=(FRESH, KNOWN, JOINED).index)

    def variables_of(self, noise: Noise) -> list[int]:
        """Numbers of the variables of a draw, with the parts that they were split into."""
        names = [int(each) for each in np.ravel(noise.ids)]
        for each in names:  # grows while it is gone through
            names += self.split.get(each, ())
        return names

    def parts_of(self, variable: int) -> tuple[int, int]:
        """The sign and the size of a symmetric variable as two independent variables."""
        if variable not in self.split:
            first = len(self.state)
            self.state += [self.state[variable]] * 2
            self.split[variable] = (first, first + 1)
            self.drawn_at |= dict.fromkeys(self.split[variable], self.drawn_at[variable])
        return self.split[variable]

    def make_public(self, symbol: Symbol) -> Symbol:
        """A value as something public: noise by itself is a public coin, data plus noise are released."""
        term = symbol.term
        if isinstance(term, Order):
            symbol.term = self.hooks.release_order(symbol)
            return symbol
        if isinstance(term, Leader):
            symbol.term = self.hooks.release_pick(term) if isinstance(term, Pick) else self.hooks.release_leader(term)
            return symbol
        if (
            isinstance(term, Noise | Noisy)
            and not self.replaces
            and (term if isinstance(term, Noise) else term.noise).by_row
        ):
            raise self.ends("one draw for each row shows how many rows there are")
        if isinstance(term, Noise):
            self.take(term, KNOWN)
            whole = term.law in WHOLE and not term.powers and not np.any(term.scale % 1)
            symbol.term = Public(
                term.shape,
                *_range_of(term),
                whole=whole,
                by_row=term.by_row,
                was=(term, None),
                defined=True,
                finite=True,
            )
        elif isinstance(term, Noisy):
            self.book(term)
            symbol.term = Public(term.shape, by_row=term.noise.by_row, was=(term, None), defined=True, finite=True)
            beside = Fraction(0) if term.data is term.release.data else term.beside
            if beside is not None and term.shape == ():
                term.release.anchor = term.release.anchor or Public((), defined=True, finite=True)
                symbol.term.anchor = (term.release.anchor, beside)
        return symbol

    def book(self, term: Noisy) -> None:
        """Charges the release that a noisy value came from, once."""
        release = term.release.last()
        if release.spent:
            raise self.ends("a noisy value is used after more data were added to it", "release it once")
        if not release.booked:
            release.booked = True
            data, noise = release.data, release.noise
            assert noise is not None
            self.events = [each for each in self.events if each.release is not release]
            line = self.drawn_at[int(np.ravel(noise.ids)[0])] if noise.ids.size else self.line()
            self.events.append(release_event(self, data, noise, line))

    def stack(self, values: Any) -> Any:
        """A list of values as one array."""
        return self.hooks.stack(values)

    def decide(self) -> bool:
        """The outcome of a branch on a public value in this run; both are run."""
        at = len(self.taken)
        if at >= self.limit_of_branches:
            raise self.ends("more branches on noisy values than are followed")
        outcome = self.outcomes[at] if at < len(self.outcomes) else False
        self.taken.append(outcome)
        if self.record is not None:
            self.record.note("decided", bool(outcome))
        return bool(outcome)


def unexplored(taken: Sequence[bool], given: int) -> list[list[bool]]:
    """Beginnings of other paths: the first `given` outcomes were chosen, each later one is turned round."""
    return [[*taken[:at], not taken[at]] for at in range(given, len(taken))]


def _range_of(noise: Noise) -> tuple[float, float]:
    if noise.powers:
        return -np.inf, np.inf
    least, most = float(np.min(noise.scale, initial=np.inf)), float(np.max(noise.scale, initial=-np.inf))
    if noise.law == "uniform":
        return min(0.0, least), max(0.0, most)
    if noise.law in ("shifted uniform", "uniform integers") and noise.shift is not None:
        count = noise.parameter - 1 if noise.law == "uniform integers" else 1.0
        return min(0.0, least * count) + noise.shift, max(0.0, most * count) + noise.shift
    if noise.law in ("exponential", "geometric") and least >= 0:
        return 0.0, np.inf
    return -np.inf, np.inf


def is_whole(data: Any) -> bool:
    """Whether data are whole numbers, up to a public number."""
    return bool(data.whole if isinstance(data, Aggregate) else data.node.kind in "bi" and not data.powers)


def release_event(run: Run, data: Any, noise: Noise, line: int) -> Event:
    """The event of data plus noise as one release of numbers."""
    kind = RELEASED.get(noise.law)
    if kind is None:
        raise run.ends(
            f"{noise.law} noise is released: no rule bounds its privacy loss", "use Laplace, normal or geometric noise"
        )
    scale = np.abs(noise.scale)
    if noise.law in WHOLE:
        whole = is_whole(data)
        if not whole or not (scale == 1).all() or noise.powers:
            raise run.ends("integer noise is added to values that are not whole numbers times its step")
        scale = np.full(noise.scale.shape, noise.parameter)
    powers = times(data.powers, noise.powers, -1)
    return Event(kind, data, scale, powers, line, noise.law, noise_powers=noise.powers)
