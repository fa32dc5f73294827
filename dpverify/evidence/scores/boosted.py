"""Gradient boosted trees of "which dataset did this output come from", on top of an additive score."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpverify.evidence.scores.logistic import LogisticFamily, LogisticScore, luck
from dpverify.evidence.scores.score import FloatArray, with_symbols
from dpverify.evidence.scores.threads import one_thread
from dpverify.trials.collect import SelectionTrials
from dpverify.trials.outcomes import Outcomes

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
