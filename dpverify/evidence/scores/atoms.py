"""Values that repeat among outputs that otherwise never do: events of their own, however rare.

A sentinel that appears once in a thousand trials does not move a log loss, so no comparison of classifiers
finds it; but if only one dataset produces it, it is the whole violation.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpverify.evidence.scores.histogram import HistogramScore, row_keys
from dpverify.evidence.scores.score import log_odds
from dpverify.trials.collect import SelectionTrials

REPEATS = 2  # times that an output must have been seen to be a value of its own


@dataclass(frozen=True, eq=False)
class AtomFamily:
    """Histogram scores of the outputs in `keys`; all others score 0: no guess."""

    keys: npt.NDArray[np.uint64]

    @classmethod
    def of(cls, trials: SelectionTrials) -> "AtomFamily":
        """The outputs that were seen at least REPEATS times, found without the bits."""
        keys, counts = np.unique(row_keys(trials.outcomes), return_counts=True)
        return cls(keys[counts >= REPEATS])

    def fit(self, trials: SelectionTrials) -> HistogramScore:
        """Smoothed log odds of every key on these trials."""
        keys = row_keys(trials.outcomes)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        known = self.keys[place] == keys
        first = np.bincount(place, weights=known & trials.first, minlength=len(self.keys))
        second = np.bincount(place, weights=known & ~trials.first, minlength=len(self.keys))
        return HistogramScore(self.keys, log_odds(first, second), "atoms")
