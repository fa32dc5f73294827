"""A smaller pair that refutes the claim as well: fewer common rows, rounder numbers."""

import math
from collections.abc import Callable, Iterator

from dpverify.wild.candidate import Candidate
from dpverify.wild.datasets import Record, Records
from dpverify.wild.neighbours import gap
from dpverify.wild.pairs import complete
from dpverify.wild.schema import Schema

ROUNDS = 12  # changes that are tried


def shrunk(schema: Schema, candidate: Candidate, refutes: Callable[[Candidate], bool]) -> Candidate:
    """The smallest pair found; `refutes` is asked at most `ROUNDS` times, and says no once there is no time left."""
    asked = 0
    going = True
    while going and asked < ROUNDS:
        going = False
        for smaller in _smaller(schema, candidate):
            if asked >= ROUNDS:
                break
            if not complete(schema, smaller):
                continue
            asked += 1
            if refutes(smaller):
                candidate, going = smaller, True
                break
    return candidate


def _smaller(schema: Schema, candidate: Candidate) -> Iterator[Candidate]:
    """Simpler pairs, the boldest first, equal ones left out."""
    first, second = candidate.first, candidate.second
    own, other = gap(first, second), gap(second, first)
    common = [at for at in range(len(first)) if at not in own]
    fewest = max(schema.rows[0], 0)
    seen = {(repr(first), repr(second))}
    for part in (1.0, 0.5, 0.25):
        drop = set(common[: max(0, min(int(len(common) * part), min(len(first), len(second)) - max(1, fewest)))])
        if drop:
            # the same rows in both: common rows keep their order, so the k-th of one is the k-th of the other
            kept = [at for at in range(len(first)) if at not in drop]
            there = [at for at in range(len(second)) if at not in other]
            gone = {there[common.index(at)] for at in drop}
            yield from _new(candidate, tuple(first[at] for at in kept),
                            tuple(second[at] for at in range(len(second)) if at not in gone), seen)  # fmt: skip
    if common:
        model = tuple(column.extremes()[0] if column.numeric else cell
                      for column, cell in zip(schema.columns, first[common[0]], strict=True))  # fmt: skip
        yield from _new(candidate, _flat(schema, first, own, model), _flat(schema, second, other, model), seen)
    yield from _new(candidate, _rounded(schema, first), _rounded(schema, second), seen)


def _new(candidate: Candidate, first: Records, second: Records, seen: set[tuple[str, str]]) -> Iterator[Candidate]:
    key = repr(first), repr(second)
    if key in seen:
        return
    seen.add(key)
    try:
        yield candidate.swapped(first, second)
    except ValueError:  # rounding has made them equal
        return


def _flat(schema: Schema, records: Records, keep: set[int], model: Record) -> Records:
    """Common rows with all their numbers at the low end; ids stay."""
    numeric = [column.numeric for column in schema.columns]
    return tuple(record if at in keep else tuple(low if is_number else cell for low, cell, is_number in
                 zip(model, record, numeric, strict=True)) for at, record in enumerate(records))  # fmt: skip


def _rounded(schema: Schema, records: Records) -> Records:
    def cell(at: int, value: object) -> object:
        column = schema.columns[at]
        if column.kind not in ("real", "weight") or not isinstance(value, float) or not math.isfinite(value):
            return value
        near = float(round(value)) if abs(value) < 1e15 else value
        return near if column.low <= near <= column.high else value

    return tuple(tuple(cell(at, value) for at, value in enumerate(record)) for record in records)
