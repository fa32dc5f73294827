"""Shuffled bits and integers against brute force over all messages, against published tables, and at scale."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from audits import audit_shuffle
from audits.planted.shuffle import RewardsBothWays
from dpverify.accounting.accountant import delta_upper, eps_upper
from dpverify.base.seeding import Stage, stream
from dpverify.claims.neighbours import Pair, Relation
from dpverify.errors import ParameterError
from mechanisms.datasets.pairs import constant, uniform, worst_replacement
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.shuffle import Messages, number_of_changed_counters, Shuffle
from mechanisms.shuffling.bits import Bits, noise_for, NoiseBits, ShuffledSum, threshold
from mechanisms.shuffling.calibration import one_step_less
from mechanisms.shuffling.error_bounds import exact_error, provable_error
from mechanisms.shuffling.integers import delta_floor, histogram_law, ShuffledIntegers
from mechanisms.shuffling.profile import integers_delta, sum_delta

REPLACE = Relation.REPLACE_ONE
SMALL = [(n, m, p) for n in (1, 2, 3, 4) for m, p in ((1, 0.5), (1, 0.2), (2, 0.5), (3, 0.5), (2, 0.3))]


def rng_of(*key):
    return stream(20, Stage.EXPERIMENT, *key)


def brute_force(n, m, p, ones):
    """Laws of the sum and of the histogram, over every message of every user."""
    sums, histograms = {}, {}
    for noise in itertools.product((0, 1), repeat=n * m):
        mass = math.prod(p if bit else 1 - p for bit in noise)
        z = [int(user < ones) + sum(noise[user * m : (user + 1) * m]) for user in range(n)]
        histogram = tuple(z.count(value) for value in range(m + 2))
        sums[sum(z)] = sums.get(sum(z), 0.0) + mass
        histograms[histogram] = histograms.get(histogram, 0.0) + mass
    return sums, histograms


def hockey_stick(p, q, eps):
    keys = set(p) | set(q)
    return max(
        math.fsum(max(0.0, a.get(key, 0.0) - math.exp(eps) * b.get(key, 0.0)) for key in keys)
        for a, b in ((p, q), (q, p))
    )


def log_of(law, keys):
    with np.errstate(divide="ignore"):
        return np.log([law.get(key, 0.0) for key in keys])


def assert_same_ratios(got, first, second, keys):
    wanted = log_of(first, keys) - log_of(second, keys)
    finite = np.isfinite(wanted)
    np.testing.assert_array_equal(got[~finite], wanted[~finite])
    np.testing.assert_allclose(got[finite], wanted[finite], atol=1e-9)


@pytest.mark.parametrize(("n", "m", "p"), SMALL)
def test_log_ratios_laws_and_deltas_equal_enumeration(n, m, p):
    noise = NoiseBits(m, p)
    for ones in range(n):
        worlds = [(each, *brute_force(n, m, p, each)) for each in (ones, ones + 1)]
        (_, sum0, hist0), (_, sum1, hist1) = worlds
        listed = histogram_law(n, ones, noise)
        assert set(listed) == set(hist0)
        assert all(listed[key] == pytest.approx(hist0[key], rel=1e-12) for key in listed)
        for first, second in itertools.permutations(worlds):
            pair = Pair(Bits(n, first[0]), Bits(n, second[0]), REPLACE)
            for kind, target in ((1, ShuffledSum(users=n, noise=noise)), (2, ShuffledIntegers(users=n, noise=noise))):
                keys = sorted(set(first[kind]) | set(second[kind]))
                assert_same_ratios(target.log_ratio(np.array(keys), pair), first[kind], second[kind], keys)
        for eps in (0.0, 0.3, 1.0, 3.0):
            assert sum_delta(n * m, p, eps) == pytest.approx(hockey_stick(sum0, sum1, eps), rel=1e-9)
            if m == 1:
                assert integers_delta(n, ones, p, eps) == pytest.approx(hockey_stick(hist0, hist1, eps), rel=1e-9)
    everyone = hockey_stick(brute_force(n, m, p, n - 1)[1], brute_force(n, m, p, n)[1], 30.0)
    assert everyone >= delta_floor(noise) * (1 - 1e-9)


@pytest.mark.parametrize(("n", "m", "p"), [(4, 3, 0.5), (4, 1, 0.2)])
def test_ledgers_account_to_the_enumerated_delta(n, m, p):
    noise = NoiseBits(m, p)
    laws = [brute_force(n, m, p, ones) for ones in range(n + 1)]
    for kind, target in enumerate((ShuffledSum(users=n, noise=noise), ShuffledIntegers(users=n, noise=noise))):
        for eps in (0.2, 1.0):
            exact = max(hockey_stick(a[kind], b[kind], eps) for a, b in itertools.pairwise(laws))
            accounted = delta_upper(target.ledger, eps=eps, relation=REPLACE)
            assert exact <= accounted <= exact * (1 + 1e-6)


def test_a_large_integer_release_is_charged_as_exposed():
    ledger = ShuffledIntegers(users=20_000, noise=NoiseBits(1, 0.2)).ledger
    assert eps_upper(ledger, delta=0.5, relation=REPLACE) == math.inf


@pytest.mark.parametrize("ones", [0, 2, 3, 4])
@pytest.mark.parametrize(("m", "p"), [(1, 0.2), (3, 0.5)])
def test_samplers_have_the_enumerated_law(ones, m, p):
    # chi-square at level 1e-6 (16 tests); a law 5 % off in one cell of mass 0.1 fails with power > 0.99
    n, trials, noise = 4, 200_000, NoiseBits(m, p)
    laws = brute_force(n, m, p, ones)
    for kind, target in enumerate((ShuffledSum(users=n, noise=noise), ShuffledIntegers(users=n, noise=noise))):
        out = target.release(Bits(n, ones), rng=rng_of(ones, m, kind), size=trials)
        assert out.shape == ((trials,) if kind == 0 else (trials, m + 2))
        seen, counts = np.unique(out, axis=0, return_counts=True)
        observed = {tuple(row) if kind else int(row): count for row, count in zip(seen.tolist(), counts, strict=True)}
        assert set(observed) <= set(laws[kind])
        keys = sorted(laws[kind])
        expected = np.array([laws[kind][key] * trials for key in keys])
        found = np.array([observed.get(key, 0) for key in keys], dtype=float)
        rare = expected < 10
        if rare.any():
            expected = np.append(expected[~rare], expected[rare].sum())
            found = np.append(found[~rare], found[rare].sum())
        used = expected > 0
        assert stats.chisquare(found[used], expected[used]).pvalue > 1e-6


@pytest.mark.parametrize(("users", "m"), [(1_000, 9), (1_000_000, 6)])
def test_extreme_pairs_at_scale_equal_their_closed_forms(users, m):
    # everybody else 0: the ratio is the mean of r(z); everybody else 1: one over the mean of 1/r(z)
    target, v = ShuffledIntegers(users=users, noise=NoiseBits(m)), np.arange(m + 2)
    with np.errstate(divide="ignore"):
        r = v / (m + 1.0 - v)
    low = target.release(Bits(users, 0), rng=rng_of(users, 1), size=50)
    got = target.log_ratio(low, Pair(Bits(users, 1), Bits(users, 0), REPLACE))
    np.testing.assert_allclose(got, np.log(low[:, :-1] @ r[:-1] / users), atol=1e-8)
    high = target.release(Bits(users, users), rng=rng_of(users, 2), size=50)
    got = target.log_ratio(high, Pair(Bits(users, users - 1), Bits(users, users), REPLACE))
    np.testing.assert_allclose(got, np.log(high[:, 1:] @ (1 / r[1:]) / users), atol=1e-8)


# --- the papers' constants, spec tables 4a-4c, by exact computation


LAYOUTS = [(1, 1, 2, 1e-3), (2, 4, 2, 1e-3), (6, 4, 2, 1e-3), (6, 4, 2, 1e-6)]


@pytest.mark.parametrize(
    ("cell", "spent", "fair", "sparse"),
    list(zip(LAYOUTS, (0.099, 0.055, 0.026, 0.057), (191, 382, 1145, 3150), (98, 193, 577, 1590), strict=True)),
)
def test_batch_as_printed_holds_and_the_calibrated_noise_is_the_least(cell, spent, fair, sparse):
    H, S, A, beta = cell
    layout = CountLayout(H=H, S=S, A=A, rewards=True)
    for n in (100, 100_000):
        printed = Shuffle.journal(0.9, beta, layout, n)
        # the table quotes its worst n; the account here is at most 6 % above it
        assert eps_upper(printed.ledger, delta=beta, relation=REPLACE) <= 0.9 * spent * 1.06
        least = Shuffle.calibrated(0.9, beta, layout, n)
        assert delta_upper(least.ledger, eps=0.9, relation=REPLACE) <= beta
        less = one_step_less(n, least.noise)
        assert less is not None
        weaker = Shuffle(layout=layout, users=n, eps=0.9, beta=beta, noise=less)
        assert delta_upper(weaker.ledger, eps=0.9, relation=REPLACE) > beta
    # n = 1e5: skew noise, so the ledger needs the directions of the counters; the table is rounded up
    assert 2 * least.noise.mean(100_000) == pytest.approx(sparse, rel=0.01)
    single = Shuffle.calibrated(0.9, beta, layout, 1)  # one user: tau_min in whole fair bits
    assert single.noise.per_user == pytest.approx(fair, rel=0.02)
    printed = Shuffle.journal(0.9, beta, layout, 100).noise.variance(100)
    hundred = Shuffle.calibrated(0.9, beta, layout, 100).noise.variance(100)
    assert hundred == pytest.approx(fair / 4, rel=0.03)  # whatever n is, no more noise than tau_min fair bits
    assert 6.5 < math.sqrt(printed / hundred) < 20.5  # the tabled excess in standard deviations


@pytest.mark.parametrize("messages", Messages)
def test_a_replaced_user_moves_as_many_counters_as_the_ledger_says(messages):
    layout = CountLayout(H=2, S=2, A=2, rewards=True)
    data = uniform(layout, 7, rng=rng_of(5))
    pair = worst_replacement(data, 3)
    target = Shuffle(layout=layout, users=7, eps=1.0, beta=0.1, noise=NoiseBits(2), messages=messages)
    assert target.claim.check(pair).verified
    moved = layout.pack(pair.first.counts(rewards=True)) != layout.pack(pair.second.counts(rewards=True))
    # rewards flip with the cell, so of each step's two reward counters one moves
    assert moved.sum() == 5 * layout.H
    assert moved.sum() <= number_of_changed_counters(layout)
    out = target.release(pair.first, rng=rng_of(6), size=4_000)
    assert out.shape == ((4_000, layout.cells) if messages is Messages.BITS else (4_000, layout.cells, 4))
    ratios = target.log_ratio(out, pair)
    assert ratios.shape == (4_000,)
    assert (ratios > -math.inf).all()  # a sample of `first` is possible under `first`
    with np.errstate(over="ignore"):
        inverse = np.exp(-ratios)  # E = Pr[second puts its mass where first can] <= 1; 6 sd, level 1e-9
    assert inverse.mean() < 1 + 6 * inverse.std() / math.sqrt(len(inverse))
    np.testing.assert_array_equal(target.log_ratio(out, Pair(data, data)), 0.0)


def test_estimates_are_unbiased_with_the_binomial_variance():
    # 20 000 trials, 32 counters: a mean off by 6 sd has level 32 * 2e-9
    layout, n, trials = CountLayout(H=2, S=2, A=2, rewards=True), 50, 20_000
    data = uniform(layout, n, rng=rng_of(7))
    for noise in (NoiseBits(2), NoiseBits(1, 0.1)):
        target = Shuffle(layout=layout, users=n, eps=1.0, beta=0.1, noise=noise)
        errors = layout.pack(target.private_counts(data, rng=rng_of(8), size=trials)) - layout.pack(
            data.counts(rewards=True)
        )
        assert np.abs(errors.mean(axis=0)).max() < 6 * math.sqrt(noise.variance(n) / trials)
        assert errors.var(axis=0) == pytest.approx(noise.variance(n), rel=0.1)


def test_impossible_data_is_refused():
    layout = CountLayout(H=1, S=2, A=2, rewards=True)
    target = Shuffle.journal(0.9, 1e-3, layout, 10)
    fractional = Trajectories(
        states=np.zeros((10, 1), int), actions=np.zeros((10, 1), int), S=2, A=2, rewards=np.full((10, 1), 0.5)
    )
    other_space = constant(CountLayout(H=2, S=2, A=2), 10)
    for data in (constant(layout, 9), fractional, other_space):
        with pytest.raises(ParameterError):
            target.release(data, rng=rng_of(11), size=1)


@pytest.mark.parametrize(
    "bad",
    [
        lambda: NoiseBits(-1),
        lambda: NoiseBits(1, 0.6),
        lambda: NoiseBits(1, math.nan),
        lambda: Bits(3, 4),
        lambda: threshold(math.nan, 0.1),
        lambda: threshold(1.0, 0.0),
        lambda: noise_for(10.0, 0),
        lambda: Shuffle.journal(-1.0, 0.1, CountLayout(H=1, S=2, A=2), 5),
    ],
)
def test_parameters_outside_their_range_are_refused(bad):
    with pytest.raises(ParameterError):
        bad()


# --- error bounds


@pytest.mark.parametrize("noise", [NoiseBits(1), NoiseBits(3), NoiseBits(1, 0.37), NoiseBits(2, 0.01)])
@pytest.mark.parametrize("failure", [0.3, 1e-2, 1e-6])
@pytest.mark.parametrize("users", [1, 7, 40])
def test_exact_error_is_the_smallest_bound_and_the_others_cover_it(noise, failure, users):
    total, mean = noise.total(users), noise.mean(users)
    distance = np.abs(np.arange(total + 1) - mean)
    mass = stats.binom.pmf(np.arange(total + 1), total, noise.probability)
    wanted = min(t for t in distance if mass[distance > t].sum() <= failure)
    assert exact_error(noise, users, failure) == pytest.approx(wanted, abs=1e-9)
    assert mass[distance > provable_error(noise, users, failure)].sum() <= failure


def test_the_noise_that_the_audits_write_down_is_what_the_search_finds():
    for key in audit_shuffle.FOUND:
        assert Shuffle.calibrated(*key) == audit_shuffle.found(*key)
    eps, beta, layout, users = key
    assert RewardsBothWays.calibrated(eps, beta, layout, users).noise == audit_shuffle.BOTH_WAYS
