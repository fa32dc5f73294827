"""The discrete score: log odds of every distinct output seen in the selection trials, shrunk by what they show."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.evidence.scores.score import cross_fit, FloatArray, log_odds, log_odds_variance, Trained
from dpverify.trials.collect import SelectionTrials
from dpverify.trials.outcomes import Outcomes

# ----------------------------------------------------------------------------------------------------------------------
# What selection trials leave open about outputs that repeat: a posterior of the log odds of every distinct one.
#
# Rare outputs have the largest observed odds by luck alone, and a cut at the largest odds would pick them. So odds are
# posterior means under a prior that all outputs together estimate (empirical Bayes), and what an event of several
# outputs would certify is judged by draws from the posterior.


WIDE, OUTLIERS = 3.0, 0.05  # outputs that are unlike the others: prior standard deviation and share of them
NORMAL_SCALES, FLAT_SCALES = np.geomspace(0.03, 10.0, 40), np.geomspace(0.03, 10.0, 120)
SCALES = np.r_[NORMAL_SCALES, FLAT_SCALES]
PRIOR = np.repeat([0.5 / len(NORMAL_SCALES), 0.5 / len(FLAT_SCALES)], [len(NORMAL_SCALES), len(FLAT_SCALES)])
ZERO = 0.2  # of a flat ratio: share of outputs at its zero
ALIKE = 0.025  # of a flat ratio: relative standard deviation, half the distance of two scales
DRAWS, FEWEST_DRAWS, NUMBERS = 200, 20, 4_000_000  # draws, and the most numbers in them


@dataclass(frozen=True, eq=False)
class OddsPosterior:
    """`sizes` (cells,): selection trials with each output; `odds` (cells,): posterior means of the log odds."""

    sizes: npt.NDArray[np.int64]
    odds: FloatArray
    mixture: "NormalMixture"

    @classmethod
    def of(cls, first: FloatArray, second: FloatArray) -> "OddsPosterior":
        """From how often each dataset produced each output, shape (cells,) each."""
        # the coin is fair: unequal arm sizes in this sample are luck, not evidence
        luck = np.log((first.sum() + 1) / (second.sum() + 1))
        mixture = NormalMixture.of(log_odds(first, second) - luck, log_odds_variance(first, second))
        return cls((first + second).astype(np.int64), mixture.mean, mixture)

    @cached_property
    def draws(self) -> FloatArray:
        """Equally likely values of the log odds, shape (draws, cells)."""
        return self.mixture.draws(min(DRAWS, max(FEWEST_DRAWS, NUMBERS // max(1, len(self.odds)))))

    def accuracy(self, used: npt.NDArray[np.bool_], ends: npt.NDArray[np.int64]) -> FloatArray:
        """Share of right guesses among the `ends` most confident ones, shape (draws, ends).

        Only the outputs in `used` are guessed; each of `ends` is a number of trials after which the next output begins.
        """
        order = np.nonzero(used)[0]
        order = order[np.argsort(-np.abs(self.odds[order]), kind="stable")]
        sizes = self.sizes[order]
        right = special.expit(np.sign(self.odds[order]) * self.draws[:, order]) * sizes
        last = np.searchsorted(np.cumsum(sizes), ends)
        return np.asarray(np.cumsum(right, axis=1)[:, last] / np.cumsum(sizes)[last])


@dataclass(frozen=True, eq=False)
class NormalMixture:
    """Posterior of effects of which normal estimates with known variances are given, shape (cells,) each.

    Prior: but for a share OUTLIERS with N(0, WIDE^2), all effects are N(0, s^2), or all are about +s, about -s and (a
    share ZERO) 0, as where noise has a flat log ratio. Both shapes, and the scales s of each, are equally likely
    beforehand.
    """

    estimates: FloatArray
    variances: FloatArray
    weights: FloatArray  # of SCALES: those of the normal shape, then those of the flat one

    @classmethod
    def of(cls, estimates: FloatArray, variances: FloatArray) -> "NormalMixture":
        """Weighs scales and shapes by how well they explain all estimates together."""
        bare = cls(estimates, variances, np.zeros(0))
        fits = [np.log(bare._normal(s) + bare._odd).sum() for s in NORMAL_SCALES]
        fits += [np.log(bare._flat(s).sum(axis=0) + bare._odd).sum() for s in FLAT_SCALES]
        return cls(estimates, variances, special.softmax(fits + np.log(PRIOR)))

    @property
    def mean(self) -> FloatArray:
        """Posterior means."""
        total = np.zeros(len(self.estimates))
        for place in self._likely:
            s = SCALES[place]
            if place < len(NORMAL_SCALES):
                odd = self._odd / (self._odd + self._normal(s))
                usual = (1 - odd) * self._keep(s) * self.estimates
            else:
                flat = self._flat(s)
                odd = self._odd / (self._odd + flat.sum(axis=0))
                sides = flat[0] * self._about(s) + flat[1] * self._about(-s)
                usual = sides / (self._odd + flat.sum(axis=0))
            total += self.weights[place] * (usual + odd * self._keep(WIDE) * self.estimates)
        return total

    def draws(self, count: int) -> FloatArray:
        """`count` draws, the same each time: the scales in proportion to their weights."""
        rng = np.random.Generator(np.random.PCG64(0))
        found = np.empty((count, len(self.estimates)))
        for row, place in enumerate(rng.choice(len(self.weights), count, p=self.weights)):
            s, u = SCALES[place], rng.random(len(self.estimates))
            if place < len(NORMAL_SCALES):
                usual = self._around(s, rng)
                odd = u < self._odd / (self._odd + self._normal(s))
            else:
                flat = self._flat(s)
                shares = np.cumsum(flat / (self._odd + flat.sum(axis=0)), axis=0)
                noise = np.sqrt(self._keep(ALIKE * s) * self.variances) * rng.standard_normal(len(u))
                up, down = self._about(s) + noise, self._about(-s) + noise
                usual, odd = np.where(u < shares[0], up, np.where(u < shares[1], down, 0.0)), u >= shares[2]
            found[row] = np.where(odd, self._around(WIDE, rng), usual)
        return found

    def _around(self, s: float, rng: np.random.Generator) -> FloatArray:
        """A draw of every effect under N(0, s^2)."""
        keep = self._keep(s)
        return np.asarray(keep * self.estimates + np.sqrt(keep * self.variances) * rng.standard_normal(len(keep)))

    def _keep(self, s: float) -> FloatArray:
        return np.asarray(s**2 / (s**2 + self.variances))

    def _about(self, s: float) -> FloatArray:
        """Posterior mean of every effect under N(s, (ALIKE s)^2)."""
        return np.asarray(s + self._keep(ALIKE * s) * (self.estimates - s))

    @property
    def _likely(self) -> npt.NDArray[np.intp]:
        return np.nonzero(self.weights > 1e-6)[0]

    @cached_property
    def _odd(self) -> FloatArray:
        return OUTLIERS * _density(self.estimates, WIDE**2 + self.variances)

    def _normal(self, s: float) -> FloatArray:
        return (1 - OUTLIERS) * _density(self.estimates, s**2 + self.variances)

    def _flat(self, s: float) -> FloatArray:
        """Densities at +s, -s and 0, shape (3, cells)."""
        at, spread = np.array([[s], [-s], [0.0]]), np.array([[ALIKE * s], [ALIKE * s], [0.0]])
        share = (1 - OUTLIERS) * np.array([[(1 - ZERO) / 2], [(1 - ZERO) / 2], [ZERO]])
        return np.asarray(share * _density(self.estimates - at, spread**2 + self.variances))


def _density(x: FloatArray, variance: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-0.5 * np.minimum(x * x / variance, 1400.0)) / np.sqrt(variance))


# ----------------------------------------------------------------------------------------------------------------------


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


# ----------------------------------------------------------------------------------------------------------------------
# Values that repeat among outputs that otherwise never do: events of their own, however rare.
#
# A sentinel that appears once in a thousand trials does not move a log loss, so no comparison of classifiers
# finds it; but if only one dataset produces it, it is the whole violation.


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
