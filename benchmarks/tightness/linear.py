"""Laws of the statistics of DP-VAPVI on the worst datasets: Gaussians, moved by what the release really computes.

V is at its ceiling H - h and every reward is 1. In an adaptive run on a large crowd that earns 1 in every step V
comes as close to that as one likes, and the weights to 1: the account of a `StatisticsView` is compared with this
limit. Where a ledger speaks of all features in the unit ball, so do the features here: unit vectors at all angles.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from algorithms.beyond.lean import Lean
from benchmarks.tightness.laws import GaussianShift, Law
from benchmarks.tightness.silent import ratio_at_the_truth
from dpverify import Pair, Relation
from mechanisms.datasets.pairs import absence, constant
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.offline_linear import OfflineLinear

ANGLES = 721  # a quarter of a degree apart
USERS = 4


def worst_laws(target: OfflineLinear, relation: Relation) -> list[Law]:
    """The first user, and the last one, changes her features in every step, or is absent."""
    H, d = target.noise.H, target.noise.d
    rows = _unit_vectors(d) if target.unit_ball else target.features.reshape(-1, d)
    ceiling = np.arange(H - 1, -1, -1.0)[:, None]
    wide = replace(target, features=rows[None], values=ceiling, unit_ball=False)
    found: list[Law] = []
    for user in (0, USERS - 1):
        if relation is Relation.ADD_OR_REMOVE_ONE:
            longest = int(np.argmax((rows**2).sum(axis=1)))
            data = _data(wide)
            data = replace(data, actions=np.full_like(data.actions, longest))
            found.append(GaussianShift(2 * ratio_at_the_truth(wide, absence(data, user))))
            continue
        pairs = [_farthest(wide, rows, user, h) for h in range(H)]
        found.append(GaussianShift(_squared_distance(wide, user, range(H), pairs)))
    return found


def worst_law_of_lean(learner: Lean, relation: Relation) -> Law:
    """The replaced user's features are the farthest apart in every step, at values and rewards at their ceilings."""
    rows = _unit_vectors(2)
    inner = rows @ rows.T
    apart, grams = (2 - 2 * inner, 2 - 2 * inner**2) if relation is Relation.REPLACE_ONE else (1.0, 1.0)
    tops = np.arange(learner.horizon, 0, -1)
    costs = [top**2 * apart / s**2 + grams / g**2 for top, (s, g) in zip(tops, learner.sigmas, strict=True)]
    return GaussianShift(float(sum(np.max(each) for each in costs)))


def _unit_vectors(d: int) -> Any:
    angles = np.linspace(0, np.pi, ANGLES)
    rows = np.zeros((ANGLES, d))
    rows[:, 0], rows[:, 1] = np.cos(angles), np.sin(angles)
    return rows


def _farthest(target: OfflineLinear, rows: Any, user: int, h: int) -> tuple[int, int]:
    """The two rows that are farthest apart in step h.

    With equal targets the squared distance is a ||phi - phi'||^2 + b ||phi phi^T - phi' phi'^T||^2; two pairs of
    rows say what a and b are.
    """
    inner = rows @ rows.T
    length = np.diag(inner)
    apart = length[:, None] + length - 2 * inner
    grams = length[:, None] ** 2 + length**2 - 2 * inner**2
    probes = [(0, len(rows) // 2), (0, len(rows) // 5)]
    known = [_squared_distance(target, user, [h], [probe]) for probe in probes]
    a, b = np.linalg.solve([[apart[probe], grams[probe]] for probe in probes], known)
    one, other = np.unravel_index(int(np.argmax(a * apart + b * grams)), inner.shape)
    return int(one), int(other)


def _data(target: OfflineLinear) -> Trajectories:
    return constant(CountLayout(H=target.noise.H, S=1, A=target.features.shape[1]), USERS, reward=1.0)


def _squared_distance(target: OfflineLinear, user: int, steps: Sequence[int], pairs: list[tuple[int, int]]) -> float:
    """mu^2 of the release when `user` takes the second action of each pair instead of the first, in `steps`."""
    data = _data(target)
    first, second = data.actions.copy(), data.actions.copy()
    for h, (one, other) in zip(steps, pairs, strict=True):
        first[user, h], second[user, h] = one, other
    return 2 * ratio_at_the_truth(target, Pair(replace(data, actions=first), replace(data, actions=second)))
