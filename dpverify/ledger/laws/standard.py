"""What a law answers, so that a pair of laws becomes a loss (`dominating_pairs`) and a mechanism can draw from it.

    log_density(z)      log of the density, -inf outside the support
    lives(low, high)    whether the density is positive inside of each cell, an interval without a knot inside
    inside(z, l, h)     log density at z in [l_i, h_i] as continued from the inside of that cell, and its error
    masses(edges)       mass of each (e_i, e_(i+1)], never a difference of two numbers near 1: relative error `eta`
    support             the closed interval outside of which the density is 0
    spread(tail)        an interval, both sides of which have mass of at most about `tail` (tightness, never safety)
    outside(low, high)  upper bound on the mass outside of [low, high]
    knots               where the density jumps or has a kink; it is smooth between them
    slope(l, h)         bounds on (log density)' in each interval (l_i, h_i) that contains no knot
    curvature(l, h)     the same for (log density)''
    sample(rng, size)   draws

Laws are frozen and hashable: they are parts of ledgers.
"""

import itertools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.base import require
from dpverify.base.rounding import as_float, UNIT
from dpverify.errors import ParameterError

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class Law(ABC):
    """Base of all laws on the real line with a density."""

    @property
    def eta(self) -> float:
        """Bound on the relative error of every mass."""
        return 64 * UNIT

    @property
    def support(self) -> tuple[float, float]:
        """(low, high); the whole line unless a law says otherwise."""
        return -np.inf, np.inf

    @property
    @abstractmethod
    def knots(self) -> tuple[float, ...]:
        """Increasing."""

    @abstractmethod
    def log_density(self, z: Array) -> Array:
        """Shape of z. At a knot either side will do. Error at most `log_error(z)`."""

    @abstractmethod
    def log_error(self, z: Array) -> Array:
        """Bound on the absolute error of `log_density`."""

    def lives(self, low: Array, high: Array) -> Flags:
        """Decided by comparing knots: between neighbouring floats there is no point to evaluate a density at."""
        first, last = self.support
        return np.asarray((low >= first) & (high <= last), dtype=np.bool_)

    def inside(self, z: Array, low: Array, high: Array) -> tuple[Array, Array]:
        """Of cells that live; the law as it is inside where z is an end of its cell and a knot."""
        return self.log_density(z), self.log_error(z)

    @abstractmethod
    def masses(self, edges: Array) -> Array:
        """For increasing finite edges, shape (len(edges) - 1,)."""

    @abstractmethod
    def spread(self, tail: float) -> tuple[float, float]:
        """Where all but about `tail` of the mass is."""

    def narrow_spreads(self, tail: float) -> list[tuple[float, float]]:
        """Intervals inside of it that need finer cells; tightness, never safety."""
        return []

    @abstractmethod
    def outside(self, low: float, high: float) -> float:
        """Mass of z < low and z > high, rounded up."""

    @abstractmethod
    def curvature(self, low: Array, high: Array) -> tuple[Array, Array]:
        """(least, largest) second derivative of the log density."""

    @abstractmethod
    def slope(self, low: Array, high: Array) -> tuple[Array, Array]:
        """(least, largest) first derivative of the log density."""

    @abstractmethod
    def sample(self, *, rng: np.random.Generator, size: int) -> Array:
        """Shape (size,)."""


# ----------------------------------------------------------------------------------------------------------------------
# Normal, Laplace and piecewise constant laws.


NARROW = 1 / 8  # intervals narrower than this, in standard deviations, are integrated, wider ones are differences
MOST_WIDTH = 1e100
LEAST_HEIGHT = 1e-250  # densities are floats
MOST_Z = 38.0  # beyond it a normal density is below the smallest floats
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


def _floats(law: Law, where: str, width: str) -> None:
    """The numbers of the law as floats; ParameterError for those whose squares are none."""
    for name in (where, width):
        object.__setattr__(law, name, as_float(name, getattr(law, name)))
    if not 1 / MOST_WIDTH <= getattr(law, width) <= MOST_WIDTH:
        raise ParameterError(width, getattr(law, width), f"between {1 / MOST_WIDTH:g} and {MOST_WIDTH:g}: rescale")
    if abs(getattr(law, where)) > MOST_WIDTH:
        raise ParameterError(where, getattr(law, where), f"at most {MOST_WIDTH:g} in size: rescale")


@dataclass(frozen=True)
class Normal(Law):
    """A normal law has mean `mean` and variance sigma^2.

    Parameters
    ----------
    mean : float
        Mean, at most 1e100 in size.
    sigma : float
        Standard deviation, between 1e-100 and 1e100, in the unit of the mean.

    Raises
    ------
    ParameterError
        For a mean or a sigma beyond these bounds, whose squares would not be floats, and NaN.

    Examples
    --------
    Gaussian noise of sigma 4 on a value that moves by 1:

    >>> from dpverify import account, Relation
    >>> from dpverify.ledger import DominatingPair, Ledger, Normal
    >>> step = DominatingPair(p=Normal(1.0, 4.0), q=Normal(0.0, 4.0), relation=Relation.REPLACE_ONE)
    >>> round(account(Ledger(step), delta=1e-5), 4)
    0.9263
    """

    mean: float
    sigma: float

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.finite(mean=self.mean)
        require.positive(sigma=self.sigma)
        _floats(self, "mean", "sigma")

    @property
    def eta(self) -> float:
        """For |z| <= 40 sigma: (z^2 + 8) u of a density, 100 times an argument's error of a difference of tails."""
        return 1e-11

    @property
    def knots(self) -> tuple[float, ...]:
        return ()

    def log_density(self, z: Array) -> Array:
        return -(((z - self.mean) / self.sigma) ** 2) / 2 - math.log(self.sigma) - math.log(2 * math.pi) / 2

    def log_error(self, z: Array) -> Array:
        return 8 * UNIT * (np.abs(self.log_density(z)) + abs(math.log(self.sigma)) + 1)

    def masses(self, edges: Array) -> Array:
        """Narrow: Gauss-Legendre of 8 points (error below 1e-17); wide: from the side of the smaller tail."""
        z, width = (edges - self.mean) / self.sigma, np.diff(edges) / self.sigma
        left, right = z[:-1], z[1:]
        flip = left + right > 0
        wide = special.ndtr(np.where(flip, -left, right)) - special.ndtr(np.where(flip, -right, left))
        narrow = np.zeros_like(wide)
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            narrow += weight / 2 * np.exp(-((left + width * ((node + 1) / 2)) ** 2) / 2)
        narrow *= width / math.sqrt(2 * math.pi)
        return np.asarray(np.where(width > NARROW, wide, narrow), dtype=np.float64)

    def spread(self, tail: float) -> tuple[float, float]:
        reach = min(MOST_Z, -float(special.ndtri(max(tail, 1e-300))) + 1e-9) * self.sigma
        return self.mean - reach, self.mean + reach

    def outside(self, low: float, high: float) -> float:
        tails = special.ndtr((low - self.mean) / self.sigma) + special.ndtr((self.mean - high) / self.sigma)
        return float(tails) * (1 + self.eta) + 1e-300

    def curvature(self, low: Array, high: Array) -> tuple[Array, Array]:
        both = np.full(len(low), -1 / self.sigma**2)
        return both * (1 + 8 * UNIT), both * (1 - 8 * UNIT)

    def slope(self, low: Array, high: Array) -> tuple[Array, Array]:
        return (self.mean - high) / self.sigma**2, (self.mean - low) / self.sigma**2

    def sample(self, *, rng: np.random.Generator, size: int) -> Array:
        return rng.normal(self.mean, self.sigma, size)


@dataclass(frozen=True)
class LaplaceLaw(Law):
    """A Laplace law has the density e^(-|z - mean|/scale)/(2 scale).

    Parameters
    ----------
    mean : float
        Mean, at most 1e100 in size.
    scale : float
        Scale, between 1e-100 and 1e100, in the unit of the mean; the standard deviation is sqrt(2) scale.

    Raises
    ------
    ParameterError
        For a mean or a scale beyond these bounds, whose squares would not be floats, and NaN.

    Examples
    --------
    Laplace noise of scale 2 on a value that moves by 1:

    >>> from dpverify import account, Relation
    >>> from dpverify.ledger import DominatingPair, LaplaceLaw, Ledger
    >>> step = DominatingPair(p=LaplaceLaw(1.0, 2.0), q=LaplaceLaw(0.0, 2.0), relation=Relation.REPLACE_ONE)
    >>> round(account(Ledger(step)), 6)
    0.5
    """

    mean: float
    scale: float

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.finite(mean=self.mean)
        require.positive(scale=self.scale)
        _floats(self, "mean", "scale")

    @property
    def eta(self) -> float:
        """Exponents of at most 800 are off by 2u of them, the rest by 16u."""
        return 2000 * UNIT

    @property
    def knots(self) -> tuple[float, ...]:
        return (self.mean,)

    def log_density(self, z: Array) -> Array:
        return -np.abs(z - self.mean) / self.scale - math.log(2 * self.scale)

    def log_error(self, z: Array) -> Array:
        return 8 * UNIT * (np.abs(z - self.mean) / self.scale + abs(math.log(2 * self.scale)) + 1)

    def masses(self, edges: Array) -> Array:
        """Each half by itself; a half is e^(-near) (1 - e^(-width))/2, near the distance of its inner end."""
        low, high = edges[:-1], edges[1:]
        right = self._half(low - self.mean, high - self.mean, high - low)
        return right + self._half(self.mean - high, self.mean - low, high - low)

    def _half(self, near: Array, far: Array, width: Array) -> Array:
        """Of distances from the mean, negative ones on the other side; a width is not a difference of two of them."""
        width = np.where(near > 0, width, np.maximum(far, 0.0))
        return np.exp(-np.maximum(near, 0.0) / self.scale) * -np.expm1(-width / self.scale) / 2

    def spread(self, tail: float) -> tuple[float, float]:
        reach = -math.log(max(tail, 1e-300)) * self.scale
        return self.mean - reach, self.mean + reach

    def outside(self, low: float, high: float) -> float:
        tails = [np.exp(-max(far, 0.0) / self.scale) for far in (self.mean - low, high - self.mean)]
        return float(sum(tails)) / 2 * (1 + self.eta) + 1e-300

    def curvature(self, low: Array, high: Array) -> tuple[Array, Array]:
        return np.zeros(len(low)), np.zeros(len(low))

    def slope(self, low: Array, high: Array) -> tuple[Array, Array]:
        slope = np.where(low >= self.mean, -1.0, 1.0) / self.scale
        return slope, slope

    def sample(self, *, rng: np.random.Generator, size: int) -> Array:
        return rng.laplace(self.mean, self.scale, size)


@dataclass(frozen=True)
class PiecewiseConstant(Law):
    """A piecewise constant law has a density proportional to `heights[i]` on (edges[i], edges[i+1]).

    Bounded noise is such a law, and so are staircases. The density is 0 outside of the edges.

    Parameters
    ----------
    edges : tuple of float
        Where the pieces end, increasing, one more than there are heights; at most 1e100 in size, and 1e-100 apart.
    heights : tuple of float
        The density on each piece, up to a common factor: each 0 or at least 1e-250 of the largest, and not all 0.

    Raises
    ------
    ParameterError
        Unless the edges increase and the heights are finite, not negative and not all 0, and where sizes are such that
        areas would not be floats: widths below 1e-100, edges above 1e100, heights other than 0 below 1e-250 of the
        largest.

    Examples
    --------
    Two laws on the same two pieces, with chances of 3/4 and 1/4 that are exchanged:

    >>> from dpverify import account, Relation
    >>> from dpverify.ledger import DominatingPair, Ledger, PiecewiseConstant
    >>> p, q = (PiecewiseConstant((0.0, 1.0, 2.0), heights) for heights in ((3.0, 1.0), (1.0, 3.0)))
    >>> step = DominatingPair(p=p, q=q, relation=Relation.REPLACE_ONE)
    >>> round(account(Ledger(step)), 4)
    1.0986
    """

    edges: tuple[float, ...]
    heights: tuple[float, ...]

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.several(object, edges=self.edges, heights=self.heights)
        object.__setattr__(self, "edges", tuple(self.edges))
        object.__setattr__(self, "heights", tuple(self.heights))
        require.finite(**{f"edges[{i}]": each for i, each in enumerate(self.edges)})
        require.non_negative(**{f"heights[{i}]": each for i, each in enumerate(self.heights)})
        for name in ("edges", "heights"):
            object.__setattr__(self, name, tuple(as_float(name, each) for each in getattr(self, name)))
        if len(self.edges) != len(self.heights) + 1 or not all(a < b for a, b in itertools.pairwise(self.edges)):
            raise ParameterError("edges", self.edges, "increasing, one more than there are heights")
        if (
            any(b - a < 1 / MOST_WIDTH for a, b in itertools.pairwise(self.edges))
            or max(map(abs, self.edges)) > MOST_WIDTH
        ):
            raise ParameterError(
                "edges", self.edges, f"at most {MOST_WIDTH:g}, pieces {1 / MOST_WIDTH:g} wide: rescale"
            )
        if not any(self.heights):
            raise ParameterError("heights", self.heights, "not all 0")
        if any(0 < each < LEAST_HEIGHT * max(self.heights) for each in self.heights):
            raise ParameterError("heights", self.heights, f"0 or at least {LEAST_HEIGHT:g} of the largest")

    @property
    def support(self) -> tuple[float, float]:
        return float(self.edges[0]), float(self.edges[-1])

    @property
    def knots(self) -> tuple[float, ...]:
        return tuple(float(edge) for edge in self.edges)

    @property
    def _density(self) -> Array:
        """Heights over the whole area; sums of positive numbers."""
        heights = np.array(self.heights, dtype=np.float64)
        heights = np.ldexp(heights, -math.frexp(float(heights.max()))[1])  # so that no product is too large
        return heights / math.fsum(heights * np.diff(np.array(self.edges, dtype=np.float64)))

    def _piece(self, z: Array) -> tuple[npt.NDArray[np.int64], Flags]:
        """The piece that begins at z or goes on there, and whether there is one."""
        piece = np.searchsorted(np.array(self.edges, dtype=np.float64), z, side="right") - 1
        return piece.clip(0, len(self.heights) - 1), (piece >= 0) & (piece < len(self.heights))

    def log_density(self, z: Array) -> Array:
        piece, inside = self._piece(z)
        with np.errstate(divide="ignore"):
            return np.where(inside, np.log(self._density)[piece], -np.inf)

    def log_error(self, z: Array) -> Array:
        found = self.log_density(z)
        return 8 * UNIT * (np.where(np.isfinite(found), np.abs(found), 0.0) + 8)

    def lives(self, low: Array, high: Array) -> Flags:
        """A cell is part of the piece that goes on at its lower end."""
        piece, inside = self._piece(low)
        return np.asarray(inside & (np.array(self.heights)[piece] > 0), dtype=np.bool_)

    def inside(self, z: Array, low: Array, high: Array) -> tuple[Array, Array]:
        return self.log_density(low), self.log_error(low)

    def masses(self, edges: Array) -> Array:
        """Overlap with each piece, summed."""
        ends, total = np.array(self.edges, dtype=np.float64), np.zeros(len(edges) - 1)
        for low, high, density in zip(ends[:-1], ends[1:], self._density, strict=True):
            total += density * np.maximum(np.minimum(edges[1:], high) - np.maximum(edges[:-1], low), 0.0)
        return total

    def spread(self, tail: float) -> tuple[float, float]:
        return self.support

    def outside(self, low: float, high: float) -> float:
        first, last = self.support
        ends = [first, max(first, min(low, last)), min(last, max(high, first)), last]
        return float(self.masses(np.array(ends[:2]))[0] + self.masses(np.array(ends[2:]))[0]) * (1 + self.eta)

    def curvature(self, low: Array, high: Array) -> tuple[Array, Array]:
        return np.zeros(len(low)), np.zeros(len(low))

    def slope(self, low: Array, high: Array) -> tuple[Array, Array]:
        return np.zeros(len(low)), np.zeros(len(low))

    def sample(self, *, rng: np.random.Generator, size: int) -> Array:
        ends = np.array(self.edges, dtype=np.float64)
        area = self._density * np.diff(ends)
        piece = rng.choice(len(area), size=size, p=area / area.sum())
        return np.asarray(ends[piece] + rng.random(size) * np.diff(ends)[piece], dtype=np.float64)
