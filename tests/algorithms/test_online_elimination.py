"""SDP-PE and its parts: exact policy sets, the optimal design, the schedule, and what elimination promises."""

import math

import cvxpy as cp
import numpy as np
import pytest

from algorithms.core.counting import layout_of
from algorithms.core.environments import random_environment, river_swim
from algorithms.core.users import TapeUsers, Tree, TreeUsers
from algorithms.sdp_pe.batches import ExactBatches, ShuffledBatches
from algorithms.sdp_pe.design import coverage_design
from algorithms.sdp_pe.elimination import SDPPE
from algorithms.sdp_pe.policy_sets import ExplicitSet, FactoredSet, indicator_rewards
from algorithms.sdp_pe.schedule import stages
from algorithms.tabular import all_policies, expected_return, occupancy
from dpverify.base.seeding import Stage, stream

H, S, A = 3, 2, 2


def rng(*key):
    return stream(3, Stage.EXPERIMENT, *key)


def sets(first=(0.4, 0.6)):
    start = np.array(first)
    explicit = ExplicitSet.full(all_policies(H, S, A), start, A)
    return explicit, FactoredSet(H, A, start), start


def model(seed):
    env = random_environment(seed, S, A, H)
    return env.model.transitions, env.model.rewards


# Policy sets


@pytest.mark.parametrize("first", [(0.4, 0.6), (0.0, 1.0)])
def test_the_factored_set_holds_every_policy_with_its_value(first):
    _, factored, start = sets(first)
    law, rewards = model(0)
    policies = factored.decode(np.arange(factored.total))
    np.testing.assert_allclose(factored.values(law, rewards), expected_return(policies, law, rewards, start))
    distinct = len(np.unique(policies.reshape(len(policies), -1), axis=0))
    assert distinct == factored.total == (A ** (H * S) if 0 not in first else A ** (H * S - 1))
    assert FactoredSet(6, 2, np.eye(4)[0]).total == 2 * 16**5


@pytest.mark.parametrize("first", [(0.4, 0.6), (0.0, 1.0)])
def test_factored_and_explicit_sets_agree_through_eliminations(first):
    """Same values of best policies and visitors, same number of different policies, after each of 3 stages."""
    explicit, factored, start = sets(first)
    twins = A if 0 in first else 1  # policies that differ in an impossible first state only
    for seed in range(3):
        law, rewards = model(seed)
        for h in range(H):
            wanted = indicator_rewards(H, S, A, h)
            found = [
                expected_return(each.visitors(law, h, rng=rng()), law, wanted, start) for each in (explicit, factored)
            ]
            np.testing.assert_allclose(*found)
        price = stream(seed, Stage.EXPERIMENT, 9).random((H, S, A))
        for reward in (rewards, price):
            one, two = (
                float(expected_return(each.best(law, reward), law, reward, start)) for each in (explicit, factored)
            )
            assert one == pytest.approx(two)
        gap = 0.5 * float(np.ptp(explicit._values(law, rewards)[explicit.alive]))
        explicit, factored = explicit.keep(law, rewards, gap), factored.keep(law, rewards, gap)
        assert int(explicit.size) == twins * int(factored.size) > 0
        assert factored.alive is not None
    assert int(factored.size) < factored.total


def test_the_best_policy_always_stays():
    explicit, factored, _ = sets()
    law, rewards = model(1)
    for each in (explicit, factored):
        assert int(each.keep(law, rewards, 1e-12).size) >= 1


# Optimal design


def minimax_by_cvxpy(reach):
    """min over mixtures of max_mu sum_j w_mu(j)/w_pi(j), the printed programme (4), by cvxpy."""
    weights = cp.Variable(len(reach), nonneg=True)
    seen = reach[:, reach.max(axis=0) > 0]
    coverage = cp.multiply(seen, cp.vstack([cp.inv_pos(weights @ seen)] * len(seen)))
    problem = cp.Problem(cp.Minimize(cp.max(cp.sum(coverage, axis=1))), [cp.sum(weights) == 1])
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)


@pytest.mark.parametrize("seed", range(2))
def test_the_design_solves_the_papers_programme_whose_value_is_the_number_of_reachable_cells(seed):
    explicit, _, start = sets()
    law, rewards = model(seed)
    phi = explicit.keep(law, rewards, 0.4)
    crude = np.concatenate([phi.visitors(law, h, rng=rng()) for h in range(H)])
    design = coverage_design(phi.best, crude, law, start, tolerance=0.01, steps=3000)
    left = phi.policies[phi.alive]
    reach = occupancy(left, law, start).reshape(len(left), -1)
    mixture = (design.weights[:, None] * occupancy(design.policies, law, start).reshape(len(design.policies), -1)).sum(
        0
    )
    assert design.weights.sum() == pytest.approx(1)
    ratio = np.divide(reach, mixture, out=np.zeros_like(reach), where=mixture > 0)
    worst = ratio.sum(axis=1).max()
    assert design.reachable == (reach.max(axis=0) > 0).sum()
    assert worst == pytest.approx(float(design.reachable + design.excess), abs=1e-6)
    assert design.excess <= 0.01 * design.reachable
    assert minimax_by_cvxpy(reach) == pytest.approx(float(design.reachable), rel=1e-3)


# Schedule


@pytest.mark.parametrize("shares", [2, 3])
@pytest.mark.parametrize("episodes", [1, 2, 3, 5, 6, 7, 17, 18, 19, 100, 12281, 12282, 12283, 20000])
def test_stages_use_all_users_but_a_rest_below_one_share(episodes, shares):
    plan = stages(episodes, 6, shares=shares)
    used = sum(sum(stage.layers) + sum(stage.fine) for stage in plan)
    assert 0 <= episodes - used < shares
    assert [stage.length for stage in plan[:-1]] == [2**b for b in range(1, len(plan))]
    assert all(sum(stage.layers) == stage.length and len(stage.layers) == 6 for stage in plan)
    assert all(0 < stage.length <= 2**stage.number for stage in plan)
    assert [stage.first for stage in plan] == [0, *(stage.end for stage in plan[:-1])][: len(plan)]


# The algorithm

ENV = river_swim(3, 3)
LAYOUT = layout_of(ENV.model)
K = 1500


def run(batches, key=0, episodes=K, **settings):
    learner = SDPPE(layout=LAYOUT, episodes=episodes, **{"threshold_scale": 0.01, "tolerance": 0.5, **settings})
    users = TapeUsers(ENV, ENV.tapes(4, 1, episodes)[0])
    phi = FactoredSet(3, 2, ENV.model.initial)
    return learner, learner.run(users, batches, phi, ENV.model.initial, rng=rng(key))


@pytest.mark.parametrize("version", ["journal", "conference"])
def test_at_eps_infinity_shuffled_elimination_is_plain_elimination_action_for_action(version):
    scale = {"journal": 0.01, "conference": 0.002}[version]
    plain = run(ExactBatches(), version=version, threshold_scale=scale)[1]
    silent_batches = ShuffledBatches(layout=LAYOUT, eps=math.inf, beta=1e-3)
    silent = run(silent_batches, version=version, threshold_scale=scale)[1]
    np.testing.assert_array_equal(plain.policies, silent.policies)
    assert plain.reports == silent.reports
    assert plain.reports[-1].policies_after < plain.reports[0].policies_before  # something was eliminated


def test_forgetting_the_future_does_not_change_the_past():
    """Another last user leaves all policies before her batch's end as they are."""
    trees = tuple(Tree.of_tape(ENV, tape) for tape in ENV.tapes(8, 1, 60)[0])
    other = (*trees[:40], Tree.steady((2, 2, 2, 2), (1, 1, 1), 2), *trees[41:])
    learner = SDPPE(layout=LAYOUT, episodes=60, threshold_scale=0.001)
    phi = FactoredSet(3, 2, ENV.model.initial)
    one, two = (
        learner.run(TreeUsers(each), ExactBatches(), phi, ENV.model.initial, rng=rng()).policies
        for each in (trees, other)
    )
    np.testing.assert_array_equal(one[:41], two[:41])
