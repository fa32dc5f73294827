"""VAPVI, DP-VAPVI, PEVI: against slow references, without noise, and their transcripts' likelihood ratios."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from algorithms.offline.data import appendix_mdp, collect, leaning_policy
from algorithms.offline.vapvi import VAPVI
from algorithms.offline.vapvi_transcripts import StatisticsView
from dpverify import Pair
from dpverify.base.seeding import Stage, stream
from mechanisms.privatizers.linear_noise import LinearNoise

H = 4
LINEAR = appendix_mdp(1, H, actions=6)
MODEL = LINEAR.model
PHI = LINEAR.features
NOISE = LinearNoise.as_printed(5.0, H, 10)


def rng(*key):
    return stream(9, Stage.EXPERIMENT, *key)


def data(users=60, key=0):
    return collect(MODEL, leaning_policy(H, 2, 6), users, rng=rng(key))


def reference(data, *, penalty, phi_table=PHI, over_k=0.0, split=False, weighted=True, ridge=1.0):
    """Algorithm 2 user by user without noise; solves instead of eigenvalues. Policy and values."""
    n, d = len(data), phi_table.shape[2]
    fitted = range((n + 1) // 2) if split else range(n)
    variance = range((n + 1) // 2, n) if split else range(n)
    value = np.zeros(2)
    policies, values = [], []
    for h in reversed(range(H)):
        phi = [phi_table[data.states[i, h], data.actions[i, h]] for i in range(n)]
        after = [value[data.next_states[i, h]] for i in range(n)]
        sigma = np.eye(d) * ridge + sum((np.outer(phi[i], phi[i]) for i in variance), np.zeros((d, d)))
        beta = np.linalg.solve(sigma, sum((phi[i] * after[i] ** 2 for i in variance), np.zeros(d)))
        theta = np.linalg.solve(sigma, sum((phi[i] * after[i] for i in variance), np.zeros(d)))
        var = np.ones((2, 6))
        if weighted:
            var = np.maximum(1, np.clip(phi_table @ beta, 0, (H - h) ** 2) - np.clip(phi_table @ theta, 0, H - h) ** 2)
        gram, target = np.eye(d) * ridge, np.zeros(d)
        for i in fitted:
            weight = 1 / var[data.states[i, h], data.actions[i, h]]
            gram = gram + weight * np.outer(phi[i], phi[i])
            target = target + weight * phi[i] * (data.rewards[i, h] + after[i])
        w = np.linalg.solve(gram, target)
        length = np.sqrt(
            np.einsum(
                "sad,sad->sa", phi_table, np.linalg.solve(gram, phi_table.reshape(-1, d).T).T.reshape(phi_table.shape)
            )
        )
        q = np.clip(phi_table @ w - penalty * length - over_k / len(fitted), 0, H - h)
        value = q.max(axis=1)
        policies.append(q.argmax(axis=1))
        values.append(value)
    return np.array(policies[::-1]), np.array(values[::-1])


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_without_noise_it_is_the_slow_reference(split, weighted):
    table = rng(10).random((2, 6, 3))  # no linear model of the data fits: residual variances exceed 1
    users = replace(data(), rewards=4.0 * data().states)
    learner = VAPVI(
        features=table, horizon=H, penalty=0.05, penalty_over_k=0.3, split=split, weighted=weighted, ridge=0.5
    )
    plan = learner.learn(learner.halves(users), rng=rng(1), size=2)
    policy, values = reference(
        users, phi_table=table, penalty=0.05, over_k=0.3, split=split, weighted=weighted, ridge=0.5
    )
    assert np.array_equal(plan.policy, [policy, policy])
    assert np.allclose(plan.values[:, :-1], values, rtol=0, atol=1e-9)
    assert (plan.variances >= 1).all()
    if weighted:
        assert plan.variances.max() > 1


@pytest.mark.parametrize("split", [False, True])
def test_infinite_rho_is_the_non_private_learner(split):
    """`noise=None` is rho = infinity, exactly; noise and shift of rho = 1e16 change no policy."""
    exact = VAPVI(features=PHI, horizon=H, penalty=0.05, split=split)
    nearly = replace(exact, noise=LinearNoise.as_printed(1e16, H, 10))
    one, two = (each.learn(each.halves(data()), rng=rng(2), size=3) for each in (exact, nearly))
    assert np.array_equal(one.policy, two.policy)
    assert np.allclose(one.values, two.values, rtol=0, atol=1e-4)


def test_not_positive_definite_matrices_are_lifted():
    """A shift of 0 and strong noise: some Grams have negative eigenvalues, values stay in range."""
    learner = VAPVI(features=PHI, horizon=H, noise=LinearNoise.as_printed(0.01, H, 10), shift_scale=0.0, penalty=0.05)
    plan = learner.learn(learner.halves(data(3)), rng=rng(7), size=50)
    assert np.isfinite(plan.values).all()
    assert (plan.values >= 0).all()
    assert (plan.values[:, 0] <= H).all()
    inverse = learner._inverse(-np.eye(10)[None])
    assert np.allclose(inverse, np.eye(10) / learner.ridge)


def neighbours():
    left = data(4)
    actions = left.actions.copy()
    actions[0] = (actions[0] + 1) % 6
    return Pair(left, replace(left, actions=actions))


@pytest.mark.parametrize("split", [False, True])
def test_log_ratio_is_that_of_the_densities(split):
    """Against scipy's normal densities at the means; and the means are those of the release (noise to zero)."""
    learner = VAPVI(features=LINEAR.scaled().features, horizon=H, noise=NOISE, penalty=0.05, split=split)
    view, pair = StatisticsView(learner), neighbours()
    outputs = view.release(pair.first, rng=rng(8), size=5)
    steps = outputs.reshape(5, H, -1)
    one, two = (stats.norm.logpdf(steps, view.means(outputs, each), view.sigmas).sum(axis=(1, 2)) for each in pair)
    assert np.allclose(view.log_ratio(outputs, pair), one - two, rtol=1e-9, atol=1e-9)
    quiet = StatisticsView(replace(learner, noise=LinearNoise.as_printed(1e24, H, 10)))
    calm = quiet.release(pair.first, rng=rng(8), size=2)
    assert np.allclose(calm.reshape(2, H, -1), quiet.means(calm, pair.first), rtol=0, atol=1e-6)


def test_noise_of_the_transcript_has_its_deviations():
    """Residuals over sigma are standard normal and independent of step: Kolmogorov-Smirnov at level 1e-3."""
    learner = VAPVI(features=LINEAR.scaled().features, horizon=H, noise=NOISE, penalty=0.05)
    view = StatisticsView(learner)
    outputs = view.release(data(4), rng=rng(9), size=100)
    residuals = (outputs.reshape(100, H, -1) - view.means(outputs, data(4))) / view.sigmas
    assert stats.kstest(residuals.ravel(), "norm").pvalue > 1e-3
