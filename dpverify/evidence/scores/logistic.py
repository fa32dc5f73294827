"""Logistic regression of "which dataset did this output come from", read as log odds.

With fair coins the log odds of a calibrated classifier are the log-likelihood ratio. The coin is known to be
fair, so unequal arms in the selection trials are luck and are taken out of the intercept.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpverify.evidence.scores import ridge
from dpverify.evidence.scores.basis import Compiled, Design
from dpverify.evidence.scores.coordinates import FeatureMap
from dpverify.evidence.scores.cross_fitting import FOLDS, folds_of, Trained
from dpverify.evidence.scores.score import FloatArray, log_odds, SymbolTable, with_symbols
from dpverify.evidence.scores.threads import one_thread
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
