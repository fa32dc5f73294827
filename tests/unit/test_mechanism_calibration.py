"""Smallest noise for a claim: exact where a formula exists, smaller than the formula where the claim is weaker."""

import math

import numpy as np
import pytest

from dpverify import ApproxDP, PureDP, Relation, ZCDP
from dpverify.accounting.accountant import meets
from dpverify.base.errors import AccountingError, ParameterError
from mechanisms.datasets.pairs import constant, worst_replacement
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.linear_noise import LinearNoise
from mechanisms.privatizers.local import Local
from mechanisms.privatizers.no_privacy import NoPrivacy
from mechanisms.privatizers.offline_linear import OfflineLinear
from mechanisms.privatizers.protocol import BatchPrivatizer, OnlinePrivatizer
from mechanisms.toolbox.noise_for_claim import calibrate

LAYOUT = CountLayout(H=3, S=2, A=2)


def local(scale):
    return Local(layout=LAYOUT, eps=1.0, scale=scale)


@pytest.mark.parametrize(("relation", "scale"), [(Relation.REPLACE_ONE, 12), (Relation.ADD_OR_REMOVE_ONE, 6)])
def test_pure_claims_reproduce_the_formula(relation, scale):
    found = calibrate(local, PureDP(1.0, relation=relation), low=0.1, high=100)
    assert scale <= found.scale <= scale * (1 + 2e-6)


def test_weaker_claims_need_less_noise_and_are_met():
    claim = ApproxDP(1.0, 1e-3)
    found = calibrate(local, claim, low=0.1, high=100, tolerance=1e-2)
    assert meets(claim, found.ledger)
    assert found.scale < 11
    assert not meets(claim, local(found.scale / 1.02).ledger)


def test_dp_vapvi_needs_five_percent_less_noise_than_the_paper_adds():
    values = np.zeros((1, 1))

    def build(noise):
        printed = LinearNoise.as_printed(1 / noise, 1, 2)
        return OfflineLinear(noise=printed, features=np.eye(2)[None], values=values)

    found = calibrate(build, ZCDP(1.0), low=0.1, high=10)
    assert 1 / found.noise.rho == pytest.approx(0.903125, rel=1e-5)
    assert math.sqrt(0.903125) == pytest.approx(0.95, abs=1e-3)  # of the deviation


def test_what_suffices_is_returned_and_what_does_not_is_an_error():
    assert calibrate(local, PureDP(1.0), low=20, high=30).scale == 20
    with pytest.raises(AccountingError, match="raise `high`"):
        calibrate(local, PureDP(1.0), low=1, high=2)
    for low, high in [(0, 1), (2, 1), (math.nan, 1), (1, math.inf)]:
        with pytest.raises(ParameterError):
            calibrate(local, PureDP(1.0), low=low, high=high)


def test_the_baseline_is_exact_keeps_the_protocols_and_proves_nothing():
    layout = CountLayout(H=2, S=2, A=2, rewards=True)
    baseline = NoPrivacy(layout=layout)
    assert isinstance(baseline, BatchPrivatizer)
    assert isinstance(baseline, OnlinePrivatizer)
    assert not meets(baseline.claim, baseline.ledger)
    pair = worst_replacement(constant(layout, 3), 1)
    rng = np.random.default_rng(0)
    exact = pair.first.counts(rewards=True)
    np.testing.assert_array_equal(baseline.private_counts(pair.first, rng=rng, size=2).rewards[1], exact.rewards)
    assert baseline.error_bound(0.1) == 0
    stream, each = baseline.stream(1, rng=rng), pair.first.per_user(rewards=True)
    for user in range(3):
        last = stream.feed(each[user : user + 1])
    np.testing.assert_array_equal(last.transitions[0], exact.transitions)
    assert (baseline.log_ratio(baseline.release(pair.first, rng=rng, size=2), pair) == np.inf).all()
    assert (baseline.log_ratio(baseline.release(pair.second, rng=rng, size=2), pair) == -np.inf).all()
