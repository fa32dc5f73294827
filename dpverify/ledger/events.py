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

import bisect
import itertools
import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum
from fractions import Fraction
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.base.rounding import as_float, as_fraction, log_up, sum_exactly, UNIT
from dpverify.claims.neighbours import Relation
from dpverify.errors import AccountingError, ParameterError

# ----------------------------------------------------------------------------------------------------------------------
# Log ratios of finite laws, and where the conversions between notions are.
#
# A law is a vector of probabilities; `p` and `q` range over the same outputs. The floats are weights, the law is
# w/sum(w) in exact fractions. Log ratios are rounded up, so no output is lost to a rounded comparison.
#
# Conversions, each where it is written down once:
#     rho-zCDP -> (eps, delta)   `claims.profiles.zcdp_delta`       Canonne, Kamath, Steinke 2020, Proposition 12
#     mu-GDP   -> (eps, delta)   `claims.profiles.gaussian_delta`   Balle, Wang 2018, Theorem 8
#     eps-DP   -> (eps', delta)  `claims.profiles.response_delta`   Kairouz, Oh, Viswanath 2015, Theorem 2.5
#     eps-DP   -> rho-zCDP       `pure_to_zcdp`                     Bun, Steinke 2016, Proposition 3.3


Array = npt.NDArray[np.float64]

MASS_TOLERANCE = 1e-12  # for each output: how far the sum of the weights may be from 1
_MODERATE = 1e-290  # ratios of floats in [1e-290, 1e290] keep their relative precision


def log_ratios(p: Array, q: Array, mass_p: float, mass_q: float) -> tuple[Array, Array]:
    """log((p/mass_p)/(q/mass_q)) for p, q > 0 and sums that are off by u, and a bound on the error of each."""
    with np.errstate(over="ignore", under="ignore"):
        ratio = p / q * (mass_q / mass_p)
    moderate = (np.minimum(p, q) > _MODERATE) & (ratio > _MODERATE) & (ratio < 1 / _MODERATE)
    near = np.log(np.where(moderate, ratio, 1.0))
    log_p, log_q = np.log(p), np.log(q)
    loss = np.where(moderate, near, log_p - log_q + math.log(mass_q / mass_p))
    error = np.where(moderate, 8 + 2 * np.abs(near), 4 * (2 + np.abs(log_p) + np.abs(log_q))) * UNIT
    return loss, error


def max_log_ratio(p: Array, q: Array) -> float:
    """max log(p/q) of two vectors of weights over outputs with p > 0, rounded up, >= 0; inf where q lacks one.

    Floats only say which outputs can be the largest; those are compared as fractions.
    """
    live = p > 0
    p, q = p[live], q[live]
    if (q == 0).any():
        return math.inf
    loss, error = log_ratios(p, q, 1.0, 1.0)
    close = loss + error >= (loss - error).max()
    ties = np.unique(np.stack([p[close], q[close]]), axis=1)
    largest = max(Fraction(float(a)) / Fraction(float(b)) for a, b in ties.T)
    ratio = largest * sum_exactly(q) / sum_exactly(p)
    return log_up(ratio) if ratio > 1 else 0.0


def pure_to_zcdp(eps: Fraction) -> Fraction:
    """rho = eps^2/2: every eps-DP mechanism is rho-zCDP (Bun, Steinke 2016, Proposition 3.3)."""
    return eps * eps / 2


def laws(p: npt.ArrayLike, q: npt.ArrayLike) -> tuple[Array, Array]:
    """Both as vectors of weights; ParameterError unless they are probability vectors over the same outputs."""
    first, second = _law("p", p), _law("q", q)
    if first.shape != second.shape:
        raise ParameterError("q", f"{second.size} outputs", f"over the {first.size} outputs of p")
    return first, second


def _law(name: str, given: Any) -> Array:
    try:
        raw = np.asarray(given)
    except ValueError:  # rows of different lengths
        raw = np.zeros(0)
    if raw.dtype.kind not in "biufO":
        raise ParameterError(name, given, "a probability vector")
    if raw.dtype.kind == "O" or raw.dtype.itemsize > 8:
        for number in raw.flat:
            as_float(name, number)
    law = np.asarray(raw, dtype=np.float64)
    # written so that NaN fails
    good = law.ndim == 1 and law.size and bool((law >= 0).all())
    if not (good and abs(math.fsum(law) - 1) <= MASS_TOLERANCE * law.size):
        raise ParameterError(name, given if law.size < 20 else f"{law.size} numbers", "a probability vector")
    return law


# ----------------------------------------------------------------------------------------------------------------------


class Direction(Enum):
    """A direction says where a coordinate goes from the first dataset to the second, in one order for the whole ledger.

    Attributes
    ----------
    UP
        The coordinate of the second dataset is at least that of the first one.
    DOWN
        It is at most that of the first one.

    Examples
    --------
    >>> from dpverify.ledger import Direction
    >>> Direction.UP.mirrored
    <Direction.DOWN: 'down'>
    """

    UP = "up"
    DOWN = "down"

    @property
    def mirrored(self) -> "Direction":
        """The direction in the other order."""
        return Direction.DOWN if self is Direction.UP else Direction.UP


class Assigned(Enum):
    """An assignment says what decides in which branch of a `Disjoint` a user is.

    Attributes
    ----------
    BY_POSITION
        Something public that a replacement keeps: the time of arrival, an index, a batch. A replaced user stays in the
        branch.
    BY_DATA
        The user's own record. A replaced user may leave one branch and enter another.

    Examples
    --------
    >>> from dpverify.ledger import Assigned
    >>> str(Assigned.BY_DATA)
    'by data'
    """

    BY_POSITION = "by position"  # something public that a replacement keeps: arrival time, index, batch
    BY_DATA = "by data"  # the user's own record

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Shift:
    """How far coordinates of a released vector move between neighbours.

    Parameters
    ----------
    size : float
        How far each of them moves at most, 0 <= size < inf.
    count : int
        How many coordinates move. Each has noise of its own.
    direction : Direction, optional
        Whether they go up or down, in one order of the datasets that is common to the whole ledger. None means that
        they may go either way.

    Raises
    ------
    ParameterError
        For a size that is negative or not finite, a count that is no whole number, and a direction that is none.
    """

    size: float
    count: int = 1
    direction: Direction | None = None

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.non_negative(size=self.size)
        require.integer(at_least=0, count=self.count)
        if self.direction is not None:
            require.member(Direction, direction=self.direction)


@dataclass(frozen=True, init=False)
class Sensitivity:
    """How far neighbours move the coordinates that noise is added to, in the worst case, for each relation.

    Parameters
    ----------
    replace : Shift, sequence of Shift, or float, optional
        Where one user is replaced. Several shifts add up, and a number is the size of one shift. None states nothing:
        an account under this relation is then an error.
    add_remove : Shift, sequence of Shift, or float, optional
        Where one user is added or removed.

    Examples
    --------
    A histogram moves by 1 in one cell where a user is added, and by 1 in two cells where one is replaced:

    >>> from dpverify import Relation
    >>> from dpverify.ledger import Sensitivity, Shift
    >>> Sensitivity(replace=Shift(1, 2), add_remove=Shift(1)).under(Relation.REPLACE_ONE)
    (Shift(size=1, count=2, direction=None),)
    """

    replace: tuple[Shift, ...] | None
    add_remove: tuple[Shift, ...] | None
    derived: bool = field(default=False, compare=False, repr=False)  # by `doubled`: only for symmetric noise

    def __init__(
        self,
        *,
        replace: Shift | Sequence[Shift] | float | None = None,
        add_remove: Shift | Sequence[Shift] | float | None = None,
    ) -> None:
        object.__setattr__(self, "replace", _shifts(replace))
        object.__setattr__(self, "add_remove", _shifts(add_remove))

    @classmethod
    def doubled(cls, *, add_remove: Shift | Sequence[Shift] | float) -> "Sensitivity":
        """Replace-one derived from add/remove: the same counts, twice the sizes, no directions.

        To replace a user is to remove one and to add another. Holds where the mechanism is defined one user short and
        uses no public number of users (a mean over the public n is not such a one), and where the noise is symmetric
        and log-concave: all of ours but binomial noise of unfair bits, which refuses it (steps that are counted and
        not moved refuse a size of 2).
        Proof: let the removal move a set A of the c coordinates of a shift s, the addition a set B. With f_s the
        trade-off curve of one coordinate, log-concave noise gives f_s iterated = f_2s, so two coordinates that move
        by s, one after the other, are no easier to tell apart than one that moves by 2 s (Dong, Roth, Su 2022,
        Theorem 4). A coordinate in both sets moves by at most 2 s; those in one set are paired, also as they come,
        and |A| + |B| <= 2c leaves at most c pairs. Pairs that overlap in time compose as well (Vadhan, Zhang 2023).
        """
        single = _shifts(add_remove) or ()
        twice = [Shift(2 * shift.size, shift.count) for shift in single]
        found = cls(replace=twice, add_remove=single)
        object.__setattr__(found, "derived", True)
        return found

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
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        require.several(Shift, shifts=list(given))
        return tuple(given)
    return (Shift(given),)


@dataclass(frozen=True, kw_only=True)
class Event:
    """Base class of all events: one release, by what was done and not by what it costs.

    Parameters
    ----------
    what : str
        The released quantity, in the words of its paper.

    Raises
    ------
    ParameterError
        For a field that is not of the class that it must have.
    """

    what: str = ""

    def __post_init__(self) -> None:
        require.own_numbers(self)
        for each in fields(self):
            if isinstance(each.type, type) and each.type not in (int, float):
                require.instance(each.type, **{each.name: getattr(self, each.name)})


@dataclass(frozen=True, kw_only=True)
class LaplaceNoise(Event):
    """Laplace noise on each coordinate, with the density exp(-|x|/scale)/(2 scale).

    Parameters
    ----------
    what : str
        The released quantity, in the words of its paper.
    scale : float
        Scale of the noise, in the unit of the released value, 0 < scale < inf.
    sensitivity : Sensitivity
        How far neighbours move the coordinates that noise is added to.

    Raises
    ------
    ParameterError
        Unless 0 < scale < inf.
    """

    scale: float
    sensitivity: Sensitivity

    def __post_init__(self) -> None:
        super().__post_init__()
        require.positive(scale=self.scale)


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplaceNoise(Event):
    """Discrete Laplace noise on each coordinate: Pr[k] is proportional to exp(-|k|/scale) on the integers.

    Parameters
    ----------
    what : str
        The released quantity, in the words of its paper.
    scale : float
        Scale of the noise, 0 < scale < inf.
    sensitivity : Sensitivity
        How far neighbours move the coordinates that noise is added to, by whole numbers.

    Raises
    ------
    ParameterError
        Unless 0 < scale < inf, and for a shift that is no whole number.
    """

    scale: float
    sensitivity: Sensitivity

    def __post_init__(self) -> None:
        super().__post_init__()
        require.positive(scale=self.scale)
        _whole(self.sensitivity)


@dataclass(frozen=True, kw_only=True)
class GaussianNoise(Event):
    """Gaussian noise N(0, sigma^2) on each coordinate.

    Parameters
    ----------
    what : str
        The released quantity, in the words of its paper.
    sigma : float
        Standard deviation, in the unit of the released value, 0 < sigma < inf.
    sensitivity : Sensitivity
        How far neighbours move the coordinates that noise is added to. A vector that moves by a distance s in l2 is
        `Shift(s)`.

    Raises
    ------
    ParameterError
        Unless 0 < sigma < inf.
    """

    sigma: float
    sensitivity: Sensitivity

    def __post_init__(self) -> None:
        super().__post_init__()
        require.positive(sigma=self.sigma)


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussianNoise(Event):
    """Discrete Gaussian noise on each coordinate: Pr[k] is proportional to exp(-k^2/(2 sigma^2)) on the integers.

    Parameters
    ----------
    what : str
        The released quantity, in the words of its paper.
    sigma : float
        Parameter of the noise, 0 < sigma < inf.
    sensitivity : Sensitivity
        How far neighbours move the coordinates that noise is added to, by whole numbers.

    Raises
    ------
    ParameterError
        Unless 0 < sigma < inf, and for a shift that is no whole number.
    """

    sigma: float
    sensitivity: Sensitivity

    def __post_init__(self) -> None:
        super().__post_init__()
        require.positive(sigma=self.sigma)
        _whole(self.sensitivity)


@dataclass(frozen=True, kw_only=True)
class BinomialNoise(Event):
    """The release adds a draw of Bin(trials, probability) to each integer coordinate: the sum of shuffled noise bits.

    The noise is symmetric only where the probability is 1/2. Elsewhere, composed coordinates cost less when the
    directions of their shifts are stated.

    Parameters
    ----------
    what : str
        The released quantity, in the words of its paper.
    trials : int
        How many bits are summed, at least 1.
    probability : float
        Chance that a bit is 1, in [0, 1].
    sensitivity : Sensitivity
        How far neighbours move the coordinates that noise is added to, by whole numbers.

    Raises
    ------
    ParameterError
        For trials that are no whole number >= 1, a probability outside [0, 1], a shift that is no whole number, and a
        sensitivity of `Sensitivity.doubled` where the probability is not 1/2: its proof needs symmetric noise.

    Examples
    --------
    >>> from dpverify import account
    >>> from dpverify.ledger import BinomialNoise, Ledger, Sensitivity
    >>> noise = BinomialNoise(trials=10_000, probability=0.5, sensitivity=Sensitivity(replace=1))
    >>> round(account(Ledger(noise), delta=1e-6), 3)
    0.071
    """

    trials: int
    probability: float
    sensitivity: Sensitivity

    def __post_init__(self) -> None:
        super().__post_init__()
        require.integer(at_least=1, trials=self.trials)
        require.probability(probability=self.probability)
        _whole(self.sensitivity)
        if self.sensitivity.derived and self.probability != 0.5:
            raise ParameterError("sensitivity", "doubled", "stated under replace-one: noise of unfair bits is skew")


@dataclass(frozen=True, kw_only=True)
class KaryResponse(Event):
    """A user reports one of k values, by k-ary randomised response.

    The report is the true value with probability e^eps/(e^eps + k - 1), else a uniform one of the others.

    Parameters
    ----------
    what : str
        The released quantity, in the words of its paper.
    k : int
        How many values there are, at least 2.
    eps : float
        Log of the ratio between the chance of the true value and that of any other one, 0 < eps < inf.
    reports : Sensitivity
        How many reports a change of one user can change: shifts of size 1.

    Raises
    ------
    ParameterError
        Unless k is a whole number >= 2 and 0 < eps < inf.

    Examples
    --------
    Two answers of every user cost twice as much as one:

    >>> from dpverify import account
    >>> from dpverify.ledger import KaryResponse, Ledger, Sensitivity, Shift
    >>> account(Ledger(KaryResponse(k=4, eps=0.5, reports=Sensitivity(replace=Shift(1, 2)))))
    1.0
    """

    k: int
    eps: float
    reports: Sensitivity

    def __post_init__(self) -> None:
        super().__post_init__()
        require.integer(at_least=2, k=self.k)
        require.positive(eps=self.eps)


@dataclass(frozen=True, kw_only=True)
class FiniteLaws(Event):
    """A mechanism has finitely many outputs and is given by its law on each dataset of every pair of neighbours.

    The pairs need not be few, but they must be all.

    Parameters
    ----------
    what : str
        The released quantity, in the words of its paper.
    pairs : tuple of tuple
        Pairs (p, q) of probability vectors over the same outputs, tuples of floats of one length, for every pair of
        neighbours. Both orders are accounted, so each pair is listed once.
    relation : Relation
        Under which the pairs are neighbours. An account under another one is an error.
    directed : bool
        Whether the first laws all belong to one of the two datasets, in the order that is common to the whole ledger.

    Raises
    ------
    ParameterError
        For entries that are not pairs, vectors of two lengths, entries below 0 or NaN, and sums that are not 1 (up to
        1e-12 for each output).

    Examples
    --------
    Randomised response that tells the truth with probability 3/4 is log(3)-DP:

    >>> from dpverify import account, Relation
    >>> from dpverify.ledger import FiniteLaws, Ledger
    >>> response = FiniteLaws(pairs=(((0.75, 0.25), (0.25, 0.75)),), relation=Relation.REPLACE_ONE)
    >>> round(account(Ledger(response)), 4)
    1.0986
    """

    pairs: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]
    relation: Relation
    directed: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require.several(tuple, pairs=self.pairs)
        for pair in self.pairs:
            if len(pair) != 2:
                raise ParameterError("pairs", pair, "pairs (p, q) of probability vectors")
            laws(*pair)


@dataclass(frozen=True, kw_only=True)
class PureStep(Event):
    """A step that a theorem proves eps-DP, such as an exponential mechanism: its worst case is charged.

    Parameters
    ----------
    what : str
        The released quantity, in the words of its paper.
    eps : float
        What the theorem proves, 0 < eps < inf.
    uses : Sensitivity
        How many such steps a change of one user reaches: shifts of size 1.

    Raises
    ------
    ParameterError
        Unless 0 < eps < inf.
    """

    eps: float
    uses: Sensitivity

    def __post_init__(self) -> None:
        super().__post_init__()
        require.positive(eps=self.eps)


@dataclass(frozen=True, kw_only=True)
class Exposed(Event):
    """The release shows something that depends on the data without noise: no finite eps holds.

    Parameters
    ----------
    what : str
        The released quantity, in the words of its paper.

    Examples
    --------
    >>> from dpverify import account
    >>> from dpverify.ledger import Exposed, Ledger
    >>> account(Ledger(Exposed(what="the largest value")))
    inf
    """


@dataclass(frozen=True, kw_only=True)
class OneOf(Event):
    """Every pair of neighbours meets one of these ledgers: which one depends on the pair, never on what is released.

    The largest cost among the branches is charged.

    Parameters
    ----------
    what : str
        The released quantity, in the words of its paper.
    branches : tuple of Ledger
        What a pair of neighbours may meet, at least one ledger.

    Raises
    ------
    ParameterError
        For no branches at all, and for anything that is no ledger.

    Examples
    --------
    >>> from dpverify import account
    >>> from dpverify.ledger import laplace, Ledger, OneOf
    >>> branches = (laplace(scale=2.0, sensitivity=1.0), laplace(scale=4.0, sensitivity=1.0))
    >>> account(Ledger(OneOf(branches=branches)))
    0.5
    """

    branches: "tuple[Ledger, ...]"

    def __post_init__(self) -> None:
        super().__post_init__()
        require.several(Ledger, branches=self.branches)
        if not self.branches:
            raise ParameterError("branches", self.branches, "at least one ledger")


@dataclass(frozen=True, kw_only=True)
class Disjoint(OneOf):
    """Every user is in exactly one of several disjoint sets, and each set has a ledger (parallel composition).

    A user that is added or removed is met by one branch. One that is *replaced* is met by one where the user's place
    says which, and by two where the user's data say it: the old record leaves one set, the new one enters another.
    `assigned` says which it is; without it, an account under replace-one is refused where there are several different
    branches. A branch that is entered or left is charged under add/remove, so it must state that sensitivity as well.

    Parameters
    ----------
    what : str
        The released quantity, in the words of its paper.
    branches : tuple of Ledger
        What is released from each set, at least one ledger.
    assigned : Assigned, optional
        What says in which set a user is. Needed under replace-one where there are several branches.

    Raises
    ------
    ParameterError
        For no branches at all, anything that is no ledger, and an `assigned` that is no `Assigned`.

    Examples
    --------
    Four cells of a histogram have noise Lap(1) each. A record that is added is in one of them; one that is replaced may
    leave a cell and enter another:

    >>> from dpverify import account, Relation
    >>> from dpverify.ledger import Assigned, Disjoint, laplace, Ledger
    >>> cell = laplace(scale=1.0, sensitivity=1.0)
    >>> histogram = Ledger(Disjoint(branches=(cell,) * 4, assigned=Assigned.BY_DATA))
    >>> account(histogram, relation=Relation.ADD_OR_REMOVE_ONE), account(histogram)
    (1.0, 2.0)
    """

    assigned: Assigned | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.assigned is not None:
            require.member(Assigned, assigned=self.assigned)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Ledger:
    """All events of a release, composed adaptively: each may depend on what the earlier ones released.

    An empty ledger is a release that does not depend on the data. Ledgers are added with + and repeated with *. Equal
    events are gathered: `counted` lists every different event with how often it occurs, in the order of first use. Two
    ledgers are equal if they list the same events equally often, in any order.

    Parameters
    ----------
    *events : Event
        What was done, in order.

    Raises
    ------
    ParameterError
        For anything that is no event, or that holds lists or arrays.

    Examples
    --------
    >>> from dpverify.ledger import GaussianNoise, Ledger, Sensitivity
    >>> noise = GaussianNoise(sigma=1e4, sensitivity=Sensitivity(replace=1))
    >>> ((_, times),) = (Ledger(noise) * 10**9).counted
    >>> times, Ledger(noise, noise) == Ledger(noise) * 2
    (1000000000, True)
    """

    counted: "tuple[tuple[Event, int], ...]"

    def __init__(self, *events: Event) -> None:
        self._gather((event, 1) for event in events)

    def _gather(self, parts: "Iterable[tuple[Event, int]]") -> None:
        counted: dict[Event, int] = {}
        for event, times in parts:
            if not isinstance(event, Event):
                raise ParameterError("event", event, "a ledger event such as LaplaceNoise")
            try:
                counted[event] = counted.get(event, 0) + times
                require.integer(at_least=0, times=counted[event])
            except TypeError:
                raise ParameterError("event", event, "made of numbers and tuples (no lists or arrays)") from None
        object.__setattr__(self, "counted", tuple((event, times) for event, times in counted.items() if times))
        object.__setattr__(self, "_hash", hash(frozenset(self.counted)))

    @classmethod
    def of(cls, *counted: "tuple[Event, int]") -> "Ledger":
        """From events and how often each occurs."""
        for _, times in counted:
            require.integer(at_least=0, times=times)
        ledger = cls.__new__(cls)
        ledger._gather((event, int(times)) for event, times in counted)
        return ledger

    @property
    def events(self) -> "Sequence[Event]":
        """Every occurrence, equal ones one after the other; nothing is stored for it, however many there are."""
        return _Occurrences(self.counted)

    def __add__(self, other: "Ledger") -> "Ledger":
        return Ledger.of(*self.counted, *other.counted)

    def __mul__(self, times: int) -> "Ledger":
        require.integer(at_least=0, times=times)
        return Ledger.of(*((event, count * int(times)) for event, count in self.counted))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ledger):
            return NotImplemented
        return frozenset(self.counted) == frozenset(other.counted)

    def __hash__(self) -> int:
        return int(self.__dict__["_hash"])

    def __repr__(self) -> str:
        return f"Ledger({', '.join(f'{e!r} * {n}' if n > 1 else repr(e) for e, n in self.counted)})"


class _Occurrences(Sequence[Event]):
    """The events of a ledger one by one, as a sequence that is not stored."""

    def __init__(self, counted: "tuple[tuple[Event, int], ...]") -> None:
        self._events = [event for event, _ in counted]
        self._ends = list(itertools.accumulate(times for _, times in counted))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, at: int) -> Event: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Event, ...]: ...

    def __getitem__(self, at: int | slice) -> Event | tuple[Event, ...]:
        if isinstance(at, slice):
            return tuple(self[i] for i in range(*at.indices(len(self))))
        return self._events[bisect.bisect_right(self._ends, range(len(self))[at])]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(operator.eq, self, other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"({', '.join(map(repr, self))})" if len(self) < 100 else f"({len(self):,} events)"


def _whole(sensitivity: Sensitivity) -> None:
    for shifts in (sensitivity.replace, sensitivity.add_remove):
        for shift in shifts or ():
            if as_fraction(shift.size).denominator != 1:
                raise ParameterError("shift.size", shift.size, "a whole number for integer-valued noise")
