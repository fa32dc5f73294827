"""The exact score: the target's own log-likelihood ratio. Nothing is learned but the symbols' odds."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpverify.base.errors import TargetError
from dpverify.claims.neighbours import Pair
from dpverify.evidence.scores.score import FloatArray, SymbolTable
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
