"""A tap on the noise of one long run: is it what the ledger says, and is it fresh?

Residuals (steps, cells) in the stated units, z. If they are independent with the stated law, Laplace(1) or N(0, 1):

    law      u = F(z) is uniform: Kolmogorov-Smirnov on `BINS` equal bins
    scale    sum |z| ~ Gamma(n), or sum z^2 ~ chi^2 with n degrees of freedom
    time     lag-1 products  p = v_t v_{t+1} of a cell, v = 2 F(z) - 1: signs are fair coins, whatever the sizes, so
             that Pr[|sum p| >= x] <= 2 exp(-x^2/(2 sum p^2)) (Hoeffding 1963, Theorem 2, given the sizes)
    cells    products of two cells in one step, the same for each of the pairs: the largest counts
    number   variables drawn = nodes x cells: p-value 1 or 0
    fresh    repeats and lags (`freshness`): no draw is used twice, by itself or in a sum with others

Integers of a known law come as normal scores Phi^-1(u), u uniform between F(k - 1) and F(k): exactly N(0, 1).

Each p-value holds for every n, of ten users as of millions, and is two-sided; the smallest one times the number of
tests is at most `SIGNIFICANCE` with that probability when all is well (Bonferroni), the two of freshness at
`freshness.LEVEL` beside it. Rows whose signs the witness chose are said to be so: their magnitudes are tested for
freshness, no law is. Memory: 8 bytes a draw, and as much again while it is sorted.

Not seen: dependence of higher order than products that copies nothing, and what `freshness` says.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from algorithms.core import freshness
from dpverify.errors import RunError

Array = npt.NDArray[np.float64]

BINS = 4096
SIGNIFICANCE = 1e-6
BLOCK = 512  # steps that are looked at together
FRESH = ("repeats", "lags", "vectors")


class TapLaw(NamedTuple):
    """A standard law: distribution function, a statistic of scale with mean 1, which is Gamma(shape)/shape."""

    below: Callable[[Array], Array]
    size: Callable[[Array], Array]
    shape: float


def _laplace_below(z: Array) -> Array:
    tail = 0.5 * np.exp(-np.abs(z))
    return np.where(z < 0, tail, 1 - tail)


LAPLACE = TapLaw(_laplace_below, np.abs, 1.0)
NORMAL = TapLaw(special.ndtr, np.square, 0.5)


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
        self._open = 0  # steps of the block whose law is tested
        self._chosen: list[int] = []  # steps whose signs the witness chose
        self._seen: list[Array] = []  # v of all steps, by block
        self._steps, self._rounding = 0, 0.0
        self._last: Array | None = None
        self._bins = np.zeros(BINS, dtype=np.int64)
        self._size, self._draws = 0.0, 0
        self._lagged, self._products = (
            np.zeros(2),
            np.zeros((2, cells, cells)),
        )  # sums of products, and of their squares

    def add(self, residual: Array, *, largest: float = 0.0, chosen: bool = False) -> None:
        """One step; `largest` number that the residual is a difference of, `chosen` where its signs are."""
        if chosen:
            self._chosen.append(self._steps)
        self._steps += 1
        self._open += not chosen
        self._rounding = max(self._rounding, largest / self._scale)
        self._block.append(residual / self._scale)
        if self._open == BLOCK:
            self._close()

    def _close(self) -> None:
        if not self._block:
            return
        z = np.stack(self._block)
        below = self._law.below(z)
        self._seen.append(2 * below - 1)
        tested = np.ones(len(z), dtype=bool)
        tested[[step - self._steps for step in self._chosen if step >= self._steps - len(z)]] = False
        self._block, self._open = [], 0
        if not tested.all():
            z, below = z[tested], below[tested]
        if not len(z):
            return
        self._bins += np.bincount(np.minimum((below * BINS).astype(np.int64), BINS - 1).ravel(), minlength=BINS)
        self._size += float(self._law.size(z).sum())
        v = 2 * below - 1
        chain = v if self._last is None else np.concatenate([self._last[None], v])
        for power, (lagged, products) in enumerate(zip(self._lagged, self._products, strict=True), 1):
            self._lagged[power - 1] = lagged + ((chain[1:] * chain[:-1]) ** power).sum()
            products += (v**power).T @ v**power
        self._draws += z.size
        self._last = v[-1]

    def report(self, *, drawn: int, stated: int) -> TapReport:
        """The verdict on all steps so far; `drawn` variables passed the tape, and the ledger speaks of `stated`."""
        self._close()
        if not self._draws:
            raise RunError("no noise was drawn but the witness's own: more users are needed")
        n, cells = self._draws, len(self._products[0])
        distance = float(np.abs(np.cumsum(self._bins) / n - np.arange(1, BINS + 1) / BINS).max())
        found = {
            "law": float(stats.kstwo.sf(distance, n)),
            "scale": _of_gamma(self._law.shape * self._size, self._law.shape * n),
            "time": float(_by_signs(*self._lagged)),
        }
        found["number"] = float(drawn == stated)
        if cells > 1:
            pairs = np.triu_indices(cells, 1)
            found["cells"] = min(1.0, len(pairs[0]) * float(_by_signs(*(each[pairs] for each in self._products)).min()))
        sizes = np.concatenate(self._seen)
        found["repeats"] = freshness.repeats(np.abs(sizes, out=sizes), freshness.ROUNDING * (1 + self._rounding))
        found["lags"] = freshness.lags(self._seen, self._chosen)
        return TapReport(_fine(found), n, self._size / n, found)


def combined(reports: Sequence[TapReport]) -> TapReport:
    """One report of several taps; each test by its smallest p-value times the number of taps (Bonferroni)."""
    draws = sum(each.draws for each in reports)
    names = dict.fromkeys(name for each in reports for name in each.p_values)
    found = {name: min(1.0, len(reports) * min(each.p_values.get(name, 1.0) for each in reports)) for name in names}
    return TapReport(_fine(found), draws, sum(each.ratio * each.draws for each in reports) / draws, found)


def with_test(report: TapReport, name: str, p_value: float) -> TapReport:
    """The report with one more test of freshness."""
    found = {**report.p_values, name: p_value}
    return report._replace(ok=_fine(found), p_values=found)


def _fine(p_values: dict[str, float]) -> bool:
    fresh = [p_values[name] for name in FRESH if name in p_values]
    others = [p for name, p in p_values.items() if name not in FRESH]
    return min(others) * len(others) > SIGNIFICANCE and min(fresh) * len(fresh) > freshness.LEVEL


def _of_gamma(value: float, shape: float) -> float:
    return float(min(1.0, 2 * min(special.gammainc(shape, value), special.gammaincc(shape, value))))


def _by_signs(total: Any, squares: Any) -> Array:
    """Hoeffding's bound on Pr[|sum| >= total], given the sizes of what is added; 1 where nothing is."""
    found: Array = np.minimum(1.0, 2 * np.exp(-(np.asarray(total) ** 2) / np.maximum(2 * np.asarray(squares), 1e-300)))
    return found
