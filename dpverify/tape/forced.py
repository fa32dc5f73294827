"""One transcript: the run on D is recorded, the run on D' is forced to the same values, and four checks are made.

    self-replay       D forced by its own transcript gives the same bits and the same entries; else FOREIGN: there is
                      randomness outside of the tape, or state that a run leaves behind
    plain replay      the unmodified program with plain numbers z, respectively z', gives the outputs of the opaque
                      runs, each number to 1e-9 of the smallest noise and its own last digits; else UNFAITHFUL. The
                      opaque arrays only propose z -> z'
    own copies        every run has a deep copy of data and target; a change of the data is noted
    real generator    the run on D without any tape, with an equally seeded NumPy generator, gives the bits of the
                      plain replay, exceptions included; else UNFAITHFUL. (Not for transcripts with chosen values.)

An exception is an output: its class and its text.
"""

import copy
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base.seeding import Stage, stream
from dpverify.base.sites import Site, site_text
from dpverify.ledger.events import Event
from dpverify.tape import comparisons, outputs
from dpverify.tape.families import FAMILIES
from dpverify.tape.instruments import calls
from dpverify.tape.instruments.calls import CallLoss
from dpverify.tape.randomness import Alignment, Arena
from dpverify.tape.running import Run, run_on_tape
from dpverify.tape.sources import Change, Opaques, Plain, Source
from dpverify.tape.transcript import Reason, Transcript, TranscriptEntry
from dpverify.trials.health.fingerprint import fingerprint, Place

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Moved:
    """The elements of one entry whose law differs between D and D', as the code used them."""

    entry: int  # index in the transcript
    site: str
    family: str
    kind: str
    shift: Array  # off - off', in units of the value
    scale: Array  # |coef| on D
    other_scale: Array  # |coef| on D'
    parameters: tuple[Array, ...]
    other_parameters: tuple[Array, ...]
    terms: Array  # log ratios
    direction: Array  # sign that z must have for the largest loss: sign(coef) sign(off - off'); 0 where none is
    place: Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # in the arena
    loss: CallLoss | None = None  # of an instrumented call: which event dominates it
    z: Array = field(default_factory=lambda: np.zeros(0))  # what the law gave, on D and on D'
    other_z: Array = field(default_factory=lambda: np.zeros(0))
    threshold_scale: float = math.nan  # of comparisons; their shifts and scales are those of the queries
    above: Array | None = None

    @property
    def event(self) -> Event | None:
        """What dominates an instrumented call; None for other entries, and where nothing does."""
        return None if self.loss is None else self.loss.event

    @property
    def mirrored(self) -> "Moved":
        """The same elements as the other order sees them: D and D' change places."""
        return replace(
            self,
            shift=-self.shift,
            direction=-self.direction,
            terms=-self.terms,
            scale=self.other_scale,
            other_scale=self.scale,
            parameters=self.other_parameters,
            other_parameters=self.parameters,
            z=self.other_z,
            other_z=self.z,
        )

    def part(self, rows: Array) -> "Moved":
        """Some of the elements."""
        ours, theirs = (tuple(each[rows] for each in given) for given in (self.parameters, self.other_parameters))
        return Moved(
            self.entry,
            self.site,
            self.family,
            self.kind,
            self.shift[rows],
            self.scale[rows],
            self.other_scale[rows],
            ours,
            theirs,
            self.terms[rows],
            self.direction[rows],
            self.place[rows],
        )


@dataclass(eq=False)
class Forced:
    """A transcript and what it shows; `bad` is None where every check is passed and the outputs are equal."""

    log_ratio: float
    bad: Reason | None
    first: Arena
    second: Arena
    output: Any
    other_output: Any
    order: int = 0
    raised: bool = False  # both runs end with an exception
    differ: bool = False  # all values are the same, and yet the outputs are not
    dyadic: bool = False  # outputs differ in the last digits, and are equal in bits on a dyadic tape
    rough: bool = False  # with plain numbers the outputs of D and D' differ by more than a last digit
    trusted: bool = False  # self-replay, plain replay of D and the real generator have agreed
    moved: tuple[Moved, ...] = ()
    notes: tuple[Reason, ...] = ()
    changed: bool = False
    findings: tuple[Reason, ...] = ()  # what calls of a library do against its own declaration
    row: bool = False  # one of many releases of a call: its arenas are those of all of them
    lost: float | None = None  # of a row: how far its log ratio may be off by rounding

    @property
    def oriented(self) -> tuple[Moved, ...]:
        """What moved, from the pair's first dataset to its second, in either order of the run."""
        return self.moved if self.order == 0 else tuple(each.mirrored for each in self.moved)


LONG = 10_000  # elements


class OutOfTime(Exception):
    """The deadline of a pairing is over: no further run is begun."""


class Pairing:
    """A target on two datasets in one order, with the alignment that its transcripts use."""

    def __init__(
        self, target: Any, first: Any, second: Any, *, seed: int, order: int, deadline: float = math.inf
    ) -> None:
        self.target, self.first, self.second = target, first, second
        self.seed, self.order = seed, order
        self.deadline = deadline  # of time.monotonic()
        self.align = Alignment()
        self.size = 1  # releases of a call; `rows` makes many
        self._before: dict[bool, dict[Place, Any]] = {}
        self._long: dict[tuple[int, str], list[Array]] = {}

    def transcript(
        self, index: int, *, change: Change | None = None, pilot: bool = False, above: bool = False
    ) -> Forced:
        """Transcript number `index`; `change` chooses values of the draws instead of the law's, `above` outcomes."""
        found = self._transcript(index, change, pilot=pilot, above=above)
        if self.size == 1:  # rows of many releases are read from the arenas
            found.first, found.second = found.first.finished(), found.second.finished()
            self._share(found)
        return found

    def _share(self, found: Forced) -> None:
        """Long arrays that are those of the transcript before, or of the other dataset, are kept once."""
        entries = zip(found.first.transcript.entries, found.second.transcript.entries, strict=False)
        for at, pair in enumerate(entries):
            for name in ("place", "codes", "off", "coef") if len(pair[0].place) >= LONG else ():
                for entry in pair:
                    known = self._long.setdefault((at, name), [])
                    array = getattr(entry, name)
                    same = next((each for each in known if _equal(each, array)), None)
                    if same is None:
                        self._long[at, name] = [*known, array][-2:]
                    else:
                        setattr(entry, name, same)

    def _transcript(self, index: int, change: Change | None, *, pilot: bool, above: bool) -> Forced:
        key = (index, self.order, int(pilot))
        change = (lambda family, z, at: z) if above else change
        first = self._opaque(self.first, None, (*key, 0), change, above=above)
        if first.bad is not None or first.notes:
            return self._failed(first, first.bad or first.notes[0])
        again = self._opaque(self.first, first.arena.transcript, (*key, 1), None)
        if again.bad is not None or not outputs.same_bits(first.parts, again.parts) or _any_moved(first, again):
            text = "the run repeated with the same random numbers gives something else: randomness outside of the tape"
            return self._failed(first, Reason("FOREIGN", again.bad.site if again.bad else "", text))
        plain = self._plain(self.first, first.arena, key)
        if plain.bad is not None or not outputs.close(first.parts, plain.parts, noise=first.arena.smallest_noise):
            return self._failed(first, plain.bad or Reason("UNFAITHFUL", "", _APART))
        if change is None:
            real = self._real(self.first, (*key, 0), first.arena)
            if not outputs.same_bits(real.parts, plain.parts):
                text = "the program does something else with NumPy's own generator than with the tape's"
                return self._failed(first, Reason("UNFAITHFUL", "", text))
            if real.notes:
                return self._failed(first, real.notes[0])
        second = self._opaque(self.second, first.arena.transcript, (*key, 2), None, shifts=self.align.shifts)
        found = self._judged(first, second, key, plain)
        rounded = found.bad is not None and (
            found.bad.code == "ROUNDING"
            or (
                found.bad.code == "OUTPUTS_DIFFER"
                and found.differ
                and outputs.rounding(first.parts, second.parts, largest=_largest(first, second), single=True)
            )
        )
        if rounded and self._exactly(key, first.arena):
            found.bad, found.differ, found.dyadic = None, False, True
        return found

    def _exactly(self, key: tuple[int, ...], done: Arena) -> bool:
        """Whether the outputs are equal in bits on a dyadic tape, where sums of values and of dyadic data are exact.

        The values are those of the finished run but for the rounding. A leak in the low bits stays one.
        """
        first = self._opaque(
            self.first, None, (*key, 0), lambda family, z, at: done.values(at, z.size).reshape(z.shape), dyadic=True
        )
        if first.bad is not None or first.notes:
            return False
        second = self._opaque(
            self.second, first.arena.transcript, (*key, 2), None, shifts=self.align.shifts, dyadic=True
        )
        if second.bad is not None or second.notes or not outputs.same_bits(first.parts, second.parts):
            return False
        return math.isfinite(transcript_log_ratio(first.arena, second.arena)[0])

    def shifted(self, base: Forced, shifts: Array) -> Any:
        """What the other dataset gives for the values of a transcript when its draws are shifted; for `alignments`."""
        found = self._opaque(self.second, base.first.transcript, (0, self.order, 2, 0), None, shifts=shifts)
        return None if found.bad is not None or found.notes else found.outcome

    def plain_release(self) -> None:
        """One release on the first dataset without the tape, of which nothing is kept."""
        self._run(self.first, Arena(), None, (0, self.order, 3, 9), iter(()))

    def _judged(self, first: Run, second: Run, key: tuple[int, ...], ours: Run) -> Forced:
        found = Forced(
            math.nan,
            None,
            first.arena,
            second.arena,
            first.outcome,
            second.outcome,
            trusted=True,
            order=self.order,
            raised=first.outcome[0] == "raised",
            changed=first.changed or second.changed,
        )
        if second.notes:
            found.bad, found.trusted = second.notes[0], False
            return found
        if self.align.shifts is None:  # inputs are compared while all released values are equal
            found.findings = calls.findings(first.arena, second.arena)
        if second.bad is not None:
            found.bad = second.bad
            return found
        found.log_ratio, found.moved = transcript_log_ratio(first.arena, second.arena)
        unsaid = _unsaid(first.arena, second.arena)
        if unsaid is not None:
            found.bad = unsaid
            return found
        found.differ = not outputs.same_bits(first.parts, second.parts)
        if not math.isinf(found.log_ratio):
            second.arena.settle(first.arena)
            comparisons.settle(first.arena, second.arena)
            second.arena.take_apart()
            plain = self._plain(self.second, second.arena, key)
            if plain.bad is not None or not outputs.close(second.parts, plain.parts, noise=second.arena.smallest_noise):
                found.bad, found.trusted = plain.bad or Reason("UNFAITHFUL", "", _APART), False
                return found
            found.rough = not outputs.rounding(ours.parts, plain.parts, largest=_largest(first, second))
        if found.differ:
            found.bad = _difference(first, second)
        elif (bare := second.arena.bare_use or _taken_out(first.arena, second.arena)) is not None:
            text = "noise of a released value is used again by itself: what is done with it depends on the data"
            found.bad = Reason("OUTPUTS_DIFFER", site_text(bare), text)
        elif math.isinf(found.log_ratio):
            worst = next((m for m in found.moved if not np.isfinite(m.terms).all()), None)
            site = worst.site if worst else ""
            found.bad = Reason("INFINITE", site, "a value that is possible on one dataset is impossible on the other")
        return found

    def _failed(self, run: Run, reason: Reason) -> Forced:
        return Forced(
            math.nan, reason, run.arena, run.arena, run.outcome, None, order=self.order, notes=tuple(run.notes)
        )

    def _opaque(
        self,
        data: Any,
        forced: Transcript | None,
        key: tuple[int, ...],
        change: Change | None,
        *,
        shifts: Array | None = None,
        dyadic: bool = False,
        above: bool = False,
    ) -> Run:
        arena = Arena(forced, self.align, shifts=shifts, dyadic=dyadic, above=above)
        return self._run(data, arena, Opaques(arena, change), key)

    def _plain(self, data: Any, done: Arena, key: tuple[int, ...]) -> Run:
        source = Plain(done)
        return self._run(data, source.arena, source, (*key, 3))

    def _real(self, data: Any, key: tuple[int, ...], done: Arena) -> Run:
        played = [each.value for each in done.transcript.entries if each.given is not None and each.log_mass is None]
        return self._run(data, Arena(), None, key, iter(played))

    def _run(
        self, data: Any, arena: Arena, source: Source | None, key: tuple[int, ...], played: Iterator[Any] | None = None
    ) -> Run:
        rng, spare = stream(self.seed, Stage.TAPE, *key, 0), partial(stream, self.seed, Stage.TAPE, *key, 1)
        if time.monotonic() > self.deadline:
            raise OutOfTime
        which = data is self.first
        if which not in self._before:
            self._before[which] = fingerprint(copy.deepcopy(data))
        return run_on_tape(
            self.target,
            data,
            arena,
            source,
            rng,
            spare,
            size=self.size,
            before=self._before[which],
            played=played,
            instrumented=True,
        )


def _equal(one: Array, other: Array) -> bool:
    """Whether two arrays are the same, in bits."""
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


_APART = "the program with plain numbers gives something else than with opaque arrays"


def _difference(first: Run, second: Run) -> Reason:
    bare = _bare(first.arena)
    used = f"; draws used as bare numbers: {', '.join(bare)}" if bare else ""
    near = outputs.rounding(first.parts, second.parts, largest=_largest(first, second))
    if not near and second.arena.shifted:  # learned shifts solve equations, and have their errors
        near = outputs.close(first.parts, second.parts, noise=first.arena.smallest_noise)
    if near:
        text = f"outputs agree but for the last digits; a leak in low bits looks the same{used}"
        return Reason("ROUNDING", bare[0].partition(" at ")[2] if bare else "", text)
    kinds = {run.outcome[0] for run in (first, second)}
    what = "one dataset raises an exception" if len(kinds) > 1 else "the output differs"
    count = sum(1 if entry.given is not None else entry.count for entry in first.arena.transcript.entries)
    text = f"{what} although all {count} values are the same{used}"
    if first.arena.calls and len(kinds) == 1:
        last = first.arena.calls[-1]
        places = ", ".join(outputs.differing(first.outcome[1], second.outcome[1]))
        text = f"{places or 'the output'}: no call protects it; it differs although all {count} values are the same"
        return Reason("UNPROTECTED", site_text(last.site), text)
    return Reason("OUTPUTS_DIFFER", bare[0].partition(" at ")[2] if bare else "", text)


def _taken_out(first: Arena, second: Arena) -> Site | None:
    """Where a program takes the data out of a noisy sum again, so that a constant and the noise are left."""
    shared = {(met.place, met.zero) for met in first.met} & {(met.place, met.zero) for met in second.met}
    sides = [
        {(met.place, f"{met.left:.9g}"): met.site for met in arena.met if (met.place, met.zero) not in shared}
        for arena in (first, second)
    ]
    return next((site for key, site in sides[0].items() if key in sides[1]), None)


def _largest(first: Run, second: Run) -> float:
    return max(first.arena.largest, second.arena.largest)


def _bare(arena: Arena) -> list[str]:
    """family and site of the draws that became numbers without anything added to them."""
    found: dict[str, None] = {}
    for entry in arena.transcript.entries:
        if entry.given is not None:
            continue
        if entry.kind == "value" and (entry.off == 0).any():
            draw = arena.transcript.draws[arena.draws_of(entry.place[entry.off == 0][:1])[0]]
            found[_drawn(draw.family, arena.named(draw.site))] = None
        elif entry.kind == "atom":
            found[_drawn(entry.families[0], arena.named(entry.site))] = None
    return list(found)[:3]


def _drawn(family: str, place: str) -> str:
    return f"{family} at {place}" if place else family


def _any_moved(first: Run, again: Run) -> bool:
    return transcript_log_ratio(first.arena, again.arena) != (0.0, ())


def transcript_log_ratio(first: Arena, second: Arena) -> tuple[float, tuple[Moved, ...]]:
    """L(T) = sum of log p - log q of the entries, and the entries where it is not 0.

    For an opaque call it is the library's bound; nan where the library promises no pure one. For comparisons it is the
    loss of their coupling.
    """
    total: list[float] = []
    moved: list[Moved] = []
    for index, (here, there) in enumerate(zip(first.transcript.entries, second.transcript.entries, strict=True)):
        for found in _entry_ratio(index, here, there, first, second):
            moved.append(found)
            total += found.terms.tolist()
    for each in comparisons.comparisons(first, second):
        if each.moved:
            moved.append(_compared(each))
            total.append(each.largest_loss)
    if any(not math.isfinite(each) for each in total):
        unknown = any(each.loss is not None and np.isnan(each.terms).any() for each in moved)
        finite = not any(math.isinf(each) for each in total)
        return math.nan if unknown and finite else math.inf, tuple(moved)
    return math.fsum(total), tuple(moved)


def _entry_ratio(index: int, here: TranscriptEntry, there: TranscriptEntry, first: Arena, second: Arena) -> list[Moved]:
    site = site_text(here.site)
    loss = here.given.against(there.given) if here.given is not None and there.given is not None else None
    if isinstance(loss, str):
        return []
    if here.given is not None and here.log_mass is None:
        return [] if loss is None else [_bounded(index, site, here, loss)]
    if here.kind in ("position", "comparison") or (here.kind == "atom" and here.log_mass is None):
        return []
    if here.log_mass is not None and there.log_mass is not None:
        terms = _difference_of(np.ravel(here.log_mass), np.ravel(there.log_mass))
        rows = np.flatnonzero(terms != 0) if loss is None else np.arange(len(terms))
        if not len(rows):
            return []
        chances = tuple(np.exp(np.ravel(mass)[rows]) for mass in (here.log_mass, there.log_mass))
        nothing = np.zeros(len(rows))
        shift = nothing if loss is None else np.array([loss.moved])
        place = here.place[rows] if len(here.place) else here.place
        return [
            Moved(
                index,
                site,
                here.families[0],
                here.kind,
                shift,
                nothing,
                nothing,
                (chances[0],),
                (chances[1],),
                terms[rows],
                nothing,
                place,
                loss,
            )
        ]
    found = []
    for name, site, rows, ours, theirs in elements(here, there, first, second):
        family = FAMILIES[name]
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = _difference_of(family.log_mass(here.z[rows], *ours), family.log_mass(there.z[rows], *theirs))
            if not family.lattice:
                terms = terms - np.log(np.abs(here.coef[rows] / there.coef[rows]))
            shift = np.asarray(here.off[rows] - there.off[rows], dtype=np.float64)
        terms = np.where(np.isnan(terms), np.inf, terms)
        scale, other = (np.abs(np.asarray(entry.coef[rows], dtype=np.float64)) for entry in (here, there))
        found.append(
            Moved(
                index,
                site,
                name,
                here.kind,
                shift,
                scale,
                other,
                ours,
                theirs,
                terms,
                np.sign(here.coef[rows]) * np.sign(shift),
                here.place[rows],
                z=np.asarray(here.z[rows], dtype=np.float64),
                other_z=np.asarray(there.z[rows], dtype=np.float64),
            )
        )
    return found


def elements(
    here: TranscriptEntry, there: TranscriptEntry, first: Arena, second: Arena, *, shifted: bool = False
) -> "Iterator[tuple[str, str, Array, tuple[Array, ...], tuple[Array, ...]]]":
    """(family, line of the draw, rows, parameters on D, on D') of the values of an entry whose log masses differ.

    With `shifted`, also of those with another offset and the same z: they move by less than a last digit.
    """
    if here.count == 1 and not (_differ(here, there, shifted=shifted).any() or _has_parameters(here, first, second)):
        return
    for name, site, rows in _groups(here, first):
        ours = first.parameters_of(here.place[rows])
        theirs = second.parameters_of(there.place[rows])
        differs = _differ(here, there, shifted=shifted)[rows]
        for one, two in zip(ours, theirs, strict=True):
            differs |= one != two
        if differs.any():
            sides = [tuple(each[differs] for each in side) for side in (ours, theirs)]
            yield name, site, rows[differs], sides[0], sides[1]


def _differ(here: TranscriptEntry, there: TranscriptEntry, *, shifted: bool) -> Array:
    found = (here.z != there.z) | (here.coef != there.coef)
    return np.asarray(found | (here.off != there.off) if shifted else found)


def _has_parameters(entry: TranscriptEntry, *arenas: Arena) -> bool:
    """Whether the law of the one value of an entry has a parameter."""
    return any(arena.transcript.draws[arena.draws_of(entry.place)[0]].parameters for arena in arenas)


def _compared(found: comparisons.Comparisons) -> Moved:
    scale, way = np.abs(found.factor), np.zeros(len(found.factor))
    return Moved(
        found.entry,
        site_text(found.site),
        "laplace",
        "comparison",
        -found.gained,
        scale,
        scale,
        (),
        (),
        np.array([found.largest_loss]),
        way,
        found.place,
        threshold_scale=abs(found.threshold_factor),
        above=found.above,
    )


def _bounded(index: int, site: str, entry: TranscriptEntry, loss: CallLoss) -> Moved:
    """An opaque call that moves, with the library's bound in the place of its log ratio."""
    gap, nowhere, unscaled = np.array([loss.moved]), np.zeros(1), np.full(1, math.nan)
    term = np.array([loss.eps if math.isfinite(loss.eps) else math.nan])
    return Moved(index, site, entry.families[0], "bound", gap, unscaled, unscaled, (), (), term, nowhere, loss=loss)


def _unsaid(first: Arena, second: Arena) -> Reason | None:
    """Why nothing can be said of an instrumented entry, or None."""
    for here, there in zip(first.transcript.entries, second.transcript.entries, strict=True):
        if here.given is not None and there.given is not None:
            found = here.given.against(there.given)
            if isinstance(found, str):
                return Reason("OPAQUE", site_text(here.site), found)
    return None


def _groups(entry: TranscriptEntry, arena: Arena) -> list[tuple[str, str, Array]]:
    """(family, line of the draw, elements), for each draw call's line."""
    which = arena.draws_of(entry.place)
    if len(which) and (which == which[0]).all():
        draw = arena.transcript.draws[which[0]]
        return [(draw.family, site_text(draw.site), np.arange(len(which)))]
    groups: dict[tuple[str, str], list[int]] = {}
    for each in np.unique(which):
        draw = arena.transcript.draws[each]
        groups.setdefault((draw.family, site_text(draw.site)), []).append(int(each))
    return [(*key, np.flatnonzero(np.isin(which, draws))) for key, draws in groups.items()]


def _difference_of(ours: Array, theirs: Array) -> Array:
    """log p - log q; inf where a value is possible on one side only or impossible on both, which is not drawn."""
    if ours.shape != theirs.shape:
        return np.array([np.inf])
    with np.errstate(invalid="ignore"):
        found = ours - theirs
    return np.where(np.isnan(found), np.inf, found)
