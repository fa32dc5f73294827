"""Gymnasium's interface as users: trees, early endings, and environments that are no function of the seed."""

import itertools
from typing import Any

import numpy as np
import pytest

from algorithms.core.users import play, TreeUsers
from algorithms.gym_users import GymUsers
from dpverify.errors import ParameterError


class Walk:
    """Three states; action 1 moves on, with luck; `ends` ends the episode in state 2."""

    def __init__(self, ends: bool = False) -> None:
        self.ends = ends

    def reset(self, *, seed: int) -> tuple[int, dict[str, Any]]:
        self.rng, self.at = np.random.default_rng(seed), 0
        return self.at, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.at = min(self.at + int(action == 1 and self.rng.random() < 0.7), 2)
        return self.at, float(self.at == 2), self.ends and self.at == 2, False, {}


def users(make: Any = Walk, states: int = 4) -> GymUsers:
    return GymUsers(make, seeds=range(20), horizon=3, states=states, actions=2)


def test_users_answer_as_their_trees() -> None:
    gym = users()
    trees = TreeUsers(tuple(gym.tree(t) for t in range(20)))
    policy = np.random.default_rng(1).integers(2, size=(5, 3, 4))
    for t in range(20):
        for one, other in zip(play(gym, t, policy, actions=2), play(trees, t, policy, actions=2), strict=True):
            assert np.array_equal(one, other)


def test_an_early_end_is_absorbing_and_unpaid() -> None:
    tree = next(tree for t in range(20) if (tree := users(lambda: Walk(ends=True)).tree(t)).states[2][3] == 3)
    assert tree.states[3][7] == 3
    assert tree.rewards[2][7] == 0.0


def test_what_is_no_function_of_the_seed_is_refused_by_name() -> None:
    lives = itertools.count()

    class Drifting(Walk):
        def reset(self, *, seed: int) -> tuple[int, dict[str, Any]]:
            super().reset(seed=seed)
            return next(lives) % 2, {}

    with pytest.raises(ParameterError, match="seed 7"):
        users(Drifting).start(7)
