"""Noisy counts -> consistent counts: the linear programme of the papers, solved exactly for a whole batch.

A cell is one (s, a) of one step of one trial: noisy n(s') for every s', a noisy total n of its own, and a
slack c >= 0. The programme (eq. (7) of the journal paper on SDP-PE; every paper of this family has it) is

    minimise t   subject to   |x(s') - n(s')| <= t,   x(s') >= 0   for all s',   |sum x - n| <= c.      (LP)

Its minimiser is not unique. We return the canonical one: **the Euclidean projection of n(.) onto
C = {x >= 0, |sum x - n| <= c}**, which is the minimiser of (LP) that is nearest to n(.) in l2.

Why it is optimal. Let P = sum max(n(s'), 0) and let T be P moved into [n - c, n + c], the nearest admissible
total. The projection is x = max(n(.) - theta, 0), theta with sum x = T (theta = 0 where T = P; KKT).
  T < P: theta > 0. Every x in C with |x - n| <= t has sum x >= sum max(n(.) - t, 0), which exceeds n + c for
         t < theta; and some n(s') < 0 forces t >= -n(s'). The projection moves n(s') by theta, by less than
         theta where it is cut at 0 from above, and by exactly -n(s') where n(s') < 0. So it attains the bound.
  T > P: theta < 0. A coordinate moves by -theta, or by -n(s') >= -theta where it is cut at 0. If one is cut,
         t >= -n(s') is forced; if none is, sum x <= sum (n(.) + t) forces t >= -theta.
  T = P: only negative coordinates move, each by the forced -n(s').
It is the l2-nearest point of all of C, hence of the optimal ones.

theta has a closed form: with n_(1) >= n_(2) >= ..., theta = max over k of (n_(1) + ... + n_(k) - T) / k.
One sort a cell, no iteration.

C is empty where n + c < 0. This happens off the good event. Fallback: T = 0, so x = 0: the least violation
of the total's constraint, and the limit of the feasible answers as n decreases to -c.

None of this touches data: post-processing cannot weaken a privacy guarantee.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.errors import ParameterError

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CellSolution:
    """Solution of (LP): `counts` (..., S), the optimal `radius` t (...), and where (LP) was `feasible` (...)."""

    counts: FloatArray
    radius: FloatArray
    feasible: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ProcessedCounts:
    """Released counts: `next_counts` (..., S) over s', `pair_counts` (...) their exact floating-point sum."""

    next_counts: FloatArray
    pair_counts: FloatArray


def solve_cells(next_noisy: npt.ArrayLike, pair_noisy: npt.ArrayLike, slack: float) -> CellSolution:
    """The canonical minimiser of (LP) for every cell; `next_noisy` (..., S), `pair_noisy` (...).

    Raises ParameterError for a slack < 0, for shapes that do not match and for NaN or infinite counts.
    """
    require.non_negative(slack=slack)
    noisy, total = _checked(next_noisy, pair_noisy)
    feasible = total + slack >= 0
    positive = np.maximum(noisy, 0.0)
    # numpy's clip applies the upper end last; where C is empty the upper end is raised to 0
    wanted = np.clip(positive.sum(axis=-1), total - slack, np.maximum(total + slack, 0.0))
    counts = np.maximum(noisy - _level(noisy, wanted)[..., None], 0.0)
    inside = wanted == positive.sum(axis=-1)  # nothing but the signs was wrong: keep these bits exactly
    counts[inside] = positive[inside]
    return CellSolution(counts, np.abs(counts - noisy).max(axis=-1), feasible)


def never_underestimating(next_noisy: npt.ArrayLike, pair_noisy: npt.ArrayLike, error_bound: float) -> ProcessedCounts:
    """Online and shuffle form: slack E/4, then x(s') + E/(2S); the total gains E/2.

    On every input the pair count is the sum of the next-state counts, and these are > 0. If every noisy
    count, n(s') and n, is within E/4 of the true one, then, up to rounding, every released count is within E
    of the true one and the pair count is not below it (Lemma 5.8 of the paper on private Nash-VI).
    Raises ParameterError unless 0 < E < inf.
    """
    require.positive(error_bound=error_bound)
    counts = solve_cells(next_noisy, pair_noisy, error_bound / 4).counts
    counts += error_bound / (2 * counts.shape[-1])
    return ProcessedCounts(counts, counts.sum(axis=-1))


def consistent(next_noisy: npt.ArrayLike, pair_noisy: npt.ArrayLike, error_bound: float) -> ProcessedCounts:
    """Offline form: slack E/2 and no shift. Counts are >= 0, the pair count is their sum.

    Raises ParameterError unless 0 < E < inf.
    """
    require.positive(error_bound=error_bound)
    counts = solve_cells(next_noisy, pair_noisy, error_bound / 2).counts
    return ProcessedCounts(counts, counts.sum(axis=-1))


def _level(noisy: FloatArray, wanted: FloatArray) -> FloatArray:
    """theta with sum max(noisy - theta, 0) = wanted: max over k of (sum of the k largest - wanted) / k."""
    largest = np.sort(noisy, axis=-1)[..., ::-1]
    excess = np.cumsum(largest, axis=-1) - wanted[..., None]
    return np.asarray((excess / np.arange(1, noisy.shape[-1] + 1)).max(axis=-1))


def _checked(next_noisy: npt.ArrayLike, pair_noisy: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    noisy, total = np.asarray(next_noisy, dtype=np.float64), np.asarray(pair_noisy, dtype=np.float64)
    if noisy.ndim < 1 or noisy.shape[-1] < 1 or noisy.shape[:-1] != total.shape:
        raise ParameterError("shapes", (noisy.shape, total.shape), "(..., S) and (...) with S >= 1")
    for name, array in (("next_noisy", noisy), ("pair_noisy", total)):
        if not np.isfinite(array).all():
            raise ParameterError(name, array[~np.isfinite(array)][0], "finite counts")
    return noisy, total
