"""Scores for noise that looks alike in all directions: how much farther an output is from one centre than the other.

Noise of density h(|x|) around a centre a or b has the ratio log h(|x - a|) - log h(|x - b|): no sum over coordinates,
whatever h is. Learned are the two centres and a combination of r^2 (Gaussian noise), r (the mechanism for
sensitivity in the Euclidean norm: Chaudhuri, Monteleoni, Sarwate 2011) and log r (heavy tails).
"""

from dataclasses import dataclass

import numpy as np

from dpverify.evidence.scores.coordinates import numbers
from dpverify.evidence.scores.score import FloatArray, log_odds, SymbolTable, with_symbols
from dpverify.evidence.scores.threads import one_thread
from dpverify.trials.collect import SelectionTrials
from dpverify.trials.outcomes import Outcomes

NEAR = 1e-9  # distances below are one: the logarithm stays finite
FAR = 1e100  # differences beyond are not learned from: a sentinel, and its square would not be a number
ITERATIONS = 1000  # of a convex problem in four numbers


@dataclass(frozen=True, eq=False)
class RadialScore:
    """weights @ (g(|x - first|) - g(|x - second|)) for x in units of `scale` for each coordinate."""

    centres: FloatArray  # (2, coordinates)
    scale: FloatArray  # (coordinates,)
    weights: FloatArray  # of r^2, r, log r
    intercept: float
    symbols: SymbolTable
    name: str = "radial logistic"

    def __call__(self, outcomes: Outcomes) -> FloatArray:
        return with_symbols(outcomes, self._odds, self.symbols)

    def _odds(self, outcomes: Outcomes) -> FloatArray:
        features = differences(numbers(outcomes, increments=False), self.centres, self.scale)
        odds: FloatArray = features @ self.weights + self.intercept
        return np.where(np.isfinite(odds), odds, 0.0)  # an infinite coordinate is as far from both


@dataclass(frozen=True)
class RadialFamily:
    """Logistic regression on differences of distances; centres are the medians of each dataset's outputs."""

    def fit(self, trials: SelectionTrials) -> RadialScore:
        """Only rows of finite numbers, whose squared distances are, are learned from."""
        failed = trials.outcomes.failed
        symbols = SymbolTable.fit(trials, failed)
        rows = trials.outcomes.finite
        x, first = numbers(trials.outcomes.take(rows), increments=False), trials.first[rows]
        width = x.shape[1]
        nothing = RadialScore(np.zeros((2, width)), np.ones(width), np.zeros(3), 0.0, symbols)
        if first.all() or not first.any():
            return nothing
        from sklearn.linear_model import LogisticRegression

        centres = np.stack([np.median(x[first], axis=0), np.median(x[~first], axis=0)])
        low, high = np.quantile(x, [0.25, 0.75], axis=0)
        scale = np.where(high > low, high - low, 1.0)
        features = differences(x, centres, scale)
        near = (np.abs(features) < FAR).all(axis=1)
        features, first = features[near], first[near]
        if first.all() or not first.any():
            return nothing
        spread = features.std(axis=0)
        spread[~(spread > 0)] = 1.0
        with one_thread():
            model = LogisticRegression(max_iter=ITERATIONS).fit(features / spread, first)
        luck = float(log_odds(first.sum(), (~first).sum()))
        return RadialScore(centres, scale, model.coef_[0] / spread, float(model.intercept_[0]) - luck, symbols)


def differences(x: FloatArray, centres: FloatArray, scale: FloatArray) -> FloatArray:
    """g(|x - first|) - g(|x - second|) for g(r) = r^2, r, log r; shape (size, 3)."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # inf - inf, log 0: no guess
        first, second = (np.maximum(np.linalg.norm((x - centre) / scale, axis=1), NEAR) for centre in centres)
        return np.stack([first**2 - second**2, first - second, np.log(first / second)], axis=1)
