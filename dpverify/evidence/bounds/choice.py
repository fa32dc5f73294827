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
from dpverify.evidence.bounds.protocol import BoundTest, pooled, slack
from dpverify.evidence.bounds.two_step import TwoStepTest
from dpverify.evidence.bounds.unconditional import UnconditionalTest
from dpverify.evidence.bounds.weighted import WeightedTest
from dpverify.evidence.tally import Tally

_FEW = 60  # guesses: below, the discreteness of the two-step test costs more than the search does
_MANY = 5000  # wrong guesses: above, the two-step test is as good and a thousand times faster
_LARGEST = 8  # weight: finer ones gain nothing
_MOST = 10**8  # trials: above, the exact law of weighted sums (of length sqrt(trials)) takes more memory than they gain
_WORTH_IT = 0.01  # relative gain in the predicted bound


def choose_test(
    *,
    trials: int,
    delta: float,
    expected_right: float | Sequence[float] | npt.NDArray[np.float64],
    expected_wrong: float | Sequence[float] | npt.NDArray[np.float64],
    one_sided: bool = False,
    significance: float = 0.05,
    scenarios: Sequence[tuple[float, Tally]] = (),
) -> BoundTest:
    """The test with the largest predicted bound among those recommended for this size of problem.

    `expected_right`, `expected_wrong` are the counts predicted for the `trials` certifying trials, a number
    or one for each level (most confident first). ParameterError when they are not finite counts.

    delta = 0                                        `BinomialTest`
    delta > 0                                        `TwoStepTest`
    delta > 0 and at most 60 guesses, fewer than 1
      wrong one, or n d >= 1 (and not thousands)     `UnconditionalTest`
    several levels, n d < 0.5 and n <= 10^8          `WeightedTest`, where it promises more
    On several levels the number of levels that are pooled is chosen as well.
    With `scenarios` (weights that sum to 1, and the counts under each) tests are compared by their mean
    promise: one lucky prediction of a tail then convinces nobody.
    """
    require.integer(at_least=1, trials=trials)
    require.delta(delta=delta)
    require.open_unit(significance=significance)
    predicted = _predicted(trials, expected_right, expected_wrong, one_sided)

    cases = list(scenarios) or [(1.0, predicted)]

    def promise(test: BoundTest) -> float:
        return sum(w * test.eps_lower(case, delta=delta, significance=significance) for w, case in cases)

    def sketch(test: WeightedTest) -> float:
        return sum(w * test.approximate(case, delta=delta, significance=significance) for w, case in cases)

    pool = BinomialTest if delta == 0 else TwoStepTest
    pools = [pool(levels) for levels in range(predicted.right.size, 0, -1)]  # a tie keeps more guesses
    best = max(pools, key=promise)
    revealed = trials * slack(predicted, delta)
    if predicted.right.size > 1 and revealed < 0.5 and trials <= _MOST:
        bound = promise(best)

        def rough(weights: tuple[int, ...]) -> float:
            return WeightedTest(weights).approximate(predicted, delta=delta, significance=significance)

        weights = max(_weights(predicted, bound), key=rough, default=None)
        # a weighted certificate costs a search over convolutions: only where it promises something for that
        if weights is not None and rough(weights) > (1 - _WORTH_IT) * bound:
            challenger = WeightedTest(weights)
            if promise(challenger) > (1 + _WORTH_IT) * bound:
                return challenger
    right, wrong = pooled(predicted, best.levels)
    if delta > 0 and wrong <= _MANY and (right + wrong <= _FEW or wrong < 1 or revealed >= 1):
        return UnconditionalTest(best.levels, nuisance_level=significance / 50, order_level=significance)
    return best


def _weights(predicted: Tally, bound: float) -> list[tuple[int, ...]]:
    """Integer weights near (|log dP/dQ| - eps0)^+, capped, for a few eps0 around the predicted bound.

    These are the optimal weights against eps0 (doubly censored likelihood ratio; Huber, Strassen 1973).
    The log ratio of a level is that of its predicted counts, 1/2 added to both.
    """
    ratio = np.log((predicted.right + 0.5) / (predicted.wrong + 0.5))
    found: dict[tuple[int, ...], None] = {}
    for cap in np.unique(ratio[ratio > 0]):
        for share in (0.5, 0.75, 0.9, 1.0):
            excess = np.maximum(np.minimum(ratio, cap) - share * bound, 0.0)
            if excess.max() > 0:
                weights = tuple(int(each) for each in np.rint(_LARGEST * excess / excess.max()))
                if len(set(weights) - {0}) > 1:  # one weight only is a pool
                    found[weights] = None
    return list(found)


def _predicted(trials: int, expected_right: object, expected_wrong: object, one_sided: bool) -> Tally:
    right, wrong = np.atleast_1d(np.asarray(expected_right, float)), np.atleast_1d(np.asarray(expected_wrong, float))
    for name, counts in (("expected_right", right), ("expected_wrong", wrong)):
        if not (np.isfinite(counts).all() and (counts >= 0).all() and counts.size):
            raise ParameterError(name, counts, "finite counts >= 0, one for each level")
    if right.shape != wrong.shape or not right.sum() + wrong.sum() <= trials * (1 + 1e-9):
        raise ParameterError("expected_right", right, f"as long as expected_wrong and at most {trials} in all")
    whole_right, whole_wrong = np.floor(right).astype(np.int64), np.rint(wrong).astype(np.int64)
    return Tally(max(trials, int(whole_right.sum() + whole_wrong.sum())), whole_right, whole_wrong, one_sided)
