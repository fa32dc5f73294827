"""What a recursion over compositions ends in: a profile delta(eps) on an even grid."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpverify.base.rounding import UNIT

Array = npt.NDArray[np.float64]


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
