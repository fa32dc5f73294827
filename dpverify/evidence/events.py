"""Which event is guessed on: chosen on the selection trials, for a score that they have fitted.

The cut is chosen by the *predicted certified bound* - neither the point estimate of the ratio, which favours
rare lucky events, nor the accuracy, which favours guessing always - averaged over what the selection trials
leave open.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.evidence.attack import Attack, bounded, carry, different, Side, usable
from dpverify.evidence.calibration import calibrate, Calibration, CapPrior, KNOWN
from dpverify.evidence.gains import Aim
from dpverify.evidence.insurance import insured
from dpverify.evidence.scores.cells import Cells
from dpverify.evidence.scores.families import Fitted, Trust
from dpverify.evidence.scores.score import FloatArray, Score
from dpverify.evidence.tally import Tally

LEVELS = 24  # cuts at which guesses are counted, besides the event's
CUTS = 96  # candidate cuts, geometric in the share of trials beyond them
ATOM = 0.01  # a value held by this share of the selection trials is a candidate cut of its own
FEWEST = 3  # selection trials beyond a candidate cut
APART = 3.0  # standard errors by which the sides must differ to be calibrated apart
SCENARIOS, DRAWN_SCENARIOS = 5, 20  # posterior curves, or equally likely draws, under which tests are compared
COUNTED_QUANTILES = np.array([0.1, 0.3, 0.5, 0.7, 0.9])  # of the Beta(1/2, 1/2) posterior of a few counts


def choose(fitted: Fitted, first: npt.NDArray[np.bool_], trials: int, aim: Aim) -> Attack:
    """The attack with the largest predicted bound on `trials` certifying trials, among the aim's sides."""
    return max((_best_side(each, first, trials, aim) for each in (fitted, *fitted.rivals)), key=_promise)[1]


def _promise(candidate: tuple[float, Attack]) -> float:
    return candidate[0]


def _best_side(fitted: Fitted, first: npt.NDArray[np.bool_], trials: int, aim: Aim) -> tuple[float, Attack]:
    """The best predicted bound, and its attack."""
    # a learned score knows its sign: held-out values that point the other way are noise
    agreement = np.where(first, fitted.values, -fitted.values)
    orientation = -1 if fitted.trust is Trust.KNOWN and bounded(agreement).sum() < 0 else 1
    values = orientation * fitted.values
    scale = values if fitted.scale is None else orientation * fitted.scale
    if fitted.cells is not None:  # the posterior knows what is luck: no need to hold trials out
        values = scale
    shown = _Shown(fitted.score, values, scale, first, orientation, fitted.trust, aim.prior, fitted.cells)
    best: tuple[float, Attack] | None = None
    for side in aim.sides:
        predicted, attack = _best_event(shown, trials, aim, side)
        if best is None or predicted > best[0]:
            best = predicted, attack
    assert best is not None
    return best


@dataclass(frozen=True, eq=False)
class _Shown:
    """What the selection trials show about a score: held-out values, the frozen score's own, and the bits."""

    score: Score
    values: FloatArray
    scale: FloatArray
    first: npt.NDArray[np.bool_]
    orientation: int
    trust: Trust
    prior: CapPrior
    cells: Cells | None = None

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
        return calibrate(confidence, correct, KNOWN if self.trust is Trust.KNOWN else self.prior)

    def accuracy(self, side: Side, ends: npt.NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
        """Mean Pr[right] of the most confident `ends` guesses, shape (curves, ends), and the weights of the curves."""
        if self.cells is not None:
            drawn = self.cells.accuracy(usable(self.cells.odds, side), ends)
            return drawn, np.full(len(drawn), 1 / len(drawn))
        confidence, correct = self.guesses(side)
        if self.trust is Trust.COUNTED:
            hits = np.cumsum(correct)[ends - 1]
            shares = special.betaincinv(hits + 0.5, ends - hits + 0.5, COUNTED_QUANTILES[:, None])
            return np.asarray(shares, float), np.full(len(COUNTED_QUANTILES), 1 / len(COUNTED_QUANTILES))
        curves = self.calibration(side)
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


def _best_event(shown: _Shown, trials: int, aim: Aim, side: Side) -> tuple[float, Attack]:
    one_sided = side in (Side.FIRST, Side.SECOND)
    if side is Side.ALWAYS:
        return _always(shown, trials, aim)
    confidence, _ = shown.guesses(side)
    total = len(shown.values)
    ends = _candidate_ends(confidence, total)
    if len(ends) == 0:  # the score never says anything: guess nothing
        nothing = Tally.of(0, 0, trials, one_sided=one_sided)
        return 0.0, Attack(shown.score, np.array([np.inf]), 1, side, shown.orientation, nothing)
    mean_right, weights = shown.accuracy(side, ends)
    guesses = ends / total * trials
    gains = aim.gain(mean_right * guesses, (1 - mean_right) * guesses, trials, side)
    # draws differ by far more than curves, and the worst of them are insured against
    pick = int(np.argmax(aim.objective(gains, weights) if shown.cells is None else weights @ gains))

    kept = np.union1d(np.linspace(0, len(ends) - 1, LEVELS).astype(int), [pick])
    cuts = shown.cuts(ends[kept], side)
    event = int(np.searchsorted(kept, pick)) + 1

    def tally(share_right: FloatArray) -> Tally:
        return _whole(share_right * guesses[kept], (1 - share_right) * guesses[kept], trials, one_sided)

    expected = tally(weights @ mean_right[:, kept])
    likely = np.argsort(-weights, kind="stable")[: SCENARIOS if shown.cells is None else DRAWN_SCENARIOS]
    shares = weights[likely] / weights[likely].sum()
    scenarios = tuple((float(w), tally(mean_right[k, kept])) for w, k in zip(shares, likely, strict=True))
    promise = float(weights @ gains[:, pick])
    insurance: tuple[tuple[int, float], ...] = ()
    if shown.cells is not None and aim.insures:
        parts = insured(mean_right[:, kept] * guesses[kept], guesses[kept], trials, side, aim, event - 1)
        insurance = tuple((level + 1, float(share)) for level, share in enumerate(parts) if share > 0)
    return promise, Attack(shown.score, cuts, event, side, shown.orientation, expected, scenarios, insurance)


def _whole(right: FloatArray, wrong: FloatArray, trials: int, one_sided: bool) -> Tally:
    """Whole counts by level whose running totals are the given ones.

    Rounding level by level would lose the rare wrong guesses, and with them the price of every level.
    """
    right, wrong = np.maximum.accumulate(right), np.maximum.accumulate(wrong)  # each judged by its own counts
    down, up = np.diff(np.floor(right), prepend=0.0), np.diff(np.rint(wrong), prepend=0.0)
    return Tally(trials, down.astype(np.int64), up.astype(np.int64), one_sided)


def _always(shown: _Shown, trials: int, aim: Aim) -> tuple[float, Attack]:
    """The rule that guesses in every trial; outputs with score 0 are guessed right half of the time."""
    confidence, _ = shown.guesses(Side.BOTH)
    share, weights = np.full(1, 0.5), np.ones(1)
    if len(confidence):
        accuracy, weights = shown.accuracy(Side.BOTH, np.array([len(confidence)]))
        decided = len(confidence) / len(shown.values)
        share = accuracy[:, 0] * decided + (1 - decided) / 2
    predicted = float(weights @ aim.gain(share * trials, (1 - share) * trials, trials, Side.ALWAYS))
    right = int(float(weights @ share) * trials)
    expected = Tally.of(right, trials - right, trials)
    return predicted, Attack(shown.score, np.zeros(1), 1, Side.ALWAYS, shown.orientation, expected)


def _candidate_ends(confidence: FloatArray, total: int) -> npt.NDArray[np.int64]:
    """Numbers of most confident guesses at which a cut may lie: between two different values only."""
    if len(confidence) == 0:
        return np.zeros(0, np.int64)
    ends = np.r_[np.nonzero(different(confidence))[0] + 1, len(confidence)]
    enough = ends[ends >= min(FEWEST, len(confidence))]
    sizes = np.diff(np.r_[0, ends])
    atoms = ends[sizes >= ATOM * total]
    wanted = np.geomspace(min(FEWEST, len(confidence)), len(confidence), CUTS)
    spread = enough[np.minimum(np.searchsorted(enough, wanted), len(enough) - 1)]
    return np.unique(np.r_[spread, atoms])
