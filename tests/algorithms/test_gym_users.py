"""Gymnasium's interface as users: trees, early endings, and environments that are no function of the seed."""

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from algorithms.bernstein_vi.learner import central
from algorithms.core.counting import layout_of
from algorithms.core.users import play, TreeUsers
from algorithms.gym_users import estimated_environment, GymUsers
from algorithms.study import Study
from dpverify.errors import ParameterError


class Walk:
    """Three states; action 1 moves on, with luck; `ends` ends the episode in state 2."""

    observation_space, action_space = SimpleNamespace(n=3), SimpleNamespace(n=2)

    def __init__(self, ends: bool = False) -> None:
        self.ends = ends

    def reset(self, *, seed: int | None = None) -> tuple[int, dict[str, Any]]:
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.at = 0
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
        def reset(self, *, seed: int | None = None) -> tuple[int, dict[str, Any]]:
            super().reset(seed=seed)
            return next(lives) % 2, {}

    with pytest.raises(ParameterError, match="seed 7"):
        users(Drifting).start(7)


def test_the_estimated_model_is_that_of_the_environment() -> None:
    """5 standard deviations of the frequencies; the same for any number of processes; regret says what it is of."""
    given: dict[str, Any] = {"name": "walk", "horizon": 4, "steps": 120_000}
    found = estimated_environment(lambda: Walk(ends=True), **given)
    law, paid = found.model.transitions[0], found.reward_means[0]
    assert law.shape == (4, 2, 4)
    assert np.abs(law[:2, 1] - [[0.3, 0.7, 0, 0], [0, 0.3, 0, 0.7]]).max() < 5 * 0.5 / np.sqrt(15_000)
    assert (law[0, 0, 0], law[1, 0, 1]) == (1, 1)
    assert (law[2:, :, 3] == 1).all()  # state 2 ends and was never left, 3 is the end
    assert (paid[1, 1, 3], paid.sum()) == (1, 1)
    assert np.array_equal(found.model.transitions, estimated_environment(Ending, jobs=2, **given).model.transitions)
    assert found.relative_to == "the best policy on a model estimated from 120000 steps (uniform actions, seed 1)"


class Ending(Walk):
    def __init__(self) -> None:
        super().__init__(ends=True)


def test_a_study_of_an_estimated_model_has_a_witness_and_a_regret() -> None:
    world = estimated_environment(Walk, name="walk", horizon=3, steps=1_000)
    privatizer = central(layout_of(world.model), 20, 1.0)
    right = SimpleNamespace(plan=lambda counts: np.ones(counts.visits.shape[:-1], dtype=int))
    study = Study(agent=right, privatizer=privatizer, users=20, eps=1.0)
    assert 1 - 1e-6 < study.witness(world, seed=1).lower <= 1.0
    assert np.allclose(study.regret(world, runs=2, seed=1), 0.0)  # always right is the best there
    assert study.regret(world, runs=2, seed=1, per_user=True).shape == (20, 2)


UNSEEDED = np.random.default_rng(1)  # goes on from one walk to the next


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"step": lambda self, action: (0, 2.0, False, False, {})}, "reward"),
        ({"step": lambda self, action: (0, float("nan"), False, False, {})}, "reward"),
        ({"step": lambda self, action: (0, 0.0, False, True, {})}, "horizon"),
        ({"step": lambda self, action: (3, 0.0, False, False, {})}, "observation"),
        ({"action_space": SimpleNamespace(shape=(2,))}, "action_space"),
        ({"action_space": SimpleNamespace(n=2, shape=(2,))}, "action_space"),
        ({"step": lambda self, action: (1.7, 0.0, False, False, {})}, "observation"),
        ({"step": lambda self, action: ("1", 0.0, False, False, {})}, "observation"),
        ({"step": lambda self, action: (0, None, False, False, {})}, "reward"),
        ({"step": lambda self, action: (0, 0.0, False, {})}, "step"),
        ({"reset": lambda self, *, seed=None: 0}, "reset"),
        ({"step": lambda self, action: (int(UNSEEDED.integers(3)), 0.0, False, False, {})}, "function of the seed"),
        ({"observation_space": SimpleNamespace(n=3, start=1)}, "observation_space"),
    ],
)
def test_what_is_no_small_table_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        estimated_environment(type("Other", (Walk,), change), name="other", horizon=3, steps=10)
