"""Unconditional, weighted and curve tests: naive twins, edges, and the directions in which they move."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpverify.claims.claim import ApproxDP, GaussianDP, PureDP, ZCDP
from dpverify.errors import ParameterError
from dpverify.evidence.bounds import (
    BinomialTest,
    CurveTest,
    UnconditionalTest,
    WeightedTest,
)
from dpverify.evidence.bounds.rejection_region import _largest_on_cell, blocks, curve_limit, Region, response_limit
from dpverify.evidence.bounds.weighted import revealed_tail
from dpverify.evidence.tally import Tally


def probability(region, c, w):
    """Pr[region] by adding up the trinomial law."""
    total = 0.0
    for j in range(region.trials + 1):
        k = np.searchsorted(region.wrong, j, side="right") - 1
        inside = j < region.wrong[0] or j >= region.end
        start = 0 if inside else max(0, region.least_right[k])
        total += stats.binom.pmf(j, region.trials, w) * stats.binom.sf(start - 1, region.trials - j, c / (1 - w))
    return total


@pytest.mark.parametrize("coarse", [False, True])
def test_region_bound_is_above_every_null_point_and_close_to_the_worst(coarse):
    n, low, high = 400, 0.01, 0.06
    j, end = blocks(12, n, low, high)
    if coarse:
        j = j[::3]
    region = Region(n, j, end, 25 + 3 * j, low, high)
    limit = response_limit(0.9, 0.02)
    bound = region.worst_probability(limit)
    points = [probability(region, float(limit(np.array([w]))[0]), w) for w in np.linspace(low, high, 24)]
    assert max(points) <= bound <= (1.08 if coarse else 1.02) * max(points)  # blocks here are coarser than in use


def test_what_the_window_leaves_out_is_added_back():
    n, low, high = 400, 0.01, 0.06
    whole, part = np.arange(0, 70), np.arange(14, 40)
    exact = Region(n, whole, 70, 25 + 3 * whole, low, high)
    bound = Region(n, part, 40, 25 + 3 * part, low, high).worst_probability(response_limit(0.9, 0.02))
    limit = response_limit(0.9, 0.02)
    assert bound >= max(probability(exact, float(limit(np.array([w]))[0]), w) for w in np.linspace(low, high, 24))


def test_region_bound_covers_the_kink_of_a_limit_that_is_cut_off():
    n, low, high = 50, 0.01, 0.2
    j, end = blocks(3, n, low, high)
    region, limit = Region(n, j, end, 44 + j, low, high), response_limit(3.0, 0.3)
    kink = 0.7 / (1 + math.exp(3.0))  # e^3 w + 0.3 = 1 - w
    points = [probability(region, float(limit(np.array([w]))[0]), w) for w in (low, 0.9 * kink, kink, 1.1 * kink)]
    assert max(points) == points[2]
    assert _largest_on_cell(limit, np.array([low]), np.array([high]))[0] >= limit(np.array([kink]))[0]
    assert points[2] <= region.worst_probability(limit) <= 1.05 * points[2]


def test_region_holds_the_observed_outcome():
    cases = [(50, 0, 10**5, 1e-5), (300, 150, 5000, 1e-3), (40000, 20000, 10**6, 1e-6)]
    cases.append((32, 3, 1000, 0.03))  # here the order alone would not be monotone in the wrong guesses
    for right, wrong, n, delta in cases:
        region = UnconditionalTest()._region(Tally.of(right, wrong, n), delta)
        k = np.searchsorted(region.wrong, wrong, side="right") - 1
        assert region.least_right[k] <= right < region.least_right[k] + max(3, 0.02 * right)
        assert (np.diff(region.least_right) >= 0).all()


def test_nuisance_level_bounds_every_p_value():
    tally = Tally.of(500, 0, 1000)
    assert UnconditionalTest(nuisance_level=1e-3).p_value(tally, eps=0.1, delta=1e-3) == pytest.approx(1e-3, rel=1e-5)
    assert UnconditionalTest().eps_lower(tally, delta=1e-3, significance=1e-4) == 0.0  # cannot be reached
    small = UnconditionalTest(nuisance_level=1e-6, order_level=1e-4)
    assert small.eps_lower(tally, delta=1e-3, significance=1e-4) > 3
    assert CurveTest(PureDP(0.1)).claim_p_value(tally) == pytest.approx(1e-3, rel=1e-5)


def test_weighted_with_equal_weights_is_the_convolution():
    tally = Tally(1000, np.array([50, 40]), np.array([1, 10]))
    for delta in (0.0, 1e-4):
        for weights in ((1, 1), (5, 5)):
            assert WeightedTest(weights).p_value(tally, eps=1.0, delta=delta) == revealed_tail(90, 11, 1.0, 1000, delta)
    assert WeightedTest((1, 0)).p_value(tally, eps=1.0, delta=0.0) == BinomialTest(1).p_value(tally, eps=1.0, delta=0.0)


@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_weighted_is_the_tail_of_the_weighted_sum(delta):
    n, weights = 30, np.array([5, 2, 1])
    tally = Tally(n, np.array([4, 5, 3]), np.array([1, 2, 4]))
    eps = 0.7
    r = math.exp(eps) / (1 + math.exp(eps))
    law = {0: 1.0}
    for weight, count, p in [(5, n, delta), *zip(weights, tally.right + tally.wrong, [r] * 3, strict=True)]:
        fresh: dict[int, float] = {}
        for total, mass in law.items():
            for k in range(count + 1):
                key = total + int(weight) * k
                fresh[key] = fresh.get(key, 0.0) + mass * stats.binom.pmf(k, count, p)
        law = fresh
    naive = sum(mass for total, mass in law.items() if total >= weights @ tally.right)
    computed = WeightedTest((5, 2, 1)).p_value(tally, eps=eps, delta=delta)
    assert naive <= computed <= naive + 2e-11


def test_weights_are_checked():
    for weights in ((0, 0), (1, -1), (1.5, 1), (math.nan, 1), ()):
        with pytest.raises(ParameterError):
            WeightedTest(weights)
    with pytest.raises(ParameterError, match="levels"):
        WeightedTest((2, 1)).p_value(Tally.of(3, 1, 10), eps=1.0, delta=0.0)


def test_curve_limit_is_above_the_claim_and_close_to_it():
    for claim in (GaussianDP(1.0), ZCDP(0.1), PureDP(1.0), ApproxDP(0.5, 0.01)):
        w = np.linspace(0.05, 0.2, 41)
        exact = np.array([claim.accuracy_limit(float(each)) for each in w])
        above = curve_limit(claim, 0.05, 0.2, one_sided=False)(w)
        assert (above >= exact - 1e-12).all()
        assert (above <= exact + 2e-4).all()
        half = curve_limit(claim, 0.01, 0.05, one_sided=True)(w[:1])
        assert half >= claim.accuracy_limit(0.1) / 2 - 1e-12


def test_sign_test_certifies_the_gaussian_number_in_closed_form():
    n, v = 1000, 700
    test = CurveTest(GaussianDP(2.0), abstains=False)
    theta = stats.binomtest(v, n, alternative="greater").proportion_ci(0.95).low
    tally = Tally.of(v, n - v, n)
    assert test.number_lower(tally, significance=0.05) == pytest.approx(2 * stats.norm.ppf(theta), abs=1e-5)
    assert test.claim_p_value(tally) == pytest.approx(stats.binom.sf(v - 1, n, stats.norm.cdf(1.0)), rel=1e-9)
    d = 1e-3
    expected = math.log((theta - d) / (1 - d) / (1 - (theta - d) / (1 - d)))
    assert test.eps_lower(tally, delta=d, significance=0.05) == pytest.approx(expected, abs=1e-5)


def test_curve_without_evidence_certifies_nothing():
    for claim in (GaussianDP(1.0), PureDP(1.0), ZCDP(0.5)):
        for right, wrong in ((0, 0), (0, 9), (3, 40)):
            tally = Tally.of(right, wrong, 100)
            assert CurveTest(claim).number_lower(tally, significance=0.05) == 0.0
            assert CurveTest(claim).eps_lower(tally, delta=1e-5, significance=0.05) == 0.0
            assert CurveTest(claim).claim_p_value(tally) == 1.0
    with pytest.raises(ParameterError):
        CurveTest(PureDP(1.0)).number_lower(Tally.of(5, 1, 10), significance=math.nan)


@pytest.mark.parametrize(
    "test", [UnconditionalTest(), CurveTest(GaussianDP(1.0)), WeightedTest((1,))], ids=lambda each: each.name
)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(right=st.integers(0, 60), wrong=st.integers(0, 20), rest=st.integers(1, 300))
def test_bounds_move_the_right_way(test, right, wrong, rest):
    n, delta = right + wrong + rest, 1e-3

    def bound(v, w, significance=0.05):
        return test.eps_lower(Tally.of(v, w, n), delta=delta, significance=significance)

    eps = bound(right, wrong)
    assert 0 <= eps < math.inf
    assert eps <= bound(right + 1, wrong) + 0.01  # the region is searched to about 1 % of its probability
    assert eps + 0.01 >= bound(right, wrong + 1)
    assert bound(right, wrong, 0.02) <= eps + 0.01
    if eps > 0:
        tally = Tally.of(right, wrong, n)
        assert test.p_value(tally, eps=eps, delta=delta) <= 0.05
        assert test.p_value(tally, eps=eps / 2, delta=delta) <= 0.05
        assert test.p_value(tally, eps=eps + 0.02, delta=delta) > 0.05
