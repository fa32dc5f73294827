"""Beyond which cuts of a score a guess counts: chosen on the selection trials, before the certifying ones.

The main cut has the largest *predicted certified bound*, averaged over what the selection trials leave open (at
delta = 0 as a share of the best cut's: `predicted_bound.Objective`) - neither the largest estimated ratio, which
favours rare lucky events, nor the largest accuracy, which favours guessing always.
At delta = 0 one event is not always the best test. Where many levels of confidence tell, guesses are weighted by level
(`bounds.weighted`) if that is predicted to certify more. Otherwise, where the selection trials may be wrong about a
learned score, three further cuts at fixed shares of its guesses have a tenth of the significance each
(`bounds.binomial`), unless all together are predicted to certify clearly less than the main one alone: a bound sits
about z(alpha)/sqrt(information) below the truth, and z(.7 alpha) is a tenth more, little for a clear violation and all
there is of a weak one. Cuts, weights and shares are fixed before the first certifying trial.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.evidence.attack import Attack, bounded, carry, different, Side, usable
from dpverify.evidence.predicted_bound import calibrate, Calibration, CapPrior, KNOWN, Objective
from dpverify.evidence.scores.histogram import OddsPosterior
from dpverify.evidence.scores.model_selection import Calibrated, fit_score, Fitted, information, WEAK
from dpverify.evidence.scores.score import FloatArray, Score
from dpverify.evidence.tally import Tally
from dpverify.trials.collect import Experiment, select

# ----------------------------------------------------------------------------------------------------------------------
# How often guesses beyond a cut are right: a posterior from the selection trials, by held-out values of the score.


ERRORS_APART = 3.0  # standard errors by which the sides must differ to be calibrated apart
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
        return bool(abs(excess[0] - excess[1]) > ERRORS_APART * np.sqrt(sum(variance)))


# ----------------------------------------------------------------------------------------------------------------------


LEVELS = 24  # cuts at which guesses are counted for plots, besides those that certify
CUTS = 96  # candidate cuts, geometric in the share of trials beyond them
ATOM = 0.01  # a value held by this share of the selection trials is a candidate cut of its own
FEWEST = 3  # selection trials beyond a candidate cut
FURTHER = (1, 1 / 4, 1 / 16, 1 / 64, 1 / 256)  # of all guesses lie beyond a further cut; the first that are apart count
PARTS, FURTHER_CUTS = 10, 3  # each further cut has one part of the significance; the main cut has the rest
LARGEST = 8  # weight of a level: finer ones gain nothing
WORTH_IT = 0.01  # relative gain in the predicted bound for which levels are weighted
MOST_WEIGHTED = 10**8  # trials: above, the exact law of weighted sums (of length sqrt(trials)) takes too much memory
APART = 4**0.3  # ratio of the shares beyond two cuts, at least
PRICE = 0.05  # share of its predicted bound that the main cut may give up for further ones
Ends = npt.NDArray[np.int64]


def choose_event(fitted: Fitted, first: npt.NDArray[np.bool_], trials: int, objective: Objective) -> Attack:
    """The attack with the largest predicted bound on `trials` certifying trials, among scores and sides."""
    found = [
        _best_event(HeldOut.of(each, first, objective.prior), trials, objective, side)
        for each in (fitted, *fitted.challengers)
        for side in objective.sides
    ]
    return max(found, key=lambda each: each[0])[1]


def _best_event(held_out: HeldOut, trials: int, objective: Objective, side: Side) -> tuple[float, Attack]:
    """The predicted bound of the best main cut, and the attack with this and the further cuts."""
    score, orientation, total = held_out.score, held_out.orientation, len(held_out.values)
    if side is Side.ALWAYS:
        return _always(held_out, trials, objective)
    one_sided = side in (Side.FIRST, Side.SECOND)
    confidence, _ = held_out.guesses(side)
    ends = _candidate_ends(confidence, total)
    if len(ends) == 0:  # the score never says anything: guess nothing
        return 0.0, Attack(score, np.array([np.inf]), 1, side, orientation, Tally.of(0, 0, trials, one_sided=one_sided))
    accuracy, weights = held_out.accuracy(side, ends)
    guesses = ends / total * trials
    bounds = objective.mean_bound(accuracy * guesses, (1 - accuracy) * guesses, trials, side)
    worth = objective.worth(bounds, weights)
    # where no event is predicted to certify anything, all guesses: what they would still detect is smallest
    main = int(np.argmax(worth)) if worth.max() > 0 else len(ends) - 1
    learned = held_out.calibrated is Calibrated.LEARNED  # what is known needs one event only
    places = [main, *(_further(ends, main) if objective.pure and learned else [])]
    parts = np.array([PARTS + 1 - len(places), *[1] * (len(places) - 1)])
    right = accuracy[:, places] * guesses[places]
    several = objective.mean_bound(right, guesses[places] - right, trials, side, share=parts / PARTS).max(axis=1)
    if objective.worth(np.column_stack([bounds, several]), weights)[-1] < (1 - PRICE) * worth[main]:
        places, parts = places[:1], np.array([PARTS])

    kept = np.union1d(np.linspace(0, len(ends) - 1, LEVELS).astype(int), places)
    hits = float(weights @ right[:, 0])
    expected = Tally.of(math.floor(hits), round(guesses[main] - hits), trials, one_sided=one_sided)
    levels = (np.searchsorted(kept, places) + 1).tolist()
    shares = tuple(zip(levels, (parts / PARTS).tolist(), strict=True))
    heavier: tuple[int, ...] = ()
    if objective.pure and trials <= MOST_WEIGHTED:
        heavier = _weights(accuracy[:, kept] * guesses[kept], guesses[kept], levels[0], weights, objective)
    attack = Attack(score, held_out.cuts(ends[kept], side), levels[0], side, orientation, expected, shares, heavier)
    return float(weights @ bounds[:, main]), attack


def _weights(
    right: FloatArray, guesses: FloatArray, event: int, weights: FloatArray, objective: Objective
) -> tuple[int, ...]:
    """Whole weights of the levels that are predicted to certify more than the event alone; empty where none are.

    Near (log odds of a right guess - eps0)^+, capped, for a few eps0 below the predicted bound: optimal against eps0
    (doubly censored likelihood ratio; Huber, Strassen 1973). `right` (curves, levels), `guesses` (levels,): expected
    beyond each cut; `weights` (curves,).
    """
    hits, sizes = np.diff(right, prepend=0.0), np.diff(guesses, prepend=0.0)
    alone = (np.arange(len(sizes)) < event).astype(float)
    bound = float(weights @ objective.weighted_bound(alone, hits, sizes))
    odds = np.log((weights @ hits + 0.5) / (sizes - weights @ hits + 0.5))
    found = [alone]
    for cap in np.unique(odds[odds > 0]):
        excess = [np.maximum(np.minimum(odds, cap) - share * bound, 0.0) for share in (0.5, 0.75, 0.9, 1.0)]
        found += [np.rint(LARGEST * each / each.max()) for each in excess if each.max() > 0]
    bounds = np.column_stack([objective.weighted_bound(each, hits, sizes) for each in found])
    worth = objective.worth(bounds, weights)
    best = int(np.argmax(worth))
    return tuple(found[best].astype(int).tolist()) if worth[best] > (1 + WORTH_IT) * worth[0] else ()


def _further(ends: Ends, main: int) -> list[int]:
    """Places of the further cuts among the candidates: those nearest to the wanted shares of all guesses."""
    places = [main]
    for share in FURTHER:
        off = np.abs(np.log(ends / (share * ends[-1])))
        place = int(np.argmin(off))
        apart = np.abs(np.log(ends[place] / ends[places])) > np.log(APART)
        if off[place] < np.log(2) and apart.all() and len(places) <= FURTHER_CUTS:
            places.append(place)
    return places[1:]


def _always(held_out: HeldOut, trials: int, objective: Objective) -> tuple[float, Attack]:
    """The rule that guesses in every trial; outputs with score 0 are guessed right half of the time."""
    confidence, _ = held_out.guesses(Side.BOTH)
    share, weights = np.full(1, 0.5), np.ones(1)
    if len(confidence):
        accuracy, weights = held_out.accuracy(Side.BOTH, np.array([len(confidence)]))
        decided = len(confidence) / len(held_out.values)
        share = accuracy[:, 0] * decided + (1 - decided) / 2
    predicted = float(weights @ objective.mean_bound(share * trials, (1 - share) * trials, trials, Side.ALWAYS))
    right = int(float(weights @ share) * trials)
    expected = Tally.of(right, trials - right, trials)
    return predicted, Attack(held_out.score, np.zeros(1), 1, Side.ALWAYS, held_out.orientation, expected)


def _candidate_ends(confidence: FloatArray, total: int) -> Ends:
    """Numbers of most confident guesses at which a cut may lie: between two different values only."""
    if len(confidence) == 0:
        return np.zeros(0, np.int64)
    ends = np.r_[np.nonzero(different(confidence))[0] + 1, len(confidence)]
    enough = ends[ends >= min(FEWEST, len(confidence))]
    atoms = ends[np.diff(ends, prepend=0) >= ATOM * total]
    wanted = np.geomspace(min(FEWEST, len(confidence)), len(confidence), CUTS)
    spread = enough[np.minimum(np.searchsorted(enough, wanted), len(enough) - 1)]
    return np.unique(np.r_[spread, atoms])


# ----------------------------------------------------------------------------------------------------------------------
# How many trials choose, how many certify, and the attack that is learned from those that choose.


@dataclass(frozen=True)
class _Budget:
    """How many trials choose and how many certify."""

    selection: int
    estimation: int


WIDE = 5  # coordinates: more have more to learn
EXACT_SELECTION = 1 << 16  # with the exact score these come on top: they only place the cut
MOST_SELECTION, MOST_ITEMS = 1 << 19, 1 << 24  # trials, and what memory allows of their coordinates
SECOND_LOOK, MOST_MORE = 0.4, 150_000  # share of all trials that learn where fewer show little; more learn for too long
WORTHWHILE = 1.5  # times the selection trials before, at least, for learning once more


def budgets(trials: int, items: int, *, exact: bool, pure: bool) -> list[_Budget]:
    """How trials with `items` coordinates are split, and how where the first split shows little (`WEAK`).

    With the exact score nothing is learned about the target, so all trials certify, and as many draws
    (at most 2^16) more place the cut. Learned scores take 30 % of up to 2,000 trials; of more, 20 % up to 10^4 or with
    more than five coordinates, and 10 % otherwise (measured: the loss by selecting less outweighs the gain in
    certifying trials below, and the other way round above). Where the first split shows little (`WEAK`), learning is
    extended to 40 %, at delta = 0 or with more than five coordinates. With few coordinates and delta > 0 it is not:
    what can be seen there lies in a tail, and certifying it needs the trials.
    """
    most = max(64, MOST_ITEMS // max(1, items))
    if exact:
        return [_Budget(min(trials, EXACT_SELECTION, most), trials)]
    share = 0.3 if trials <= 2_000 else 0.2 if trials <= 10_000 or items > WIDE else 0.1
    selection, more = min(int(share * trials), MOST_SELECTION, most), min(int(SECOND_LOOK * trials), MOST_MORE, most)
    again = (pure or items > WIDE) and more >= WORTHWHILE * selection
    return [_Budget(each, trials - each) for each in ([selection, more] if again else [selection])]


def learn(
    experiment: Experiment,
    trials: int,
    objective: Objective,
    score: str = "auto",
    *,
    exact: bool = False,
    jobs: int = 1,
    backend: str = "loky",
) -> tuple[_Budget, Attack]:
    """How `trials` are split, and the attack that the selection trials recommend for the certifying ones.

    A second look is at a longer prefix of the same selection trials; no certifying trial was drawn before.
    """
    for budget in budgets(trials, experiment.form.items, exact=exact, pure=objective.pure):
        probe = select(experiment, budget.selection, jobs=jobs, backend=backend)
        fitted = fit_score(score, experiment.target, experiment.pair, probe)
        if information(fitted.values, probe.first) >= WEAK:
            break
    return budget, choose_event(fitted, probe.first, budget.estimation, objective)
