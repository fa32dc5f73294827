"""The discrete score: log odds of every distinct output seen in the selection trials, shrunk by what they show."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.evidence.scores.cross_fitting import cross_fit, Trained
from dpverify.evidence.scores.empirical_bayes import OddsPosterior
from dpverify.evidence.scores.score import FloatArray
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
        """The posterior mean of the log odds of every distinct output."""
        return self._posterior(trials)[0]

    def train(self, trials: SelectionTrials) -> "TrainedHistogram":
        """The score of all trials, on each fold the values of a score of the others, and what is left open."""
        score, posterior = self._posterior(trials)
        return TrainedHistogram(score, cross_fit(self, trials), score(trials.outcomes), posterior)

    def _posterior(self, trials: SelectionTrials) -> tuple[HistogramScore, OddsPosterior]:
        keys, index = np.unique(row_keys(trials.outcomes), return_inverse=True)
        first, second = (np.bincount(index[arm], minlength=len(keys)) for arm in (trials.first, ~trials.first))
        posterior = OddsPosterior.of(first.astype(float), second.astype(float))
        return HistogramScore(keys, posterior.odds), posterior


@dataclass(frozen=True, eq=False)
class TrainedHistogram(Trained):
    """With what the trials leave open about the score's outputs."""

    posterior: OddsPosterior


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
