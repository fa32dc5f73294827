"""Many transcripts from one call: the trials axis of a forced run, its losses row by row.

Rows of a call are taken for independent releases, as trials take them. What can be checked is checked: every draw and
the output have the trials axis, and PROBED rows, made again by themselves with their values, have the same outputs and
the same log ratios. Where a program is not such a one (`None`), transcripts are made one by one. A row whose outputs
differ is made again by itself as well, with all checks of a transcript.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.tape import outputs
from dpverify.tape.arena import Arena
from dpverify.tape.forced import Forced, log_ratio, Moved, Pairing
from dpverify.tape.rounding import errors
from dpverify.tape.sources import Change

Array = npt.NDArray[Any]

ROWS = 1021  # releases of a call: a prime, so that an axis of this length is the trials axis
PROBED = 4  # rows of a call that are made again
AGAIN = 16  # rows of a call whose outputs may differ, and are made again; with more, all are made one by one


def batch(pairing: Pairing, index: int, rows: int) -> list[Forced] | None:
    """`rows` transcripts of one call; None where the program is none for this."""
    pairing.size = rows
    try:
        whole = pairing.transcript(index)
    finally:
        pairing.size = 1
    if not whole.trusted or whole.second.bad is not None or whole.raised or not _rowwise(whole, rows):
        return None
    total, moved = _losses(whole, rows)
    lost = _lost(whole, rows)
    different = _different(whole, rows)
    if different is None or len(different) > AGAIN:
        return None
    width = [draw.count // rows for draw in whole.first.transcript.draws]
    found = [
        Forced(float(total[row]), None, whole.first, whole.second, None, None, order=pairing.order, trusted=True,
               moved=moved[row], changed=whole.changed, row=True, lost=float(lost[row]))
        for row in range(rows)
    ]  # fmt: skip
    for row in {
        *np.linspace(0, rows - 1, PROBED).astype(int).tolist(),
        *different,
        *np.flatnonzero(~np.isfinite(total)),
    }:
        alone = pairing.transcript(index, change=_values(whole.first, width, int(row), rows))
        if int(row) in different or not math.isfinite(total[row]):
            if alone.bad is None and math.isfinite(total[row]):
                alone.log_ratio = float(total[row])  # it differs among others and not alone: seen below
            found[row] = alone
            alone.row = True
        if not _same(alone, whole, int(row), float(total[row])):
            return None
    return found


def _rowwise(whole: Forced, rows: int) -> bool:
    """Whether the draws, the entries and the outputs have the trials axis."""
    if any(draw.rows != rows for draw in whole.first.transcript.draws):
        return False
    if any(entry.kind == "atom" for entry in whole.first.transcript.entries):
        return False
    shown = (whole.output[1], whole.other_output[1])
    return all(type(each) is np.ndarray and each.dtype.kind in "biuf" and len(each) == rows for each in shown
               if np.ndim(each)) and all(np.ndim(each) for each in shown)  # fmt: skip


def _row_of(arena: Arena, place: Array, rows: int) -> Array:
    draws = arena.transcript.draws
    which = arena.draws_of(place)
    starts = np.array([draw.start for draw in draws])[which]
    widths = np.array([max(draw.count // rows, 1) for draw in draws])[which]
    return np.asarray((place - starts) // widths)


def _losses(whole: Forced, rows: int) -> tuple[Array, list[tuple[Moved, ...]]]:
    """Log ratio and moved elements of every row."""
    _, every = log_ratio(whole.first, whole.second)
    terms: list[list[float]] = [[] for _ in range(rows)]
    moved: list[list[Moved]] = [[] for _ in range(rows)]
    for each in every:
        row_of = _row_of(whole.first, each.place, rows)
        order = np.argsort(row_of, kind="stable")
        cuts = np.flatnonzero(np.r_[True, np.diff(row_of[order]) > 0])
        for part in np.split(order, cuts[1:]):
            row = int(row_of[part[0]])
            terms[row] += each.terms[part].tolist()
            moved[row].append(each.part(part))
    total = np.array([math.fsum(each) if all(map(math.isfinite, each)) else math.inf for each in terms])
    return total, [tuple(each) for each in moved]


def _lost(whole: Forced, rows: int) -> Array:
    """How far the log ratio of every row may be off by rounding."""
    found = np.zeros(rows)
    for place, lost in errors(whole.first, whole.second):
        found += np.bincount(_row_of(whole.first, place, rows), lost, rows)
    return found


def _different(whole: Forced, rows: int) -> list[int] | None:
    """Rows whose outputs differ in a bit; None where the outputs differ in form."""
    first, second = whole.output[1], whole.other_output[1]
    if first.dtype != second.dtype or first.shape != second.shape:
        return None
    views = [
        np.frombuffer(np.ascontiguousarray(each).tobytes(), np.uint8).reshape(rows, -1) for each in (first, second)
    ]
    return [int(row) for row in np.flatnonzero((views[0] != views[1]).any(axis=1))]


def _values(arena: Arena, widths: list[int], row: int, rows: int) -> Change:
    """The values of one row, for a run that makes it alone."""
    parts = [arena.values(draw.start + row * width, width)
             for draw, width in zip(arena.transcript.draws, widths, strict=True)]  # fmt: skip
    values = np.concatenate([np.zeros(0), *parts])

    def change(family: str, z: Array, start: int) -> Array:
        known = values[start : start + z.size]
        return known.reshape(z.shape) if known.size == z.size else z

    return change


def _same(alone: Forced, whole: Forced, row: int, total: float) -> bool:
    """Whether a release made alone is the row that it was among the others, on both datasets."""
    if not alone.trusted or alone.second.bad is not None:
        return False
    pairs = ((alone.output, whole.output), (alone.other_output, whole.other_output))
    if any(one[0] != all_[0] or not outputs.close(outputs.parts(one[1]), outputs.parts(all_[1][row : row + 1]))
           for one, all_ in pairs):  # fmt: skip
        return False
    return alone.log_ratio == total or abs(alone.log_ratio - total) <= 1e-9 * max(1.0, abs(total))
