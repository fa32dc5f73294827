"""Neighbouring pairs worth trying first, and small changes of a pair: what `evidence.search` searches.

Bad pairs of real mechanisms are extreme and regular (Ding et al. 2018, table 3): everything at a bound, one
entry that differs from the others, all entries moved at once. Pairs of trajectories are made by
`mechanisms.datasets.pairs`.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.base.errors import ParameterError
from dpverify.claims.neighbours import Pair, Records, Relation

Array = npt.NDArray[Any]


def vector_pairs(length: int, *, low: float = 0.0, high: float = 2.0) -> Iterator[Pair]:
    """Answers of `length` queries, each of which may change by (high - low)/2: nine patterns.

    Every entry starts in the middle and moves to a bound: one up, one down, one up and the rest down, one down
    and the rest up, half up and half down, all up, all down, and crossed halves. Entries move by half of the range.
    """
    require.integer(at_least=1, length=length)
    if not low < high:
        raise ParameterError("low", low, f"below high = {high}")
    middle, half = (low + high) / 2, (high - low) / 2
    base, one, left = np.full(length, middle), np.zeros(length), np.zeros(length)
    one[0], left[: (length + 1) // 2] = 1.0, 1.0
    signs = {
        "one up": one,
        "one down": -one,
        "one up, rest down": 2 * one - 1,
        "one down, rest up": 1 - 2 * one,
        "half up, half down": 2 * left - 1,
        "all up": np.ones(length),
        "all down": -np.ones(length),
    }
    for name, sign in signs.items():
        yield Pair(base, base + half * sign, name=name)
    yield Pair(low + half * left, low + half * (1 - left), name="crossed halves, low")
    yield Pair(high - half * left, high - half * (1 - left), name="crossed halves, high")


def histogram_pairs(bins: int, relation: Relation, *, most: int = 2) -> Iterator[Pair]:
    """Counts of `bins` bins that differ by one user; empty, flat and lonely histograms, counts up to `most`."""
    require.integer(at_least=1, bins=bins, most=most)
    require.member(Relation, relation=relation)
    unit, other = np.zeros(bins, np.int64), np.zeros(bins, np.int64)
    unit[0], other[-1] = 1, 1
    backgrounds = {"empty": 0 * unit, "flat": np.full(bins, most), "lonely": most * unit, "elsewhere": most * other}
    for name, base in backgrounds.items():
        if relation is Relation.ADD_OR_REMOVE_ONE:
            yield Pair(base, base + unit, relation, name=f"{name}, one added")
        elif bins > 1:
            yield Pair(base + unit, base + other, relation, name=f"{name}, one moved")


def stream_pairs(length: int, *, values: tuple[Any, Any] = (0, 1)) -> Iterator[Pair]:
    """Streams of `length` records that differ in one place: first, middle, last, on quiet, loud and mixed streams."""
    require.integer(at_least=1, length=length)
    quiet, loud = values
    backgrounds = {
        "quiet": [quiet] * length,
        "loud": [loud] * length,
        "mixed": [values[i % 2] for i in range(length)],
    }
    for name, rows in backgrounds.items():
        for place in sorted({0, length // 2, length - 1}):
            changed = list(rows)
            changed[place] = loud if rows[place] == quiet else quiet
            yield Pair(Records(rows), Records(changed), Relation.REPLACE_ONE, name=f"{name}, record {place}")


def vector_move(pair: Pair, rng: np.random.Generator, *, low: float = 0.0, high: float = 2.0) -> Pair:
    """The pair with one entry of both vectors set anew: a bound or the middle, apart by at most half of the range."""
    first, second = np.array(pair.first, float), np.array(pair.second, float)
    place = int(rng.integers(first.size))
    half = (high - low) / 2
    start = low + half * int(rng.integers(3))
    step = half * int(rng.integers(-1, 2))
    end = start + step if low <= start + step <= high else start
    first.flat[place], second.flat[place] = start, end
    return Pair(first, second, pair.relation, name=f"{pair.name.split(' moved')[0]} moved")


def stream_move(pair: Pair, rng: np.random.Generator) -> Pair:
    """The pair of record streams with one background record, the same in both, replaced by another value of theirs."""
    first, second = list(pair.first.rows), list(pair.second.rows)
    known = sorted({*first, *second}, key=repr)
    same = [i for i, (a, b) in enumerate(zip(first, second, strict=True)) if a == b]
    if same:
        place = same[int(rng.integers(len(same)))]
        first[place] = second[place] = known[int(rng.integers(len(known)))]
    return Pair(Records(first), Records(second), pair.relation, name=f"{pair.name.split(' moved')[0]} moved")
