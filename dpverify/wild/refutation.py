"""For a refuted pair: a smaller one that falls as well, and an event in terms of fields, stated on fresh releases."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dpverify.claims.claim import Claim
from dpverify.wild import datasets
from dpverify.wild.allocation import Budget
from dpverify.wild.datasets import Candidate, gap, Record, Records
from dpverify.wild.local import ReleaseSource
from dpverify.wild.pair_audit import Contender, FEWEST
from dpverify.wild.pairs import complete
from dpverify.wild.schema import Schema
from dpverify.wild.witness import FieldWitness, search_event, stated

# ----------------------------------------------------------------------------------------------------------------------
# A smaller pair that refutes the claim as well: fewer common rows, rounder numbers.


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


# ----------------------------------------------------------------------------------------------------------------------
# For a refuted pair: a smaller one that falls as well, and an event in terms of fields, stated on fresh releases.


AGAIN = 300  # trials that must refute a smaller pair
LEVEL = 0.01  # of such a try: it decides what is shown, not what is true
SHRINK_SHARE, STATE_SHARE = 0.5, 0.4  # of the time of a witness
STATED = (100, 2000)  # fresh releases on each dataset: fewest, most
SPENT = 6  # releases for each of those: both datasets, choosing as well, on two pairs


@dataclass(frozen=True)
class Shown:
    """`candidate` may be smaller than the pair called `name`, whose bound is the certified one."""

    name: str
    candidate: Candidate
    witness: FieldWitness | None
    note: str = ""


def shown_of(
    contender: Contender, schema: Schema, claim: Claim, budget: Budget, source: ReleaseSource, *, seed: int
) -> Shown:
    """The witness of a refuted pair, on the smallest pair that time allows; on the pair itself where that says less.

    `budget` is its own; the fewest releases are made in any case.
    """
    ends = SHRINK_SHARE * budget.seconds
    number = [contender.index + (1 << 24)]

    def on(candidate: Candidate) -> Contender:
        number[0] += 1
        data = datasets.wire(schema, candidate.first), datasets.wire(schema, candidate.second)
        return Contender(candidate, data, source, claim, share=LEVEL, seed=seed, index=number[0],
                         block=contender.block)  # fmt: skip

    def refutes(candidate: Candidate) -> bool:
        if budget.spent > ends:
            return False
        tried, left = on(candidate), ends - budget.spent
        tried.sample(max(FEWEST, len(contender.samples[0]) // 2), left / 4)
        if not tried.failing:
            tried.run(AGAIN, left / 2)
        return tried.refuted

    small = shrunk(schema, contender.candidate, refutes)
    each = contender.seconds or budget.release
    releases = int(min(STATED[1], max(STATED[0], STATE_SHARE * budget.seconds / (SPENT * each))))
    found = _witness(on(small), claim, releases)
    if small != contender.candidate and not (found is not None and found.eps(claim.delta) > claim.eps):
        whole = _witness(contender, claim, releases)
        if whole is not None and (found is None or whole.eps(claim.delta) > found.eps(claim.delta)):
            small, found = contender.candidate, whole
    note = "" if small == contender.candidate else "the pair shown is a smaller one, found by shrinking"
    return Shown(contender.candidate.name, small, found, note)


def _witness(contender: Contender, claim: Claim, releases: int) -> FieldWitness | None:
    """Chosen on one half, stated on the other."""
    half = max(FEWEST, releases // 2)
    if contender.codebook is None:
        contender.sample(max(FEWEST, half // 2))
    assert contender.codebook is not None
    choose = [contender.codebook.rows(contender.samples[arm] + contender.releases(arm, half)) for arm in (0, 1)]
    event = search_event(contender.codebook, choose[0], choose[1], claim.eps, claim.delta)
    if event is None:
        return None
    rows = [contender.codebook.rows(contender.releases(arm, releases)) for arm in (0, 1)]
    return stated(event, rows[0], rows[1])
