"""The tests of independence: their exact levels by enumeration, and what they see."""

import math
from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from dpverify import audit, loop_trials, Pair, PureDP
from dpverify.auditing.statuses import Verdict
from dpverify.base.seeding import Stage, stream
from dpverify.trials import outcomes
from dpverify.trials.health import independence, sentinel
from dpverify.trials.health.independence import (
    compared_calls,
    deviation,
    Independence,
    log_split_law,
    log_wager,
    LOOKED_AT,
    looked_at,
    Marks,
    marks,
    RANKED,
    rarity_of_split,
    Sample,
    split_pairs,
)


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


@pytest.mark.parametrize(("pairs", "first"), [(1, 1), (2, 1), (3, 3), (4, 2), (4, 5), (5, 5)])
def test_the_law_of_split_pairs(pairs, first):
    """Against all choices of the first call's places; and so P(p <= a) <= a for every a that is attained."""
    counts = Counter(
        sum((2 * k in chosen) != (2 * k + 1 in chosen) for k in range(pairs))
        for chosen in map(set, combinations(range(2 * pairs), first))
    )
    s, law = log_split_law(pairs, first)
    every = math.comb(2 * pairs, first)
    found = {int(k): math.exp(v) for k, v in zip(s, law, strict=True)}
    assert {k: v for k, v in found.items() if v > 1e-15} == pytest.approx({k: n / every for k, n in counts.items()})
    p = {k: math.exp(-rarity_of_split(pairs, first, k)) for k in counts}
    for level in p.values():
        assert sum(n for k, n in counts.items() if p[k] <= level) / every <= level * (1 + 1e-9)


def test_pairs_of_honest_calls_are_split_as_chance_will_have_it():
    """Ties, few values, calls of unequal size: Pr[p <= .01] <= .01 each, so more than 19 of 800 has p < 1e-3."""
    rng, rare = stream(12, Stage.EXPERIMENT), 0
    for _ in range(200):
        sizes = rng.integers(3, 90, 2)
        for draw in (rng.standard_normal, lambda n: rng.integers(0, 3, n) + 0.0, lambda n: np.zeros(n), rng.random):
            rare += rarity_of_split(*split_pairs(draw(sizes[0]), draw(sizes[1]))) >= math.log(100)
    assert rare <= 19


def test_values_are_compared_in_the_last_third_of_every_long_run():
    assert [index // 2 for index in range(0, 200, 2) if compared_calls(index)] == [0, 5, 10, 15, 20, 30, 40, 60, 80]
    for last in (*range(24, 300), *range(300, 5000, 97)):
        pairs = [index // 2 for index in range(last) if compared_calls(index) and compared_calls(index + 1)]
        assert max(pairs) >= last / 3


def test_levels_add_up_to_one_in_a_million():
    unfaithful = 2 * sum(2.0 ** -outcomes._needed(16 << look, index) for look in range(40) for index in range(3000))
    assert independence.TESTS * independence.LEVEL + sentinel.LEVEL + unfaithful <= 1e-6


def collected(rng, guess, grains=200, size=120):
    """log of all wagers after grains of independent trials that are guessed on with probability `guess`."""
    kept = Independence()
    for index in range(grains):
        sizes = (int(rng.binomial(size, 0.5)), 0)
        sizes = sizes[0], size - sizes[0]
        scores = tuple(rng.integers(0, 7, n).astype(float) for n in sizes)
        guessed = tuple((rng.random(n) < guess, rng.random(n) < guess / 2) for n in sizes)
        kept.add(*marks([Sample.of(index, scores, guessed)]))
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
    D is about 28 standard deviations, the threshold lies at 7: power > 1 - 1e-9. Planted without an audit, 5 times."""
    rng = stream(9, Stage.EXPERIMENT)
    for _ in range(5):
        kept = Independence()
        for index in range(34):
            scores = []
            for _arm in (0, 1):
                z = rng.standard_normal(220)
                for i in range(1, len(z)):
                    z[i] = 0.5 * z[i - 1] + math.sqrt(0.75) * z[i]
                scores.append(z)
            none = np.zeros(220, bool)
            kept.add(*marks([Sample.of(index, tuple(scores), ((none, none), (none, none)))]))
        assert "neighbouring trials of a call are correlated" in kept.objections


def test_marks_survive_a_trip_through_plain_values():
    rng = stream(10, Stage.EXPERIMENT)
    scores = tuple(rng.standard_normal(50) for _ in (0, 1))
    (made,) = marks([Sample.of(3, scores, tuple((s > 1, s < -1) for s in scores), (b"some", b""))])
    assert Marks.from_plain(made.to_plain()) == made


def pairs_of(held, other=None):
    """D and V of the pairs of a vector: neighbours, halves, or those with another vector, by their definition."""
    n = len(held) if other is None else min(len(held), len(other))
    one, two = (held[0 : n - n % 2 : 2], held[1:n:2]) if other is None else (held[:n], other[:n])
    return deviation(len(one), int(one.sum()), int(two.sum()), int((one & two).sum()))


def above(scores):
    """Above the median, as the module says; ties go where the shares are more equal."""
    n = len(scores)
    if not n:
        return np.zeros(0, bool)
    middle = np.sort(scores)[n // 2]
    over, reached = scores > middle, scores >= middle
    return reached if reached.sum() - n / 2 <= n / 2 - over.sum() else over


def test_marks_of_many_grains_are_those_of_each_by_its_definition():
    """However many are looked at together: so for any number of workers, and after any interruption."""
    rng = stream(11, Stage.EXPERIMENT)
    samples = []
    for index in range(40):
        sizes = [int(rng.integers(0, 3 * top)) for top in ((5, 5), (140, 140), (256, 2000), (3000, 300))[index % 4]]
        scores = [rng.integers(0, 9, n).astype(float) if index % 3 else rng.standard_normal(n) for n in sizes]
        guessed = tuple((s > 0.5, s < 0) for s in scores)
        ranked = tuple(s[np.concatenate(looked_at(np.arange(len(s))))] for s in scores)
        samples.append(Sample.of(index, ranked, guessed))
    alone = [marks([each])[0] for each in samples]
    assert alone == marks(samples) == marks(samples[:7]) + marks(samples[7:])
    for sample, made in zip(samples, alone, strict=True):
        up = [above(each) for each in sample.ranked]
        looked = [[mask[:LOOKED_AT] for mask in each] for each in sample.guessed]
        for name, vectors in (
            ("neighbours", up),
            ("guessed neighbours, first", [each[0] for each in looked]),
            ("guessed neighbours, second", [each[1] for each in looked]),
        ):
            parts = [pairs_of(each) for each in vectors]
            assert made.deviations[name] == (parts[0][0] + parts[1][0], parts[0][1] + parts[1][1])
        halves = [pairs_of(each[: len(each) // 2], each[len(each) // 2 :]) for each in up]
        assert made.deviations["halves"] == (halves[0][0] + halves[1][0], halves[0][1] + halves[1][1])
        assert made.deviations["datasets"] == pairs_of(up[0], up[1])


def test_values_are_paired_by_their_order_whatever_their_signs():
    """Against an order of places, with equal values by the same lot: the law of the test asks for some such order."""
    rng = stream(12, Stage.EXPERIMENT)
    for run in range(60):
        before, now = (rng.standard_normal(int(rng.integers(1, 90))).astype(np.float32) for _ in (0, 1))
        if run % 3 == 0:  # zeros of both signs, infinities, and lattices
            before[0], now[0] = (0.0, -0.0) if run % 2 else (np.inf, -np.inf)
            before, now = np.round(before), np.round(now)
        together = np.concatenate([before, now])
        lot = np.random.Generator(np.random.PCG64(len(together))).permutation(len(together))
        own = lot[np.argsort(together[lot], kind="stable")] < len(before)
        pairs = own[: len(own) // 2 * 2].reshape(-1, 2)
        assert split_pairs(before, now) == (len(pairs), pairs.sum(), (pairs[:, 0] != pairs[:, 1]).sum())


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


def again(part, order=lambda rng, noise: noise, dust=0.0, scale=1.0):
    """A target that draws a part of a call's noise and uses it again, with a little other noise upon it."""

    def release(data, *, rng, size):
        noise = rng.laplace(size=max(1, int(part(size))))
        noise = order(rng, np.resize(noise, size))
        return scale * data + noise + (dust * rng.random(size) if dust else 0.0)

    return release


def mirrored(data, *, rng, size):
    noise = rng.laplace(size=-(-size // 2))
    return data + np.r_[noise, noise[::-1]][:size] + 1e-4 * rng.normal(size=size)


def antithetic(data, *, rng, size):
    noise = rng.laplace(size=-(-size // 2))
    return data + np.r_[noise, -noise][:size]


def bootstrapped(data, *, rng, size):
    return data + rng.choice(rng.laplace(size=max(1, size // 5)), size=size) + 1e-6 * rng.random(size)


DEPENDENT = {
    "halves": again(lambda n: -(-n // 2)),
    "thirds, with dust": again(lambda n: -(-n // 3), dust=1e-6),
    "fifths in any order, with dust": again(lambda n: -(-n // 5), lambda rng, noise: rng.permutation(noise), 1e-6),
    "a cache of 512": again(lambda n: min(n, 512)),
    "a cache of 512 that would hide eps = 1.5": again(lambda n: min(n, 512), scale=1.5),
    "mirrored": mirrored,
    "antithetic": antithetic,
    "drawn from a pool": bootstrapped,
}


@pytest.mark.parametrize("name", DEPENDENT)
def test_noise_that_a_call_uses_again_is_seen(name):
    """Marginals are at the claim, a verdict would be above its level. 50,000 trials, three seeds, power > .999."""
    for seed in range(3):
        record = audit(DEPENDENT[name], claim=PureDP(1.0), pair=Pair(0.0, 1.0), trials=50_000, seed=seed)
        assert (record.verdict, record.eps_lower) == (Verdict.INVALID, 0.0)


def test_both_halves_of_a_call_are_looked_at():
    for n in (0, 1, 7, 255, 256, 257, 1000, 65_536):
        rows = np.concatenate(looked_at(np.arange(n)))
        assert len(rows) == len(set(rows.tolist())) == min(n, RANKED)
        assert n <= RANKED or (rows[128:] - rows[:128] == n // 2).all()


@pytest.mark.slow
def test_a_thousand_honest_audits_are_valid():
    """0 of 1,000 are INVALID; each is with probability <= 1e-6. The claim has room: a refuted `secure` is."""
    for run in range(1000):
        target = HONEST[run % len(HONEST)]
        record = audit(
            target,
            claim=PureDP(1.5),
            pair=Pair(0.0, 1.0),
            trials=(1000, 3000, 10_000)[run % 3],
            seed=run,
            sequential=run % 16 == 0,
        )
        assert record.verdict is not Verdict.INVALID, (run, record.invalid)
