"""How far C x moves when one user's rows of x move: the largest norm of a sum of columns of C."""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpverify.base.rounding import UNIT

Array = npt.NDArray[np.float64]

MOST_SETS = 100_000  # partial sets that a search may look at
EQUAL = 1 + 1e-9


@lru_cache(maxsize=64)
def largest_norm(strategy: tuple[tuple[float, ...], ...], participations: int, separation: int) -> float:
    """Upper bound on sqrt(max over S of sum over i, j in S of |G_ij|), G = C^T C, |S| <= participations, steps far
    apart.

    Exact, up to rounding, in three cases: (a) |G| vanishes `separation` and more off the diagonal: dynamic programming
    over the diagonal. (b) |G_ij|, i <= j, falls when j grows and when both grow, as for Toeplitz C with non-negative
    falling coefficients: the earliest steps 0, b, 2b, ... are the best, since every other set has larger places and
    larger distances. (c) Depth-first search over sets ends within 10^5 of them. Else the sum of the k largest of

        |G_jj| + the k - 1 largest |G_ij| of steps i that far from j.
    """
    c = np.array(strategy, dtype=np.float64)
    separation = min(separation, len(c))
    # by a power of two, without rounding, so that no square leaves what floats carry
    scale = 2.0 ** (math.frexp(float(np.abs(c).max()))[1] - 1)
    c = c / scale
    sizes = np.abs(c).T @ np.abs(c)
    gram = np.abs(c.T @ c) + (len(c) + 4) * UNIT * sizes  # matrix products are off by (n + 2) units of `sizes`
    distance = np.abs(np.subtract.outer(np.arange(len(c)), np.arange(len(c))))
    most = min(participations, 1 + (len(c) - 1) // separation)
    if not gram[distance >= separation].any():
        best = _separate(np.diag(gram), most, separation)
    else:
        falling = _falling(gram)
        if (falling <= EQUAL * gram).all():
            first = np.arange(most) * separation
            best = float(falling[np.ix_(first, first)].sum())
        else:
            found = _search(gram, most, separation)
            best = _bound(gram, distance >= separation, most) if found is None else found
    return math.sqrt(best) * (1 + (2 * most * most + 16) * UNIT) * scale


def _separate(values: Array, most: int, separation: int) -> float:
    """Largest sum of at most `most` values >= 0 whose places are `separation` apart."""
    best = np.zeros(len(values) + separation)  # at i + separation: of one place less, up to i
    for _ in range(most):
        taken = values + best[: len(values)]
        best = np.concatenate([np.zeros(separation), np.maximum.accumulate(taken)])
    return float(best.max())


def _falling(gram: Array) -> Array:
    """The least matrix above the symmetric `gram` that falls when j grows and when both grow, i <= j."""
    n, found = len(gram), gram.copy()
    wider = np.zeros(0)
    for offset in range(n - 1, -1, -1):
        values = np.diag(gram, offset).copy()
        values[: len(wider)] = np.maximum(values[: len(wider)], wider)
        wider = np.maximum.accumulate(values[::-1])[::-1]
        places = np.arange(n - offset)
        found[places, places + offset] = found[places + offset, places] = wider
    return found


def _search(gram: Array, most: int, separation: int) -> float | None:
    """Depth first; a branch ends where even the largest later gains would not help. None where it takes too long."""
    n, diagonal = len(gram), np.diag(gram)
    far = np.subtract.outer(np.arange(n), np.arange(n)) >= separation
    pair = float(gram[far].max(initial=0.0))
    optimistic = [0.0]  # what the last r steps gain at most
    for r in range(1, most + 1):
        optimistic.append(optimistic[-1] + float(diagonal.max()) + 2 * (most - r) * pair)
    best, seen = 0.0, 0
    stack: list[tuple[int, int, float, Array]] = [(0, 0, 0.0, np.zeros(n))]
    while stack:
        start, size, value, cross = stack.pop()
        best = max(best, value)
        if size == most or start >= n:
            continue
        gains = diagonal[start:] + 2 * cross[start:]
        useful = np.flatnonzero(value + gains + optimistic[most - size - 1] > best)
        for place in useful[np.argsort(gains[useful])]:
            j = start + int(place)
            stack.append((j + separation, size + 1, value + float(gains[place]), cross + gram[j]))
        seen += len(useful)
        if seen > MOST_SETS:
            return None
    return best


def _bound(gram: Array, away: npt.NDArray[np.bool_], most: int) -> float:
    far = -np.sort(-np.where(away, gram, 0.0), axis=1)[:, : most - 1]
    rows = np.diag(gram) + far.sum(axis=1)
    return float(-np.sort(-rows)[:most].sum())
