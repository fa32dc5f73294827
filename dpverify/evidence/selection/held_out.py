"""How often guesses beyond a cut are right: a posterior from the selection trials, by held-out values of the score."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.evidence.attack import bounded, carry, Side, usable
from dpverify.evidence.scores.empirical_bayes import OddsPosterior
from dpverify.evidence.scores.model_selection import Calibrated, Fitted
from dpverify.evidence.scores.score import FloatArray, Score
from dpverify.evidence.selection.calibration import calibrate, Calibration, CapPrior, KNOWN

APART = 3.0  # standard errors by which the sides must differ to be calibrated apart
QUANTILES = np.array([0.1, 0.3, 0.5, 0.7, 0.9])  # of the Beta(1/2, 1/2) posterior of a few counts


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A score, its `values` on trials that it had not seen, its own values (`scale`), and the bits `first`."""

    score: Score
    values: FloatArray
    scale: FloatArray
    first: npt.NDArray[np.bool_]
    orientation: int
    calibrated: Calibrated
    prior: CapPrior
    posterior: OddsPosterior | None

    @classmethod
    def of(cls, fitted: Fitted, first: npt.NDArray[np.bool_], prior: CapPrior) -> "HeldOut":
        """A known score is turned round where the trials contradict its sign; a learned one knows its sign."""
        known = fitted.calibrated is Calibrated.KNOWN
        turned = known and bounded(np.where(first, fitted.values, -fitted.values)).sum() < 0
        values = -fitted.values if turned else fitted.values
        scale = values if fitted.scale is None else -fitted.scale if turned else fitted.scale
        if fitted.posterior is not None:
            values = scale  # the posterior knows what is luck: no need to hold trials out
        sign, prior = -1 if turned else 1, KNOWN if known else prior
        return cls(fitted.score, values, scale, first, sign, fitted.calibrated, prior, fitted.posterior)

    def accuracy(self, side: Side, ends: npt.NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
        """Mean Pr[right] of the most confident `ends` guesses, shape (curves, ends), and the weights of the curves."""
        if self.posterior is not None:
            drawn = self.posterior.accuracy(usable(self.posterior.odds, side), ends)
            return drawn, np.full(len(drawn), 1 / len(drawn))
        confidence, correct = self.guesses(side)
        if self.calibrated is Calibrated.COUNTED:
            hits = np.cumsum(correct)[ends - 1]
            shares = special.betaincinv(hits + 0.5, ends - hits + 0.5, QUANTILES[:, None])
            return np.asarray(shares, float), np.full(len(QUANTILES), 1 / len(QUANTILES))
        # one calibration for both sides, unless they differ: of two alike, the luckier one would promise too much
        one_sided = side in (Side.FIRST, Side.SECOND)
        curves = calibrate(confidence, correct, self.prior) if one_sided and self._sides_differ else self._both
        return np.cumsum(curves.right(confidence), axis=1)[:, ends - 1] / ends, curves.weights

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
    def _both(self) -> Calibration:
        return calibrate(*self.guesses(Side.BOTH), self.prior)

    @cached_property
    def _sides_differ(self) -> bool:
        """Whether guesses of one dataset are more often right than those of the other, at equal confidence."""
        excess, variance = [], []
        for side in (Side.FIRST, Side.SECOND):
            confidence, correct = self.guesses(side)
            if len(confidence) == 0:
                return False
            expected = self._both.weights @ self._both.right(confidence)
            excess.append((correct - expected).mean())
            variance.append((expected * (1 - expected)).mean() / len(confidence))
        return bool(abs(excess[0] - excess[1]) > APART * np.sqrt(sum(variance)))
