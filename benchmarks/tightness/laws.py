"""Laws of privacy losses, and the eps that they have at a delta: an independent computation, from both sides.

Nothing here reads a ledger or calls the accountant. A law is about one ordered pair of datasets and its mirror
image; `eps(delta)` is the larger of the two, as (low, high) with low <= exact <= high, or None where the law
says nothing at that delta.

`Product` composes independent coordinates by convolving the law of the loss log p/q under p on a grid of losses.
Rounding every loss down gives a lower bound on delta(eps), rounding it up an upper bound.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import fft, optimize, stats

Array = npt.NDArray[np.float64]
Bracket = tuple[float, float]

RESOLUTION = 1e-3  # rounding of a whole composition, in standard deviations of its loss
LEAST_MASS = 1e-16  # outputs that are rarer under both laws are left out of a listed law (low) or cost that (high)


class Law(ABC):
    """The loss of a whole release."""

    @abstractmethod
    def eps(self, delta: float) -> Bracket | None:
        """Smallest eps at `delta`, from both sides."""


@dataclass(frozen=True)
class Impossible(Law):
    """Some event has probability `mass` under one dataset and 0 under the other: no finite eps below it."""

    mass: float

    def eps(self, delta: float) -> Bracket | None:
        return (math.inf, math.inf) if delta < self.mass else None


@dataclass(frozen=True)
class LargestRatio(Law):
    """The largest log ratio, and nothing else, is known."""

    ratio: float

    def eps(self, delta: float) -> Bracket | None:
        return (self.ratio, self.ratio) if delta == 0 else None


@dataclass(frozen=True)
class GaussianShift(Law):
    """N(0, 1) against N(mu, 1), `square` = mu^2 (Balle, Wang 2018, Theorem 8)."""

    square: float

    def eps(self, delta: float) -> Bracket | None:
        if delta == 0:
            return math.inf, math.inf
        if self.square == 0:
            return 0.0, 0.0  # nothing moves
        mu = math.sqrt(self.square)

        def excess(eps: float) -> float:
            lower = math.exp(eps + float(stats.norm.logcdf(-mu / 2 - eps / mu)))
            return float(stats.norm.cdf(mu / 2 - eps / mu)) - lower - delta

        if excess(0.0) <= 0:
            return 0.0, 0.0
        root = float(optimize.brentq(excess, 0.0, 40 * mu + mu * mu, xtol=1e-13, rtol=1e-12))
        return root, root


class Part(ABC):
    """The loss of one coordinate in one order of the two datasets."""

    @abstractmethod
    def largest(self) -> float:
        """Largest loss; inf where an output is impossible under the other dataset."""

    @abstractmethod
    def binned(self, step: float, *, up: bool) -> tuple[int, Array, float]:
        """First grid index, masses on the grid from there, mass at infinite loss; losses rounded up or down."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Of the finite loss, about: only the grid depends on it."""


@dataclass(frozen=True)
class LaplacePart(Part):
    """Lap(b) moved by a b: an atom of 1/2 at a, one of e^-a/2 at -a, density e^((l - a)/2)/4 between."""

    a: float

    def largest(self) -> float:
        return self.a

    @property
    def variance(self) -> float:
        return self.a**2

    def binned(self, step: float, *, up: bool) -> tuple[int, Array, float]:
        cells = math.floor(-self.a / step), math.ceil(self.a / step)
        edges = np.clip(np.arange(cells[0], cells[1] + 1) * step, -self.a, self.a)
        masses = np.zeros(len(edges))
        between = np.diff(np.exp((edges - self.a) / 2) / 2)
        masses[1:] += between if up else 0.0
        masses[:-1] += 0.0 if up else between
        masses[_index(self.a, step, up) - cells[0]] += 0.5
        masses[_index(-self.a, step, up) - cells[0]] += math.exp(-self.a) / 2
        return cells[0], masses, 0.0


@dataclass(frozen=True, eq=False)
class ListedPart(Part):
    """Two laws on the same outputs: p under the first dataset, q under the second."""

    p: Array
    q: Array
    loss: Array = field(init=False)

    def __post_init__(self) -> None:
        with np.errstate(divide="ignore", invalid="ignore"):
            object.__setattr__(self, "loss", np.log(self.p) - np.log(self.q))

    def largest(self) -> float:
        return float(self.loss[self.p > 0].max())

    @property
    def variance(self) -> float:
        kept = (self.p > LEAST_MASS) & np.isfinite(self.loss)
        mean = float(self.p[kept] @ self.loss[kept])
        return float(self.p[kept] @ (self.loss[kept] - mean) ** 2)

    def binned(self, step: float, *, up: bool) -> tuple[int, Array, float]:
        kept = (self.p > LEAST_MASS) & np.isfinite(self.loss)
        lost = math.fsum(self.p[~kept & (self.p > 0) & np.isfinite(self.loss)])
        infinite = math.fsum(self.p[self.loss == math.inf]) + (lost if up else 0.0)
        index = (np.ceil if up else np.floor)(self.loss[kept] / step).astype(np.int64)
        masses = np.bincount(index - index.min(), weights=self.p[kept]).astype(np.float64)
        return int(index.min()), masses, infinite


Way = tuple[tuple[Part, int], ...]  # the parts of a product in one order of the datasets, and how many of each


@dataclass(frozen=True)
class Product(Law):
    """Independent coordinates: (loss from the first to the second dataset, loss back, how many of them)."""

    parts: tuple[tuple[Part, Part, int], ...]

    def eps(self, delta: float) -> Bracket | None:
        if not self.parts:
            return 0.0, 0.0
        if delta == 0:
            exact = max(sum(part.largest() * count for part, count in way) for way in self._ways)
            return exact, exact
        low, high = (max(_eps_at(*each, delta) for each in both) for both in self._composed)
        return low, high

    @property
    def _ways(self) -> tuple[Way, Way]:
        return tuple((there, n) for there, _, n in self.parts), tuple((back, n) for _, back, n in self.parts)

    @cached_property
    def _composed(self) -> list[list[tuple[Array, Array, float]]]:
        """Rounded down and rounded up, in both orders."""
        return [[self._compose(way, up=up) for way in self._ways] for up in (False, True)]

    @cached_property
    def _step(self) -> float:
        spread = math.sqrt(sum(there.variance * count for there, _, count in self.parts))
        return RESOLUTION * spread / sum(count for *_, count in self.parts)

    def _compose(self, way: Way, *, up: bool) -> tuple[Array, Array, float]:
        """Grid of losses, their masses, the mass at infinite loss."""
        binned = [(*part.binned(self._step, up=up), count) for part, count in way]
        length = sum((len(masses) - 1) * count for _, masses, _, count in binned) + 1
        size, start, finite = fft.next_fast_len(length, real=True), 0, 1.0
        transform = np.ones(size // 2 + 1, dtype=complex)
        for first, masses, lost, count in binned:
            transform = transform * fft.rfft(masses, size) ** count
            start += first * count
            finite *= (1 - lost) ** count
        mass = np.maximum(fft.irfft(transform, size)[:length], 0.0)
        mass[mass < LEAST_MASS] = 0.0  # rounding of the transform
        loss: Array = (np.arange(length, dtype=np.float64) + start) * self._step
        return loss, mass, 1 - finite


def _eps_at(loss: Array, mass: Array, infinite: float, delta: float) -> float:
    """delta(eps) = infinite + above - e^eps scaled, at its largest over where to cut the losses; solved for eps."""
    if infinite > delta:
        return math.inf
    above = np.cumsum(mass[::-1])[::-1]
    scaled = np.cumsum((mass * np.exp(-loss))[::-1])[::-1]
    live = (above + infinite > delta) & (scaled > 0)
    cuts = np.log(above[live] + infinite - delta) - np.log(scaled[live])
    return max(0.0, float(cuts.max(initial=0.0)))


def _index(loss: float, step: float, up: bool) -> int:
    return math.ceil(loss / step) if up else math.floor(loss / step)


def laplace(a: float, count: int) -> Product:
    """`count` coordinates with Laplace noise, each moved by `a` scales."""
    return Product(((LaplacePart(a), LaplacePart(a), count),) if count else ())


def listed(*pairs: tuple[Array, Array, int]) -> Product:
    """Coordinates whose two laws are written down."""
    return Product(tuple((ListedPart(p, q), ListedPart(q, p), count) for p, q, count in pairs if count))
