"""A rule for sequential audits: levels by rank, and how often a guess on each is expected to be right.

Level k holds the guesses between the most confident shares 2^-(LEVELS - k) and 2^-(LEVELS - 1 - k) of all: every
score has the same levels, so counts from before and after a refit add up to something that means the same.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpverify.evidence.attack import Attack, bounded, carry, Side, usable
from dpverify.evidence.scores.histogram import HistogramScore
from dpverify.evidence.scores.model_selection import Fitted
from dpverify.evidence.scores.score import FloatArray
from dpverify.evidence.selection.calibration import calibrate, CapPrior
from dpverify.evidence.sequential.growth import growth
from dpverify.evidence.tally import Tally

LEVELS = 12
DOUBT = 12.0  # guesses on each level at the claim's own accuracy that a prediction has to outweigh
PRIOR = CapPrior(uncapped=1.0, flat=10.0)  # against a small wager, one accuracy for all guesses is learned first
SHARED = 0.2  # of all guesses learned from, at least, speak for each level: the calibration has two parameters


@dataclass(frozen=True, eq=False)
class RankedLevels:
    """A frozen attack on LEVELS levels.

    `predicted`, shape (LEVELS,), is Pr[right] of a guess on each; `trust` how many seen guesses that is worth.
    """

    attack: Attack
    predicted: FloatArray
    trust: FloatArray

    def updated(self, seen: Tally, claim_eps: float) -> FloatArray:
        """Predictions corrected by what the rule's own guesses turned out to be, and drawn towards the claim.

        A prediction learned from few trials is bet on too boldly; drawn towards the accuracy that the claim allows,
        where nothing is staked, early mistakes cost little.
        """
        claimed = 1 / (1 + math.exp(-claim_eps))
        right = self.predicted * self.trust + seen.right + DOUBT * claimed
        return np.asarray(right / (self.trust + seen.right + seen.wrong + DOUBT))


def no_guesses(trials: int = 0) -> Tally:
    """Trials of a rule of LEVELS levels that guesses nothing."""
    zero = np.zeros(LEVELS, np.int64)
    return Tally(trials, zero, zero)


def ranked_levels(fitted: Fitted, first: npt.NDArray[np.bool_], trials: int) -> RankedLevels:
    """The rule that a score and its cross-fitted values recommend for `trials` further trials."""
    agreement = bounded(np.where(first, fitted.values, -fitted.values))
    orientation = 1 if agreement.mean() >= 0 else -1
    values = orientation * fitted.values
    scale = values if fitted.scale is None else orientation * fitted.scale
    used = usable(values, Side.BOTH)
    confidence, correct = np.abs(bounded(values[used])), (values[used] > 0) == first[used]
    order = np.argsort(-confidence, kind="stable")
    confidence, correct = confidence[order], correct[order]
    total = len(confidence)
    if total == 0:
        return abstain(trials)
    ends = np.maximum(1, np.rint(total * 2.0 ** -np.arange(LEVELS - 1, -1, -1))).astype(np.int64)
    curves = calibrate(confidence, correct, PRIOR)
    right = np.r_[0.0, np.cumsum(curves.weights @ curves.right(confidence))]
    starts = np.minimum(np.r_[0, ends[:-1]], ends - 1)  # an empty level predicts what its last guess would
    predicted = (right[ends] - right[starts]) / (ends - starts)
    cuts = carry(ends, -np.sort(-np.abs(bounded(scale[usable(scale, Side.BOTH)]))))
    share = np.diff(np.r_[0, ends]) / len(values) * trials
    expected = Tally(trials, np.floor(predicted * share).astype(int), np.floor((1 - predicted) * share).astype(int))
    attack = Attack(fitted.score, cuts, LEVELS, Side.BOTH, orientation, expected)
    return RankedLevels(attack, predicted, np.maximum(np.diff(np.r_[0, ends]), SHARED * total))


def abstain(trials: int) -> RankedLevels:
    """The rule of somebody who knows nothing."""
    score = HistogramScore(np.zeros(0, np.uint64), np.zeros(0))
    attack = Attack(score, np.full(LEVELS, np.inf), LEVELS, Side.BOTH, 1, no_guesses(trials))
    return RankedLevels(attack, np.full(LEVELS, 0.5), np.zeros(LEVELS))


def informative_fraction(expected: Tally, delta: float) -> float:
    """Share of trials on the levels that together say most against eps = 0: where a violation would show."""
    right, wrong = np.cumsum(expected.right), np.cumsum(expected.wrong)
    best, share = 0.0, 0.0
    for v, w in zip(right.tolist(), wrong.tolist(), strict=True):
        if v > w:
            mean, _ = growth(v / (v + w), (v + w) / expected.trials, 0.0, delta)
            best, share = max((best, share), (mean, (v + w) / expected.trials))
    return share
