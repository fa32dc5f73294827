"""`audit(..., sequential=True)`: stops early, never charges a true claim more than its level, repeats exactly."""

import math

import numpy as np
import pytest
from scipy import optimize, special, stats

from dpverify import ApproxDP, GaussianDP, Pair, PureDP, ZCDP
from dpverify.auditing.pipeline import audit
from dpverify.auditing.record import Verdict
from dpverify.claims import profiles
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


# mu of noise that is exactly (2, 1e-5)-DP
TWO = optimize.brentq(lambda mu: profiles.gaussian_delta(mu, 2.0) - 1e-5, 0.1, 3.0)


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


def test_a_budget_too_small_to_learn_is_inconclusive():
    record = run(hidden(Geometric(5.0)), trials=20)
    assert record.verdict is Verdict.INCONCLUSIVE
    assert record.detectable_eps == math.inf


def test_growth_of_randomised_response_is_the_divergence_of_two_coins():
    right, claimed = special.expit(2.0), special.expit(1.0)
    mean, variance = betting.growth(right, 1.0, 1.0, 0.0)
    divergence = right * math.log(right / claimed) + (1 - right) * math.log((1 - right) / (1 - claimed))
    assert mean == pytest.approx(divergence, rel=2e-3)  # a grid of stakes
    spread = math.log(right / claimed) - math.log((1 - right) / (1 - claimed))
    assert variance == pytest.approx(right * (1 - right) * spread**2, rel=0.05)
    assert betting.growth(claimed, 1.0, 1.0, 0.0) == (0.0, 0.0)


def test_detectable_violations_are_detected():
    asked = {"guess_fraction": 1.0, "claim_eps": 1.0, "delta": 0.0, "significance": 0.05, "power": 0.95}
    eps = betting.sequential_detectable_eps(trials=1000, exact=True, **asked)
    assert eps < betting.sequential_detectable_eps(trials=1000, **asked)
    assert eps == pytest.approx(1.31, abs=0.02)
    # power .95: among 25 runs more than 4 misses have probability 0.007; the plan may be off by a little
    assert np.isinf(stopping_times(Geometric(eps), 25, trials=1000)).sum() <= 4


def test_futility_needs_evidence():
    fair = Tally.of(7300, 2700, 10_000)  # eps = 1 is 0.731 right
    assert betting.futile(fair, 0.0, 1000, 1.0, 0.0, 0.05)
    assert not betting.futile(fair, 0.0, 10**8, 1.0, 0.0, 0.05)
    assert not betting.futile(Tally.of(0, 0, 10), 0.0, 1000, 1.0, 0.0, 0.05)
    assert not betting.futile(Tally.of(80, 20, 100), 0.0, 1000, 1.0, 0.0, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "claim", "runs", "most"),
    [
        (Geometric(2.0), PureDP(1.0), 60, 90),
        (Geometric(1.25), PureDP(1.0), 60, 700),
        (hidden(Geometric(2.0)), PureDP(1.0), 60, 120),
        (hidden(Geometric(1.25)), PureDP(1.0), 60, 1000),
        (Gaussian(TWO), ApproxDP(1.0, 1e-5), 20, 15_000),
    ],
)
def test_median_trials_until_refuted(target, claim, runs, most):
    # seeds 0, 1, ...; the bets were settled on seeds from 1000 on
    trials = 60_000 if claim.delta else 20_000
    taken = stopping_times(target, runs, claim=claim, trials=trials)
    print(f"median {np.median(taken):g}, 90 % {np.sort(taken)[int(0.9 * runs) - 1]:g}, mean {np.mean(taken):.0f}")
    assert np.median(taken) <= most
