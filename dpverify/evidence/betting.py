"""Anytime-valid evidence: a wager against H0(eps, delta) that may be stopped whenever one likes.

In a trial a guess made with stake lambda multiplies the wealth by
    1 + lambda - s   if right,      1 - lambda rho - s   if wrong,      1 - s   without a guess,
with rho = e^eps and s = d max lambda, d the slack a trial (delta, or delta/2 for a one-sided rule).
Under H0 the events with stake above any t obey Pr[right] <= rho Pr[wrong] + d; integrating over t gives a
mean factor of at most 1, so long as stakes are settled before the trial. The wealth is then a
nonnegative supermartingale, and Pr[it ever reaches 1/alpha] <= alpha (Ville 1939).

Part of the capital is spread over fixed stakes on the most confident levels (robust), the rest follows
predictions (fast). Wealth is read at the end of each block, which is one more way of stopping.

How capital is shared out is settled before the first trial, so it moves power and never validity. Chosen on geometric
noise, true eps 1.25 and 2, and Gaussian noise, true (2, 1e-5), against a claimed eps = 1, seeds from 1000 on.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy
from scipy import special

from dpverify.base import require
from dpverify.errors import ParameterError
from dpverify.evidence.attack import Attack, bounded, carry, Side, usable
from dpverify.evidence.bounds import binomial_tails
from dpverify.evidence.bounds.binomial_tails import least_reached, log10_up, SMALLEST
from dpverify.evidence.predicted_bound import calibrate, CapPrior
from dpverify.evidence.scores.histogram import HistogramScore
from dpverify.evidence.scores.model_selection import Fitted
from dpverify.evidence.scores.score import FloatArray
from dpverify.evidence.tally import Tally

_RATIO = 1.5  # between neighbouring fixed stakes: at most 5 % of the growth is lost in between
_STAKES = 36  # fixed stakes, down to about 5e-7
_NEAR, _NEAR_SHARE = 0.05, 0.75  # share of the fixed stakes' capital on the largest ones, down to _NEAR of the largest
_WHOLE = 0.5  # share of the fixed stakes' capital on all levels together: most pure mechanisms say as much everywhere
_CAUTION = 0.95  # share of the largest allowed stake that a prediction may use
_LARGEST_LOG = 700.0
_RUIN = -1e300  # log of nothing left: a number, so that no wrong guess costs nothing
_UNDERFLOW = -708.0  # exp is ten times slower below, and what it says is lost beside the largest term, 1
_PRIOR = 4.0  # guesses that a level is assumed to have seen at the claim's own accuracy


def eps_grid(claim_eps: float) -> FloatArray:
    """0, every 5 % from 0.01 to 12, the claimed eps, and a point just above it, which decides."""
    return np.unique([0.0, claim_eps, claim_eps * (1 + 1e-6), *np.geomspace(0.01, 12.0, 146)])


class EProcess:
    """Wealth against H0(eps, delta) for the claimed eps, and for each eps of a fixed grid.

    levels      how many levels of confidence the rule has, most confident first
    predictive  share of the capital that follows predictions, in [0, 1)
    grid        values of eps for `eps_lower`; the claimed one is added

    The rule (score, levels) may change between blocks, as long as it is settled before each block.
    Raises ParameterError for numbers outside their ranges.
    """

    def __init__(
        self,
        *,
        claim_eps: float,
        delta: float,
        levels: int = 1,
        one_sided: bool = False,
        predictive: float = 0.5,
        grid: Sequence[float] | FloatArray | None = None,
    ) -> None:
        require.non_negative(claim_eps=claim_eps)
        require.delta(delta=delta)
        require.integer(at_least=1, levels=levels)
        require.probability(predictive=predictive)
        if predictive == 1:
            raise ParameterError("predictive", predictive, "in [0, 1)")
        points = eps_grid(claim_eps) if grid is None else np.unique(np.append(np.asarray(grid, float), claim_eps))
        if not (np.isfinite(points).all() and points[0] >= 0):
            raise ParameterError("grid", grid, "finite numbers >= 0")
        self._grid = points
        self._claimed = int(np.searchsorted(points, claim_eps))
        self._d = delta / 2 if one_sided else delta
        self._one_sided = one_sided
        self._predictive = predictive
        self._right = np.zeros(levels, np.int64)
        self._wrong = np.zeros(levels, np.int64)
        self._trials = 0
        self._log_followed = np.zeros(points.size)
        self._stakes, self._log_weights = _fixed_stakes(math.exp(claim_eps), self._d)
        shares = np.full(levels, (1 - _WHOLE) / levels)
        shares[-1] += _WHOLE
        self._log_shares = np.log(shares)[:, None, None]
        left = 1 - self._stakes * (np.exp(points)[:, None] + self._d)  # after a wrong guess; shape (grid, stakes)
        with np.errstate(divide="ignore"):
            self._log_left = np.maximum(np.log(np.maximum(left, 0.0)), _RUIN)
        self._log_played = np.where(left >= 0, self._log_weights, -np.inf)
        self._log_wealth = np.zeros(points.size)
        self._log_highest = np.zeros(points.size)

    @property
    def trials(self) -> int:
        """Trials so far, all blocks together."""
        return self._trials

    @property
    def log_wealth(self) -> float:
        """Current log wealth against the claimed eps; 0 at the start."""
        return float(self._log_wealth[self._claimed])

    @property
    def p_value(self) -> float:
        """1 / largest wealth so far against the claimed eps: a p-value at any time of stopping (Ville). Never 0."""
        return max(math.exp(-float(self._log_highest[self._claimed])), SMALLEST)

    @property
    def log10_p_value(self) -> float:
        """Decimal logarithm of the p-value, from above; finite also where the p-value is below all doubles."""
        return log10_up(-float(self._log_highest[self._claimed]))

    @property
    def e_value(self) -> float:
        """Current wealth against the claimed eps, mean at most 1 under it at any time of stopping; not the largest.

        Rounded down to what a double can hold.
        """
        return math.exp(min(self.log_wealth, _LARGEST_LOG))

    @property
    def predicted(self) -> FloatArray:
        """Probability of a right guess on each level as learned from past blocks, shape (levels,).

        Shares of right guesses, pooled where they would rise towards the less confident levels (isotonic
        regression), from a start at the claim's own accuracy, where nothing is staked.
        """
        guesses = self._right + self._wrong + _PRIOR
        share = (self._right + _PRIOR * special.expit(self._grid[self._claimed])) / guesses
        falling = scipy.optimize.isotonic_regression(share, weights=guesses, increasing=False)
        return np.asarray(falling.x, dtype=np.float64)

    def update(self, block: Tally, *, predicted: Sequence[float] | FloatArray | None = None) -> None:
        """Adds a block of trials.

        `predicted`, shape (levels,), is the probability of a right guess on each level; it must have been
        known before the block's coins. None takes what past blocks show (`self.predicted`).
        """
        if block.right.shape != self._right.shape or block.one_sided != self._one_sided:
            raise ParameterError("block", block, f"a tally with {self._right.size} levels of the same rule")
        accuracy = self.predicted if predicted is None else np.asarray(predicted, float)
        if accuracy.shape != self._right.shape or not ((accuracy >= 0) & (accuracy <= 1)).all():
            raise ParameterError("predicted", predicted, f"{self._right.size} probabilities")
        self._log_followed += self._followed(block, accuracy)
        self._right, self._wrong = self._right + block.right, self._wrong + block.wrong
        self._trials += block.trials
        fixed = math.log1p(-self._predictive) + self._mixture()
        followed = math.log(self._predictive) + self._log_followed if self._predictive else -np.inf
        self._log_wealth = np.logaddexp(fixed, followed)
        self._log_highest = np.maximum(self._log_highest, self._log_wealth)

    def refuted(self, significance: float) -> bool:
        """True once the wealth against the claimed eps has reached 1/significance; error <= significance."""
        require.open_unit(significance=significance)
        return bool(self._log_highest[self._claimed] >= -math.log(significance))

    def eps_lower(self, significance: float) -> float:
        """Lower end of a confidence sequence: valid at all times at once, on the grid.

        The largest grid value such that it and all smaller ones have been refuted, 0.0 if none. It exceeds
        the true eps only if the smallest grid value above the truth, a true hypothesis, was refuted.
        """
        require.open_unit(significance=significance)
        standing = np.flatnonzero(self._log_highest < -math.log(significance))
        count = int(standing[0]) if standing.size else self._grid.size
        return float(self._grid[count - 1]) if count else 0.0

    def _followed(self, block: Tally, accuracy: FloatArray) -> FloatArray:
        """Log growth of the predictive half in this block, at each grid eps.

        The growth-optimal stake is theta/(rho + d), theta = 1 - (1 - accuracy)(1 + rho), none where that is
        negative.
        """
        rho = np.exp(self._grid)[:, None]
        theta = np.clip(1 - (1 - accuracy) * (1 + rho), 0.0, _CAUTION)
        stake = theta / (rho + self._d)
        paid = self._d * stake.max(axis=1, keepdims=True)
        idle = block.trials - block.guesses
        gained = np.log1p(stake - paid) @ block.right + np.log1p(-stake * rho - paid) @ block.wrong
        return np.asarray(gained + idle * np.log1p(-paid[:, 0]), dtype=np.float64)

    def _mixture(self) -> FloatArray:
        """Log wealth of the fixed stakes on the first k levels, all stakes and k together; falls with eps.

        Closed form in the counts so far. A stake above 1/(rho + d) would risk more than it has: its share of
        the capital is given up against that eps, which keeps the wealth falling with eps.
        """
        right, wrong = np.cumsum(self._right)[:, None, None], np.cumsum(self._wrong)[:, None, None]
        idle = self._trials - right - wrong
        gained = right * np.log1p(self._stakes * (1 - self._d)) + idle * np.log1p(-self._stakes * self._d)
        log = wrong * self._log_left  # in place from here: most of an audit's arithmetic
        log += self._log_played
        log += gained + self._log_shares
        most = log.max(axis=(0, 2))
        some = most >= _RUIN  # no stake is small enough for the largest eps
        log -= np.where(some, most, 0.0)[:, None]
        np.maximum(log, _UNDERFLOW, out=log)
        np.exp(log, out=log)
        return np.where(some, most + np.log(log.sum(axis=(0, 2))), -np.inf)


def _fixed_stakes(rho: float, d: float) -> tuple[FloatArray, FloatArray]:
    """Stakes 1/(1 + d), each 1.5 times the next, and log weights.

    A quarter of the weight is even; the rest lies on the stakes between 1/20 of and the largest one allowed
    against the claim. Stakes that do not depend on eps make the wealth fall with eps on every path.
    """
    stakes = np.append(_RATIO ** -np.arange(_STAKES, dtype=float) / (1 + d), 1 / (rho + d))
    near = (stakes <= 1 / (rho + d)) & (stakes >= _NEAR / (rho + d))
    weights = (1 - _NEAR_SHARE) / stakes.size + _NEAR_SHARE * near / near.sum()
    return stakes, np.log(weights)


# ----------------------------------------------------------------------------------------------------------------------
# What a sequential run refutes at best, and when to give up: plans by approximation, no bounds.
#
# A guess made in a fraction f of the trials is right with probability theta; the growth-optimal stake against
# H0(eps, delta) multiplies the wealth by a = 1 + lambda - s, b = 1 - lambda rho - s or 1 - s (see `sequential`).
# After n trials the log wealth has mean n g and variance n v with g, v the mean and variance of the log factor.
# Taken as a Brownian motion, it first passes c = log 1/significance + regret by trial n with probability
#     Phi((n g - c)/sqrt(n v)) + exp(2 g c/v) Phi(-(n g + c)/sqrt(n v))      (inverse Gaussian law; Wald 1947).
# The regret is what the rest of the capital costs, and learning; looks lie LOOK apart, so a passage is seen late.
#
# Planned trials for 95 % power over simulated ones, claim eps = 1 at 0.05. Exact score, guesses in all trials: 0.98,
# 1.04, 0.95 at true eps 1.25, 1.5, 2. Learned score, geometric noise: 1.11, 1.00 at 1.25 and 2.


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

    Model as in `lower_bound`: the bound is attained on the guessed mass. `exact`: the score is known.
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
