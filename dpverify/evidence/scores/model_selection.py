"""Which kind of score to use: what the caller asked for, or what the selection trials recommend.

`auto` takes the exact score where the target has one. Otherwise the candidates are compared by
cross-validated log loss, simplest first, and a more complex one has to win by a standard error.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from dpverify.claims.neighbours import Pair
from dpverify.errors import ParameterError
from dpverify.evidence.scores.histogram import (
    distinct_fraction,
    HistogramFamily,
    OddsPosterior,
    PointMassFamily,
    TrainedHistogram,
)
from dpverify.evidence.scores.known import FloatBitsFamily, LikelihoodFamily
from dpverify.evidence.scores.learned import BoostedFamily, LogisticFamily, RadialFamily
from dpverify.evidence.scores.score import cross_fit, FloatArray, Score, ScoreFamily, Trained
from dpverify.trials.collect import SelectionTrials
from dpverify.trials.target import ExactTarget, Target

SCORES = ("auto", "exact", "histogram", "classifier", "bits")
COMPARED = 30_000  # selection trials on which families are compared, at least where there are so many
COMPARED_NUMBERS = 600_000  # and as many as give these coordinates in all
WEAK = 30.0  # nats that held-out values of a score say about which dataset it was: below, more trials have to learn
CLEARLY_WORSE = 2.0  # standard errors
DISCRETE = 0.1  # at most this many distinct outputs per trial: counting them is worth a try
FEWEST = 10  # selection trials below which nothing is learned
COUNTABLE = 8  # at most so many distinct outputs: nothing beats counting them
OFTEN = 1000  # times that each was seen, on average: then nothing beats counting more of them
MANY_COORDINATES = 48  # beyond, what they share is a candidate of its own
EACH = 100  # selection trials for each coordinate, below which it may have to share its weights
QUADRATIC_COORDINATES = 12  # beyond, products of coordinates are too many
READABLE = 0.5  # share of outputs without NaN or infinity: fewer, and a distance says nothing about most
RADIAL_COORDINATES = 64  # beyond, two centres are too far off for the distance to tell
BOOSTED_TRIALS = 1000  # from here on trees have something to say that the linear scores do not
TAIL_TRIALS = 5000  # from here on a far tail may be learned
ATOM_ERRORS = 2.0  # by so many standard errors repeated values are better: most repeats are chance
TAILS, TAIL_ERRORS = (0.1, 0.03, 0.01, 0.003), 1.0  # where, and by how many standard errors, it has to be better
BOOSTED_COORDINATES = 64  # beyond, boosting costs more than the trials


class Calibrated(Enum):
    """What the size of a score means."""

    KNOWN = "known"  # said to be the log-likelihood ratio: not learned, only its sign may be mistaken
    LEARNED = "learned"  # an estimate of it, more decided than it should be but for posterior means
    COUNTED = "counted"  # odds from a few counts: only those counts say how often its guesses are right


@dataclass(frozen=True, eq=False)
class Fitted:
    """A frozen score and its cross-fitted values on the selection trials, from which the event is chosen.

    `scale` holds the frozen score's own values on the same trials: a score fitted on all of them is more
    decided than its cross-fits, so cuts are carried over as shares of trials, not as numbers. None where
    the score fits its own trials too closely for that. `challengers` are further scores to choose events from.
    `posterior` is that of the log odds of a histogram's outputs; its events are chosen from that and from `scale`.
    """

    score: Score
    values: FloatArray
    scale: FloatArray | None = None
    challengers: tuple["Fitted", ...] = ()
    calibrated: Calibrated = Calibrated.LEARNED
    posterior: OddsPosterior | None = None


def fit_score(kind: str, target: Target, pair: Pair, trials: SelectionTrials) -> Fitted:
    """Score of the wanted kind; ParameterError when the target cannot give it."""
    if kind not in SCORES:
        raise ParameterError("score", kind, "one of " + ", ".join(SCORES))
    if kind == "exact" or (kind == "auto" and isinstance(target, ExactTarget)):
        if not isinstance(target, ExactTarget):
            raise ParameterError("score", kind, "another score: the target has no log_ratio")
        score = LikelihoodFamily(target, pair).fit(trials)
        exact = score(trials.outcomes)  # not learned from these trials: nothing to cross-fit
        return Fitted(score, exact, exact, calibrated=Calibrated.KNOWN)
    family, known = _chosen(kind, trials)
    trained = known[family]
    if isinstance(trained, TrainedHistogram):
        return Fitted(trained.score, trained.values, trained.own, posterior=trained.posterior)
    return Fitted(trained.score, trained.values, trained.own, _apart(kind, family, known, trials))


def _chosen(kind: str, trials: SelectionTrials) -> tuple[ScoreFamily, dict[ScoreFamily, Trained]]:
    """The family that held-out log loss recommends, and what was trained on all trials, that family among it.

    Trees are built on the best of the additive scores.

    Families are compared on a sample, and where that says little about any of them, those that are left on all trials.
    """
    candidates = _candidates(kind, trials)
    if len(candidates) == 1:
        return candidates[0], {candidates[0]: _trained(candidates[0], trials)}
    compared = _sample(trials)
    found = [_trained(family, compared) for family in candidates]
    linear = [place for place, family in enumerate(candidates) if isinstance(family, LogisticFamily)]
    additive = [candidates[place] for place in linear]
    base = additive[_simplest_near_best(additive, [found[place].values for place in linear], compared)]
    if _coordinates(trials) <= BOOSTED_COORDINATES and len(trials) >= BOOSTED_TRIALS:
        assert isinstance(base, LogisticFamily)
        boosted, after = BoostedFamily(base=base), linear[-1] + 1
        candidates.insert(after, boosted)
        found.insert(after, _trained(boosted, compared))
    if compared is not trials and max(information(each.values, compared.first) for each in found) < WEAK:
        candidates = _not_clearly_worse(candidates, found, compared)
        compared, found = trials, [_trained(family, trials) for family in candidates]
    best = _simplest_near_best(candidates, [each.values for each in found], compared)
    family = candidates[best]
    return family, dict(zip(candidates, found, strict=True)) if compared is trials else {
        family: _trained(family, trials)
    }


def _not_clearly_worse(
    candidates: list[ScoreFamily], found: list[Trained], trials: SelectionTrials
) -> list[ScoreFamily]:
    losses = [log_loss(each.values, trials.first) for each in found]
    least = min(losses, key=np.mean)
    pairs = zip(candidates, losses, strict=True)
    return [family for family, loss in pairs if not _better(loss - least, CLEARLY_WORSE)]


def _trained(family: ScoreFamily, trials: SelectionTrials) -> Trained:
    if isinstance(family, LogisticFamily | HistogramFamily):
        return family.train(trials)
    score = family.fit(trials)
    own = None if isinstance(family, BoostedFamily) else score(trials.outcomes)
    return Trained(score, cross_fit(family, trials), own)


def _apart(
    kind: str, chosen: ScoreFamily, known: dict[ScoreFamily, Trained], trials: SelectionTrials
) -> tuple[Fitted, ...]:
    """Scores that compete by their promise: log loss sees neither rare values nor far tails."""
    if kind not in ("auto", "classifier"):
        return ()
    trained, challengers = known[chosen], []
    if len(trials) >= TAIL_TRIALS and not (isinstance(chosen, LogisticFamily) and chosen.bends):
        increments = isinstance(chosen, LogisticFamily) and chosen.increments
        bent = LogisticFamily(name="piecewise logistic", bends=True, increments=increments)
        tails = known[bent] if bent in known else _trained(bent, trials)
        if _better_in_the_tail(tails.values, trained.values, trials):
            challengers.append(Fitted(tails.score, tails.values, tails.own))
    if kind == "auto" and distinct_fraction(trials.outcomes) > DISCRETE:
        family = PointMassFamily.of(trials)  # where everything repeats, the histogram was among the candidates
        if len(family.keys):
            values = family.held_out(trials)
            if _better(_gain(values, trained.values, trials)[values != 0], ATOM_ERRORS):
                frozen = family.fit(trials)
                challengers.append(Fitted(frozen, values, frozen(trials.outcomes), calibrated=Calibrated.COUNTED))
    return tuple(challengers)


def _better_in_the_tail(rival: FloatArray, chosen: FloatArray, trials: SelectionTrials) -> bool:
    """Whether the rival is better where it is most decided, at some share of trials."""
    gain = _gain(rival, chosen, trials)[np.argsort(-np.abs(rival), kind="stable")]
    return any(_better(gain[: int(share * len(trials))], TAIL_ERRORS) for share in TAILS)


def _gain(rival: FloatArray, chosen: FloatArray, trials: SelectionTrials) -> FloatArray:
    """By how much the rival's loss is lower, per trial."""
    return log_loss(chosen, trials.first) - log_loss(rival, trials.first)


def _better(gain: FloatArray, errors: float) -> bool:
    return len(gain) > 1 and bool(gain.mean() > errors * gain.std() / np.sqrt(len(gain)))


def _sample(trials: SelectionTrials) -> SelectionTrials:
    """Enough trials to tell families apart, drawn without their bits; fitting all on all would take minutes."""
    enough = max(COMPARED, COMPARED_NUMBERS // max(1, _coordinates(trials)))
    if len(trials) <= enough:
        return trials
    rows = np.sort(np.random.Generator(np.random.PCG64(1)).permutation(len(trials))[:enough])
    return SelectionTrials(trials.outcomes.take(rows), trials.first[rows])


def information(scores: FloatArray, first: Any) -> float:
    """log 2 less the loss, in nats over all trials."""
    return float((np.log(2) - log_loss(scores, first)).sum())


def log_loss(scores: FloatArray, first: Any) -> FloatArray:
    """-log of the probability that the score gave to the truth, per trial."""
    return np.logaddexp(0.0, np.where(first, -scores, scores))


def _candidates(kind: str, trials: SelectionTrials) -> list[ScoreFamily]:
    if kind == "bits":
        if trials.outcomes.values.dtype.kind == "U":
            raise ParameterError("score", kind, "another score: the outputs are text")
        return [FloatBitsFamily()]
    values = trials.outcomes.values
    text = values.dtype.kind == "U"
    histogram: list[ScoreFamily] = [HistogramFamily()]
    coordinates = _coordinates(trials)
    share = distinct_fraction(trials.outcomes)
    if (
        kind == "histogram"
        or text
        or coordinates == 0
        or len(trials) < FEWEST
        or (kind == "auto" and share * len(trials) <= max(COUNTABLE, len(trials) / OFTEN))
    ):
        return histogram
    learned: list[ScoreFamily] = [LogisticFamily()]
    if coordinates > MANY_COORDINATES or 1 < coordinates * EACH > len(trials):
        learned.insert(0, LogisticFamily(name="shared logistic", shared_only=True))
        learned.insert(1, LogisticFamily(name="shared logistic of increments", shared_only=True, increments=True))
    distances = values.dtype.kind == "f" and trials.outcomes.finite.mean() >= READABLE
    if 1 < coordinates <= RADIAL_COORDINATES and share > DISCRETE and distances:
        learned.append(RadialFamily())
    if coordinates > 1:
        learned.append(LogisticFamily(name="logistic of increments", increments=True))
    learned.append(LogisticFamily(name="piecewise logistic", bends=True))
    if 1 < coordinates <= QUADRATIC_COORDINATES:
        learned.append(LogisticFamily(name="quadratic logistic", products=True))
    if kind == "auto" and share <= DISCRETE:
        return learned + histogram
    return learned


def _coordinates(trials: SelectionTrials) -> int:
    return int(np.prod(trials.outcomes.values.shape[1:], dtype=int))


def _simplest_near_best(candidates: list[ScoreFamily], values: list[FloatArray], trials: SelectionTrials) -> int:
    """The first candidate that is not a standard error worse than the best one; of two as simple, the better."""
    losses = [log_loss(scores, trials.first) for scores in values]
    means = np.array([loss.mean() for loss in losses])
    best = int(np.argmin(means))
    # a radial score has no more to learn than the additive one before it
    alike = np.cumsum([not isinstance(family, RadialFamily) for family in candidates])
    for tier in np.unique(alike):
        members = np.nonzero(alike == tier)[0]
        index = int(members[np.argmin(means[members])])
        excess = losses[index] - losses[best]
        if excess.mean() <= excess.std() / np.sqrt(len(excess)):
            return index
    return best
