"""Lemma B.3 of DP-Nash-VI without noise: fails as often as one can compute, and max(E, 1) mends it."""

import numpy as np
import pytest
from scipy import stats

from algorithms.nash_vi.kernel_promises import fork, lemma_b3_promise
from algorithms.nash_vi.markov_games import random_game
from audits.audit_nash_vi import MANY, RARE
from dpverify.base.seeding import Stage, stream
from dpverify.promises import check_promise


@pytest.mark.parametrize(("visits", "chance"), [(5, 0.5), (MANY, RARE)])
def test_it_fails_where_all_visits_had_one_outcome(visits, chance):
    """Exactly: chance^N + (1 - chance)^N; both sides of a test at level .001."""
    rate = chance**visits + (1 - chance) ** visits
    failures = check_promise(lemma_b3_promise(fork(chance), visits, trials=4_000), seed=22).failures
    assert stats.binomtest(failures, 4_000, rate).pvalue > 0.001


def test_a_trial_by_hand():
    """A random game, one set of counts: the right side of (16) in loops."""
    game, visits, beta = random_game(3, 2, 2, 2, 2, concentration=0.1), 30, 0.05
    found = lemma_b3_promise(game, visits, beta=beta, least_error=1e-4).draw(rng=stream(2, Stage.EXPERIMENT), size=3)
    law = np.maximum(game.transitions, 0.0)
    onward = stream(2, Stage.EXPERIMENT).multinomial(
        visits, law / law.sum(axis=-1, keepdims=True), size=(3, *law.shape[:-1])
    )
    values, iota = game.nash().values, np.log(30 * 16 * visits / beta)
    assert found.errors.min() > 0.001  # above rounding
    for trial in range(3):
        worst = 0.0
        for h, s, a, b in np.ndindex(2, 2, 2, 2):
            true, seen, v = law[h, s, a, b], onward[trial, h, s, a, b] / visits, values[h + 1]
            least = min(p @ v**2 - (p @ v) ** 2 for p in (true, seen))
            right = np.sqrt(2 * max(least, 0.0) * iota / visits) + 2 * 2 * 2 * 1e-4 * iota / visits
            worst = max(worst, abs((seen - true) @ v) - right)
        assert found.errors[trial] == pytest.approx(worst, abs=1e-6)
