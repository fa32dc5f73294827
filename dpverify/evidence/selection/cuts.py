"""Which event is guessed on: chosen on the selection trials, for a score that they have fitted.

The cut is chosen by the *predicted certified bound* - neither the point estimate of the ratio, which favours
rare lucky events, nor the accuracy, which favours guessing always - averaged over what the selection trials
leave open.
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dpverify.evidence.attack import Attack, bounded, different, Side
from dpverify.evidence.scores.model_selection import Calibrated, Fitted
from dpverify.evidence.scores.score import FloatArray
from dpverify.evidence.selection.held_out import HeldOut
from dpverify.evidence.selection.predicted_bound import Objective
from dpverify.evidence.selection.significance_shares import bounds_of_parts, regret, shared
from dpverify.evidence.tally import Tally

LEVELS = 24  # cuts at which guesses are counted, besides the event's
CUTS = 96  # candidate cuts, geometric in the share of trials beyond them
ATOM = 0.01  # a value held by this share of the selection trials is a candidate cut of its own
FEWEST = 3  # selection trials beyond a candidate cut
SCENARIOS, DRAWN_SCENARIOS = 5, 20  # posterior curves, or equally likely draws, under which tests are compared


def choose(fitted: Fitted, first: npt.NDArray[np.bool_], trials: int, objective: Objective) -> Attack:
    """The attack with the largest predicted bound on `trials` certifying trials, among the objective's sides."""
    return max((_best_side(each, first, trials, objective) for each in (fitted, *fitted.challengers)), key=_promise)[1]


def _promise(candidate: tuple[float, Attack]) -> float:
    return candidate[0]


def _best_side(fitted: Fitted, first: npt.NDArray[np.bool_], trials: int, objective: Objective) -> tuple[float, Attack]:
    """The best predicted bound, and its attack."""
    # a learned score knows its sign: held-out values that point the other way are noise
    agreement = np.where(first, fitted.values, -fitted.values)
    orientation = -1 if fitted.calibrated is Calibrated.KNOWN and bounded(agreement).sum() < 0 else 1
    values = orientation * fitted.values
    scale = values if fitted.scale is None else orientation * fitted.scale
    if fitted.posterior is not None:
        values = scale  # the posterior knows what is luck: no need to hold trials out
        # its draws differ by far more than curves, and the worst of them are insured against
        objective = replace(objective, least_regret=False)
    held_out = HeldOut(
        fitted.score, values, scale, first, orientation, fitted.calibrated, objective.prior, fitted.posterior
    )
    best: tuple[float, Attack] | None = None
    for side in objective.sides:
        predicted, attack = _best_event(held_out, trials, objective, side)
        if best is None or predicted > best[0]:
            best = predicted, attack
    assert best is not None
    return best


def _best_event(held_out: HeldOut, trials: int, objective: Objective, side: Side) -> tuple[float, Attack]:
    one_sided = side in (Side.FIRST, Side.SECOND)
    if side is Side.ALWAYS:
        return _always(held_out, trials, objective)
    confidence, _ = held_out.guesses(side)
    total = len(held_out.values)
    ends = _candidate_ends(confidence, total)
    if len(ends) == 0:  # the score never says anything: guess nothing
        nothing = Tally.of(0, 0, trials, one_sided=one_sided)
        return 0.0, Attack(held_out.score, np.array([np.inf]), 1, side, held_out.orientation, nothing)
    mean_right, weights = held_out.accuracy(side, ends)
    guesses = ends / total * trials
    gains = objective.gain(mean_right * guesses, (1 - mean_right) * guesses, trials, side)
    pick = int(np.argmax(objective.worth(gains, weights)))

    kept = np.union1d(np.linspace(0, len(ends) - 1, LEVELS).astype(int), [pick])
    cuts = held_out.cuts(ends[kept], side)
    event = int(np.searchsorted(kept, pick)) + 1

    def tally(share_right: FloatArray) -> Tally:
        return _whole(share_right * guesses[kept], (1 - share_right) * guesses[kept], trials, one_sided)

    expected = tally(weights @ mean_right[:, kept])
    likely = np.argsort(-weights, kind="stable")[: SCENARIOS if held_out.posterior is None else DRAWN_SCENARIOS]
    shares = weights[likely] / weights[likely].sum()
    scenarios = tuple((float(w), tally(mean_right[k, kept])) for w, k in zip(shares, likely, strict=True))
    promise = float(weights @ gains[:, pick])
    attack = Attack(held_out.score, cuts, event, side, held_out.orientation, expected, scenarios)
    if objective.shares_significance and held_out.uncertain:
        draws = held_out.draws(side, ends[kept], mean_right[:, kept], weights) * trials / total
        promised = bounds_of_parts(draws, guesses[kept], trials, side, objective)
        parts = shared(promised, event - 1, least_regret=objective.least_regret)
        shares = tuple((level + 1, float(share)) for level, share in enumerate(parts) if share > 0)
        attack = replace(attack, shares=shares, regret=regret(promised, event - 1))
    return promise, attack


def _whole(right: FloatArray, wrong: FloatArray, trials: int, one_sided: bool) -> Tally:
    """Whole counts by level whose running totals are the given ones.

    Rounding level by level would lose the rare wrong guesses, and with them the price of every level.
    """
    right, wrong = np.maximum.accumulate(right), np.maximum.accumulate(wrong)  # each judged by its own counts
    down, up = np.diff(np.floor(right), prepend=0.0), np.diff(np.rint(wrong), prepend=0.0)
    return Tally(trials, down.astype(np.int64), up.astype(np.int64), one_sided)


def _always(held_out: HeldOut, trials: int, objective: Objective) -> tuple[float, Attack]:
    """The rule that guesses in every trial; outputs with score 0 are guessed right half of the time."""
    confidence, _ = held_out.guesses(Side.BOTH)
    share, weights = np.full(1, 0.5), np.ones(1)
    if len(confidence):
        accuracy, weights = held_out.accuracy(Side.BOTH, np.array([len(confidence)]))
        decided = len(confidence) / len(held_out.values)
        share = accuracy[:, 0] * decided + (1 - decided) / 2
    predicted = float(weights @ objective.gain(share * trials, (1 - share) * trials, trials, Side.ALWAYS))
    right = int(float(weights @ share) * trials)
    expected = Tally.of(right, trials - right, trials)
    return predicted, Attack(held_out.score, np.zeros(1), 1, Side.ALWAYS, held_out.orientation, expected)


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
