"""Which call on one dataset is which on the other: within one place, by minimum cost, in order.

Matching two calls costs the distance of their inputs in units of the sensitivity, at most `LARGEST`; skipping one costs
1. Position alone is wrong: a skipped group shifts all later calls.
"""

import math
from collections.abc import Sequence

import numpy as np

from dpverify.tape.instruments.calls import distance
from dpverify.wild.calls.recording import Plan, Run, Step

LARGEST, SKIP = 1.5, 1.0
MOST = 4_000_000  # cells of the table of costs: beyond, position


def aligned(first: Run, second: Run) -> tuple[list[tuple[Step, Step]], list[Step], Plan]:
    """(matched steps, steps without a partner, the plan that plays them back)."""
    ours, theirs = first.by_key(), second.by_key()
    pairs: list[tuple[Step, Step]] = []
    alone: list[Step] = []
    plan: Plan = {}
    for key in ours | theirs:
        one, two = ours.get(key, []), theirs.get(key, [])
        matches = _matched(one, two)
        taken = dict((b, a) for a, b in matches)
        pairs += [(one[a], two[b]) for a, b in matches]
        alone += [step for at, step in enumerate(one) if at not in set(taken.values())]
        for at, step in enumerate(two):
            plan[key, at] = taken.get(at)
            if at not in taken:
                alone.append(step)
    order = {id(step): at for at, step in enumerate(first.steps)}
    return sorted(pairs, key=lambda each: order[id(each[0])]), alone, plan


def gap_of(one: Step, two: Step) -> float:
    """Distance of two calls' inputs, inf where they cannot be compared; 0 for steps without a call."""
    if one.call is None or two.call is None:
        return 0.0
    if one.call.opaque or not (one.call.value.size or two.call.value.size):
        return 0.0
    return distance(one.call.value, two.call.value, one.call.norm)


def _cost(one: Step, two: Step) -> float:
    gap = gap_of(one, two)
    unit = one.call.sensitivity if one.call is not None else None
    if gap == 0:
        return 0.0
    return min(LARGEST, gap / unit) if unit else LARGEST if not math.isfinite(gap) else min(LARGEST, gap)


def _matched(one: Sequence[Step], two: Sequence[Step]) -> list[tuple[int, int]]:
    n, m = len(one), len(two)
    if n * m > MOST or n * m == 0:
        return list(zip(range(n), range(m), strict=False)) if n == m else []
    straight = [_cost(a, b) for a, b in zip(one, two, strict=False)]
    if n == m and max(straight) < LARGEST:
        return [(at, at) for at in range(n)]
    costs = np.array([[_cost(a, b) for b in two] for a in one])
    table = np.zeros((n + 1, m + 1))
    table[:, 0], table[0, :] = np.arange(n + 1) * SKIP, np.arange(m + 1) * SKIP
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            table[i, j] = min(table[i - 1, j - 1] + costs[i - 1, j - 1], table[i - 1, j] + SKIP, table[i, j - 1] + SKIP)
    found, i, j = [], n, m
    while i and j:
        if table[i, j] == table[i - 1, j - 1] + costs[i - 1, j - 1]:
            found.append((i - 1, j - 1))
            i, j = i - 1, j - 1
        elif table[i, j] == table[i - 1, j] + SKIP:
            i -= 1
        else:
            j -= 1
    return found[::-1]
