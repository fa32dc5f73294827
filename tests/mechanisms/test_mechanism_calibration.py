"""DP-VAPVI's noise against the smallest that its claim needs, and the baseline that adds none."""

import math

import numpy as np
import pytest

from dpverify import ZCDP
from dpverify.accounting.accountant import meets
from mechanisms.datasets.pairs import constant, worst_replacement
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.linear_noise import LinearNoise
from mechanisms.privatizers.no_privacy import NoPrivacy
from mechanisms.privatizers.offline_linear import OfflineLinear
from mechanisms.privatizers.protocol import BatchPrivatizer, OnlinePrivatizer

LAYOUT = CountLayout(H=3, S=2, A=2)


def test_dp_vapvi_needs_five_percent_less_noise_than_the_paper_adds():
    def ledger(noise):
        printed = LinearNoise.as_printed(1 / noise, 1, 2)
        return OfflineLinear(noise=printed, features=np.eye(2)[None], values=np.zeros((1, 1))).ledger

    assert meets(ZCDP(1.0), ledger(0.903126))
    assert not meets(ZCDP(1.0), ledger(0.903124))
    assert math.sqrt(0.903125) == pytest.approx(0.95, abs=1e-3)  # of the deviation


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
