"""Laplace and Gaussian noise: densities, exact calibration, limits."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpverify import Pair, Relation
from dpverify.base.seeding import Stage, stream
from dpverify.errors import AccountingError, ParameterError, TargetError
from dpverify.ledger.events import Sensitivity, Shift
from mechanisms.releases.gaussian import Gaussian
from mechanisms.releases.laplace import Laplace

ONE = Sensitivity(replace=1, add_remove=1)
CELLS = Sensitivity(replace=Shift(1, 2), add_remove=1)
LEVEL = 1e-6  # of each sampling test in this file


def rng(seed: int = 0) -> np.random.Generator:
    return stream(seed, Stage.SHAPE)


@pytest.mark.parametrize(
    ("mechanism", "law"),
    [
        (Laplace(scale=1.7, sensitivity=ONE), lambda q: stats.laplace(q, 1.7)),
        (Gaussian(sigma=1.7, sensitivity=ONE), lambda q: stats.norm(q, 1.7)),
    ],
)
def test_log_ratio_is_the_difference_of_log_densities(mechanism: Any, law: Callable[[Any], Any]) -> None:
    first, second = np.array([0.0, 2.5, -1.0]), np.array([1.0, 2.5, -3.0])
    outputs = rng().normal(0, 20, size=(500, 3))
    expected = (law(first).logpdf(outputs) - law(second).logpdf(outputs)).sum(axis=1)
    assert np.allclose(mechanism.log_ratio(outputs, Pair(first, second)), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("mechanism", "law"),
    [
        (Laplace(scale=3.0, sensitivity=ONE), lambda stretch: stats.laplace(5.0, 3.0 * stretch)),
        (Gaussian(sigma=3.0, sensitivity=ONE), lambda stretch: stats.norm(5.0, 3.0 * stretch)),
    ],
)
def test_outputs_follow_the_stated_law(mechanism: Any, law: Callable[[float], Any]) -> None:
    """Kolmogorov-Smirnov, n = 10^6, level 1e-6. Power: a scale 3 % off is at distance 0.0055 (0.0070), twice
    the critical 0.0027, and is caught with probability above 0.9999: both directions are checked.
    """
    outputs = mechanism.release(5.0, rng=rng(3), size=1_000_000)
    assert stats.kstest(outputs, law(1.0).cdf).pvalue > LEVEL
    assert stats.kstest(outputs, law(1.03).cdf).pvalue < LEVEL
    assert stats.kstest(outputs, law(1 / 1.03).cdf).pvalue < LEVEL


def test_laplace_signs_are_independent_of_sizes_and_of_each_other() -> None:
    """n = 640,000; Hoeffding for means of n values in [-1, 1]: 0.0067 has level 2 exp(-n 0.0067^2/2) < 2e-6."""
    noise = Laplace(scale=1.0, sensitivity=ONE).release(0.0, rng=rng(4), size=640_000)
    signs = np.sign(noise)
    for lag in (1, 2, 7, 8, 63, 64):
        assert abs((signs * np.roll(signs, lag)).mean()) < 0.0067
    assert abs((signs * (1 - 2 * np.exp(-np.abs(noise)))).mean()) < 0.0067


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.integers(1, 50))
def test_laplace_calibration_meets_the_claim_in_exact_fractions(eps: float, size: float, count: int) -> None:
    mechanism = Laplace.for_claim(eps, sensitivity=Sensitivity(replace=Shift(size, count)))
    distance = Fraction(size) * count
    assert distance / Fraction(mechanism.scale) <= Fraction(eps)
    assert mechanism.claim.eps <= eps
    assert mechanism.claim.eps >= eps * (1 - 1e-15)
    assert distance / Fraction(mechanism.claim.eps) <= Fraction(mechanism.scale)
    assert distance / Fraction(math.nextafter(mechanism.scale, 0.0)) > Fraction(eps)  # and no more noise than that


@given(st.floats(1e-4, 1e4), st.floats(1e-4, 1e4), st.integers(1, 50))
def test_gaussian_calibrations_meet_the_claim_in_exact_fractions(number: float, size: float, count: int) -> None:
    sensitivity = Sensitivity(replace=Shift(size, count))
    square = Fraction(size) ** 2 * count
    gdp = Gaussian.for_gdp(number, sensitivity=sensitivity)
    assert square <= (Fraction(number) * Fraction(gdp.sigma)) ** 2
    assert number * (1 - 1e-15) <= gdp.claim.mu <= number
    assert square <= (Fraction(gdp.claim.mu) * Fraction(gdp.sigma)) ** 2
    zcdp = Gaussian.for_zcdp(number, sensitivity=sensitivity)
    assert square <= 2 * Fraction(number) * Fraction(zcdp.sigma) ** 2
    assert number * (1 - 1e-15) <= zcdp.zcdp.rho <= number


@pytest.mark.parametrize("eps", [0.0, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.1, 0.6])
def test_analytic_calibration(eps: float, delta: float) -> None:
    mechanism = Gaussian.for_approx(eps, delta, sensitivity=ONE)
    assert exact_profile(mechanism.claim.mu, eps) <= delta
    assert exact_profile(mechanism.claim.mu * (1 + (1e-8 if eps else 1e-2)), eps) > delta
    assert exact_profile(mechanism.claim.mu, eps) <= mechanism.approx(eps).delta <= delta


def exact_profile(mu: float, eps: float) -> float:
    """Balle, Wang 2018, Theorem 8, with 60 digits."""
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(eps)
        return float(mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m))


def test_relations_are_kept_apart() -> None:
    replaced = Laplace(scale=2.0, sensitivity=CELLS)
    added = Laplace(scale=2.0, sensitivity=CELLS, relation=Relation.ADD_OR_REMOVE_ONE)
    assert (replaced.claim.eps, added.claim.eps) == (1.0, 0.5)
    assert added.claim.relation is Relation.ADD_OR_REMOVE_ONE
    with pytest.raises(AccountingError, match="add-or-remove-one"):
        Laplace(scale=1.0, sensitivity=Sensitivity(replace=1), relation=Relation.ADD_OR_REMOVE_ONE)


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan, math.inf, True])
def test_scales_out_of_range_are_refused(wrong: float) -> None:
    with pytest.raises(ParameterError):
        Laplace(scale=wrong, sensitivity=ONE)
    with pytest.raises(ParameterError):
        Gaussian(sigma=wrong, sensitivity=ONE)
    with pytest.raises(ParameterError):
        Laplace.for_claim(wrong, sensitivity=ONE)
    with pytest.raises(ParameterError):
        Gaussian.for_gdp(wrong, sensitivity=ONE)


@pytest.mark.parametrize("data", [math.nan, [0.0, math.inf], "1", [1 + 2j]])
def test_data_that_is_not_finite_and_real_is_refused(data: Any) -> None:
    for mechanism in (Laplace(scale=1.0, sensitivity=ONE), Gaussian(sigma=1.0, sensitivity=ONE)):
        with pytest.raises(ParameterError, match="data"):
            mechanism.release(data, rng=rng(), size=2)


def test_infinite_outputs_have_a_ratio_and_nan_has_none() -> None:
    outputs, pair = np.array([[np.inf, 0.0], [-np.inf, 0.0]]), Pair([1.0, 0.0], [0.0, 0.0])
    assert Laplace(scale=2.0, sensitivity=ONE).log_ratio(outputs, pair).tolist() == [0.5, -0.5]
    gaussian = Gaussian(sigma=2.0, sensitivity=ONE)
    assert gaussian.log_ratio(outputs, pair).tolist() == [np.inf, -np.inf]
    assert gaussian.log_ratio(np.array([[np.inf, -np.inf]]), Pair([1.0, 1.0], [0.0, 0.0])).tolist() == [0.0]
    for mechanism in (Laplace(scale=2.0, sensitivity=ONE), gaussian):
        with pytest.raises(TargetError):
            mechanism.log_ratio(np.array([math.nan]), Pair(0.0, 1.0))
        with pytest.raises(TargetError):
            mechanism.log_ratio(np.zeros((3, 2)), Pair(0.0, 1.0))
