"""The counts nearest to noisy ones in l2, with nothing between cells or with a known total: closed forms.

For cells c (a state and an action of one step) with noisy transitions n_c(s') and noisy visits N_c:

    minimise  sum over c, s' of (x_c(s') - n_c(s'))^2  +  sum over c of (X_c - N_c)^2,   X_c = sum over s' of x_c(s')
    subject to  x >= 0   and, where it is known,  sum over c of X_c = total

KKT: x_c(s') = max(n_c(s') - l_c, 0) with l_c = X_c - N_c + t; one t for the total, 0 without. As X_c is the largest of
S_k - k l_c, k = 0..S, with S_k the sum of the k largest of n_c,

    l_c = max over k = 0..S of (S_k + t - N_c) / (k + 1).

The total falls in t, piecewise linearly: halving finds the piece, and there t solves a linear equation.
"""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

HALVINGS = 100  # more than the bits of a float64


def nearest_counts(transitions: Array, visits: Array, total: float | None = None) -> Array:
    """Transitions (..., cells, S) of the minimiser; `visits` (..., cells), all finite; `total` >= 0, or None."""
    largest = np.sort(transitions, axis=-1)[..., ::-1]
    sums = np.concatenate([np.zeros((*visits.shape, 1)), np.cumsum(largest, axis=-1)], axis=-1)
    excess, parts = sums - visits[..., None], np.arange(1.0, sums.shape[-1] + 1)  # S_k - N_c, k + 1

    def counts(t: Array) -> Array:
        levels = ((excess + t[..., None, None]) / parts).max(axis=-1)
        return np.asarray(np.maximum(transitions - levels[..., None], 0.0))

    start = np.zeros(visits.shape[:-1])
    if total is None:
        return counts(start)
    high = start + parts[-1] * (np.abs(transitions).sum(axis=(-2, -1)) + np.abs(visits).sum(axis=-1) + total)
    low = -high  # l_c is below -(total + all counts) there, and above all counts at the other end
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        enough = counts(middle).sum(axis=(-2, -1)) >= total
        low, high = np.where(enough, middle, low), np.where(enough, high, middle)
    k = ((excess + low[..., None, None]) / parts).argmax(axis=-1)[..., None]  # of every cell, on the piece
    share = (k / (k + 1.0))[..., 0]  # X_c = S_k - k (S_k - N_c + t) / (k + 1)
    fixed = np.take_along_axis(sums, k, axis=-1)[..., 0] - share * np.take_along_axis(excess, k, axis=-1)[..., 0]
    slope = share.sum(axis=-1)
    solved = (fixed.sum(axis=-1) - total) / np.where(slope > 0, slope, 1.0)
    return counts(np.where((slope > 0) & (low <= solved) & (solved <= high), solved, low))
