"""A tap on the noise of one long run: is it what the ledger says, and is it fresh?

Residuals e (steps, cells) in units of the stated Laplace scale, z = e/b. If they are independent and Laplace(1):

    law      u = F(z) is uniform: Kolmogorov-Smirnov on `BINS` equal bins; mean |z| = 1 +- 1/sqrt(n)
    time     lag-1 products  z_t z_{t+1} of a cell      mean 0, variance 4/n
    cells    products of two cells in one step          mean 0, variance 4/n, for each of the pairs: the largest counts
    number   variables drawn = nodes x cells             exact: p-value 1 or 0

Each p-value is asymptotic in n (millions here) and two-sided; the smallest one times the number of tests is at most
`SIGNIFICANCE` with that probability when all is well (Bonferroni). Nodes whose noise the witness chose are left out by
the caller: at chosen signs no law is tested. Sums are kept, not residuals: memory is O(cells^2).

Not seen: dependence at lags of two and more that keeps the number of draws, between cells of different steps, and of
higher order than products.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

Array = npt.NDArray[np.float64]

BINS = 4096
SIGNIFICANCE = 1e-6
BLOCK = 512  # steps that are looked at together


class TapReport(NamedTuple):
    """`p_values` by test, before Bonferroni; `ok` where none is too small; `ratio` = mean |z|, 1 as stated."""

    ok: bool
    draws: int
    ratio: float
    p_values: dict[str, float]


class NoiseTap:
    """Adds up residuals (cells,) of one step after the other against Lap(`scale`)."""

    def __init__(self, cells: int, scale: float) -> None:
        self._scale = scale
        self._block: list[Array] = []
        self._last: Array | None = None
        self._bins = np.zeros(BINS, dtype=np.int64)
        self._absolute, self._lagged, self._draws, self._pairs = 0.0, 0.0, 0, 0
        self._products = np.zeros((cells, cells))
        self._steps = 0

    def add(self, residual: Array) -> None:
        """One step."""
        self._block.append(residual / self._scale)
        if len(self._block) == BLOCK:
            self._close()

    def _close(self) -> None:
        if not self._block:
            return
        z = np.stack(self._block)
        self._block = []
        below = np.where(z < 0, 0.5 * np.exp(-np.abs(z)), 1 - 0.5 * np.exp(-np.abs(z)))
        self._bins += np.bincount(np.minimum((below * BINS).astype(np.int64), BINS - 1).ravel(), minlength=BINS)
        self._absolute += float(np.abs(z).sum())
        self._products += z.T @ z
        chain = z if self._last is None else np.concatenate([self._last[None], z])
        self._lagged += float((chain[1:] * chain[:-1]).sum())
        self._pairs += chain[1:].size
        self._draws += z.size
        self._steps += len(z)
        self._last = z[-1]

    def report(self, *, drawn: int, stated: int) -> TapReport:
        """The verdict on all steps so far; `drawn` variables passed the tape, and the ledger speaks of `stated`."""
        self._close()
        n, cells = self._draws, len(self._products)
        distance = float(np.abs(np.cumsum(self._bins) / n - np.arange(1, BINS + 1) / BINS).max())
        found = {
            "law": float(stats.kstwobign.sf(math.sqrt(n) * distance)),
            "scale": _two_sided((self._absolute / n - 1) * math.sqrt(n)),
            "time": _two_sided(self._lagged / math.sqrt(4 * max(self._pairs, 1))),
        }
        found["number"] = float(drawn == stated)
        if cells > 1:
            above = self._products[np.triu_indices(cells, 1)]
            worst = float(np.abs(above).max()) / math.sqrt(4 * self._steps)
            found["cells"] = min(1.0, len(above) * _two_sided(worst))
        return TapReport(min(found.values()) * len(found) > SIGNIFICANCE, n, self._absolute / n, found)


def _two_sided(deviations: Any) -> float:
    return float(2 * stats.norm.sf(abs(deviations)))
