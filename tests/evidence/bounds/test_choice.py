"""The choice of a test: from predicted counts, and better or equal on them than every alternative."""

import math

import pytest

from dpverify.errors import ParameterError
from dpverify.evidence.bounds import BinomialTest, choose_test, TwoStepTest


def test_default_tests():
    assert choose_test(trials=1000, delta=0.0, expected_right=500, expected_wrong=200) == BinomialTest()
    assert choose_test(trials=10_000, delta=1e-6, expected_right=500, expected_wrong=200) == TwoStepTest()


@pytest.mark.parametrize(
    ("right", "wrong"),
    [(math.nan, 1), (1, -1), (math.inf, 0), ([1, 2], [1, 2]), (90, 11)],
    ids=["nan", "negative", "inf", "levels", "too many"],
)
def test_impossible_predictions_are_refused(right, wrong):
    with pytest.raises(ParameterError):
        choose_test(trials=100, delta=0.0, expected_right=right, expected_wrong=wrong)


def test_fractional_predictions_that_fill_all_trials_are_allowed():
    assert choose_test(trials=1000, delta=0.0, expected_right=502.5, expected_wrong=497.5) == BinomialTest()
