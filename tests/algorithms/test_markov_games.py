"""Markov games: best responses and Nash values against enumeration and known values; the examples."""

from itertools import product

import numpy as np
import pytest

from algorithms.nash_vi.markov_games import MarkovGame, matrix_game, pursuit, random_game
from algorithms.tabular import evaluate
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError

GAME = random_game(3, 2, 2, 2, 2)


def law(*shape, key=0):
    return stream(5, Stage.EXPERIMENT, key).dirichlet(np.ones(shape[-1]), size=shape[:-1])


def joint_value(game, first, second):
    """V_1(s_1) of the pair by evaluating the product policy on joint actions."""
    model = game.environment.model
    together = (first[..., :, None] * second[..., None, :]).reshape(*first.shape[:-1], -1)
    return evaluate(together, model.transitions, model.rewards)[0, game.start]


def pure(actions, horizon=2, states=2):
    """All deterministic Markov policies as probabilities."""
    for numbers in product(range(actions), repeat=horizon * states):
        yield np.eye(actions)[np.reshape(numbers, (horizon, states))]


def test_best_responses_beat_every_pure_policy():
    first, second = law(2, 2, 2, key=1), law(2, 2, 2, key=2)
    best = max(joint_value(GAME, own, second) for own in pure(2))
    worst = min(joint_value(GAME, first, other) for other in pure(2))
    assert np.isclose(GAME.max_response(second)[0, 0], best, rtol=0, atol=1e-12)
    assert np.isclose(GAME.min_response(first)[0, 0], worst, rtol=0, atol=1e-12)
    assert np.isclose(GAME.gap(first, second), best - worst, rtol=0, atol=1e-12)


@pytest.mark.parametrize("game", [GAME, random_game(4, 3, 3, 2, 3), pursuit(2, 2)], ids=lambda game: game.name)
def test_nash_policies_have_no_gap(game):
    plan = game.nash()
    assert abs(game.gap(plan.first, plan.second)) <= 1e-8
    assert np.allclose(game.max_response(plan.second), plan.values, atol=1e-8)
    assert np.allclose(game.min_response(plan.first), plan.values, atol=1e-8)


def test_gap_is_positive_off_equilibrium_and_broadcasts():
    first, second = law(7, 2, 2, 2, key=3), law(7, 2, 2, 2, key=4)
    gaps = GAME.gap(first, second, block=3)
    assert gaps.shape == (7,)
    assert (gaps > 0).all()
    assert np.array_equal(gaps, [GAME.gap(one, two) for one, two in zip(first, second, strict=True)])


def test_impossible_games_are_refused():
    with pytest.raises(ParameterError, match="rewards"):
        matrix_game([[2.0]])
    with pytest.raises(ParameterError, match="shapes"):
        MarkovGame("bad", GAME.transitions, GAME.rewards[:1])
    with pytest.raises(ParameterError, match="start"):
        MarkovGame("bad", GAME.transitions, GAME.rewards, start=2)
