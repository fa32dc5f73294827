"""`dpverify plan`: the printed numbers are those of the power calculations."""

import math
import re

import numpy as np
import pytest
from scipy import special

from dpverify import account, Relation
from dpverify.cli.main import run
from dpverify.evidence import betting
from dpverify.evidence.betting import EProcess
from dpverify.evidence.bounds import BinomialTest
from dpverify.evidence.lower_bound import detectable_eps, trials_needed
from dpverify.evidence.tally import Tally
from dpverify.ledger import composed, dp_sgd, gaussian, laplace


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


# --- prices


SGD = "dp-sgd: rate .01, noise 1.1, steps 10000"


def test_the_price_of_a_mechanism_is_one_line_with_its_proved_end(capsys):
    code, out, err = said(capsys, "--spend", SGD, "--delta", "1e-5")
    assert (code, err, out.count("\n")) == (0, "", 1)
    assert out.startswith("eps <= 5.193 at delta = 1e-05, proved, one record added or removed")
    run = dp_sgd(rate=0.01, noise_multiplier=1.1, steps=10_000)
    exact = account(run, delta=1e-5, relation=Relation.ADD_OR_REMOVE_ONE)
    assert exact <= price_of(out) <= exact * (1 + 1e-4)  # rounded up


def price_of(out):
    return float(re.search(r"eps <= (\S+)", out).group(1))


@pytest.mark.parametrize(
    ("spends", "delta", "eps"),
    [
        (["laplace: scale 2, sensitivity 1, times 3"], "0", 1.5),
        (["laplace: scale=2, sensitivity=1", "Laplace: sensitivity 1, scale 4"], "0", 0.75),
        (["gaussian: sigma 4, sensitivity 1"], "1e-5", account(gaussian(sigma=4, sensitivity=1), delta=1e-5)),
    ],
)
def test_prices_are_accounts(capsys, spends, delta, eps):
    code, out, _ = said(capsys, *(word for each in spends for word in ("--spend", each)), "--delta", delta)
    assert code == 0
    assert eps <= price_of(out) <= eps * (1 + 1e-4)


@pytest.mark.parametrize(
    ("spend", "delta", "eps", "noise", "of"),
    [
        ("laplace: sensitivity 1", 0.0, 0.5, 2.0, lambda x: laplace(scale=x, sensitivity=1)),
        ("laplace: sensitivity 3, times 2", 0.0, 4.0, 1.5, lambda x: laplace(scale=x, sensitivity=3) * 2),
        ("gaussian: sensitivity 1", 1e-5, 1.0, None, lambda x: gaussian(sigma=x, sensitivity=1)),
        ("dp-sgd: rate .02, steps 400", 1e-5, 2.0, None, lambda x: dp_sgd(rate=0.02, noise_multiplier=x, steps=400)),
    ],
)
def test_the_noise_for_a_wanted_eps_is_on_the_safe_side_and_the_least(capsys, spend, delta, eps, noise, of):
    code, out, _ = said(capsys, "--spend", spend, "--delta", str(delta), "--eps", str(eps))
    assert (code, out.count("\n")) == (0, 1)
    found = float(re.match(r"\w+ (\S+) for eps", out).group(1))
    relation = Relation.ADD_OR_REMOVE_ONE if "dp-sgd" in spend else Relation.REPLACE_ONE
    assert account(of(found), delta=delta, relation=relation) <= eps
    assert account(of(found * (1 - 5e-4)), delta=delta, relation=relation) > eps
    assert noise is None or found == noise


def test_the_noise_of_one_beside_what_others_spend(capsys):
    words = ["--spend", "gaussian: sigma 4, sensitivity 1", "--spend", "laplace: sensitivity 1", "--delta", "1e-5"]
    code, out, _ = said(capsys, *words, "--eps", "2")
    scale = float(re.match(r"scale (\S+) for eps 2: ", out).group(1))
    both = composed(gaussian(sigma=4, sensitivity=1), laplace(scale=scale, sensitivity=1))
    assert code == 0
    assert 1.99 < account(both, delta=1e-5) <= 2
    code, _, err = said(capsys, *words, "--eps", "0.5")
    assert code == 2
    assert "the others alone spend it" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--spend", ""], "must begin with one of"),
        (["--spend", "gauss: sigma 4"], "must begin with one of"),
        (["--spend", "gaussian sigma 4"], "must begin with one of"),
        (["--spend", "gaussian:"], "is none of sensitivity, sigma, times"),
        (["--spend", "gaussian: sigma 4, sensitivity 1, rate 2"], "'rate' is none of"),
        (["--spend", "gaussian: sigma 4, sensitivity 1, sigma 5"], "twice"),
        (["--spend", "gaussian: sigma 4"], "needs sensitivity"),
        (["--spend", "gaussian: sigma four, sensitivity 1"], "is no number"),
        (["--spend", "gaussian: sigma, sensitivity 1"], "is no number"),
        (["--spend", "gaussian: sigma -4, sensitivity 1"], "sigma = -4.0: must be"),
        (["--spend", "gaussian: sigma nan, sensitivity 1"], "sigma = nan: must be"),
        (["--spend", "dp-sgd: rate 1.5, noise 1, steps 9"], "rate = 1.5: must be"),
        (["--spend", "dp-sgd: rate nan, steps 9", "--eps", "1"], "rate = nan: must be"),
        (["--spend", "dp-sgd: rate .5, noise 1, steps 2.5"], "whole number"),
        (["--spend", "laplace: scale 1, sensitivity 1, times 0"], "whole number"),
        (["--spend", "laplace: scale 1, sensitivity 1, times 1e200"], "100 digits"),
        (["--spend", "gaussian: sigma 4, sensitivity 1", "--delta", "0"], "needs --delta"),
        (["--spend", "gaussian: sigma 4, sensitivity 1", "--delta", "nan"], "delta = nan"),
        (["--spend", "gaussian: sensitivity 1"], "or --eps and it is found"),
        (["--spend", SGD, "--eps", "2"], "here none is"),
        (["--spend", "laplace: sensitivity 1", "--spend", "laplace: sensitivity 2", "--eps", "2"], "one noise"),
        (["--spend", "laplace: sensitivity 1", "--eps", "nan"], "eps = nan"),
        (["--spend", "laplace: sensitivity 0", "--eps", "1"], "is enough for eps 1"),
        (["--spend", "laplace: scale 1, sensitivity 1", "--trials", "9"], "--trials says nothing about a price"),
        ([], "needs --eps"),
    ],
)
def test_bad_prices_are_one_line_and_usage_errors(capsys, words, message):
    words = words if "--delta" in words or not words else [*words, "--delta", "1e-5"]
    code, out, err = said(capsys, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_what_no_account_proves_is_said(capsys):
    code, out, _ = said(capsys, "--spend", "dp-sgd: rate .01, noise .0001, steps 10", "--delta", "1e-5")
    assert code == 0
    assert "eps <= inf at delta = 1e-05, nothing is proved" in out
