"""`dpverify plan`: the printed numbers are those of the power calculations."""

import math
import re

import pytest

from dpverify.evidence import wager_power
from dpverify.evidence.bounds import BinomialTest
from dpverify.evidence.power import detectable_eps, trials_needed
from dpverify.faces.cli import run


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
    expected = wager_power.expected_trials(true_eps=1.25, **asked)
    assert f"about {expected:.0f} trials on average" in out
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


def test_nothing_pays_against_a_true_claim():
    plan = wager_power.expected_trials(true_eps=1.0, guess_fraction=1.0, claim_eps=1.0, delta=0.0, significance=0.05)
    assert plan == math.inf
