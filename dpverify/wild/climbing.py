"""A directed search for the worst pair: paired runs on both datasets with the same seeds, then a climb from the best.

With equal seeds the noise is the same, so what is left between the outputs is what the changed record moves: a few runs
say of a pair how far, where trials would need thousands. Every pair of the grid is measured so; the best ones are
changed step by step (a cell, a place, the number of rows, a whole column, a copy of the changed record), and what moves
at least as far stays. The budget is a number of runs and the seeds are fixed: the same seed finds the same pairs on
every machine. Nothing here is evidence: the pairs that are found are fixed before the first trial, as the grid is.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean, median

import numpy as np

from dpverify.claims.neighbours import Relation
from dpverify.errors import NeighbourError, TargetError
from dpverify.wild import datasets
from dpverify.wild.datasets import Candidate, gap, Record
from dpverify.wild.fields import Fields
from dpverify.wild.local import ReleaseSource
from dpverify.wild.pairs import BEFORE, complete, random_cell, unique
from dpverify.wild.schema import Column, Schema

SEEDS, STEPS = 8, 96  # paired runs of a pair; changes that are tried
POOL, FOUND = 4, 3  # climbs for the first half of the steps, then the best alone; pairs that come early in the list
TWICE = 0.5  # of the steps: two changes at once
Row = tuple[Record | None, Record | None]  # of the first and of the second dataset, at the same place


def search_from(
    source: ReleaseSource, schema: Schema, grid: list[Candidate], rng: np.random.Generator, halved: int = 0
) -> list[Candidate]:
    """The grid with the pairs that move the outputs farthest after its first ones; others keep their order.

    The grid as it is where equal seeds give other releases, and where a target dies or hangs.

    Parameters
    ----------
    source : ReleaseSource
        Makes (len(grid) + STEPS) * 2 * SEEDS releases at most.
    schema, grid
        What is legal, and the pairs that are measured first.
    rng : numpy.random.Generator
        Seeds of the runs, and the steps.
    halved : int
        How often the number of pairs and steps is halved, for code that is slow.
    """
    measured, steps = grid[: max(POOL, len(grid) >> halved)], STEPS >> halved
    seeds = rng.integers(0, 2**62, size=SEEDS).tolist()

    def runs(records: datasets.Records) -> list[Fields]:
        found: list[Fields] = source.fields(datasets.wire(schema, records), seeds)["fields"]
        return found

    try:
        if repr(runs(grid[0].first)) != repr(runs(grid[0].first)):
            return grid
        pool = sorted(((distance(runs(each.first), runs(each.second)), each) for each in measured), key=_farthest)[
            :POOL
        ]
        for step in range(steps):
            at = step % len(pool) if step < steps // 2 else 0
            found = change_pair(schema, pool[at][1], rng)
            if found is None:
                continue
            moved = distance(runs(found.first), runs(found.second))
            if moved >= pool[at][0]:
                pool[at] = moved, found
            if step >= steps // 2 - 1:
                pool.sort(key=_farthest)
    except TargetError:
        return grid
    best = [each for moved, each in pool[:FOUND] if moved > 0]
    return unique([*grid[:BEFORE], *best, *grid[BEFORE:]])


def _farthest(measured: tuple[float, Candidate]) -> float:
    return -measured[0]


def distance(first: Sequence[Fields], second: Sequence[Fields]) -> float:
    """How far outputs of equal seeds are apart, summed over their fields: 0 where all are equal.

    A number counts by its median distance over its spread on the first dataset. Where that says nothing (texts, fields
    that come and go, numbers that mostly stay) the frequency of a difference counts, as a log ratio would.
    """
    names = sorted({name for each in (*first, *second) for name in each})
    return math.fsum(
        _apart([each.get(name) for each in first], [each.get(name) for each in second], len(first)) for name in names
    )


def _apart(one: list[object], two: list[object], runs: int) -> float:
    differ = sum(repr(a) != repr(b) for a, b in zip(one, two, strict=True))  # NaN is NaN
    ours = [each for each in one if isinstance(each, float) and math.isfinite(each)]
    theirs = [each for each in two if isinstance(each, float) and math.isfinite(each)]
    if differ and len(ours) == len(theirs) == runs:
        middle = median(ours)
        spread = fmean(abs(each - middle) for each in ours)
        shift = median(abs(a - b) for a, b in zip(ours, theirs, strict=True))
        if spread > 0 and shift > 0 and math.isfinite(shift / spread):
            return shift / spread
    return -math.log1p(-differ / (runs + 1))


# ----------------------------------------------------------------------------------------------------------------------
# One step: both datasets are laid side by side, row by row; a row that only one of them has stands alone.


def change_pair(schema: Schema, candidate: Candidate, rng: np.random.Generator) -> Candidate | None:
    """The pair after one random change or two; None where that is no legal pair."""
    rows = _beside(candidate, schema)
    for _ in range(2 if rng.random() < TWICE else 1):
        steps = STEPS_OF_VALUES if schema.local else STEPS_OF_ROWS
        rows = steps[int(rng.integers(len(steps)))](schema, rows, rng)
    first, second = (tuple(row[arm] for row in rows if row[arm] is not None) for arm in (0, 1))
    fewest, most = schema.rows
    if not schema.local and not all(fewest <= len(each) <= max(1, most) for each in (first, second)):
        return None
    try:
        found = candidate.swapped(first, second)  # type: ignore[arg-type]
    except NeighbourError:
        return None
    return replace(found, name=_name(schema, found)) if complete(schema, found) else None


def _beside(candidate: Candidate, schema: Schema) -> list[Row]:
    first, second = candidate.first, candidate.second
    own, other = gap(first, second, schema.unit), gap(second, first, schema.unit)
    rows: list[Row] = []
    at = there = 0
    while at < len(first) or there < len(second):
        mine, theirs = at in own or at >= len(first), there in other or there >= len(second)
        one = first[at] if at < len(first) and (not theirs or mine) else None
        two = second[there] if there < len(second) and (not mine or theirs) else None
        rows.append((one, two))
        at, there = at + (one is not None), there + (two is not None)
    return rows


def _is_common(row: Row) -> bool:
    return row[0] == row[1]


def _with_cell(row: Row, at: int, value: object, arms: Sequence[int]) -> Row:
    one, two = (
        (*side[:at], value, *side[at + 1 :]) if side is not None and arm in arms else side
        for arm, side in enumerate(row)
    )
    return one, two


def _cell(column: Column, rng: np.random.Generator) -> object:
    """Mostly an extreme."""
    return (
        column.extremes()[int(rng.integers(2))] if column.numeric and rng.random() < 0.75 else random_cell(column, rng)
    )


def _free(schema: Schema) -> list[int]:
    return [at for at, column in enumerate(schema.columns) if not column.names]


def _one_cell(
    schema: Schema, rows: list[Row], rng: np.random.Generator, among: Sequence[int] | None = None
) -> list[Row]:
    places, free = list(range(len(rows))) if among is None else among, _free(schema)
    if not places or not free:
        return rows
    at, cell = places[int(rng.integers(len(places)))], free[int(rng.integers(len(free)))]
    arms = (0, 1) if _is_common(rows[at]) else (int(rng.integers(2)),)
    return [*rows[:at], _with_cell(rows[at], cell, _cell(schema.columns[cell], rng), arms), *rows[at + 1 :]]


def _cell_beside(schema: Schema, rows: list[Row], rng: np.random.Generator) -> list[Row]:
    """A common row next to a changed one."""
    own = {at for at, row in enumerate(rows) if not _is_common(row)}
    beside = [at for at in range(len(rows)) if at not in own and own & {at - 1, at + 1}]
    return _one_cell(schema, rows, rng, beside)


def _own_cell(schema: Schema, rows: list[Row], rng: np.random.Generator) -> list[Row]:
    return _one_cell(schema, rows, rng, [at for at, row in enumerate(rows) if not _is_common(row)])


def _column(schema: Schema, rows: list[Row], rng: np.random.Generator) -> list[Row]:
    """All common rows get one value."""
    free = _free(schema)
    if not free:
        return rows
    cell = free[int(rng.integers(len(free)))]
    value = _cell(schema.columns[cell], rng)
    return [_with_cell(row, cell, value, (0, 1)) if _is_common(row) else row for row in rows]


def _copy_row(schema: Schema, rows: list[Row], rng: np.random.Generator) -> list[Row]:
    """A common row becomes what the changed one is in one of the datasets."""
    own = [side for row in rows if not _is_common(row) for side in row if side is not None]
    common = [at for at, row in enumerate(rows) if _is_common(row)]
    if not own or not common:
        return rows
    model, at = own[int(rng.integers(len(own)))], common[int(rng.integers(len(common)))]
    row = rows[at]
    for cell in _free(schema):
        row = _with_cell(row, cell, model[cell], (0, 1))
    return [*rows[:at], row, *rows[at + 1 :]]


def _move_row(schema: Schema, rows: list[Row], rng: np.random.Generator) -> list[Row]:
    """A changed row stands elsewhere."""
    own = [at for at, row in enumerate(rows) if not _is_common(row)]
    if not own:
        return rows
    at = own[int(rng.integers(len(own)))]
    rest = [*rows[:at], *rows[at + 1 :]]
    to = int(rng.integers(len(rows)))
    return [*rest[:to], rows[at], *rest[to:]]


def _change_size(schema: Schema, rows: list[Row], rng: np.random.Generator) -> list[Row]:
    """A common row, or half of them, are gone; or there are as many more, copies of those that are there."""
    common = [at for at, row in enumerate(rows) if _is_common(row)]
    if not common:
        return rows
    count = max(1, len(common) // 2) if rng.integers(2) else 1
    picked = [common[int(each)] for each in rng.permutation(len(common))[:count]]
    if rng.integers(2):
        return [row for at, row in enumerate(rows) if at not in picked]
    names = [at for at, column in enumerate(schema.columns) if column.names]
    held = [side[at] for row in rows for side in row if side is not None for at in names]
    fresh, found = max((each for each in held if isinstance(each, int)), default=0), list(rows)
    for at in picked:
        fresh, row = fresh + 1, rows[at]
        for cell in names:
            row = _with_cell(row, cell, fresh, (0, 1))
        found.insert(int(rng.integers(len(found) + 1)), row)
    return found


Step = Callable[[Schema, list[Row], np.random.Generator], list[Row]]
STEPS_OF_VALUES: tuple[Step, ...] = (_own_cell,)
STEPS_OF_ROWS: tuple[Step, ...] = (_one_cell, _cell_beside, _own_cell, _column, _copy_row, _move_row, _change_size)


def _name(schema: Schema, candidate: Candidate) -> str:
    """What a pair is after its changes."""
    if schema.local:
        return "found by paired runs: two records"
    own = ", ".join(f"{at + 1}" for at in sorted(gap(candidate.second, candidate.first, schema.unit)))
    does = "added" if candidate.relation is Relation.ADD_OR_REMOVE_ONE else "changed"
    return f"found by paired runs: {len(candidate.second)} rows, {does}: row {own}"
