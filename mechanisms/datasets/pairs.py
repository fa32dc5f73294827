"""Datasets of trajectories and their neighbours.

All builders return what the relation allows and nothing else; `Claim.check` compares the datasets again.
"""

from dataclasses import replace

import numpy as np

from dpverify.claims import Pair, Relation
from dpverify.errors import ParameterError
from mechanisms.datasets.trajectories import ABSENT, Trajectories
from mechanisms.datasets.visit_counts import CountLayout


def constant(layout: CountLayout, users: int, *, reward: float = 0.0) -> Trajectories:
    """`users` times the same trajectory: state 0, action 0 (and 0) in every step."""
    zeros = np.zeros((users, layout.H), dtype=np.int64)
    return Trajectories(
        states=zeros,
        actions=zeros,
        S=layout.S,
        A=layout.A,
        rewards=np.full((users, layout.H), reward),
        opponent_actions=None if layout.B is None else zeros,
        B=layout.B,
        final_states=zeros[:, 0],
    )


def uniform(
    layout: CountLayout, users: int, *, rng: np.random.Generator, fixed_start: bool = False, binary_rewards: bool = True
) -> Trajectories:
    """Independent uniform states, actions and rewards; with `fixed_start` everybody begins in state 0."""
    shape = (users, layout.H)
    states = rng.integers(layout.S, size=(users, layout.H + 1))
    if fixed_start:
        states[:, 0] = 0
    return Trajectories(
        states=states[:, :-1],
        actions=rng.integers(layout.A, size=shape),
        S=layout.S,
        A=layout.A,
        rewards=rng.integers(2, size=shape).astype(float) if binary_rewards else rng.random(shape),
        opponent_actions=None if layout.B is None else rng.integers(layout.B, size=shape),
        B=layout.B,
        final_states=states[:, -1],
    )


def worst_replacement(data: Trajectories, user: int, *, fixed_start: bool = False, name: str = "") -> Pair:
    """`data` against `data` with the user's trajectory replaced by one that differs wherever it can.

    Every state, action and final state moves to the next value (cyclically), every reward r to 1 - r; with
    `fixed_start` the first state stays. In each step this changes two visit cells where S > 1 or A B > 1.
    """
    _check_user(data, user)
    states, actions = data.states.copy(), data.actions.copy()
    keep = 1 if fixed_start else 0
    states[user, keep:] = (states[user, keep:] + 1) % data.S
    actions[user] = (actions[user] + 1) % data.A
    assert data.rewards is not None
    rewards = data.rewards.copy()
    rewards[user] = 1 - rewards[user]
    opponents, finals = data.opponent_actions, data.final_states
    if opponents is not None and data.B is not None:
        opponents = opponents.copy()
        opponents[user] = (opponents[user] + 1) % data.B
    if finals is not None:
        finals = finals.copy()
        finals[user] = (finals[user] + 1) % data.S
    other = replace(
        data, states=states, actions=actions, rewards=rewards, opponent_actions=opponents, final_states=finals
    )
    return Pair(data, other, Relation.REPLACE_ONE, name or f"user {user} replaced in every step")


def random_replacement(data: Trajectories, user: int, *, rng: np.random.Generator, fixed_start: bool = False) -> Pair:
    """`data` against `data` with the user's trajectory replaced by a uniform one."""
    _check_user(data, user)
    drawn = uniform(data.layout, 1, rng=rng, fixed_start=fixed_start)
    if fixed_start:
        drawn_states = drawn.states.copy()
        drawn_states[0, 0] = data.states[user, 0]
        drawn = replace(drawn, states=drawn_states)

    def put(column: str) -> np.ndarray | None:
        old = getattr(data, column)
        if old is None:
            return None
        new: np.ndarray = old.copy()
        new[user] = getattr(drawn, column)[0]
        return new

    columns = {name: put(name) for name in ("states", "actions", "rewards", "opponent_actions", "final_states")}
    other = replace(data, **columns)  # type: ignore[arg-type]
    return Pair(data, other, Relation.REPLACE_ONE, f"user {user} replaced at random")


def absence(data: Trajectories, user: int, *, name: str = "") -> Pair:
    """`data` against `data` in which the user is absent and everybody else keeps her place."""
    _check_user(data, user)
    states = data.states.copy()
    states[user] = ABSENT
    return Pair(data, replace(data, states=states), Relation.ADD_OR_REMOVE_ONE, name or f"user {user} absent")


def _check_user(data: Trajectories, user: int) -> None:
    if not 0 <= user < len(data):
        raise ParameterError("user", user, f"in 0..{len(data) - 1}")
