"""Type-I error of the bounds at least-favourable mechanisms, by summing over every outcome: no sampling.

The mechanism "with probability delta reveal the coin, else eps-randomised response", guessed on a fraction
tau of the trials, has c = e^eps w + d and c + w = tau: the boundary of H0(eps, delta), where an error is
most likely. A certificate is wrong when eps_lower > eps. Level 0.05 throughout.
"""

import math

import numpy as np
import pytest
from scipy import special, stats

from dpverify.claims.claim import GaussianDP, PureDP
from dpverify.evidence.bounds import (
    BinomialTest,
    CurveTest,
    TwoStepTest,
    UnconditionalTest,
    WeightedTest,
)
from dpverify.evidence.tally import Tally

ALPHA = 0.05


def boundary(eps, d, tau):
    """Rates (c, w) with c = e^eps w + d and c + w = tau."""
    w = special.expit(-eps) * max(tau - d, 0.0)
    return tau - w, w


def error_by_enumeration(rejects, n, c, w):
    """Pr[rejects(v, j)] for v right and j wrong guesses; no monotonicity is assumed."""
    total = 0.0
    for j in range(n + 1):
        weight = stats.binom.pmf(j, n, w)
        if weight < 1e-12:
            continue
        v = np.arange(n - j + 1)
        law = weight * stats.binom.pmf(v, n - j, min(1.0, c / (1 - w)))
        total += sum(law[k] for k in v if law[k] > 1e-12 and rejects(int(k), j))
    return total


def error_of_monotone(rejects, n, c, w, mass=1e-7):
    """The same for a region {v >= v_j}, v_j found by bisection; wrong counts of less `mass` are counted in."""
    total = 0.0
    for j in range(n + 1):
        weight = stats.binom.pmf(j, n, w)
        if weight < mass:
            total += weight
            continue
        low, high = -1, n - j + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if rejects(middle, j) else (middle, high)
        total += weight * stats.binom.sf(high - 1, n - j, min(1.0, c / (1 - w)))
    return total


def false_certificate(test, n, eps, delta, *, one_sided=False):
    def rejects(v, j):
        tally = Tally.of(v, j, n, one_sided=one_sided)
        return test.eps_lower(tally, delta=delta, significance=ALPHA) > eps

    return rejects


@pytest.mark.parametrize("eps", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("tau", [1.0, 0.3, 0.05])
def test_binomial_keeps_its_level(eps, tau):
    for n in (60, 200):
        c, w = boundary(eps, 0.0, tau)
        assert error_by_enumeration(false_certificate(BinomialTest(), n, eps, 0.0), n, c, w) <= ALPHA
    c, w = boundary(eps, 0.0, tau)
    error = error_of_monotone(false_certificate(BinomialTest(), 1000, eps, 0.0), 1000, c, w)
    assert error <= ALPHA
    if tau == 1.0 and eps <= 1:
        assert error > 0.04  # and does not waste it


@pytest.mark.parametrize("test", [TwoStepTest(), WeightedTest((1,))], ids=lambda each: each.name)
@pytest.mark.parametrize("one_sided", [False, True])
@pytest.mark.parametrize(
    ("eps", "delta", "tau"), [(0.1, 0.01, 1.0), (1.0, 0.05, 0.5), (1.0, 0.01, 0.1), (4.0, 0.02, 0.3)]
)
def test_slack_is_accounted_for(test, one_sided, eps, delta, tau):
    n, d = 100, delta / 2 if one_sided else delta
    tau = tau / 2 if one_sided else tau
    c, w = boundary(eps, d, tau)
    error = error_by_enumeration(false_certificate(test, n, eps, delta, one_sided=one_sided), n, c, w)
    assert error <= ALPHA


def test_everything_that_is_guessed_is_revealed():
    n, delta, eps = 200, 0.05, 0.5
    for test in (TwoStepTest(), WeightedTest((1,)), UnconditionalTest()):
        assert error_of_monotone(false_certificate(test, n, eps, delta), n, delta, 0.0) <= ALPHA


def test_the_enumeration_sees_an_ignored_slack():
    # n delta = 10 revealed trials and a test that does not know them: the error is far above its level
    n, delta, eps = 1000, 0.01, 1.0
    c, w = boundary(eps, delta, delta)
    ignored = error_of_monotone(false_certificate(BinomialTest(), n, eps, 0.0), n, c, w)
    known = error_of_monotone(false_certificate(TwoStepTest(), n, eps, delta), n, c, w)
    assert ignored > 0.5
    assert known <= ALPHA


@pytest.mark.slow
@pytest.mark.parametrize(("eps", "delta", "tau"), [(0.1, 0.01, 0.3), (1.0, 0.01, 0.1), (4.0, 0.005, 0.3)])
def test_unconditional_keeps_its_level_at_a_thousand_trials(eps, delta, tau):
    n, test = 1000, UnconditionalTest()
    c, w = boundary(eps, delta, tau)

    def rejects(v, j):
        return test.p_value(Tally.of(v, j, n), eps=eps, delta=delta) <= ALPHA

    assert error_of_monotone(rejects, n, c, w, mass=1e-4) <= ALPHA


@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
def test_sign_test_of_a_gaussian_claim_is_exact(mu):
    n, rate = 500, stats.norm.cdf(mu / 2)
    test = CurveTest(GaussianDP(mu), abstains=False)
    rejected = [v for v in range(n + 1) if test.claim_p_value(Tally.of(v, n - v, n)) <= ALPHA]
    error = stats.binom.pmf(rejected, n, rate).sum()
    assert error <= ALPHA
    assert rejected == list(range(rejected[0], n + 1))
    assert stats.binom.sf(rejected[0] - 2, n, rate) > ALPHA  # the largest region of this level


def test_an_event_that_nearly_always_happens_refutes_no_true_claim():
    # one-sided: Q(E) = 0.8 and P(E) = 1 - 0.2 e^-eps, the most that eps-DP allows there
    n, claim = 60, PureDP(0.3)
    test = CurveTest(claim)

    def rejects(v, j):
        return test.claim_p_value(Tally.of(v, j, n, one_sided=True)) <= ALPHA

    assert error_of_monotone(rejects, n, (1 - 0.2 * math.exp(-0.3)) / 2, 0.4, mass=1e-3) <= ALPHA
