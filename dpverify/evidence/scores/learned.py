"""Learned scores: a classifier of "which dataset did this output come from", read as log odds.

With fair coins the log odds of a calibrated classifier are the log-likelihood ratio. The coin is known to be
fair, so unequal arms in the selection trials are luck and are taken out of the intercept.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpverify.evidence.scores.features import FeatureMap
from dpverify.evidence.scores.score import FloatArray, log_odds, SymbolTable
from dpverify.trials.collect import SelectionTrials
from dpverify.trials.outcomes import Outcomes


@dataclass(frozen=True, eq=False)
class LearnedScore:
    """Log odds of a fitted scikit-learn classifier on `features`; failed trials are scored as symbols."""

    name: str
    features: FeatureMap
    model: Any
    luck: float  # log odds of the two arms in the selection trials
    table: SymbolTable

    def __call__(self, outcomes: Outcomes) -> FloatArray:
        failed = outcomes.failed
        if not failed.any():
            return self._odds(outcomes)
        scores = np.empty(len(outcomes))
        scores[failed] = self.table(outcomes.take(failed))
        if not failed.all():
            scores[~failed] = self._odds(outcomes.take(~failed))
        return scores

    def _odds(self, outcomes: Outcomes) -> FloatArray:
        with one_thread():
            odds = np.asarray(self.model.decision_function(self.features(outcomes)), dtype=float)
        return odds - self.luck


@dataclass(frozen=True)
class LogisticFamily:
    """Ridge logistic regression on `FeatureMap`; `bends` > 0 makes it piecewise linear in every rank."""

    name: str = "logistic"
    penalty: float = 1.0  # inverse of the regularisation strength C
    bends: int = 0
    shared_only: bool = False
    increments: bool = False

    def fit(self, trials: SelectionTrials) -> LearnedScore:
        """Fits features without the bits, then weights with them."""
        from sklearn.linear_model import LogisticRegression

        bends = np.linspace(-0.5, 0.5, self.bends + 2)[1:-1] if self.bends else None
        model = LogisticRegression(C=1 / self.penalty, max_iter=200)
        return _fit(self.name, model, trials, shared_only=self.shared_only, bends=bends, increments=self.increments)


@dataclass(frozen=True)
class BoostedFamily:
    """Histogram gradient boosting on `FeatureMap`: for scores that are not additive in the coordinates."""

    name: str = "boosted"
    depth: int = 3

    def fit(self, trials: SelectionTrials) -> LearnedScore:
        """100 trees of the given depth; early stopping is off, so a fit is a function of the trials."""
        from sklearn.ensemble import HistGradientBoostingClassifier

        model = HistGradientBoostingClassifier(max_depth=self.depth, early_stopping=False, random_state=0)
        return _fit(self.name, model, trials)


@dataclass(frozen=True)
class _Constant:
    """Stands in for a classifier where only one dataset had values to learn from."""

    odds: float

    def decision_function(self, features: FloatArray) -> FloatArray:
        return np.full(len(features), self.odds)


def one_thread() -> AbstractContextManager[Any]:
    """Numerical libraries on one thread: sums in one order whatever the machine, and no fight with the workers."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(limits=1)
    return limits


def _fit(
    name: str,
    model: Any,
    trials: SelectionTrials,
    *,
    shared_only: bool = False,
    bends: FloatArray | None = None,
    increments: bool = False,
) -> LearnedScore:
    failed = trials.outcomes.failed
    table = SymbolTable.fit(trials, failed)
    read = trials.outcomes.take(~failed) if failed.any() else trials.outcomes
    first = trials.first[~failed]
    features = FeatureMap.fit(read, shared_only=shared_only, bends=bends, increments=increments)
    if first.all() or not first.any():
        model = _Constant(float(log_odds(first.sum(), (~first).sum())))
    else:
        with one_thread():
            model.fit(features(read), first)
    # of all trials: that one dataset fails more often is evidence, and stays in the intercept
    luck = float(log_odds(trials.first.sum(), (~trials.first).sum()))
    return LearnedScore(name, features, model, luck, table)
