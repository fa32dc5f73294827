"""The exact log ratio of what was released, where it shows every value of the transcript: both runs are forced to it.

    L(o) = log p(T(o)) - log q(T(o)),  T(o) the transcript whose values stand at fixed places of the output o

F1 gives L for a transcript, `witness.places` the places. Where shifts, scales and laws are the same in all runs that
were looked at, L is their closed form; otherwise each output costs a forced run on either dataset. It is a score, not a
bound: what it misses costs power, never validity.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.claims.neighbours import Pair
from dpverify.errors import ParameterError
from dpverify.tape import witness
from dpverify.tape.families import FAMILIES
from dpverify.tape.forced import Forced, Pairing, transcript_log_ratio
from dpverify.tape.randomness import Arena
from dpverify.tape.transcript import Draw, Transcript, TranscriptEntry
from dpverify.trials.target import Array, name_of, Target

FloatArray = npt.NDArray[np.float64]
Side = tuple[FloatArray, FloatArray, tuple[FloatArray, ...]]  # off, coef and parameters of an entry's elements


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Log ratios of released outputs, shape (size,); see the module."""

    pairing: Pairing
    template: Transcript
    places: tuple[npt.NDArray[np.int64], ...]
    sides: tuple[tuple[Side, Side], ...] | None  # of each entry on either dataset; None where they are not the same

    def __call__(self, outputs: npt.ArrayLike) -> FloatArray:
        given = np.asarray(outputs)
        rows = given.reshape(len(given), -1).astype(np.float64)
        if self.sides is not None:
            return self._closed(rows, self.sides)
        return np.array([self._forced(row) for row in rows])

    def _closed(self, rows: FloatArray, sides: tuple[tuple[Side, Side], ...]) -> FloatArray:
        total = np.zeros(len(rows))
        for entry, place, (here, there) in zip(self.template.entries, self.places, sides, strict=True):
            values = rows[:, place]
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                terms = _log_density(entry, values, here) - _log_density(entry, values, there)
            total += np.where(np.isnan(terms), 0.0, terms).sum(axis=1)
        return np.where(np.isnan(total), 0.0, total)

    def _forced(self, row: FloatArray) -> float:
        entries = [
            replace(entry, forced=row[place].astype(entry.forced.dtype))
            for entry, place in zip(self.template.entries, self.places, strict=True)
        ]
        wanted = Transcript(entries, self.template.draws)
        runs = [
            self.pairing._opaque(data, wanted, (0, 0, 0, side), None)
            for side, data in enumerate((self.pairing.first, self.pairing.second))
        ]
        lost = [run.bad is not None for run in runs]
        if any(lost):
            return 0.0 if all(lost) else -math.inf if lost[0] else math.inf
        value = transcript_log_ratio(runs[0].arena, runs[1].arena)[0]
        return 0.0 if math.isnan(value) else value


def likelihood(target: Target, pair: Pair, *, seed: int) -> Likelihood:
    """The log ratio of `target` on `pair`; ParameterError where what it releases does not determine its transcript."""
    orders = [
        Pairing(target, one, other, seed=seed, order=order)
        for order, (one, other) in enumerate(((pair.first, pair.second), (pair.second, pair.first)))
    ]
    runs = [[pairing.transcript(index) for index in range(witness.TRIES)] for pairing in orders]
    lost = next((run for found in runs for run in found if not run.trusted or run.second.bad is not None), None)
    if lost is not None:
        raise _refused(f"the code could not be traced: {lost.bad}")
    where = [witness.places(found) for found in runs]
    if where[0] is None or where[1] is None or not _same(where[0], where[1]):  # combinations are none
        raise _refused("what is released does not show every value that the code draws, one fixed place for each")
    first = runs[0]
    template = first[0].first.transcript
    places = tuple(where[0][index].at for index in range(len(template.entries)))
    return Likelihood(orders[0], template, places, _sides(first))


def _refused(why: str) -> ParameterError:
    return ParameterError("score", "trace", f"another score ({why}); `dpverify trace` shows what was found")


def _same(one: witness.Places, other: witness.Places) -> bool:
    return one.keys() == other.keys() and all(one[key].whole and one[key].same(other[key]) for key in one)


def _sides(runs: Sequence[Forced]) -> tuple[tuple[Side, Side], ...] | None:
    """Off, coef and parameters of every entry on both datasets, if all runs have the same and each entry one law."""
    seen = [
        [[_side(arena, entry) for entry in arena.transcript.entries] for arena in (run.first, run.second)]
        for run in runs
    ]
    if any(len(entry.families) != 1 for entry in runs[0].first.transcript.entries):
        return None
    first = seen[0]
    same = all(
        _equal(a, b)
        for run in seen
        for ours, theirs in zip(run, first, strict=True)
        for a, b in zip(ours, theirs, strict=True)
    )
    return tuple(zip(first[0], first[1], strict=True)) if same else None


def _side(arena: Arena, entry: TranscriptEntry) -> Side:
    off, coef = (np.asarray(each, dtype=np.float64) for each in (entry.off, entry.coef))
    return off, coef, _parameters(arena, entry)


def _parameters(arena: Arena, entry: TranscriptEntry) -> tuple[FloatArray, ...]:
    which = arena.draws_of(entry.place)
    draws: list[Draw] = [arena.transcript.draws[int(each)] for each in which]
    places = entry.place.tolist()
    count = len(draws[0].parameters) if draws else 0
    return tuple(
        np.array([_parameter(draw, at, place) for draw, place in zip(draws, places, strict=True)])
        for at in range(count)
    )


def _parameter(draw: Draw, at: int, place: int) -> float:
    given = draw.parameters[at]
    return float(given if given.ndim == 0 else given[place - draw.start])


def _equal(one: Side, other: Side) -> bool:
    return (
        np.array_equal(one[0], other[0])
        and np.array_equal(one[1], other[1])
        and all(np.array_equal(a, b) for a, b in zip(one[2], other[2], strict=True))
    )


def _log_density(entry: TranscriptEntry, values: FloatArray, side: Side) -> FloatArray:
    off, coef, parameters = side
    family = FAMILIES[entry.families[0]]
    z = (values - off) / coef
    if family.lattice:
        z = np.where(np.abs(z - np.rint(z)) < 1e-9, np.rint(z), z)
        return np.asarray(family.log_mass(z, *parameters))
    return np.asarray(family.log_mass(z, *parameters) - np.log(np.abs(coef)))


# ----------------------------------------------------------------------------------------------------------------------
# A target with the log ratio that the tape gives it: white-box audits of code that has none of its own.


TRACE = "trace"  # the score's name


class TracedTarget:
    """The target, and `log_ratio` by forcing its code on both datasets; for the one pair that it was made for."""

    def __init__(self, target: Target, ratio: Likelihood) -> None:
        self._target, self._ratio = target, ratio
        self.name = name_of(target)

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> Array:
        """The target's own."""
        return self._target.release(data, rng=rng, size=size)

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """Exact for transcripts like those that were looked at; see `tape.likelihood`."""
        return self._ratio(outputs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # while it is unpickled
            raise AttributeError(name)
        return getattr(self._target, name)


def traced_target(target: Target, pair: Pair, seed: int) -> TracedTarget:
    """ParameterError, which says why, where what is released does not determine the transcript."""
    return TracedTarget(target, likelihood(target, pair, seed=seed))
