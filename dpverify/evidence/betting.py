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

import numpy as np
import scipy
from scipy import special

from dpverify.base import require
from dpverify.errors import ParameterError
from dpverify.evidence.bounds.binomial_tails import log10_up, SMALLEST
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
