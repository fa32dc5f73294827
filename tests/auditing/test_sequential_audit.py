"""`audit(..., sequential=True)`: stops early, never charges a true claim more than its level, repeats exactly."""

import math

import numpy as np
import pytest
from scipy import stats

from dpverify import ApproxDP, GaussianDP, Pair, PureDP, ZCDP
from dpverify.auditing.pipeline import audit
from dpverify.auditing.statuses import Verdict
from dpverify.evidence import betting
from dpverify.evidence.tally import Tally

PAIR = Pair(0, 1, name="0, 1")


class Geometric:
    """x + two-sided geometric noise: true eps exactly `eps`."""

    def __init__(self, eps):
        self.eps = eps

    def release(self, data, *, rng, size):
        p = -math.expm1(-self.eps)
        return data + rng.geometric(p, size) - rng.geometric(p, size)

    def log_ratio(self, outputs, pair):
        return np.where(outputs <= 0, self.eps, -self.eps)


class Gaussian:
    """x mu + N(0, 1)."""

    def __init__(self, mu):
        self.mu = mu

    def release(self, data, *, rng, size):
        return data * self.mu + rng.standard_normal(size)

    def log_ratio(self, outputs, pair):
        return self.mu * self.mu / 2 - self.mu * outputs


def hidden(target):
    return target.release  # a plain function: no likelihood ratio


def run(target, claim=None, trials=20_000, seed=0, **more):
    return audit(target, claim=claim or PureDP(1.0), pair=PAIR, trials=trials, seed=seed, sequential=True, **more)


def stopping_times(target, runs, **more):
    records = [run(target, seed=seed, **more) for seed in range(runs)]
    return np.array([each.trials if each.verdict is Verdict.REFUTED else np.inf for each in records])


def test_blatant_bugs_cost_a_hundred_trials():
    assert np.median(stopping_times(Geometric(2.0), 21)) <= 90
    assert np.median(stopping_times(hidden(Geometric(2.0)), 9)) <= 150


def test_the_record_says_what_was_run():
    record = run(hidden(Geometric(2.0)))
    assert record.verdict is Verdict.REFUTED
    assert record.sequential
    assert record.test == "betting"
    assert record.trials < 1000  # of 20,000
    assert record.eps_lower > 1.0
    assert record.number_lower == record.eps_lower
    assert record.selection_trials == 0  # nothing is held back
    assert record.right + record.wrong <= record.trials
    assert "refuted" in record.notes[0]
    assert [trials for trials, _ in record.course][-1] == record.trials
    exact = run(Geometric(2.0))
    assert exact.selection_trials == 1 << 14  # draws that place the levels come on top


@pytest.mark.parametrize("target", [Geometric(1.0), hidden(Geometric(1.0)), hidden(Gaussian(0.268))])
def test_true_claims_are_given_up_and_never_charged(target):
    record = run(target, trials=3000, claim=ApproxDP(1.0, 1e-5) if target != Geometric(1.0) else None)
    assert record.verdict is Verdict.NOT_REFUTED
    assert record.eps_lower <= 1.0
    assert 1.0 < record.detectable_eps < math.inf


def test_the_level_holds_at_the_boundary_whatever_the_stopping():
    # 50 runs of a true claim at its boundary; a refutation at any look is remembered, so this is stopping
    # at the best moment. With error 0.05 more than 10 refutations have probability below 1e-4.
    refuted = sum(run(Geometric(1.0), trials=400, seed=seed).verdict is Verdict.REFUTED for seed in range(50))
    assert stats.binom.sf(10, 50, 0.05) < 1e-4
    assert refuted <= 10


@pytest.mark.process
def test_equal_seeds_give_equal_records_for_any_jobs():
    target = Geometric(1.1)
    one, two = (run(target, trials=150_000, seed=3, jobs=jobs).to_dict() for jobs in (1, 2))
    one.pop("seconds"), two.pop("seconds")
    assert one == two


def test_profile_claims_are_tested_at_their_reporting_delta():
    false = run(Gaussian(2.0), claim=GaussianDP(0.8), trials=30_000)
    assert false.verdict is Verdict.REFUTED
    assert 0.8 < false.number_lower <= 2.0
    true = run(Gaussian(0.8), claim=ZCDP(0.32), trials=5000)  # mu^2/2: exactly the claim
    assert true.verdict is Verdict.NOT_REFUTED
    assert true.number_lower <= 0.32


def test_futility_needs_evidence():
    fair = Tally.of(7300, 2700, 10_000)  # eps = 1 is 0.731 right
    assert betting.futile(fair, 0.0, 1000, 1.0, 0.0, 0.05)
    assert not betting.futile(fair, 0.0, 10**8, 1.0, 0.0, 0.05)
    assert not betting.futile(Tally.of(0, 0, 10), 0.0, 1000, 1.0, 0.0, 0.05)
    assert not betting.futile(Tally.of(80, 20, 100), 0.0, 1000, 1.0, 0.0, 0.05)
