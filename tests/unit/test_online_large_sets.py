"""The approximate policy set: its policies are in the set, its gap is a bound, and SDP-PE runs on it."""

import cvxpy as cp
import numpy as np
import pytest

from algorithms.batches import ExactBatches
from algorithms.counting import layout_of
from algorithms.environments import random_environment, river_swim
from algorithms.online import regret_per_episode
from algorithms.policy_sets import ExplicitSet
from algorithms.policy_sets_large import LagrangianSet
from algorithms.sdp_pe import SDPPE
from algorithms.tabular import all_policies, expected_return
from algorithms.users import TapeUsers
from dpverify.base.seeding import Stage, stream

H, S, A = 3, 2, 2
START = np.array([0.4, 0.6])


def model(seed):
    env = random_environment(seed, S, A, H)
    return env.model.transitions, env.model.rewards


def by_linear_programme(law, price, rewards, threshold):
    """max price.w over occupancy measures w with rewards.w >= threshold, by cvxpy."""
    w = [cp.Variable((S, A), nonneg=True) for _ in range(H)]
    constraints = [cp.sum(w[0], axis=1) == START]
    for h in range(H - 1):
        flow = sum(w[h][s, a] * law[h, s, a] for s in range(S) for a in range(A))
        constraints.append(cp.sum(w[h + 1], axis=1) == flow)
    constraints.append(sum(cp.sum(cp.multiply(rewards[h], w[h])) for h in range(H)) >= threshold)
    problem = cp.Problem(cp.Maximize(sum(cp.sum(cp.multiply(price[h], w[h])) for h in range(H))), constraints)
    return float(problem.solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("seed", range(6))
def test_the_policy_is_in_the_set_and_the_gap_bounds_the_linear_programme(seed):
    law, rewards = model(seed)
    gap = 0.3
    large = LagrangianSet(H, A, START).keep(law, rewards, gap)
    exact = ExplicitSet.full(all_policies(H, S, A), START, A).keep(law, rewards, gap)
    price = stream(seed, Stage.EXPERIMENT, 5).random((H, S, A))
    policy, duality = large.best_with_gap(law, price)
    assert any((policy == each).all() for each in exact.policies[exact.alive])
    reached = float(expected_return(policy, law, price, START))
    best = float(expected_return(exact.best(law, price), law, price, START))
    programme = by_linear_programme(law, price, rewards, large.threshold)
    assert reached <= best + 1e-9
    assert best <= programme + 1e-6 <= reached + duality + 1e-5
    assert duality >= -1e-9


def test_visitors_and_draws_are_in_the_set():
    law, rewards = model(1)
    large = LagrangianSet(H, A, START).keep(law, rewards, 0.1)
    rng = stream(0, Stage.EXPERIMENT)
    policies = [*large.visitors(law, 2, rng=rng), *(large.draw(rng) for _ in range(10))]
    values = expected_return(np.stack(policies), law, rewards, START)
    assert np.all(values > large.threshold)


def test_elimination_learns_an_instance_too_large_to_list():
    """River of 5 states, 8 steps: 2^40 policies; C tuned to 0.0025. Regret an episode falls to below 60 %."""
    env, episodes = river_swim(5, 8), 40_000
    learner = SDPPE(layout=layout_of(env.model), episodes=episodes, threshold_scale=0.0025, tolerance=0.5)
    users = TapeUsers(env, env.tapes(2, 1, episodes)[0])
    everything = LagrangianSet(8, 2, env.model.initial)
    done = learner.run(users, ExactBatches(), everything, env.model.initial, rng=stream(2, Stage.EXPERIMENT))
    regret = regret_per_episode(done.policies, env.model)
    assert regret[-4000:].mean() < 0.6 * regret[:4000].mean()
