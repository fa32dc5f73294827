"""Floating point: which numbers can be reached at all, as a score. Opt-in (`score="bits"`).

A double is an integer times a power of two. Adding noise to a true answer rounds to the answer's grid, so the
exponent of the lowest bit that is set tells answers apart: 0 + z keeps the fine grid of a small z, 1 + z does
not (Mironov 2012). Textbook noise in floats therefore fails almost any claim; noise on a fixed grid does not.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpverify.evidence.scores.score import FloatArray, log_odds
from dpverify.trials.collect import SelectionTrials
from dpverify.trials.outcomes import Outcomes

COARSEST, FINEST = 20, -80  # exponents of the lowest bit that are told apart
LARGEST, SMALLEST = 20, -12  # exponents of the number
_BITS = COARSEST - FINEST + 1
_SIZES = LARGEST - SMALLEST + 1
SYMBOLS = 2 * _SIZES * _BITS + 2  # and one for 0, one for what is no number


@dataclass(frozen=True, eq=False)
class FloatBitsScore:
    """Sum over coordinates of the log odds of (sign, exponent, exponent of the lowest set bit).

    `odds` has shape (coordinates, SYMBOLS); failed trials score `failed`.
    """

    odds: FloatArray
    failed: float
    name: str = "bits"

    def __call__(self, outcomes: Outcomes) -> FloatArray:
        found = grid_symbols(outcomes)
        scores = self.odds[np.arange(found.shape[1]), found].sum(axis=1)
        return np.where(outcomes.failed, self.failed, scores)


class FloatBitsFamily:
    """Counts symbols of every coordinate on both datasets."""

    def fit(self, trials: SelectionTrials) -> FloatBitsScore:
        """Smoothed log odds, centred for unequal arms; symbols never seen score 0."""
        found, failed = grid_symbols(trials.outcomes), trials.outcomes.failed
        luck = float(log_odds(trials.first.sum(), (~trials.first).sum()))
        odds = np.zeros((found.shape[1], SYMBOLS))
        for column in range(found.shape[1]):
            first, second = (
                np.bincount(found[rows & ~failed, column], minlength=SYMBOLS) for rows in (trials.first, ~trials.first)
            )
            odds[column] = np.where(first + second > 0, log_odds(first, second) - luck, 0.0)
        lost = float(log_odds((failed & trials.first).sum(), (failed & ~trials.first).sum()))
        return FloatBitsScore(odds, lost if failed.any() else 0.0)


def grid_symbols(outcomes: Outcomes) -> npt.NDArray[np.int64]:
    """A symbol for every coordinate, shape (size, coordinates), in [0, SYMBOLS)."""
    flat = np.ascontiguousarray(outcomes.rows.astype(np.float64))
    word = flat.view(np.int64)
    biased = (word >> 52) & 0x7FF
    mantissa = (word & ((1 << 52) - 1)) | np.where(biased > 0, 1 << 52, 0)
    trailing = np.log2(np.maximum(mantissa & -mantissa, 1).astype(np.float64)).astype(np.int64)
    lowest = np.maximum(biased, 1) - 1075 + trailing
    size = np.clip(biased - 1023, SMALLEST, LARGEST) - SMALLEST
    bit = np.clip(lowest, FINEST, COARSEST) - FINEST
    symbol = ((word < 0) * _SIZES + size) * _BITS + bit
    symbol = np.where(flat == 0, SYMBOLS - 2, symbol)
    return np.where(np.isfinite(flat), symbol, SYMBOLS - 1).astype(np.int64)
