"""Losses of discrete laws: integer noise and laws that are written down.

A shift by s of integer noise X compares P = law of X with Q = law of X + s: P against Q is the direction UP,
Q against P is DOWN. The outputs are listed in a window outside which P and Q have mass below TAIL; that mass
is charged as infinite loss. Inside the window the probabilities are the true ones, not those of a truncated
noise.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy import stats

from dpverify.accounting.divergence import laws, max_log_ratio, UNIT
from dpverify.accounting.ledger import Direction
from dpverify.accounting.losses import Exact, Loss, TAIL

Array = npt.NDArray[np.float64]

MOST_ATOMS = 4_000_000  # beyond this a law is too long to list and only its zCDP parameter is used
HALF_WIDTH = 12.0  # of a window, in standard deviations: a Gaussian leaves 4e-33 outside

# relative error allowed to computed probabilities; binomial ones were off by 1e-12 at 1e6 trials, 7e-12 at 2e7
PMF_ERROR = 1e-12
PMF_ERROR_PER_TRIAL = 1e-18


@dataclass(frozen=True, eq=False)
class Order:
    """P against Q: probabilities by decreasing loss log p/q, and the mass at infinite loss."""

    loss: Array
    p_above: Array  # cumulated from the top, so that small tails keep their digits
    q_above: Array
    infinite: float
    error: float  # relative error of the cumulated masses

    @classmethod
    def of(cls, loss: Array, p: Array, q: Array, *, outside: float = 0.0, error: float = 0.0) -> "Order":
        """From the outputs in any order; `error` bounds the relative error of `p` and `q`."""
        finite = np.isfinite(loss)
        order = np.argsort(-loss[finite], kind="stable")
        return cls(
            loss[finite][order],
            _cumulated(p[finite][order]),
            _cumulated(q[finite][order]),
            outside + math.fsum(p[loss == math.inf]),
            error + 4 * UNIT + p.size * float(np.finfo(np.longdouble).eps),
        )

    def delta(self, eps: Array) -> Array:
        above = np.searchsorted(-self.loss, -eps, side="left")  # how many losses exceed eps
        p, q = self.p_above[above], self.q_above[above]
        # p >= e^eps q on the outputs above eps, so an error of both is at most twice that of p
        scaled = np.exp(np.minimum(eps, 700.0)) * q  # no overflow; a smaller factor only raises delta
        return np.asarray(self.infinite + np.maximum(p - scaled, 0.0) + 2 * self.error * p, dtype=np.float64)


def _cumulated(masses: Array) -> Array:
    """0 and the running sums, in extended precision where the machine has it."""
    sums = np.cumsum(masses, dtype=np.longdouble)
    return np.concatenate([[0.0], np.asarray(sums, dtype=np.float64)])


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
        return _listed(self, self.direction)

    def profile(self, eps: Array) -> Array:
        worst = np.max([each.delta(eps) for each in self.chosen], axis=0)
        return np.asarray(np.clip(worst, 0.0, 1.0), dtype=np.float64)

    def reach(self) -> float:
        """Largest finite loss, or the loss beyond which nothing but the infinite mass and TAIL is left."""
        return max(_reach(each) for each in _listed(self, None))


def _listed(loss: AtomicLoss, direction: Direction | None) -> list[Order]:
    orders = _orders(loss)
    chosen = Direction if direction is None else (direction,)
    return list(dict.fromkeys(order for each in chosen for order in orders[each]))


@lru_cache(maxsize=64)
def _orders(loss: AtomicLoss) -> Orders:
    return loss.orders()


def _reach(order: Order) -> float:
    inside = order.loss[order.p_above[1:] > TAIL]
    return max(0.0, float(inside[0])) if inside.size else 0.0


def _both_ways(order: Order) -> Orders:
    """Symmetric noise: one order says all."""
    return {Direction.UP: (order,), Direction.DOWN: (order,)}


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

    scale: float
    shift: int

    @property
    def pure(self) -> Fraction:
        return Fraction(self.shift) / Fraction(self.scale)

    def orders(self) -> Orders:
        ratio = math.exp(-1 / self.scale)
        x = np.arange(self.shift + 1, dtype=np.float64)
        # -expm1(-1/b) = 1 - ratio; the two ends gather everything beyond them
        p = -math.expm1(-1 / self.scale) / (1 + ratio) * np.exp(-x / self.scale)
        p[0] = 1 / (1 + ratio)
        p[-1] = math.exp(-self.shift / self.scale) / (1 + ratio)
        return _both_ways(Order.of((self.shift - 2 * x) / self.scale, p, p[::-1], error=PMF_ERROR))


@dataclass(frozen=True)
class DiscreteGaussianLoss(AtomicLoss):
    """Pr[k] ~ exp(-k^2/(2 sigma^2)) moved by s: losses (s^2 - 2 s x)/(2 sigma^2).

    rho = s^2/(2 sigma^2) (Canonne, Kamath, Steinke 2020, Theorem 4).
    """

    sigma: float
    shift: int

    @property
    def rho(self) -> Fraction:
        return Fraction(self.shift) ** 2 / (2 * Fraction(self.sigma) ** 2)

    def orders(self) -> Orders:
        half = math.ceil(HALF_WIDTH * self.sigma) + 1
        x = np.arange(-half, half + 1, dtype=np.float64)
        weight = np.exp(-((x / self.sigma) ** 2) / 2)
        p = weight / math.fsum(weight)
        loss = (self.shift**2 - 2 * self.shift * x) / (2 * self.sigma**2)
        return _both_ways(Order.of(loss, p, p * np.exp(-loss), outside=TAIL, error=PMF_ERROR))


@dataclass(frozen=True)
class BinomialLoss(DirectedLoss):
    """Bin(n, p) moved by s. Not symmetric unless p = 1/2, and s outputs of each law are impossible under the other."""

    trials: int
    probability: float
    shift: int

    def orders(self) -> Orders:
        n, chance, s = self.trials, self.probability, self.shift
        spread = HALF_WIDTH * math.sqrt(n * chance * (1 - chance)) + 40
        low, high = max(0, math.floor(n * chance - spread)), min(n, math.ceil(n * chance + spread))
        outside = float(stats.binom.cdf(low - 1, n, chance) + stats.binom.sf(high, n, chance))
        x = np.arange(low, high + s + 1)
        p, q = stats.binom.pmf(x, n, chance), stats.binom.pmf(x - s, n, chance)
        kept = (p > 0) | (q > 0)
        p, q = p[kept], q[kept]
        with np.errstate(divide="ignore"):
            loss = np.log(p) - np.log(q)
        error = PMF_ERROR + PMF_ERROR_PER_TRIAL * n
        up = Order.of(loss, p, q, outside=outside, error=error)
        if chance == 0.5:
            return _both_ways(up)
        return {Direction.UP: (up,), Direction.DOWN: (Order.of(-loss, q, p, outside=outside, error=error),)}


@dataclass(frozen=True)
class LawsLoss(DirectedLoss):
    """Laws that are written down; the floats are the probabilities. UP is the first law against the second."""

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
            kept = (p > 0) | (q > 0)
            p, q = p[kept], q[kept]
            with np.errstate(divide="ignore"):
                loss = np.log(p) - np.log(q)
            up.append(Order.of(loss, p, q))
            down.append(Order.of(-loss, q, p))
        return {Direction.UP: tuple(up), Direction.DOWN: tuple(down)}


def listable(loss: Loss) -> bool:
    """False where the law has too many outputs to be listed."""
    if isinstance(loss, DiscreteGaussianLoss):
        return 2 * HALF_WIDTH * loss.sigma < MOST_ATOMS
    if isinstance(loss, DiscreteLaplaceLoss):
        return loss.shift < MOST_ATOMS
    if isinstance(loss, BinomialLoss):
        return 2 * HALF_WIDTH * math.sqrt(loss.trials) + loss.shift < MOST_ATOMS
    return True
