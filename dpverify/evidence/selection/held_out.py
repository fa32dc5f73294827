"""What the selection trials show about a score: how often its guesses are right, and what they leave open."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.evidence.attack import bounded, carry, Side, usable
from dpverify.evidence.scores.empirical_bayes import OddsPosterior
from dpverify.evidence.scores.model_selection import Calibrated
from dpverify.evidence.scores.score import FloatArray, Score
from dpverify.evidence.selection.calibration import calibrate, Calibration, CapPrior, KNOWN
from dpverify.evidence.selection.posterior_draws import draws_of_right

APART = 3.0  # standard errors by which the sides must differ to be calibrated apart
COUNTED_QUANTILES = np.array([0.1, 0.3, 0.5, 0.7, 0.9])  # of the Beta(1/2, 1/2) posterior of a few counts


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What the selection trials show about a score: held-out values, the frozen score's own, and the bits."""

    score: Score
    values: FloatArray
    scale: FloatArray
    first: npt.NDArray[np.bool_]
    orientation: int
    calibrated: Calibrated
    prior: CapPrior
    posterior: OddsPosterior | None = None

    def calibration(self, side: Side) -> Calibration:
        """How often guesses are right, given their confidence.

        One calibration for both sides, unless they differ: of two that are alike, the luckier one would
        promise more than both together.
        """
        one_sided = side in (Side.FIRST, Side.SECOND)
        return self._calibrate(*self.guesses(side)) if one_sided and self._sides_differ else self._pooled

    @cached_property
    def _pooled(self) -> Calibration:
        return self._calibrate(*self.guesses(Side.BOTH))

    def _calibrate(self, confidence: FloatArray, correct: npt.NDArray[np.bool_]) -> Calibration:
        return calibrate(confidence, correct, KNOWN if self.calibrated is Calibrated.KNOWN else self.prior)

    def accuracy(self, side: Side, ends: npt.NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
        """Mean Pr[right] of the most confident `ends` guesses, shape (curves, ends), and the weights of the curves."""
        if self.posterior is not None:
            drawn = self.posterior.accuracy(usable(self.posterior.odds, side), ends)
            return drawn, np.full(len(drawn), 1 / len(drawn))
        confidence, correct = self.guesses(side)
        if self.calibrated is Calibrated.COUNTED:
            hits = np.cumsum(correct)[ends - 1]
            shares = special.betaincinv(hits + 0.5, ends - hits + 0.5, COUNTED_QUANTILES[:, None])
            return np.asarray(shares, float), np.full(len(COUNTED_QUANTILES), 1 / len(COUNTED_QUANTILES))
        curves = self.calibration(side)
        return np.cumsum(curves.right(confidence), axis=1)[:, ends - 1] / ends, curves.weights

    @property
    def uncertain(self) -> bool:
        """Whether it is open how often guesses are right."""
        return self.calibrated is Calibrated.LEARNED

    def draws(self, side: Side, ends: npt.NDArray[np.int64], accuracy: FloatArray, weights: FloatArray) -> FloatArray:
        """Equally likely numbers of right ones among the most confident `ends` guesses, shape (draws, ends)."""
        if self.posterior is not None:
            return accuracy * ends
        _, correct = self.guesses(side)
        return draws_of_right(ends, np.cumsum(correct, dtype=np.int64)[ends - 1], weights @ accuracy * ends)

    def guesses(self, side: Side) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Confidence, decreasing, and whether the guess was right."""
        used = usable(self.values, side)
        confidence = np.abs(bounded(self.values[used]))
        correct = (self.values[used] > 0) == self.first[used]
        order = np.argsort(-confidence, kind="stable")
        return confidence[order], correct[order]

    def cuts(self, ends: npt.NDArray[np.int64], side: Side) -> FloatArray:
        """Cuts of the frozen score beyond which `ends` of the selection trials lie."""
        return carry(ends, -np.sort(-np.abs(bounded(self.scale[usable(self.scale, side)]))))

    @cached_property
    def _sides_differ(self) -> bool:
        """Whether guesses of one dataset are more often right than those of the other, at equal confidence."""
        excess, variance = [], []
        for side in (Side.FIRST, Side.SECOND):
            confidence, correct = self.guesses(side)
            if len(confidence) == 0:
                return False
            expected = self._pooled.weights @ self._pooled.right(confidence)
            excess.append((correct - expected).mean())
            variance.append((expected * (1 - expected)).mean() / len(confidence))
        return bool(abs(excess[0] - excess[1]) > APART * np.sqrt(sum(variance)))
