"""How trials are split between learning and certifying."""

import numpy as np
import pytest

from dpverify import ApproxDP, Pair, PureDP
from dpverify.evidence.predicted_bound import objective_for
from dpverify.evidence.selection import learn
from dpverify.trials.collect import Experiment, select
from dpverify.trials.target import as_target


def experiment(release, seed=3):
    return Experiment.of(as_target(release), Pair(0.0, 1.0), seed)


def shifted(by, coordinates=None):
    def release(data, *, rng, size):
        return by * data + rng.standard_normal(size if coordinates is None else (size, coordinates))

    return experiment(release)


def laplace(data, *, rng, size):
    return data + rng.laplace(scale=10.0, size=size)


def rare(data, *, rng, size):
    """A hundredth of the outputs lie apart, half as many again on the second dataset."""
    apart = rng.random(size) < 0.01 * (1 + data / 2)
    return rng.standard_normal(size) + 6.0 * apart


def learned(subject, trials, coordinates=1):
    budget, attack = learn(subject, trials, objective_for(PureDP(0.1), 0.05, coordinates=coordinates))
    assert budget.selection + budget.estimation == trials
    assert attack.expected.trials == budget.estimation
    return budget.selection / trials, attack


def test_strong_violations_are_learned_from_a_tenth():
    assert learned(shifted(1.0), 40_000)[0] == 0.1


@pytest.mark.parametrize("subject", [experiment(rare), experiment(laplace), shifted(0.001)])
def test_weak_violations_are_learned_from_more(subject):
    assert learned(subject, 40_000)[0] == 0.4


def test_a_weak_number_with_a_delta_is_learned_from_a_tenth():
    budget, _ = learn(shifted(0.001), 40_000, objective_for(ApproxDP(0.1, 1e-5), 0.05))
    assert budget.selection == 4000


def test_small_budgets_and_many_coordinates_learn_from_more_at_once():
    for trials, by, coordinates, share in ((1000, 0.01, None, 0.3), (10_000, 1.0, None, 0.2), (40_000, 1.0, 8, 0.2)):
        assert learned(shifted(by, coordinates), trials, coordinates or 1)[0] == share


def test_weak_violations_of_many_coordinates_are_learned_from_more_still():
    assert learned(shifted(0.01, 8), 40_000, 8)[0] == 0.4


class InBlocks:
    trials_per_block = 1000

    def release(self, data, *, rng, size):
        return rng.standard_normal(size)


def test_more_selection_trials_begin_with_the_first_ones():
    """The second look is at a longer prefix of the same trials: nothing is thrown away, nothing counted twice."""
    few, many = (select(experiment(InBlocks()), trials) for trials in (4000, 16_000))
    assert np.array_equal(few.first, many.first[:4000])
    assert np.array_equal(few.outcomes.values, many.outcomes.values[:4000])
