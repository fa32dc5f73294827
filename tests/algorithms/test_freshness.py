"""No noise of a run is used twice: levels of the tests, their power, and what is planted."""

import numpy as np
import pytest

from algorithms.core import freshness
from algorithms.core.noise_tap import LAPLACE, NoiseTap, NORMAL
from algorithms.instances import full_size
from audits.planted.draws import REUSED
from dpverify.base.seeding import Stage, stream

FAMILIES = {"laplace": LAPLACE, "normal": NORMAL}


def drawn(family, rng, *shape):
    return rng.laplace(size=shape) if family == "laplace" else rng.normal(size=shape)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("bug", REUSED)
def test_noise_that_is_used_again_is_not_fresh(family, bug):
    change, tap, released = REUSED[bug](), NoiseTap(24, 3.0, FAMILIES[family]), 0.0
    for row in drawn(family, stream(1, Stage.EXPERIMENT, 21), 2_400, 24):
        before, released = released, released + 3 * change(family, row, 0)  # sums of messages: residuals are rounded
        tap.add(released - before, largest=float(np.abs(released).max()))
    report = tap.report(drawn=2_400 * 24, stated=2_400 * 24)
    assert not report.ok
    test = "lags" if "mixture" in bug else "repeats"
    assert report.p_values[test] < 1e-12


def test_200_honest_runs_are_fresh_and_p_values_keep_their_level():
    found = {"repeats": [], "lags": []}
    for seed in range(200):
        rng, released = stream(seed, Stage.EXPERIMENT, 22), 0.0
        tap = NoiseTap(6, 3.0, NORMAL)
        for row in rng.normal(size=(150, 6)):
            before, released = released, released + 3 * row
            tap.add(released - before, largest=float(np.abs(released).max()))
        report = tap.report(drawn=900, stated=900)
        assert report.ok
        for name, values in found.items():
            values.append(report.p_values[name])
    for values in found.values():  # Pr[p <= a] <= a, binomial at level 1e-6
        assert sum(p <= 0.01 for p in values) <= 13


@pytest.mark.parametrize("copies", [20, 100])
def test_twenty_copies_among_two_million_draws_are_too_many(copies):
    sizes = stream(3, Stage.EXPERIMENT, 23).random(2_000_000)
    assert freshness.repeats(sizes) > freshness.LEVEL
    sizes[-copies:] = sizes[:copies] * (1 + 2.0**-52)
    assert freshness.repeats(sizes, 1e-14) < freshness.LEVEL / 10


def test_copies_with_a_little_noise_of_their_own_are_seen():
    rng = stream(4, Stage.EXPERIMENT, 24)
    sizes = rng.random(20_000)
    sizes[10_000:] = np.abs(sizes[:10_000] + 1e-7 * rng.normal(size=10_000))
    assert freshness.repeats(sizes) < 1e-12


@pytest.mark.parametrize("signs", [False, True])
def test_a_mixture_with_its_cells_in_another_order_shows_in_the_sums(signs):
    rng = stream(5, Stage.EXPERIMENT, 25)
    z = rng.normal(size=(4_000, 12))
    for time in range(37, 4_000):
        old = rng.permutation(z[time - 37]) * (rng.choice([-1, 1], 12) if signs else 1)
        z[time] = 0.8 * old + 0.6 * z[time]
    v = 2 * NORMAL.below(z) - 1
    assert freshness.lags([v]) < freshness.LEVEL


def test_steps_whose_signs_are_chosen_are_tested_by_their_sizes():
    rng, tap = stream(6, Stage.EXPERIMENT, 26), NoiseTap(50)
    rows = rng.laplace(size=(600, 50))
    rows[300] = np.roll(rows[40], 3)
    for time, row in enumerate(rows):
        tap.add(np.abs(row) if time in (40, 300) else row, chosen=time in (40, 300))
    report = tap.report(drawn=30_000, stated=30_000)
    assert report.draws == 598 * 50
    assert report.p_values["repeats"] < 1e-12
    assert report.p_values["lags"] > 1e-3


def test_integers_are_compared_by_whole_vectors():
    rng, masses = stream(7, Stage.EXPERIMENT, 27), np.full(41, 1 / 41)
    rows = list(np.abs(rng.integers(-20, 21, size=(100, 48))))
    most = freshness.multiset_bound(masses, 48)
    assert freshness.vectors(rows, most) == 1.0
    rows[90] = np.roll(rows[3], 5)
    assert freshness.vectors(rows, most) < freshness.LEVEL


def test_the_likeliest_multiset_is_below_its_bound():
    masses = np.array([0.5, 0.3, 0.2])
    exact = max(
        np.exp(np.log(np.arange(1, 9)).sum() - sum(np.log(np.arange(1, k + 1)).sum() for k in (a, b, 8 - a - b)))
        * masses[0] ** a * masses[1] ** b * masses[2] ** (8 - a - b)
        for a in range(9) for b in range(9 - a)
    )  # fmt: skip
    assert exact <= freshness.multiset_bound(masses, 8) <= 8 * exact


FEW = {"dp-ucbvi-jdp": 300, "dp-ucbvi-ldp": 300, "dp-apvi": 40, "sdp-pe": 600}
BUGS = ("mixture at lag 1", "rotation at lag 7", "sign at lag 7")
BY_ROW = [(name, users, bug) for name, users in FEW.items() for bug in BUGS]


@pytest.mark.parametrize(("name", "users", "bug"), [*BY_ROW, ("dp-ucbvi-jdp", 2_100, "rotation at lag 1000")])
def test_a_row_whose_noise_is_used_again_does_not_pass(name, users, bug):
    assert not full_size(name, users=users, change=REUSED[bug]()).witness(1).tap.ok
