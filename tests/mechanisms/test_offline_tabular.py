"""DP-APVI's private counts: ledgers, likelihood ratios, and which constant E_rho needs."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dpverify import PureDP, Relation, ZCDP
from dpverify.accounting.accountant import account, meets, rho_upper
from dpverify.errors import ParameterError
from mechanisms.datasets.pairs import absence, uniform, worst_replacement
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.offline_tabular import OfflineTabularGaussian, OfflineTabularLaplace
from mechanisms.privatizers.protocol import BatchPrivatizer

ALPHA = 1e-6
SMALL = CountLayout(H=2, S=2, A=2)
SIZES = [CountLayout(H=H, S=S, A=A) for H, S, A in itertools.product((1, 5, 20), (1, 2, 10), (1, 4))]


def rng(seed=3):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("layout", [each for each in SIZES if each.S > 1 or each.A > 1], ids=str)
@pytest.mark.parametrize("number", [0.1, 1.0, 3.3])
def test_both_claims_are_met_exactly_and_nothing_smaller_is(layout, number):
    gaussian = OfflineTabularGaussian(layout=layout, rho=number)
    laplace = OfflineTabularLaplace(layout=layout, eps=number)
    for each in (gaussian, laplace):
        assert meets(each.claim, each.ledger)
        assert not meets(each.claim.with_number(number * (1 - 1e-12)), each.ledger)
    removal = Relation.ADD_OR_REMOVE_ONE
    assert rho_upper(gaussian.ledger, relation=removal) == pytest.approx(number / 2, rel=1e-12)
    assert account(laplace, relation=removal) == pytest.approx(number / 2, rel=1e-12)
    assert isinstance(gaussian.claim, ZCDP)
    assert isinstance(laplace.claim, PureDP)
    assert isinstance(gaussian, BatchPrivatizer)


@pytest.mark.parametrize("pair_of", [worst_replacement, absence])
def test_log_ratios_are_those_of_the_densities(pair_of):
    pair = pair_of(uniform(SMALL, 6, rng=rng()), 3)
    gaussian, laplace = OfflineTabularGaussian(layout=SMALL, rho=0.7), OfflineTabularLaplace(layout=SMALL, eps=0.7)
    assert gaussian.sigma == pytest.approx(math.sqrt(4 / 0.7))
    assert laplace.scale == pytest.approx(8 / 0.7)
    for each, law in [(gaussian, stats.norm(scale=gaussian.sigma)), (laplace, stats.laplace(scale=laplace.scale))]:
        outputs = each.release(pair.first, rng=rng(), size=40)
        assert outputs.shape == (40, SMALL.cells)
        first, second = (law.logpdf(outputs - SMALL.pack(data.counts())).sum(axis=1) for data in pair)
        np.testing.assert_allclose(each.log_ratio(outputs, pair), first - second, atol=1e-9)


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_noise_has_the_stated_law_and_truncation_keeps_counts_non_negative(kind):
    each = (
        OfflineTabularGaussian(layout=SMALL, rho=0.5)
        if kind == "gaussian"
        else OfflineTabularLaplace(layout=SMALL, eps=0.5)
    )
    scale = each.sigma if kind == "gaussian" else each.scale
    law = stats.norm if kind == "gaussian" else stats.laplace
    data = uniform(SMALL, 5, rng=rng())
    noise = (each.release(data, rng=rng(), size=3000) - SMALL.pack(data.counts())).ravel()
    # Kolmogorov with 72,000 values: critical distance at ALPHA 0.010; another scale by 1.1 is at 0.017 or more
    assert stats.kstest(noise, law(scale=scale).cdf).pvalue > ALPHA
    assert stats.kstest(noise, law(scale=1.1 * scale).cdf).pvalue < ALPHA
    truncated = each.private_counts(data, rng=rng(), size=3000)
    raw = SMALL.unpack(each.release(data, rng=rng(), size=3000))
    np.testing.assert_array_equal(truncated.visits, np.maximum(raw.visits, 0))
    assert (truncated.visits == 0).any()


@pytest.mark.parametrize("beta", [0.5, 0.1, 1e-6])
def test_noise_bound_is_the_exact_quantile_of_the_largest_noise(beta):
    gaussian, laplace = OfflineTabularGaussian(layout=SMALL, rho=0.7), OfflineTabularLaplace(layout=SMALL, eps=0.7)
    for each, law in [(gaussian, stats.norm(scale=gaussian.sigma)), (laplace, stats.laplace(scale=laplace.scale))]:
        assert -np.expm1(SMALL.cells * np.log1p(-2 * law.sf(each.noise_bound(beta)))) == pytest.approx(beta, rel=1e-6)
        assert each.error_bound(beta) == 2 * each.noise_bound(beta)
        assert each.error_bound(beta) <= each.explicit_error_bound(beta)


def tail_of_integers(law, bound):
    values = np.arange(-4000, 4001)
    return law[np.abs(values) > bound].sum()


@pytest.mark.parametrize("beta", [0.3, 1e-3])
@pytest.mark.parametrize("number", [0.2, 1.0, 40.0])
def test_discrete_noise_keeps_the_claims_and_its_error_bound(number, beta):
    values = np.arange(-4000, 4001)
    gaussian = OfflineTabularGaussian(layout=SMALL, rho=number, discrete=True)
    laplace = OfflineTabularLaplace(layout=SMALL, eps=number, discrete=True)
    weights = [np.exp(-(values**2) / (2 * gaussian.sigma**2)), np.exp(-np.abs(values) / laplace.scale)]
    for each, weight in zip((gaussian, laplace), weights, strict=True):
        assert meets(each.claim, each.ledger)
        law = weight / weight.sum()
        bound = each.noise_bound(beta)
        assert -np.expm1(SMALL.cells * np.log1p(-tail_of_integers(law, bound))) <= beta
        if bound >= 2:
            assert -np.expm1(SMALL.cells * np.log1p(-tail_of_integers(law, bound - 2))) > beta


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_impossible_numbers_are_refused(bad):
    with pytest.raises(ParameterError):
        OfflineTabularGaussian(layout=SMALL, rho=bad)
    with pytest.raises(ParameterError):
        OfflineTabularLaplace(layout=SMALL, eps=bad)
    with pytest.raises(ParameterError):
        OfflineTabularGaussian(layout=SMALL, rho=1.0).noise_bound(bad)
    with pytest.raises(ParameterError, match="rewards"):
        OfflineTabularLaplace(layout=CountLayout(H=1, S=1, A=2, rewards=True), eps=1.0)
