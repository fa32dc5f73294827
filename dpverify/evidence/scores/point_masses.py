"""Values that repeat among outputs that otherwise never do: events of their own, however rare.

A sentinel that appears once in a thousand trials does not move a log loss, so no comparison of classifiers
finds it; but if only one dataset produces it, it is the whole violation.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpverify.evidence.scores.histogram import HistogramScore, row_keys
from dpverify.evidence.scores.score import FloatArray, log_odds
from dpverify.trials.collect import SelectionTrials

REPEATS = 2  # times that an output must have been seen to be a value of its own


@dataclass(frozen=True, eq=False)
class PointMassFamily:
    """Histogram scores of the outputs in `keys`; all others score 0: no guess."""

    keys: npt.NDArray[np.uint64]

    @classmethod
    def of(cls, trials: SelectionTrials) -> "PointMassFamily":
        """The outputs that were seen at least REPEATS times, found without the bits."""
        keys, counts = np.unique(row_keys(trials.outcomes), return_counts=True)
        return cls(keys[counts >= REPEATS])

    def fit(self, trials: SelectionTrials) -> HistogramScore:
        """Smoothed log odds of every key on these trials."""
        _, first, second = self._counts(trials)
        return HistogramScore(self.keys, log_odds(first, second), "atoms")

    def held_out(self, trials: SelectionTrials) -> FloatArray:
        """The score of every trial, by all the others: few trials show a rare value, and none is to be spared."""
        place, first, second = self._counts(trials)
        known = place >= 0
        here = place[known]
        scores = np.zeros(len(trials))
        scores[known] = log_odds(first[here] - trials.first[known], second[here] - ~trials.first[known])
        return scores

    def _counts(self, trials: SelectionTrials) -> tuple[npt.NDArray[np.int64], FloatArray, FloatArray]:
        """Place of every trial's value among the keys, -1 for none, and how often each dataset produced each key."""
        keys = row_keys(trials.outcomes)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        place = np.where(self.keys[place] == keys, place, -1)
        count = len(self.keys)
        first, second = (
            np.bincount(place[(place >= 0) & arm], minlength=count) for arm in (trials.first, ~trials.first)
        )
        return place, first.astype(float), second.astype(float)
