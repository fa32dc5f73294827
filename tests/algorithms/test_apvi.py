"""APVI and DP-APVI: against a slow reference, without noise, and in their pessimism; data of a behaviour policy."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from algorithms.core.environments import random_environment
from algorithms.offline.apvi import APVI, DPAPVI
from algorithms.offline.data import (
    collect,
    counts_of_runs,
    sample_counts,
)
from algorithms.offline.suboptimality_promises import apvi_bound, vapvi_bound
from algorithms.offline.vapvi import VAPVI
from algorithms.tabular import evaluate, Model, uniform_policy
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts
from mechanisms.privatizers.offline_tabular import OfflineTabularGaussian, OfflineTabularLaplace

MODEL = random_environment(0, 3, 2, 3).model
LAYOUT = CountLayout(H=3, S=3, A=2)
UNIFORM = uniform_policy(3, 3, 2)


def rng(*key):
    return stream(8, Stage.EXPERIMENT, *key)


def data(users=400, key=0):
    return collect(MODEL, UNIFORM, users, rng=rng(key))


def reference(visits, onward, error, penalty, rewards=MODEL.rewards, delta=0.1):
    """Algorithm 1 cell by cell, from consistent counts."""
    H, S, A = visits.shape
    iota = math.log(H * S * A / delta)
    value, q = np.zeros(S), np.zeros((H, S, A))
    for h in reversed(range(H)):
        for s, a in np.ndindex(S, A):
            n = visits[h, s, a]
            p = [onward[h, s, a, t] / n for t in range(S)] if n > error else [1 / S] * S
            mean = sum(p[t] * value[t] for t in range(S))
            var = sum(p[t] * (value[t] - mean) ** 2 for t in range(S)) if penalty == "bernstein" else H * H
            gamma = 2 * H
            if n > error:
                gamma = math.sqrt(2) * math.sqrt(var * iota / (n - error)) + 16 * S * H * error * iota / n
            q[h, s, a] = max(0.0, min(rewards[h, s, a] + mean - gamma, H - h))
        value = q[h].max(axis=1)
    return q


@pytest.mark.parametrize("penalty", ["bernstein", "hoeffding"])
@pytest.mark.parametrize("error", [0.0, 3.0])
def test_plan_is_that_of_the_slow_reference(penalty, error):
    counts = data().counts()
    counts.visits[0, 0, 0], counts.transitions[0, 0, 0] = 0, 0  # a cell that nobody visited
    exact = PrivateCounts(counts.visits[None].astype(float), counts.transitions[None].astype(float))
    plan = APVI(layout=LAYOUT, rewards=MODEL.rewards, error=error, penalty=penalty).plan(exact)
    q = reference(counts.visits, counts.transitions, error, penalty)
    assert np.allclose(plan.q[0], q, rtol=0, atol=1e-10)
    assert np.array_equal(plan.policy[0], q.argmax(axis=-1))


@pytest.mark.parametrize("penalty", ["bernstein", "hoeffding"])
def test_infinite_budgets_are_the_non_private_learner(penalty):
    """No privatizer is rho = eps = infinity, exactly; and 1e18 already gives the same policies."""
    exact = DPAPVI(layout=LAYOUT, rewards=MODEL.rewards, penalty=penalty)
    wanted = exact.policies(data(), rng=rng(1), size=2)
    counts = data().counts()
    slow = reference(counts.visits, counts.transitions, 0.0, penalty).argmax(axis=-1)
    assert np.array_equal(wanted, [slow, slow])
    for nearly in (OfflineTabularGaussian(layout=LAYOUT, rho=1e18), OfflineTabularLaplace(layout=LAYOUT, eps=1e12)):
        private = DPAPVI(layout=LAYOUT, rewards=MODEL.rewards, privatizer=nearly, penalty=penalty)
        assert np.array_equal(private.policies(data(), rng=rng(1), size=2), wanted)


def overestimates(**options):
    """Of 200 datasets of 100 users, how many give a V above V^pi somewhere."""
    runs = counts_of_runs([data(100, key) for key in range(200)])
    plan = APVI(layout=LAYOUT, rewards=MODEL.rewards, **options).plan(PrivateCounts(runs.visits, runs.transitions))
    truth = evaluate(plan.policy, MODEL.transitions, MODEL.rewards)
    return int((plan.values > truth + 1e-12).any(axis=(1, 2)).sum())


def test_values_are_pessimistic():
    """V <= V^pi with probability 1 - delta = 0.9. At a failure rate of 0.1, 33 or more of 200 have probability
    below 1 %; 33 or fewer of the printed Bernstein penalty at E = 0 would be as rare at a rate of 0.25."""
    assert binom.sf(32, 200, 0.1) < 0.01
    assert binom.cdf(33, 200, 0.25) < 0.01
    assert overestimates(penalty="hoeffding") <= 32
    assert overestimates(c3=14 / 3) <= 32
    assert overestimates() > 33  # no lower-order term without noise: see the module


@pytest.mark.parametrize("sampled", [False, True])
def test_collected_data_follow_model_and_policy(sampled):
    """Frequencies of 20,000 users within 5 standard deviations of the exact occupancy."""
    users = 20_000
    counts = sample_counts(MODEL, UNIFORM, users, rng=rng(6))[0] if sampled else data(users).counts(rewards=True)
    assert counts.visits.sum() == 3 * users
    assert np.array_equal(counts.transitions.sum(axis=-1), counts.visits)
    assert np.array_equal(counts.visits[1:].sum(axis=-1), counts.transitions[:-1].sum(axis=(1, 2)))
    here = MODEL.initial
    for h in range(3):
        visits = here[:, None] * UNIFORM[h]
        assert (np.abs(counts.visits[h] - users * visits) <= 5 * np.sqrt(users * visits) + 1).all()
        flow = visits[..., None] * MODEL.transitions[h]
        assert (np.abs(counts.transitions[h] - users * flow) <= 5 * np.sqrt(users * flow) + 1).all()
        assert np.allclose(counts.rewards[h], counts.visits[h] * MODEL.rewards[h])
        here = flow.sum(axis=(0, 1))


def test_suboptimality_bound_by_hand():
    """One step, two arms, one state: d* is 1 at the best arm, and Var V* is 0."""
    arms = Model(np.ones((1, 1, 2, 1)), np.array([[[0.1, 0.9]]]), np.ones(1))
    users, error, iota = 10**4, 20.0, 3.0
    visits = users / 2
    spread = 9 * math.sqrt(iota / visits) + 256 / 3 * error * iota / visits + 4 * math.sqrt(error / visits)
    by_hand = 4 * math.sqrt(2 * iota / visits) * spread + 256 * error * iota / (3 * visits)
    assert apvi_bound(arms, np.full((1, 1, 2), 0.5), users, error=error, iota=iota) == pytest.approx(by_hand)
    with pytest.raises(ParameterError):  # 150 visits a cell are fewer than 8 E
        apvi_bound(arms, np.full((1, 1, 2), 0.5), 300, error=error, iota=iota)


def test_suboptimality_of_vapvi_by_hand():
    """One step: Lambda* is n/2 + 1 in each arm, so 4 C sqrt(1/(n/2 + 1)) + 2 D/n."""
    arms = Model(np.ones((1, 1, 2, 1)), np.array([[[0.1, 0.9]]]), np.ones(1))
    learner = VAPVI(features=np.eye(2)[None], horizon=1, penalty=3.0, penalty_over_k=5.0)
    found = vapvi_bound(arms, learner, np.full((1, 1, 2), 0.5), 100)
    assert found == pytest.approx(12 / math.sqrt(51) + 0.1)
