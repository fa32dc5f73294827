"""Losses of continuous noise: Laplace, Gaussian, and none at all.

A loss that is given as a fraction a is replaced by the next float above it: noise of a smaller scale can be turned into
noise of a larger one by adding more, so a larger loss dominates. For this float the forms below are exact, and what
floating point adds to them is stated (u = 2^-53; library functions are taken to err by at most 4u, and tested).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.accounting import grid_law
from dpverify.accounting.grid_law import Cells, GridLaw, TINY
from dpverify.accounting.loss import Loss
from dpverify.base.rounding import float_up, sqrt_up, UNIT
from dpverify.claims import profiles

Array = npt.NDArray[np.float64]

LARGE = 1000.0  # losses beyond it are charged in full, 0.1 % too much; their masses would be no floats
NARROW = 1 / 8  # cells narrower than this, in standard deviations, are integrated, wider ones are differences
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


@dataclass(frozen=True)
class LaplaceLoss(Loss):
    """Lap(b) moved by a b: under P the loss is a with 1/2, -a with e^-a/2, density e^((l-a)/2)/4 between.

    delta(x) = 1 - e^((x-a)/2) for |x| <= a and (1 - e^x)^+ outside.
    """

    eps: Fraction

    @property
    def pure(self) -> Fraction:
        return self.eps

    @cached_property
    def _a(self) -> float:
        return float_up(self.eps)

    @property
    def eta(self) -> float:
        """16u for exponentials, sums and products; exponents of at most a in size are off by u of it each."""
        return (16 + 2 * self._a) * UNIT

    @property
    def mu(self) -> float:
        """-2 Phi^-1(e^(-a/2)/2), rounded up.

        mu is the largest Phi^-1(1 - x) - Phi^-1(f(x)), f the trade-off curve. On its curved piece x = e^(-a/2+s)/2,
        f(x) = e^(-a/2-s)/2, |s| <= a/2: the difference is -g(-a/2+s) - g(-a/2-s), g(y) = Phi^-1(e^y/2). log(2 Phi) is
        concave and increasing, so its inverse g is convex, and the largest value is at s = 0. On the straight pieces
        the curve of a Gaussian, convex and below f at both ends, is below f.
        """
        return _twice_normal_quantile(math.exp(-self._a / 2) / 2)

    def renyi(self, alpha: float) -> float:
        """E[e^(cL)] - 1 = ((1 + c)(e^(ca) - 1) + c (e^(-(1+c)a) - 1))/(1 + 2c), c = alpha - 1 (Mironov 2017)."""
        a, c = self._a, alpha - 1
        share = c / alpha  # 1 + 2c may be no float
        if c * a > 1:
            log = math.log((1 + share * math.exp(-alpha * a - c * a)) / (1 + share))
            return min(a, (a + (log + 8 * UNIT * (c * a + 2)) / c) * (1 + 4 * UNIT))
        up, down = math.expm1(c * a), share * math.expm1(-alpha * a)
        return math.log1p((up + down + 8 * UNIT * (up - down)) / (1 + share)) / c * (1 + 16 * UNIT)

    def profile(self, eps: Array) -> Array:
        """As above; difference, quotient, expm1: 6u."""
        a = self._a
        inside = -np.expm1((np.maximum(eps, -a) - a) / 2)
        found = np.where(eps >= a, 0.0, np.where(eps <= -a, -np.expm1(np.minimum(eps, 0)), inside))
        return np.asarray(found * (1 + 8 * UNIT), dtype=np.float64)

    def on_points(self, points: Array) -> GridLaw:
        if self._a <= LARGE:
            return super().on_points(points)
        return grid_law.of_atoms(points, np.array([self._a]), np.ones(1), 0.0)  # all of it at the largest loss

    def cells(self, edges: Array) -> Cells:
        a = self._a
        inner = np.clip(edges, -a, a)
        low, width = inner[:-1], np.diff(inner)
        p = np.exp((low - a) / 2) * np.expm1(np.minimum(width / 2, 700)) / 2
        q = np.exp(-(low + a) / 2) * -np.expm1(-width / 2) / 2
        far = width > 1000  # e^(width/2) is no float; the cell reaches from low to low + width
        p[far] = np.exp((inner[1:][far] - a) / 2) / 2
        # 1 - e^(x_i - l) = (1 - e^-d) + e^-d (1 - e^-(l - low)), d = low - x_i; the second has the mean 4 sinh^2(w/4)
        shift = np.maximum(low - edges[:-1], 0.0)
        lift = np.exp((low - a) / 2 - shift) * 2 * np.sinh(np.minimum(width / 4, 350)) ** 2 - np.expm1(-shift) * p
        for at, masses in ((a, (0.5, math.exp(-a) / 2)), (-a, (math.exp(-a) / 2, 0.5))):
            cell = int(np.searchsorted(edges, at, side="left")) - 1
            if 0 <= cell < len(p):
                p[cell] += masses[0]
                q[cell] += masses[1]
                lift[cell] += masses[0] * -math.expm1(float(edges[cell]) - at)
        lift = np.where((edges[1:] <= -a) | (edges[:-1] >= a) | far, np.nan, lift)
        return Cells(p, q, self._below(float(edges[0])), self._above(float(edges[-1])), lift)

    def _below(self, x: float) -> tuple[float, float]:
        a = self._a
        if x < -a or x >= a:
            return (0.0, 0.0) if x < -a else (1.0, 1.0)
        return math.exp((x - a) / 2) / 2, 0.5 - math.expm1(-(x + a) / 2) / 2

    def _above(self, x: float) -> tuple[float, float]:
        a = self._a
        if x < -a or x >= a:
            return (1.0, 1.0) if x < -a else (0.0, 0.0)
        return 0.5 - math.expm1((x - a) / 2) / 2, math.exp(-(x + a) / 2) / 2


@dataclass(frozen=True)
class GaussianLoss(Loss):
    """N(0,1) against N(mu,1); `square` = mu^2. Any number of Gaussians is one Gaussian (Dong, Roth, Su 2022)."""

    square: Fraction

    @property
    def rho(self) -> Fraction:
        return self.square / 2

    @property
    def mu(self) -> float:
        """mu rounded up; outside what floats carry, the next larger number that they do."""
        if not Fraction(1, 10**300) < self.square < 10**300:
            return math.inf if self.square > 1 else 1e-150
        return sqrt_up(self.square)

    @property
    def eta(self) -> float:
        """Arguments x/mu -+ mu/2 of at most 40 are off by d = 4u (40 + 1.5 mu).

        Integrated cells: Gauss-Legendre of 12 points errs by less than 1e-19 (relative) for widths below 1/8,
        e^(-z^2/2) by (z^2 + 4) u + z d. Differences: a cell wider than 1/8 has at least a tenth of the tail that it
        is cut from, and densities at most 50 times its mass: 20 (z^2 + 8) u + 100 d. Both are below what is returned.
        """
        return 5e-12 + 1e-13 * min(self.mu, LARGE)

    def renyi(self, alpha: float) -> float:
        return float_up(self.square / 2 * Fraction(alpha))

    def profile(self, eps: Array) -> Array:
        return profiles.gaussian_deltas(self.mu, eps)

    def cells(self, edges: Array) -> Cells:
        """The loss is N(mu^2/2, mu^2) under P and N(-mu^2/2, mu^2) under Q; a larger mu dominates a tiny one."""
        mu = max(self.mu, 1e-100)
        if mu > LARGE:
            nothing = np.zeros(len(edges) - 1)
            return Cells(nothing, nothing, (0.0, 1.0), (1.0, 0.0))
        widths = np.diff(edges)
        p, q = (normal_cells(edges / mu + middle, widths / mu)[0] for middle in (-mu / 2, mu / 2))
        lift = normal_cells(edges / mu - mu / 2, widths / mu, mu)[1]
        low, high = float(edges[0]), float(edges[-1])
        below = float(special.ndtr(low / mu - mu / 2)), float(special.ndtr(low / mu + mu / 2))
        above = float(special.ndtr(mu / 2 - high / mu)), float(special.ndtr(-mu / 2 - high / mu))
        return Cells(p, q, below, (max(above[0], TINY), max(above[1], TINY)), lift)


def normal_cells(z: Array, width: Array, mu: float = 0.0) -> tuple[Array, Array]:
    """Phi(z_(i+1)) - Phi(z_i), from the side of the smaller tail, and the integral of (1 - e^(-mu (z - z_i))) phi(z).

    `width` are the exact widths; the second is NaN for wide cells.
    """
    left, right = z[:-1], z[1:]
    flip = left + right > 0
    wide = special.ndtr(np.where(flip, -left, right)) - special.ndtr(np.where(flip, -right, left))
    narrow, lift = np.zeros_like(wide), np.zeros_like(wide)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        part = width * ((node + 1) / 2)
        density = weight / 2 * np.exp(-((left + part) ** 2) / 2)
        narrow += density
        lift -= density * np.expm1(-mu * part)
    scale = width / math.sqrt(2 * math.pi)
    small = (width <= NARROW) & (mu * width <= NARROW)
    return np.where(width > NARROW, wide, narrow * scale), np.where(small, lift * scale, np.nan)


def _twice_normal_quantile(x: float) -> float:
    """-2 Phi^-1(x) for x <= 1/2, rounded up; the library is taken to err by 1e-13 (relative) of x."""
    return -2 * float(special.ndtri(x * (1 - 1e-13))) * (1 + 1e-13) + 1e-300 if x > 0 else math.inf


@dataclass(frozen=True)
class RevealedLoss(Loss):
    """Released without noise: delta = 1."""

    def profile(self, eps: Array) -> Array:
        return np.ones_like(eps)

    def cells(self, edges: Array) -> Cells:
        nothing = np.zeros(len(edges) - 1)
        return Cells(nothing, nothing, (0.0, 1.0), (1.0, 0.0))
