"""True claims are refuted by one run at most at the stated level, in worlds whose canaries depend on each other."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy

from dpverify import ApproxDP, GaussianDP
from dpverify.claims.claim import Claim
from dpverify.evidence.single_run import counted, guess_counts, OneRunCurveTest, OneRunTest

pytestmark = pytest.mark.slow

M, RUNS, LEVEL, EPS, DELTA, MU = 200, 10_000, 0.05, 1.0, 1e-3, 0.5
SIGNS = np.where(np.arange(M) % 2, 1.0, -1.0)
PLACES = np.random.default_rng(1).normal(size=(M, 3))
PLACES /= np.linalg.norm(PLACES, axis=1, keepdims=True)
World = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def response(coins: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each coin by itself, right with e^eps/(1 + e^eps); no score is tied."""
    kept = rng.random(coins.shape) < 1 / (1 + math.exp(-EPS))
    return np.where(kept, coins, ~coins) + 0.1 * rng.random(coins.shape)


def two_values(coins: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same with scores of two values: most of them are tied where guesses end."""
    return np.floor(response(coins, rng))


def rarely(coins: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same for one canary in ten; all others have one score."""
    return np.where(np.arange(M) % 10, 0.5, two_values(coins, rng))


def shared(coins: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One sum with one noise; each canary is scored by its sign in it."""
    return SIGNS * ((SIGNS * coins).sum() - SIGNS[SIGNS > 0].sum() / 2 + rng.laplace(scale=1 / EPS))


def majority(coins: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """What most coins are, by randomised response, is the score of all, by their signs."""
    most = np.sign((SIGNS * (coins - 0.5)).sum()) or 1.0
    return SIGNS * most * (1 if rng.random() < 1 / (1 + math.exp(-EPS)) else -1)


def released(coins: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """All coins with probability delta."""
    return coins.astype(float) if rng.random() < DELTA else response(coins, rng)


def small_model(coins: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Three coordinates, each canary a unit vector; scored by its direction."""
    return PLACES @ (PLACES.T @ (coins - 0.5) + rng.normal(scale=1 / MU, size=3))


def others(coins: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each canary is scored by what is known of the next one."""
    return np.roll(response(coins, rng), 1)


def gaussian(coins: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A coordinate of its own for each."""
    return coins + rng.normal(scale=1 / MU, size=M)


APPROX, CURVE = ApproxDP(EPS, DELTA), GaussianDP(MU)
IMPLIED = ApproxDP(CURVE.eps_at(DELTA), DELTA)


@pytest.mark.parametrize(
    ("world", "claim"),
    [
        (response, APPROX),
        (two_values, APPROX),
        (rarely, APPROX),
        (shared, APPROX),
        (majority, APPROX),
        (released, APPROX),
        (others, APPROX),
        (small_model, IMPLIED),
        (small_model, CURVE),
        (gaussian, IMPLIED),
        (gaussian, CURVE),
    ],
)
def test_a_true_claim_is_refuted_no_more_often_than_stated(world: World, claim: Claim) -> None:
    wrong = refutations(world, claim, RUNS)
    assert scipy.stats.binom.sf(wrong - 1, RUNS, LEVEL) > 1e-6 / 11, f"{wrong} of {RUNS}"


def test_this_count_sees_a_claim_that_is_false() -> None:
    wrong = refutations(response, ApproxDP(EPS / 2, DELTA), RUNS // 10)
    assert scipy.stats.binom.sf(wrong - 1, RUNS // 10, LEVEL) < 1e-6 / 11, f"{wrong} of {RUNS // 10}"


def refutations(world: World, claim: Claim, runs: int) -> int:
    """How many of the runs refute the claim; equal counts are judged once."""
    rng, shares = np.random.default_rng(2024), guess_counts(M)
    events = tuple(enumerate(shares.values(), start=1))
    known: dict[bytes, bool] = {}

    def refuted() -> bool:
        coins = rng.random(M) < 0.5
        tally = counted(coins, world(coins, rng), shares)
        key = tally.right.tobytes()
        if key not in known:
            if isinstance(claim, GaussianDP):
                known[key] = bool(OneRunCurveTest(claim, events)._refuting(claim.mu, tally, events, LEVEL))
            else:
                known[key] = OneRunTest(events).p_value(tally, eps=claim.eps, delta=DELTA) <= LEVEL
        return known[key]

    return sum(refuted() for _ in range(runs))
