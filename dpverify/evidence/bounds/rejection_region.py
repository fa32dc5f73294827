"""Largest probability of a rejection region under a curved null, by a rigorous bound on cells.

n independent trials are each right with probability c, wrong with probability w, and abstain otherwise.
The null is c <= limit(w) with w in an interval. The region is monotone: with a point it contains every
point with more right and no more wrong guesses. Then its probability increases in c and decreases in w, so
on a cell [w0, w1] it is at most the one at w = w0 and c = max of the limit over the cell.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy
from scipy import special

from dpverify.claims.claim import Claim
from dpverify.evidence.bounds import binomial_tails
from dpverify.evidence.tally import IntArray

FloatArray = npt.NDArray[np.float64]
Limit = Callable[[FloatArray], FloatArray]

_TAIL = 1e-8  # mass of wrong counts outside the summed window, on either side; it is added back
_BLOCKS = 150  # the window is cut into at most so many blocks of wrong counts
_CELLS, _SPLIT, _ROUNDS = 32, 4, 3


@dataclass(frozen=True, eq=False)
class Region:
    """Rejection region of `trials` trials and the interval [low, high] of w on which the null is searched.

    wrong         shape (J,): block starts; block k is wrong[k] <= j < wrong[k + 1], the last one ends at `end`
    least_right   shape (J,), never decreasing: with j wrong guesses in block k the region is v >= least_right[k]
    Outcomes with j < wrong[0] or j >= end are counted as inside.
    """

    trials: int
    wrong: IntArray
    end: int
    least_right: IntArray
    low: float
    high: float

    def worst_probability(self, limit: Limit) -> float:
        """Upper bound on max{Pr[region] : low <= w <= high, c <= limit(w)}, tight to about 1 %.

        `limit(w)` is vectorised, at most 1 - w, and increasing up to where it meets 1 - w.
        Cells whose bound is below the probability at some null point are dropped, the others are split.
        """
        edges = np.linspace(self.low, self.high, _CELLS + 1)
        left, right = edges[:-1], edges[1:]
        for _ in range(_ROUNDS):
            mass, outside = self._wrong_law(left)
            bound = outside + (mass * self._tail(left, _largest_on_cell(limit, left, right))).sum(axis=1)
            reached = float((mass * self._tail(left, limit(left))).sum(axis=1).max())
            worst = max(reached, float(bound.max()))
            open_cells = bound > reached
            if worst <= 1.01 * reached or not open_cells.any():
                break
            steps = np.linspace(0, 1, _SPLIT + 1)
            edges = left[open_cells, None] + (right - left)[open_cells, None] * steps
            edges[:, -1] = right[open_cells]
            left, right = edges[:, :-1].ravel(), edges[:, 1:].ravel()
        return min(1.0, worst)

    def _wrong_law(self, wrong_rate: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mass of each block, shape (rates, J), and the mass outside all blocks, shape (rates,)."""
        n, w, j = self.trials, wrong_rate[:, None], self.wrong
        if self.end - j[0] == j.size:
            mass = scipy.stats.binom.pmf(j, n, w)
        else:
            mass = np.diff(scipy.stats.binom.cdf(np.append(j, self.end) - 1, n, w), axis=1)
        outside = scipy.stats.binom.sf(self.end - 1, n, wrong_rate) + scipy.stats.binom.cdf(j[0] - 1, n, wrong_rate)
        return np.asarray(mass), np.asarray(outside)

    def _tail(self, wrong_rate: FloatArray, right_rate: FloatArray) -> FloatArray:
        """Pr[Bin(n - j, c/(1 - w)) >= least_right], shape (rates, J); it falls with j, so j is a block's first."""
        rest, start = self.trials - self.wrong, np.maximum(self.least_right, 1)
        share = np.minimum(1.0, right_rate / (1 - wrong_rate))[:, None]
        tail = np.where(start <= rest, special.betainc(start, np.maximum(rest - start + 1, 1), share), 0.0)
        return np.where(self.least_right <= 0, 1.0, tail)


def wrong_interval(wrong: int, trials: int, level: float) -> tuple[float, float]:
    """Two-sided Clopper-Pearson interval of the rate of wrong guesses, error `level`."""
    return binomial_tails.clopper_pearson_lower(wrong, trials, level / 2), binomial_tails.clopper_pearson_upper(
        wrong, trials, level / 2
    )


def blocks(wrong: int, trials: int, low: float, high: float) -> tuple[IntArray, int]:
    """Block starts and the end of a window of wrong counts.

    It holds `wrong`, and for every rate in [low, high] all but 1e-8 of the law on either side.
    """
    first = max(0, int(scipy.stats.binom.ppf(_TAIL, trials, low))) if low > 0 else 0
    last = int(scipy.stats.binom.isf(_TAIL, trials, high)) + 1 if high < 1 else trials
    first, end = min(first, wrong), min(max(last, wrong), trials) + 1
    return np.arange(first, end, -(-(end - first) // _BLOCKS)), end


def smallest_true(predicate: Callable[[IntArray], npt.NDArray[np.bool_]], size: int, top: int) -> IntArray:
    """For each of `size` rows the smallest v in [0, top] with predicate(v), which is monotone; top + 1 if none."""
    low = np.full(size, -1, dtype=np.int64)
    high = np.full(size, top + 1, dtype=np.int64)
    while (high - low > 1).any():
        middle = (low + high) // 2
        true = predicate(middle)
        high, low = np.where(true, middle, high), np.where(true, low, middle)
    return high


def _largest_on_cell(limit: Limit, left: FloatArray, right: FloatArray) -> FloatArray:
    """Maximum over each cell: at the right end, or 1 - w at the left end where the limit is 1 - w."""
    at_right = limit(right)
    return np.asarray(np.where(at_right >= 1 - right - 1e-12, 1 - left, at_right), dtype=np.float64)


# ----------------------------------------------------------------------------------------------------------------------
# Null hypotheses as curves: the largest rate c of right guesses that w, the rate of wrong ones, allows.


def response_limit(eps: float, d: float) -> Limit:
    """w -> min(1 - w, e^eps w + d), attained by the pair "reveal, else randomised response"."""
    ratio = math.exp(min(eps, 700.0))
    return lambda wrong: np.minimum(1 - wrong, ratio * wrong + d)


def exact_limit(claim: Claim) -> Limit:
    """The claim's own limit, vectorised; each rate costs one call."""
    return lambda wrong: np.array([claim.accuracy_limit(float(w)) if w < 1 else 0.0 for w in wrong])


def curve_limit(claim: Claim, low: float, high: float, *, one_sided: bool) -> Limit:
    """Upper bound on c given w in [low, high], vectorised: a concave curve lies below its extended chords.

    Between two of about 60 nodes in and around the interval the bound is the lower one of the chords of the
    neighbouring intervals, extended. It is never below the claim's limit, and meets it at inner nodes.
    """
    if one_sided:
        low, high = 2 * low, min(1.0, 2 * high)
    margin = 0.1 * (high - low) + 1e-12
    start, reach = max(0.0, low - margin), min(1.0, high + margin)
    near_zero = np.geomspace(max(start, reach * 1e-8), reach, 30)
    nodes = np.unique(np.concatenate([np.linspace(start, reach, 30), near_zero]))
    value = exact_limit(claim)(nodes)
    slope = np.diff(value) / np.diff(nodes)
    last = slope.size - 1

    def above(wrong: FloatArray) -> FloatArray:
        i = np.clip(np.searchsorted(nodes, wrong, side="right") - 1, 0, last)
        left, right = np.maximum(i - 1, 0), np.minimum(i + 1, last)
        from_left = np.where(i > 0, value[i] + slope[left] * (wrong - nodes[i]), np.inf)
        from_right = np.where(i < last, value[right] + slope[right] * (wrong - nodes[right]), np.inf)
        bound = np.maximum(np.minimum(from_left, from_right), 0.0)  # a chord through the origin may round below it
        return np.asarray(np.minimum(1 - wrong, bound), dtype=np.float64)

    return scaled(above, one_sided)


def scaled(limit: Limit, one_sided: bool) -> Limit:
    """g for a two-sided rule; for a one-sided one P(E)/2 <= f(Q(E))/2, and f(q) = g(q) where g(q) < 1 - q.

    Where g is cut off nothing better than 1 - w is claimed.
    """
    if not one_sided:
        return limit

    def half(wrong: FloatArray) -> FloatArray:
        both = np.minimum(2 * wrong, 1.0)
        value = limit(both)
        return np.asarray(np.where(value < 1 - both - 1e-12, value / 2, 1 - wrong), dtype=np.float64)

    return half


def explained(limit: Limit, wrong: FloatArray) -> FloatArray:
    """The limit made increasing: 1 from where it is not below 1 - w."""
    value = limit(wrong)
    return np.asarray(np.where(value < 1 - wrong - 1e-12, value, 1.0), dtype=np.float64)
