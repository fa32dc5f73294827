"""Losses of discrete laws: responses, integer noise and laws that are written down.

An `Order` is P against Q as a list of atoms: upper bounds of the losses log p/q that P meets, upper bounds of their
masses, and the mass at infinite loss. That is all that a bound needs: with l the loss of an output,
delta(eps) = infinite + sum of p (1 - e^(eps - l)) over the outputs with l > eps, and each term grows with p and l.
So no output is lost to a rounded comparison, and every sum has positive terms.

A shift by s of integer noise X compares P = law of X with Q = law of X + s: P against Q is the direction UP,
Q against P is DOWN. The outputs are listed in a window of 12 standard deviations; the mass of P outside is charged
as infinite loss. Inside the window the probabilities are the true ones, not those of a truncated noise.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.accounting import grid_law
from dpverify.accounting.divergence import laws, log_ratios, max_log_ratio
from dpverify.accounting.grid_law import Cells, GridLaw, TINY
from dpverify.accounting.ledger import Direction
from dpverify.accounting.loss import Exact, Loss, renyi_of
from dpverify.base.rounding import as_fraction, float_down, float_up, UNIT

Array = npt.NDArray[np.float64]

MOST_ATOMS = 4_000_000  # beyond this a law is too long to list and only its zCDP parameter is used
MOST_LOSS = 1e6  # larger ones are charged as infinite; sums of largest losses are known apart from that
LEAST_LOSS = -700.0  # smaller ones are charged as this: e^700 is a float
LEAST_SIGMA = 1e-3  # losses of less noise than this are above 10^5
MOST_RENYI = 2**13  # atoms of a Renyi divergence; more are gathered at some of them
HALF_WIDTH = 12.0  # of a window, in standard deviations
OUTSIDE = 4e-33  # twice the normal tail beyond 12
_LONG = float(np.finfo(np.longdouble).eps)  # twice the unit roundoff of the widest float


@dataclass(frozen=True, eq=False)
class Order:
    """P against Q: atoms by decreasing loss, upper bounds both; and the mass at infinite loss."""

    loss: Array
    p: Array
    infinite: float
    slack: float  # masses are at most this share too large, or TINY

    @classmethod
    def of(cls, loss: Array, p: Array, *, infinite: float = 0.0, slack: float = 1.0) -> "Order":
        """From upper bounds in any order; masses that floats carry badly are raised, losses too (MOST_LOSS, LEAST)."""
        beyond = ~(loss <= MOST_LOSS)  # NaN is beyond
        infinite += math.fsum(p[beyond])
        loss, p = np.maximum(loss[~beyond], LEAST_LOSS), p[~beyond]
        order = np.argsort(-loss, kind="stable")
        return cls(loss[order], np.maximum(p[order], TINY), infinite, slack)

    def delta(self, eps: float) -> float:
        """The sum above; its terms err by 6u each."""
        above = int(np.searchsorted(-self.loss, -eps, side="left"))
        terms = self.p[:above] * -np.expm1(eps - self.loss[:above])
        return min(1.0, (self.infinite + math.fsum(terms)) * (1 + 12 * UNIT))

    def on_points(self, points: Array) -> GridLaw:
        return grid_law.of_atoms(points, self.loss, self.p, self.infinite)

    def renyi(self, alpha: float) -> float:
        if self.infinite > 0:
            return math.inf
        few = self._few
        return renyi_of(few.p, few.loss, alpha, few.slack) if len(few.loss) else 0.0

    @cached_property
    def _few(self) -> "Order":
        """A law above it at every so many of its losses, so that a supremum over orders ends."""
        if len(self.loss) <= MOST_RENYI:
            return self
        every = self.loss[:: 2 * len(self.loss) // MOST_RENYI]
        law = self.on_points(np.unique(np.append(every, self.loss[-1])))
        return Order.of(law.points, law.masses, slack=self.slack + (4 * len(self.loss) + 64) * UNIT)

    def mu(self) -> float:
        """The largest Phi^-1(P_k) - Phi^-1(Q_k), P_k and Q_k the masses of the k largest losses, rounded up.

        These are the vertices of the trade-off curve, which is linear between them; that of a Gaussian is convex. From
        the side of small tails: 1 - P_k is a sum from below. Q-masses are p e^-l, P and l upper bounds, so the Q of
        this law belongs to a pair that dominates; sums and quantiles are off by some 1e-12.
        """
        if self.infinite > 0 or not len(self.loss):
            return math.inf if self.infinite > 0 else 0.0
        p = np.where(self.p > TINY, self.p * (1 - self.slack), 0.0)
        rest = np.cumsum(p[::-1])[::-1][1:]
        above = np.cumsum(p * np.exp(-self.loss))[:-1]
        error = self.slack + 1e-13
        with np.errstate(divide="ignore"):
            found = -special.ndtri(np.minimum(rest, 1.0) * (1 - error)) - special.ndtri(
                np.minimum(above, 1.0) * (1 - error)
            )
        return float(found.max(initial=0.0)) * (1 + 1e-12) + 1e-15

    def window(self, tail: float) -> tuple[float, float]:
        """Losses beyond which there is no more than `tail` on either side."""
        if not len(self.loss):
            return 0.0, 0.0
        high = int(np.searchsorted(np.cumsum(self.p), tail, side="right"))
        low = int(np.searchsorted(np.cumsum(self.p[::-1]), tail, side="right"))
        last = len(self.loss) - 1
        return float(self.loss[last - min(low, last)]), float(self.loss[min(high, last)])


Orders = dict[Direction, tuple[Order, ...]]


class AtomicLoss(Loss):
    """A loss whose pairs can be listed."""

    direction: Direction | None = None

    @abstractmethod
    def orders(self) -> Orders:
        """Every pair in the order of each direction; the same list twice where noise is symmetric."""

    @property
    def chosen(self) -> list[Order]:
        """The orders that its direction leaves open, without repetition."""
        orders = _orders(self)
        chosen = Direction if self.direction is None else (self.direction,)
        return list(dict.fromkeys(order for each in chosen for order in orders[each]))

    def profile(self, eps: Array) -> Array:
        return np.array([max(order.delta(float(each)) for order in self.chosen) for each in eps])

    def cells(self, edges: Array) -> Cells:
        """Atoms are not counted by cells: `on_points` moves each of them from where it is."""
        raise NotImplementedError("a listed loss has atoms, see on_points")

    def window(self, tail: float) -> tuple[float, float]:
        windows = [order.window(tail) for order in self.chosen]
        return min(low for low, _ in windows), max(high for _, high in windows)

    def on_points(self, points: Array) -> GridLaw:
        return grid_law.worst_of([order.on_points(points) for order in self.chosen])

    def renyi(self, alpha: float) -> float:
        """log(sum of p e^((alpha-1) l))/(alpha - 1) of the worst order, with upper bounds of p and l."""
        if not self.listable:
            if self.pure == math.inf:
                return math.inf
            pure = as_fraction(self.pure)  # D_alpha is at most a and at most alpha a^2/2
            return min(float_up(pure), float_up(pure**2 * as_fraction(alpha) / 2))
        return max(order.renyi(alpha) for order in self.chosen)

    @property
    def mu(self) -> float:
        if not self.listable:
            return math.inf
        return max(order.mu() for order in self.chosen)


@lru_cache(maxsize=64)
def _orders(loss: AtomicLoss) -> Orders:
    return loss.orders()


def _both_ways(order: Order) -> Orders:
    """Symmetric noise: one order says all."""
    return {Direction.UP: (order,), Direction.DOWN: (order,)}


@dataclass(frozen=True)
class ResponseLoss(AtomicLoss):
    """Any eps-DP step, as randomised response of eps (Kairouz, Oh, Viswanath 2015, Theorem 2.5)."""

    eps: Fraction

    @property
    def pure(self) -> Fraction:
        return self.eps

    def orders(self) -> Orders:
        return _response(self.eps, 2)


@dataclass(frozen=True)
class KaryLoss(AtomicLoss):
    """k-ary randomised response: two outputs with loss +-eps, k - 2 with loss 0."""

    eps: Fraction
    k: int

    @property
    def pure(self) -> Fraction:
        return self.eps

    def orders(self) -> Orders:
        return _response(self.eps, self.k)


def _response(eps: Fraction, k: int) -> Orders:
    """Loss a with e^a/(e^a + k - 1), 0 with (k - 2)/(...), -a with 1/(...), a the next float above eps.

    A response of a can be turned into one of eps by answering at random more often. Masses err by 8u.
    """
    a = float_up(eps)
    small = math.exp(-a)
    masses = np.array([1.0, (k - 2) * small, small]) / (1 + (k - 1) * small) * (1 + 16 * UNIT)
    used = np.array([True, k > 2, True])
    return _both_ways(Order.of(np.array([a, 0.0, -a])[used], masses[used], slack=40 * UNIT))


@dataclass(frozen=True)
class DirectedLoss(AtomicLoss):
    """A loss whose two directions differ; without a direction the worse one is charged."""

    direction: Direction | None = field(default=None, kw_only=True)

    @property
    def mirrored(self) -> Self:
        return self if self.direction is None else replace(self, direction=self.direction.mirrored)


@dataclass(frozen=True)
class DiscreteLaplaceLoss(AtomicLoss):
    """Pr[k] ~ exp(-|k|/b) moved by s = `shift`: losses (s - 2x)/b for x = 0..s, `pure` = s/b."""

    scale: Fraction
    shift: int

    @property
    def pure(self) -> Fraction:
        return self.shift / self.scale

    @property
    def listable(self) -> bool:
        return self.shift < MOST_ATOMS

    def orders(self) -> Orders:
        """The two ends gather everything beyond them. Losses err by 4u (relative), exponents x/b by 4u, too."""
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
        return _both_ways(Order.of(loss + 4 * UNIT * np.abs(loss), p, slack=slack))


@dataclass(frozen=True)
class DiscreteGaussianLoss(AtomicLoss):
    """Pr[k] ~ exp(-k^2/(2 sigma^2)) moved by s: losses (s^2 - 2 s x)/(2 sigma^2).

    rho = s^2/(2 sigma^2) (Canonne, Kamath, Steinke 2020, Theorem 4). The mass beyond 12 sigma is below `OUTSIDE`: sums
    over |k| > 12 sigma are at most the integral, the normaliser is at least sigma sqrt(2 pi) (Poisson summation).
    """

    sigma: Fraction
    shift: int

    @property
    def rho(self) -> Fraction:
        return Fraction(self.shift) ** 2 / (2 * self.sigma**2)

    def renyi(self, alpha: float) -> float:
        return float_up(self.rho * Fraction(alpha))

    @property
    def listable(self) -> bool:
        return 2 * HALF_WIDTH * self.sigma < MOST_ATOMS and self.shift < MOST_ATOMS

    def orders(self) -> Orders:
        """Exponents err by 8u (relative), the normaliser by 16u; terms of a loss by 8u of their sizes."""
        sigma = float_down(self.sigma)
        if sigma < LEAST_SIGMA:
            return _both_ways(Order.of(np.zeros(0), np.zeros(0), infinite=1.0))
        half = math.ceil(HALF_WIDTH * sigma) + 1
        x = np.arange(-half, half + 1, dtype=np.float64)
        exponent = (x / sigma) ** 2 / 2
        weight = np.exp(-exponent)
        p = weight / math.fsum(weight) * (1 + (8 * np.minimum(exponent, 1e4) + 48) * UNIT)
        loss = (self.shift**2 - 2 * self.shift * x) / (2 * sigma**2)
        size = (self.shift**2 + 2 * self.shift * np.abs(x)) / (2 * sigma**2)
        return _both_ways(Order.of(loss + 8 * UNIT * size, p, infinite=OUTSIDE))


@dataclass(frozen=True)
class BinomialLoss(DirectedLoss):
    """Bin(n, c) moved by s. Not symmetric unless c = 1/2, and s outputs of each law are impossible under the other."""

    trials: int
    probability: Fraction
    shift: int

    @property
    def listable(self) -> bool:
        return 2 * HALF_WIDTH * math.sqrt(self.trials) + self.shift < MOST_ATOMS

    def orders(self) -> Orders:
        up = self._order(self.probability)
        if self.probability == Fraction(1, 2):
            return _both_ways(up)
        # Q against P of X is P against Q of n - X, a binomial of 1 - c
        return {Direction.UP: (up,), Direction.DOWN: (self._order(1 - self.probability),)}

    def _order(self, chance: Fraction) -> Order:
        """From ratios r(x) = pmf(x)/pmf(x-1) = (n-x+1) c/(x (1-c)), each off by 6 long units; m steps from the mode a
        product is off by 6 m of them, and so is the normaliser. log pmf(x)/pmf(x-s) is a difference of running sums
        of log r. What lies outside is at most the next weight over 1 minus its ratio, on either side.
        """
        n, s = self.trials, self.shift
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


@dataclass(frozen=True)
class LawsLoss(DirectedLoss):
    """Laws that are written down, weights over their sums. UP is the first law against the second."""

    pairs: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]

    @property
    def pure(self) -> Exact:
        return self._pure

    @cached_property
    def _pure(self) -> Exact:
        worst = 0.0
        for first, second in self.pairs:
            p, q = laws(first, second)
            worst = max(worst, max_log_ratio(p, q), max_log_ratio(q, p))
        return math.inf if worst == math.inf else Fraction(worst)

    def orders(self) -> Orders:
        up, down = [], []
        for first, second in self.pairs:
            p, q = laws(first, second)
            up.append(_listed(p, q))
            down.append(_listed(q, p))
        return {Direction.UP: tuple(up), Direction.DOWN: tuple(down)}


def _listed(p: Array, q: Array) -> Order:
    """Losses of the outputs that both laws have; a mass is a weight over the sum of the weights, 4u in all."""
    masses = p / math.fsum(p) * (1 + 8 * UNIT)
    live = (p > 0) & (q > 0)
    loss, error = log_ratios(p[live], q[live], math.fsum(p), math.fsum(q))
    return Order.of(
        loss + error, masses[live], infinite=math.fsum(masses[(p > 0) & (q == 0)]) * (1 + 2 * UNIT), slack=24 * UNIT
    )
