"""How trials are split between learning and certifying."""

import numpy as np
import pytest

from dpverify import Pair, PureDP
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


@pytest.mark.parametrize("subject", [experiment(rare), experiment(laplace), shifted(0.001)])
def test_weak_violations_are_learned_from_more(subject):
    assert learned(subject, 40_000)[0] == 0.4


class InBlocks:
    trials_per_block = 1000

    def release(self, data, *, rng, size):
        return rng.standard_normal(size)


def test_more_selection_trials_begin_with_the_first_ones():
    """The second look is at a longer prefix of the same trials: nothing is thrown away, nothing counted twice."""
    few, many = (select(experiment(InBlocks()), trials) for trials in (4000, 16_000))
    assert np.array_equal(few.first, many.first[:4000])
    assert np.array_equal(few.outcomes.values, many.outcomes.values[:4000])
