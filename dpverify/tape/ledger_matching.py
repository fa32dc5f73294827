"""Whether what a transcript moves is what a ledger declares (F7).

F7. Suppose in k fresh transcripts every moved materialisation is matched, online, with a coordinate of the ledger that
dominates it and is used once, and none is bad. Then at confidence 1 - beta V is (eps, delta_ledger(eps) + delta_k) in
this order. Proof: draw one outcome for each coordinate of the ledger. Each conditional pair (law of o_i on D, on D') is
dominated, so a kernel turns that outcome into o_i (Blackwell 1951), reading coordinates in the order in which they are
matched; unread ones are ignored. On the event "matched", T is post-processing of the product of the dominating pairs;
the rest has probability at most delta_k.

Domination. Laplace noise of scale b moved by s is dominated by scale b0 moved by s0 where s/b <= s0/b0, likewise a sum
of Laplace variables (one of them with fresh noise). Discrete Laplace noise needs b >= b0 and s <= s0, and so does
discrete Gaussian noise, but with equal sigma. A binomial of n flips needs the same chance of a flip, n >= n0 (flips
beyond n0 are fresh noise), s <= s0 (its mass is log-concave, so power grows with the shift) and the event's direction.
A coin, p on D and q < p on D', needs p/q <= p0/q0 and (1-q)/(1-p) <= (1-q0)/(1-p0): its trade-off curve is then nowhere
below that of the declared coin; for a pure step of eps both quotients are e^eps. Normal coordinates are matched by l2:
sum (s/sigma)^2 at most that of all normal events together, since each step reads the increment of one Brownian motion
with drift over (s/sigma)^2 of its time. Best fit is online and finds a matching wherever there is one, where one number
says which of two coordinates dominates: if one exists, exchanging coordinates gives one where the element in hand has
the smallest that suffices. For coins and binomials of several kinds it may miss one: nothing is called fine for that.

A value that moves by less than 1e-12 of its continuous noise's scale (ROUNDED) has moved by the rounding of a sum: it
needs no event. What that guarantees: of Laplace noise each such value costs at most 1e-12 in eps, of normal noise at
most 1e-24 in mu^2; a statement by F7 is exact but for that times their number, and but for a relative 1e-9 of each
movement (`STRICT`). Neither is added to the account. Nothing is said of movements that floating point has lost:
with counts of 1e9, off - off' itself is a multiple of 1e-7. F5 (`witness`) adds all of that; compare the two where
noise is small beside what it is added to.

Directions, and which law of a coin is that of D, are those of one order of the pair for the whole ledger. They are
compared as the pair's order has them, or all mirrored: the same for all transcripts of both orders.

A call of a library of which a bound eps on this pair is known (`instruments`) is dominated by a step of the ledger with
at least that eps: randomised response dominates every eps-DP pair of laws.

Comparisons of noise with noise that never becomes a number (`comparisons`) are matched by one threshold at a time with
a run of an `AboveThreshold`: no more positive outcomes, no larger movement over either scale, in one direction where
the event says so. Its largest loss is then that of the run or more. Transcripts of chosen values must match as well.

A filter (`Filtered`) of pure losses is no coordinate: its steps may depend on what was released before, and what they
are is read off the transcript. A Laplace or discrete Laplace element takes shift/scale of its budget, a coin and a call
with a pure bound their eps; transcripts whose sums stay within the budget have L at most the budget, which is F5.

A draw without an event contradicts nothing: the ledger may be right in another way than draw by draw (four Gaussian
shares of one noise, noise beside noise, a public coin that chooses a scale). It is UNMATCHED; what contradicts a ledger
is a witness, see `tracer.against_ledger`.

Events that no draw shows (PureStep, FiniteLaws and others) are listed, never ticked off. A branch of `OneOf` conforms
where one branch matches all transcripts.
"""

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import shorten

import numpy as np

from dpverify.claims.claim import PureDP
from dpverify.claims.neighbours import Relation
from dpverify.errors import AccountingError
from dpverify.ledger.compound_events import AboveThreshold, Filtered
from dpverify.ledger.events import (
    BinomialNoise,
    Direction,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    FiniteLaws,
    GaussianNoise,
    KaryResponse,
    LaplaceNoise,
    Ledger,
    OneOf,
    PureStep,
    Sensitivity,
    Shift,
)
from dpverify.tape.families import FAMILIES
from dpverify.tape.forced import Moved
from dpverify.tape.transcript import Reason

# ----------------------------------------------------------------------------------------------------------------------
# The coordinates of a ledger, each to be used once by a moved draw that it dominates.


STRICT = 1e-9  # relative: closer than that counts as equal
MATCHED_EVENTS = (LaplaceNoise, GaussianNoise, DiscreteLaplaceNoise, DiscreteGaussianNoise, BinomialNoise)


def direction(sign: float) -> Direction:
    """Of noise that must go this way for the largest loss: values are higher on D' where it must go down."""
    return Direction.UP if sign < 0 else Direction.DOWN


@dataclass(frozen=True)
class _Binomial:
    trials: int
    probability: float
    size: float
    way: Direction | None  # None dominates both
    count: int

    def covers(self, trials: float, probability: float, shift: float, way: Direction) -> bool:
        fits = trials >= self.trials and probability == self.probability and shift <= self.size
        return fits and (self.way in (None, way) or probability == 0.5)


@dataclass(frozen=True)
class _Coin:
    p: float  # of one outcome, on D
    q: float  # on D'
    directed: bool
    count: int

    def covers(self, p: float, q: float) -> bool:
        return _less_telling(p, q, self.p, self.q) or (not self.directed and _less_telling(q, p, self.p, self.q))


@dataclass(frozen=True)
class _Run:
    """Comparisons with one threshold: movements over scales, and how many positive outcomes there may be."""

    threshold: float
    query: float
    positive: int
    monotone: bool
    count: int

    def covers(self, moved: Moved) -> bool:
        assert moved.above is not None
        size = float(np.abs(moved.shift).max())
        near = size / moved.threshold_scale <= self.threshold * (1 + STRICT)
        near &= float((size / moved.scale).max()) <= self.query * (1 + STRICT)
        one_way = bool((moved.shift >= 0).all() or (moved.shift <= 0).all())
        return near and int(moved.above.sum()) <= self.positive and (one_way or not self.monotone)


def _less_telling(p: float, q: float, more: float, less: float) -> bool:
    """Whether no quotient of the coin (p, q) exceeds that of (more, less) of the same kind."""
    if p < q:
        p, q = 1 - p, 1 - q
    if more < less:
        more, less = 1 - more, 1 - less
    within = 1 + STRICT
    return p * less <= more * q * within and (1 - q) * (1 - more) <= (1 - less) * (1 - p) * within


class Stock:
    """Coordinates of a ledger that are not used yet; `mirrored` takes its directions for those of the other order."""

    def __init__(self, ledger: Ledger, relation: Relation, *, mirrored: bool = False) -> None:
        self.laplace: list[tuple[float, int]] = []
        self.discrete: dict[str, list[tuple[float, float, int]]] = {"discrete_laplace": [], "discrete_gaussian": []}
        self.binomial: list[_Binomial] = []
        self.coins: list[_Coin] = []
        self.pure: list[tuple[float, int]] = []
        self.runs: list[_Run] = []
        self.square = 0.0
        self.budgets: list[float] = []  # of filters: what is left for the sum of pure losses
        self.directed = False  # whether mirroring makes a difference
        self.other: list[str] = []  # names of events of which some implementations show no draw
        self.shown: set[str] = set()  # those of them that were used
        self._mirrored = mirrored
        for event, times in ledger.counted:
            self._add(event, times, relation)
        self.laplace.sort()
        self.pure.sort()
        self.binomial.sort(key=lambda each: (each.size, each.way is None, -each.trials))
        self.runs.sort(key=lambda each: (each.threshold + each.query * each.positive, not each.monotone))
        self.coins.sort(key=lambda each: (not each.directed, max(each.p, each.q) - min(each.p, each.q)))

    def _add(self, event: Event, times: int, relation: Relation) -> None:
        match event:
            case PureStep():
                self.pure += [(event.eps, shift.count * times) for shift in _shifts(event.uses, relation) if shift.size]
                self.other.append(type(event).__name__)
            case KaryResponse(k=2):
                uses = [shift for shift in _shifts(event.reports, relation) if shift.size]
                self.pure += [(event.eps, shift.count * times) for shift in uses]
                self.other.append(type(event).__name__)
            case FiniteLaws(pairs=(((p, not_p), (q, not_q)),)) if event.relation is relation:
                p, q = p / (p + not_p), q / (q + not_q)
                self.coins.append(_Coin(*((q, p) if self._mirrored else (p, q)), event.directed, times))
                self.directed |= event.directed
                self.other.append(type(event).__name__)
            case Filtered(budget=PureDP(eps=eps)) if event.budget.relation is relation:
                self.budgets += [float(eps) * (1 + STRICT)] * times
                self.other.append(type(event).__name__)
            case AboveThreshold():
                self._add_runs(event, times, relation)
                self.other.append(type(event).__name__)
            case LaplaceNoise() | GaussianNoise() | DiscreteLaplaceNoise() | DiscreteGaussianNoise() | BinomialNoise():
                for shift in _shifts(event.sensitivity, relation):
                    if shift.count * times and shift.size:
                        self._add_noise(event, shift, shift.count * times)
            case _:
                self.other.append(type(event).__name__)

    def _add_runs(self, event: AboveThreshold, times: int, relation: Relation) -> None:
        for shift in _shifts(event.sensitivity, relation):
            if not (count := shift.count * times) or not shift.size:
                continue
            ratios = shift.size / event.threshold_scale, shift.size / event.query_scale
            positive = event.count // event.thresholds
            self.runs.append(_Run(*ratios, positive, event.monotone, count * event.thresholds))
            if event.value_scale is not None:
                self.laplace.append((shift.size / event.value_scale, count * event.count))

    def _add_noise(self, event: Event, shift: Shift, count: int) -> None:
        match event:
            case LaplaceNoise():
                self.laplace.append((shift.size / event.scale, count))
            case GaussianNoise():
                self.square += count * (shift.size / event.sigma) ** 2
            case DiscreteLaplaceNoise():
                self.discrete["discrete_laplace"].append((event.scale, shift.size, count))
            case DiscreteGaussianNoise():
                self.discrete["discrete_gaussian"].append((event.sigma, shift.size, count))
            case BinomialNoise():
                way = shift.direction
                self.directed |= way is not None
                way = way.mirrored if way is not None and self._mirrored else way
                self.binomial.append(_Binomial(event.trials, event.probability, shift.size, way, count))

    def take_budget(self, eps: float) -> bool:
        """Uses a part of the budget of a filter, which bounds the sum of losses of its steps, whatever they are."""
        at = next((at for at, left in enumerate(self.budgets) if eps <= left), None)
        if at is None:
            return False
        self.shown.add("Filtered")
        self.budgets[at] -= eps
        return True

    def take_step(self, eps: float) -> bool:
        """Uses the smallest declared step that is as large, or a part of a filter's budget."""
        at = bisect.bisect_left(self.pure, (eps * (1 - STRICT), 0))
        if at == len(self.pure):
            return self.take_budget(eps)
        self.shown |= {"PureStep", "KaryResponse"}
        declared, count = self.pure[at]
        self.pure[at : at + 1] = [(declared, count - 1)] if count > 1 else []
        return True

    def take_run(self, moved: Moved) -> bool:
        """Uses a declared run of comparisons that dominates these."""
        at = next((at for at, each in enumerate(self.runs) if each.covers(moved)), None)
        if at is None:
            return False
        self.shown.add("AboveThreshold")
        left = self.runs[at]
        self.runs[at : at + 1] = [replace(left, count=left.count - 1)] if left.count > 1 else []
        return True

    def take_coin(self, p: float, q: float) -> bool:
        """Uses a declared coin that dominates one of chance p on D and q on D'."""
        at = next((at for at, each in enumerate(self.coins) if each.covers(p, q)), None)
        if at is None:
            return False
        self.shown.add("FiniteLaws")
        left = self.coins[at]
        self.coins[at : at + 1] = [replace(left, count=left.count - 1)] if left.count > 1 else []
        return True

    def take(self, family: str, shift: float, scale: float, parameters: tuple[float, ...], sign: float = 0.0) -> bool:
        """Uses a coordinate that dominates; False where none is left. `sign` is the noise's with the largest loss."""
        if family in ("laplace", "laplace_sum"):
            at = bisect.bisect_left(self.laplace, (shift / scale * (1 - STRICT), 0))
            if at == len(self.laplace):
                return self.take_budget(shift / scale)
            ratio, count = self.laplace[at]
            self.laplace[at : at + 1] = [(ratio, count - 1)] if count > 1 else []
            return True
        if family == "normal":
            self.square -= (shift / scale) ** 2 * (1 - STRICT)
            return self.square >= -STRICT * (shift / scale) ** 2
        if family in self.discrete and scale == 1:
            return self._take_discrete(family, shift, parameters[0])
        if family == "binomial" and scale == 1:
            return self._take_binomial(parameters, shift, direction(sign))
        return False

    def _take_discrete(self, family: str, shift: float, width: float) -> bool:
        fits = [
            (size, -declared, at)
            for at, (declared, size, _) in enumerate(self.discrete[family])
            if size >= shift and (width == declared or (width > declared and family == "discrete_laplace"))
        ]
        if not fits:
            return family == "discrete_laplace" and self.take_budget(shift / width)
        at = min(fits)[2]
        declared, size, count = self.discrete[family][at]
        self.discrete[family][at : at + 1] = [(declared, size, count - 1)] if count > 1 else []
        return True

    def _take_binomial(self, parameters: tuple[float, ...], shift: float, way: Direction) -> bool:
        trials, chance = parameters
        at = next((at for at, each in enumerate(self.binomial) if each.covers(trials, chance, shift, way)), None)
        if at is None:
            return False
        left = self.binomial[at]
        self.binomial[at : at + 1] = [replace(left, count=left.count - 1)] if left.count > 1 else []
        return True


def _shifts(sensitivity: Sensitivity, relation: Relation) -> tuple[Shift, ...]:
    try:
        return sensitivity.under(relation)
    except AccountingError:
        return ()


# ----------------------------------------------------------------------------------------------------------------------


ROUNDED = 1e-12  # in units of the scale: a value that moves by less has moved by the rounding of a sum


LEAST_CHANCE = 1e-6  # 1 - p of a double p then has ten digits
UNSAID = "UNSAID"  # code of a reason that contradicts nothing


@dataclass(frozen=True)
class Conformity:
    """CONFORMS where every transcript matches; UNMATCHED where a draw has no event of its own.

    Matching is sufficient and not necessary: a ledger may be right in another way than draw by draw, so a draw without
    an event contradicts nothing. UNDECIDED where the ledger has events that no draw can show. `unmatched_draws` say
    what has no event, `unmatched_events` are those events.
    """

    status: str  # "CONFORMS" | "UNMATCHED" | "UNDECIDED"
    matches: int
    unmatched_draws: tuple[Reason, ...]
    unmatched_events: tuple[str, ...]


def conforms(transcripts: Sequence[tuple[Moved, ...]], ledger: Ledger, relation: Relation) -> Conformity:
    """F7 over transcripts without a bad one, as the pair's order sees them (`Forced.oriented`)."""
    best: Conformity | None = None
    for branch in _branches(ledger):
        for mirrored in (False, True) if Stock(branch, relation).directed else (False,):
            found = _one(transcripts, branch, relation, mirrored)
            if found.status == "CONFORMS":
                return found
            best = found if best is None or found.matches > best.matches else best
    assert best is not None
    return best


def _branches(ledger: Ledger) -> list[Ledger]:
    """The ledger for each way in which its `OneOf` events may go; as it is where there are several of them."""
    places = [(event, times) for event, times in ledger.counted if isinstance(event, OneOf)]
    if len(places) != 1 or places[0][1] != 1:
        return [ledger]
    rest = Ledger.of(*(each for each in ledger.counted if not isinstance(each[0], OneOf)))
    return [way for branch in places[0][0].branches for way in _branches(rest + branch)]


def _one(transcripts: Sequence[tuple[Moved, ...]], ledger: Ledger, relation: Relation, mirrored: bool) -> Conformity:
    matches, missing = 0, dict[str, Reason]()
    other, shown = tuple(dict.fromkeys(Stock(ledger, relation).other)), set[str]()
    for moved in transcripts:
        stock = Stock(ledger, relation, mirrored=mirrored)
        unmatched = [reason for each in moved if (reason := _unmatched(each, stock, ledger)) is not None]
        matches += not unmatched
        shown |= stock.shown
        missing.update({str(reason): reason for reason in unmatched})
    if any(moved.loss is not None for each in transcripts for moved in each):
        other = tuple(name for name in other if name != "PureStep")  # calls show pure steps
    if any(moved.above is not None for each in transcripts for moved in each):
        other = tuple(name for name in other if name != "AboveThreshold")  # and comparisons theirs
    if matches == len(transcripts):
        return Conformity("CONFORMS", matches, (), tuple(name for name in other if name not in shown))
    unsaid = all(reason.code == UNSAID for reason in missing.values())
    status = "UNDECIDED" if other or unsaid else "UNMATCHED"
    return Conformity(status, matches, tuple(list(missing.values())[:5]), other)


def _unmatched(moved: Moved, stock: Stock, ledger: Ledger) -> Reason | None:
    if moved.loss is not None:
        return _unmatched_call(moved, stock, ledger)
    if moved.kind == "decision":
        return _unmatched_coin(moved, stock, ledger)
    if moved.above is not None:
        return None if stock.take_run(moved) else _unmatched_run(moved, ledger)
    if moved.kind != "value":
        return Reason("NO_EVENT", moved.site, f"a {moved.kind} of {moved.family} depends on the data; no event says so")
    fixed = np.array_equal(moved.scale, moved.other_scale) and all(
        np.array_equal(one, other) for one, other in zip(moved.parameters, moved.other_parameters, strict=True)
    )
    if not fixed:
        return Reason("DATA_SCALE", moved.site, f"the scale of {moved.family} noise depends on the data")
    for index, (shift, scale) in enumerate(zip(np.abs(moved.shift), moved.scale, strict=True)):
        given = tuple(float(column[index]) for column in moved.parameters)
        if negligible(moved.family, float(shift), float(scale)):
            continue
        sign = float(moved.direction[index])
        taken = scale > 0 and math.isfinite(shift) and stock.take(moved.family, float(shift), float(scale), given, sign)
        if not taken:
            width = given[0] if given else float(scale)
            text = f"adds {moved.family}({width:g}) to a value that moves by {float(shift):g}; {_nearest(ledger)}"
            return Reason("NO_EVENT", moved.site, text)
    return None


def _unmatched_coin(moved: Moved, stock: Stock, ledger: Ledger) -> Reason | None:
    """Decisions that fall one way with different chances: coins of the ledger, or pure steps that lose as much."""
    for p, q in zip(*(given[0].tolist() for given in (moved.parameters, moved.other_parameters)), strict=True):
        what = f"a decision of {moved.family} has chance {p:.6g} on one dataset and {q:.6g} on the other"
        if not chances_are_told(p, q) and abs(p - q) <= LEAST_CHANCE:
            return Reason(UNSAID, moved.site, f"{what}: too near to certain to be compared")
        certain = min(p, 1 - p, q, 1 - q) <= 0  # on one dataset
        eps = math.inf if certain else max(abs(math.log(p / q)), abs(math.log((1 - p) / (1 - q))))
        if not (stock.take_coin(p, q) or stock.take_step(eps)):
            return Reason("NO_EVENT", moved.site, f"{what}; {_nearest(ledger)}")
    return None


def _unmatched_run(moved: Moved, ledger: Ledger) -> Reason:
    assert moved.above is not None
    text = (
        f"compares laplace({float(moved.scale.min()):g}) with a threshold of laplace({moved.threshold_scale:g}), "
        f"{int(moved.above.sum())} times positive, where answers move by {float(np.abs(moved.shift).max()):g}"
    )
    return Reason("NO_EVENT", moved.site, f"{text}; {_nearest(ledger)}")


def compares(ledger: Ledger) -> bool:
    """Whether the ledger has comparisons, in some branch."""
    return any(
        isinstance(event, AboveThreshold) or (isinstance(event, OneOf) and any(map(compares, event.branches)))
        for event, _ in ledger.counted
    )


def chances_are_told(p: float, q: float) -> bool:
    """Whether the chances of a coin say all digits that are compared, of both of its outcomes."""
    return min(p, 1 - p, q, 1 - q) >= LEAST_CHANCE


def _unmatched_call(moved: Moved, stock: Stock, ledger: Ledger) -> Reason | None:
    """An instrumented call of which the tape has a bound: a step of the ledger covers it, or nothing can be said.

    Noise of the ledger does not dominate every step with the same eps, so it is neither matched nor contradicted by a
    call that loses no more than it does.
    """
    assert moved.loss is not None
    gap, eps = moved.loss.moved, moved.loss.eps
    what = f"{moved.family} costs eps {eps:.12g} where its input moves by {gap:g}"
    if not math.isfinite(eps):
        return Reason(UNSAID, moved.site, f"{moved.family} has no event of the ledger where its input moves by {gap:g}")
    if stock.take_step(eps):
        return None
    if stock.take("laplace", eps, 1.0, ()):
        return Reason(UNSAID, moved.site, f"{what}; the ledger has noise, which does not cover every such call")
    return Reason("NO_EVENT", moved.site, f"{what}; {_nearest(ledger)}")


def negligible(family: str, shift: float, scale: float) -> bool:
    """Whether a movement is the rounding of a sum: never for whole numbers."""
    return not FAMILIES[family].lattice and shift <= ROUNDED * scale


def _nearest(ledger: Ledger) -> str:
    names = [f"{shorten(repr(event), 200, placeholder=' ...)')} x {times}" for event, times in ledger.counted[:2]]
    return f"the ledger has {'; '.join(names) if names else 'no event'} and nothing is left of it that covers this"
