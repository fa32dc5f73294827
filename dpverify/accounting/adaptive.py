"""Repeated asymmetric losses of unknown direction: the exact worst case over whoever chooses the direction.

In each of n steps a mechanism compares one of several pairs of laws (one pair in its two orders, or every pair of
neighbours in both); which one may depend on what was released before. With f_k the worst delta of k steps,

    f_0(eps) = (1 - e^eps)^+        f_k(eps) = max over pairs (p, q) of  sum_x p_x f_{k-1}(eps - log(p_x/q_x)),

because after an output of loss l the rest is worth f_{k-1}(eps - l), whatever it was. No pair attains the
*maximum of the profiles*, which `pld` composes: with laws like (.5, .3, .2) and (.2, .5, .3) that is up to 20 %
too high in eps after 20 steps. Here every pair keeps its own law.

Losses are moved to a grid such that p and q keep their masses: an atom between two grid points is split between them,
which only helps to tell p from q (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022). f is non-increasing and
at most 1, which bounds it beyond the grid; between grid points it is convex in e^eps, so chords are above it.
Steps map functions to functions without enlarging differences, so errors of arithmetic add up: see `floor`.
One kind of loss only: composed with others it is charged the maximum of its profiles, as in `pld`.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import signal

from dpverify.accounting.atomic_losses import AtomicLoss, Order
from dpverify.accounting.divergence import UNIT
from dpverify.accounting.expand import Losses

Array = npt.NDArray[np.float64]

MOST_APPLICATIONS = 512  # pairs times steps
HALF_GRID = 2**15  # grid points on either side of 0
MOST_REACH = 300.0
FEW_ATOMS = 64  # fewer are shifted and added one by one, more by FFT


@dataclass(frozen=True, eq=False)
class WorstCase:
    """delta on the grid k `step`, k = -N..N."""

    step: float
    deltas: Array
    floor: float

    def delta_at(self, eps: float) -> float:
        """delta(eps), an upper bound, eps >= 0."""
        half = len(self.deltas) // 2
        left = min(math.floor(eps / self.step), half)
        low = float(self.deltas[half + left])
        if left == half:
            return min(1.0, low + self.floor)
        high = float(self.deltas[half + left + 1])
        weight = math.expm1(eps - left * self.step) / math.expm1(self.step)
        return min(1.0, low + min(max(weight, 0.0), 1.0) * (high - low) + self.floor)


def applies(losses: Losses) -> bool:
    """True for one kind of loss, with several pairs, few enough for the recursion."""
    if len(losses) != 1 or not isinstance(losses[0][0], AtomicLoss):
        return False
    ((loss, count),) = losses
    assert isinstance(loss, AtomicLoss)
    return 1 < len(loss.chosen) <= MOST_APPLICATIONS // count and loss.reach() > 0


@lru_cache(maxsize=64)
def worst_case(losses: Losses) -> WorstCase:
    """The recursion of the module, for losses to which it `applies`."""
    ((loss, count),) = losses
    assert isinstance(loss, AtomicLoss)
    reach = min(loss.reach(), MOST_REACH)
    step = count * reach / HALF_GRID
    grid = np.arange(-HALF_GRID, HALF_GRID + 1, dtype=np.float64) * step
    laws = [_on_grid(order, step, math.ceil(reach / step) + 1) for order in loss.chosen]
    deltas = np.maximum(-np.expm1(grid), 0.0)
    for _ in range(count):
        deltas = np.max([_step(deltas, *law) for law in laws], axis=0)
    arithmetic = 8 * UNIT * math.log2(4 * HALF_GRID) * math.sqrt(4 * HALF_GRID)  # as `pld._fft_error`
    # p and q off by the relative `error`, differences of cumulated masses by some units each
    masses = max(4 * order.error + 4 * UNIT * len(order.loss) for order in loss.chosen)
    return WorstCase(step, deltas, count * (arithmetic + masses))


def _on_grid(order: Order, step: float, most: int) -> tuple[Array, float]:
    """Masses of p at losses -most..most (in steps) and at infinite loss."""
    p = np.diff(order.p_above)
    over = order.loss > most * step  # rarer than TAIL: charged as infinite
    infinite = order.infinite + math.fsum(p[over])
    p, loss = p[~over], np.maximum(order.loss[~over], -most * step)
    left = np.floor(loss / step).astype(np.int64)
    share = np.clip(np.expm1(-(loss - left * step)) / math.expm1(-step), 0.0, 1.0)
    masses = np.zeros(2 * most + 2)
    np.add.at(masses, left + most, p * (1 - share))
    np.add.at(masses, left + most + 1, p * share)
    return masses, infinite


def _step(deltas: Array, masses: Array, infinite: float) -> Array:
    """sum_j masses_j f(eps - j) + infinite; f = 1 below the grid, its last value above."""
    most = (len(masses) - 2) // 2
    padded = np.concatenate([np.ones(most + 1), deltas, np.full(most + 1, deltas[-1])])
    atoms = np.flatnonzero(masses)
    if len(atoms) <= FEW_ATOMS:
        n = len(deltas)
        total = np.zeros(n)
        for atom in atoms:
            start = 2 * most + 1 - atom
            total += masses[atom] * padded[start : start + n]
    else:
        total = signal.fftconvolve(padded, masses, mode="full")[2 * most + 1 : 2 * most + 1 + len(deltas)]
    return np.minimum.accumulate(np.clip(total + infinite, 0.0, 1.0))
