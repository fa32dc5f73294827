"""How far the log ratio of a transcript, as computed, may be from that of real numbers: `at_least` and `at_most` of it.

o = off + coef z was made by sums whose last digits are lost: z and z' are known to ULPS units in the last place of the
largest |o|, |off|, |off'| of their entry, over |coef|. A log mass is off by what it changes over that, and by some
units of its own terms (`_lost`). A refutation takes all errors off (F2), a certified eps adds them (F5, F6): with
counts of 1e9 and noise of scale 10, z has nine digits, and log ratios err by 1e-8. A value that moves by less than its
last digit has the same z on both datasets: its log ratio is computed as 0, and its error is the bound.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.tape.arena import Arena
from dpverify.tape.families import FAMILIES
from dpverify.tape.forced import elements, Forced
from dpverify.tape.transcript import Entry

Array = npt.NDArray[Any]

ULPS, UNIT = 32, 2.0**-53  # of roundings between a draw and what is released


def towards_zero(log_ratio: float) -> float:
    """A log ratio with 1e-9 of it taken off."""
    return log_ratio * (1 - 1e-9)


def at_least(run: Forced) -> float:
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


def at_most(run: Forced) -> float:
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


def _of_masses(entry: Entry, ours: Array, theirs: Array) -> Array:
    """Of log masses that are computed at once: units of their terms; 1 - p of a decision has no more digits than 1."""
    size = _size(entry.value)
    lost = 16 * UNIT * (1 + np.abs(ours) + np.abs(theirs) + size * math.log(size))
    with np.errstate(over="ignore"):
        return np.asarray(lost + 4 * UNIT * (np.exp(-ours) + np.exp(-theirs)) if entry.kind == "decision" else lost)


def _size(value: Any) -> float:
    """The numbers that a log mass of an atom is made of: at most their sum, and two more."""
    found = np.asarray(value)
    return 2.0 + (float(np.abs(found.astype(np.float64)).sum()) if found.dtype.kind in "biuf" else 0.0)


def _of_values(here: Entry, there: Entry, first: Arena, second: Arena) -> Iterator[tuple[Array, Array]]:
    largest = _largest(here, there)
    for name, _, rows, ours, theirs in elements(here, there, first, second, shifted=True):
        scales = [np.abs(np.asarray(entry.coef[rows], dtype=np.float64)) for entry in (here, there)]
        lost = sum(_lost(name, np.asarray(entry.z[rows], dtype=np.float64), scale, given, largest)
                   for entry, scale, given in zip((here, there), scales, (ours, theirs), strict=True))  # fmt: skip
        with np.errstate(all="ignore"):  # a factor of 0 has been looked at: its loss is not finite
            lost += 4 * UNIT * (1 + np.abs(np.log(scales[0] / scales[1])))
        yield here.place[rows], np.where(np.isnan(lost), np.inf, lost)


def _largest(here: Entry, there: Entry) -> float:
    return max(float(np.abs(np.asarray(each, dtype=np.float64)).max(initial=0.0))
               for each in (here.forced, here.off, there.off))  # fmt: skip


def _lost(name: str, z: Array, scale: Array, parameters: tuple[Array, ...], largest: float) -> Array:
    """How far a log mass may be off by rounding; 0 where it is infinite and stays so, nan where it may be finite."""
    law = FAMILIES[name]
    size = np.abs(z) + sum(np.abs(each) for each in parameters) + 2.0
    with np.errstate(all="ignore"):
        log = law.log_mass(z, *parameters)
        gap = 0.0 if law.lattice else ULPS * UNIT * (largest / scale + np.abs(z))
        near = [law.log_mass(z + sign * gap, *parameters) for sign in (-1.0, 1.0)]
        lost = np.max([np.abs(each - log) for each in near], axis=0) + 8 * UNIT * (np.abs(log) + size * np.log(size))
    impossible = np.isneginf(log)
    for each in near:
        impossible &= np.isneginf(each)
    return np.where(impossible, 0.0, np.where(np.isfinite(lost), lost, np.nan))
