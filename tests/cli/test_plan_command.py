"""`dpverify plan`: the printed numbers are those of the power calculations."""

import math
import re

import numpy as np
import pytest
from scipy import special

from dpverify.cli.main import run
from dpverify.evidence import betting
from dpverify.evidence.betting import EProcess
from dpverify.evidence.bounds import BinomialTest
from dpverify.evidence.lower_bound import detectable_eps, trials_needed
from dpverify.evidence.tally import Tally


def said(capsys, *words):
    code = run(["plan", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_smallest_violation_and_the_trials_it_takes(capsys):
    words = ["--eps", "1", "--trials", "10000", "--guesses", "1", "--violation", "1.25", "--audits", "2"]
    code, out, _ = said(capsys, *words)
    assert code == 0
    asked = {"guess_fraction": 1.0, "claim_eps": 1.0, "delta": 0.0, "significance": 0.025}
    smallest = detectable_eps(BinomialTest(), trials=10_000, power=0.95, **asked)
    needed = trials_needed(BinomialTest(), true_eps=1.25, power=0.95, **asked)
    assert f"true eps >= {smallest:.4g} (binomial test)" in out
    assert f"takes {needed} certifying trials" in out
    expected = betting.expected_trials(true_eps=1.25, **asked)
    assert f"about {expected:.0f} trials on average" in out
    most = betting.sequential_trials_needed(true_eps=1.25, power=0.95, **asked)
    assert f"{most:.0f} with probability 0.95" in out
    # spec: an SPRT that knows both laws takes 540 on average at level .05; learning and half stakes cost more
    assert 540 < expected < 1500


def test_more_trials_see_smaller_violations(capsys):
    outs = [said(capsys, "--eps", "1", "--trials", str(n))[1] for n in (1000, 100_000)]
    small, large = (float(re.search(r">= ([\d.]+) \(binomial", out).group(1)) for out in outs)
    assert 1 < large < small


def test_what_no_budget_can_see(capsys):
    # all of the guessed mass is below delta: it may all be the claim's own slack
    code, out, _ = said(capsys, "--eps", "1", "--delta", "0.1", "--guesses", "0.05", "--violation", "2")
    assert code == 0
    assert "inf" in out
    assert "out of reach" in out


@pytest.mark.parametrize(
    ("words", "name"),
    [(["--eps", "-1"], "eps"), (["--eps", "1", "--guesses", "0"], "guess_fraction"), (["--eps", "nan"], "eps")],
)
def test_bad_numbers_are_usage_errors(capsys, words, name):
    code, out, err = said(capsys, *words)
    assert code == 2
    assert name in err
    assert out == ""


@pytest.mark.parametrize("truth", [1.25, 1.5, 2.0])
def test_planned_trials_are_those_of_simulated_wagers(truth):
    # 4000 simulated runs with the exact score's bets, looks and capital; the plan is to be within 15 %
    rng, rho, share = np.random.default_rng(7), math.e, betting.FOLLOWING_EXACT
    p = special.expit(truth)
    stake = (1 - (1 - p) * (1 + rho)) / rho
    found, right, n = np.full(4000, np.inf), np.zeros(4000), 0
    while np.isinf(found).any():
        step = max(betting.FIRST_LOOK, math.ceil(betting.LOOK * n) - n)
        right, n = right + rng.binomial(step, p, 4000), n + step
        rows, counts = np.unique(right, return_inverse=True)
        fixed = np.array([_fixed(int(v), n) for v in rows])[counts]
        followed = right * math.log1p(stake) + (n - right) * math.log1p(-stake * rho)
        wealth = np.logaddexp(math.log(share) + followed, math.log(1 - share) + fixed)
        found = np.where((wealth >= math.log(20)) & np.isinf(found), n, found)
    asked = {"guess_fraction": 1.0, "claim_eps": 1.0, "delta": 0.0, "significance": 0.05, "exact": True}
    planned = betting.sequential_trials_needed(true_eps=truth, power=0.95, **asked)
    assert planned == pytest.approx(np.quantile(found, 0.95), rel=0.15)
    assert betting.expected_trials(true_eps=truth, **asked) == pytest.approx(found.mean(), rel=0.1)
    smallest = betting.sequential_detectable_eps(trials=planned, power=0.95, **asked)
    assert smallest == pytest.approx(truth, rel=1e-3)


def _fixed(right, trials):
    """Log wealth of the fixed stakes alone."""
    alone = EProcess(claim_eps=1.0, delta=0.0, predictive=0.0, grid=[1.0])
    alone.update(Tally.of(right, trials - right, trials))
    return alone.log_wealth


def test_more_power_and_unknown_scores_take_more_trials():
    asked = {"true_eps": 1.5, "guess_fraction": 0.4, "claim_eps": 1.0, "delta": 1e-3, "significance": 0.01}
    assert betting.sequential_trials_needed(power=0.5, **asked) < betting.sequential_trials_needed(power=0.99, **asked)
    assert betting.sequential_trials_needed(power=0.9, exact=True, **asked) < betting.sequential_trials_needed(
        power=0.9, **asked
    )
    assert betting.sequential_trials_needed(power=0.9, **{**asked, "true_eps": 1.0}) == math.inf


def test_nothing_pays_against_a_true_claim():
    plan = betting.expected_trials(true_eps=1.0, guess_fraction=1.0, claim_eps=1.0, delta=0.0, significance=0.05)
    assert plan == math.inf
