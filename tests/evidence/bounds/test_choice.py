"""The choice of a test: from predicted counts, and better or equal on them than every alternative."""

import math

import pytest

from dpverify.errors import ParameterError
from dpverify.evidence.bounds import choose_test


@pytest.mark.parametrize(
    ("right", "wrong"),
    [(math.nan, 1), (1, -1), (math.inf, 0), ([1, 2], [1, 2]), (90, 11)],
    ids=["nan", "negative", "inf", "levels", "too many"],
)
def test_impossible_predictions_are_refused(right, wrong):
    with pytest.raises(ParameterError):
        choose_test(trials=100, delta=0.0, expected_right=right, expected_wrong=wrong)
