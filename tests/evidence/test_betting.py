"""The wager: fair to every true claim in each single trial, growing at the optimal rate, monotone in eps."""

import copy
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from dpverify.errors import ParameterError
from dpverify.evidence import betting
from dpverify.evidence.betting import EProcess
from dpverify.evidence.tally import Tally


def tally(right, wrong, trials, *, one_sided=False):
    return Tally(trials, np.array(right, np.int64), np.array(wrong, np.int64), one_sided)


def wealth_after(process, predicted, level, correct, *, one_sided):
    """Wealth after one more trial: a guess on `level`, or none for level None."""
    counts = np.zeros((2, process.predicted.size), np.int64)
    if level is not None:
        counts[0 if correct else 1, level] = 1
    after = copy.deepcopy(process)
    after.update(tally(counts[0], counts[1], 1, one_sided=one_sided), predicted=predicted)
    return math.exp(after.log_wealth)


counts = st.lists(st.integers(0, 40), min_size=3, max_size=3)
accuracies = st.none() | st.lists(st.floats(0, 1), min_size=3, max_size=3)


@settings(max_examples=60, deadline=None)
@given(
    right=counts,
    wrong=counts,
    predicted=accuracies,
    eps=st.sampled_from([0.0, 0.3, 1.0, 3.0]),
    delta=st.sampled_from([0.0, 1e-4, 0.05, 0.3]),
    share=st.floats(0, 1),
    top=st.integers(0, 2),
    one_sided=st.booleans(),
)
def test_no_trial_favours_the_gambler_under_the_claim(right, wrong, predicted, eps, delta, share, top, one_sided):
    # any past, any prediction, and a mechanism on the boundary of H0: mean wealth after a trial <= wealth before
    process = EProcess(claim_eps=eps, delta=delta, levels=3, one_sided=one_sided, grid=[eps])
    past = sum(right) + sum(wrong) + 50
    process.update(tally(right, wrong, past, one_sided=one_sided), predicted=predicted)
    d = delta / 2 if one_sided else delta
    mass = (1 - d) * share * np.array([0.2, 0.3, 0.5])  # guessed on each level without being revealed
    rates_right, rates_wrong = mass * special.expit(eps), mass * special.expit(-eps)
    rates_right[top] += d
    mean = (1 - rates_right.sum() - rates_wrong.sum()) * wealth_after(
        process, predicted, None, True, one_sided=one_sided
    )
    for level in range(3):
        mean += rates_right[level] * wealth_after(process, predicted, level, True, one_sided=one_sided)
        mean += rates_wrong[level] * wealth_after(process, predicted, level, False, one_sided=one_sided)
    assert mean <= math.exp(process.log_wealth) * (1 + 1e-9)


def test_the_previous_test_has_teeth():
    # with the slack forgotten, a revealed trial is a gift
    process = EProcess(claim_eps=1.0, delta=0.0, grid=[1.0])
    process.update(tally([0], [0], 1))
    d = 0.05
    w = 0.5 * (1 - d) * special.expit(-1.0)
    c = 0.5 * (1 - d) * special.expit(1.0) + d
    mean = c * wealth_after(process, [0.9], 0, True, one_sided=False)
    mean += w * wealth_after(process, [0.9], 0, False, one_sided=False)
    mean += (1 - c - w) * wealth_after(process, [0.9], None, True, one_sided=False)
    assert mean > 1.003 * math.exp(process.log_wealth)


def test_ever_crossing_is_as_rare_as_promised_exactly():
    # randomised response at the claim, fixed prediction: wealth depends on counts only, so paths are summed
    n, eps, alpha = 150, 1.0, 0.05
    alive, crossed, r = np.array([1.0]), 0.0, special.expit(eps)
    wealth = np.zeros((n + 1, n + 1))
    for i in range(1, n + 1):
        for v in range(i + 1):
            if v > r * i:  # below, the wealth cannot have reached 1/alpha
                process = EProcess(claim_eps=eps, delta=0.0, grid=[eps])
                process.update(tally([v], [i - v], i), predicted=[0.85])
                wealth[i, v] = process.log_wealth
    for i in range(1, n + 1):
        alive = np.append(alive * (1 - r), 0.0) + np.append(0.0, alive * r)
        stop = wealth[i, : i + 1] >= -math.log(alpha)
        crossed, alive = crossed + alive[stop].sum(), np.where(stop, 0.0, alive)
    assert 0.005 < crossed <= alpha


@pytest.mark.parametrize("claim", [0.1, 1.0, 3.0])
def test_predictions_grow_wealth_at_the_optimal_rate(claim):
    n, truth = 200_000, 1.3 * claim
    pi, r = special.expit(truth), special.expit(claim)
    kl = pi * math.log(pi / r) + (1 - pi) * math.log((1 - pi) / (1 - r))
    process = EProcess(claim_eps=claim, delta=0.0, grid=[claim])
    v = round(n * pi)
    process.update(tally([v], [n - v], n), predicted=[pi])
    assert process.log_wealth == pytest.approx(n * kl + math.log(0.5), rel=0.01, abs=0.7)
    fixed = EProcess(claim_eps=claim, delta=0.0, grid=[claim], predictive=0.0)
    fixed.update(tally([v], [n - v], n))
    assert fixed.log_wealth > 0.94 * n * kl - math.log(80)


def test_refutation_is_remembered():
    process = EProcess(claim_eps=0.5, delta=0.0)
    process.update(tally([100], [10], 110))
    assert process.refuted(0.05)
    bound = process.eps_lower(0.05)
    assert bound >= 0.5
    process.update(tally([0], [500], 500))
    assert process.log_wealth < 0
    assert process.refuted(0.05)
    assert process.eps_lower(0.05) == bound
    assert process.eps_lower(1e-6) < bound


def test_p_and_e_values_are_the_largest_and_the_present_wealth():
    process = EProcess(claim_eps=0.5, delta=0.0)
    process.update(tally([100], [10], 110))
    most = process.log_wealth
    assert process.e_value == pytest.approx(math.exp(most))
    process.update(tally([0], [30], 30))
    assert process.e_value == pytest.approx(math.exp(process.log_wealth))
    assert process.e_value < 0.9 * math.exp(most)
    assert process.p_value == pytest.approx(math.exp(-most))
    process.update(tally([10**5], [0], 10**5))
    assert math.isfinite(process.e_value)
    assert process.log_wealth > 1000  # more than a double could hold


def test_impossible_requests_are_refused():
    for changes in (
        {"claim_eps": math.nan},
        {"claim_eps": -1.0},
        {"delta": 1.0},
        {"delta": math.nan},
        {"levels": 0},
        {"predictive": 1.0},
        {"predictive": math.nan},
        {"grid": [math.nan]},
        {"grid": [-1.0]},
    ):
        with pytest.raises(ParameterError):
            EProcess(**{"claim_eps": 1.0, "delta": 0.0, **changes})
    process = EProcess(claim_eps=1.0, delta=0.0)
    for predicted in ([math.nan], [1.1], [0.5, 0.5]):
        with pytest.raises(ParameterError):
            process.update(tally([1], [1], 2), predicted=predicted)
    with pytest.raises(ParameterError):
        process.update(tally([1, 1], [1, 0], 5))
    with pytest.raises(ParameterError):
        process.update(tally([1], [1], 2, one_sided=True))
    for significance in (0.0, 1.0, math.nan):
        with pytest.raises(ParameterError):
            process.refuted(significance)
        with pytest.raises(ParameterError):
            process.eps_lower(significance)


@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.01, 0.05, 0.3])
@pytest.mark.parametrize("fraction", [1e-4, 0.3, 1.0])
@pytest.mark.parametrize("trials", [1, 200, 2_000])
def test_what_is_detectable_is_a_number_also_where_every_guess_is_right(trials, fraction, delta):
    found = betting.sequential_detectable_eps(
        trials=trials, guess_fraction=fraction, claim_eps=2.0, delta=delta, significance=0.001, power=0.95
    )
    assert found > 2.0
    assert betting.sequential_detectable_eps(
        trials=4 * trials, guess_fraction=fraction, claim_eps=2.0, delta=delta, significance=0.001, power=0.95
    ) <= found * (1 + 1e-9)
