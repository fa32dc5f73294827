"""What a trace has found: its word, its ledger, and the statements that follow from it, see `tracer` and below."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy

from dpverify.accounting import accountant
from dpverify.base import require
from dpverify.base.sites import site_text
from dpverify.claims.neighbours import Relation
from dpverify.ledger.events import Event, FiniteLaws, Ledger, PureStep, Sensitivity, Shift
from dpverify.tape.families import FAMILIES
from dpverify.tape.forced import Forced, Moved
from dpverify.tape.ledger_matching import chances_are_told, Conformity, conforms, direction, negligible
from dpverify.tape.transcript import Reason
from dpverify.tape.witness import Witness

# ----------------------------------------------------------------------------------------------------------------------
# The table of a trace: which line of code drew what, and how far the values moved that it was added to.


@dataclass(frozen=True)
class DrawSummary:
    """The draws of one line of code in one law: how many, how many of them moved, and how far.

    `shift_max`, `shift_l1` and `shift_l2` are the largest over transcripts, in units of the value.
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


def summaries(runs: Sequence[Forced], alignment: str) -> tuple[DrawSummary, ...]:
    """By site, law and scale: counts of the first run, largest shifts over all."""
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
    found: dict[tuple[str, str], list[tuple[int, float, float, float, float, str]]] = {}
    for run in runs:
        by_key: dict[tuple[str, str], list[Moved]] = {}
        for moved in run.moved:
            by_key.setdefault((moved.site, moved.family), []).append(moved)
        for key, group in by_key.items():
            shifts = np.concatenate([each.shift for each in group])
            size = np.abs(shifts)
            width = float(np.concatenate([each.scale for each in group]).min())
            kind = group[0].kind
            row = len(size), float(size.max()), float(size.sum()), float(np.sqrt((size**2).sum())), width, kind
            found.setdefault(key, []).append(row)
    rows = []
    for key in {**counts, **dict.fromkeys(found)}:
        seen = found.get(key, [])
        kind = "decision" if any(each[5] == "decision" for each in seen) else alignment
        rows.append(
            DrawSummary(
                site=key[0],
                family=key[1],
                scale=min((each[4] for each in seen), default=math.nan),
                count=counts.get(key, 0),
                moved=max((each[0] for each in seen), default=0),
                shift_max=max((each[1] for each in seen), default=0.0),
                shift_l1=max((each[2] for each in seen), default=0.0),
                shift_l2=max((each[3] for each in seen), default=0.0),
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
    """A ledger with every event as often as in the transcript that has it most often; None where one has none.

    Of pure steps the largest, the second largest and so on, each over all transcripts.
    """
    most: Counter[Event] = Counter()
    steps: list[PureStep] = []
    for moved in transcripts:
        events = coordinates(moved)
        if events is None or len(most) > MOST_KINDS:
            return None
        for event, times in events:
            if not isinstance(event, PureStep):
                most[event] = max(most[event], times)
        found = sorted((event for event, times in events for _ in range(times) if isinstance(event, PureStep)),
                       key=lambda step: -step.eps)  # fmt: skip
        longer, shorter = (found, steps) if len(found) > len(steps) else (steps, found)
        steps = [max(pair, key=lambda step: step.eps) for pair in zip(longer, shorter, strict=False)]
        steps += longer[len(shorter) :]
    return Ledger.of(*most.items(), *Counter(steps).items())


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
    """What the tape has seen; see the module for the words of `status`."""

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
    one_sided: tuple[str, ...] = ()  # lines with a decision on noise of which no run took the other side
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
