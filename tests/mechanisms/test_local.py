"""Local privatizer: laws, likelihood ratios, ledger, error bounds.

Sampling tests use level ALPHA and say what they would catch.
"""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from dpverify import PureDP, Relation
from dpverify.accounting.accountant import account, meets
from dpverify.errors import ParameterError, UsageError
from mechanisms.datasets.pairs import absence, constant, uniform, worst_replacement
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.local import Local
from mechanisms.toolbox import laplace_sums as noise_sums

ALPHA = 1e-6
ONE_STEP = CountLayout(H=1, S=1, A=2, B=1)
GAME = CountLayout(H=2, S=2, A=2, B=2)


def rng(seed=3):
    return np.random.default_rng(seed)


# ---- ledger


@pytest.mark.parametrize("layout", [ONE_STEP, GAME, CountLayout(H=6, S=4, A=2)])
@pytest.mark.parametrize("eps", [0.3, 1.0, 2.7])
@pytest.mark.parametrize("discrete", [False, True])
def test_as_printed_costs_two_eps_and_corrected_exactly_eps(layout, eps, discrete):
    printed = Local.as_printed(eps, layout, discrete=discrete)
    corrected = Local.corrected(eps, layout, discrete=discrete)
    assert account(printed) == pytest.approx(2 * eps, rel=1e-14)
    assert not meets(printed.claim, printed.ledger)
    assert meets(corrected.claim, corrected.ledger)
    assert not meets(corrected.claim.with_number(math.nextafter(math.nextafter(eps, 0), 0)), corrected.ledger)
    removal = PureDP(eps, relation=Relation.ADD_OR_REMOVE_ONE)
    assert meets(removal, printed.ledger)  # there the printed scale is right


# ---- releases and likelihood ratios


@pytest.mark.parametrize("pair_of", [worst_replacement, absence])
@pytest.mark.parametrize("discrete", [False, True])
def test_log_ratio_is_that_of_the_stated_law(pair_of, discrete):
    local = Local.as_printed(1.3, GAME, discrete=discrete)
    pair = pair_of(uniform(GAME, 1, rng=rng()), 0)
    outputs = local.release(pair.first, rng=rng(), size=50)
    law = stats.dlaplace(1 / local.scale) if discrete else stats.laplace(scale=local.scale)
    log_density = law.logpmf if discrete else law.logpdf
    first, second = (log_density(outputs - GAME.pack(each.counts())).sum(axis=1) for each in pair)
    np.testing.assert_allclose(local.log_ratio(outputs, pair), first - second, atol=1e-9)
    assert outputs.shape == (50, GAME.cells)


@pytest.mark.parametrize("discrete", [False, True])
def test_log_ratio_never_exceeds_the_account_and_reaches_it(discrete):
    local = Local.as_printed(1.0, ONE_STEP, discrete=discrete)
    pair = worst_replacement(constant(ONE_STEP, 1), 0)
    ratios = local.log_ratio(local.release(pair.first, rng=rng(), size=2000), pair)
    # Pr[all four cells beyond the two values] >= 2^-4 under the first dataset: missed with probability e^-125
    assert ratios.max() == pytest.approx(account(local), rel=1e-12)


@pytest.mark.parametrize("discrete", [False, True])
def test_messages_have_the_stated_law(discrete):
    local = Local.corrected(1.0, ONE_STEP, discrete=discrete)
    data = constant(ONE_STEP, 1)
    noise = (local.release(data, rng=rng(), size=20_000) - ONE_STEP.pack(data.counts())).ravel()
    # Kolmogorov at ALPHA with 80,000 values: critical distance 0.0095; scale x 1.05 is at 0.009, x 1.1 at 0.017
    assert not _rejected(noise, local.scale, discrete)
    assert _rejected(noise, 1.1 * local.scale, discrete)
    assert _rejected(noise, local.scale / 1.1, discrete)


def _rejected(noise, scale, discrete):
    if not discrete:
        return stats.kstest(noise, stats.laplace(scale=scale).cdf).pvalue < ALPHA
    cells = np.arange(-12, 13)
    law = stats.dlaplace(1 / scale)
    expected = np.concatenate([[law.cdf(-13)], law.pmf(cells), [law.sf(12)]]) * noise.size
    seen = np.histogram(noise, bins=[-np.inf, *(np.append(cells, 13) - 0.5), np.inf])[0]
    return stats.chisquare(seen, expected).pvalue < ALPHA


# ---- sums


def test_sum_of_two_laplace_has_its_closed_form():
    drawn = noise_sums.laplace_sum(2.0, 2, (100_000,), rng=rng())

    def cdf(x, scale=2.0):
        u = np.abs(x) / scale
        tail = np.exp(-u) * (2 + u) / 4
        return np.where(x > 0, 1 - tail, tail)

    # critical distance at ALPHA 0.0085; another scale x 1.1 is at 0.018
    assert stats.kstest(drawn, cdf).pvalue > ALPHA
    assert stats.kstest(drawn, lambda x: cdf(x, 2.2)).pvalue < ALPHA


@pytest.mark.parametrize("terms", [2, 5])
def test_sum_of_discrete_laplace_is_the_convolution(terms):
    scale, reach = 1.5, 80
    law = stats.dlaplace(1 / scale).pmf(np.arange(-reach, reach + 1))
    total = law
    for _ in range(terms - 1):
        total = np.convolve(total, law)
    middle = len(total) // 2
    core = total[middle - 6 : middle + 7]
    drawn = noise_sums.discrete_laplace_sum(scale, terms, (50_000,), rng=rng())
    seen = np.array([np.sum(drawn == k) for k in range(-6, 7)])
    seen, core = np.append(seen, 50_000 - seen.sum()), np.append(core, 1 - core.sum())
    assert stats.chisquare(seen, core * 50_000).pvalue > ALPHA
    assert stats.chisquare(seen, np.roll(core, 1) * 50_000).pvalue < ALPHA


def laplace_sum_tail(terms, t):
    """Pr[|sum of `terms` Lap(1)| > t], by quadrature over the difference of two gammas."""
    gamma = stats.gamma(terms)
    return 2 * integrate.quad(lambda y: gamma.sf(t + y) * gamma.pdf(y), 0, terms + 60 + 12 * math.sqrt(terms))[0]


@pytest.mark.parametrize("terms", [1, 3, 50, 1000])
@pytest.mark.parametrize("log_odds", [0.5, 3.0, 12.0])
def test_the_tail_bound_of_sums_holds_and_is_not_vacuous(terms, log_odds):
    t = noise_sums.laplace_sum_bound(1.0, terms, log_odds)
    assert laplace_sum_tail(terms, t) <= 2 * math.exp(-log_odds)
    if log_odds >= 3:
        assert laplace_sum_tail(terms, t / 3) > 2 * math.exp(-log_odds)  # a third of it would not do


def test_batch_counts_have_the_law_of_summed_messages():
    local = Local.corrected(1.0, ONE_STEP, users=4)
    data = uniform(ONE_STEP, 4, rng=rng())
    noise = ONE_STEP.pack(local.private_counts(data, rng=rng(), size=10_000)) - ONE_STEP.pack(data.counts())
    summed = rng(8).laplace(scale=local.scale, size=(10_000 * ONE_STEP.cells, 4)).sum(axis=1)
    # two-sample Kolmogorov, 40,000 each, critical distance 0.019; one user fewer is at 0.035
    assert stats.ks_2samp(noise.ravel(), summed).pvalue > ALPHA
    fewer = rng(9).laplace(scale=local.scale, size=(10_000 * ONE_STEP.cells, 3)).sum(axis=1)
    assert stats.ks_2samp(noise.ravel(), fewer).pvalue < ALPHA
    with pytest.raises(UsageError, match="5 users"):
        local.private_counts(uniform(ONE_STEP, 5, rng=rng()), rng=rng(), size=1)


# ---- stream and error bounds


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_impossible_numbers_are_refused(bad):
    with pytest.raises(ParameterError):
        Local.as_printed(bad, GAME)
    with pytest.raises(ParameterError):
        Local.corrected(bad, GAME)
    with pytest.raises(ParameterError):
        Local.corrected(1.0, GAME).noise_bound(bad)
