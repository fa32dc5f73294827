"""The noise laws that a counter can put on its nodes, each with its draw, its likelihood ratio, its event.

    draw(steps, shape, *, rng)             -> (steps, *shape), step after step: `steps` draws of one step
                                              each consume the same randomness as one draw of `steps`
    log_ratio(observed, first, second)     -> sum over all axes but the first of
                                              log p(observed - first) - log p(observed - second)
    event(what, changed)                   -> the ledger event of `changed` coordinates
    variance                               of one draw

Seeded draws in floating point: for verification, not for releasing real data.
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dpverify.accounting.ledger import DiscreteLaplaceNoise, Event, Exposed, GaussianNoise, LaplaceNoise, Sensitivity
from dpverify.base import require

Array = npt.NDArray[Any]


class Noise(Protocol):
    """What a counter needs to know of its noise."""

    @property
    def variance(self) -> float:
        """Variance of one draw."""
        ...

    def draw(self, steps: int, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        """Independent draws, shape (steps, *shape)."""
        ...

    def log_ratio(self, observed: Array, first: Array, second: Array) -> Array:
        """Log likelihood ratio of each trial, shape (trials,)."""
        ...

    def event(self, what: str, changed: Sensitivity) -> Event:
        """The ledger event."""
        ...


def _over_trials(terms: Array) -> Array:
    totals: Array = terms.reshape(len(terms), -1).sum(axis=1)
    return totals


def _absolute_gap(observed: Array, first: Array, second: Array) -> Array:
    # |x - m1| - |x - m0| as a clipped line: its two plateaus, which carry atoms, come out without rounding
    move = first - second
    gap: Array = np.sign(move) * np.clip(2 * observed - first - second, -np.abs(move), np.abs(move))
    return gap


@dataclass(frozen=True)
class Laplace:
    """Density exp(-|x|/scale)/(2 scale)."""

    scale: float

    def __post_init__(self) -> None:
        require.positive(scale=self.scale)

    @property
    def variance(self) -> float:
        """2 scale^2."""
        return 2 * self.scale**2

    def draw(self, steps: int, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        return rng.laplace(scale=self.scale, size=(steps, *shape))

    def log_ratio(self, observed: Array, first: Array, second: Array) -> Array:
        return _over_trials(_absolute_gap(observed, first, second)) / self.scale

    def event(self, what: str, changed: Sensitivity) -> Event:
        return LaplaceNoise(what=what, scale=self.scale, sensitivity=changed)


@dataclass(frozen=True)
class DiscreteLaplace:
    """Pr[k] = tanh(1/(2 scale)) exp(-|k|/scale) on the integers: difference of two geometric variables."""

    scale: float

    def __post_init__(self) -> None:
        require.positive(scale=self.scale)

    @property
    def variance(self) -> float:
        """1 / (2 sinh^2(1/(2 scale))), at most 2 scale^2."""
        return 0.5 / math.sinh(0.5 / self.scale) ** 2

    def draw(self, steps: int, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        both = rng.geometric(-math.expm1(-1 / self.scale), size=(steps, 2, *shape))
        return both[:, 0] - both[:, 1]

    def log_ratio(self, observed: Array, first: Array, second: Array) -> Array:
        return _over_trials(_absolute_gap(observed, first, second)) / self.scale

    def event(self, what: str, changed: Sensitivity) -> Event:
        return DiscreteLaplaceNoise(what=what, scale=self.scale, sensitivity=changed)


@dataclass(frozen=True)
class Gaussian:
    """N(0, sigma^2)."""

    sigma: float

    def __post_init__(self) -> None:
        require.positive(sigma=self.sigma)

    @property
    def variance(self) -> float:
        """sigma^2."""
        return self.sigma**2

    def draw(self, steps: int, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        return rng.normal(scale=self.sigma, size=(steps, *shape))

    def log_ratio(self, observed: Array, first: Array, second: Array) -> Array:
        return _over_trials((first - second) * (observed - (first + second) / 2)) / self.sigma**2

    def event(self, what: str, changed: Sensitivity) -> Event:
        return GaussianNoise(what=what, sigma=self.sigma, sensitivity=changed)


@dataclass(frozen=True)
class NoNoise:
    """Lap(0): what a printed scale of log(1)/eps = 0 means. The value itself is released."""

    @property
    def variance(self) -> float:
        """0."""
        return 0.0

    def draw(self, steps: int, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        return np.zeros((steps, *shape))

    def log_ratio(self, observed: Array, first: Array, second: Array) -> Array:
        """+inf, -inf or 0; NaN for an output that neither dataset can give."""
        one = (observed == first).reshape(len(observed), -1).all(axis=1)
        other = (observed == second).reshape(len(observed), -1).all(axis=1)
        return np.select([one & other, one, other], [0.0, np.inf, -np.inf], default=np.nan)

    def event(self, what: str, changed: Sensitivity) -> Event:
        return Exposed(what=what)
