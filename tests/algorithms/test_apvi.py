"""APVI and DP-APVI: against a slow reference, without noise, and in their pessimism; data of a behaviour policy."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, kstest

from algorithms.core.environments import random_environment
from algorithms.offline.apvi import APVI, DPAPVI
from algorithms.offline.data import (
    collect,
    counts_of_runs,
    sample_counts,
)
from algorithms.offline.pessimism_promises import apvi_promise, batch_counts, pessimism, vapvi_promise
from algorithms.offline.suboptimality_promises import (
    apvi_best_promise,
    apvi_bound,
    lengths_of,
    near_tie,
    rarely,
    vapvi_best_promise,
    vapvi_bound,
)
from algorithms.offline.vapvi import VAPVI
from algorithms.tabular import evaluate, Model, uniform_policy
from audits.planted.apvi import Louder
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError
from dpverify.promises import BROKEN, check_promise, INCONCLUSIVE, KEPT
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
    below 1 %; 33 or fewer of the Bernstein penalty without its E term would be as rare at a rate of 0.25."""
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
    spread = 9 * math.sqrt(iota / visits) + 256 / 3 * error * iota / visits + 4 * math.sqrt(8 / 3 * error / visits)
    by_hand = 4 * math.sqrt(2 * iota / visits) * spread + 256 * error * iota / (3 * visits)
    assert apvi_bound(arms, np.full((1, 1, 2), 0.5), users, error=error, iota=iota) == pytest.approx(by_hand)
    half = np.full((1, 1, 2), 0.5)
    with pytest.raises(ParameterError, match="users"):  # 150 visits a cell are fewer than 8 E
        apvi_bound(arms, half, 300, error=error, iota=iota)
    with pytest.raises(ParameterError, match="users"):  # 20 visits a cell are fewer than 8 iota
        apvi_bound(arms, half, 40, error=1.0, iota=iota)
    with pytest.raises(ParameterError, match="error"):  # S E < 1
        apvi_bound(arms, half, users, error=0.9, iota=iota)
    with pytest.raises(ParameterError, match="covers"):  # the best arm is never played
        apvi_bound(arms, np.array([[[1.0, 0.0]]]), users, error=error, iota=iota)
    alike = Model(arms.transitions, np.array([[[0.9, 0.9]]]), arms.initial)
    assert apvi_bound(alike, np.array([[[0.0, 1.0]]]), users, error=error, iota=iota) > 0  # the other best arm is


def test_suboptimality_of_vapvi_by_hand():
    """One step: Lambda* is n/2 + 1 in each arm, so 8 sqrt 2 C sqrt(1/(n/2 + 1)) + 4 D/n."""
    arms = Model(np.ones((1, 1, 2, 1)), np.array([[[0.1, 0.9]]]), np.ones(1))
    learner = VAPVI(features=np.eye(2)[None], horizon=1, penalty=3.0, penalty_over_k=5.0)
    half = np.full((1, 1, 2), 0.5)
    found = vapvi_bound(arms, learner, half, 1000)
    assert found == pytest.approx(24 * math.sqrt(2) / math.sqrt(501) + 0.02)
    missed = lengths_of(arms, learner.features, 1.0, half, 100).missed
    assert missed == pytest.approx(2 * math.exp(-100 * (1 - math.log(2)) / 4))  # |phi|^2 is 2 in the mean of one user
    with pytest.raises(ParameterError, match="users"):  # d^3/kappa^5 = 256
        vapvi_bound(arms, learner, half, 256)
    with pytest.raises(ParameterError, match="kappa"):
        vapvi_bound(arms, learner, np.array([[[1.0, 0.0]]]), 10**6)


def test_a_gram_is_at_least_half_of_its_mean_as_often_as_stated():
    """Of 20,000 batches of 20 users with two arms alike: 2 exp(-20 (1 - ln 2)/4) = 0.43 are allowed; far fewer fail."""
    counts = rng(11).binomial(20, 0.5, size=20_000)
    failed = (np.minimum(counts, 20 - counts) < 5).mean()
    arms = Model(np.ones((1, 1, 2, 1)), np.array([[[0.1, 0.9]]]), np.ones(1))
    assert 0 < failed <= lengths_of(arms, np.eye(2)[None], 1.0, np.full((1, 1, 2), 0.5), 20).missed


TIED = near_tie(1e-3)
SQUARE = CountLayout(H=2, S=2, A=2)
DP = DPAPVI(layout=SQUARE, rewards=TIED.rewards, privatizer=OfflineTabularGaussian(layout=SQUARE, rho=1.0), delta=0.02)


def test_the_promise_of_apvi_has_the_noise_of_its_privatizer():
    """A correct learner loses the gap, which a tenth of the bound is below; louder noise breaks the bound."""
    promise = apvi_best_promise(TIED, DP, rarely(0.1), 10**8, name="tied", trials=130)
    check = check_promise(promise, seed=1)
    assert (check.verdict, check.active_share) == (KEPT, 1.0)
    assert check.tightness > 0.1
    assert check_promise(replace(promise, bound=0.1 * promise.bound), seed=1).verdict == BROKEN
    loud = replace(DP, privatizer=Louder(layout=SQUARE, rho=1.0))
    assert (
        check_promise(apvi_best_promise(TIED, loud, rarely(0.1), 10**8, name="x"), seed=1, trials=130).verdict == BROKEN
    )


@pytest.mark.parametrize("changes", [{"error": 1e-3}, {"penalty": "hoeffding"}, {"privatizer": None}])
def test_the_promise_of_apvi_is_of_what_the_theorem_has(changes):
    with pytest.raises(ParameterError):
        apvi_best_promise(TIED, replace(DP, **changes), rarely(0.1), 10**8, name="x")


@pytest.mark.parametrize("promise", [apvi_best_promise, vapvi_best_promise, vapvi_promise])
def test_no_users_are_refused(promise):
    split = VAPVI(features=np.eye(4).reshape(2, 2, 4), horizon=2, split=True)
    learner = DP if promise is apvi_best_promise else split
    with pytest.raises(ParameterError, match="users"):
        check_promise(promise(TIED, learner, rarely(0.1), 0, name="x"), seed=1, trials=2)


@pytest.mark.parametrize("promise", [vapvi_best_promise, vapvi_promise])
def test_theorem_41_is_about_two_halves(promise):
    both = VAPVI(features=np.eye(4).reshape(2, 2, 4), horizon=2, split=False)
    with pytest.raises(ParameterError, match="split"):
        promise(TIED, both, rarely(0.1), 10**12, name="x")


def test_what_cannot_fail_is_not_active():
    """By hand: H = 2; V~ of 0 is never too high, nor is any V~ where everything is earned that can be."""
    found = pessimism(np.array([[[0.0, 1.5], [1.0, 0.5]]]), np.array([[[1.0, 1.0], [1.0, 0.5]]]))
    assert found.errors.tolist() == [0.5]
    assert found.active.tolist() == [0.5]
    ones = Model(TIED.transitions, np.ones((2, 2, 2)), TIED.initial)
    free = APVI(layout=SQUARE, rewards=ones.rewards, c1=0.0, c2=0.0)
    promise = apvi_promise(ones, free, batch_counts(ones, uniform_policy(2, 2, 2), 100), name="x")
    assert check_promise(promise, seed=1, trials=300).verdict == INCONCLUSIVE


def test_noise_on_many_datasets_is_that_of_the_release():
    """Kolmogorov-Smirnov at level 1e-3, where no count is truncated."""
    exact = sample_counts(TIED, uniform_policy(2, 2, 2), 10**6, rng=rng(12))
    many = PrivateCounts(*(np.repeat(each, 50, axis=0) for each in (exact.visits, exact.transitions)))
    noise = (DP.privatizer.noisy(many, rng=rng(13)).visits - exact.visits).ravel()
    assert kstest(noise / DP.privatizer.sigma, "norm").pvalue > 1e-3
