"""Which kind of score to use: what the caller asked for, or what the selection trials recommend.

`auto` takes the exact score where the target has one. Otherwise the candidates are compared by
cross-validated log loss, simplest first, and a more complex one has to win by a standard error.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpverify.base.errors import ParameterError
from dpverify.claims.neighbours import Pair
from dpverify.evidence.scores.atoms import AtomFamily
from dpverify.evidence.scores.bits import BitFamily
from dpverify.evidence.scores.folds import cross_fit, Trained
from dpverify.evidence.scores.histogram import distinct_fraction, HistogramFamily
from dpverify.evidence.scores.learned import BoostedFamily, LogisticFamily
from dpverify.evidence.scores.likelihood import LikelihoodFamily
from dpverify.evidence.scores.score import Family, FloatArray, Score
from dpverify.trials.collect import SelectionTrials
from dpverify.trials.target import ExactTarget, Target

SCORES = ("auto", "exact", "histogram", "classifier", "bits")
COMPARED = 30_000  # selection trials on which families are compared
DISCRETE = 0.1  # at most this many distinct outputs per trial: counting them is worth a try
FEWEST = 10  # selection trials below which nothing is learned
COUNTABLE = 0.003  # at most this many: every output is seen so often that nothing beats counting
BOOSTED_TRIALS = 1000  # from here on trees have something to say that the linear scores do not
BOOSTED_COORDINATES = 64  # beyond, boosting costs more than the trials


@dataclass(frozen=True, eq=False)
class Fitted:
    """A frozen score and its cross-fitted values on the selection trials, from which the event is chosen.

    `scale` holds the frozen score's own values on the same trials: a score fitted on all of them is more
    decided than its cross-fits, so cuts are carried over as shares of trials, not as numbers. None where
    the score fits its own trials too closely for that. `rivals` are further scores to choose events from.
    """

    score: Score
    values: FloatArray
    scale: FloatArray | None = None
    rivals: tuple["Fitted", ...] = ()


def fit_score(kind: str, target: Target, pair: Pair, trials: SelectionTrials) -> Fitted:
    """Score of the wanted kind; ParameterError when the target cannot give it."""
    if kind not in SCORES:
        raise ParameterError("score", kind, "one of " + ", ".join(SCORES))
    if kind == "exact" or (kind == "auto" and isinstance(target, ExactTarget)):
        if not isinstance(target, ExactTarget):
            raise ParameterError("score", kind, "another score: the target has no log_ratio")
        score = LikelihoodFamily(target, pair).fit(trials)
        exact = score(trials.outcomes)  # not learned from these trials: nothing to cross-fit
        return Fitted(score, exact, exact)
    family = _chosen(kind, trials)
    trained = _trained(family, trials)
    return Fitted(trained.score, trained.values, trained.own, _apart(kind, family, trials))


def _chosen(kind: str, trials: SelectionTrials) -> Family:
    """The family that held-out log loss recommends; trees are built on the best of the additive scores."""
    candidates = _candidates(kind, trials)
    if len(candidates) == 1:
        return candidates[0]
    compared = _sample(trials)
    values = [_trained(family, compared).values for family in candidates]
    additive = [place for place, family in enumerate(candidates) if isinstance(family, LogisticFamily)]
    best = additive[_simplest_near_best([values[place] for place in additive], compared)]
    coordinates = int(np.prod(trials.outcomes.values.shape[1:], dtype=int))
    if coordinates <= BOOSTED_COORDINATES and len(trials) >= BOOSTED_TRIALS:
        base = candidates[best]
        assert isinstance(base, LogisticFamily)
        candidates.insert(len(additive), BoostedFamily(base=base))
        values.insert(len(additive), cross_fit(candidates[len(additive)], compared))
    return candidates[_simplest_near_best(values, compared)]


def _trained(family: Family, trials: SelectionTrials) -> Trained:
    if isinstance(family, LogisticFamily):
        return family.train(trials)
    score = family.fit(trials)
    own = None if isinstance(family, BoostedFamily) else score(trials.outcomes)
    return Trained(score, cross_fit(family, trials), own)


def _apart(kind: str, chosen: Family, trials: SelectionTrials) -> tuple[Fitted, ...]:
    """A score of repeated values alone, to compete by its promise: log loss does not see rare events."""
    if kind != "auto" or isinstance(chosen, HistogramFamily) or distinct_fraction(trials.outcomes) <= DISCRETE:
        return ()  # where everything repeats, the histogram was among the candidates
    family = AtomFamily.of(trials)
    if len(family.keys) == 0:
        return ()
    frozen = family.fit(trials)
    return (Fitted(frozen, cross_fit(family, trials), frozen(trials.outcomes)),)


def _sample(trials: SelectionTrials) -> SelectionTrials:
    """Enough trials to tell families apart, drawn without their bits; fitting all on all would take minutes."""
    if len(trials) <= COMPARED:
        return trials
    rows = np.sort(np.random.Generator(np.random.PCG64(1)).permutation(len(trials))[:COMPARED])
    return SelectionTrials(trials.outcomes.take(rows), trials.first[rows])


def log_loss(scores: FloatArray, first: Any) -> FloatArray:
    """-log of the probability that the score gave to the truth, per trial."""
    return np.logaddexp(0.0, np.where(first, -scores, scores))


def _candidates(kind: str, trials: SelectionTrials) -> list[Family]:
    if kind == "bits":
        if trials.outcomes.values.dtype.kind == "U":
            raise ParameterError("score", kind, "another score: the outputs are text")
        return [BitFamily()]
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
        learned.append(LogisticFamily(name="logistic of increments", increments=True))
    learned.append(LogisticFamily(name="piecewise logistic", bends=True))
    if kind == "auto" and share <= DISCRETE:
        return learned + histogram
    return learned


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
