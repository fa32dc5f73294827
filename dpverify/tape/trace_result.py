"""What a trace has found: its word, its ledger, and the statements that follow from it, see `tracer` and below."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from dpverify.accounting import accountant
from dpverify.base import require
from dpverify.base.sites import site_text
from dpverify.claims.claim import PureDP
from dpverify.claims.neighbours import Relation
from dpverify.ledger.compound_events import Filtered
from dpverify.ledger.events import (
    DiscreteLaplaceNoise,
    Event,
    FiniteLaws,
    GaussianNoise,
    LaplaceNoise,
    Ledger,
    PureStep,
    Sensitivity,
    Shift,
)
from dpverify.tape.families import FAMILIES
from dpverify.tape.forced import Forced, Moved
from dpverify.tape.ledger_matching import chances_are_told, Conformity, conforms, direction, negligible
from dpverify.tape.transcript import Reason
from dpverify.tape.witness import Witness

Array = npt.NDArray[Any]

# ----------------------------------------------------------------------------------------------------------------------
# The table of a trace: which line of code drew what, and how far the values moved that it was added to.


@dataclass(frozen=True)
class DrawSummary:
    """The draws of one line of code in one law: how many, how many of them moved, and how far.

    `scale`, `shift_max`, `shift_l1` and `shift_l2` are those of the transcript in which the sum of movements over
    scales is largest, all in the unit of one of its values: a program may divide one noise by what it has released.
    """

    site: str
    family: str
    scale: float
    count: int
    moved: int
    shift_max: float
    shift_l1: float
    shift_l2: float
    alignment: str


@dataclass(frozen=True)
class _Seen:
    """The draws of one line in one transcript, in one unit: `shifts` are multiples of movement/scale by `scale`."""

    shifts: Array
    scale: float
    kind: str
    cost: float

    @classmethod
    def of(cls, group: Sequence[Moved]) -> "_Seen":
        shifts = np.concatenate([np.asarray(each.shift, dtype=np.float64) for each in group])
        scales = np.concatenate([np.asarray(each.scale, dtype=np.float64) for each in group])
        known = scales > 0
        if not known.any():  # decisions and bounds of calls have no scale
            return cls(shifts, float(scales.min()), group[0].kind, float(np.abs(shifts).sum()))
        ratios = shifts[known] / scales[known]
        unit = float(scales[known][np.argmax(np.abs(ratios))])
        in_unit = shifts.copy()
        in_unit[known] = np.where(scales[known] == unit, shifts[known], ratios * unit)
        return cls(in_unit, unit, group[0].kind, float(np.abs(ratios).sum()))


def summaries(runs: Sequence[Forced], alignment: str) -> tuple[DrawSummary, ...]:
    """By site and law: counts of the first run, movements of the transcript that has the largest cost there."""
    if not runs:
        return ()
    counts: dict[tuple[str, str], int] = {}
    for draw in runs[0].first.transcript.draws:
        key = site_text(draw.site), draw.family
        counts[key] = counts.get(key, 0) + draw.count
    for entry in runs[0].first.transcript.entries:
        if entry.given is not None and entry.site[0]:
            key = site_text(entry.site), entry.families[0]
            counts[key] = counts.get(key, 0) + 1
    found: dict[tuple[str, str], list[_Seen]] = {}
    for run in runs:
        by_key: dict[tuple[str, str], list[Moved]] = {}
        for moved in run.moved:
            by_key.setdefault((moved.site, moved.family), []).append(moved)
        for key, group in by_key.items():
            found.setdefault(key, []).append(_Seen.of(group))
    rows = []
    for key in {**counts, **dict.fromkeys(found)}:
        seen = found.get(key, [])
        kind = "decision" if any(each.kind == "decision" for each in seen) else alignment
        worst = max(seen, key=lambda each: each.cost, default=_Seen(np.zeros(0), math.nan, alignment, 0.0))
        size = np.abs(worst.shifts)
        rows.append(
            DrawSummary(
                site=key[0],
                family=key[1],
                scale=worst.scale,
                count=counts.get(key, 0),
                moved=max((len(each.shifts) for each in seen), default=0),
                shift_max=float(size.max(initial=0.0)),
                shift_l1=float(size.sum()),
                shift_l2=float(np.sqrt((size**2).sum())),
                alignment=kind,
            )
        )
    return tuple(rows)


# ----------------------------------------------------------------------------------------------------------------------
# From transcripts to statements: what k forced runs prove, and at which confidence.
#
# Write p, q for the densities of the transcript T under D and D', L(T) = log p(T)/q(T), and V = g(T) on D, g'(T) on D'
# for what is released; P, Q for the laws on D and D'. A transcript is bad where the outputs differ or L is not finite.
#
# F1, chain rule. If each z is fresh with its stated law, L is the sum of the log ratios of the materialisations. Proof:
# o_i is a function of z_i with slope coef_i != 0 given o_1..o_(i-1). The map z -> T is triangular, so p(T) is the
# product of f_i(z_i)/|coef_i|, and q(T) likewise, with the off', coef' that the program computes on D' from the same
# o_1..o_(i-1). A decision has the probability of its outcome given the interval that is left. Adaptivity is inside.
#
# F5, bound at a confidence. If k transcripts are drawn from P, none is bad and none has L > eps, then V is
# (eps, delta_k)-indistinguishable in this order, delta_k = 1 - beta^(1/k), at confidence 1 - beta. Proof: let
# B = {bad or L > eps}. P(A) <= P(B) + P(g in A, not B); on the complement of B we have g = g' and p <= e^eps q, so the
# second term is at most e^eps Q(A). P(B) <= delta_k at confidence 1 - beta (Clopper-Pearson). eps may be the largest L
# seen: P[L > largest of k] is at most delta_k with probability 1 - beta for any law (Wilks 1941), atoms included.
#
# F6, profile. With W = 1 if bad, else max(0, 1 - e^(eps - L)), E[W] >= delta_V(eps). Proof: P(A) - e^eps Q(A) is at
# most P(bad) + E[1 - e^(eps - L); good, g in A], and the integrand is at most its positive part. An upper confidence
# bound of a mean in [0, 1] is therefore a certified delta (`_mean_end`).
#
# F8, ledger. Where every transcript's moved coordinates are dominated by those of one ledger, in the sense of F7
# (see there), V is (eps, delta_ledger(eps) + delta_k). The envelope of pilot transcripts is such a ledger, tested on
# the transcripts that count. So many finite draws, of which no enumeration sees the end, are a product: of binomials
# with their directions, and of coins (decisions) with their two chances on D and on D', all to 12 digits.
#
# Two orders: beta/2 each. k transcripts never prove anything about other pairs.


MOST_KINDS = 256  # different events of a ledger that may be the same in all transcripts; more are those of chance
ALIKE = 1e-9  # relative: numbers that are nearer are one, as in F7
DIGITS = 12  # scales and shifts that agree to so many digits are one event


def failure_mass(transcripts: int, beta: float) -> float:
    """delta_k = 1 - beta^(1/k), rounded up: the largest mass of a set that k draws all miss, at confidence 1 - beta."""
    return math.nextafter(-math.expm1(math.log(beta) / transcripts), 1.0)


def largest(log_ratios: Sequence[float]) -> float:
    """F5: the eps of the statement (eps, delta_k); inf where a transcript is bad (its log ratio is not finite)."""
    return max((each if math.isfinite(each) else math.inf for each in log_ratios), default=math.inf)


def loss_profile(log_ratios: Sequence[float], eps: float, beta: float) -> float:
    """F6: a delta such that V is (eps, delta) in this order, at confidence 1 - beta."""
    losses = [1.0 if not math.isfinite(each) else -math.expm1(min(eps - each, 0.0)) for each in log_ratios]
    return min(1.0, _mean_end(losses, beta, upper=True) * (1 + 1e-9) + 1e-14)


def delta_at_least(log_ratios: Sequence[float], eps: float, beta: float) -> float:
    """A delta that V exceeds at this eps in this order, at confidence 1 - beta, where V shows every transcript.

    Of transcripts drawn from P, L rounded down (-inf where nothing is shown, inf by F4): delta_V(eps) is then at least
    E[max(0, 1 - e^(eps - L))], as in F6.
    """
    losses = [-math.expm1(min(eps - each, 0.0)) for each in log_ratios]
    return max(0.0, _mean_end(losses, beta, upper=False) * (1 - 1e-9) - 1e-14)


def _mean_end(losses: Sequence[float], beta: float, *, upper: bool) -> float:
    """An end of a confidence interval of a mean in [0, 1]: k KL(mean || q) <= ln(1/beta) (Hoeffding 1963, Thm 1)."""
    mean = math.fsum(losses) / len(losses)

    def excess(q: float) -> float:
        return len(losses) * _divergence(mean, q) - math.log(1 / beta)

    far = 1 - 1e-15 if upper else 1e-15
    if (mean >= far if upper else mean <= far) or excess(far) <= 0:
        return 1.0 if upper else 0.0
    return float(scipy.optimize.brentq(excess, min(max(mean, 1e-15), 1 - 1e-15), far, xtol=1e-15))


def _divergence(p: float, q: float) -> float:
    """KL(Bernoulli(p) || Bernoulli(q))."""
    first = p * math.log(p / q) if p > 0 else 0.0
    return first + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)


def coordinates(moved: Iterable[Moved]) -> "list[tuple[Event, int]] | None":
    """The ledger events of moved elements, each coordinate by itself; None where the ledger has no such event.

    Elements as the pair's order sees them (`Forced.oriented`): events of skew noise, and coins, say where they go.
    """
    counted: Counter[Event] = Counter()
    for each in moved:
        if each.loss is not None:
            if each.event is None:
                return None
            counted[each.event] += 1
            continue
        if each.kind in ("atom", "comparison"):
            return None
        if each.kind == "decision":
            for p, q in zip(each.parameters[0], each.other_parameters[0], strict=True):
                if not chances_are_told(float(p), float(q)):
                    return None
                counted[_coin(float(p), float(q))] += 1
            continue
        same = (each.scale == each.other_scale).all() and all(
            (one == other).all() for one, other in zip(each.parameters, each.other_parameters, strict=True)
        )
        if not same:
            return None
        family = FAMILIES[each.family]
        for index, (shift, scale) in enumerate(zip(np.abs(each.shift), each.scale, strict=True)):
            if negligible(each.family, float(shift), float(scale)):
                continue
            size, width = _rounded(float(shift)), _rounded(float(scale))
            if not math.isfinite(size) or (family.lattice and not size.is_integer()):
                return None
            given = tuple(float(column[index]) for column in each.parameters)
            way = direction(float(each.direction[index])) if family.skew(given) else None
            moves = Sensitivity(replace=Shift(size, 1, way), add_remove=Shift(size, 1, way))
            event = family.event(width, given, moves) if width > 0 else None
            if event is None:
                return None
            counted[event] += 1
    return list(counted.items())


def _coin(p: float, q: float) -> FiniteLaws:
    """Two outcomes, of probability p and 1 - p on D, q and 1 - q on D'; one event whichever of them happened."""
    (p, q), (other_p, other_q) = sorted([(_rounded(p), _rounded(q)), (_rounded(1 - p), _rounded(1 - q))])
    pair = ((p, other_p), (q, other_q))
    return FiniteLaws(what="code", pairs=(pair,), relation=Relation.REPLACE_ONE, directed=True)


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def envelope(transcripts: Iterable[tuple[Moved, ...]]) -> Ledger | None:
    """A ledger that dominates what moved in every transcript, in the sense of F7; None where there is no such ledger.

    Events that one number orders are compared by that number, in whatever unit a program has used the noise: Laplace
    noise by its movement over its scale, pure steps by eps, normal noise by the sum of (movement/sigma)^2 of a
    transcript. Of the first two the ledger has the largest of all transcripts, the second largest and so on; every
    other event as often as the transcript that has it most often. Where one transcript alone has all of that, this is
    the ledger. Parts of different transcripts are never added: where all events are pure, the run is filed under a
    filter (`Filtered`) whose budget is the largest sum of one transcript, and otherwise there is no ledger.
    """
    parts: list[_Parts] = []
    for moved in transcripts:
        events = coordinates(moved)
        if events is None:
            return None
        parts.append(_Parts.of(events))
    if not parts:
        return Ledger()
    whole = parts[0]
    for each in parts[1:]:
        whole = whole.joined(each)
        if len(whole.rest) > MOST_KINDS:
            return None
    if any(each.covers(whole) for each in parts):
        return whole.ledger
    sums = [each.eps for each in parts]
    if not all(map(math.isfinite, sums)):
        return None
    budget = PureDP(_rounded(max(sums)), relation=Relation.REPLACE_ONE)
    return Ledger(Filtered(what="code", budget=budget))


@dataclass(frozen=True)
class _Parts:
    """The events of a transcript by what orders them; `laplace` and `steps` are (number, event), the largest first."""

    laplace: tuple[tuple[float, Event], ...]
    steps: tuple[tuple[float, Event], ...]
    normal: Counter[Event]
    rest: Counter[Event]

    @classmethod
    def of(cls, events: Iterable[tuple[Event, int]]) -> "_Parts":
        laplace: list[tuple[float, Event]] = []
        steps: list[tuple[float, Event]] = []
        normal, rest = Counter[Event](), Counter[Event]()
        for event, times in events:
            match event:
                case LaplaceNoise():
                    laplace += [(_size(event) / event.scale, event)] * times
                case PureStep():
                    steps += [(event.eps, event)] * times
                case GaussianNoise():
                    normal[event] += times
                case _:
                    rest[event] += times
        laplace.sort(key=_first, reverse=True)
        steps.sort(key=_first, reverse=True)
        return cls(tuple(laplace), tuple(steps), normal, rest)

    @property
    def square(self) -> float:
        """Of the normal noise: the sum of (movement/sigma)^2."""
        return math.fsum(
            times * (_size(event) / event.sigma) ** 2  # type: ignore[attr-defined]
            for event, times in self.normal.items()
        )

    @property
    def eps(self) -> float:
        """The sum of the largest losses of all events; inf where one of them has none."""
        rest = [_largest_loss(event) * times for event, times in self.rest.items()]
        infinite = [math.inf] if self.normal else []
        return math.fsum([*(each for each, _ in (*self.laplace, *self.steps)), *rest, *infinite])

    def joined(self, other: "_Parts") -> "_Parts":
        """The largest of both, in each order."""
        rest = Counter({event: max(self.rest[event], other.rest[event]) for event in {**self.rest, **other.rest}})
        normal = self.normal if self.square >= other.square * (1 - ALIKE) else other.normal
        return _Parts(_largest_of(self.laplace, other.laplace), _largest_of(self.steps, other.steps), normal, rest)

    def covers(self, whole: "_Parts") -> bool:
        """Whether this transcript has all of it, up to the rounding of its numbers."""
        for mine, most in ((self.laplace, whole.laplace), (self.steps, whole.steps)):
            if len(mine) < len(most):
                return False
            if any(one < largest * (1 - ALIKE) for (one, _), (largest, _) in zip(mine, most, strict=False)):
                return False
        return self.square >= whole.square * (1 - ALIKE) and self.rest == whole.rest

    @property
    def ledger(self) -> Ledger:
        """The events."""
        ordered = Counter(event for _, event in (*self.laplace, *self.steps))
        return Ledger.of(*self.rest.items(), *ordered.items(), *self.normal.items())


def _first(pair: tuple[float, Event]) -> float:
    return pair[0]


def _largest_of(
    one: tuple[tuple[float, Event], ...], other: tuple[tuple[float, Event], ...]
) -> tuple[tuple[float, Event], ...]:
    """The largest, the second largest and so on; the first of two that agree but for rounding."""
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    largest = (mine if mine[0] >= theirs[0] * (1 - ALIKE) else theirs for mine, theirs in zip(one, other, strict=False))
    return (*largest, *longer[len(shorter) :])


def _size(event: Any) -> float:
    (shift,) = event.sensitivity.replace
    return float(shift.size)


def _largest_loss(event: Event) -> float:
    """Of one use: what it adds to a sum of pure losses; inf where that has no bound."""
    match event:
        case DiscreteLaplaceNoise():
            return _size(event) / event.scale
        case FiniteLaws(pairs=(((p, not_p), (q, not_q)),)) if min(p, not_p, q, not_q) > 0:
            return max(abs(math.log(p / q)), abs(math.log(not_p / not_q)))
    return math.inf


# ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Certified:
    """V is (eps, delta_total)-indistinguishable on this pair, both orders, at this confidence; by which fact."""

    eps: float
    delta_total: float
    confidence: float
    fact: str


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A Trace holds what the code of a release did with its random numbers, on one pair of neighbouring datasets.

    `trace` makes it. It is about its pair, about the transcripts that were drawn, and about ideal real
    numbers.

    Parameters
    ----------
    name : str
        Name of the target.
    status : {"NOT_TRACED", "CONTRADICTED", "UNDECIDED", "CONFORMS", "DERIVED"}
        NOT_TRACED: there is no number, `reasons` say why. CONTRADICTED: the code contradicts the claim or the ledger.
        UNDECIDED: a moved draw has no event of its own in the ledger. CONFORMS: every transcript in both orders is what
        the ledger says. DERIVED: no bad transcript, and there is no ledger, or it has events that no draw shows.
    reasons : tuple of Reason
        Why the status is what it is.
    draws : tuple of DrawSummary
        Which line of code drew what, and how far the values moved that it was added to.
    ledger : Ledger or None
        The ledger that the code adds on this pair; None where a draw has no event.
    fixed : bool
        Whether all transcripts that count are covered by this ledger.
    log_ratio : tuple of two tuples of float
        Log ratio of densities of each transcript, in both orders of the datasets; NaN where it has no number.
    witness : Witness or None
        A transcript that no release with a smaller eps has.
    conformity : Conformity or None
        The comparison with the declared ledger; None without one.
    transcripts : int
        Transcripts that count, in each order.
    bad : int
        Transcripts whose outputs differ, or whose log ratio is not finite.
    confidence : float
        Of the statements about transcripts that were not drawn, in (0, 1).
    relation : Relation
        Which datasets are neighbours, for comparisons with ledgers.
    alignment : str
        How the draws of both runs are paired.
    rounding : {"bits", "dyadic", "reals"}
        How outputs agree: in all bits; in all bits on dyadic draws; or only but for the last digits.
    seed : int
        Of the random values.
    seconds : float
        Wall time.
    notes : tuple of str
        What a reader has to know beside the numbers.
    uncovered : tuple of str
        What the code may do with noise that no run shows, each with its line.
    _moved : tuple of tuple of Moved
        The draws that moved, of each good transcript.
    _at_most : tuple of two tuples of float
        The log ratios, rounded up by what floats may err.

    Notes
    -----
    Write L for the log ratio of a transcript, and V for what is released. If k transcripts are drawn in one order, none
    is bad and none has L > eps, then V is (eps, delta_k)-indistinguishable in this order, delta_k = 1 - beta^(1/k), at
    confidence 1 - beta. Proof: let B be the set of transcripts that are bad or have L > eps. An event A has P(A) <=
    P(B) + e^eps Q(A), since outside of B the outputs agree and p <= e^eps q; and P(B) <= delta_k at confidence 1 - beta
    (Clopper-Pearson). eps may be the largest L that was seen (Wilks 1941). Each order takes beta/2. `certified` is this
    statement, or that of the ledger where it covers all transcripts; k transcripts never prove anything about other
    pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from dpverify import Pair, trace
    >>> def count(data, *, rng, size):
    ...     return np.sum(data) + rng.laplace(0.0, 2.0, size)
    >>> found = trace(count, pair=Pair([0, 1], [1, 1]), transcripts=8)
    >>> found.status, found.bad, found.eps(), [each.family for each in found.draws]
    ('DERIVED', 0, 0.5, ['laplace'])
    """

    name: str
    status: str
    reasons: tuple[Reason, ...]
    draws: tuple[DrawSummary, ...]
    ledger: Ledger | None
    fixed: bool
    log_ratio: tuple[tuple[float, ...], tuple[float, ...]]
    witness: Witness | None
    conformity: Conformity | None
    transcripts: int
    bad: int
    confidence: float
    relation: Relation
    alignment: str
    rounding: str
    seed: int
    seconds: float
    notes: tuple[str, ...]
    uncovered: tuple[str, ...] = ()  # what the code may do with noise that no run shows, each with its line
    _moved: tuple[tuple[Moved, ...], ...] = field(default=(), repr=False)
    _at_most: tuple[tuple[float, ...], tuple[float, ...]] = field(default=((), ()), repr=False)  # ratios, rounded up

    @property
    def traced(self) -> bool:
        """Whether there is anything but a reason."""
        return self.status != "NOT_TRACED"

    def eps(self, delta: float = 0.0) -> float | None:
        """Account of the derived ledger on this pair at `delta`; inf where the witness proves it; None else."""
        require.delta(delta=delta)
        if self.witness is not None and math.isinf(self.witness.log_ratio) and delta == 0:
            return math.inf
        if not self.traced or self.bad or self.ledger is None:
            return None
        return accountant.eps_upper(self.ledger, delta=delta, relation=Relation.REPLACE_ONE)

    @property
    def ledgers(self) -> tuple[Ledger | None, ...]:
        """What moved in each good transcript, as a ledger of its own; None where a draw has no event."""
        found = [coordinates(each) for each in self._moved]
        return tuple(None if each is None else Ledger.of(*each) for each in found)

    @property
    def loss(self) -> float:
        """The eps of F5: the largest log ratio of both orders, rounded up; inf where one is not finite."""
        return max(largest(each) for each in self._at_most)

    def certified(self, delta: float = 0.0) -> Certified | None:
        """F7/F8 where all transcripts are covered by the derived ledger, at `delta` plus delta_k; otherwise F5.

        F7 is about movements as `ledger_matching` compares them; the eps of F5 is rounded up by what floats may err.
        """
        require.delta(delta=delta)
        if not self.traced or self.bad or not self.transcripts:
            return None
        if not self.fixed and any(math.isnan(each) for order in self.log_ratio for each in order):
            return None  # an opaque call of a library that promises no pure bound
        missed = failure_mass(self.transcripts, (1 - self.confidence) / 2)
        if self.fixed and (eps := self.eps(delta)) is not None:
            return Certified(eps, delta + missed, self.confidence, "F7")
        return Certified(self.loss, missed, self.confidence, "F5")

    def delta(self, eps: float) -> float | None:
        """F6: a delta for this eps, both orders, at the confidence of the trace."""
        require.non_negative(eps=eps)
        if not self.traced or not self.transcripts:
            return None
        if any(math.isnan(each) for order in self.log_ratio for each in order):
            return None
        return max(loss_profile(each, eps, (1 - self.confidence) / 2) for each in self._at_most)

    def conforms(self, ledger: Ledger) -> Conformity:
        """F7 against another ledger; UNDECIDED where the trace has a bad transcript."""
        if not self.traced or self.bad:
            return Conformity("UNDECIDED", 0, self.reasons, ())
        return conforms(self._moved, ledger, self.relation)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; infinities and NaN as their names."""
        certified = self.certified()
        return {
            "name": self.name,
            "status": self.status,
            "reasons": [vars(each) for each in self.reasons],
            "draws": [{key: _plain(value) for key, value in vars(each).items()} for each in self.draws],
            "ledger": None if self.ledger is None else [[repr(e), times] for e, times in self.ledger.counted],
            "fixed": self.fixed,
            "eps": _plain(self.eps()),
            "certified": None if certified is None else {key: _plain(v) for key, v in vars(certified).items()},
            "log_ratio": [[_plain(each) for each in order] for order in self.log_ratio],
            "witness": None if self.witness is None else _told(self.witness),
            "conformity": None if self.conformity is None else self.conformity.status,
            "transcripts": self.transcripts,
            "bad": self.bad,
            "confidence": self.confidence,
            "alignment": self.alignment,
            "rounding": self.rounding,
            "seed": self.seed,
            "seconds": self.seconds,
            "notes": list(self.notes),
        }


def _told(found: Witness) -> dict[str, Any]:
    return {name: _plain(value) for name, value in vars(found).items() if name != "terms"}


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
