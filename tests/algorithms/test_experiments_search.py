"""The search: the same budget and points for all, seeds that no figure uses, no loss that is not finite."""

import numpy as np
import pytest

from algorithms.experiments.search import draw_points, search
from dpverify.errors import RunError

SPACE = {"bonus": (1e-4, 1.0), "error": (1e-3, 1e-1)}


def bowl(name, point, seeds):
    return np.array([np.log(point["bonus"] / 0.01) ** 2 + 1e-6 * (each % 7) for each in seeds])


def test_every_learner_gets_the_same_runs_and_the_least_loss_wins():
    found = search({"one": SPACE, "two": {"bonus": SPACE["bonus"]}}, bowl, points=8, seed=3)
    assert found["one"].runs == found["two"].runs == 8 + 4 * 2 + 2 * 4
    assert len(set(found["one"].seeds)) == 7
    best = min(draw_points(SPACE, 8, 3), key=lambda each: abs(np.log(each["bonus"] / 0.01)))
    assert found["one"].point == best
    assert found["one"].point["bonus"] == found["two"].point["bonus"]  # the same points for a shared parameter
    assert [len(each.losses) for each in found["one"].tried].count(7) == 2


def test_points_are_log_uniform_and_a_function_of_the_seed():
    points = [each["bonus"] for each in draw_points(SPACE, 4000, 1)]
    assert np.log10(points).min() >= -4
    assert np.log10(points).max() <= 0
    # mean of the uniform law on [-4, 0] is -2, deviation 4/sqrt(12 x 4000) = .018: four of them (6e-5)
    assert abs(np.log10(points).mean() + 2) < 0.073
    assert draw_points(SPACE, 3, 1) == draw_points(SPACE, 4000, 1)[:3] != draw_points(SPACE, 3, 2)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_loss_that_is_not_finite_stops_the_search(value):
    with pytest.raises(RunError, match="not finite"):
        search({"one": SPACE}, lambda name, point, seeds: np.full(len(seeds), value), points=2, seed=0)
