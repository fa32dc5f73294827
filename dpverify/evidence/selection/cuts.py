"""Beyond which cuts of a score a guess counts: chosen on the selection trials, before the certifying ones.

The main cut has the largest *predicted certified bound*, averaged over what the selection trials leave open (at
delta = 0 as a share of the best cut's: `predicted_bound.Objective`) - neither the largest estimated ratio, which
favours rare lucky events, nor the largest accuracy, which favours guessing always.
At delta = 0 one event is not always the best test. Where many levels of confidence tell, guesses are weighted by level
(`bounds.weighted`) if that is predicted to certify more. Otherwise, where the selection trials may be wrong about a
learned score, three further cuts at fixed shares of its guesses have a tenth of the significance each
(`bounds.bonferroni`), unless all together are predicted to certify clearly less than the main one alone: a bound sits
about z(alpha)/sqrt(information) below the truth, and z(.7 alpha) is a tenth more, little for a clear violation and all
there is of a weak one. Cuts, weights and shares are fixed before the first certifying trial.
"""

import math

import numpy as np
import numpy.typing as npt

from dpverify.evidence.attack import Attack, different, Side
from dpverify.evidence.scores.model_selection import Calibrated, Fitted
from dpverify.evidence.scores.score import FloatArray
from dpverify.evidence.selection.held_out import HeldOut
from dpverify.evidence.selection.predicted_bound import Objective
from dpverify.evidence.tally import Tally

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
