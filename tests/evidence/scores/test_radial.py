"""Scores of noise that looks alike in all directions."""

import numpy as np
import pytest

from dpverify import Pair
from dpverify.evidence.scores.learned import LogisticFamily, RadialFamily
from dpverify.trials.collect import Experiment, select, SelectionTrials
from dpverify.trials.outcomes import Outcomes
from dpverify.trials.target import as_target

DIMENSION = 6
SHIFT = 3.0 / np.sqrt(DIMENSION)


def spherical(data, *, rng, size):
    """Noise of density exp(-|x|) in the Euclidean norm, around 0 or SHIFT in every coordinate."""
    direction = rng.standard_normal((size, DIMENSION))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return data * SHIFT + direction * rng.gamma(DIMENSION, 1.0, (size, 1))


def ratio(x):
    return np.linalg.norm(x - SHIFT, axis=1) - np.linalg.norm(x, axis=1)


def trials_of(function, n, seed=1):
    return select(Experiment.of(as_target(function), Pair(0.0, 1.0), seed), n)


def test_the_ratio_of_spherical_noise_is_found_and_no_sum_over_coordinates_comes_near():
    learned, fresh = trials_of(spherical, 30_000), trials_of(spherical, 20_000, seed=2)
    truth = ratio(fresh.outcomes.values)

    def missed(family):
        return float(np.mean((family.fit(learned)(fresh.outcomes) - truth) ** 2))

    assert missed(RadialFamily()) < 0.01 * float(np.mean(truth**2))
    assert missed(RadialFamily()) < 0.25 * missed(LogisticFamily())


def test_what_is_infinite_or_missing_is_not_guessed_and_failures_are_symbols():
    x = np.random.default_rng(3).standard_normal((400, 2))
    x[:200] += 1.0
    failures = np.array([""] * 400, dtype="U10")
    failures[:20] = "ValueError"
    first = np.arange(400) < 200
    score = RadialFamily().fit(SelectionTrials(Outcomes(x, failures), first))
    odd = np.array([[np.inf, 0.0], [np.nan, 1.0], [-np.inf, np.inf], [1.0, 1.0], [0.0, 0.0]])
    found = score(Outcomes(odd, np.array(["", "", "", "", "ValueError"])))
    assert (found[:3] == 0).all()
    assert found[3] > 0
    assert found[4] == pytest.approx(np.log(20.5 / 0.5))


def test_numbers_whose_squares_are_none_are_neither_learned_from_nor_an_error():
    rng = np.random.default_rng(5)
    first = np.arange(600) < 300
    x = rng.laplace(size=(600, 3)) + np.where(first, 0.0, 2.0)[:, None]
    without = RadialFamily().fit(SelectionTrials(Outcomes(x[:590]), first[:590]))
    x[590:, 0] = 1e200
    score = RadialFamily().fit(SelectionTrials(Outcomes(x), first))
    assert (score(Outcomes(x[590:])) == 0).all()
    assert np.corrcoef(score(Outcomes(x[:590])), without(Outcomes(x[:590])))[0, 1] > 0.99
    few = np.arange(600) >= 550  # of the second dataset nothing is left to learn from
    x[few] = 1e200
    assert (RadialFamily().fit(SelectionTrials(Outcomes(x), ~few))(Outcomes(x)) == 0).all()
