"""Learned audits of black boxes against known truths, 300 runs a subject.

A score, an event and a test that are learned from selection trials may do badly, but never claim more than is true:
the bound is above the truth in a share of at most alpha = 0.05 of all runs. Over 300 runs their number is compared
with Bin(300, 0.05) by an exact test at level 1e-3 (29 runs are too many): a true error of 0.13 is caught with
probability 0.95. Last figures (seeds 0 to 299, 2,000 trials) are in docs/benchmarks.md.
"""

import pytest
from scipy import stats

from benchmarks.reference import ALL, BlackBox
from dpverify import audit

RUNS, TRIALS, ALPHA, LEVEL = 300, 2_000, 0.05, 1e-3
MOST = int(stats.binom.isf(LEVEL, RUNS, ALPHA))


def test_power_of_these_tests():
    assert stats.binom.sf(MOST, RUNS, ALPHA) <= LEVEL
    assert stats.binom.sf(MOST, RUNS, 0.13) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("subject", ALL, ids=lambda subject: subject.name)
def test_bounds_of_learned_scores_are_seldom_above_the_truth(subject):
    bounds = [
        audit(BlackBox(subject), claim=subject.claim, pair=subject.pair, trials=TRIALS, seed=seed).eps_lower
        for seed in range(RUNS)
    ]
    above = sum(bound > subject.truth for bound in bounds)
    print(f"{subject.name}: {above} of {RUNS} above {subject.truth:.4g}")
    assert above <= MOST
