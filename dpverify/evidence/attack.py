"""The attack: score, event and test, all frozen before the first certifying trial.

Guess "first" where the score is above the cut (`selection.cuts`), "second" below minus the cut, abstain between.
"""

from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from dpverify.evidence.scores.score import FloatArray, Score
from dpverify.evidence.tally import IntArray, Tally
from dpverify.trials.outcomes import Outcomes

SAME = 1e-9  # scores closer than this (relatively) are one value: float rounding is not an event


class Side(Enum):
    """On which datasets the rule guesses."""

    BOTH = "both"
    FIRST = "first"
    SECOND = "second"
    ALWAYS = "always"  # both, and never abstaining


@dataclass(frozen=True, eq=False)
class Attack:
    """A frozen rule: guess where |orientation * score| >= a cut, on the given side.

    `cuts` are decreasing; level i holds the guesses between cut i-1 and cut i. The event is a guess on
    any of the first `event` levels, that is beyond cut `event` - 1; the further levels are counted for other events and
    for plots.
    `shares` are (levels, share of the significance) of every event that certifies, this one first; empty: it has all.
    `weights` are those of the levels in one test of all of them; empty: guesses of an event count alike.
    """

    score: Score
    cuts: FloatArray
    event: int
    side: Side
    orientation: int  # -1 where the selection trials show that the score points the other way
    expected: Tally  # predicted guesses of the event in the certifying trials
    shares: tuple[tuple[int, float], ...] = ()
    weights: tuple[int, ...] = ()

    def tally(self, first: Outcomes, second: Outcomes) -> Tally:
        """Right and wrong guesses in trials of the first and of the second dataset, by level."""
        return self.counted(self.signed(first), self.signed(second))

    def signed(self, outcomes: Outcomes) -> FloatArray:
        """Score of every trial, turned so that the first dataset is guessed above the cuts; shape (size,)."""
        score = self.score(outcomes) if len(outcomes) else np.zeros(0)
        return score if self.orientation > 0 else -score

    def counted(self, first: FloatArray, second: FloatArray) -> Tally:
        """The tally of trials with these signed scores."""
        first_up, first_down = self._guesses(first)
        second_up, second_down = self._guesses(second)
        return Tally(len(first) + len(second), first_up + second_down, first_down + second_up, one_sided=self.one_sided)

    def guessed(self, signed: FloatArray) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Trials in which the event guesses the first, and the second, dataset."""
        if self.side is Side.ALWAYS:
            return signed >= 0, signed < 0
        cut = self.cuts[self.event - 1]
        none = np.zeros(len(signed), bool)
        return (
            signed >= cut if self.side is not Side.SECOND else none,
            signed <= -cut if self.side is not Side.FIRST else none,
        )

    def empty_tally(self) -> Tally:
        """The tally of no trials."""
        zero = np.zeros(len(self.cuts), np.int64)
        return Tally(0, zero, zero, self.one_sided)

    def _guesses(self, signed: FloatArray) -> tuple[IntArray, IntArray]:
        """Guesses of the first and of the second dataset, by level."""
        if self.side is Side.ALWAYS:
            first = int(np.count_nonzero(signed >= 0))
            return np.array([first]), np.array([len(signed) - first])
        up = self._levels(signed if self.side is not Side.SECOND else signed[:0])
        down = self._levels(-signed if self.side is not Side.FIRST else signed[:0])
        return up, down

    def _levels(self, confidence: FloatArray) -> IntArray:
        rising = self.cuts[::-1]
        guessed = confidence[confidence >= rising[0]]  # most trials abstain, or are on the other side
        passed = np.searchsorted(rising, guessed, side="right")  # number of cuts reached, at least one
        return np.bincount(len(rising) - passed, minlength=len(rising))

    @property
    def one_sided(self) -> bool:
        """True where the rule guesses only one dataset."""
        return self.side in (Side.FIRST, Side.SECOND)

    def guess_fraction(self) -> float:
        """Predicted share of trials with a guess."""
        return self.expected.guesses / self.expected.trials

    def witness(self, levels: int | None = None) -> str:
        """The event of the first `levels` levels in words; None for the event that was chosen first."""
        cut, first, second = self.cuts[(levels or self.event) - 1], "the first dataset", "the second dataset"
        said = {
            Side.BOTH: f"score >= {cut:.6g}: {first}; score <= {-cut:.6g}: {second}",
            Side.FIRST: f"score >= {cut:.6g}: {first}",
            Side.SECOND: f"score <= {-cut:.6g}: {second}",
            Side.ALWAYS: f"score >= 0: {first}; otherwise {second}",
        }[self.side]
        return f"{self.score.name} {said}" + ("" if self.side is Side.ALWAYS else "; otherwise no guess")


def usable(values: FloatArray, side: Side) -> npt.NDArray[np.bool_]:
    """Trials in which a rule on this side could guess."""
    used: npt.NDArray[np.bool_] = {Side.FIRST: values > 0, Side.SECOND: values < 0}.get(side, values != 0)
    return used


def carry(ends: npt.NDArray[np.int64], confidence: FloatArray) -> FloatArray:
    """Cuts beyond which about `ends` of the frozen score's `confidence` (decreasing) lie, never within an atom.

    Each cut is halfway between two different values, away from rounding.
    """
    if len(confidence) == 0:
        return np.full(len(ends), np.inf)
    places = np.r_[np.nonzero(different(confidence))[0] + 1, len(confidence)]
    after = np.minimum(np.searchsorted(places, ends), len(places) - 1)
    before = np.maximum(after - 1, 0)
    nearest = np.where(ends - places[before] < places[after] - ends, before, after)
    taken = places[nearest]
    cuts: FloatArray = (confidence[taken - 1] + np.r_[confidence, 0.0][taken]) / 2
    return cuts


def different(confidence: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether each of `confidence` (decreasing) differs from the next one by more than rounding."""
    apart: npt.NDArray[np.bool_] = confidence[:-1] - confidence[1:] > SAME * np.maximum(1.0, confidence[:-1])
    return apart


def bounded(scores: FloatArray) -> FloatArray:
    """Infinite scores as very large ones, so that means and differences stay numbers."""
    return np.clip(scores, -700.0, 700.0)
