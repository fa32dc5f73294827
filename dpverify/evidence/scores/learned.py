"""Logistic regression of "which dataset did this output come from", read as log odds.

With fair coins the log odds of a calibrated classifier are the log-likelihood ratio. The coin is known to be
fair, so unequal arms in the selection trials are luck and are taken out of the intercept.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base.imports import environment_kept
from dpverify.evidence.scores import ridge
from dpverify.evidence.scores.coordinates import Compiled, Design, FeatureMap, numbers
from dpverify.evidence.scores.score import (
    FloatArray,
    FOLDS,
    folds_of,
    log_odds,
    one_thread,
    SymbolTable,
    Trained,
    with_symbols,
)
from dpverify.trials.collect import SelectionTrials
from dpverify.trials.outcomes import Outcomes


@dataclass(frozen=True, eq=False)
class LogisticScore:
    """A fitted linear model, read from tables: a sum of functions of the coordinates, perhaps of their products."""

    name: str
    features: FeatureMap
    model: Compiled
    luck: float
    symbols: SymbolTable  # of failed trials

    def __call__(self, outcomes: Outcomes) -> FloatArray:
        return with_symbols(outcomes, self.odds, self.symbols)

    def odds(self, outcomes: Outcomes) -> FloatArray:
        """Log odds of trials that have a value."""
        return self.model(*self.features.read(outcomes)) - self.luck


@dataclass(frozen=True)
class LogisticFamily:
    """Logistic regression on `Design` with learned penalties.

    `bends` makes it piecewise linear out to the tails of every coordinate, `products` quadratic;
    `shared_only` leaves only what all coordinates have in common.
    """

    name: str = "logistic"
    bends: bool = False
    increments: bool = False
    products: bool = False
    shared_only: bool = False

    def fit(self, trials: SelectionTrials) -> LogisticScore:
        """Fits features without the bits, then weights with them."""
        return self.train(trials).score

    def train(self, trials: SelectionTrials) -> "TrainedLogistic":
        """The score of all trials, and on each fold the values of a score of the others."""
        failed = trials.outcomes.failed
        read = trials.outcomes.take(~failed) if failed.any() else trials.outcomes
        first, fold = trials.first[~failed], folds_of(len(trials))
        features = FeatureMap.fit(read, increments=self.increments)
        codes, clipped = features.read(read)
        design = Design.of(
            features, (codes, clipped), bends=self.bends, products=self.products, shared_only=self.shared_only
        )
        with one_thread():
            weights, others = ridge.fit(design, ridge.Trials(codes, clipped, first, fold[~failed]), FOLDS)

        def score(w: FloatArray, seen: npt.NDArray[np.bool_]) -> LogisticScore:
            known = SelectionTrials(trials.outcomes.take(seen), trials.first[seen])
            symbols = SymbolTable.fit(known, known.outcomes.failed)
            # the luck of all: that one dataset fails more often is evidence, and stays in the intercept
            return LogisticScore(self.name, features, design.compiled(w), luck(known.first), symbols)

        def values(of: LogisticScore, rows: npt.NDArray[np.bool_]) -> FloatArray:
            kept = rows[~failed]
            odds = np.zeros(len(trials))
            odds[rows & ~failed] = of.model(codes[:, kept], clipped[:, kept]) - of.luck
            if (rows & failed).any():
                odds[rows & failed] = of.symbols(trials.outcomes.take(rows & failed))
            return odds[rows]

        held_out = np.zeros(len(trials))
        for k, apart in enumerate(others):
            rows = fold == k
            held_out[rows] = values(score(apart, ~rows), rows)
        everything = np.ones(len(trials), bool)
        whole = score(weights, everything)
        return TrainedLogistic(whole, held_out, values(whole, everything))


@dataclass(frozen=True, eq=False)
class TrainedLogistic(Trained):
    """With the type of its score."""

    score: LogisticScore


def luck(first: npt.NDArray[np.bool_]) -> float:
    """Log odds of the coin in these trials, which is fair."""
    return float(log_odds(first.sum(), (~first).sum()))


# ----------------------------------------------------------------------------------------------------------------------
# Gradient boosted trees of "which dataset did this output come from", on top of an additive score.


LEAVES = 200  # a leaf of a tree holds at least this share of the trials
ADDITIVE = LogisticFamily()


@dataclass(frozen=True, eq=False)
class BoostedScore:
    """Trees on the ranks of the coordinates and on an additive score."""

    name: str
    base: LogisticScore
    model: Any
    luck: float

    def __call__(self, outcomes: Outcomes) -> FloatArray:
        return with_symbols(outcomes, self._odds, self.base.symbols)

    def _odds(self, outcomes: Outcomes) -> FloatArray:
        return _trees(self.model, self.base.features.ranks(outcomes), self.base.odds(outcomes)) - self.luck


@dataclass(frozen=True)
class BoostedFamily:
    """Histogram gradient boosting: for scores that are not additive in the coordinates."""

    name: str = "boosted"
    depth: int = 3
    base: LogisticFamily = ADDITIVE

    def fit(self, trials: SelectionTrials) -> BoostedScore:
        """100 trees of the given depth; early stopping is off, so a fit is a function of the trials.

        The additive score that the trees see while they are fitted is the held-out one: on trials that it was
        fitted to it looks better than it is.
        """
        with environment_kept():
            from sklearn.ensemble import HistGradientBoostingClassifier

        failed = trials.outcomes.failed
        trained = self.base.train(trials)
        read, first = trials.outcomes.take(~failed), trials.first[~failed]
        model = HistGradientBoostingClassifier(
            max_depth=self.depth, min_samples_leaf=max(20, len(first) // LEAVES), early_stopping=False, random_state=0
        )
        if first.all() or not first.any():
            model = None
        else:
            ranks = trained.score.features.ranks(read)
            with one_thread():
                model.fit(np.column_stack([ranks, trained.values[~failed]]), first)
        return BoostedScore(self.name, trained.score, model, luck(trials.first))


def _trees(model: Any, ranks: FloatArray, odds: FloatArray) -> FloatArray:
    if model is None:  # only one dataset had values to learn from
        return odds
    with one_thread():
        return np.asarray(model.decision_function(np.column_stack([ranks, odds])), dtype=float)


# ----------------------------------------------------------------------------------------------------------------------
# Scores for noise that looks alike in all directions: how much farther an output is from one centre than the other.
#
# Noise of density h(|x|) around a centre a or b has the ratio log h(|x - a|) - log h(|x - b|): no sum over coordinates,
# whatever h is. Learned are the two centres and a combination of r^2 (Gaussian noise), r (the mechanism for
# sensitivity in the Euclidean norm: Chaudhuri, Monteleoni, Sarwate 2011) and log r (heavy tails).


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
        with environment_kept():
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
