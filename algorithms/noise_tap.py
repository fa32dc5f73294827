"""A tap on the noise of one long run: is it what the ledger says, and is it fresh?

Residuals (steps, cells) in the stated units, z. If they are independent with the stated law, Laplace(1) or N(0, 1):

    law      u = F(z) is uniform: Kolmogorov-Smirnov on `BINS` equal bins
    scale    mean |z| = 1 +- 1/sqrt(n), or mean z^2 = 1 +- sqrt(2/n)
    time     lag-1 products  z_t z_{t+1} of a cell      mean 0, variance (E z^2)^2/n: 4/n, or 1/n
    cells    products of two cells in one step          the same, for each of the pairs: the largest counts
    number   variables drawn = nodes x cells             exact: p-value 1 or 0

Integers of a known law come as normal scores Phi^-1(u), u uniform between F(k - 1) and F(k): exactly N(0, 1).

Each p-value is asymptotic in n (millions here) and two-sided; the smallest one times the number of tests is at most
`SIGNIFICANCE` with that probability when all is well (Bonferroni). Nodes whose noise the witness chose are left out by
the caller: at chosen signs no law is tested. Sums are kept, not residuals: memory is O(cells^2).

Not seen: dependence at lags of two and more that keeps the number of draws, between cells of different steps, and of
higher order than products.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special, stats

Array = npt.NDArray[np.float64]

BINS = 4096
SIGNIFICANCE = 1e-6
BLOCK = 512  # steps that are looked at together


class TapLaw(NamedTuple):
    """A standard law: distribution function, a statistic of scale with mean 1 and its variance, and E z^2."""

    below: Callable[[Array], Array]
    size: Callable[[Array], Array]
    variance: float
    square: float


def _laplace_below(z: Array) -> Array:
    tail = 0.5 * np.exp(-np.abs(z))
    return np.where(z < 0, tail, 1 - tail)


LAPLACE = TapLaw(_laplace_below, np.abs, 1.0, 2.0)
NORMAL = TapLaw(special.ndtr, np.square, 2.0, 1.0)


class TapReport(NamedTuple):
    """`p_values` by test, before Bonferroni; `ok` where none is too small; `ratio` = mean |z| or z^2, 1 as stated."""

    ok: bool
    draws: int
    ratio: float
    p_values: dict[str, float]


class NoiseTap:
    """Adds up residuals (cells,) of one step after the other, each over `scale`, against `law`."""

    def __init__(self, cells: int, scale: float = 1.0, law: TapLaw = LAPLACE) -> None:
        self._scale, self._law = scale, law
        self._block: list[Array] = []
        self._last: Array | None = None
        self._bins = np.zeros(BINS, dtype=np.int64)
        self._size, self._lagged, self._draws, self._pairs = 0.0, 0.0, 0, 0
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
        below = self._law.below(z)
        self._bins += np.bincount(np.minimum((below * BINS).astype(np.int64), BINS - 1).ravel(), minlength=BINS)
        self._size += float(self._law.size(z).sum())
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
            "scale": _two_sided((self._size / n - 1) * math.sqrt(n / self._law.variance)),
            "time": _two_sided(self._lagged / (self._law.square * math.sqrt(max(self._pairs, 1)))),
        }
        found["number"] = float(drawn == stated)
        if cells > 1:
            above = self._products[np.triu_indices(cells, 1)]
            worst = float(np.abs(above).max()) / (self._law.square * math.sqrt(self._steps))
            found["cells"] = min(1.0, len(above) * _two_sided(worst))
        return TapReport(_fine(found), n, self._size / n, found)


def together(reports: Sequence[TapReport]) -> TapReport:
    """One report of several taps; each test by its smallest p-value times the number of taps (Bonferroni)."""
    draws = sum(each.draws for each in reports)
    names = dict.fromkeys(name for each in reports for name in each.p_values)
    found = {name: min(1.0, len(reports) * min(each.p_values.get(name, 1.0) for each in reports)) for name in names}
    return TapReport(_fine(found), draws, sum(each.ratio * each.draws for each in reports) / draws, found)


def _fine(p_values: dict[str, float]) -> bool:
    return min(p_values.values()) * len(p_values) > SIGNIFICANCE


def _two_sided(deviations: Any) -> float:
    return float(2 * stats.norm.sf(abs(deviations)))
