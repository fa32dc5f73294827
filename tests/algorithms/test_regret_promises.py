"""Regret and PAC bounds of PUCB: what they compute, where they bite, and what breaks them."""

import math

import numpy as np
import pytest

from algorithms.core.environments import random_environment
from algorithms.core.online import regret_per_episode
from algorithms.pucb.lower_bounds import ExploreThenCommit, HardInstance, pac_lower, pulls_needed, pulls_promise
from algorithms.pucb.regret_promises import gaps_played, largest_gap, pucb_regret, pucb_suboptimal
from algorithms.tabular import all_policies
from audits.audit_pucb_guarantees import ALPHA, hard, learner, public
from dpverify.base.seeding import Stage, stream
from dpverify.promises import check_promise, INCONCLUSIVE


def test_gaps_by_table_are_those_by_evaluation():
    model = random_environment(0, 2, 3, 2).model
    shape, actions = (model.horizon, model.states), model.actions
    policies = stream(1, Stage.EXPERIMENT).integers(actions, size=(7, 5, *shape))
    np.testing.assert_allclose(gaps_played(policies, model), regret_per_episode(policies.astype(np.int8), model))
    table = all_policies(*shape, actions)
    every = regret_per_episode(table.astype(np.int8), model)
    assert largest_gap(model) == pytest.approx(every.max())
    assert gaps_played(table, model).min() == 0


def test_bounds_by_hand():
    """H = S = 1, A = 2, written out."""
    playing = learner(4_500, 2_000.0)
    T, E, log = 4_500, playing.error, math.log(4 * 4_500 / 0.1)
    by_hand = math.sqrt(T * math.log(T / 0.1) / 2) + 6 * E + 2 * math.sqrt(2 * log * T * 2 * (math.log(T) + 1))
    assert pucb_regret(playing) == pytest.approx(by_hand + 20 * E * (math.log(T) + 1))
    privately = 480 * E / ALPHA + 240 / (ALPHA * 2_000)
    assert pucb_suboptimal(playing, ALPHA, 2_000.0) == pytest.approx((privately + 36 / ALPHA**2) * log)


def test_lower_bound_by_hand():
    """Figure 2 with n = 2 and A = 3; Lemma 8 at its constants, Theorem 5 at those of Lemma 10 with alpha = H gap/14."""
    np.testing.assert_allclose(hard.chances, [[0.7, 0.9, 0.5], [0.7, 0.5, 0.9]])
    assert pulls_needed(np.array(0.4), 0.01, 0.05) == pytest.approx(4 * math.log(0.9 / 0.1) / (24 * 0.01 * 0.4))
    horizon, alpha = 7, 7 * 0.4 / 14
    by_hand = horizon * 2 * 2 / (336 * 0.01 * alpha) * math.log(7 / (4 + 24 * 0.05))
    assert pac_lower(2, 3, 0.4, 0.01, 0.05) == pytest.approx(by_hand)


def test_every_user_pulls_one_arm():
    learner = ExploreThenCommit(users=500, each=60, eps=1.0)
    pulls, last = learner(HardInstance((1, 2), 3, 0.4), rng=stream(2, Stage.EXPERIMENT), size=50)
    assert (pulls.sum(axis=(1, 2)) == 500).all()
    assert pulls.shape == (50, 2, 3)
    assert last.shape == (50, 2)
    few, _ = ExploreThenCommit(users=4, each=60, eps=1.0)(
        HardInstance((1,), 3, 0.4), rng=stream(3, Stage.EXPERIMENT), size=1
    )
    assert few.tolist() == [[[2, 1, 1]]]


def test_less_than_one_pull_is_no_evidence():
    given = pulls_promise(hard, public, eps=10.0, beta=0.05, name="p", trials=100)
    assert check_promise(given, seed=1).verdict == INCONCLUSIVE
