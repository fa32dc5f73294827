"""Refutations by one transcript (F2 to F4), and where what is released determines the transcript.

F2. Let V determine T. If the claim eps holds, L(T) <= eps for P-almost every T, hence for R-almost every T of any law R
that is absolutely continuous with respect to P. So a T drawn from such an R with L(T) > eps has probability 0 under the
claim: significance 0. Proof: A = g({L > eps}) has P(A) = P(L > eps) since V fixes T, and Q(A) = Q(L > eps) likewise; if
P(A) > 0, then P(A) > e^eps Q(A). R may choose values, with fresh continuous magnitudes: `signs` and `stress` do.
That V determines T is known of the branches that runs have met. A chosen value may lie where ordinary runs never come,
and what is released there may come from another branch as well; so chosen values refute only where the program looks
at no value (`unbranched`: all become numbers at the edge, when the output is looked at). Elsewhere they are a hint.
(Ideal reals; a generator's finite precision is another claim.) L is a difference of log masses at z = (o - off)/coef,
which has few digits where o and off are large beside coef: all rounding errors are taken off it (`log_ratio_at_least`).

F3, the density witness. Put every moved value on D's side of both centres: sign(z_i) = sign(coef_i (off_i - off'_i)).
For Laplace noise L is then sum |shift_i|/b_i, the ledger itself.

F4, infinite loss. Let the values stand at fixed places of V, on D and on D', and the outputs differ at a T drawn as in
F2. Then eps is infinite. Proof: A = {g(t): outputs differ at t} has P(A) = P[differ] > 0; the places fix t, on D' they
show the same t, where g'(t) != g(t); so Q(A) = 0.

`places`: one fixed place of V for every materialised value, equal bit for bit in all of TRIES runs, on both datasets
and in both orders; or else a fixed linear combination of places (and of 1) that is the value, up to the rounding of its
terms, in all of them: [a, a + b] tells both. Combinations are found by least squares where there are more equations
than places, by SPARE, so that one that holds by coincidence has probability 0. They serve F2 and F3, which are about
real numbers; F4 needs places. Decisions, atoms and values of small support never count: they would be found by
coincidence. And no transcript that was made, chosen ones and those of other lengths included, may have values that V
does not show (`visible`): where a branch hides a value, an output that shows the same numbers may come from there as
well, so its densities are not those of one transcript. A branch that no transcript has met stays unseen.
F9: upper bounds hold for every view, lower bounds only where V determines T. F10: outputs that differ where V does not
determine T prove nothing.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base.seeding import Stage, stream
from dpverify.tape.families import FAMILIES
from dpverify.tape.forced import elements, Forced
from dpverify.tape.randomness import Arena
from dpverify.tape.sources import Change
from dpverify.tape.transcript import TranscriptEntry

# ----------------------------------------------------------------------------------------------------------------------
# How far the log ratio of a transcript, as computed, may be from that of real numbers: `at_least` and `at_most` of it.
#
# o = off + coef z was made by sums whose last digits are lost: z and z' are known to ULPS units in the last place of
# the largest |o|, |off|, |off'| of their entry, over |coef|. A log mass is off by what it changes over that, and by
# some units of its own terms (`_lost`). A refutation takes all errors off (F2), a certified eps adds them (F5, F6):
# with counts of 1e9 and noise of scale 10, z has nine digits, and log ratios err by 1e-8. A value that moves by less
# than its last digit has the same z on both datasets: its log ratio is computed as 0, and its error is the bound.


Array = npt.NDArray[Any]

ULPS, UNIT = 32, 2.0**-53  # of roundings between a draw and what is released
TINY = math.ulp(0.0)  # a rounding near 0 is of that size, however small the number is


def towards_zero(log_ratio: float) -> float:
    """A log ratio with 1e-9 of it taken off."""
    return log_ratio * (1 - 1e-9)


def log_ratio_at_least(run: Forced) -> float:
    """L(T) of values in real numbers, rounded down; -inf where rounding alone decides what is possible."""
    total: list[float] = []
    for moved in run.moved:
        if moved.kind != "value" or len(moved.z) != len(moved.terms):
            return -math.inf
        largest = _largest(*(arena.transcript.entries[moved.entry] for arena in (run.first, run.second)))
        lost = _lost(moved.family, moved.z, moved.scale, moved.parameters, largest)
        lost += _lost(moved.family, moved.other_z, moved.other_scale, moved.other_parameters, largest)
        total += np.where(np.isnan(lost), -np.inf, moved.terms - np.nan_to_num(lost, nan=0.0, posinf=0.0)).tolist()
    return math.fsum(total) if all(each > -math.inf for each in total) else -math.inf


def log_ratio_at_most(run: Forced) -> float:
    """L(T) in real numbers, rounded up; inf of a bad transcript and where rounding alone decides what is possible.

    NaN where a library promises no pure bound of a call.
    """
    if run.bad is not None:
        return math.inf
    if not math.isfinite(run.log_ratio):
        return run.log_ratio
    lost = run.lost
    if lost is None:
        lost = math.fsum(float(each.sum()) for _, each in errors(run.first, run.second))
    return math.nextafter(run.log_ratio + lost, math.inf) if lost else run.log_ratio


def errors(first: Arena, second: Arena) -> Iterator[tuple[Array, Array]]:
    """(places, bounds on the errors of their terms) of each entry that is not the same on both datasets.

    A bound is inf where a value may be possible or not by rounding alone. Places are empty for atoms.
    """
    for here, there in zip(first.transcript.entries, second.transcript.entries, strict=True):
        if here.kind == "value":
            yield from _of_values(here, there, first, second)
        elif here.log_mass is not None and there.log_mass is not None:
            ours, theirs = np.ravel(here.log_mass), np.ravel(there.log_mass)
            rows = np.flatnonzero(ours != theirs) if ours.shape == theirs.shape else np.zeros(0, dtype=np.int64)
            if len(rows):
                place = here.place[rows] if len(here.place) else here.place
                yield place, _of_masses(here, ours[rows], theirs[rows])


def _of_masses(entry: TranscriptEntry, ours: Array, theirs: Array) -> Array:
    """Of log masses that are computed at once: units of their terms; 1 - p of a decision has no more digits than 1."""
    size = _size(entry.value)
    lost = 16 * UNIT * (1 + np.abs(ours) + np.abs(theirs) + size * math.log(size))
    with np.errstate(over="ignore"):
        return np.asarray(lost + 4 * UNIT * (np.exp(-ours) + np.exp(-theirs)) if entry.kind == "decision" else lost)


def _size(value: Any) -> float:
    """The numbers that a log mass of an atom is made of: at most their sum, and two more."""
    found = np.asarray(value)
    return 2.0 + (float(np.abs(found.astype(np.float64)).sum()) if found.dtype.kind in "biuf" else 0.0)


def _of_values(
    here: TranscriptEntry, there: TranscriptEntry, first: Arena, second: Arena
) -> Iterator[tuple[Array, Array]]:
    largest = _largest(here, there)
    for name, _, rows, ours, theirs in elements(here, there, first, second, shifted=True):
        scales = [np.abs(np.asarray(entry.coef[rows], dtype=np.float64)) for entry in (here, there)]
        lost = sum(
            _lost(name, np.asarray(entry.z[rows], dtype=np.float64), scale, given, largest)
            for entry, scale, given in zip((here, there), scales, (ours, theirs), strict=True)
        )
        with np.errstate(all="ignore"):  # a factor of 0 has been looked at: its loss is not finite
            lost += 4 * UNIT * (1 + np.abs(np.log(scales[0] / scales[1])))
        yield here.place[rows], np.where(np.isnan(lost), np.inf, lost)


def _largest(here: TranscriptEntry, there: TranscriptEntry) -> float:
    return max(
        float(np.abs(np.asarray(each, dtype=np.float64)).max(initial=0.0))
        for each in (here.forced, here.off, there.off)
    )


def _lost(name: str, z: Array, scale: Array, parameters: tuple[Array, ...], largest: float) -> Array:
    """How far a log mass may be off by rounding; 0 where it is infinite and stays so, nan where it may be finite."""
    law = FAMILIES[name]
    size = np.abs(z) + sum(np.abs(each) for each in parameters) + 2.0
    with np.errstate(all="ignore"):
        log = law.log_mass(z, *parameters)
        gap = 0.0 if law.lattice else ULPS * (UNIT * (largest / scale + np.abs(z)) + TINY / scale)
        near = [law.log_mass(z + sign * gap, *parameters) for sign in (-1.0, 1.0)]
        lost = np.max([np.abs(each - log) for each in near], axis=0) + 8 * UNIT * (np.abs(log) + size * np.log(size))
    impossible = np.isneginf(log)
    for each in near:
        impossible &= np.isneginf(each)
    return np.where(impossible, 0.0, np.where(np.isfinite(lost), lost, np.nan))


# ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Readout:
    """Where the output shows the values of an entry: places, or -1 and a row of `weights` of all places and of 1."""

    at: Array
    weights: Array

    @property
    def whole(self) -> bool:
        """Whether every value has a place of its own."""
        return not len(self.weights)

    def shows(self, seen: Array, values: Array) -> bool:
        """Whether an output has these values there."""
        own = self.at >= 0
        if len(self.at) != len(values) or self.at.max(initial=-1) >= len(seen):
            return False
        if seen[self.at[own]].tobytes() != values[own].tobytes():
            return False
        if self.whole:
            return True
        terms = np.append(seen, 1.0)
        return self.weights.shape[1] == len(terms) and _combined(self.weights, terms, values[~own])

    def same(self, other: "Readout") -> bool:
        """Whether both are the same, combinations but for rounding."""
        if not np.array_equal(self.at, other.at) or self.weights.shape != other.weights.shape:
            return False
        return bool(np.allclose(self.weights, other.weights, rtol=0, atol=NEAR))


Places = dict[int, Readout]  # entry -> where the output shows its values

NEAR = 1e-6  # of weights
FITS = 1e-10  # of a combination's terms: how far it may be from the value
SPARE = 5  # equations beyond the number of places
TRIES = 10  # runs in which a place must agree
DISTINCT = 4  # values that a whole number must have taken in them
WIDENED = (
    "normal",
    "laplace",
    "exponential",
    "gumbel",
    "logistic",
    "student",
    "gamma",
    "laplace_sum",
    "discrete_laplace",
    "discrete_gaussian",
    "poisson",
    "geometric",
    "negative_binomial",
)


MOST_TERMS = 256


@dataclass(frozen=True)
class Term:
    """One value of a transcript: off + scale * z on D is off' + other_scale * other_z on D', z of a law of `family`."""

    family: str
    z: float
    other_z: float
    scale: float
    other_scale: float
    parameters: tuple[float, ...] = ()
    other_parameters: tuple[float, ...] = ()


def terms(run: Forced) -> tuple[Term, ...] | None:
    """The values that moved, so that the log ratio can be added up again; None where that cannot be said."""
    found: list[Term] = []
    for moved in run.moved:
        if len(moved.z) != len(moved.terms) or len(found) + len(moved.z) > MOST_TERMS:
            return None
        for at in range(len(moved.z)):
            ours, theirs = (
                tuple(float(each[at]) for each in given) for given in (moved.parameters, moved.other_parameters)
            )
            z, other, scale, wide = map(float, (moved.z[at], moved.other_z[at], moved.scale[at], moved.other_scale[at]))
            found.append(Term(moved.family, z, other, scale, wide, ours, theirs))
    return tuple(found)


@dataclass(frozen=True)
class Witness:
    """A transcript that no release with a smaller eps has: its log ratio, rounded towards 0, inf by F4."""

    log_ratio: float
    visible: bool
    kind: str  # "sampled" | "stress" | "signs" | "differs"
    transcript: int
    order: int
    seed: int
    draws: int
    terms: tuple[Term, ...] | None = (
        None  # what the log ratio is the sum of; None where they are no known laws, or many
    )


def flat(output: Any) -> Array:
    """Floats and whole numbers of arrays and containers, in order; everything else is left out."""
    if isinstance(output, np.ndarray | np.generic):
        found = np.asarray(output)
        return found.ravel().astype(np.float64) if found.dtype.kind in "fiu" else np.zeros(0)
    if isinstance(output, list | tuple):
        return np.concatenate([np.zeros(0), *(flat(each) for each in output)])
    if type(output) is dict:
        return np.concatenate([np.zeros(0), *(flat(each) for each in output.values())])
    if type(output) in (int, float):
        return np.array([float(output)])
    return np.zeros(0)


def places(runs: Sequence[Forced]) -> Places | None:
    """Entry -> places of its values in V; None where a value has none, in all of `runs`, on D and on D'.

    Where no run has a value, V is a function of the data alone, and determines the empty transcript.
    """
    if len(runs) < TRIES:
        return None
    first = runs[0].first.transcript.entries
    for run in runs:
        for entries in (run.first.transcript.entries, run.second.transcript.entries):
            if len(entries) != len(first) or any(
                entry.kind != "value" or entry.count != other.count or entry.families != other.families
                for entry, other in zip(entries, first, strict=True)
            ):
                return None
    seen = []
    for run in runs:
        shown = [flat(run.output), flat(run.other_output)]
        if len(shown[0]) != len(shown[1]):
            return None
        seen += shown
    if len({len(each) for each in seen}) != 1:
        return None
    stacked = np.ascontiguousarray(np.array(seen).T)  # a row for every place
    where = {row.tobytes(): at for at, row in reversed(list(enumerate(stacked)))}
    found: Places = {}
    for index, entry in enumerate(first):
        values = np.array(
            [np.asarray(run.first.transcript.entries[index].forced, dtype=np.float64) for run in runs for _ in (0, 1)]
        ).T
        at = np.array([where.get(np.ascontiguousarray(row).tobytes(), -1) for row in values], dtype=np.int64)
        weights = _weights(stacked, values[at < 0])
        if weights is None:
            return None
        for row, code in zip(values, entry.codes, strict=True):
            family = FAMILIES[entry.families[code]]
            if family.name == "integers" or (family.lattice and len(np.unique(row)) < DISTINCT):
                return None
        found[index] = Readout(at, weights)
    return found


SMALLEST_TERM = 1e-280  # quotients by less may overflow


def _weights(stacked: Array, values: Array) -> Array | None:
    """Combinations of places (rows of `stacked`) and of 1 that are these values in every run, or None."""
    if not len(values):
        return np.zeros((0, len(stacked) + 1))
    if not np.isfinite(stacked).all() or not np.isfinite(values).all():
        return None
    terms = np.vstack([stacked, np.ones((1, stacked.shape[1]))])
    if stacked.shape[1] < len(terms) + SPARE:
        return None
    largest = np.abs(terms).max(axis=1)
    size = np.where(largest > SMALLEST_TERM, largest, 1.0)  # a column of zeros, or of next to nothing, stays as it is
    found = np.linalg.lstsq((terms / size[:, None]).T, values.T, rcond=1e-12)[0].T / size
    whole = np.rint(found)
    found = np.where(np.abs(found - whole) <= NEAR, whole, found)
    good = all(_combined(found, terms[:, run], values[:, run]) for run in range(terms.shape[1]))
    return found if good else None


def _combined(weights: Array, terms: Array, values: Array) -> bool:
    """Whether each value is the combination of the terms, up to rounding."""
    with np.errstate(all="ignore"):
        sizes = np.abs(weights) @ np.abs(terms) + np.abs(values)
        return bool((np.abs(weights @ terms - values) <= FITS * sizes).all())


def _shown(run: Forced, where: Places) -> bool:
    """Whether both outputs of a run show its values at these places."""
    for output, arena in ((run.output, run.first), (run.other_output, run.second)):
        seen = flat(output)
        entries = arena.transcript.entries
        if len(entries) != len(where):
            return False
        for index, read in where.items():
            entry = entries[index]
            if entry.kind != "value" or not read.shows(seen, np.asarray(entry.forced, dtype=np.float64)):
                return False
    return True


def visible(runs: Sequence[Sequence[Forced]], every: Sequence[Forced]) -> Places | None:
    """Where V shows T: places that the first TRIES runs of both orders agree on, and that hold in `every` run.

    None where a run is not to be trusted, ends elsewhere on the other dataset, or has a value that V does not show.
    Releases that were made as rows of one call are not looked at.
    """
    found = [places([run for run in order if not run.row][:TRIES]) for order in runs if _followed(order)]
    if len(found) < 2 or found[0] is None or found[1] is None or not _equal(found[0], found[1]):
        return None
    where = found[0]
    return where if _followed(every) and all(run.row or _shown(run, where) for run in every) else None


def _followed(runs: Sequence[Forced]) -> bool:
    return all(run.trusted and run.second.bad is None and (run.row or run.other_output is not None) for run in runs)


def _equal(first: Places, second: Places) -> bool:
    return first.keys() == second.keys() and all(first[key].same(second[key]) for key in first)


def proves(run: Forced, where: Places) -> bool:
    """F4: all values are shown and the outputs differ, or the transcript is impossible on the other dataset."""
    if run.bad is None or run.bad.code == "ROUNDING" or not (run.differ or log_ratio_at_least(run) == math.inf):
        return False
    exact = all(read.whole for read in where.values())
    return exact and run.trusted and run.second.bad is None and _shown(run, where)


def unbranched(run: Forced) -> bool:
    """Whether all values became numbers at the edge: then nothing that the program did depends on one."""
    entries = (*run.first.transcript.entries, *run.second.transcript.entries)
    return all(entry.kind == "value" and not entry.site[0] for entry in entries)


def shown_ratio(run: Forced, where: Places) -> float:
    """L(T), rounded down, of a transcript that V shows; inf by F4; -inf where nothing is shown."""
    if run.bad is not None:
        return math.inf if proves(run, where) else -math.inf
    return min(towards_zero(run.log_ratio), log_ratio_at_least(run))


def best(
    runs: Sequence[Sequence[Forced]], chosen: Sequence[tuple[str, Forced]], where: Places, seed: int
) -> Witness | None:
    """The largest of all transcripts, infinite by F4; those that differ by rounding are none, and chosen ones only
    where the program looks at no value.
    """
    found: Witness | None = None
    chosen = chosen if all(unbranched(run) for each in (*runs, [run for _, run in chosen]) for run in each) else ()
    for at, (kind, run) in enumerate([*(("sampled", run) for order in runs for run in order), *chosen]):
        if run.row or (run.bad is not None and not proves(run, where)):
            continue
        told = math.inf if run.bad is not None else towards_zero(run.log_ratio)
        value = shown_ratio(run, where)
        if value > (-math.inf if found is None else found.log_ratio):
            kind = "differs" if run.differ else kind
            listed = terms(run) if value == told else None  # with more taken off, their sum is not the log ratio
            found = Witness(value, True, kind, at, run.order, seed, run.first.size, listed)
    return found


def stress(seed: int, *key: int) -> Change:
    """Values from a wider law: z times exp(2 N(0, 1)), whole numbers rounded. For F2 and F4, never for F5 to F8."""
    rng = stream(seed, Stage.TAPE, *key, 7)

    def change(family: str, z: Array, start: int) -> Array:
        wider = z * np.exp(2 * rng.standard_normal(z.shape))
        if family not in WIDENED:
            return z
        if not FAMILIES[family].lattice:
            return np.asarray(wider)
        whole = np.rint(wider) if family != "geometric" else np.maximum(np.rint(wider), 1.0)
        return np.asarray(np.where(np.abs(wider) < 2**52, whole, z))

    return change


def signs(run: Forced) -> Change:
    """F3: every moved value of a symmetric law on D's side of both centres, magnitudes as drawn."""
    wanted: dict[int, float] = {}
    for moved in run.moved:
        if moved.kind == "value" and FAMILIES[moved.family].symmetric:
            entry = run.first.transcript.entries[moved.entry]
            terms = dict(zip(entry.place.tolist(), np.sign(entry.coef).tolist(), strict=True))
            other = run.second.transcript.entries[moved.entry]
            gaps = np.sign(np.asarray(entry.off, dtype=np.float64) - other.off)
            for place, gap in zip(entry.place.tolist(), gaps.tolist(), strict=True):
                wanted[place] = terms[place] * gap

    def change(family: str, z: Array, start: int) -> Array:
        if not FAMILIES[family].symmetric:
            return z
        given = np.array([wanted.get(start + at, 0.0) for at in range(z.size)]).reshape(z.shape)
        return np.where(given != 0, np.abs(z) * given, z)

    return change
