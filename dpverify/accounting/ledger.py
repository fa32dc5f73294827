"""What was really done: frozen noise events, without an opinion about what they cost.

An event says which noise was added and how far the noised values can move between neighbouring datasets,
for each relation. `accountant` turns a ledger into parameters. The meaning of an event never changes; a
new behaviour gets a new class.

A `Shift(size, count)` reads: `count` independently noised coordinates move by at most `size` each. Several
shifts in a tuple add up. `Sensitivity` gives the shifts for each relation; a relation it does not know is
an error, never a guess.

A shift may say in which direction its coordinates move. Neighbouring is symmetric, so a pair of datasets has
two orders, and what goes up in one goes down in the other. The stated directions are those of one of the two
orders, *the same order for the whole ledger*: two events that are UP rise together or fall together. State
directions only where that holds for every pair of neighbours and whatever was released before; without one
(the default) each coordinate is charged its worse direction. Directions cost nothing where noise is symmetric.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from dpverify.base import require
from dpverify.base.errors import AccountingError, ParameterError
from dpverify.claims.neighbours import Relation


class Direction(Enum):
    """Where a coordinate goes from the first dataset to the second, in one order for the whole ledger."""

    UP = "up"
    DOWN = "down"

    @property
    def mirrored(self) -> "Direction":
        """The direction in the other order."""
        return Direction.DOWN if self is Direction.UP else Direction.UP


@dataclass(frozen=True)
class Shift:
    """`count` coordinates, each with noise of its own, move by at most `size` each; None = either way."""

    size: float
    count: int = 1
    direction: Direction | None = None

    def __post_init__(self) -> None:
        require.non_negative(size=self.size)
        require.integer(at_least=0, count=self.count)
        if self.direction is not None:
            require.member(Direction, direction=self.direction)


@dataclass(frozen=True, init=False)
class Sensitivity:
    """Worst-case movement of the noised coordinates, per relation; None = not stated.

    >>> Sensitivity(replace=Shift(1, 4), add_remove=Shift(1, 2)).under(Relation.REPLACE_ONE)
    (Shift(size=1, count=4, direction=None),)
    """

    replace: tuple[Shift, ...] | None
    add_remove: tuple[Shift, ...] | None

    def __init__(
        self,
        *,
        replace: Shift | Sequence[Shift] | float | None = None,
        add_remove: Shift | Sequence[Shift] | float | None = None,
    ) -> None:
        object.__setattr__(self, "replace", _shifts(replace))
        object.__setattr__(self, "add_remove", _shifts(add_remove))

    def under(self, relation: Relation) -> tuple[Shift, ...]:
        """The shifts under `relation`; AccountingError when the ledger does not state them."""
        require.member(Relation, relation=relation)
        shifts = self.replace if relation is Relation.REPLACE_ONE else self.add_remove
        if shifts is None:
            raise AccountingError(f"the ledger states no sensitivity under {relation}")
        return shifts


def _shifts(given: Shift | Sequence[Shift] | float | None) -> tuple[Shift, ...] | None:
    if given is None:
        return None
    if isinstance(given, Shift):
        return (given,)
    if isinstance(given, Sequence):
        return tuple(given)
    return (Shift(given),)


@dataclass(frozen=True, kw_only=True)
class Event:
    """Base of all events. `what` names the released quantity in the words of its paper."""

    what: str = ""


@dataclass(frozen=True, kw_only=True)
class LaplaceNoise(Event):
    """Density exp(-|x|/scale)/(2 scale) on each coordinate."""

    scale: float
    sensitivity: Sensitivity

    def __post_init__(self) -> None:
        require.positive(scale=self.scale)


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplaceNoise(Event):
    """Pr[k] proportional to exp(-|k|/scale) on the integers; shifts must be whole numbers."""

    scale: float
    sensitivity: Sensitivity

    def __post_init__(self) -> None:
        require.positive(scale=self.scale)
        _whole(self.sensitivity)


@dataclass(frozen=True, kw_only=True)
class GaussianNoise(Event):
    """N(0, sigma^2) on each coordinate. A vector that moves by l2 distance s is `Shift(s)`."""

    sigma: float
    sensitivity: Sensitivity

    def __post_init__(self) -> None:
        require.positive(sigma=self.sigma)


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussianNoise(Event):
    """Pr[k] proportional to exp(-k^2/(2 sigma^2)) on the integers; shifts must be whole numbers."""

    sigma: float
    sensitivity: Sensitivity

    def __post_init__(self) -> None:
        require.positive(sigma=self.sigma)
        _whole(self.sensitivity)


@dataclass(frozen=True, kw_only=True)
class BinomialNoise(Event):
    """Bin(trials, probability) added to an integer: the sum of shuffled noise bits.

    Not symmetric unless the probability is 1/2: composed coordinates cost less when their directions are known.
    """

    trials: int
    probability: float
    sensitivity: Sensitivity

    def __post_init__(self) -> None:
        require.integer(at_least=1, trials=self.trials)
        require.probability(probability=self.probability)
        _whole(self.sensitivity)


@dataclass(frozen=True, kw_only=True)
class KaryResponse(Event):
    """k-ary randomised response of `eps`: the truth with probability e^eps/(e^eps + k - 1), else uniform others.

    `reports` is how many reports of it can change; a sensitivity with shifts of size 1.
    """

    k: int
    eps: float
    reports: Sensitivity

    def __post_init__(self) -> None:
        require.integer(at_least=2, k=self.k)
        require.positive(eps=self.eps)


@dataclass(frozen=True, kw_only=True)
class FiniteLaws(Event):
    """A mechanism with finitely many outputs, given by its law on each dataset of every neighbouring pair.

    `pairs` lists (p, q), two probability vectors over the same outputs, for every pair of neighbours under
    `relation` (both orders are considered). They need not be few, but they must be all. `directed` says that
    the first laws all belong to one of the two datasets, in the order that is common to the whole ledger.
    """

    pairs: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]
    relation: Relation
    directed: bool = False


@dataclass(frozen=True, kw_only=True)
class PureStep(Event):
    """A step that a theorem proves `eps`-DP (exponential mechanism, sparse vector): its worst case is charged."""

    eps: float
    uses: Sensitivity  # how many such steps a change of one user reaches: shifts of size 1

    def __post_init__(self) -> None:
        require.positive(eps=self.eps)


@dataclass(frozen=True, kw_only=True)
class Exposed(Event):
    """Something that depends on the data is released without noise: no finite eps."""


@dataclass(frozen=True, kw_only=True)
class OneOf(Event):
    """Every pair of neighbours meets one of these ledgers: which one depends on the pair, never on what is released."""

    branches: "tuple[Ledger, ...]"

    def __post_init__(self) -> None:
        if not self.branches:
            raise ParameterError("branches", self.branches, "at least one ledger")


@dataclass(frozen=True, kw_only=True)
class Disjoint(OneOf):
    """Ledgers over disjoint sets of users: a changed user is in exactly one of them (parallel composition)."""


@dataclass(frozen=True, init=False)
class Ledger:
    """Events composed adaptively: each may depend on what the earlier ones released.

    An empty ledger is a release that does not depend on the data.
    """

    events: tuple[Event, ...]

    def __init__(self, *events: Event) -> None:
        for event in events:
            if not isinstance(event, Event):
                raise ParameterError("event", event, "a ledger event such as LaplaceNoise")
        object.__setattr__(self, "events", events)

    def __add__(self, other: "Ledger") -> "Ledger":
        return Ledger(*self.events, *other.events)

    def __mul__(self, times: int) -> "Ledger":
        require.integer(at_least=0, times=times)
        return Ledger(*self.events * times)


def _whole(sensitivity: Sensitivity) -> None:
    for shifts in (sensitivity.replace, sensitivity.add_remove):
        for shift in shifts or ():
            if shift.size != int(shift.size):
                raise ParameterError("shift.size", shift.size, "a whole number for integer-valued noise")
