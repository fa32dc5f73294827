"""How often a sequential audit refutes a true claim, whatever the rule of stopping.

A refutation at any look counts, and no run is given up before its budget: this is stopping at the moment that
looks best, hence at least as often wrong as any other rule. Claims hold with equality, where errors are most likely.
"""

import math

import numpy as np
import pytest
from scipy import special, stats

from dpverify import ApproxDP, Pair, PureDP
from dpverify.auditing import sequential
from dpverify.auditing.pipeline import audit
from dpverify.auditing.statuses import Verdict

ALPHA = 0.05
PAIR = Pair(0, 1)


class Geometric:
    """x + two-sided geometric noise: exactly 1-DP."""

    def release(self, data, *, rng, size):
        p = -math.expm1(-1.0)
        return data + rng.geometric(p, size) - rng.geometric(p, size)

    def log_ratio(self, outputs, pair):
        return np.where(outputs <= 0, 1.0, -1.0)


class Response:
    """The bit with probability delta (as 2 or 3), else its randomised response: exactly (1, delta)-DP."""

    def __init__(self, delta):
        self.delta = delta

    def release(self, data, *, rng, size):
        told = np.where(rng.random(size) < special.expit(1.0), data, 1 - data)
        return np.where(rng.random(size) < self.delta, 2 + data, told)

    def log_ratio(self, outputs, pair):
        return np.choose(outputs, [1.0, -1.0, np.inf, -np.inf])


def false_refutations(monkeypatch, target, delta, runs, trials, score):
    """Number of runs that refute, seeds 0, 1, ..."""
    monkeypatch.setattr(sequential, "FUTILE_FROM", 2.0)  # never given up
    claim = ApproxDP(1.0, delta) if delta else PureDP(1.0)
    subject = target if score == "exact" else target.release
    refuted = 0
    for seed in range(runs):
        asked = {"trials": trials, "significance": ALPHA, "seed": seed, "score": score}
        record = audit(subject, claim=claim, pair=PAIR, sequential=True, **asked)
        refuted += record.verdict is Verdict.REFUTED
        assert record.trials == trials or record.verdict is Verdict.REFUTED
    return refuted


def most(runs):
    """With error ALPHA, more than so many refutations have probability below 1e-3."""
    return int(stats.binom.isf(1e-3, runs, ALPHA))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "delta", "runs", "trials", "score"),
    [
        (Geometric(), 0.0, 1000, 2000, "exact"),
        (Response(0.01), 0.01, 1000, 2000, "exact"),
        (Geometric(), 0.0, 1000, 2000, "histogram"),
        (Response(0.01), 0.01, 1000, 2000, "histogram"),
        (Geometric(), 0.0, 200, 400, "auto"),  # classifiers take a second a run
    ],
    ids=["exact", "exact, delta > 0", "learned", "learned, delta > 0", "classifiers"],
)
def test_true_claims_fall_rarely_whatever_the_stopping(monkeypatch, target, delta, runs, trials, score):
    refuted = false_refutations(monkeypatch, target, delta, runs, trials, score)
    print(f"{refuted} of {runs} runs of {trials} trials refuted a true claim ({refuted / runs:.3f})")
    assert refuted <= most(runs)


def test_the_count_has_teeth(monkeypatch):
    # the same mechanism against a claim that is false by little is refuted more often than a true one may be
    monkeypatch.setattr(sequential, "FUTILE_FROM", 2.0)
    refuted = sum(
        audit(Geometric(), claim=PureDP(0.8), pair=PAIR, trials=600, seed=seed, sequential=True).verdict
        is Verdict.REFUTED
        for seed in range(40)
    )
    assert refuted > most(40)
