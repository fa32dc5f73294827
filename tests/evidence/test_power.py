"""Power is never overstated, close to the truth, and inverse to the number of trials."""

import math

import numpy as np
import pytest
from scipy import special, stats

from dpverify.claims.claim import ZCDP
from dpverify.claims.profiles import zcdp_accuracy_limit
from dpverify.errors import ParameterError
from dpverify.evidence import lower_bound
from dpverify.evidence.bounds import BinomialTest, TwoStepTest
from dpverify.evidence.lower_bound import detectable_eps, trials_needed
from dpverify.evidence.tally import Tally

ASKED = {"guess_fraction": 0.3, "claim_eps": 1.0, "significance": 0.05}


def exact_power(test, trials, fraction, true_eps, claim_eps, delta, significance):
    """Sum over all outcomes of the model of `power`."""
    rest = special.expit(-true_eps) * (1 - delta / fraction)
    caught = 0.0
    for j in range(trials + 1):
        weight = stats.binom.pmf(j, trials, fraction * rest)
        if weight < 1e-10:
            continue
        v = np.arange(trials - j + 1)
        law = stats.binom.pmf(v, trials - j, fraction * (1 - rest) / (1 - fraction * rest))
        level = {"delta": delta, "significance": significance}
        caught += weight * sum(
            law[k] for k in v if law[k] > 1e-9 and test.eps_lower(Tally.of(int(k), j, trials), **level) > claim_eps
        )
    return caught


@pytest.mark.parametrize(("test", "delta"), [(BinomialTest(), 0.0), (TwoStepTest(), 1e-3)], ids=["pure", "approx"])
def test_detectable_eps_has_its_power_and_little_more(test, delta):
    eps = detectable_eps(test, trials=400, delta=delta, **ASKED)
    assert 0.95 <= exact_power(test, 400, 0.3, eps, 1.0, delta, 0.05) <= 0.965
    assert exact_power(test, 400, 0.3, 0.97 * eps, 1.0, delta, 0.05) < 0.95


@pytest.mark.parametrize(
    ("test", "delta"),
    [(BinomialTest(), 0.0), (TwoStepTest(), 1e-3)],
    ids=["binomial", "threshold"],
)
def test_the_short_cut_by_p_values_decides_as_the_bound_does(test, delta, monkeypatch):
    """At every attained pair of counts: with _CLEAR infinite, eps_lower decides alone."""
    asked = {"claim_eps": 0.7, "delta": delta, "significance": 0.05}
    counts = [(r, w) for n in (30, 200) for w in range(0, 20, 3) for r in range(0, n - w, max(1, n // 25))]
    found = []
    for clear in (lower_bound._CLEAR, math.inf):
        monkeypatch.setattr(lower_bound, "_CLEAR", clear)
        rejects = lower_bound._rejection(test, one_sided=False, **asked)
        found.append([rejects(r, w, n) for n in (200, 1000) for r, w in counts])
    assert found[0] == found[1]
    assert {True, False} == set(found[0])


def test_trials_needed_inverts_detectable_eps():
    for test, delta in ((BinomialTest(), 0.0), (TwoStepTest(), 1e-5)):
        eps = detectable_eps(test, trials=20_000, delta=delta, **ASKED)
        assert trials_needed(test, true_eps=eps, delta=delta, **ASKED) == pytest.approx(20_000, rel=0.02)


def test_trials_needed_is_of_the_published_size():
    # randomised response with true eps 1.25, 1.5 and 2 against a claim of 1: planning value 3.09/KL for 80 %
    for true_eps in (1.25, 1.5, 2.0):
        pi, r = special.expit(true_eps), special.expit(1.0)
        kl = pi * math.log(pi / r) + (1 - pi) * math.log((1 - pi) / (1 - r))
        needed = trials_needed(
            BinomialTest(),
            true_eps=true_eps,
            guess_fraction=1.0,
            claim_eps=1.0,
            delta=0.0,
            significance=0.05,
            power=0.8,
        )
        assert needed == pytest.approx(3.09 / kl, rel=0.12)


def test_impossible_requests_are_refused():
    good = {"trials": 100, "delta": 0.0, **ASKED}
    for name, value in [
        ("trials", 0),
        ("guess_fraction", math.nan),
        ("guess_fraction", 0.0),
        ("guess_fraction", 1.5),
        ("claim_eps", math.nan),
        ("significance", 0.0),
        ("power", 1.0),
        ("power", math.nan),
        ("delta", 1.0),
    ]:
        with pytest.raises(ParameterError):
            detectable_eps(BinomialTest(), **{**good, name: value})
    with pytest.raises(ParameterError, match="true_eps"):
        trials_needed(BinomialTest(), true_eps=1.0, delta=0.0, **ASKED)


def test_claims_too_weak_to_be_refuted_end_in_infinity():
    """rho = 20 and beyond: rates of wrong guesses underflow, and 1 - w rounds to 1."""
    options = {"trials": 1000, "guess_fraction": 1.0, "significance": 0.05, "power": 0.95}
    assert lower_bound.detectable_number(ZCDP(20.0), **options) == math.inf
    assert zcdp_accuracy_limit(100.0, 1e-17) == 1.0
