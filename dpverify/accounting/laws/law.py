"""What a law answers, so that a pair of laws becomes a privacy loss (`pair_loss`) and a mechanism can draw from it.

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

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from dpverify.base.rounding import UNIT

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
