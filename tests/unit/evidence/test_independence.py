"""The tests of independence: their exact levels by enumeration, and what they see."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from dpverify import audit, loop_trials, Pair, PureDP
from dpverify.base.seeding import Stage, stream
from dpverify.evidence import independence
from dpverify.evidence.independence import deviation, Independence, log_all_split, log_wager, marks
from dpverify.trials import failing, sentinel
from dpverify.verdicts.verdict import Verdict


def test_no_moment_generating_function_exceeds_its_bound():
    """E exp(x D) <= exp(x^2 V / 2) for every hypergeometric law up to n = 24, on a grid of x: all else rests on it."""
    x = np.r_[-np.geomspace(0.01, 8, 25), np.geomspace(0.01, 8, 25)]
    for n in range(2, 25):
        for r in range(1, n):
            for c in range(1, n):
                law = stats.hypergeom(n, c, r)
                both = np.arange(max(0, r + c - n), min(r, c) + 1)
                d = np.array([deviation(n, r, c, int(k)) for k in both])
                v = d[0, 1]
                assert (d[:, 1] == v).all()
                log_mgf = np.log((law.pmf(both) * np.exp(np.outer(x, d[:, 0]))).sum(axis=1))
                assert (log_mgf <= x * x * v / 2 + 1e-12).all(), (n, r, c)


def test_the_mean_wager_is_at_most_one():
    """E M <= 1 under every hypergeometric law up to n = 40, for the mixture of the pairs and for that of two calls."""
    for n in (2, 3, 5, 8, 13, 21, 30, 40):
        for r, c in product(range(n + 1), repeat=2):
            both = np.arange(max(0, r + c - n), min(r, c) + 1)
            weights = stats.hypergeom(n, c, r).pmf(both)
            found = [deviation(n, r, c, int(k)) for k in both]
            for eta in (independence.ETA, None):
                wagers = [math.exp(log_wager(d, v, eta or v)) if v > 0 else 1.0 for d, v in found]
                assert weights @ wagers <= 1 + 1e-9


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_probability_that_all_twins_are_split(n):
    for twins in range(n + 1):
        keys = [k // 2 if k < 2 * twins else k for k in range(2 * n)]
        chosen = list(combinations(range(2 * n), n))
        split = 0
        for first in chosen:
            one = [keys[i] for i in first]
            split += all(one.count(k) == 1 for k in range(twins))
        assert math.exp(log_all_split(n, twins)) == pytest.approx(split / len(chosen))


def test_levels_add_up_to_one_in_a_million():
    unfaithful = 2 * sum(2.0 ** -failing._needed(16 << look, index) for look in range(40) for index in range(3000))
    assert independence.TESTS * independence.LEVEL + sentinel.LEVEL + unfaithful <= 1e-6


def collected(rng, guess, grains=200, size=120):
    """log of all wagers after grains of independent trials that are guessed on with probability `guess`."""
    kept = Independence()
    for index in range(grains):
        sizes = (int(rng.binomial(size, 0.5)), 0)
        sizes = sizes[0], size - sizes[0]
        scores = tuple(rng.integers(0, 7, n).astype(float) for n in sizes)
        guessed = tuple((rng.random(n) < guess, rng.random(n) < guess / 2) for n in sizes)
        kept.add(marks(index, scores, guessed))
    paired = [log_wager(*each) for each in kept._paired.values()]
    return [*paired, *kept._whole.values()]


def test_wagers_on_independent_trials_lose():
    """Pr[M >= 100] <= 0.01 for each of 8 wagers in 60 runs: more than 15 of 480 has probability < 1e-4 if they were
    independent; the largest is below 1e5 with probability > 0.995 (union bound)."""
    rng = stream(8, Stage.EXPERIMENT)
    logs = np.array([collected(rng, guess) for guess in (0.5, 0.1, 0.01) * 20])
    assert (logs >= math.log(100)).sum() <= 15
    assert logs.max() < math.log(1e5)


def test_correlation_of_neighbours_is_seen_with_the_stated_power():
    """AR(1) with rho = 0.5 at 1e5 trials: over 7,000 ranked pairs, 2 asin(0.5) / pi = 1/3 of their variance in common;
    D is about 28 standard deviations, the threshold lies at 7: power > 1 - 1e-9. Planted without an audit, 20 times."""
    rng = stream(9, Stage.EXPERIMENT)
    for _ in range(20):
        kept = Independence()
        for index in range(34):
            scores = []
            for _arm in (0, 1):
                z = rng.standard_normal(220)
                for i in range(1, len(z)):
                    z[i] = 0.5 * z[i - 1] + math.sqrt(0.75) * z[i]
                scores.append(z)
            none = np.zeros(220, bool)
            kept.add(marks(index, tuple(scores), ((none, none), (none, none))))
        assert "neighbouring trials of a call are correlated" in kept.objections


def test_marks_survive_a_trip_through_plain_values():
    rng = stream(10, Stage.EXPERIMENT)
    scores = tuple(rng.standard_normal(50) for _ in (0, 1))
    made = marks(3, scores, tuple((s > 1, s < -1) for s in scores), ((1, 2**63), (5,)))
    assert independence.Marks.from_plain(made.to_plain()) == made


def laplace(data, *, rng, size):
    return data + rng.laplace(size=size)


def secure(data, *, rng, size):
    return data + np.random.Generator(np.random.PCG64()).laplace(size=size)


secure.reproducible = False


class Exact:
    def release(self, data, *, rng, size):
        return data + rng.laplace(size=size)

    def log_ratio(self, outputs, pair):
        return np.abs(outputs - pair.second) - np.abs(outputs - pair.first)


HONEST = [
    Exact(),
    laplace,
    lambda data, *, rng, size: (rng.random(size) < 0.73) != (data > 0.5),  # randomised response
    lambda data, *, rng, size: data + rng.normal(scale=2.0, size=size),
    lambda data, *, rng, size: data + rng.laplace(scale=6.0, size=(size, 6)),
    loop_trials(lambda data, *, rng: data + rng.laplace()),
    secure,
    lambda data, *, rng, size: np.zeros(size),
]


@pytest.mark.slow
def test_a_thousand_honest_audits_are_valid():
    """0 of 1,000 are INVALID; each is with probability <= 1e-6."""
    for run in range(1000):
        target = HONEST[run % len(HONEST)]
        record = audit(
            target,
            claim=PureDP(1.0),
            pair=Pair(0.0, 1.0),
            trials=(1000, 3000, 10_000)[run % 3],
            seed=run,
            sequential=run % 16 == 0,
        )
        assert record.verdict is not Verdict.INVALID, (run, record.invalid)
