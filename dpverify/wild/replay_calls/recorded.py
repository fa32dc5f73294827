"""One run with every call of a mechanism recorded, or played back from another run.

A step is a call with what was drawn for it. Its key is the mechanism and the place in the library; steps of one key are
matched by a plan (position, until the alignment knows better). Every step has a random stream of its own, by key and
number, so that one that is skipped on one dataset shifts no other, and the library's other random choices stay equal.
"""

import contextlib
import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpverify.accounting import accountant
from dpverify.base.seeding import Stage, stream
from dpverify.base.sites import Site, site_text
from dpverify.claims.claim import Claim, GaussianDP, PureDP, ZCDP
from dpverify.errors import AccountingError
from dpverify.ledger.compound_events import Filtered
from dpverify.ledger.events import (
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    GaussianNoise,
    LaplaceNoise,
    Ledger,
    Sensitivity,
    Shift,
)
from dpverify.tape.instruments import at_work
from dpverify.tape.instruments.calls import CallStep as Told
from dpverify.tape.instruments.calls import Given, NoiseCall, Spend
from dpverify.tape.instruments.host import Host
from dpverify.tape.transcript import Reason
from dpverify.wild.worker import calling

Key = tuple[str, str, str]  # mechanism, the user's line, the library's line
Plan = dict[tuple[Key, int], int | None]  # step of the second run -> step of the first with the same key


@dataclass(frozen=True, eq=False)
class Drawn:
    """What a step gave: a family of noise on `off`, or a value with what an instrument knows of its law."""

    family: str
    off: Any
    coef: float
    parameters: tuple[float, ...]
    given: Given | None
    output: Any


@dataclass(eq=False)
class Step:
    """One call; `number` counts those of its key."""

    key: Key
    number: int
    call: NoiseCall | None
    drawn: list[Drawn] = field(default_factory=list)

    @property
    def where(self) -> str:
        """The library's line, or the user's."""
        return self.key[2] or self.key[1]


class _Arena:
    """What instruments write to."""

    def __init__(self) -> None:
        self.calls: list[NoiseCall] = []
        self.spends: list[Spend] = []
        self.steps: list[Told] = []
        self.notes: list[Reason] = []
        self.called: Site | None = None


@dataclass(eq=False)
class RecordedRun:
    """Steps in order, the library's accountant, notes, and the outcome in fields."""

    steps: list[Step]
    spends: list[Spend]
    told: list[Told]
    notes: list[Reason]
    transformed: list[Any] = field(default_factory=list)
    outcome: dict[str, Any] = field(default_factory=dict)

    def by_key(self) -> dict[Key, list[Step]]:
        """Steps of each key, in order."""
        found: dict[Key, list[Step]] = defaultdict(list)
        for step in self.steps:
            found[step.key].append(step)
        return found


class Recorder(Host):
    """An instrument's host that records and, with `played` and a plan, gives what was given before."""

    own = (*Host.own, __file__.rpartition("/")[0] + "/")
    edge = calling.__file__

    def __init__(self, seed: int, played: RecordedRun | None = None, plan: Plan | None = None) -> None:
        self._arena = _Arena()
        super().__init__(self._arena, None, None, None)  # type: ignore[arg-type]
        self._seed, self._plan = seed, plan or {}
        self._played = {} if played is None else played.by_key()  # type: ignore[assignment]
        self._counts: dict[Key, int] = defaultdict(int)
        self._place: Key = ("", "", "")
        self._steps: list[Step] = []
        self._known = 0  # calls that have a step

    @property
    def taped(self) -> bool:
        """Generators of NumPy that a caller has seeded are fine here: mechanisms draw from their own streams."""
        return False

    @property
    def rng(self) -> np.random.Generator:
        """The stream of the step that comes next at this place."""
        digest = hashlib.blake2b(repr(self._place).encode(), digest_size=6).digest()
        return stream(self._seed, Stage.TAPE, int.from_bytes(digest, "big"), self._counts[self._place])

    def caller(self, library: str, through: str = "") -> tuple[Site, str, int | None]:
        """See `Host`; remembers the place for the stream."""
        site, inner, within = super().caller(library, through)
        self._place = ("", site_text(site), inner)
        return site, inner, within

    def noise(self, site: Site, family: str, z: Any, off: Any, coef: float, parameters: tuple[float, ...] = ()) -> Any:
        """See `Host`."""
        own = super().noise(site, family, z, off, coef, parameters)
        return self._kept(site, family, off, float(coef), parameters, None, own)

    def law(self, site: Site, what: str, value: Any, log_mass: Callable[[Any], Any], given: Given) -> Any:
        """See `Host`."""
        return self._kept(site, what, None, 0.0, (), given, value)

    def bound(self, site: Site, what: str, value: Any, given: Given) -> Any:
        """See `Host`."""
        return self._kept(site, what, None, 0.0, (), given, value)

    def _kept(
        self,
        site: Site,
        family: str,
        off: Any,
        coef: float,
        parameters: tuple[float, ...],
        given: Given | None,
        own: Any,
    ) -> Any:
        step = self._latest() or self._new((family, site_text(site), ""), None)
        output = self._before(step, len(step.drawn), own)
        step.drawn.append(Drawn(family, off, coef, parameters, given, output))
        return output

    def _latest(self) -> Step | None:
        """The step of the last call; calls without a draw so far become steps as well."""
        while self._known < len(self.calls):
            call = self.calls[self._known]
            self._known += 1
            self._new((call.name, site_text(call.site), call.inner), call)
        return self._steps[-1] if self._steps and self._steps[-1].call is not None else None

    def _new(self, key: Key, call: NoiseCall | None) -> Step:
        step = Step(key, self._counts[key], call)
        self._counts[key] += 1
        self._counts[("", key[1], key[2])] += 1
        self._steps.append(step)
        return step

    def _before(self, step: Step, place: int, own: Any) -> Any:
        """What the matching step gave there, or this run's own value."""
        others: list[Step] = self._played.get(step.key, [])  # type: ignore[union-attr]
        number = self._plan.get((step.key, step.number), step.number)
        if number is None or number >= len(others) or place >= len(others[number].drawn):
            return own
        before = others[number].drawn[place].output
        return before if np.shape(before) == np.shape(own) else own

    def run(self) -> RecordedRun:
        """What was recorded."""
        self._latest()
        return RecordedRun(
            self._steps, list(self.spends), list(self._arena.steps), list(self._arena.notes), self.transformed
        )


@contextlib.contextmanager
def recording(seed: int, played: RecordedRun | None = None, plan: Plan | None = None) -> Iterator[Recorder]:
    """Inside, the libraries that are imported draw through a recorder."""
    recorder = Recorder(seed, played, plan)
    with at_work(recorder):
        yield recorder


# ----------------------------------------------------------------------------------------------------------------------
# What the calls cost on one pair: events of a ledger, on the distances by which their inputs moved.
#
# Additive noise costs what its law says at that distance (Laplace: distance/scale; Gaussian: distance/sigma, composed
# numerically); choices and bounded laws what their instrument derives; calls whose input does not move nothing. Where
# the calls of two transcripts do not agree - noise that depends on what was released - no ledger may be read off one of
# them: then the account is that of a filter (`Filtered`) with the claim as its budget, and only claims that a filter
# can have stand.


ROUNDING = 1e-9
NEGLIGIBLE = 4  # ulp of the input


@dataclass(frozen=True)
class Cost:
    """Of one transcript: events, calls that no event dominates (with the reason), and infinite losses."""

    events: tuple[Event, ...]
    unknown: tuple[tuple[Step, str], ...]
    infinite: tuple[tuple[Step, str], ...]

    @property
    def ledger(self) -> Ledger:
        """The calls as events."""
        return Ledger(*self.events)


def cost(pairs: Sequence[tuple[Step, Step]]) -> Cost:
    """Of matched steps."""
    events: list[Event] = []
    unknown: list[tuple[Step, str]] = []
    infinite: list[tuple[Step, str]] = []
    for one, two in pairs:
        for here, there in zip(one.drawn, two.drawn, strict=False):
            found = _event(here, there)
            if isinstance(found, str):
                (infinite if found.startswith("infinite") else unknown).append((one, found))
            elif found is not None:
                events.append(found)
    return Cost(tuple(events), tuple(unknown), tuple(infinite))


def _event(here: Drawn, there: Drawn) -> Event | str | None:
    """The event of one draw; None where nothing moves, a text where there is no event."""
    if here.given is not None and there.given is not None:
        loss = here.given.against(there.given)
        if loss is None or isinstance(loss, str):
            return loss
        if loss.event is not None:
            return loss.event
        return loss.text or f"infinite loss: {here.family} whose input moves by {loss.moved:g}"
    if here.given is not None or there.given is not None or here.family != there.family:
        return "another law on the other dataset"
    return _additive(here, there)


def _additive(here: Drawn, there: Drawn) -> Event | str | None:
    one, two = np.asarray(here.off, dtype=float), np.asarray(there.off, dtype=float)
    if one.shape != two.shape:
        return f"infinite loss: {here.family} noise on inputs of shapes {one.shape} and {two.shape}"
    same = (one == two) | (np.isnan(one) & np.isnan(two))
    gaps = np.where(same, 0.0, np.abs(one - two))
    if not np.isfinite(gaps).all():
        return f"infinite loss: an input of {here.family} noise is infinite or NaN on one dataset only"
    largest = max(np.abs(one).max(initial=0.0), np.abs(two).max(initial=0.0))
    gaps = np.where(gaps <= NEGLIGIBLE * np.spacing(largest), 0.0, gaps)
    if (here.coef, here.parameters) != (there.coef, there.parameters):
        return "infinite loss: another scale on the other dataset"
    if not gaps.any():
        return None
    if here.family == "laplace":
        shifts = tuple(Shift(float(each)) for each in gaps.ravel() if each > 0)
        return LaplaceNoise(scale=here.coef, sensitivity=Sensitivity(replace=shifts, add_remove=shifts))
    if here.family == "normal":
        both = Shift(float(np.linalg.norm(gaps)))
        return GaussianNoise(sigma=here.coef, sensitivity=Sensitivity(replace=both, add_remove=both))
    if here.family in ("discrete_laplace", "discrete_gaussian"):
        whole = tuple(Shift(float(round(each))) for each in gaps.ravel() if each > 0)
        uses, scale = Sensitivity(replace=whole, add_remove=whole), here.parameters[0] * here.coef
        if here.family == "discrete_laplace":
            return DiscreteLaplaceNoise(scale=scale, sensitivity=uses)
        return DiscreteGaussianNoise(sigma=scale, sensitivity=uses)
    return f"no event for noise of the family {here.family}"


@dataclass(frozen=True)
class Total:
    """eps on this pair at the claim's delta (inf where there is no finite one), and whether the claim is kept."""

    eps: float
    kept: bool
    ledger: Ledger | None
    filtered: bool = False


def total(costs: Sequence[Cost], claim: Claim) -> Total:
    """The account of all transcripts of a pair; an infinite loss keeps nothing."""
    if any(each.infinite for each in costs):
        return Total(math.inf, False, None)
    near = claim.with_number(claim.number * (1 + ROUNDING))  # for the library, whose scales are floats
    accounts = [accountant.account_of(near, each.ledger) for each in costs]
    if any(each.eps_upper is None for each in accounts):
        raise AccountingError(next(each.note for each in accounts if each.note))
    eps = max(float(each.eps_upper or 0.0) for each in accounts)
    kept = all(bool(each.accounted) for each in accounts)
    if _agree(costs):
        return Total(eps, kept, costs[0].ledger)
    if kept and isinstance(claim, PureDP | ZCDP | GaussianDP):
        spent = Filtered(what="calls whose noise depends on what was released", budget=claim)
        return Total(eps, True, Ledger(spent), True)
    return Total(eps, False, None, True)


def _agree(costs: Sequence[Cost]) -> bool:
    """Equal ledgers, up to the rounding of what the inputs were computed from."""

    def rounded(each: Cost) -> list[str]:
        return sorted(repr(event) for event in each.events)

    first = rounded(costs[0])
    return all(rounded(each) == first for each in costs[1:]) or all(_near(costs[0], each) for each in costs[1:])


def _near(one: Cost, other: Cost) -> bool:
    if len(one.events) != len(other.events):
        return False
    return all(type(a) is type(b) and _scale(a) == _scale(b) for a, b in zip(one.events, other.events, strict=True))


def _scale(event: Event) -> float:
    return float(getattr(event, "scale", getattr(event, "sigma", getattr(event, "eps", 0.0))))
