"""The noise laws of all mechanisms, of single releases and of a counter's nodes: draw, likelihood ratio, ledger event.

    draw(steps, shape, *, rng)             -> (steps, *shape), step after step: `steps` draws of one step
                                              each consume the same randomness as one draw of `steps`
    log_ratio(observed, first, second)     -> sum over all axes but the first of
                                              log p(observed - first) - log p(observed - second)
    event(what, changed)                   -> the ledger event of `changed` coordinates
    variance                               of one draw

The integer laws are exact given the generator's bits, the real ones are float64. All are replayable from a
seed: for verification, not for releasing real data.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.base.rounding import div_up, sqrt_up
from dpverify.errors import ParameterError
from dpverify.ledger import (
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    Exposed,
    GaussianNoise,
    LaplaceNoise,
    Sensitivity,
)
from mechanisms.toolbox import samplers as sampling

Array = npt.NDArray[Any]


class Noise(Protocol):
    """What a mechanism needs to know of its noise."""

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

    def with_noise(self, factor: float) -> Self:
        """The same law, `factor` > 0 times as wide."""
        ...


def _stepwise(draw_one: Callable[[], Array], steps: int) -> Array:
    return np.stack([draw_one() for _ in range(steps)])


def _over_trials(terms: Array) -> Array:
    totals: Array = terms.reshape(len(terms), -1).sum(axis=1)
    return totals


def _absolute_gap(observed: Array, first: Array, second: Array) -> Array:
    # |x - m1| - |x - m0|: of whole numbers as it stands, where 2 x could overflow; else a clipped line, whose two
    # plateaus, which carry atoms, come out without rounding
    if np.result_type(observed, first, second).kind == "i":
        closer: Array = (np.abs(observed - second) - np.abs(observed - first)).astype(np.float64)
        return closer
    move = first - second
    gap: Array = np.sign(move) * np.clip(2 * observed - first - second, -np.abs(move), np.abs(move))
    return gap


@dataclass(frozen=True)
class _ByScale:
    """Log probabilities -|x|/scale but for a constant: on the reals and on the integers alike."""

    scale: float

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.positive(scale=self.scale)

    def log_ratio(self, observed: Array, first: Array, second: Array) -> Array:
        return _over_trials(_absolute_gap(observed, first, second)) / self.scale

    def with_noise(self, factor: float) -> Self:
        require.positive(factor=factor)
        return replace(self, scale=factor * self.scale)


@dataclass(frozen=True)
class _BySigma:
    """Log probabilities -x^2/(2 sigma^2) but for a constant: on the reals and on the integers alike."""

    sigma: float

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.positive(sigma=self.sigma)

    def with_noise(self, factor: float) -> Self:
        require.positive(factor=factor)
        return replace(self, sigma=factor * self.sigma)


@dataclass(frozen=True)
class LaplaceNoiseLaw(_ByScale):
    """Density exp(-|x|/scale)/(2 scale)."""

    @property
    def variance(self) -> float:
        """2 scale^2."""
        return 2 * self.scale**2

    def draw(self, steps: int, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        return self.scale * _stepwise(lambda: sampling.laplace(rng, shape), steps)

    def event(self, what: str, changed: Sensitivity) -> Event:
        return LaplaceNoise(what=what, scale=self.scale, sensitivity=changed)


@dataclass(frozen=True)
class DiscreteLaplaceNoiseLaw(_ByScale):
    """Pr[k] = tanh(1/(2 scale)) exp(-|k|/scale) on the integers, sampled exactly: 2^-9 <= scale <= 2^52."""

    def __post_init__(self) -> None:
        require.own_numbers(self)
        sampling.require_scale(self.scale)

    @property
    def variance(self) -> float:
        """1 / (2 sinh^2(1/(2 scale))), at most 2 scale^2."""
        return 0.5 / math.sinh(0.5 / self.scale) ** 2

    def draw(self, steps: int, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        return _stepwise(lambda: sampling.discrete_laplace(rng, math.prod(shape), self.scale).reshape(shape), steps)

    def event(self, what: str, changed: Sensitivity) -> Event:
        return DiscreteLaplaceNoise(what=what, scale=self.scale, sensitivity=changed)


@dataclass(frozen=True)
class GaussianNoiseLaw(_BySigma):
    """N(0, sigma^2)."""

    @property
    def variance(self) -> float:
        """sigma^2."""
        return self.sigma**2

    def draw(self, steps: int, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        return self.sigma * rng.standard_normal((steps, *shape))

    def log_ratio(self, observed: Array, first: Array, second: Array) -> Array:
        towards = (observed - first) / self.sigma + (observed - second) / self.sigma  # squares would overflow
        return _over_trials((first - second) / self.sigma * towards) / 2

    def event(self, what: str, changed: Sensitivity) -> Event:
        return GaussianNoise(what=what, sigma=self.sigma, sensitivity=changed)


@dataclass(frozen=True)
class DiscreteGaussianNoiseLaw(_BySigma):
    """Pr[k] proportional to exp(-k^2/(2 sigma^2)) on the integers, sampled exactly: 2^-9 <= sigma <= 2^26."""

    def __post_init__(self) -> None:
        require.own_numbers(self)
        sampling.require_sigma(self.sigma)

    @property
    def variance(self) -> float:
        """sigma^2, which is never exceeded (Canonne, Kamath, Steinke 2020, Corollary 9)."""
        return self.sigma**2

    def draw(self, steps: int, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        return _stepwise(lambda: sampling.discrete_gaussian(rng, math.prod(shape), self.sigma).reshape(shape), steps)

    def log_ratio(self, observed: Array, first: Array, second: Array) -> Array:
        towards = (observed - first).astype(np.float64) + (observed - second)  # whole: all is exact up to the division
        return _over_trials((first - second) * towards) / (2 * self.sigma**2)

    def event(self, what: str, changed: Sensitivity) -> Event:
        return DiscreteGaussianNoise(what=what, sigma=self.sigma, sensitivity=changed)


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

    def with_noise(self, factor: float) -> Self:
        return self


def calibrated(
    coordinates: int, *, eps: float | None = None, rho: float | None = None, discrete: bool = False
) -> Noise:
    """The smallest noise for a vector of which `coordinates` entries move by at most 1, rounded up.

    eps-DP: (discrete) Laplace of scale coordinates/eps.  rho-zCDP: (discrete) Gaussian with
    sigma^2 = coordinates/(2 rho) (Bun, Steinke 2016, Proposition 1.6; Canonne, Kamath, Steinke 2020, Theorem 4).
    Exactly one of `eps` and `rho` is given.
    """
    require.integer(at_least=1, coordinates=coordinates)
    if (eps is None) == (rho is None):
        raise ParameterError("eps, rho", (eps, rho), "exactly one of the two")
    if eps is not None:
        require.positive(eps=eps)
        scale = div_up(coordinates, eps)
        return DiscreteLaplaceNoiseLaw(scale) if discrete else LaplaceNoiseLaw(scale)
    require.positive(rho=rho)
    assert rho is not None
    sigma = sqrt_up(Fraction(coordinates) / (2 * Fraction(rho)))
    return DiscreteGaussianNoiseLaw(sigma) if discrete else GaussianNoiseLaw(sigma)
