"""No noise of a run is used twice: levels of the tests, their power, and what is planted."""

import numpy as np
import pytest

from algorithms.core import freshness
from algorithms.core.noise_tap import LAPLACE, NoiseTap, NORMAL
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


@pytest.mark.parametrize("signs", [False, True])
def test_a_mixture_with_its_cells_in_another_order_shows_in_the_sums(signs):
    rng = stream(5, Stage.EXPERIMENT, 25)
    z = rng.normal(size=(4_000, 12))
    for time in range(37, 4_000):
        old = rng.permutation(z[time - 37]) * (rng.choice([-1, 1], 12) if signs else 1)
        z[time] = 0.8 * old + 0.6 * z[time]
    v = 2 * NORMAL.below(z) - 1
    assert freshness.lags([v]) < freshness.LEVEL


def test_the_likeliest_multiset_is_below_its_bound():
    masses = np.array([0.5, 0.3, 0.2])
    exact = max(
        np.exp(np.log(np.arange(1, 9)).sum() - sum(np.log(np.arange(1, k + 1)).sum() for k in (a, b, 8 - a - b)))
        * masses[0] ** a
        * masses[1] ** b
        * masses[2] ** (8 - a - b)
        for a in range(9)
        for b in range(9 - a)
    )
    assert exact <= freshness.multiset_bound(masses, 8) <= 8 * exact
