"""Which test is asked: decided from predicted counts only, never from the data that certify.

Looking at several tests and reporting the best one would need a correction; choosing one beforehand does
not. The prediction may come from selection trials or from theory; a bad one costs power, never validity.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.base.errors import ParameterError
from dpverify.evidence.bounds.binomial import BinomialTest
from dpverify.evidence.bounds.protocol import BoundTest
from dpverify.evidence.bounds.threshold import ThresholdTest
from dpverify.evidence.tally import Tally


def choose_test(
    *,
    trials: int,
    delta: float,
    expected_right: float | Sequence[float] | npt.NDArray[np.float64],
    expected_wrong: float | Sequence[float] | npt.NDArray[np.float64],
    one_sided: bool = False,
    significance: float = 0.05,
) -> BoundTest:
    """The test with the largest predicted bound among those recommended for this size of problem.

    `expected_right`, `expected_wrong` are the counts predicted for the `trials` certifying trials, a number
    or one for each level (most confident first). ParameterError when they are not finite counts.

    delta = 0    `BinomialTest`
    delta > 0    `ThresholdTest`
    On several levels the number of levels that are pooled is chosen as well.
    """
    require.integer(at_least=1, trials=trials)
    require.delta(delta=delta)
    require.open_unit(significance=significance)
    predicted = _predicted(trials, expected_right, expected_wrong, one_sided)
    family = BinomialTest if delta == 0 else ThresholdTest
    tests = [family(levels) for levels in range(predicted.right.size, 0, -1)]  # a tie keeps more guesses
    return max(tests, key=lambda test: test.eps_lower(predicted, delta=delta, significance=significance))


def _predicted(trials: int, expected_right: object, expected_wrong: object, one_sided: bool) -> Tally:
    right, wrong = np.atleast_1d(np.asarray(expected_right, float)), np.atleast_1d(np.asarray(expected_wrong, float))
    for name, counts in (("expected_right", right), ("expected_wrong", wrong)):
        if not (np.isfinite(counts).all() and (counts >= 0).all() and counts.size):
            raise ParameterError(name, counts, "finite counts >= 0, one for each level")
    if right.shape != wrong.shape or not right.sum() + wrong.sum() <= trials * (1 + 1e-9):
        raise ParameterError("expected_right", right, f"as long as expected_wrong and at most {trials} in all")
    whole_right, whole_wrong = np.floor(right).astype(np.int64), np.rint(wrong).astype(np.int64)
    return Tally(max(trials, int(whole_right.sum() + whole_wrong.sum())), whole_right, whole_wrong, one_sided)
