"""Laws of losses on finitely many points, each above the law that it stands for.

A grid law has masses m_j at points x_j, mostly multiples j h of a step, and one at infinite loss. Its profile is
D(x) = infinite + sum_j m_j (1 - e^(x - x_j))^+.

Lemma 1. Let a law be changed in one of these ways: (a) the mass of a cell (x0, x0+h] moves to its two ends such that
its P-mass and its Q-mass (the mean of v = e^-L) are kept; (b) mass moves to a larger loss; (c) mass is added. Then
delta does not fall at any eps, nor does it where the law is composed with anything.
Proof. Fix all other coordinates. What is left is the mean of f(e^-L) with f(v) = E[(1 - c v)^+], which is convex,
non-increasing and non-negative. (a) is a spread that keeps the mean of v, so convexity raises the mean of f; (b) lowers
v; (c) adds values of f >= 0. Coordinates are changed one at a time. QED.

In (a) the share s of a cell's P-mass p that goes to the upper end solves p (1 - s) + p s e^-h = q e^x0, so
s = (1 - (q/p) e^x0)/(1 - e^-h), h the width of the cell. A larger share is (a) followed by (b): shares are rounded
up, masses too.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpverify.base.rounding import UNIT

Array = npt.NDArray[np.float64]

TINY = 1e-290  # below it floats lose relative precision: such masses are raised to it
MOST_EXPONENT = 700.0  # e^700 is a float, e^710 is not


class Cells(NamedTuple):
    """P- and Q-masses of the cells (x_i, x_(i+1)] between consecutive edges, and of what lies outside."""

    p: Array
    q: Array
    below: tuple[float, float]  # masses of L <= x_0; Q-mass that P lacks (loss -inf) is counted here
    above: tuple[float, float]  # masses of L > x_last; P-mass that Q lacks (loss +inf) is counted here
    lift: Array | None = None  # E_P[1 - e^(x_i - L); cell] = p - q e^(x_i), where known up to `eta`; NaN where not


@dataclass(frozen=True, eq=False)
class GridLaw:
    """`masses[i]` at the loss `points[i]`, `infinite` at infinite loss; they need not sum to 1."""

    points: Array
    masses: Array
    infinite: float


def of_cells(points: Array, cells: Cells, eta: float) -> GridLaw:
    """The law above one whose cells between the points are known up to the relative error `eta` each.

    What is below the first point goes there, what is above the last one is infinite.
    """
    p = np.where(cells.p > 0, np.maximum(cells.p, TINY), 0.0)
    known = (cells.p >= TINY) & (cells.q >= TINY) & (np.abs(points[:-1]) <= MOST_EXPONENT)
    ratio = np.where(known, cells.q, 0.0) / np.where(known, p, 1.0)
    ratio *= np.exp(np.where(known, points[:-1], 0.0))
    # (q/p) e^x0 is off by the errors of q and p, a division, an exponential and a product
    error = 2.5 * eta + 6 * UNIT
    excess = (1 - ratio + error) * (1 + 8 * UNIT)
    if cells.lift is not None:  # no cancellation
        lifted = cells.lift / np.where(p > 0, p, 1.0) * (1 + 2.5 * eta + 8 * UNIT)
        excess = np.where(np.isfinite(lifted), np.minimum(lifted, excess), excess)
    share = np.clip(excess * (1 + 4 * UNIT) / -np.expm1(-np.diff(points)), 0.0, 1.0)
    masses = np.zeros(len(points))
    masses[:-1] += p * (1 - share)
    masses[1:] += p * share
    masses[0] += cells.below[0]
    raised = 1 + 2 * eta + 16 * UNIT
    return GridLaw(points, masses * raised, cells.above[0] * raised)


def of_atoms(points: Array, loss: Array, p: Array, infinite: float) -> GridLaw:
    """The law above atoms of mass at most `p` at losses of at most `loss` (upper bounds both)."""
    over = loss > points[-1]
    infinite += math.fsum(p[over])
    loss, p = np.maximum(loss[~over], points[0]), p[~over]
    if len(points) == 1:
        return GridLaw(points, np.array([math.fsum(p)]) * (1 + 4 * UNIT), infinite * (1 + 4 * UNIT))
    cell = np.minimum(np.searchsorted(points, loss, side="right") - 1, len(points) - 2)
    # a difference of neighbouring floats is exact or off by u, as are widths; expm1 and the rest add some units
    share = np.expm1(points[cell] - loss) / np.expm1(points[cell] - points[cell + 1])
    share = np.clip(share * (1 + 16 * UNIT), 0.0, 1.0)
    # weights are added one by one: a sum is off by as many units as there are atoms in its two cells
    masses = np.zeros(len(points))
    masses += np.bincount(cell, p * (1 - share), len(points)) + np.bincount(cell + 1, p * share, len(points))
    most = 2 * int(np.bincount(cell).max(initial=0)) + 16
    return GridLaw(points, masses * (1 + most * UNIT), infinite * (1 + 4 * UNIT))


def worst_of(laws: Sequence[GridLaw]) -> GridLaw:
    """A law on the points that the given ones share whose profile is at least each of theirs, at every eps."""
    if len(laws) == 1:
        return laws[0]
    profiles = np.max([_profile(law) for law in laws], axis=0)
    infinite = max(law.infinite for law in laws)
    return of_profile(laws[0].points, profiles, infinite, max(law.infinite + math.fsum(law.masses) for law in laws))


def of_profile(points: Array, deltas: Array, infinite: float, whole: float = 1.0) -> GridLaw:
    """A law whose profile is at least `deltas` at the points, `infinite` beyond them, and `whole` in all.

    So it is above every profile of which these are upper bounds: profiles are convex in e^eps, chords are above them.
    With d_k = 1 - e^-(x_k - x_(k-1)) and W(k) = (D(x_(k-1)) - D(x_k))/d_k a profile is a sum of slopes,
    D(x_k) = infinite + sum of d_j W(j) over j > k, and the mass at x_k is W(k) - (1 - d_(k+1)) W(k+1). From the top,
    W(k) is the least number that leaves this mass >= 0 and brings D(x_(k-1)) up to the given one. Each rounding goes
    up, and D is carried rounded down, so that the next W makes up for it. Points between which D grows by less than
    1e-6 of itself, where slopes would be rounding errors, are passed over.
    """
    infinite *= 1 + 1e-9  # so that rounding is no growth where only this is left
    at = _far_apart(deltas, infinite)
    gaps = np.diff(points[at])  # between the points that are used, the lowest first
    decays, widths = (np.exp(-gaps) * (1 - 4 * UNIT)).tolist(), (-np.expm1(-gaps)).tolist()
    masses = np.zeros(len(points))
    kept, reached = 0.0, infinite  # kept: (1 - d) W of the point above
    for k in range(len(at) - 1, 0, -1):
        wanted = (float(deltas[at[k - 1]]) - reached) / widths[k - 1] * (1 + 8 * UNIT)
        here = max((1 + 16 * UNIT) * kept, wanted)
        masses[at[k]] = (here - kept * (1 - 2 * UNIT)) * (1 + 4 * UNIT)
        reached = (reached + widths[k - 1] * here * (1 - 4 * UNIT)) * (1 - 2 * UNIT)
        kept = here * decays[k - 1]
    # below the first point a profile is linear in e^eps and comes to all of the mass
    masses[0] = max(0.0, whole * (1 + 4 * UNIT) - infinite - math.fsum(masses[1:]) * (1 - 4 * UNIT))
    return GridLaw(points, masses, infinite)


def _far_apart(profiles: Array, infinite: float) -> list[int]:
    """Indices, increasing, of the last point at which there is no more than `infinite`, of the first point, and of
    those between at which the profile has grown by 1e-6.
    """
    last = int(np.flatnonzero(profiles > infinite)[-1]) + 1 if (profiles > infinite).any() else 1
    found, reached = [last], infinite
    for k in range(last - 1, 0, -1):
        if profiles[k] > reached * (1 + 1e-6):
            found.append(k)
            reached = float(profiles[k])
    return [0, *found[::-1]]


def _profile(law: GridLaw) -> Array:
    """The profile at the points, rounded up: sums of positive numbers, in extended precision where there is one.

    W(k) = m_k + (1 - d_(k+1)) W(k+1).
    """
    widths = np.diff(law.points)
    decays, masses = np.exp(-widths).tolist(), law.masses.tolist()
    slopes, slope = np.zeros(len(masses)), 0.0
    for k in range(len(masses) - 1, 0, -1):
        slope = masses[k] + (decays[k] * slope if k < len(decays) else 0.0)
        slopes[k] = slope
    sums = np.zeros(len(masses), dtype=np.longdouble)
    sums[:-1] = np.cumsum((-np.expm1(-widths) * slopes[1:]).astype(np.longdouble)[::-1])[::-1]
    # a slope is off by 4u for each point that it reaches up to, which is as much as it decays, or for all of them
    error = 4 * min(len(masses), 64 / float(widths.min(initial=64.0)) + 64) + 32
    return np.asarray(law.infinite + sums, dtype=np.float64) * (1 + error * UNIT)


# ----------------------------------------------------------------------------------------------------------------------
# What a recursion over compositions ends in: a profile delta(eps) on an even grid.


@dataclass(frozen=True, eq=False)
class GridProfile:
    """delta on the grid k `step`, k = -N..N."""

    step: float
    deltas: Array

    def at(self, eps: Array) -> Array:
        """delta(eps), an upper bound: delta is convex in e^eps, so chords are above it; 1 below the grid."""
        half = len(self.deltas) // 2
        eps = np.clip(eps, -(half + 2) * self.step, (half + 2) * self.step)  # the same beyond: no quotient overflows
        left = np.clip(np.floor(eps / self.step), -half, half)
        left = (left - (left * self.step > eps)).astype(np.int64)
        low = np.where(left < -half, 1.0, self.deltas[np.maximum(half + left, 0)])
        high = self.deltas[np.minimum(half + left + 1, 2 * half)]
        weight = np.expm1(np.minimum(eps - left * self.step, 2 * self.step)) / np.expm1(self.step) * (1 - 8 * UNIT)
        chord = (low + np.clip(weight, 0.0, 1.0) * (high - low)) * (1 + 8 * UNIT)
        return np.asarray(np.minimum(np.where(left >= half, low, chord), 1.0), dtype=np.float64)

    def beyond(self, tail: float) -> float:
        """The first point of the grid where delta is no more than `tail`, else the last one."""
        half = len(self.deltas) // 2
        few = np.flatnonzero(self.deltas <= tail)
        return float(int(few[0]) - half if len(few) else half) * self.step
