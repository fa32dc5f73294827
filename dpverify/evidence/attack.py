"""The attack: score, event and test, all frozen before the first certifying trial.

Guess "first" where the score is above the cut, "second" where it is below minus the cut, abstain between.
The cut is chosen by the *predicted certified bound* - neither the point estimate of the ratio, which favours
rare lucky events, nor the accuracy, which favours guessing always - averaged over what the selection trials
leave open.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.evidence.calibration import calibrate, Calibration, CapPrior, KNOWN, SHRUNK
from dpverify.evidence.scores.families import Fitted, Trust
from dpverify.evidence.scores.score import FloatArray, Score
from dpverify.evidence.tally import IntArray, Tally
from dpverify.trials.outcomes import Outcomes

LEVELS = 24  # cuts at which guesses are counted, besides the event's
CUTS = 96  # candidate cuts, geometric in the share of trials beyond them
ATOM = 0.01  # a value held by this share of the selection trials is a candidate cut of its own
FEWEST = 3  # selection trials beyond a candidate cut
APART = 3.0  # standard errors by which the sides must differ to be calibrated apart
SCENARIOS = 5  # posterior curves under which tests are compared
COUNTED_QUANTILES = np.array([0.1, 0.3, 0.5, 0.7, 0.9])  # of the Beta(1/2, 1/2) posterior of a few counts
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

    `cuts` are decreasing; level i holds the guesses between cut i-1 and cut i. The event is what lies beyond
    the first `event` levels together; the further levels are counted for tests that weigh levels and for plots.
    """

    score: Score
    cuts: FloatArray
    event: int
    side: Side
    orientation: int  # -1 where the selection trials show that the score points the other way
    expected: Tally  # predicted tally of the certifying trials
    scenarios: tuple[tuple[float, Tally], ...] = ()  # the same under single posterior curves, with their weights

    def tally(self, first: Outcomes, second: Outcomes) -> Tally:
        """Right and wrong guesses in a block of trials of the first and of the second dataset, by level."""
        first_up, first_down = self._guesses(first)
        second_up, second_down = self._guesses(second)
        return Tally(len(first) + len(second), first_up + second_down, first_down + second_up, one_sided=self.one_sided)

    def empty_tally(self) -> Tally:
        """The tally of no trials."""
        zero = np.zeros(len(self.cuts), np.int64)
        return Tally(0, zero, zero, self.one_sided)

    def _guesses(self, outcomes: Outcomes) -> tuple[IntArray, IntArray]:
        """Guesses of the first and of the second dataset, by level."""
        score = self.score(outcomes) if len(outcomes) else np.zeros(0)
        signed = score if self.orientation > 0 else -score
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

    @property
    def event_fraction(self) -> float:
        """Predicted share of trials in which the event's rule guesses."""
        return self.expected.pooled(self.event).guesses / self.expected.trials

    @property
    def cut(self) -> float:
        """The cut that bounds the event."""
        return float(self.cuts[self.event - 1])

    def witness(self, first: str = "the first dataset", second: str = "the second dataset") -> str:
        """The event in words."""
        said = {
            Side.BOTH: f"score >= {self.cut:.6g}: {first}; score <= {-self.cut:.6g}: {second}",
            Side.FIRST: f"score >= {self.cut:.6g}: {first}",
            Side.SECOND: f"score <= {-self.cut:.6g}: {second}",
            Side.ALWAYS: f"score >= 0: {first}; otherwise {second}",
        }[self.side]
        return f"{self.score.name} {said}" + ("" if self.side is Side.ALWAYS else "; otherwise no guess")


Gain = Callable[[FloatArray, FloatArray, int, Side], FloatArray]


@dataclass(frozen=True)
class Aim:
    """What an event is chosen for.

    gain          predicted certified bound, for arrays of expected right and wrong guesses, trials and a side
    sides         rules worth trying, the default first
    prior         of the caps of a learned score's calibration
    least_regret  choose the event by its mean share of what the best event of each curve would certify; by the
                  mean bound otherwise, where the most hopeful curves count most
    """

    gain: Gain
    sides: tuple[Side, ...]
    prior: CapPrior
    least_regret: bool = False

    def objective(self, gains: FloatArray, weights: FloatArray) -> FloatArray:
        """Worth of each event from gains of shape (curves, events), larger is better."""
        mean: FloatArray = weights @ gains
        best = gains.max(axis=1)
        if not self.least_regret or not (best > 0).any():
            return mean
        return np.asarray(weights[best > 0] @ (gains[best > 0] / best[best > 0, None]))


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
    shown = _Shown(fitted.score, values, scale, first, orientation, fitted.trust, aim.prior)
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
        prior = {Trust.KNOWN: KNOWN, Trust.SHRUNK: SHRUNK}.get(self.trust, self.prior)
        return calibrate(confidence, correct, prior)

    def accuracy(self, side: Side, ends: npt.NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
        """Mean Pr[right] of the most confident `ends` guesses, shape (curves, ends), and the weights of the curves."""
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
    pick = int(np.argmax(aim.objective(gains, weights)))

    kept = np.union1d(np.linspace(0, len(ends) - 1, LEVELS).astype(int), [pick])
    cuts = shown.cuts(ends[kept], side)
    event = int(np.searchsorted(kept, pick)) + 1

    def tally(share_right: FloatArray) -> Tally:
        return _whole(share_right * guesses[kept], (1 - share_right) * guesses[kept], trials, one_sided)

    expected = tally(weights @ mean_right[:, kept])
    likely = np.argsort(-weights)[:SCENARIOS]
    shares = weights[likely] / weights[likely].sum()
    scenarios = tuple((float(w), tally(mean_right[k, kept])) for w, k in zip(shares, likely, strict=True))
    promise = float(weights @ gains[:, pick])
    return promise, Attack(shown.score, cuts, event, side, shown.orientation, expected, scenarios)


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
    curves = shown.calibration(Side.BOTH)
    undecided = (len(shown.values) - len(confidence)) / 2
    share = (curves.right(confidence).sum(axis=1) + undecided) / len(shown.values)
    predicted = float(curves.weights @ aim.gain(share * trials, (1 - share) * trials, trials, Side.ALWAYS))
    right = int(float(curves.weights @ share) * trials)
    expected = Tally.of(right, trials - right, trials)
    return predicted, Attack(shown.score, np.zeros(1), 1, Side.ALWAYS, shown.orientation, expected)


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
    places = np.r_[np.nonzero(_different(confidence))[0] + 1, len(confidence)]
    after = np.minimum(np.searchsorted(places, ends), len(places) - 1)
    before = np.maximum(after - 1, 0)
    nearest = np.where(ends - places[before] < places[after] - ends, before, after)
    taken = places[nearest]
    cuts: FloatArray = (confidence[taken - 1] + np.r_[confidence, 0.0][taken]) / 2
    return cuts


def _different(confidence: FloatArray) -> npt.NDArray[np.bool_]:
    apart: npt.NDArray[np.bool_] = confidence[:-1] - confidence[1:] > SAME * np.maximum(1.0, confidence[:-1])
    return apart


def _candidate_ends(confidence: FloatArray, total: int) -> npt.NDArray[np.int64]:
    """Numbers of most confident guesses at which a cut may lie: between two different values only."""
    if len(confidence) == 0:
        return np.zeros(0, np.int64)
    ends = np.r_[np.nonzero(_different(confidence))[0] + 1, len(confidence)]
    enough = ends[ends >= min(FEWEST, len(confidence))]
    sizes = np.diff(np.r_[0, ends])
    atoms = ends[sizes >= ATOM * total]
    wanted = np.geomspace(min(FEWEST, len(confidence)), len(confidence), CUTS)
    spread = enough[np.minimum(np.searchsorted(enough, wanted), len(enough) - 1)]
    return np.unique(np.r_[spread, atoms])


def bounded(scores: FloatArray) -> FloatArray:
    """Infinite scores as very large ones, so that means and differences stay numbers."""
    return np.clip(scores, -700.0, 700.0)
