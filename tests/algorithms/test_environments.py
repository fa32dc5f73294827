"""Environments keep their stated laws; users answer any actions; a replaced user moves nobody else."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from algorithms.core.environments import chain, deep_sea, Environment, NUMBERED, random_environment, river_swim
from algorithms.core.users import play, Replaced, TapeUsers, Tree, TreeUsers
from algorithms.tabular import backward_induction, expected_return, occupancy, uniform_policy
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError


def test_river_swim_is_the_papers():
    env = river_swim()
    model = env.model
    assert (model.horizon, model.states, model.actions) == (6, 4, 2)
    np.testing.assert_array_equal(model.initial, [1, 0, 0, 0])
    for h in range(6):
        np.testing.assert_allclose(model.transitions[h, :, 0], [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])
        np.testing.assert_allclose(
            model.transitions[h, :, 1], [[0.4, 0.6, 0, 0], [0.05, 0.6, 0.35, 0], [0, 0.05, 0.6, 0.35], [0, 0, 0.4, 0.6]]
        )
        np.testing.assert_allclose(model.rewards[h], [[0.005, 0], [0, 0], [0, 0], [0, 1]])
    best = backward_induction(model.transitions, model.rewards)
    assert np.all(best.policy[:3, 0] == 1)  # swimming is worth it


@pytest.mark.parametrize("size", [2, 5, 10])
def test_the_treasure_of_deep_sea_is_worth_1(size):
    """All to the right; all to the left 0.01; uniform actions find the treasure once in 2^size episodes."""
    model = deep_sea(size).model
    assert (model.horizon, model.states, model.actions) == (size, size, 2)
    best = backward_induction(model.transitions, model.rewards)
    assert best.values[0, 0] == pytest.approx(1.0, rel=1e-12)
    assert [best.policy[h, h] for h in range(size)] == [1] * size
    assert backward_induction(model.transitions, np.where(model.rewards < 1, model.rewards, 0)).values[
        0, 0
    ] == pytest.approx(0.01, rel=1e-12)
    blind = expected_return(uniform_policy(size, size, 2), model.transitions, model.rewards, model.initial)
    assert blind == pytest.approx(0.005 + 0.5**size, rel=1e-12)


@pytest.mark.parametrize("states", [2, 3, 6])
def test_the_value_of_a_chain_is_a_sum_of_binomial_tails(states):
    model = chain(states).model
    assert (model.horizon, model.states, model.actions) == (2 * states, states, 2)
    tails = binom.sf(states - 2, np.arange(2 * states), 0.9)  # Pr[X >= states - 1]
    best = backward_induction(model.transitions, model.rewards)
    assert best.values[0, 0] == pytest.approx(tails.sum(), rel=1e-12)


def test_environments_of_a_number_have_its_name():
    for name, make in NUMBERED.items():
        one, again, other = make(3), make(3), make(4)
        assert (one.name, other.name) == (f"{name}:3", f"{name}:4")
        np.testing.assert_array_equal(one.model.transitions, again.model.transitions)
        assert one.model.complete
        assert not np.array_equal(one.model.rewards, other.model.rewards)
    for make in (deep_sea, chain):
        with pytest.raises(ParameterError):
            make(1)


@pytest.mark.parametrize("env", [river_swim(), random_environment(2, 3, 2, 3)], ids=lambda env: env.name)
def test_tapes_follow_the_model(env):
    """Visit frequencies of 20,000 users against the occupancy measure; exact binomial tests at 1e-5 each."""
    model, n = env.model, 20_000
    policy = uniform_policy(model.horizon, model.states, model.actions)
    users = TapeUsers(env, env.tapes(7, 1, n)[0])
    coins = stream(8, Stage.EXPERIMENT).random((n, model.horizon))
    seen = play(users, slice(None), policy, actions=model.actions, coins=coins)
    expected = occupancy(policy, model.transitions, model.initial)
    for h, s, a in itertools.product(*map(range, expected.shape)):
        hits = int(((seen.states[:, h] == s) & (seen.actions[:, h] == a)).sum())
        assert binomtest(hits, n, min(expected[h, s, a], 1.0)).pvalue > 1e-5
    total = seen.rewards.sum(axis=1)
    value = float(expected_return(policy, model.transitions, model.rewards, model.initial))
    assert abs(total.mean() - value) < 5 * total.std() / np.sqrt(n)


def test_replacing_a_user_leaves_all_others_unchanged():
    env = random_environment(1, 3, 2, 3)
    tapes = env.tapes(0, 4, 6)
    users = TapeUsers(env, tapes)
    other = Replaced(users, 2, Tree.steady((1, 1, 1, 1), (1, 1, 1), 2))
    policy = stream(3, Stage.EXPERIMENT).integers(0, 2, size=(4, 3, 3))
    for t in range(6):
        one, two = play(users, t, policy, actions=2), play(other, t, policy, actions=2)
        for a, b in zip(one, two, strict=True) if t != 2 else ():
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(play(other, 2, policy, actions=2).states, np.ones((4, 4)))
    with pytest.raises(ParameterError):
        Replaced(users, 6, other._other.trees[0])


def test_a_tree_is_everything_that_a_tape_would_answer():
    env = random_environment(4, 3, 2, 3)
    tapes = env.tapes(9, 1, 5)[0]
    trees = tuple(Tree.of_tape(env, tape) for tape in tapes)
    rng = stream(10, Stage.EXPERIMENT)
    for _ in range(20):
        policy = rng.integers(0, 2, size=(3, 3))
        one = play(TapeUsers(env, tapes), slice(None), policy, actions=2)
        two = play(TreeUsers(trees), slice(None), policy, actions=2)
        for a, b in zip(one, two, strict=True):
            np.testing.assert_array_equal(a, b)


def test_impossible_environments_and_users_are_refused():
    law = np.ones((1, 1, 1, 1))
    for bad in (np.nan, -0.1, 1.5):
        with pytest.raises(ParameterError):
            Environment("bad", law, np.full((1, 1, 1), bad), np.ones(1))
    with pytest.raises(ParameterError):
        Environment("bad", 0.5 * law, np.ones((1, 1, 1)), np.ones(1))
    with pytest.raises(ParameterError):
        Tree(((0,),), ((1.0,),), 1)
    with pytest.raises(ParameterError):
        play(TreeUsers((Tree.steady((0, 0), (0,), 2),)), 0, uniform_policy(1, 1, 2), actions=2)
