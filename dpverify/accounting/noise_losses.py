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

from dpverify.accounting import loss_laws
from dpverify.accounting.discrete_losses import AtomicLoss, both_ways, DirectedLoss, Order, Orders
from dpverify.accounting.loss_laws import Cells, ConvertedLoss, GridLaw, Loss, TINY
from dpverify.base.rounding import float_down, float_up, sqrt_up, UNIT
from dpverify.claims import profiles
from dpverify.ledger.events import Direction, pure_to_zcdp

Array = npt.NDArray[np.float64]

LARGE = 1000.0  # losses beyond it are charged in full, 0.1 % too much; their masses would be no floats
NARROW = 1 / 8  # cells narrower than this, in standard deviations, are integrated, wider ones are differences
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


@dataclass(frozen=True)
class LaplaceLoss(Loss):
    """A LaplaceLoss is the loss of Laplace noise of scale b that is moved by a b.

    Parameters
    ----------
    eps : Fraction
        a, how far it is moved over its scale.

    Notes
    -----
    Under P the loss is a with 1/2, -a with e^-a/2, density e^((l-a)/2)/4 between. delta(x) = 1 - e^((x-a)/2) for |x| <=
    a and (1 - e^x)^+ outside.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> LaplaceLoss(Fraction(1)).profile(np.array([0.0, 1.0])).round(4).tolist()
    [0.3935, 0.0]
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

    @property
    def rho(self) -> Fraction:
        """a - 1 + e^-a, rounded up (Harrison, Manurangsi, FORC 2026): the KL divergence, so no smaller one is true.

        With c = alpha - 1, E(a) = E_P[e^(cL)] as in `renyi`. To show: log E(a) <= c (1 + c) (a - 1 + e^-a). Both sides
        are 0 at a = 0. Their derivatives are in this order where 1 - z^n <= (1 - z) ((n + 1)/2 + z^n (n - 1)/2), z =
        e^-a, n = 1 + 2c. Right less left is 0 at z = 1. Its derivative is (n + 1)/2 times n z^(n-1) - 1 - (n - 1) z^n,
        which is at most 0 (inequality of means), so right less left is at least 0 for z <= 1.
        """
        rounded = self._a + math.expm1(-self._a) + self._a * 2.0**-50  # three roundings, each below a 2^-52
        if not 2.0**-26 < rounded < math.inf:  # the difference would lose its digits
            return pure_to_zcdp(self.eps)
        return min(pure_to_zcdp(self.eps), Fraction(rounded))

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
        return loss_laws.of_atoms(points, np.array([self._a]), np.ones(1), 0.0)  # all of it at the largest loss

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
    """A GaussianLoss is the loss of N(0,1) against N(mu,1).

    Parameters
    ----------
    square : Fraction
        mu^2, with mu how far the noise is moved over its standard deviation.

    Notes
    -----
    Any number of Gaussians is one Gaussian, whose mu^2 is the sum of theirs (Dong, Roth, Su 2022).

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> loss = GaussianLoss(Fraction(1))
    >>> loss.rho, loss.mu, loss.profile(np.array([1.0])).round(4).tolist()
    (Fraction(1, 2), 1.0, [0.1269])
    """

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
    """Compute what a standard normal law has between consecutive points.

    Parameters
    ----------
    z : array of float, shape (n + 1,)
        The points, increasing.
    width : array of float, shape (n,)
        Their exact distances.
    mu : float
        Of the second result.

    Returns
    -------
    tuple of two arrays of float, shape (n,)
        Phi(z_(i+1)) - Phi(z_i), from the side of the smaller tail, and the integral of (1 - e^(-mu (z - z_i))) phi(z);
        the second is NaN for wide cells.

    Examples
    --------
    >>> import numpy as np
    >>> masses, _ = normal_cells(np.array([-1.0, 0.0, 1.0]), np.array([1.0, 1.0]))
    >>> masses.round(4).tolist()
    [0.3413, 0.3413]
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
    """A RevealedLoss is the loss of what is released without noise: delta is 1 at every eps.

    Examples
    --------
    >>> import numpy as np
    >>> RevealedLoss().profile(np.array([0.0, 5.0])).tolist()
    [1.0, 1.0]
    """

    def profile(self, eps: Array) -> Array:
        return np.ones_like(eps)

    def cells(self, edges: Array) -> Cells:
        nothing = np.zeros(len(edges) - 1)
        return Cells(nothing, nothing, (0.0, 1.0), (1.0, 0.0))


# ----------------------------------------------------------------------------------------------------------------------
# Losses of noise on integers: discrete Laplace, discrete Gaussian, binomial.
#
# A shift by s of integer noise X compares P = law of X with Q = law of X + s: P against Q is the direction UP,
# Q against P is DOWN. The outputs are listed in a window of 12 standard deviations; the mass of P outside is charged
# as infinite loss. Inside the window the probabilities are the true ones, not those of a truncated noise.
#
# Of so many outputs that they are not listed one by one, blocks of m neighbours stand for their outputs: `_in_blocks`.


MOST_ATOMS = 4_000_000  # beyond this a law is too long to list one by one
BLOCKS = 2**16  # of many outputs
LEAST_MOVED, MOST_MOVED = 1e-100, 1e3  # in units of the noise, where outputs are put into blocks
MOST_FLIPS = 10**10  # of a binomial; more hide no less
LEAST_IN_BLOCKS = 1e5  # discrete Gaussian noise of which outputs are put into blocks: next outputs are alike
LEAST_SIGMA = 1e-3  # losses of less noise than this are above 10^5
HALF_WIDTH = 12.0  # of a window, in standard deviations
OUTSIDE = 4e-33  # twice the normal tail beyond 12
_LONG = float(np.finfo(np.longdouble).eps)  # twice the unit roundoff of the widest float


@dataclass(frozen=True)
class DiscreteLaplaceLoss(AtomicLoss):
    """A DiscreteLaplaceLoss is the loss of noise on integers with Pr[k] ~ exp(-|k|/b).

    Parameters
    ----------
    scale : Fraction
        b.
    shift : int
        s, by how much it is moved.

    Notes
    -----
    The losses are (s - 2x)/b for x = 0..s, so `pure` is s/b.

    Examples
    --------
    >>> from fractions import Fraction
    >>> DiscreteLaplaceLoss(Fraction(2), 1).pure
    Fraction(1, 2)
    """

    scale: Fraction
    shift: int

    @property
    def pure(self) -> Fraction:
        return self.shift / self.scale

    @property
    def listable(self) -> bool:
        return self.shift < MOST_ATOMS or self.pure < MOST_MOVED

    def orders(self) -> Orders:
        """The two ends gather everything beyond them. Losses err by 4u (relative), exponents x/b by 4u, too."""
        if self.shift >= MOST_ATOMS:
            return self._blocks()
        b = max(float(self.scale), TINY)
        ratio = math.exp(-1 / b)
        x = np.arange(self.shift + 1, dtype=np.float64)
        # -expm1(-1/b) = 1 - ratio
        p = -math.expm1(-1 / b) / (1 + ratio) * np.exp(-x / b)
        p[0] = 1 / (1 + ratio)
        p[-1] = math.exp(-self.shift / b) / (1 + ratio)
        loss = (self.shift - 2 * x) / b
        p *= 1 + (8 * np.minimum(x / b, 1e4) + 32) * UNIT
        slack = (16 * min(self.shift / b, 1e4) + 80) * UNIT
        return both_ways(Order.of(loss + 4 * UNIT * np.abs(loss), p, slack=slack))

    def _blocks(self) -> Orders:
        """The outputs 1..s in blocks of m, the last one up to s at most; those up to 0 apart (see `_in_blocks`).

        Block i, x = i m + 1, ..., (i + 1) m, has the P-mass (1 - r)/(1 + r) e^(-i m/b) r (1 - r^m)/(1 - r) with r =
        e^(-1/b). The last block makes the shift longer than s, and a longer one dominates.
        """
        m = -(-self.shift // BLOCKS)
        count = -(-self.shift // m)
        width, unit = float(m / self.scale), float(1 / self.scale)
        whole = count * width
        i = np.arange(count, dtype=np.float64)
        share = 1 + math.exp(-unit)
        p = np.exp(-i * width) * (math.exp(-unit) * -math.expm1(-width) / share)
        ends = whole - 2 * np.append(i, count) * width
        loss, p = _in_blocks(ends, p, m, 2 * unit, np.full(count, math.exp(width)))
        # x <= 0 has 1/(1 + r) and the largest loss, x > s the rest of the last block's law
        loss = np.concatenate([[whole], loss, [-whole]])
        p = np.concatenate([[1 / share], p, [math.exp(-whole - unit) / share]]) * (1 + (16 * whole + 64) * UNIT)
        return both_ways(Order.of(loss + 8 * UNIT * whole, p, slack=(32 * whole + 128) * UNIT))


def _in_blocks(ends: Array, p: Array, m: int, gap: float, skew: Array) -> tuple[Array, Array]:
    """Atoms at the ends of blocks, above blocks of m outputs each whose losses fall by `gap` from one to the next.

    Block i has the losses ends[i] - j gap, j = 1..m, ends[i + 1] = ends[i] - m gap, and P-mass at most p[i], in which
    no output has more than skew[i] times the mass of a later one. Each output is put on the two ends of its block with
    its Q-mass kept (`loss_laws`, Lemma 1): the share (1 - e^(-(m - j) gap))/(1 - e^(-m gap)) <= (m - j)/(m (1 - m
    gap/2)) goes to the upper end. Over the block that comes to at most `skew` (m - 1)/(2 m)/(1 - m gap/2): shares fall,
    so masses that rise would bring it below the plain mean (Chebyshev's sum inequality).
    """
    mean = (m - 1) / (2 * m) / (1 - m * gap / 2) * (1 + 16 * UNIT) if m * gap < 2 else 1.0
    share = np.minimum(1.0, skew * mean)
    masses = np.zeros(len(ends))
    masses[:-1] += p * share
    masses[1:] += p * (1 - share)
    return ends, masses


@dataclass(frozen=True)
class DiscreteGaussianLoss(AtomicLoss):
    """A DiscreteGaussianLoss is the loss of noise on integers with Pr[k] ~ exp(-k^2/(2 sigma^2)).

    Parameters
    ----------
    sigma : Fraction
        The parameter of the noise.
    shift : int
        s, by how much it is moved.

    Notes
    -----
    The losses are (s^2 - 2 s x)/(2 sigma^2). rho = s^2/(2 sigma^2) (Canonne, Kamath, Steinke 2020, Theorem 4). The mass
    beyond 12 sigma is below `OUTSIDE`: sums over |k| > 12 sigma are at most the integral, the normaliser is at least
    sigma sqrt(2 pi) (Poisson summation).

    Examples
    --------
    >>> from fractions import Fraction
    >>> DiscreteGaussianLoss(Fraction(2), 1).rho
    Fraction(1, 8)
    """

    sigma: Fraction
    shift: int

    @property
    def rho(self) -> Fraction:
        return Fraction(self.shift) ** 2 / (2 * self.sigma**2)

    def renyi(self, alpha: float) -> float:
        return float_up(self.rho * Fraction(alpha))

    @property
    def _many(self) -> bool:
        return not (2 * HALF_WIDTH * self.sigma < MOST_ATOMS and self.shift < MOST_ATOMS)

    @property
    def listable(self) -> bool:
        return not self._many or (
            self.sigma > LEAST_IN_BLOCKS and LEAST_MOVED < self.shift / self.sigma < MOST_MOVED  # else by its rho
        )

    def _blocks(self) -> Orders:
        """Blocks of m outputs, see `_in_blocks`.

        The mass of an output k is at most phi(k/sigma)/sigma, the normaliser being at least sigma sqrt(2 pi); and the
        mean over |t| <= 1/2 of e^(-(k+t)^2/(2 sigma^2)) is at least e^(-k^2/(2 sigma^2)) (1 - 1/(24 sigma^2)), the mean
        of e^(-k t/sigma^2) being at least 1. So the normal law has the mass of a block, up to that, between its first
        output less 1/2 and its last one and 1/2. Points of size z are off by 3u z, so densities by 5u z^2; weights,
        sums and scales by 32u. Masses of a block fall by at most e^(z m/sigma), z its last point, or they rise.
        """
        sigma = float_down(self.sigma)
        m = math.ceil(2 * int(HALF_WIDTH) * Fraction(sigma) / BLOCKS)
        width, moved = float(m / Fraction(sigma)), float(self.shift / Fraction(sigma))
        half = math.ceil(HALF_WIDTH / width) + 1  # blocks on either side
        first = np.arange(-half, half + 1, dtype=np.float64) * width  # block i: the m outputs above first[i] sigma
        size = np.maximum(np.abs(first[:-1]), np.abs(first[1:])) + 1 / sigma
        p = normal_cells(first + 0.5 / sigma, np.full(2 * half, width))[0]
        p *= 1 + 1 / (23 * sigma**2) + (8 * size**2 + 64) * UNIT
        skew = np.exp(np.maximum(first[1:], 0.0) * width * (1 + 8 * UNIT)) * (1 + 4 * UNIT)
        loss, p = _in_blocks(moved**2 / 2 - moved * first, p, m, moved / sigma, skew)
        loss += 8 * UNIT * (moved**2 / 2 + moved * np.abs(first))
        return both_ways(Order.of(loss, p, infinite=OUTSIDE))

    def orders(self) -> Orders:
        """Exponents err by 8u (relative), the normaliser by 16u; terms of a loss by 8u of their sizes."""
        if self._many:
            return self._blocks()
        sigma = float_down(self.sigma)
        if sigma < LEAST_SIGMA:
            return both_ways(Order.of(np.zeros(0), np.zeros(0), infinite=1.0))
        half = math.ceil(HALF_WIDTH * sigma) + 1
        x = np.arange(-half, half + 1, dtype=np.float64)
        exponent = (x / sigma) ** 2 / 2
        weight = np.exp(-exponent)
        p = weight / math.fsum(weight) * (1 + (8 * np.minimum(exponent, 1e4) + 48) * UNIT)
        loss = (self.shift**2 - 2 * self.shift * x) / (2 * sigma**2)
        size = (self.shift**2 + 2 * self.shift * np.abs(x)) / (2 * sigma**2)
        return both_ways(Order.of(loss + 8 * UNIT * size, p, infinite=OUTSIDE))


@dataclass(frozen=True)
class BinomialLoss(DirectedLoss):
    """A BinomialLoss is the loss of binomial noise Bin(n, c).

    Parameters
    ----------
    trials : int
        n, the number of bits.
    probability : Fraction
        c, the chance of each bit.
    shift : int
        s, by how much it is moved.
    direction : Direction, optional
        UP or DOWN where it is stated. None: the worse one is charged.

    Notes
    -----
    It is not symmetric unless c = 1/2, and s outputs of each law are impossible under the other. Of more than
    `MOST_FLIPS` bits the others are noise that is added afterwards.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> loss = BinomialLoss(2, Fraction(1, 2), 1)  # (1, 2, 1)/4 against itself one further
    >>> loss.profile(np.array([0.0])).round(4).tolist()
    [0.5]
    """

    trials: int
    probability: Fraction
    shift: int

    @property
    def listable(self) -> bool:
        return 2 * HALF_WIDTH * math.sqrt(min(self.trials, MOST_FLIPS)) + self.shift < MOST_ATOMS

    def orders(self) -> Orders:
        up = self._order(self.probability)
        if self.probability == Fraction(1, 2):
            return both_ways(up)
        # Q against P of X is P against Q of n - X, a binomial of 1 - c
        return {Direction.UP: (up,), Direction.DOWN: (self._order(1 - self.probability),)}

    def _order(self, chance: Fraction) -> Order:
        """From ratios r(x) = pmf(x)/pmf(x-1) = (n-x+1) c/(x (1-c)), each off by 6 long units; m steps from the mode a
        product is off by 6 m of them, and so is the normaliser. log pmf(x)/pmf(x-s) is a difference of running sums
        of log r. What lies outside is at most the next weight over 1 minus its ratio, on either side.
        """
        n, s = min(self.trials, MOST_FLIPS), self.shift
        if chance in (0, 1):
            return Order.of(np.zeros(0), np.zeros(0), infinite=1.0) if s else Order.of(np.zeros(1), np.ones(1))
        odds = np.longdouble(chance.numerator) / np.longdouble(chance.denominator - chance.numerator)
        mean, mode = float(n * chance), int((n + 1) * chance)
        mode = min(mode, n)
        spread = HALF_WIDTH * math.sqrt(mean * float(1 - chance)) + 40
        low, high = max(0, math.floor(mean - spread)), min(n, math.ceil(mean + spread))
        x = np.arange(low, high + 1)
        long = x.astype(np.longdouble)
        with np.errstate(divide="ignore"):
            ratio = (n - long + 1) * odds / np.where(long > 0, long, 1)  # that of x = low is not used for weights
        at = mode - low
        weight = np.ones(len(x), dtype=np.longdouble)
        weight[at + 1 :] = np.cumprod(ratio[at + 1 :])
        weight[:at] = np.cumprod(1 / ratio[1 : at + 1][::-1])[::-1]
        total = weight.sum()
        error = 8 * _LONG * (len(x) + 8)
        up = float((n - high) * odds / (high + 1))
        down = float(low / ((n - low + 1) * odds))
        outside = float(weight[-1] / total) * up / (1 - up) if high < n else 0.0
        outside += float(weight[0] / total) * down / (1 - down) if low > 0 else 0.0
        p = np.asarray(weight / total, dtype=np.float64) * (1 + 2 * error + 8 * UNIT)
        # x < s is impossible under Q; from there on the ratios of s steps, those below the window included
        possible = x >= s
        infinite = (outside * (1 + error) + math.fsum(p[~possible])) * (1 + 8 * UNIT)
        steps = np.arange(max(low - s, 0) + 1, high + 1).astype(np.longdouble)
        running = np.concatenate([[0], np.cumsum(np.log((n - steps + 1) * odds / steps))])
        start = max(low - s, 0)
        ends = x[possible] - start
        loss = np.asarray(running[ends] - running[ends - s], dtype=np.float64)
        most = float(np.abs(running).max(initial=0))
        slack = 4 * _LONG * (len(steps) + 8) * (most + 1) + 2 * UNIT * np.abs(loss)
        return Order.of(loss + slack, p[possible], infinite=infinite)


# ----------------------------------------------------------------------------------------------------------------------
# What is known only as rho-zCDP: Renyi divergences of all orders, and no pair of laws.


@dataclass(frozen=True)
class ConcentratedLoss(ConvertedLoss):
    """A ConcentratedLoss is the loss of what is known as rho-zCDP alone.

    It is composed with others through its Renyi divergences.

    Parameters
    ----------
    rho_claimed : Fraction
        rho: D_alpha <= rho alpha for every order.

    Examples
    --------
    >>> from fractions import Fraction
    >>> ConcentratedLoss(Fraction(1, 8)).renyi(4.0)
    0.5
    """

    rho_claimed: Fraction

    @property
    def rho(self) -> Fraction:
        return self.rho_claimed

    def renyi(self, alpha: float) -> float:
        return float_up(self.rho_claimed * Fraction(alpha))

    def delta(self, eps: float) -> float:
        return profiles.zcdp_delta(float_up(self.rho_claimed), eps)
