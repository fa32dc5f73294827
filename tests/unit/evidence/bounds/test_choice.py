"""The choice of a test: from predicted counts, and better or equal on them than every alternative."""

import math

import numpy as np
import pytest

from dpverify.base.errors import ParameterError
from dpverify.evidence.bounds import BinomialTest, choose_test, TwoStepTest, WeightedTest


def test_default_tests():
    assert choose_test(trials=1000, delta=0.0, expected_right=500, expected_wrong=200) == BinomialTest(1)
    assert choose_test(trials=10_000, delta=1e-6, expected_right=500, expected_wrong=200) == TwoStepTest(1)


def test_levels_that_dilute_are_left_out():
    right, wrong = [300.0, 150.0], [10.0, 150.0]
    assert choose_test(trials=1000, delta=0.0, expected_right=right, expected_wrong=wrong).levels == 1
    assert choose_test(trials=1000, delta=1e-6, expected_right=right, expected_wrong=wrong).levels == 1


def test_weights_are_tried_while_their_exact_law_is_short(monkeypatch):
    levels = {"delta": 0.0, "expected_right": [16, 44, 58], "expected_wrong": [1, 3, 12]}
    assert isinstance(choose_test(trials=1000, **levels), WeightedTest)

    def never(*args, **kwargs):
        raise AssertionError("the law of 10^8 trials and more takes memory that grows with their root")

    monkeypatch.setattr(WeightedTest, "eps_lower", never)
    assert choose_test(trials=10**8 + 1, **levels) == BinomialTest(2)
    with pytest.raises(AssertionError):
        choose_test(trials=10**8, **levels)


def test_a_tie_keeps_every_level():
    assert choose_test(trials=1000, delta=0.0, expected_right=[1, 1], expected_wrong=[9, 9]).levels == 2


@pytest.mark.parametrize(
    ("right", "wrong"),
    [(math.nan, 1), (1, -1), (math.inf, 0), ([1, 2], [1]), ([], []), (90, 11)],
    ids=["nan", "negative", "inf", "shapes", "empty", "too many"],
)
def test_impossible_predictions_are_refused(right, wrong):
    with pytest.raises(ParameterError):
        choose_test(trials=100, delta=0.0, expected_right=right, expected_wrong=wrong)


def test_fractional_predictions_that_fill_all_trials_are_allowed():
    right, wrong = np.full(4, 0.5 + 125), np.full(4, 124.5)
    assert choose_test(trials=1000, delta=0.0, expected_right=right, expected_wrong=wrong).levels in (1, 2, 3, 4)
