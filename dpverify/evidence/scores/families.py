"""Which kind of score to use: what the caller asked for, or what the selection trials recommend.

`auto` takes the exact score where the target has one. Otherwise the candidates are compared by
cross-validated log loss, simplest first, and a more complex one has to win by a standard error.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpverify.base.errors import ParameterError
from dpverify.claims.neighbours import Pair
from dpverify.evidence.scores.histogram import distinct_fraction, HistogramFamily
from dpverify.evidence.scores.learned import BoostedFamily, LogisticFamily
from dpverify.evidence.scores.likelihood import LikelihoodFamily
from dpverify.evidence.scores.score import Family, FloatArray, Score
from dpverify.trials.collect import SelectionTrials
from dpverify.trials.target import ExactTarget, Target

SCORES = ("auto", "exact", "histogram", "classifier")
FOLDS = 3
DISCRETE = 0.1  # at most this many distinct outputs per trial: counting them is worth a try
FEWEST = 10  # selection trials below which nothing is learned
COUNTABLE = 0.003  # at most this many: every output is seen so often that nothing beats counting
BOOSTED_COORDINATES = 64  # beyond, boosting costs more than the trials


@dataclass(frozen=True, eq=False)
class Fitted:
    """A frozen score and its cross-fitted values on the selection trials, from which the event is chosen."""

    score: Score
    values: FloatArray


def fit_score(kind: str, target: Target, pair: Pair, trials: SelectionTrials) -> Fitted:
    """Score of the wanted kind; ParameterError when the target cannot give it."""
    if kind not in SCORES:
        raise ParameterError("score", kind, "one of " + ", ".join(SCORES))
    if kind == "exact" or (kind == "auto" and isinstance(target, ExactTarget)):
        if not isinstance(target, ExactTarget):
            raise ParameterError("score", kind, "another score: the target has no log_ratio")
        score = LikelihoodFamily(target, pair).fit(trials)
        return Fitted(score, score(trials.outcomes))  # not learned from these trials: nothing to cross-fit
    candidates = _candidates(kind, trials)
    values = [cross_fit(family, trials) for family in candidates]
    best = _simplest_near_best(values, trials)
    return Fitted(candidates[best].fit(trials), values[best])


def cross_fit(family: Family, trials: SelectionTrials) -> FloatArray:
    """Scores of the trials, each by a fit that has not seen it."""
    fold = np.random.Generator(np.random.PCG64(0)).permutation(len(trials)) % FOLDS
    scores = np.zeros(len(trials))
    for held_out in range(FOLDS):
        train = fold != held_out
        part = SelectionTrials(trials.outcomes.take(train), trials.first[train])
        if part.first.all() or not part.first.any():  # one arm only: too few trials to learn from
            continue
        scores[~train] = family.fit(part)(trials.outcomes.take(~train))
    return scores


def log_loss(scores: FloatArray, first: Any) -> FloatArray:
    """-log of the probability that the score gave to the truth, per trial."""
    return np.logaddexp(0.0, np.where(first, -scores, scores))


def _candidates(kind: str, trials: SelectionTrials) -> list[Family]:
    values = trials.outcomes.values
    text = values.dtype.kind == "U"
    histogram: list[Family] = [HistogramFamily()]
    coordinates = int(np.prod(values.shape[1:], dtype=int))
    share = distinct_fraction(trials.outcomes)
    if (
        kind == "histogram"
        or text
        or coordinates == 0
        or len(trials) < FEWEST
        or (kind == "auto" and share <= COUNTABLE)
    ):
        return histogram
    learned: list[Family] = [LogisticFamily()]
    if coordinates > 1:
        learned.append(LogisticFamily(name="shared logistic", shared_only=True))
    learned.append(LogisticFamily(name="piecewise logistic", bends=7, penalty=3.0))
    if coordinates <= BOOSTED_COORDINATES:
        learned.append(BoostedFamily())
    return learned + histogram if kind == "auto" and share <= DISCRETE else learned


def _simplest_near_best(values: list[FloatArray], trials: SelectionTrials) -> int:
    if len(values) == 1:
        return 0
    losses = [log_loss(scores, trials.first) for scores in values]
    best = int(np.argmin([loss.mean() for loss in losses]))
    for index in range(best):
        excess = losses[index] - losses[best]
        if excess.mean() <= excess.std() / np.sqrt(len(excess)):
            return index
    return best
