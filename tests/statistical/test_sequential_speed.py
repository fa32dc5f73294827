"""How many trials the wager takes: medians over seeded runs, against published figures.

Claim eps = 1 at significance 0.05. The true law is known to the gambler unless the test says "learned".
"""

import numpy as np
import pytest
from scipy import optimize, special, stats

from dpverify.claims import profiles
from dpverify.evidence.betting import EProcess
from dpverify.evidence.tally import Tally


def trials_until_refuted(right, wrong, *, delta=0.0, predicted=None, block=5, growth=0.0, most=200_000, runs, seed=5):
    """Trials of each run when each trial is right or wrong at these rates; a block is 5 trials, or a share of all."""
    rng, k = np.random.default_rng(seed), len(right)
    law = np.concatenate([right, wrong, [max(0.0, 1 - sum(right) - sum(wrong))]])
    found = []
    for _ in range(runs):
        process = EProcess(claim_eps=1.0, delta=delta, levels=k, grid=[1.0])
        while process.trials < most and not process.refuted(0.05):
            size = max(block, int(growth * process.trials))
            drawn = rng.multinomial(size, law)
            process.update(Tally(size, drawn[:k], drawn[k : 2 * k]), predicted=predicted)
        found.append(process.trials if process.refuted(0.05) else np.inf)
    return np.array(found)


@pytest.mark.parametrize(("truth", "runs", "known", "learned"), [(2.0, 100, 90, 100), (1.25, 50, 700, 820)])
def test_geometric_noise(truth, runs, known, learned):
    p = special.expit(truth)
    assert np.median(trials_until_refuted([p], [1 - p], predicted=[p], runs=runs)) <= known
    assert np.median(trials_until_refuted([p], [1 - p], runs=runs)) <= learned


def test_gaussian_noise():
    # true (2, 1e-5) against a claimed (1, 1e-5); 12 levels whose masses are powers of two
    mu = optimize.brentq(lambda each: profiles.gaussian_delta(each, 2.0) - 1e-5, 0.1, 3)

    def mass(t):
        return stats.norm.sf(t - mu / 2) + stats.norm.sf(t + mu / 2)

    cuts = [optimize.brentq(lambda t, q=q: mass(t) - q, 0, 12) for q in 2.0 ** -np.arange(12, 0, -1)]
    edges = np.array([np.inf, *cuts])
    right, wrong = np.diff(stats.norm.sf(edges - mu / 2)), np.diff(stats.norm.sf(edges + mu / 2))
    asked = {"delta": 1e-5, "block": 100, "growth": 0.01, "runs": 40}
    assert np.median(trials_until_refuted(right, wrong, predicted=right / (right + wrong), **asked)) <= 15_000
    assert np.median(trials_until_refuted(right, wrong, **asked)) <= 24_000  # from counts: 16,000 to 21,000 by seed


@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_true_claims_survive_stopping_at_the_maximum(delta):
    # 200 runs of 2000 trials at the boundary, learned bets, read every 50 trials. With error 0.05 more than
    # 28 refutations have probability below 1e-5.
    rng, refuted, runs = np.random.default_rng(17), 0, 200
    w = special.expit(-1.0) * (1 - delta)
    for _ in range(runs):
        process = EProcess(claim_eps=1.0, delta=delta, grid=[1.0])
        for drawn in rng.multinomial(50, [1 - w, w], size=40):
            process.update(Tally(50, drawn[:1], drawn[1:]))
        refuted += process.refuted(0.05)
    assert stats.binom.sf(28, runs, 0.05) < 1e-5
    assert refuted <= 28
