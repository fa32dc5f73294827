"""The attack: score, event and test, all frozen before the first certifying trial.

Guess "first" where the score is above the cut, "second" where it is below minus the cut, abstain between.
The cut is chosen to maximise the *predicted certified bound* - neither the point estimate of the ratio, which
favours rare lucky events, nor the accuracy, which favours guessing always.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from dpverify.evidence.calibration import calibrate
from dpverify.evidence.scores.families import Fitted
from dpverify.evidence.scores.score import FloatArray, Score
from dpverify.evidence.tally import Tally
from dpverify.trials.outcomes import Outcomes

CUTS = 96  # candidate cuts, geometric in the share of trials beyond them
ATOM = 0.01  # a value held by this share of the selection trials is a candidate cut of its own
FEWEST = 3  # selection trials beyond a candidate cut
SAME = 1e-9  # scores closer than this (relatively) are one value: float rounding is not an event


class Side(Enum):
    """On which datasets the rule guesses."""

    BOTH = "both"
    FIRST = "first"
    SECOND = "second"


@dataclass(frozen=True, eq=False)
class Attack:
    """A frozen rule: guess where |orientation * score| >= cut, on the given side."""

    score: Score
    cut: float
    side: Side
    orientation: int  # -1 where the selection trials show that the score points the other way
    expected: Tally  # predicted tally of the certifying trials

    def tally(self, first: Outcomes, second: Outcomes) -> Tally:
        """Right and wrong guesses in a block of trials of the first and of the second dataset."""
        first_up, first_down = self._guesses(first)
        second_up, second_down = self._guesses(second)
        return Tally.of(
            first_up + second_down,
            first_down + second_up,
            len(first) + len(second),
            one_sided=self.one_sided,
        )

    def _guesses(self, outcomes: Outcomes) -> tuple[int, int]:
        if len(outcomes) == 0:
            return 0, 0
        score = self.score(outcomes) if self.orientation > 0 else -self.score(outcomes)
        up = np.count_nonzero(score >= self.cut) if self.side is not Side.SECOND else 0
        down = np.count_nonzero(score <= -self.cut) if self.side is not Side.FIRST else 0
        return int(up), int(down)

    @property
    def one_sided(self) -> bool:
        """True where the rule guesses only one dataset."""
        return self.side is not Side.BOTH

    @property
    def guess_fraction(self) -> float:
        """Predicted share of trials in which the rule guesses."""
        return self.expected.guesses / self.expected.trials

    def witness(self, first: str = "the first dataset", second: str = "the second dataset") -> str:
        """The event in words."""
        said = {
            Side.BOTH: f"score >= {self.cut:.6g}: {first}; score <= {-self.cut:.6g}: {second}",
            Side.FIRST: f"score >= {self.cut:.6g}: {first}",
            Side.SECOND: f"score <= {-self.cut:.6g}: {second}",
        }[self.side]
        return f"{self.score.name} {said}; otherwise no guess"


Gain = Callable[[FloatArray, FloatArray, int, bool], FloatArray]


def choose(fitted: Fitted, first: npt.NDArray[np.bool_], trials: int, gain: Gain, *, one_sided: bool) -> Attack:
    """The attack with the largest predicted bound on `trials` certifying trials.

    `gain(right, wrong, trials, one_sided)` predicts the certified bound for arrays of expected counts.
    `one_sided` also tries rules that guess only one dataset (worth it where delta > 0 halves the slack).
    """
    agreement = np.where(first, fitted.values, -fitted.values)
    orientation = 1 if _bounded(agreement).mean() >= 0 else -1
    values = orientation * fitted.values
    best: tuple[float, Attack] | None = None
    for side in (Side.BOTH, Side.FIRST, Side.SECOND) if one_sided else (Side.BOTH,):
        predicted, attack = _best_cut(fitted.score, values, first, trials, gain, side, orientation)
        if best is None or predicted > best[0]:
            best = predicted, attack
    assert best is not None
    return best[1]


def _best_cut(
    score: Score,
    values: FloatArray,
    first: npt.NDArray[np.bool_],
    trials: int,
    gain: Gain,
    side: Side,
    orientation: int,
) -> tuple[float, Attack]:
    used = {Side.BOTH: values != 0, Side.FIRST: values > 0, Side.SECOND: values < 0}[side]
    confidence = np.abs(_bounded(values[used]))
    correct = (values[used] > 0) == first[used]
    order = np.argsort(-confidence, kind="stable")
    confidence, correct = confidence[order], correct[order]
    ends = _candidate_ends(confidence, len(values))
    if len(ends) == 0:  # the score never says anything: guess nothing
        return 0.0, Attack(score, math.inf, side, orientation, Tally.of(0, 0, trials, one_sided=side is not Side.BOTH))
    curves = calibrate(confidence, correct)
    mean_right = np.cumsum(curves.right(confidence), axis=1)[:, ends - 1] / ends  # (curves, candidates)
    guesses = ends / len(values) * trials
    bounds = gain(mean_right * guesses, (1 - mean_right) * guesses, trials, side is not Side.BOTH)
    predicted = curves.weights @ bounds
    pick = int(np.argmax(predicted))
    end = int(ends[pick])
    next_lower = confidence[end] if end < len(confidence) else 0.0
    top = confidence[end - 1]
    cut = float(top + next_lower) / 2  # strictly between two different values, away from rounding
    right = float(curves.weights @ mean_right[:, pick]) * guesses[pick]
    one_sided = side is not Side.BOTH
    whole_right = min(int(round(right)), trials)
    whole_wrong = min(int(round(guesses[pick] - right)), trials - whole_right)
    return float(predicted[pick]), Attack(
        score, cut, side, orientation, Tally.of(whole_right, whole_wrong, trials, one_sided=one_sided)
    )


def _candidate_ends(confidence: FloatArray, total: int) -> npt.NDArray[np.int64]:
    """Numbers of most confident guesses at which a cut may lie: between two different values only."""
    if len(confidence) == 0:
        return np.zeros(0, np.int64)
    different = confidence[:-1] - confidence[1:] > SAME * np.maximum(1.0, confidence[:-1])
    ends = np.r_[np.nonzero(different)[0] + 1, len(confidence)]
    enough = ends[ends >= min(FEWEST, len(confidence))]
    sizes = np.diff(np.r_[0, ends])
    atoms = ends[sizes >= ATOM * total]
    wanted = np.geomspace(min(FEWEST, len(confidence)), len(confidence), CUTS)
    spread = enough[np.minimum(np.searchsorted(enough, wanted), len(enough) - 1)]
    return np.unique(np.r_[spread, atoms])


def _bounded(scores: FloatArray) -> FloatArray:
    """Infinite scores as very large ones, so that means and differences stay numbers."""
    return np.clip(scores, -700.0, 700.0)
