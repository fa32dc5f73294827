"""Laws of compositions that are run on one and the same subset of users: few losses, as one law on points.

One loss is asked itself. Several are put on one grid each and convolved: sums of positive numbers, so that errors stay
relative and everything stays above the truth (`grid_law`, Lemma 1).
"""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpverify.accounting import grid_law
from dpverify.accounting.grid_law import GridLaw
from dpverify.accounting.loss import Loss
from dpverify.base.errors import AccountingError
from dpverify.base.rounding import UNIT

Array = npt.NDArray[np.float64]
Inside = tuple[tuple[Loss, int], ...]

POINTS = 2**14  # of a convolution
MOST_INSIDE = 64  # coordinates
TAIL = 1e-40


def inner_law(inside: Inside, points: Array) -> GridLaw:
    """A law on increasing points above the composition."""
    if not inside:
        return grid_law.of_atoms(points, np.zeros(1), np.ones(1), 0.0)
    if _single(inside):
        return inside[0][0].on_points(points)
    law = _convolved(inside)
    return grid_law.of_atoms(points, law.points, law.masses, law.infinite)


def inner_profile(inside: Inside, eps: Array) -> Array:
    """Its delta(eps), an upper bound."""
    if not inside:
        return np.asarray(np.maximum(-np.expm1(eps), 0.0) * (1 + 4 * UNIT), dtype=np.float64)
    if _single(inside):
        return np.minimum(inside[0][0].profile(eps), 1.0)
    law = _convolved(inside)
    found = [law.infinite + math.fsum(law.masses * np.maximum(-np.expm1(each - law.points), 0.0)) for each in eps]
    return np.minimum(np.array(found) * (1 + 16 * UNIT), 1.0)


def inner_window(inside: Inside, tail: float) -> tuple[float, float]:
    """Sums of the windows."""
    windows = [(loss.window(min(tail, 0.1)), count) for loss, count in inside]
    return sum(count * low for (low, _), count in windows), sum(count * high for (_, high), count in windows)


def _single(inside: Inside) -> bool:
    return len(inside) == 1 and inside[0][1] == 1


@lru_cache(maxsize=32)
def _convolved(inside: Inside) -> GridLaw:
    total = sum(count for _, count in inside)
    if total > MOST_INSIDE:
        raise AccountingError(f"{total} losses on one subset: more than {MOST_INSIDE} are not convolved")
    windows = [loss.window(TAIL) for loss, _ in inside]
    span = sum(count * (high - low) for (low, high), (_, count) in zip(windows, inside, strict=True))
    step = float(2.0 ** math.ceil(math.log2(span / POINTS)))  # multiples are floats
    masses, first, finite = np.ones(1), 0, 1.0
    for (low, high), (loss, count) in zip(windows, inside, strict=True):
        start = math.floor(low / step)
        grid = np.arange(start, math.ceil(high / step) + 2, dtype=np.float64) * step
        law = loss.on_points(grid)
        for _ in range(count):
            masses = np.convolve(masses, law.masses)
            masses *= 1 + (2 * min(len(law.masses), len(masses)) + 4) * UNIT
            first += start
            finite *= max(0.0, 1 - law.infinite)
    points = (first + np.arange(len(masses), dtype=np.float64)) * step
    return GridLaw(points, masses, (1 - finite) * (1 + 4 * UNIT) + total * 2 * UNIT * (finite < 1))
