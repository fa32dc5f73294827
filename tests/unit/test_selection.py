"""How trials are split between learning and certifying."""

import numpy as np

from dpverify import Pair
from dpverify.evidence.selection import learn
from dpverify.trials.collect import Experiment
from dpverify.trials.target import as_target


def shifted(by, coordinates=None):
    def release(data, *, rng, size):
        return by * data + rng.standard_normal(size if coordinates is None else (size, coordinates))

    return Experiment.of(as_target(release), Pair(0.0, 1.0), 3)


def test_strong_violations_are_learned_from_a_tenth():
    budget, probe, fitted = learn(shifted(1.0), 40_000, "auto", exact=False)
    assert (budget.selection, budget.estimation) == (4000, 36_000)
    assert len(probe) == len(fitted.values) == 4000


def test_weak_violations_are_learned_from_more():
    budget, probe, fitted = learn(shifted(0.01), 40_000, "auto", exact=False)
    assert (budget.selection, budget.estimation) == (10_000, 30_000)
    assert len(probe) == len(fitted.values) == 10_000


def test_small_budgets_and_many_coordinates_learn_from_more_at_once():
    for trials, by, coordinates, share in ((1000, 0.01, None, 0.3), (10_000, 0.01, None, 0.2), (40_000, 1.0, 8, 0.2)):
        budget, _, _ = learn(shifted(by, coordinates), trials, "auto", exact=False)
        assert budget.selection == share * trials
        assert budget.selection + budget.estimation == trials


def test_weak_violations_of_many_coordinates_are_learned_from_more_still():
    budget, _, _ = learn(shifted(0.01, 8), 40_000, "auto", exact=False)
    assert (budget.selection, budget.estimation) == (16_000, 24_000)


class InBlocks:
    trials_per_block = 1000

    def __init__(self, by):
        self.by = by

    def release(self, data, *, rng, size):
        return self.by * data + rng.standard_normal(size)


def test_more_selection_trials_begin_with_the_first_ones():
    """The second look is at a longer prefix of the same trials: nothing is thrown away, nothing counted twice."""
    few, many = (
        learn(Experiment.of(as_target(InBlocks(by)), Pair(0.0, 1.0), 3), 40_000, "auto", exact=False)[1]
        for by in (1.0, 0.0)
    )
    assert (len(few), len(many)) == (4000, 10_000)
    assert np.array_equal(few.first, many.first[:4000])
