"""What a sequential run refutes at best, and when to give up: plans by approximation, no bounds.

A guess made in a fraction f of the trials is right with probability theta; the growth-optimal stake against
H0(eps, delta) multiplies the wealth by a = 1 + lambda - s, b = 1 - lambda rho - s or 1 - s (see `sequential`).
After n trials the log wealth has mean n g and variance n v with g, v the mean and variance of the log factor.
Taken as a Brownian motion, it first passes c = log 1/significance + regret by trial n with probability
    Phi((n g - c)/sqrt(n v)) + exp(2 g c/v) Phi(-(n g + c)/sqrt(n v))      (inverse Gaussian law; Wald 1947).
The regret is what the rest of the capital costs, and learning; looks lie LOOK apart, so a passage is seen late.

Planned trials for 95 % power over simulated ones, claim eps = 1 at 0.05. Exact score, guesses in all trials: 0.98,
1.04, 0.95 at true eps 1.25, 1.5, 2. Learned score, geometric noise: 1.11, 1.00 at 1.25 and 2.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.evidence.attack import Attack, bounded, carry, Side, usable
from dpverify.evidence.bounds import binomial_tails
from dpverify.evidence.bounds.binomial_tails import least_reached
from dpverify.evidence.predicted_bound import calibrate, CapPrior
from dpverify.evidence.scores.histogram import HistogramScore
from dpverify.evidence.scores.model_selection import Fitted
from dpverify.evidence.scores.score import FloatArray
from dpverify.evidence.tally import Tally

# How `auditing.sequential` plays.
FIRST_LOOK = 10  # trials
LOOK = 1.04  # each look has this many times the trials of the one before
FIRST_FIT = 24  # trials after which a first score is learned; nothing is staked before
FOLLOWING_EXACT, FOLLOWING_LEARNED = 0.8, 0.6  # share of the capital that follows predictions: exact ones are known

LEARNING = 1.5  # log wealth that is lost while predictions are learned; measured on geometric noise
SURE = 1e-3  # futility: probability with which a level's accuracy may be underestimated
LARGEST_EPS = 500.0


def growth(right: float, guess_fraction: float, eps: float, slack: float) -> tuple[float, float]:
    """Mean and variance of the log factor a trial, with the growth-optimal stake; (0, 0) where none pays."""
    rho = math.exp(eps)
    wrong = 1 - right
    # maximise f (right log(1 + l (1 - d)) + wrong log(1 - l (rho + d))) + (1 - f) log(1 - l d) on a grid
    stake = np.linspace(0.0, 0.95, 400) / (rho + slack)
    logs = np.log1p(stake * (1 - slack)), np.log1p(-stake * (rho + slack)), np.log1p(-stake * slack)
    law = guess_fraction * right, guess_fraction * wrong, 1 - guess_fraction
    mean = law[0] * logs[0] + law[1] * logs[1] + law[2] * logs[2]
    best = int(np.argmax(mean))
    second = sum(p * log[best] ** 2 for p, log in zip(law, logs, strict=True))
    return float(mean[best]), float(second - mean[best] ** 2)


def sequential_detectable_eps(
    *,
    trials: int,
    guess_fraction: float,
    claim_eps: float,
    delta: float,
    significance: float,
    power: float,
    exact: bool = False,
) -> float:
    """Smallest true eps refuted at `claim_eps` within `trials` with about the given power; inf when none is.

    Model as in `power.fixed_sample`: the bound is attained on the guessed mass. `exact`: the score is known.
    """
    if not guess_fraction > 0:
        return math.inf

    def caught(eps: float) -> bool:
        moments = growth(_accuracy(eps, guess_fraction, delta), guess_fraction, claim_eps, delta)
        return _passed(trials, *moments, significance, exact) >= power

    return least_reached(caught, claim_eps, 2 * claim_eps + 0.1, most=LARGEST_EPS)


def sequential_trials_needed(
    *,
    true_eps: float,
    guess_fraction: float,
    claim_eps: float,
    delta: float,
    significance: float,
    power: float,
    exact: bool = False,
) -> float:
    """About how many trials refute a true eps at `claim_eps` with the given power; inf when none do."""
    mean, variance = growth(_accuracy(true_eps, guess_fraction, delta), guess_fraction, claim_eps, delta)
    if not mean > 0:
        return math.inf

    def caught(trials: float) -> bool:
        return _passed(trials, mean, variance, significance, exact) >= power

    return math.ceil(least_reached(caught, 0.0, 1.0))


def expected_trials(
    *, true_eps: float, guess_fraction: float, claim_eps: float, delta: float, significance: float, exact: bool = False
) -> float:
    """About the mean number of trials until a true eps is refuted at `claim_eps` (Wald); inf when never."""
    mean, _ = growth(_accuracy(true_eps, guess_fraction, delta), guess_fraction, claim_eps, delta)
    return LOOK * _goal(significance, exact) / mean + _idle(exact) if mean > 0 else math.inf


def _goal(significance: float, exact: bool) -> float:
    """Log wealth, of the optimal gambler, at which the claim falls."""
    regret = -math.log(FOLLOWING_EXACT) if exact else LEARNING - math.log(FOLLOWING_LEARNED)
    return regret - math.log(significance)


def _idle(exact: bool) -> float:
    """Trials without a stake, or after the last look."""
    return FIRST_LOOK / 2 + (0 if exact else FIRST_FIT)


def _passed(trials: float, mean: float, variance: float, significance: float, exact: bool) -> float:
    """Probability that the log wealth has been seen beyond its goal by trial `trials`."""
    played, goal = (trials - _idle(exact)) / LOOK, _goal(significance, exact)
    if not (played > 0 and mean > 0):
        return 0.0
    if variance <= 1e-12 * mean**2:  # every guess is right: nothing is left to luck, but for rounding
        return float(played * mean >= goal)
    spread = math.sqrt(played * variance)
    returned = 2 * mean * goal / variance + float(special.log_ndtr(-(played * mean + goal) / spread))
    return float(special.ndtr((played * mean - goal) / spread)) + math.exp(min(returned, 0.0))


def _accuracy(eps: float, guess_fraction: float, delta: float) -> float:
    """Pr[a guess is right] where the bound of (eps, delta)-DP is attained on the guessed mass."""
    kappa = min(1.0, delta / guess_fraction)
    return float(special.expit(eps)) * (1 - kappa) + kappa


def futile(tally: Tally, log_wealth: float, left: int, claim_eps: float, delta: float, significance: float) -> bool:
    """True when `left` more trials are most unlikely to refute, however many levels are played.

    Each prefix of levels is given the upper Clopper-Pearson limit of its accuracy at SURE, and two standard
    deviations of luck. Stopping on this costs power only: a test may stop for any reason.
    """
    needed = -math.log(significance) - max(log_wealth, 0.0)
    right, wrong = np.cumsum(tally.right), np.cumsum(tally.wrong)
    for v, w in zip(right.tolist(), wrong.tolist(), strict=True):
        if v + w == 0:
            return False
        mean, variance = growth(
            1 - binomial_tails.clopper_pearson_lower(w, v + w, SURE), (v + w) / tally.trials, claim_eps, delta
        )
        if left * mean + 2 * math.sqrt(left * variance) >= needed:
            return False
    return True


# ----------------------------------------------------------------------------------------------------------------------
# A rule for sequential audits: levels by rank, and how often a guess on each is expected to be right.
#
# Level k holds the guesses between the most confident shares 2^-(LEVELS - k) and 2^-(LEVELS - 1 - k) of all: every
# score has the same levels, so counts from before and after a refit add up to something that means the same.


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
