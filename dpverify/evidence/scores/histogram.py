"""The discrete score: log odds of every distinct output seen in the selection trials, shrunk by what they show.

Rare outputs have the largest observed odds by luck alone, and a cut at the largest odds would pick them. So the
odds are posterior means under a prior that all outputs together estimate (empirical Bayes).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.evidence.scores.score import FloatArray, log_odds
from dpverify.trials.collect import SelectionTrials
from dpverify.trials.outcomes import Outcomes


@dataclass(frozen=True, eq=False)
class HistogramScore:
    """Estimated log odds of every known output; outputs never seen score 0: no guess.

    `keys` is sorted, `odds` belongs to it.
    """

    keys: npt.NDArray[np.uint64]
    odds: FloatArray
    name: str = "histogram"

    def __call__(self, outcomes: Outcomes) -> FloatArray:
        keys = row_keys(outcomes)
        if len(self.keys) == 0:
            return np.zeros(len(keys))
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, self.odds[place], 0.0)


class HistogramFamily:
    """Makes histogram scores; for outputs that repeat."""

    def fit(self, trials: SelectionTrials) -> HistogramScore:
        """Counts every distinct output on both datasets, centred for unequal arms, and shrinks the log odds."""
        keys, index = np.unique(row_keys(trials.outcomes), return_inverse=True)
        first = np.bincount(index, weights=trials.first, minlength=len(keys))
        second = np.bincount(index, weights=~trials.first, minlength=len(keys))
        # the coin is fair: unequal arm sizes in this sample are luck, not evidence
        luck = np.log((first.sum() + 1) / (second.sum() + 1))
        return HistogramScore(keys, shrunk(log_odds(first, second) - luck, 1 / (first + 0.5) + 1 / (second + 0.5)))


WIDE, OUTLIERS = 3.0, 0.05  # outputs that are unlike the others: prior standard deviation and share of them
SCALES = np.geomspace(0.03, 10.0, 40)  # equally likely beforehand


def shrunk(estimates: FloatArray, variances: FloatArray) -> FloatArray:
    """Posterior means of effects from normal estimates of them with known variances, shape (cells,).

    Prior: N(0, tau^2) but for a share OUTLIERS with N(0, WIDE^2); tau is averaged over SCALES by how well it
    explains all estimates together.
    """
    wide = OUTLIERS * _density(estimates, WIDE**2 + variances)
    usual = [(1 - OUTLIERS) * _density(estimates, tau**2 + variances) for tau in SCALES]
    weights = special.softmax([np.log(each + wide).sum() for each in usual])
    factor = np.zeros_like(estimates)
    for tau, each, weight in zip(SCALES, usual, weights, strict=True):
        odd = wide / (each + wide)
        factor += weight * ((1 - odd) * tau**2 / (tau**2 + variances) + odd * WIDE**2 / (WIDE**2 + variances))
    return np.asarray(factor * estimates)


def _density(x: FloatArray, variance: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-0.5 * np.minimum(x * x / variance, 1400.0)) / np.sqrt(variance))


def row_keys(outcomes: Outcomes) -> npt.NDArray[np.uint64]:
    """A 64-bit key for each trial, shape (size,): equal outputs have equal keys.

    Two different outputs share a key with probability about 2^-64; that would only blur the score.
    """
    keys = _hash_rows(_words(outcomes.rows))
    if outcomes.failures is not None:
        names = _hash_rows(_words(outcomes.failures.reshape(-1, 1))) ^ _mix(np.array([1], np.uint64))
        keys = np.where(outcomes.failed, names, keys)
    return keys


def distinct_fraction(outcomes: Outcomes) -> float:
    """Distinct outputs per trial: near 0 for discrete outputs, 1 for continuous ones."""
    return len(np.unique(row_keys(outcomes))) / max(1, len(outcomes))


def _words(flat: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    if flat.dtype.kind == "U":  # code points; padding is zero and hashes to nothing
        points = np.ascontiguousarray(flat).view(np.uint32).reshape(len(flat), -1)
        return points.astype(np.uint64)
    if flat.dtype.kind == "f":
        plain = np.where(np.isnan(flat), np.nan, flat.astype(np.float64) + 0.0)  # one NaN, one zero
        return np.ascontiguousarray(plain).view(np.uint64)
    return flat.astype(np.int64).view(np.uint64)


def _hash_rows(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    position = _mix(np.arange(1, words.shape[1] + 1, dtype=np.uint64)) | np.uint64(1)
    return _mix((_mix(words) * position).sum(axis=1, dtype=np.uint64))


def _mix(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection of 64-bit words with 0 -> 0."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
