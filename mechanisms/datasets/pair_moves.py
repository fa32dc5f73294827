"""Where a search for the worst pair of trajectory datasets starts, and how it goes on.

    found = worst_pair(privatizer, claim=privatizer.claim, pairs=coarse_pairs(layout, users), move=trajectory_move)

`trajectory_pairs.worst_replacement` is written down by somebody who knows that cells add up. The search does not
know: it starts from a single changed entry and keeps what shows more. It promises nothing by itself: values are
noisy and the steps few, so run it with several seeds. Where noise is weak it often stops early, probably because the
coarse pair's value is near the most that so few trials can show. The tests say where it arrives.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dpverify.base.errors import ParameterError
from dpverify.claims.neighbours import Pair, Relation
from mechanisms.datasets.pairs import constant
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.datasets.visit_counts import CountLayout

COLUMNS = ("states", "actions", "rewards", "opponent_actions", "final_states")


def coarse_pairs(
    layout: CountLayout, users: int, *, user: int = 0, fixed_start: bool = False, fixed_action: bool = False
) -> Iterator[Pair]:
    """Pairs that differ in one entry of one user's trajectory, everything else being constant.

    For each step an action (of either player), for layouts with rewards a reward, and a state, the one after the
    last step included. An action or a reward changes one step, a state the step that it ends and the one that it
    begins. With `fixed_start` the first state stays, with `fixed_action` the first actions do. Nothing is yielded
    for what has one value only. Raises ParameterError for a user who is not there.
    """
    data = constant(layout, users)
    if not 0 <= user < users:
        raise ParameterError("user", user, f"in 0..{users - 1}")
    for step in range(layout.H):
        free = not (fixed_action and step == 0)
        places = [
            ("actions", layout.A > 1 and free),
            ("opponent_actions", (layout.B or 1) > 1 and free),
            ("rewards", layout.rewards),
            ("states", layout.S > 1 and not (fixed_start and step == 0)),
        ]
        for column, varies in places:
            if varies:
                yield _one_changed(data, column, (user, step), f"user {user}, {column} of step {step}")
    if layout.S > 1:
        yield _one_changed(data, "final_states", (user,), f"user {user}, final state")


def trajectory_move(
    pair: Pair, rng: np.random.Generator, *, fixed_start: bool = False, fixed_action: bool = False
) -> Pair:
    """The pair with one step of the replaced user's trajectory set anew in one of the two datasets.

    Step and dataset are uniform; (state, actions, reward, next state) of the step is uniform over all values but
    the present one, a reward r becoming 1 - r or staying. With `fixed_start` the first state stays as it is, with
    `fixed_action` the first actions do. The next state is the state of the following step. All other users and
    the given pair are left alone, so neighbours stay neighbours. Where the datasets are equal any user may move;
    an absent user stays absent. Raises ParameterError for datasets of unequal length or without anybody present.
    """
    user = _replaced_user(pair, rng)
    present = [arm for arm in (0, 1) if not pair[arm].absent[user]]
    arm = present[int(rng.integers(len(present)))]
    both = [pair.first, pair.second]
    both[arm] = _step_anew(both[arm], user, rng, fixed_start=fixed_start, fixed_action=fixed_action)
    return Pair(both[0], both[1], pair.relation, name=f"{pair.name.split(' moved')[0]} moved")


def _step_anew(
    data: Trajectories, user: int, rng: np.random.Generator, *, fixed_start: bool, fixed_action: bool
) -> Trajectories:
    step = int(rng.integers(data.H))
    columns = _columns(data)
    first, last = step == 0, step == data.H - 1
    choosing = not (first and fixed_action)
    # what may move in this step: column, index, number of values
    places: list[tuple[str, tuple[int, ...], int]] = [("rewards", (user, step), 2)]
    if not (first and fixed_start):
        places.append(("states", (user, step), data.S))
    if choosing:
        places.append(("actions", (user, step), data.A))
    if choosing and data.B is not None:
        places.append(("opponent_actions", (user, step), data.B))
    if not last:
        places.append(("states", (user, step + 1), data.S))
    elif data.final_states is not None:
        places.append(("final_states", (user,), data.S))
    sizes = tuple(size for _, _, size in places)
    shift = np.unravel_index(int(rng.integers(1, np.prod(sizes))), sizes)  # 0 would be the present value
    for (column, index, size), by in zip(places, shift, strict=True):
        old = columns[column][index]
        columns[column][index] = (1 - old if by else old) if column == "rewards" else (old + by) % size
    return replace(data, **columns)


def _replaced_user(pair: Pair, rng: np.random.Generator) -> int:
    first, second = pair
    if len(first) != len(second):
        raise ParameterError("pair", pair.name, "two datasets of one length; absent users keep their place")
    mine, theirs = _columns(first), _columns(second)
    differs = first.absent != second.absent
    for column in mine.keys() & theirs.keys():
        apart = mine[column] != theirs[column]
        differs = differs | apart.reshape(len(first), -1).any(axis=1)
    users = np.flatnonzero(differs if differs.any() else ~first.absent)
    if len(users) == 0:
        raise ParameterError("pair", pair.name, "with somebody present")
    return int(users[rng.integers(len(users))])


def _one_changed(data: Trajectories, column: str, index: tuple[int, ...], name: str) -> Pair:
    changed = _columns(data)[column]
    changed[index] = 1
    return Pair(data, replace(data, **{column: changed}), Relation.REPLACE_ONE, name)


def _columns(data: Trajectories) -> dict[str, Any]:
    """Writable copies of what is given."""
    return {name: getattr(data, name).copy() for name in COLUMNS if getattr(data, name) is not None}
