"""Pairs of neighbours on which a subject costs most, under either relation, as far as they can be written down.

The subject's own pairs, and their like that may cost more; for the relation that its claim is not about, pairs
made from them: a replaced trajectory, an absent user, one record more.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dpverify import Pair, Records, Relation, Subject
from mechanisms.counters import Stream
from mechanisms.datasets.pairs import absence, worst_replacement
from mechanisms.datasets.trajectories import Trajectories

ADD_REMOVE = Relation.ADD_OR_REMOVE_ONE


def pairs_of(subject: Subject, relation: Relation) -> list[Pair]:
    """Empty where none is written down."""
    if relation is subject.claim.relation:
        return [*subject.pairs, *(each for pair in subject.pairs for each in _worse(pair))]
    data = subject.pairs[0].first
    if isinstance(data, Trajectories):
        paid = replace(data, rewards=np.ones(data.states.shape))
        fixed = getattr(subject.target, "fixed_start", False)
        if relation is ADD_REMOVE:
            return [absence(paid, 0)]
        pair = worst_replacement(paid, 0, fixed_start=fixed)
        return [pair, *_worse(pair)]
    if relation is ADD_REMOVE and isinstance(data, Stream):
        return [_absent_item(subject.target)]
    if relation is ADD_REMOVE and isinstance(data, int | float | list):
        return [_one_more(data)]
    return []


def _worse(pair: Pair) -> Iterator[Pair]:
    """Every step paid, so that the reward of the old cell falls and that of the new one rises; any other user."""
    if isinstance(pair.first, Trajectories):
        first, second = (replace(data, rewards=np.ones(data.states.shape)) for data in pair)
        yield Pair(first, second, pair.relation)
    if isinstance(pair.first, Records):
        rows, others = list(pair.first.rows), list(pair.second.rows)
        (changed,) = [t for t, (one, other) in enumerate(zip(rows, others, strict=True)) if one != other]
        for t in range(len(rows)):
            yield Pair(Records(rows), Records([*rows[:t], others[changed], *rows[t + 1 :]]), pair.relation)


def _absent_item(counter: Any) -> Pair:
    """Item 1, which lies in the most nodes, adds 1 to as many cells as an item may."""
    values = np.zeros((counter.releases, *counter.cells))
    values.reshape(counter.releases, -1)[0, : counter.touches] = 1
    there = np.arange(counter.releases) > 0
    return Pair(Stream(values), Stream(0 * values, present=there), ADD_REMOVE)


def _one_more(data: Any) -> Pair:
    values = np.array(data)
    more = values.copy()
    more.reshape(-1)[0] += 1
    return Pair(values.tolist(), more.tolist(), ADD_REMOVE)
