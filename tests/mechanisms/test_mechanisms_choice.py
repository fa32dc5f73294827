"""Mechanisms with finitely many outputs: laws against independent integrals, divergences over all neighbours."""

import decimal
import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from audits.planted.sparse_vector import Algorithm4, Algorithm5, Algorithm6
from dpverify import Pair, View
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError
from dpverify.ledger.events import Sensitivity, Shift
from mechanisms.releases.exponential import Exponential
from mechanisms.releases.noisy_max import NoisyMax
from mechanisms.releases.randomised_response import RandomisedResponse
from mechanisms.releases.sparse_vector import SparseVector

ONE = Sensitivity(replace=1, add_remove=1)
LEVEL = 1e-6


def rng(seed: int = 0) -> np.random.Generator:
    return stream(seed, Stage.SHAPE)


def chi_square(outputs: Any, law: Any) -> float:
    """p-value against the law of candidates 0..c-1."""
    observed = np.bincount(outputs, minlength=len(law))
    assert len(outputs) * law.min() >= 5
    return float(stats.chisquare(observed, len(outputs) * law / law.sum()).pvalue)


# --- randomised response


@pytest.mark.parametrize("eps", [0.01, 0.5, 1.0, 3.0, 12.0, 30.0])
@pytest.mark.parametrize("k", [2, 3, 10, 1000])
def test_response_is_never_less_private_than_claimed(eps: float, k: int) -> None:
    """odds of the drawn law, whose lies have probability ceil(2^53 lie)/2^53, against e^eps with 40 digits."""
    mechanism = RandomisedResponse(eps=eps, k=k)
    drawn = Fraction(math.ceil(Fraction(mechanism.lie) * 2**53), 2**53)
    with decimal.localcontext(prec=40):
        largest = Fraction(decimal.Decimal(eps).exp())
    for lie in (drawn, Fraction(mechanism.lie)):
        odds = (1 - lie) * (k - 1) / lie
        assert odds <= largest
    assert (1 - Fraction(mechanism.lie)) * (k - 1) / Fraction(mechanism.lie) >= largest * (1 - Fraction(1, 10**11))
    assert mechanism.claim.view is View.LOCAL


@pytest.mark.parametrize("k", [2, 5])
def test_response_law(k: int) -> None:
    """Chi-square, n = 200,000, level 1e-6. Power: eps 1.05 instead of 1 has noncentrality above 90, caught > 0.999."""
    mechanism = RandomisedResponse(eps=1.0, k=k)
    assert np.allclose(mechanism.law.sum(axis=1), 1)
    outputs = mechanism.release(k - 1, rng=rng(1), size=200_000)
    assert chi_square(outputs, mechanism.law[k - 1]) > LEVEL
    assert chi_square(outputs, RandomisedResponse(eps=1.05, k=k).law[k - 1]) < LEVEL
    ratio = mechanism.log_ratio(np.arange(k), Pair(k - 1, 0))
    assert np.allclose(ratio, np.log(mechanism.law[k - 1] / mechanism.law[0]), atol=1e-12)
    assert np.allclose(np.abs(ratio[[0, -1]]), 1.0, atol=1e-12)


@pytest.mark.parametrize("data", [2, -1, [0, 5], 0.0])
def test_response_refuses_other_categories(data: Any) -> None:
    with pytest.raises(ParameterError, match="data"):
        RandomisedResponse(eps=1.0).release(data, rng=rng(), size=1)


# --- selection


def test_exponential_law() -> None:
    """Chi-square, n = 200,000, level 1e-6; the law at eps = 1.1 is rejected on the same draws."""
    mechanism = Exponential(eps=1.0, sensitivity=Sensitivity(replace=2))
    scores = [0.0, 1.0, 4.0, -3.0]
    weights = np.array([math.exp(u / 4) for u in scores])
    law = np.exp(mechanism.log_law(scores))
    assert np.allclose(law, weights / weights.sum(), rtol=1e-13)
    outputs = mechanism.release(scores, rng=rng(2), size=200_000)
    assert chi_square(outputs, law) > LEVEL
    other = Exponential(eps=1.1, sensitivity=Sensitivity(replace=2))
    assert chi_square(outputs, np.exp(other.log_law(scores))) < LEVEL


def test_noisy_max_law() -> None:
    """The quadrature against scipy's adaptive one, and against draws (chi-square, n = 200,000, level 1e-6)."""
    mechanism = NoisyMax(eps=1.0, sensitivity=ONE)
    scores = np.array([0.0, 1.0, 4.0, -3.0, 1.0])
    below, density = stats.laplace(0, mechanism.scale).cdf, stats.laplace(0, mechanism.scale).pdf
    law = np.exp(mechanism.log_law(scores))
    for i in range(len(scores)):

        def integrand(x: float, i: int = i) -> float:
            return float(density(x - scores[i]) * np.prod(below(x - np.delete(scores, i))))

        value = integrate.quad(
            integrand,
            -80,
            90,
            points=sorted(set(scores)),
            epsabs=1e-13,
            limit=500,
        )[0]
        assert law[i] == pytest.approx(value, rel=1e-10)
    assert law.sum() == pytest.approx(1, abs=1e-13)
    outputs = mechanism.release(scores, rng=rng(3), size=200_000)
    assert chi_square(outputs, law) > LEVEL
    other = NoisyMax(eps=1.1, sensitivity=ONE)
    assert chi_square(outputs, np.exp(other.log_law(scores))) < LEVEL


@pytest.mark.parametrize("kind", [Exponential, NoisyMax])
def test_selection_claims_hold_over_all_neighbours(kind: Any) -> None:
    """Every movement of 4 scores by -1, 0 or 1, from 6 random score vectors; and the claim is nearly reached."""
    mechanism = kind(eps=0.8, sensitivity=ONE)
    worst = 0.0
    for scores in [*rng(4).normal(0, 3, size=(6, 4)), np.array([-60.0, 0.0, 0.0, 0.0])]:
        law = mechanism.log_law(scores)
        for move in itertools.product((-1.0, 0.0, 1.0), repeat=4):
            worst = max(worst, float(np.abs(mechanism.log_law(scores + np.array(move)) - law).max()))
    assert 0.79 < worst <= 0.8 * (1 + 1e-10)


@pytest.mark.parametrize("kind", [Exponential, NoisyMax, SparseVector])
@pytest.mark.parametrize("data", [[], 1.0, [[0.0, 1.0]], [math.nan, 0.0]])
def test_scores_must_be_one_finite_vector(kind: Any, data: Any) -> None:
    with pytest.raises(ParameterError, match="data"):
        kind(eps=1.0, sensitivity=ONE).release(data, rng=rng(), size=1)


@pytest.mark.parametrize("kind", [Exponential, NoisyMax, SparseVector])
@pytest.mark.parametrize("sensitivity", [Sensitivity(replace=0), Sensitivity(replace=Shift(1, 2))])
def test_a_score_moves_by_one_positive_number(kind: Any, sensitivity: Sensitivity) -> None:
    with pytest.raises(ParameterError, match="sensitivity"):
        kind(eps=1.0, sensitivity=sensitivity)


# --- sparse vector


def patterns(m: int, cutoff: int) -> Any:
    """Every output that the algorithm can give."""
    found = set()
    for answers in itertools.product((0, 1), repeat=m):
        before = np.cumsum(answers) - answers
        found.add(tuple(np.where(before < cutoff, answers, -1).tolist()))
    return np.array(sorted(found))


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("cutoff", [1, 2, 4])
def test_sparse_vector_law(cutoff: int, fresh: bool) -> None:
    """All patterns: total 1, scipy's adaptive quadrature, and draws (chi-square, n = 200,000, level 1e-6)."""
    mechanism = SparseVector(eps=1.5, sensitivity=ONE, threshold=0.7, cutoff=cutoff, fresh=fresh)
    answers = np.array([0.0, 2.0, -1.0, 0.5])
    all_patterns = patterns(4, cutoff)
    law = np.exp(mechanism.log_law(all_patterns, answers))
    assert law.sum() == pytest.approx(1, abs=1e-12)
    rho, nu = stats.laplace(0, mechanism.threshold_scale), stats.laplace(0, mechanism.query_scale)
    for pattern, value in list(zip(all_patterns, law, strict=True))[:: max(1, len(law) // 5)]:

        def integrand(r: float, pattern: Any = pattern) -> float:
            need = 0.7 + r - answers
            terms = np.where(pattern == 1, nu.sf(need), np.where(pattern == 0, nu.cdf(need), 1.0))
            return float(rho.pdf(r) * terms.prod())

        breaks = sorted({0.0, *(answers - 0.7)})
        if fresh and pattern[pattern >= 0][:-1].any():
            continue  # more than one threshold; the draws below
        reach = 40 * mechanism.threshold_scale
        expected = integrate.quad(integrand, -reach, reach, points=breaks, epsabs=1e-13, limit=500)[0]
        assert value == pytest.approx(expected, rel=1e-9)
    outputs = mechanism.release(answers, rng=rng(5), size=200_000)
    seen, counts = np.unique(outputs, axis=0, return_counts=True)
    known = {tuple(pattern.tolist()): i for i, pattern in enumerate(all_patterns)}
    drawn = np.repeat([known[tuple(pattern.tolist())] for pattern in seen], counts)
    assert chi_square(drawn, law) > LEVEL
    other = SparseVector(eps=1.9, sensitivity=ONE, threshold=0.7, cutoff=cutoff, fresh=fresh)
    assert chi_square(drawn, np.exp(other.log_law(all_patterns, answers))) < LEVEL


@pytest.mark.parametrize("fresh", [False, True])
def test_sparse_vector_stops(fresh: bool) -> None:
    outputs = SparseVector(eps=1.0, sensitivity=ONE, cutoff=2, fresh=fresh).release(np.zeros(9), rng=rng(6), size=5000)
    above = (outputs == 1).cumsum(axis=1) - (outputs == 1)
    assert np.array_equal(outputs == -1, above >= 2)
    assert (outputs == -1).any()
    assert (outputs[:, -1] == 0).any()


def worst_ratio(mechanism: Any, m: int, cutoff: int, thresholds: Any) -> float:
    """Largest |log ratio| over all patterns and all movements by -1 or 1 of answers (threshold, 0, ...)."""
    every = patterns(m, cutoff)
    worst = 0.0
    for start in thresholds:
        law = mechanism.log_law(every, start)
        for move in itertools.product((-1.0, 1.0), repeat=m):
            worst = max(worst, float(np.abs(mechanism.log_law(every, start + np.array(move)) - law).max()))
    return worst


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("cutoff", [1, 2])
def test_sparse_vector_claim_holds_over_all_neighbours(cutoff: int, fresh: bool) -> None:
    starts = [np.zeros(4), np.full(4, -8.0), np.array([3.0, -3.0, 0.5, -40.0]), np.full(4, 20.0)]
    worst = worst_ratio(SparseVector(eps=0.9, sensitivity=ONE, cutoff=cutoff, fresh=fresh), 4, cutoff, starts)
    assert 0.3 < worst <= 0.9 * (1 + 1e-10)


def test_published_variants_exceed_the_claim_and_keep_their_true_bound() -> None:
    """Lyu, Su, Li 2017: Algorithm 4 is (1 + 6c)/4 eps-DP; Algorithm 6 grows with the number of queries."""
    pattern = np.array([[0] * 8 + [1] * 3])
    pair = Pair([0.0] * 8 + [1.0] * 3, [1.0] * 8 + [0.0] * 3)
    ratio = Algorithm4(eps=1.0, sensitivity=ONE, cutoff=3).log_ratio(pattern, pair)[0]
    assert 4.0 < ratio <= (1 + 6 * 3) / 4
    growth = []
    for m in (2, 4, 8, 16):
        crossed = Pair([0.0] * m + [1.0] * m, [1.0] * m + [0.0] * m)
        mechanism = Algorithm6(eps=1.0, sensitivity=ONE, cutoff=2 * m)
        growth.append(mechanism.log_ratio(np.array([[0] * m + [1] * m]), crossed)[0])
    assert all(later > 1.8 * earlier for earlier, later in itertools.pairwise(growth))
    crossed_outputs = Algorithm5(1.0).release([1.0, 0.0], rng=rng(), size=20_000)
    assert not np.any((crossed_outputs == [0, 1]).all(axis=1))  # impossible there, and usual on [0, 1]:
    assert (Algorithm5(1.0).release([0.0, 1.0], rng=rng(), size=20_000) == [0, 1]).all(axis=1).mean() > 0.15
