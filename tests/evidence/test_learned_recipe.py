"""What the learned recipe must find, and the parts that make it: atoms, increments, carried cuts, sketches."""

import numpy as np
import pytest

from dpverify import Pair, PureDP
from dpverify.auditing.pipeline import audit
from dpverify.evidence.attack import carry
from dpverify.evidence.bounds import WeightedTest
from dpverify.evidence.scores.histogram import PointMassFamily
from dpverify.evidence.tally import Tally
from dpverify.trials.collect import SelectionTrials
from dpverify.trials.outcomes import Outcomes

PAIR = Pair(0, 1)


def rare_sentinel(data, *, rng, size):
    """Laplace(2) noise, and 0.25 exactly in one trial of 300 on the first dataset: true eps inf."""
    out = data + rng.laplace(0.0, 2.0, size)
    return np.where((rng.random(size) < 1 / 300) & (data == 0), 0.25, out)


def running_sums(data, *, rng, size):
    """Ten running sums of noisy records, each record 0.1-DP: 1-DP when all records change."""
    return np.cumsum(data + rng.laplace(0.0, 10.0, (size, 10)), axis=1)


def run(target, claim=None, trials=30_000, **more):
    return audit(target, claim=claim or PureDP(1.0), pair=PAIR, trials=trials, seed=2, **more)


def test_a_rare_sentinel_is_found_among_continuous_outputs():
    record = run(rare_sentinel)
    assert record.verdict == "REFUTED"
    assert record.score == "atoms"
    assert record.wrong == 0
    # 27,000 certifying trials, 45 sentinels: log of 45/3 is certified without a wrong guess
    assert 2 < record.eps_lower < 3.2


def test_running_sums_are_undone():
    record = run(running_sums)
    assert "increments" in record.score
    assert record.eps_lower > 0.4


def test_equal_scores_share_a_cut_and_cuts_keep_shares():
    confidence = np.sort(np.random.default_rng(0).random(1000))[::-1]
    ends = np.array([1, 10, 100, 999, 1000])
    cuts = carry(ends, confidence)
    assert [int((confidence >= cut).sum()) for cut in cuts] == ends.tolist()
    atoms = np.repeat([2.0, 1.0], [300, 700])  # a cut never lies within an atom: it goes to the nearest edge
    wanted = carry(np.array([10, 299, 640, 700]), atoms)
    assert [int((atoms >= cut).sum()) for cut in wanted] == [300, 300, 300, 1000]
    assert (carry(ends, np.zeros(0)) == np.inf).all()


def test_merged_weights_are_the_same_test():
    split = Tally(100, np.array([10, 12, 20]), np.array([3, 4, 9]))
    merged = Tally(100, np.array([22, 20]), np.array([7, 9]))
    for eps in (0.0, 0.5):
        whole = WeightedTest((2, 2, 1)).p_value(split, eps=eps, delta=0.0)
        assert whole == pytest.approx(WeightedTest((2, 1)).p_value(merged, eps=eps, delta=0.0), rel=1e-9)


def test_a_rare_value_is_scored_by_all_other_trials():
    values = np.r_[np.full(3, 7.0), np.arange(5.0)]
    first = np.array([True, True, False, True, False, True, False, True])
    trials = SelectionTrials(Outcomes(values), first)
    family = PointMassFamily.of(trials)
    held_out = family.held_out(trials)
    assert held_out[:3] == pytest.approx([0.0, 0.0, np.log(2.5 / 0.5)])  # (1, 1), (1, 1) and (2, 0) others
    assert (held_out[3:] == 0).all()
    assert family.fit(trials)(trials.outcomes)[:3] == pytest.approx([np.log(2.5 / 1.5)] * 3)
