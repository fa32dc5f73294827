"""The exact score: the target's own log-likelihood ratio. Nothing is learned but the symbols' odds."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpverify.claims.neighbours import Pair
from dpverify.errors import TargetError
from dpverify.evidence.scores.score import FloatArray, log_odds, SymbolTable
from dpverify.trials.collect import SelectionTrials
from dpverify.trials.outcomes import Outcomes
from dpverify.trials.target import ExactTarget, name_of


@dataclass(frozen=True, eq=False)
class LikelihoodScore:
    """`target.log_ratio` where it has a value; failed trials and NaN outputs are scored as symbols."""

    target: ExactTarget
    pair: Pair
    table: SymbolTable

    name: ClassVar[str] = "likelihood"

    def __call__(self, outcomes: Outcomes) -> FloatArray:
        ratios, unread = exact_ratios(self.target, self.pair, outcomes)
        if unread.any():
            ratios[unread] = self.table(outcomes.take(unread))
        return ratios


@dataclass(frozen=True, eq=False)
class LikelihoodFamily:
    """Makes the exact score of a target that has `log_ratio`."""

    target: ExactTarget
    pair: Pair

    def fit(self, trials: SelectionTrials) -> LikelihoodScore:
        """The exact score with symbols counted on these trials."""
        _, unread = exact_ratios(self.target, self.pair, trials.outcomes)
        return LikelihoodScore(self.target, self.pair, SymbolTable.fit(trials, unread))


def exact_ratios(target: ExactTarget, pair: Pair, outcomes: Outcomes) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Log ratios and the mask of rows that have none; TargetError for a NaN ratio of an ordinary output."""
    failed = outcomes.failed
    readable = ~failed
    ratios = np.zeros(len(outcomes))
    if readable.any():
        values = outcomes.values if not failed.any() else outcomes.values[readable]
        given = _numbers(target, target.log_ratio(values, pair))
        if given.shape != (len(values),):
            raise TargetError(f"{name_of(target)}: log_ratio returned shape {given.shape}, must be ({len(values)},)")
        ratios[readable] = given
    missing = np.isnan(ratios)
    if (missing & outcomes.finite).any():
        raise TargetError(f"{name_of(target)}: log_ratio is NaN for an ordinary output; must be a number or +-inf")
    ratios[missing] = 0.0
    return ratios, failed | missing


def _numbers(target: ExactTarget, given: Any) -> FloatArray:
    """Ratios as floating-point numbers; TargetError for text, complex numbers and the like, of which parts would go."""
    ratios = np.asarray(given)
    if ratios.dtype.kind in "biufO":
        try:
            return ratios.astype(float)
        except (TypeError, ValueError):  # objects that are no numbers
            pass
    raise TargetError(f"{name_of(target)}: log_ratio returned dtype {ratios.dtype}, must be real numbers")


# ----------------------------------------------------------------------------------------------------------------------
# Floating point: which numbers can be reached at all, as a score. Opt-in (`score="bits"`).
#
# A double is an integer times a power of two. Adding noise to a true answer rounds to the answer's grid, so the
# exponent of the lowest bit that is set tells answers apart: 0 + z keeps the fine grid of a small z, 1 + z does
# not (Mironov 2012). Textbook noise in floats therefore fails almost any claim; noise on a fixed grid does not.


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
