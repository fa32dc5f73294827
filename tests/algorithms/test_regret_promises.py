"""Regret and PAC bounds of PUCB: what they compute, where they bite, and what breaks them."""

import math

import numpy as np
import pytest

from algorithms.core.counting import layout_of, TreeCounts
from algorithms.core.environments import Environment, random_environment
from algorithms.core.online import regret_per_episode
from algorithms.pucb.learner import corrected_counters, printed_error, PUCB
from algorithms.pucb.lower_bounds import (
    ExploreThenCommit,
    HardInstance,
    InOrder,
    pac_lower,
    pulls_needed,
    pulls_promise,
)
from algorithms.pucb.regret_promises import (
    gaps_played,
    online_play,
    pucb_regret,
    pucb_suboptimal,
    regret_promise,
    uniform_gap,
)
from algorithms.tabular import all_policies
from audits.audit_pucb_guarantees import ALPHA, hard, learner, near, public, regret
from audits.planted.online import Guesses, Mirrored, Myopic
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError
from dpverify.promises import BROKEN, check_promise, INCONCLUSIVE, KEPT


def test_gaps_by_table_are_those_by_evaluation():
    model = random_environment(0, 2, 3, 2).model
    shape, actions = (model.horizon, model.states), model.actions
    policies = stream(1, Stage.EXPERIMENT).integers(actions, size=(7, 5, *shape))
    np.testing.assert_allclose(gaps_played(policies, model), regret_per_episode(policies.astype(np.int8), model))
    table = all_policies(*shape, actions)
    every = regret_per_episode(table.astype(np.int8), model)
    assert uniform_gap(model) == pytest.approx(every.mean())  # for this model: every cell's action is an even coin
    assert gaps_played(table, model).min() == 0


def test_bounds_by_hand():
    """H = S = 1, A = 2, written out."""
    playing = learner(4_500, 2_000.0)
    T, E, log = 4_500, playing.error, math.log(4 * 4_500 / 0.1)
    by_hand = math.sqrt(T * math.log(T / 0.1) / 2) + 6 * E + 2 * math.sqrt(2 * log * T * 2 * (math.log(T) + 1))
    assert pucb_regret(playing) == pytest.approx(by_hand + 20 * E * (math.log(T) + 1))
    rare = 24 * (math.log(8 / 0.1) + 2 * E) / ALPHA
    assert pucb_suboptimal(playing, ALPHA) == pytest.approx((960 * E / ALPHA + 36 / ALPHA**2) * log + rare)


def test_lower_bound_by_hand():
    """Figure 2 with n = 2 and A = 3; Lemma 8 at its constants, Theorem 5 at those of Lemma 10 with alpha = H gap/14."""
    np.testing.assert_allclose(hard.chances, [[0.7, 0.5, 0.5], [0.7, 0.5, 0.5]])
    np.testing.assert_allclose(HardInstance((1, 2), 3, 0.4).chances, [[0.7, 0.9, 0.5], [0.7, 0.5, 0.9]])
    assert [each.best for each in near] == [(0, 0), (1, 0), (2, 0), (0, 1), (0, 2)]
    for each in near[1:]:  # Lemma 7 is for a change of one arm, by gap
        moved = np.abs(each.chances - hard.chances)
        assert moved.max() == pytest.approx(0.4)
        assert np.count_nonzero(moved) == 1
    assert pulls_needed(0.4, 0.01, 0.05) == pytest.approx(4 * math.log(0.9 / 0.1) / (24 * 0.01 * 0.4))
    horizon, alpha = 7, 7 * 0.4 / 14
    by_hand = horizon * 2 * 2 / (336 * 0.01 * alpha) * math.log(7 / (4 + 24 * 0.05))
    assert pac_lower(2, 3, 0.4, 0.01, 0.05) == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("best", "gap"), [((3,), 0.4), ((-1,), 0.4), ((), 0.4), ((0,), 0.5), ((0,), 0.0), ((0,), math.nan)]
)
def test_what_is_no_instance_of_figure_2_is_refused(best, gap):
    with pytest.raises(ParameterError):
        HardInstance(best, 3, gap)


@pytest.mark.parametrize("beta", [0.0, 0.25, 0.5, math.nan])
def test_a_learner_that_is_hardly_right_is_promised_nothing(beta):
    with pytest.raises(ParameterError, match="beta"):
        pulls_needed(0.4, 0.01, beta)


@pytest.mark.parametrize("kind", [ExploreThenCommit, InOrder])
def test_every_user_pulls_one_arm(kind):
    learner = kind(users=500, each=60, eps=1.0)
    pulls, last = learner(HardInstance((1, 2), 3, 0.4), rng=stream(2, Stage.EXPERIMENT), size=50)
    assert (pulls.sum(axis=(1, 2)) == 500).all()
    assert (pulls >= 0).all()
    assert pulls.shape == (50, 2, 3)
    assert last.shape == (50, 2)


def test_few_users_explore_in_turn():
    few, _ = ExploreThenCommit(users=4, each=60, eps=1.0)(
        HardInstance((1,), 3, 0.4), rng=stream(3, Stage.EXPERIMENT), size=1
    )
    assert few.tolist() == [[[2, 1, 1]]]


def test_less_than_one_pull_is_no_evidence():
    given = pulls_promise(hard, public, start=0, arm=1, distance=0.4, eps=10.0, beta=0.05, name="p", trials=100)
    assert check_promise(given, seed=1).verdict == INCONCLUSIVE


def test_the_best_arm_has_no_lower_bound():
    with pytest.raises(ParameterError, match="not the best"):
        pulls_promise(hard, public, start=0, arm=0, distance=0.4, eps=1.0, beta=0.05, name="p")


def test_bounds_above_what_uniform_actions_lose_are_not_active():
    """T = 12,000: the bound of Theorem 4 is below what the worse arm loses, and above what a coin does."""
    playing = learner(12_000, 20_000.0)
    assert 0.4 * 12_000 < pucb_regret(playing) < 0.8 * 12_000
    check = check_promise(regret("short", Guesses, users=12_000, trials=2), seed=1)
    assert check.verdict == INCONCLUSIVE


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "verdict", "trials"), [(PUCB, KEPT, 30), (Myopic, BROKEN, 4), (Mirrored, BROKEN, 4)])
def test_theorem_4_with_two_steps_and_states(kind, verdict, trials):
    """Level and power: Clopper-Pearson at 1 - .05; a failure probability of .1 is cleared by 30 runs without one."""
    onward = np.zeros((2, 2, 2, 2))
    onward[0, :, 0, 0] = onward[0, :, 1, 1] = onward[1, :, :, 0] = 1  # action 1 leads to state 1
    paid = np.array([[[0.1, 0.0], [0.0, 0.0]], [[0.05, 0.0], [0.0, 1.0]]])
    steps = Environment("two steps", onward, paid, np.array([1.0, 0.0]))
    size, users, eps = layout_of(steps.model), 150_000, 1e7
    playing = kind(layout=size, episodes=users, error=printed_error(size, users, eps, 0.1), beta=0.1)
    source = TreeCounts(size, corrected_counters(size, users - 1, eps), playing.error)
    promise = regret_promise(
        [steps.model],
        users,
        online_play([steps], playing, source),
        pucb_regret(playing),
        name="two",
        failure_probability=0.1,
        trials=trials,
    )
    check = check_promise(promise, seed=3)
    assert check.verdict == verdict
    assert check.active_share == 1
