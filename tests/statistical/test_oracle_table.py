"""Mean certified bound with the true likelihood ratio and a good threshold: how tight the tests are.

Means over all outcomes (one guessed count) or over 600 seeded draws of the counts; the reference values
are means of 400 runs of an independent prototype, so they carry about 1 % of noise themselves.
"""

import numpy as np
import pytest
from scipy import special, stats

from dpverify.claims.claim import GaussianDP
from dpverify.evidence.bounds import BinomialTest, CurveTest, TwoStepTest, WeightedTest
from dpverify.evidence.tally import Tally

LEVEL = {"significance": 0.05}


def mean_over_draws(test, trials, right, wrong, delta, seed=11, draws=600):
    """Mean eps_lower when a trial is right or wrong at these rates, per level."""
    right, wrong = np.atleast_1d(right), np.atleast_1d(wrong)
    law = np.concatenate([right, wrong, [1 - right.sum() - wrong.sum()]])
    counts = np.random.default_rng(seed).multinomial(trials, law, size=draws)
    k = right.size
    return np.mean([test.eps_lower(Tally(trials, row[:k], row[k : 2 * k]), delta=delta, **LEVEL) for row in counts])


@pytest.mark.parametrize(("trials", "reference"), [(10**3, 0.882), (10**4, 0.964)])
def test_randomised_response(trials, reference):
    v = np.arange(trials + 1)
    law = stats.binom.pmf(v, trials, special.expit(1.0))
    mean = sum(
        law[k] * BinomialTest().eps_lower(Tally.of(int(k), trials - int(k), trials), delta=0.0, **LEVEL)
        for k in v[law > 1e-9]
    )
    assert mean == pytest.approx(reference, abs=0.01)


@pytest.mark.parametrize(("eps", "trials", "reference"), [(1.0, 10**3, 0.859), (1.0, 10**4, 0.955), (4.0, 10**4, 3.83)])
def test_laplace_outside_its_flat_part(eps, trials, reference):
    # beyond the two answers the log ratio is +-eps: half of the mass of one side, e^-eps/2 of the other
    mean = mean_over_draws(BinomialTest(), trials, 0.5, 0.5 * np.exp(-eps), 0.0)
    assert mean == pytest.approx(reference, abs=0.012 * eps)


MU = 0.268  # N(0,1) against N(MU,1) is (1, 1e-5)-DP


def gaussian_rates(edges):
    """Rates of right and wrong guesses between thresholds edges[0] > edges[1] > ... on |x - MU/2|."""
    right = np.diff(stats.norm.sf(np.array(edges) - MU / 2))
    wrong = np.diff(stats.norm.sf(np.array(edges) + MU / 2))
    return right, wrong


@pytest.mark.parametrize(("trials", "fraction", "reference"), [(10**3, 0.16, 0.222), (10**4, 0.042, 0.479)])
def test_gaussian_tail(trials, fraction, reference):
    edge = stats.norm.isf(fraction / 2)
    right, wrong = gaussian_rates([np.inf, edge])
    mean = mean_over_draws(TwoStepTest(), trials, right, wrong, 1e-5)
    assert mean == pytest.approx(reference, rel=0.06)


def test_weights_gain_on_a_gaussian():
    trials = 10**3
    edges = [np.inf, *stats.norm.isf(np.array([0.005, 0.02, 0.05, 0.1, 0.15, 0.22, 0.3, 0.4]))]
    right, wrong = gaussian_rates(edges)
    # the same 150 draws for all: a paired comparison
    best = max(mean_over_draws(BinomialTest(k), trials, right, wrong, 0.0, draws=150) for k in range(1, 9))
    excess = np.maximum(
        np.log(right / wrong) - 0.75 * best, 0.0
    )  # the likelihood ratio against a little less than best
    weighted = WeightedTest(tuple(np.rint(8 * excess / excess.max()).astype(int).tolist()))
    assert mean_over_draws(weighted, trials, right, wrong, 0.0, draws=150) > 1.02 * best


@pytest.mark.parametrize(
    ("mu", "trials", "reference"), [(0.268, 10**3, 0.137), (0.268, 10**4, 0.227), (1.0, 10**3, 0.857)]
)
def test_sign_test_of_gaussian_claims(mu, trials, reference):
    v = np.arange(trials + 1)
    law = stats.binom.pmf(v, trials, stats.norm.cdf(mu / 2))
    kept = v[law > 1e-4]
    test = CurveTest(GaussianDP(mu), abstains=False)
    mean = sum(law[k] * test.number_lower(Tally.of(int(k), trials - int(k), trials), **LEVEL) for k in kept)
    assert mean / law[kept].sum() == pytest.approx(reference, abs=0.006)
