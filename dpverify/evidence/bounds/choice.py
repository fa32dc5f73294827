"""Which test is asked: decided from predicted counts only, never from the data that certify.

Looking at several tests and reporting the best one would need a correction; choosing one beforehand does
not. The prediction may come from selection trials or from theory; a bad one costs power, never validity.
"""

import math

from dpverify.base import require
from dpverify.errors import ParameterError
from dpverify.evidence.bounds.binomial import BinomialTest
from dpverify.evidence.bounds.protocol import BoundTest
from dpverify.evidence.bounds.two_step import TwoStepTest, UnconditionalTest

_FEW = 60  # guesses: below, the discreteness of the two-step test costs more than the search does
_MANY = 5000  # wrong guesses: above, the two-step test is as good and a thousand times faster


def choose_test(
    *,
    trials: int,
    delta: float,
    expected_right: float,
    expected_wrong: float,
    one_sided: bool = False,
    significance: float = 0.05,
) -> BoundTest:
    """The test of one event that is recommended for this size of problem.

    `expected_right`, `expected_wrong` are the counts predicted for the `trials` certifying trials; ParameterError when
    they are not finite numbers >= 0 with a sum of at most `trials`.

    delta = 0                                        `BinomialTest`
    delta > 0                                        `TwoStepTest`
    delta > 0, at most 5,000 wrong guesses, and one of:
      at most 60 guesses; no wrong one; n d >= 1     `UnconditionalTest`
    """
    require.integer(at_least=1, trials=trials)
    require.delta(delta=delta)
    require.open_unit(significance=significance)
    require.non_negative(expected_right=expected_right, expected_wrong=expected_wrong)
    guesses = math.floor(expected_right) + round(expected_wrong)
    if not expected_right + expected_wrong <= trials * (1 + 1e-9):
        raise ParameterError("expected_right", expected_right, f"at most {trials} with expected_wrong")
    if delta == 0:
        return BinomialTest()
    revealed = trials * (delta / 2 if one_sided else delta)
    if round(expected_wrong) <= _MANY and (guesses <= _FEW or round(expected_wrong) < 1 or revealed >= 1):
        return UnconditionalTest(nuisance_level=significance / 50, order_level=significance)
    return TwoStepTest()
