"""DP-VAPVI: law of the Gram noise, exact cost of a step, the table of totals, statistics and their ratios."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize, stats

from dpverify import Relation
from dpverify.accounting.accountant import meets, rho_upper
from dpverify.errors import ParameterError
from mechanisms.datasets.pairs import absence, constant, random_replacement, uniform
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.linear_costs import StepCost
from mechanisms.privatizers.linear_noise import LinearNoise
from mechanisms.privatizers.offline_linear import HALF_D, OfflineLinear, Statistic

ALPHA = 1e-6
REPLACE, ABSENT = Relation.REPLACE_ONE, Relation.ADD_OR_REMOVE_ONE


def rng(seed=3):
    return np.random.default_rng(seed)


def linear(noise, *, S=1, A=2, features=None, **options):
    """Statistics with V = H - h everywhere and orthogonal unit features."""
    table = np.eye(noise.d)[np.arange(S * A) % noise.d].reshape(S, A, noise.d) if features is None else features
    values = np.repeat(np.arange(noise.H - 1, -1, -1.0)[:, None], table.shape[0], axis=1)
    return OfflineLinear(noise=noise, features=table, values=values, **options)


# ---- the noise


@pytest.mark.parametrize(
    "noise",
    [
        LinearNoise.as_printed(0.7, 3, 3),
        LinearNoise.as_printed(0.7, 3, 3, half=True),
        LinearNoise.corrected(0.7, 3, 3),
    ],
)
def test_gram_deviations_are_those_of_c_z_plus_z_transposed(noise):
    c, z = math.sqrt(noise.c_squared), float(noise.z_rho0 / noise.rho0)
    rows, columns = np.triu_indices(noise.d)
    weights = np.zeros((rows.size, noise.d, noise.d))  # upper triangle of W as linear forms in Z
    for cell, (i, j) in enumerate(zip(rows, columns, strict=True)):
        weights[cell, i, j] += c
        weights[cell, j, i] += c
    flat = weights.reshape(rows.size, -1)
    np.testing.assert_allclose(flat @ flat.T * z, np.diag(noise.triangle_sigmas**2), rtol=1e-12, atol=1e-12)


def test_drawn_noise_has_these_deviations():
    noise = LinearNoise.as_printed(1.0, 2, 3)
    step = noise.draw(20_000, rng=rng())
    np.testing.assert_array_equal(step.gram1, np.swapaxes(step.gram1, 1, 2))
    cases = [
        (step.phi1.ravel(), noise.vector_sigmas[0]),
        (step.phi2.ravel(), noise.vector_sigmas[1]),
        (step.phi3.ravel(), noise.vector_sigmas[2]),
        (step.gram1[:, 1, 1], noise.gram_sigma),
        (step.gram2[:, 0, 2], noise.gram_sigma / math.sqrt(2)),
    ]
    for seen, sigma in cases:
        # chi-square test of the variance: 20,000 values, a deviation off by 5 % is caught with probability > 0.999
        square = (seen**2).sum() / sigma**2
        law = stats.chi2(seen.size)
        assert ALPHA < law.cdf(square) < 1 - ALPHA
        assert not ALPHA < law.cdf(square / 1.05**2) < 1 - ALPHA
    assert not np.array_equal(step.gram1, step.gram2)


@pytest.mark.parametrize("d", [1, 2, 10])
def test_operator_bound_holds_and_a_third_of_it_fails(d):
    noise = LinearNoise.as_printed(1.0, 1, d)
    norms = np.abs(np.linalg.eigvalsh(noise.draw(4000, rng=rng()).gram1)).max(axis=1)
    failures = int((norms > noise.gram_operator_bound(0.05)).sum())
    # a failure rate of 0.08 would be caught with probability > 0.999 at ALPHA
    assert stats.binomtest(failures, 4000, 0.05, alternative="greater").pvalue > ALPHA
    assert (norms > noise.gram_operator_bound(0.05) / 3).mean() > 0.05


# ---- the cost of a step


def worst_by_search(alpha, gamma, seed):
    """Largest cost over two vectors of the unit ball, by local searches from random starts."""

    def cost(x):
        a, b = x[:3], x[3:]
        a, b = a / max(1, np.linalg.norm(a)), b / max(1, np.linalg.norm(b))
        vectors = max(((a - b) ** 2).sum(), a @ a, b @ b)
        return -(alpha / 2 * vectors + gamma / 2 * ((np.outer(a, a) - np.outer(b, b)) ** 2).sum())

    starts = rng(seed).normal(size=(8, 6))
    return max(-optimize.minimize(cost, start, method="Nelder-Mead", options={"maxiter": 4000}).fun for start in starts)


@pytest.mark.parametrize(("alpha", "gamma"), [(1, 0), (0, 1), (1, 4), (1, 1), (1, 0.6), (1, 0.4), (3, 1), (0.1, 2)])
def test_unit_ball_cost_is_the_maximum(alpha, gamma):
    cost = StepCost(Fraction(alpha), Fraction(gamma))
    formula, found = float(cost.unit_ball_replace()), worst_by_search(alpha, gamma, seed=5)
    assert found <= formula * (1 + 1e-9)
    assert found >= formula * (1 - 1e-4)  # attained
    t = cost.worst_cosine()
    assert alpha * (1 - t) + gamma * (1 - t * t) == pytest.approx(formula)
    pair = np.array([[1, 0], [t, math.sqrt(1 - t * t)]])
    assert cost.table_replace(pair) == pytest.approx(formula)
    assert cost.table_absent(pair) == pytest.approx(float(cost.unit_ball_absent()))


@pytest.mark.parametrize(
    ("H", "split", "unsplit", "split_half", "unsplit_half"),
    [(1, 0.506, 0.903, 0.903, 1.70), (2, 0.466, 0.881, 0.864, 1.68), (20, 0.452, 0.889, 0.850, 1.69)],
)
def test_totals_as_fractions_of_rho(H, split, unsplit, split_half, unsplit_half):
    def total(half, separate):
        subject = linear(LinearNoise.as_printed(0.8, H, 2, half=half), split=separate)
        return float(rho_upper(subject.ledger, relation=REPLACE)) / 0.8

    assert total(False, True) == pytest.approx(split, abs=5e-4)
    assert total(False, False) == pytest.approx(unsplit, abs=5e-4)
    assert total(True, True) == pytest.approx(split_half, abs=5e-4)
    assert total(True, False) == pytest.approx(unsplit_half, abs=5e-3)


@pytest.mark.parametrize("statistic", [Statistic.GRAM1, Statistic.GRAM2])
@pytest.mark.parametrize("rho", [0.3, 5.0])
def test_one_gram_costs_twice_its_share_as_printed_and_exactly_it_as_corrected(statistic, rho):
    printed = linear(LinearNoise.as_printed(rho, 1, 2), statistics=(statistic,))
    half = linear(LinearNoise.as_printed(rho, 1, 2, half=True), statistics=(statistic,))
    corrected = linear(LinearNoise.corrected(rho, 1, 2), statistics=(statistic,))
    rho0 = printed.noise.rho0
    assert float(rho_upper(printed.ledger, relation=REPLACE) / rho0) == pytest.approx(2)
    assert float(rho_upper(half.ledger, relation=REPLACE) / rho0) == pytest.approx(4)
    assert rho_upper(corrected.ledger, relation=REPLACE) <= rho0
    assert rho_upper(printed.ledger, relation=ABSENT) <= rho0  # the lemma is one about add/remove
    assert meets(corrected.claim.with_number(float(rho0) * (1 + 1e-15)), corrected.ledger)


@pytest.mark.parametrize("statistic", [Statistic.SECOND, Statistic.FIRST, Statistic.TARGET])
def test_vector_statistics_cost_at_most_their_share(statistic):
    subject = linear(LinearNoise.as_printed(1.0, 4, 2), statistics=(statistic,))
    assert rho_upper(subject.ledger, relation=REPLACE) <= 4 * subject.noise.rho0 * Fraction(1 + 1e-12)


# ---- the release


@pytest.mark.parametrize("split", [False, True])
def test_exact_statistics_are_those_of_a_loop(split):
    layout = CountLayout(H=2, S=2, A=3)
    data = absence(uniform(layout, 5, rng=rng(), binary_rewards=False), 4).second
    features = rng(9).uniform(-0.5, 0.5, size=(2, 3, 2))
    subject = OfflineLinear(
        noise=LinearNoise.as_printed(1.0, 2, 2), features=features, values=np.array([[0.3, 0.9], [0, 0]]), split=split
    )
    expected = []
    for h in range(2):
        blocks = {each: np.zeros((2, 2)) if each.is_gram else np.zeros(2) for each in Statistic}
        for user in range(4):
            phi = features[data.states[user, h], data.actions[user, h]]
            value = subject.values[h, data.next_states[user, h]]
            mine = {
                Statistic.SECOND: phi * value**2,
                Statistic.FIRST: phi * value,
                Statistic.TARGET: phi * (data.rewards[user, h] + value),
                Statistic.GRAM1: np.outer(phi, phi),
                Statistic.GRAM2: np.outer(phi, phi),
            }
            for each in Statistic:
                if not split or (each in HALF_D) == (user < 3):
                    blocks[each] += mine[each]
        expected += [blocks[each][np.triu_indices(2)] if each.is_gram else blocks[each] for each in Statistic]
    np.testing.assert_allclose(subject.exact(data), np.concatenate(expected), rtol=1e-12)
    assert subject.cells == 2 * (3 * 2 + 2 * 3)


@pytest.mark.parametrize("split", [False, True])
def test_log_ratio_is_that_of_the_densities_and_keeps_to_the_ledger(split):
    layout = CountLayout(H=2, S=2, A=2)
    features = np.array([[[1, 0], [0.6, -0.8]], [[-1, 0], [0, 1]]])
    subject = OfflineLinear(
        noise=LinearNoise.as_printed(1.0, 2, 2), features=features, values=np.array([[1.0, 0.2], [0, 0]]), split=split
    )
    sigmas = np.concatenate([np.full(2, s) for s in subject.noise.vector_sigmas] + [subject.noise.triangle_sigmas] * 2)
    law = stats.norm(scale=np.tile(sigmas, 2))
    ledger = float(rho_upper(subject.ledger, relation=REPLACE))
    for seed in range(30):
        pair = random_replacement(uniform(layout, 4, rng=rng(seed)), 1, rng=rng(seed + 50))
        outputs = subject.release(pair.first, rng=rng(), size=20)
        first, second = (law.logpdf(outputs - subject.exact(each)).sum(axis=1) for each in pair)
        np.testing.assert_allclose(subject.log_ratio(outputs, pair), first - second, atol=1e-9)
        gap = (subject.exact(pair.first) - subject.exact(pair.second)) / np.tile(sigmas, 2)
        assert (gap**2).sum() / 2 <= ledger


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"features": np.zeros((1, 2, 3))}, "features"),
        ({"features": np.full((1, 2, 2), np.nan)}, "features"),
        ({"values": np.ones((2, 1))}, "values"),  # V_{H+1} = 0
        ({"values": np.full((2, 1), np.nan)}, "values"),
        ({"values": np.zeros((1, 1))}, r"values\.shape"),
        ({"statistics": ()}, "statistics"),
    ],
)
def test_what_does_not_fit_is_refused(changes, named):
    good = linear(LinearNoise.as_printed(1.0, 2, 2))
    with pytest.raises(ParameterError, match=named):
        replace(good, **changes)
    with pytest.raises(ParameterError, match="data"):
        good.exact(constant(CountLayout(H=3, S=1, A=2), 2))
    with pytest.raises(ParameterError, match="rho"):
        LinearNoise.as_printed(math.nan, 1, 1)
