"""Binomial, threshold and convolution tests against closed forms, naive twins and 50-digit arithmetic."""

import math

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from dpverify.errors import ParameterError
from dpverify.evidence.bounds import binomial_tails as cp
from dpverify.evidence.bounds import BinomialTest, TwoStepTest, WeightedTest
from dpverify.evidence.tally import Tally

ALL = [(BinomialTest(), 0.0), (TwoStepTest(), 1e-3), (TwoStepTest(), 0.0), (WeightedTest((1,)), 1e-3)]
IDS = ["binomial", "threshold", "threshold-pure", "convolution"]


def bound(test, right, wrong, trials, delta, significance=0.05, **kwargs):
    return test.eps_lower(Tally.of(right, wrong, trials, **kwargs), delta=delta, significance=significance)


def p_value(test, right, wrong, trials, delta, eps, **kwargs):
    return test.p_value(Tally.of(right, wrong, trials, **kwargs), eps=eps, delta=delta)


def test_no_wrong_guess_has_a_closed_form():
    # theta_L = alpha^(1/m), so eps_lower = -log(alpha^(-1/m) - 1): finite, and 164 clean guesses give eps < 4
    for m in (1, 5, 59, 164, 10**6):
        expected = max(0.0, -math.log(math.expm1(-math.log(0.05) / m)))
        assert bound(BinomialTest(), m, 0, m, 0.0) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert bound(BinomialTest(), 164, 0, 164, 0.0) < 4 < bound(BinomialTest(), 166, 0, 166, 0.0)


def test_binomial_tail_is_accurate_near_certainty():
    mpmath.mp.dps = 50
    r = 1 / (1 + mpmath.exp(-30))
    exact = 1 - sum(mpmath.binomial(10**6, k) * (1 - r) ** k * r ** (10**6 - k) for k in range(2))
    survived = 1 - exact  # Pr[at most one wrong guess]
    assert p_value(BinomialTest(), 10**6 - 1, 1, 10**6, 0.0, 30.0) == pytest.approx(float(survived), rel=1e-12)


@pytest.mark.parametrize(("right", "wrong"), [(731, 269), (90, 3), (12, 9), (1, 0)])
def test_binomial_matches_scipy(right, wrong):
    for eps in (0.0, 0.3, 1.0, 4.0):
        naive = stats.binom.sf(right - 1, right + wrong, special.expit(eps))
        assert p_value(BinomialTest(), right, wrong, 5000, 0.0, eps) == pytest.approx(naive, rel=1e-9)
    theta = stats.binomtest(right, right + wrong, alternative="greater").proportion_ci(0.95).low
    expected = max(0.0, special.logit(theta))
    assert bound(BinomialTest(), right, wrong, 5000, 0.0) == pytest.approx(expected, abs=1e-9)


def test_threshold_is_the_formula_of_its_docstring():
    n, v, w, delta = 10_000, 400, 60, 0.004
    for one_sided, d in ((False, delta), (True, delta / 2)):
        tau = stats.binomtest(v + w, n, alternative="greater").proportion_ci(1 - 0.05 * 0.05).low
        theta = stats.binomtest(v, v + w, alternative="greater").proportion_ci(1 - 0.95 * 0.05).low
        kappa = d / tau
        expected = special.logit((theta - kappa) / (1 - kappa))
        assert bound(TwoStepTest(), v, w, n, delta, one_sided=one_sided) == pytest.approx(expected, abs=1e-9)


def test_convolution_is_the_sum_of_its_docstring():
    n, w = 300, 12
    for v, delta, eps in ((40, 0.01, 0.0), (40, 0.01, 1.0), (18, 0.04, 0.5), (5, 0.01, 0.5)):
        r = special.expit(eps)
        naive = sum(stats.binom.pmf(k, n, delta) * stats.binom.sf(v - k - 1, v + w, r) for k in range(n + 1))
        assert p_value(WeightedTest((1,)), v, w, n, delta, eps) == pytest.approx(naive, rel=1e-10)


@pytest.mark.parametrize(("test", "delta"), ALL, ids=IDS)
def test_nothing_seen_certifies_nothing(test, delta):
    for right, wrong in ((0, 0), (0, 7), (1, 0), (3, 900)):
        assert bound(test, right, wrong, 1000, delta) == 0.0
    assert p_value(test, 0, 0, 1000, delta, 1.0) == 1.0
    assert p_value(test, 0, 7, 1000, delta, 1.0) == 1.0


@pytest.mark.parametrize(("test", "delta"), ALL, ids=IDS)
def test_impossible_levels_are_refused(test, delta):
    tally = Tally.of(30, 5, 100)
    for significance in (math.nan, 0.0, 1.0, -0.1, 2.0):
        with pytest.raises(ParameterError):
            test.eps_lower(tally, delta=delta, significance=significance)
    for wrong_delta in (math.nan, -1e-9, 1.0):
        with pytest.raises(ParameterError):
            test.eps_lower(tally, delta=wrong_delta, significance=0.05)
        with pytest.raises(ParameterError):
            test.p_value(tally, eps=1.0, delta=wrong_delta)
    for eps in (math.nan, -1.0, math.inf):
        with pytest.raises(ParameterError):
            test.p_value(tally, eps=eps, delta=delta)


counts = st.tuples(st.integers(0, 300), st.integers(0, 300), st.integers(0, 300))
levels = st.sampled_from([0.2, 0.05, 0.01, 1e-4, 1e-9])


@pytest.mark.parametrize(("test", "delta"), ALL, ids=IDS)
@settings(max_examples=60, deadline=None)
@given(counts=counts, significance=levels)
def test_bound_moves_the_right_way_and_is_certified(test, delta, counts, significance):
    right, wrong, rest = counts
    n = right + wrong + rest + 1
    eps = bound(test, right, wrong, n, delta, significance)
    assert 0 <= eps < math.inf
    assert eps <= bound(test, right + 1, wrong, n, delta, significance) + 1e-9
    assert eps + 1e-9 >= bound(test, right, wrong + 1, n, delta, significance)
    assert bound(test, right, wrong, n, delta, significance / 3) <= eps + 1e-9
    if eps > 0:  # the returned side is rejected, a little above it is not
        assert p_value(test, right, wrong, n, delta, eps) <= significance * (1 + 1e-10)
        assert p_value(test, right, wrong, n, delta, eps + 1e-6) > significance * (1 - 1e-10)
        assert p_value(test, right, wrong, n, delta, eps / 2) <= significance
    grid = [p_value(test, right, wrong, n, delta, x) for x in (0.0, 0.5, 1.0, 3.0, 20.0, 700.0)]
    assert all(0 <= p <= 1 for p in grid)
    assert grid == sorted(grid)


@settings(max_examples=200, deadline=None)
@given(k=st.integers(0, 50), extra=st.integers(0, 10**6), level=levels)
def test_clopper_pearson_limits_keep_their_level(k, extra, level):
    n = k + extra
    low, high = cp.clopper_pearson_lower(k, n, level), cp.clopper_pearson_upper(k, n, level)
    assert 0 <= low <= high <= 1
    if k:
        assert stats.binom.sf(k - 1, n, low) <= level * (1 + 1e-12)
        assert stats.binom.sf(k - 1, n, low * (1 + 1e-6)) > level
    if extra:
        assert stats.binom.cdf(k, n, high) <= level * (1 + 1e-9)
        assert high == 1 or stats.binom.cdf(k, n, high * (1 - 1e-6)) > level
