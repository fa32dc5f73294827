"""Scores of noise that looks alike in all directions."""

import numpy as np
import pytest

from dpverify import Pair
from dpverify.evidence.scores.learned import differences, LogisticFamily, RadialFamily
from dpverify.evidence.scores.model_selection import _simplest_near_best, fit_score
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


def test_auto_takes_it_where_it_is_better():
    found = fit_score("auto", as_target(spherical), Pair(0.0, 1.0), trials_of(spherical, 20_000))
    assert found.score.name == "radial logistic"


def test_of_two_as_simple_the_better_is_taken_and_then_the_simpler():
    trials = SelectionTrials(Outcomes(np.zeros(4000)), np.arange(4000) % 2 == 0)
    rng = np.random.default_rng(0)
    toward = np.where(trials.first, 1.0, -1.0)
    weak, strong = 0.1 * toward + rng.standard_normal(4000), 0.2 * toward + rng.standard_normal(4000)
    additive, piecewise = LogisticFamily(), LogisticFamily(name="piecewise logistic", bends=True)
    barely = strong + 1e-4 * rng.standard_normal(4000)
    assert _simplest_near_best([additive, RadialFamily(), piecewise], [weak, strong, weak], trials) == 1
    assert _simplest_near_best([additive, RadialFamily(), piecewise], [strong, weak, weak], trials) == 0
    assert _simplest_near_best([additive, RadialFamily(), piecewise], [strong, weak, barely], trials) == 0


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


def test_rows_that_are_never_whole_say_nothing():
    x = np.random.default_rng(3).standard_normal((50, 2))
    x[:, 1] = np.nan
    trials = SelectionTrials(Outcomes(x), np.arange(50) < 25)
    assert (RadialFamily().fit(trials)(trials.outcomes) == 0).all()


def test_one_dataset_only_says_nothing():
    trials = SelectionTrials(Outcomes(np.ones((50, 2))), np.ones(50, bool))
    assert (RadialFamily().fit(trials)(trials.outcomes) == 0).all()


def test_a_point_on_a_centre_is_far_from_the_other_and_finite():
    centres = np.array([[0.0, 0.0], [1.0, 0.0]])
    at = differences(centres, centres, np.ones(2))
    assert np.isfinite(at).all()
    assert (at[0] < 0).all()
    assert (at[1] > 0).all()


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
