"""The tabular core against brute force and against theory."""

import itertools

import numpy as np
import pytest

from algorithms.tabular import (
    all_policies,
    backward_induction,
    evaluate,
    expected_return,
    Model,
    occupancy,
    uniform_policy,
)
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError

H, S, A = 3, 2, 2


def random_parts(seed=0, lead=(), shape=(H, S, A)):
    rng = stream(seed, Stage.EXPERIMENT)
    h, s, a = shape
    law = rng.dirichlet(np.ones(s), size=(*lead, h, s, a))
    return law, rng.random((*lead, h, s, a)), rng.dirichlet(np.ones(s), size=lead)


def by_paths(chances, law, rewards, initial):
    """Expected return and occupancy by summing over all trajectories: no recursion to share a mistake with."""
    horizon, states, actions = rewards.shape
    total, visits = 0.0, np.zeros_like(rewards)
    for path in itertools.product(itertools.product(range(states), range(actions)), repeat=horizon):
        chance = initial[path[0][0]]
        for h, (s, a) in enumerate(path):
            chance *= chances[h, s, a]
            if h + 1 < horizon:
                chance *= law[h, s, a, path[h + 1][0]]
        total += chance * sum(rewards[h, s, a] for h, (s, a) in enumerate(path))
        for h, (s, a) in enumerate(path):
            visits[h, s, a] += chance
    return total, visits


@pytest.mark.parametrize("seed", range(3))
def test_evaluation_and_occupancy_equal_the_sum_over_all_paths(seed):
    law, rewards, initial = random_parts(seed)
    chances = stream(seed, Stage.EXPERIMENT, 1).dirichlet(np.ones(A), size=(H, S))
    total, visits = by_paths(chances, law, rewards, initial)
    assert expected_return(chances, law, rewards, initial) == pytest.approx(total, abs=1e-12)
    np.testing.assert_allclose(occupancy(chances, law, initial), visits, atol=1e-12)
    np.testing.assert_allclose(visits.sum(axis=(1, 2)), 1)
    assert (visits * rewards).sum() == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_backward_induction_finds_the_best_of_all_policies(seed):
    law, rewards, _ = random_parts(seed)
    policies = all_policies(H, S, A)
    assert len(np.unique(policies, axis=0)) == A ** (H * S)
    values = evaluate(policies, law, rewards)
    plan = backward_induction(law, rewards)
    np.testing.assert_allclose(plan.values, values.max(axis=0), atol=1e-12)  # one policy is best in every state
    np.testing.assert_allclose(evaluate(plan.policy, law, rewards), plan.values, atol=1e-12)


def test_leading_axes_broadcast_to_the_same_numbers_as_a_loop():
    law, rewards, initial = random_parts(5, lead=(4, 3))
    plan = backward_induction(law, rewards)
    chances = stream(6, Stage.EXPERIMENT).dirichlet(np.ones(A), size=(3, H, S))
    visits, values = occupancy(chances, law, initial), evaluate(chances, law, rewards)
    for i, j in itertools.product(range(4), range(3)):
        alone = backward_induction(law[i, j], rewards[i, j])
        np.testing.assert_array_equal(plan.policy[i, j], alone.policy)
        np.testing.assert_allclose(plan.values[i, j], alone.values)
        np.testing.assert_allclose(visits[i, j], occupancy(chances[j], law[i, j], initial[i, j]))
        np.testing.assert_allclose(values[i, j], evaluate(chances[j], law[i, j], rewards[i, j]))


def test_backup_is_monotone_and_no_expansion():
    """V <= W implies TV <= TW, and |TV - TW| <= |V - W| in the maximum norm (finite horizon: factor 1)."""
    law, rewards, _ = random_parts(7, shape=(1, 5, 3))
    rng = stream(8, Stage.EXPERIMENT)
    for _ in range(20):
        low = rng.normal(size=5)
        high = low + rng.random(5)
        one, two = (
            backward_induction(
                np.concatenate([law, law]), np.stack([rewards[0], np.repeat(v[:, None], 3, axis=1)])
            ).values[0]
            for v in (low, high)
        )
        assert np.all(one <= two + 1e-12)
        assert np.abs(one - two).max() <= np.abs(low - high).max() + 1e-12


def test_missing_mass_is_absorbed_without_reward():
    law, rewards, initial = random_parts(10)
    visits = occupancy(uniform_policy(H, S, A), 0.5 * law, initial)
    np.testing.assert_allclose(visits.sum(axis=(1, 2)), 0.5 ** np.arange(H))
    assert (visits * rewards).sum() == pytest.approx(
        float(expected_return(uniform_policy(H, S, A), 0.5 * law, rewards, initial))
    )
    assert not Model(0.5 * law, rewards, initial).complete
    assert Model(law, rewards, initial).complete


@pytest.mark.parametrize(
    "spoil",
    [
        lambda law, r, d: (law * np.nan, r, d),
        lambda law, r, d: (-law, r, d),
        lambda law, r, d: (2 * law, r, d),
        lambda law, r, d: (law, r * np.inf, d),
        lambda law, r, d: (law, r, d * 0.9),
        lambda law, r, d: (law[..., :-1], r, d),
        lambda law, r, d: (law, r[:-1], d),
    ],
)
def test_impossible_models_are_refused(spoil):
    with np.errstate(invalid="ignore"), pytest.raises(ParameterError):
        Model(*spoil(*random_parts()))
