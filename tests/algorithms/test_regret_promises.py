"""Regret and PAC bounds of PUCB: what they compute, where they bite, and what breaks them."""

import math

import numpy as np
import pytest

from algorithms.core.environments import random_environment
from algorithms.core.online import regret_per_episode
from algorithms.pucb.regret_promises import gaps_played, largest_gap, pucb_regret, pucb_suboptimal
from algorithms.tabular import all_policies
from audits.audit_pucb_guarantees import ALPHA, learner
from dpverify.base.seeding import Stage, stream


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
