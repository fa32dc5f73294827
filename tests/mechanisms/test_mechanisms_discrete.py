"""Exact integer noise: its law, its coins, its divergences."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import special, stats

from dpverify import Pair
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError
from dpverify.ledger.events import Sensitivity, Shift
from mechanisms.releases.discrete_gaussian import DiscreteGaussian
from mechanisms.releases.discrete_laplace import DiscreteLaplace
from mechanisms.toolbox import samplers as sampling

ONE = Sensitivity(replace=1, add_remove=1)
LEVEL = 1e-6
Vector = npt.NDArray[Any]


def rng(seed: int = 0) -> np.random.Generator:
    return stream(seed, Stage.SHAPE)


def laplace_law(k: Vector, scale: float) -> Vector:
    return math.tanh(1 / (2 * scale)) * np.exp(-np.abs(k) / scale)


def gaussian_law(k: Vector, sigma: float) -> Vector:
    wide = np.arange(-int(12 * sigma) - 20, int(12 * sigma) + 21)
    return np.exp(-(k**2) / (2 * sigma**2)) / np.exp(-(wide**2) / (2 * sigma**2)).sum()


def fit(draws: Vector, law: Callable[[Vector], Vector]) -> float:
    """p-value of a chi-square test on all integers expected at least 30 times, the two tails pooled."""
    reach = 0
    while len(draws) * law(np.array([reach + 1]))[0] >= 30:
        reach += 1
    k = np.arange(-reach, reach + 1)
    expected = len(draws) * law(k)
    tail = (len(draws) - expected.sum()) / 2
    observed = [np.sum(draws < -reach), *(np.sum(draws == each) for each in k), np.sum(draws > reach)]
    expected = np.concatenate([[tail], expected, [tail]])
    kept = expected >= 10  # tails that are too thin join the middle
    observed, expected = np.array(observed, dtype=float), np.array(expected)
    observed[len(kept) // 2] += observed[~kept].sum()
    expected[len(kept) // 2] += expected[~kept].sum()
    return float(stats.chisquare(observed[kept], expected[kept]).pvalue)


@pytest.mark.parametrize("scale", [0.2, 0.5, 1.0, 4 / 3, 7.3, 0.1 + 0.2, 40.0])
def test_discrete_laplace_law(scale: float) -> None:
    """Chi-square, n = 300,000, level 1e-6. Power: a scale 4 % off either way is caught (checked on the same draws;
    its probability is above 0.999 by the noncentrality n sum (p - q)^2/q >= 300,000 * 0.0007).
    """
    draws = sampling.discrete_laplace(rng(1), 300_000, scale)
    assert fit(draws, lambda k: laplace_law(k, scale)) > LEVEL
    assert fit(draws, lambda k: laplace_law(k, scale * 1.04)) < LEVEL
    assert fit(draws, lambda k: laplace_law(k, scale / 1.04)) < LEVEL


@pytest.mark.parametrize("sigma", [0.35, 0.6, 1.0, 2.7, 15.0 + 1 / 3])
def test_discrete_gaussian_law(sigma: float) -> None:
    """Chi-square, n = 300,000, level 1e-6. Power: a sigma 3 % off either way is caught (checked on the same draws)."""
    draws = sampling.discrete_gaussian(rng(2), 300_000, sigma)
    assert fit(draws, lambda k: gaussian_law(k, sigma)) > LEVEL
    assert fit(draws, lambda k: gaussian_law(k, sigma * 1.03)) < LEVEL
    assert fit(draws, lambda k: gaussian_law(k, sigma / 1.03)) < LEVEL


@pytest.mark.parametrize("draw", [lambda r: sampling.discrete_laplace(r, 400, 1.3)])
def test_float_coins_agree_with_exact_coins(draw: Callable[[Any], Vector], monkeypatch: pytest.MonkeyPatch) -> None:
    """With the margin at 2 every coin is decided in exact fractions, from the same 53 bits: the same draws."""
    fast = draw(rng(5))
    monkeypatch.setattr(sampling, "_MARGIN", 2.0)
    assert np.array_equal(fast, draw(rng(5)))


def test_undecided_coins_are_finished_with_more_bits() -> None:
    """53 bits that straddle exp(-g): heads with the fraction of the interval below it. Exact binomial test at 1e-6."""
    g = Fraction(7, 10)
    with_more = math.floor(Fraction(math.exp(-0.7)) * 2**53)
    import decimal

    with decimal.localcontext(prec=60):
        share = float(Fraction((-decimal.Decimal("0.7")).exp()) * 2**53 - with_more)
    if not 0 < share < 1:  # math.exp is not correctly rounded everywhere
        with_more += math.floor(share)
        share -= math.floor(share)
    source = rng(7)
    heads = sum(sampling._decide(with_more, g, source) for _ in range(3000))
    assert stats.binomtest(heads, 3000, share).pvalue > LEVEL
    assert sampling._decide(with_more - 1, g, source)
    assert not sampling._decide(with_more + 1, g, source)


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan, math.inf, 2.0**-10, 2.0**53])
def test_scales_that_cannot_be_exact_are_refused(wrong: float) -> None:
    with pytest.raises(ParameterError):
        DiscreteLaplace(scale=wrong, sensitivity=ONE)
    with pytest.raises(ParameterError):
        DiscreteGaussian(sigma=wrong, sensitivity=ONE)


def test_log_ratios_are_those_of_the_laws() -> None:
    k = np.arange(-40, 41)
    pair = Pair(2, -1)
    laplace = DiscreteLaplace(scale=1.7, sensitivity=ONE).log_ratio(k, pair)
    assert np.allclose(laplace, np.log(laplace_law(k - 2, 1.7) / laplace_law(k + 1, 1.7)), atol=1e-10)
    gaussian = DiscreteGaussian(sigma=2.3, sensitivity=ONE).log_ratio(k, pair)
    assert np.allclose(gaussian, np.log(gaussian_law(k - 2, 2.3)) - np.log(gaussian_law(k + 1, 2.3)), atol=1e-10)
    grid = np.stack(np.meshgrid(k, k), axis=-1).reshape(-1, 2)
    both = DiscreteLaplace(scale=1.7, sensitivity=ONE).log_ratio(grid, Pair([2, 5], [-1, 5]))
    assert np.array_equal(both, np.array([laplace[x + 40] for x in grid[:, 0]]))


@pytest.mark.parametrize("eps", [0.1, 1.0, 2.5])
def test_discrete_laplace_claim_is_its_divergence(eps: float) -> None:
    mechanism = DiscreteLaplace.for_claim(eps, sensitivity=Sensitivity(replace=3))
    ratio = mechanism.log_ratio(np.arange(-50, 51), Pair(0, 3))
    assert ratio.max() == -ratio.min() == pytest.approx(eps, rel=1e-14)
    assert Fraction(3) / Fraction(mechanism.scale) <= Fraction(eps)
    assert mechanism.claim.eps <= eps


@pytest.mark.parametrize("sigma", [0.4, 1.0, 3.0])
def test_discrete_gaussian_claim_bounds_every_renyi_divergence(sigma: float) -> None:
    """CKS 2020, Theorem 14 on a pair at distance 1: D_a <= a rho, and nearly equal where a is whole."""
    mechanism = DiscreteGaussian(sigma=sigma, sensitivity=ONE)
    k = np.arange(-200, 201)
    log_p = -(k**2) / (2 * sigma**2) - special.logsumexp(-(k**2) / (2 * sigma**2))
    log_q = np.roll(log_p, 1)
    log_q[0] = log_p[0]
    for order in (1.1, 1.5, 2.0, 3.0, 8.0):
        divergence = special.logsumexp(order * log_p + (1 - order) * log_q) / (order - 1)
        assert divergence <= order * mechanism.claim.rho * (1 + 1e-12)
        if order == int(order):
            assert divergence == pytest.approx(order * mechanism.claim.rho, rel=1e-9)


def test_discrete_gaussian_calibration_is_exact() -> None:
    for rho in (0.001, 0.05, 0.3, 0.5, 7.7):
        mechanism = DiscreteGaussian.for_claim(rho, sensitivity=Sensitivity(replace=Shift(1, 6)))
        assert Fraction(6) <= 2 * Fraction(rho) * Fraction(mechanism.sigma) ** 2
        assert rho * (1 - 1e-15) <= mechanism.claim.rho <= rho


@pytest.mark.parametrize("data", [2.0, [1, 2.5], 2**61, "x"])
def test_only_integers_are_data(data: Any) -> None:
    for mechanism in (DiscreteLaplace(scale=1.0, sensitivity=ONE), DiscreteGaussian(sigma=1.0, sensitivity=ONE)):
        with pytest.raises(ParameterError, match="data"):
            mechanism.release(data, rng=rng(), size=2)
