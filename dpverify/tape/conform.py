"""Whether what a transcript moves is what a ledger declares (F7).

F7. Suppose in k fresh transcripts every moved materialisation is matched, online, with a coordinate of the ledger that
dominates it and is used once, and none is bad. Then at confidence 1 - beta V is (eps, delta_ledger(eps) + delta_k) in
this order. Proof: draw one outcome for each coordinate of the ledger. Each conditional pair (law of o_i on D, on D') is
dominated, so a kernel turns that outcome into o_i (Blackwell 1951), reading coordinates in the order in which they are
matched; unread ones are ignored. On the event "matched", T is post-processing of the product of the dominating pairs;
the rest has probability at most delta_k.

Domination. Laplace noise of scale b moved by s is dominated by scale b0 moved by s0 where s/b <= s0/b0, likewise a sum
of Laplace variables (one of them with fresh noise). Discrete Laplace noise needs b >= b0 and s <= s0, and so does
discrete Gaussian noise, but with equal sigma. Normal coordinates are matched by l2: sum (s/sigma)^2 at most that of all
normal events together, since each step reads the increment of one Brownian motion with drift over (s/sigma)^2 of its
time. Best fit is online and finds a matching wherever there is one: if one exists, exchanging coordinates gives one
where the element in hand has the smallest that suffices.

A value that moves by less than 1e-12 of its continuous noise's scale (ROUNDED) has moved by the rounding of a sum: it
needs no event. What that guarantees: of Laplace noise each such value costs at most 1e-12 in eps, of normal noise at
most 1e-24 in mu^2; a statement by F7 is exact but for that times their number, and but for a relative 1e-9 of each
movement (STRICT). Neither is added to the account. Nothing is said of movements that floating point has lost: with
counts of 1e9, off - off' itself is a multiple of 1e-7. F5 (`rounding`) adds all of that; compare the two where noise is
small beside what it is added to.

A call of a library of which a bound eps on this pair is known (`instruments`) is dominated by a step of the ledger with
at least that eps: randomised response dominates every eps-DP pair of laws.

Events that no draw shows (PureStep, FiniteLaws and others) are listed, never ticked off. A branch of `OneOf` conforms
where one branch matches all transcripts.
"""

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpverify.accounting.ledger import (
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    GaussianNoise,
    LaplaceNoise,
    Ledger,
    OneOf,
    PureStep,
    Sensitivity,
    Shift,
)
from dpverify.base.errors import AccountingError
from dpverify.claims.neighbours import Relation
from dpverify.tape.families import FAMILIES
from dpverify.tape.forced import Moved
from dpverify.tape.transcript import Reason

STRICT = 1e-9  # relative: closer than that counts as equal
ROUNDED = 1e-12  # in units of the scale: a value that moves by less has moved by the rounding of a sum


UNSAID = "UNSAID"  # code of a reason that contradicts nothing


@dataclass(frozen=True)
class Conformity:
    """CONFORMS where every transcript matches.

    `unmatched_draws` say what has no event, `unmatched_events` are those that no draw can show.
    """

    status: str  # "CONFORMS" | "CONTRADICTED" | "UNDECIDED"
    matches: int
    unmatched_draws: tuple[Reason, ...]
    unmatched_events: tuple[str, ...]


class _Stock:
    """Coordinates of a ledger that are not used yet."""

    def __init__(self, ledger: Ledger, relation: Relation) -> None:
        self.laplace: list[tuple[float, int]] = []
        self.discrete: dict[str, list[tuple[float, float, int]]] = {"discrete_laplace": [], "discrete_gaussian": []}
        self.pure: list[tuple[float, int]] = []
        self.square = 0.0
        self.other: list[str] = []
        for event, times in ledger.counted:
            self._add(event, times, relation)
        self.laplace.sort()
        self.pure.sort()

    def _add(self, event: Event, times: int, relation: Relation) -> None:
        if isinstance(event, PureStep):
            self.pure += [(event.eps, shift.count * times) for shift in _shifts(event.uses, relation) if shift.size]
        if not isinstance(event, LaplaceNoise | GaussianNoise | DiscreteLaplaceNoise | DiscreteGaussianNoise):
            self.other.append(type(event).__name__)
            return
        for shift in _shifts(event.sensitivity, relation):
            count = shift.count * times
            if not count or not shift.size:
                continue
            match event:
                case LaplaceNoise():
                    self.laplace.append((shift.size / event.scale, count))
                case GaussianNoise():
                    self.square += count * (shift.size / event.sigma) ** 2
                case DiscreteLaplaceNoise():
                    self.discrete["discrete_laplace"].append((event.scale, shift.size, count))
                case DiscreteGaussianNoise():
                    self.discrete["discrete_gaussian"].append((event.sigma, shift.size, count))

    def take_step(self, eps: float) -> bool:
        """Uses the smallest declared step that is as large."""
        at = bisect.bisect_left(self.pure, (eps * (1 - STRICT), 0))
        if at == len(self.pure):
            return False
        declared, count = self.pure[at]
        self.pure[at : at + 1] = [(declared, count - 1)] if count > 1 else []
        return True

    def take(self, family: str, shift: float, scale: float, parameters: tuple[float, ...]) -> bool:
        """Uses a coordinate that dominates; False where none is left."""
        if family in ("laplace", "laplace_sum"):
            at = bisect.bisect_left(self.laplace, (shift / scale * (1 - STRICT), 0))
            if at == len(self.laplace):
                return False
            ratio, count = self.laplace[at]
            self.laplace[at : at + 1] = [(ratio, count - 1)] if count > 1 else []
            return True
        if family == "normal":
            self.square -= (shift / scale) ** 2 * (1 - STRICT)
            return self.square >= -STRICT * (shift / scale) ** 2
        if family in self.discrete and scale == 1:
            return self._take_discrete(family, shift, parameters[0])
        return False

    def _take_discrete(self, family: str, shift: float, width: float) -> bool:
        fits = [
            (size, -declared, at)
            for at, (declared, size, _) in enumerate(self.discrete[family])
            if size >= shift and (width == declared or (width > declared and family == "discrete_laplace"))
        ]
        if not fits:
            return False
        at = min(fits)[2]
        declared, size, count = self.discrete[family][at]
        self.discrete[family][at : at + 1] = [(declared, size, count - 1)] if count > 1 else []
        return True


def _shifts(sensitivity: Sensitivity, relation: Relation) -> tuple[Shift, ...]:
    try:
        return sensitivity.under(relation)
    except AccountingError:
        return ()


def conforms(transcripts: Sequence[tuple[Moved, ...]], ledger: Ledger, relation: Relation) -> Conformity:
    """F7 over transcripts without a bad one."""
    best: Conformity | None = None
    for branch in _branches(ledger):
        found = _one(transcripts, branch, relation)
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
    return [rest + branch for branch in places[0][0].branches]


def _one(transcripts: Sequence[tuple[Moved, ...]], ledger: Ledger, relation: Relation) -> Conformity:
    matches, missing = 0, dict[str, Reason]()
    other = tuple(dict.fromkeys(_Stock(ledger, relation).other))
    for moved in transcripts:
        stock = _Stock(ledger, relation)
        unmatched = [reason for each in moved if (reason := _unmatched(each, stock, ledger)) is not None]
        matches += not unmatched
        missing.update({str(reason): reason for reason in unmatched})
    if any(moved.loss is not None for each in transcripts for moved in each):
        other = tuple(name for name in other if name != "PureStep")  # calls show pure steps
    if matches == len(transcripts):
        return Conformity("CONFORMS", matches, (), other)
    unsaid = all(reason.code == UNSAID for reason in missing.values())
    status = "UNDECIDED" if other or unsaid else "CONTRADICTED"
    return Conformity(status, matches, tuple(list(missing.values())[:5]), other)


def _unmatched(moved: Moved, stock: _Stock, ledger: Ledger) -> Reason | None:
    if moved.loss is not None:
        return _unmatched_call(moved, stock, ledger)
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
        if not (scale > 0 and math.isfinite(shift) and stock.take(moved.family, float(shift), float(scale), given)):
            width = given[0] if given else float(scale)
            text = f"adds {moved.family}({width:g}) to a value that moves by {float(shift):g}; {_nearest(ledger)}"
            return Reason("NO_EVENT", moved.site, text)
    return None


def _unmatched_call(moved: Moved, stock: _Stock, ledger: Ledger) -> Reason | None:
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
    names = [f"{event!r} x {times}" for event, times in ledger.counted[:2]]
    return f"the ledger has {'; '.join(names) if names else 'no event'} and nothing is left of it that covers this"
