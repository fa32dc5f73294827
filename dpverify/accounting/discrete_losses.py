"""Losses of discrete laws: responses and laws that are written down. For noise on integers see `noise_losses`.

An `Order` is P against Q as a list of atoms: upper bounds of the losses log p/q that P meets, upper bounds of their
masses, and the mass at infinite loss. That is all that a bound needs: with l the loss of an output,
delta(eps) = infinite + sum of p (1 - e^(eps - l)) over the outputs with l > eps, and each term grows with p and l.
So no output is lost to a rounded comparison, and every sum has positive terms.
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

from dpverify.accounting import loss_laws
from dpverify.accounting.loss_laws import Cells, Exact, GridLaw, Loss, renyi_of, renyi_of_symmetric, TINY
from dpverify.base.rounding import as_fraction, float_up, UNIT
from dpverify.ledger.events import Direction, laws, log_ratios, max_log_ratio

Array = npt.NDArray[np.float64]

MOST_LOSS = 1e6  # larger ones are charged as infinite; sums of largest losses are known apart from that
LEAST_LOSS = -700.0  # smaller ones are charged as this: e^700 is a float
MOST_EXACT = 2**12  # terms that are summed without rounding
MOST_RENYI = 2**13  # atoms of a Renyi divergence; more are gathered at some of them


@dataclass(frozen=True, eq=False)
class Order:
    """An Order is P against Q as a list of atoms; `Order.of` makes it from atoms in any order.

    Parameters
    ----------
    loss : array of float, shape (n,)
        Upper bounds of the losses, decreasing.
    p : array of float, shape (n,)
        Upper bounds of the masses under P.
    infinite : float
        Mass at infinite loss.
    slack : float
        Masses are at most this share too large, or TINY.
    symmetric : bool
        Whether Q against P is the same pair.

    Notes
    -----
    That is all that a bound needs: delta(eps) = infinite + sum of p (1 - e^(eps - l)) over the atoms with l > eps, and
    each term grows with p and l.

    Examples
    --------
    >>> import numpy as np
    >>> order = Order.of(np.log([1 / 3, 3.0]), np.array([0.25, 0.75]))
    >>> order.loss.round(4).tolist(), round(order.delta(0.0), 9)
    ([1.0986, -1.0986], 0.5)
    """

    loss: Array
    p: Array
    infinite: float
    slack: float  # masses are at most this share too large, or TINY
    symmetric: bool = False  # Q against P is the same pair

    @classmethod
    def of(cls, loss: Array, p: Array, *, infinite: float = 0.0, slack: float = 1.0) -> "Order":
        """From upper bounds in any order; masses that floats carry badly are raised, losses too (MOST_LOSS, LEAST)."""
        beyond = ~(loss <= MOST_LOSS)  # NaN is beyond
        infinite += math.fsum(p[beyond])
        loss, p = np.maximum(loss[~beyond], LEAST_LOSS), p[~beyond]
        order = np.argsort(-loss, kind="stable")
        return cls(loss[order], np.maximum(p[order], TINY), infinite, slack)

    def delta(self, eps: float) -> float:
        """The sum above; its terms err by 6u each, the sum of many (pairwise, in blocks of 128) by 40u."""
        above = int(np.searchsorted(-self.loss, -eps, side="left"))
        terms = self.p[:above] * -np.expm1(eps - self.loss[:above])
        if len(terms) > MOST_EXACT:
            return min(1.0, (self.infinite + float(terms.sum())) * (1 + 64 * UNIT))
        return min(1.0, (self.infinite + math.fsum(terms)) * (1 + 12 * UNIT))

    def on_points(self, points: Array) -> GridLaw:
        return loss_laws.of_atoms(points, self.loss, self.p, self.infinite)

    def renyi(self, alpha: float) -> float:
        if self.infinite > 0:
            return math.inf
        few = self._few
        if not len(few.loss):
            return 0.0
        if self.symmetric:
            return min(max(0.0, float(few.loss[0])), renyi_of_symmetric(few.p, few.loss, alpha))
        # divergences grow with their order: near 1, where slack counts, that of a larger one is a bound as well; D_inf
        # is the largest loss
        orders = [alpha, *(1 + 2.0 ** (math.ceil(math.log2(alpha - 1)) + more) for more in (0, 1) if alpha < 2)]
        return min(max(0.0, float(few.loss[0])), *(renyi_of(few.p, few.loss, order, few.slack) for order in orders))

    @cached_property
    def _few(self) -> "Order":
        """A law above it at every so many of its losses, so that a supremum over orders ends."""
        if len(self.loss) <= MOST_RENYI:
            return self
        every = self.loss[:: 2 * len(self.loss) // MOST_RENYI]
        law = self.on_points(np.unique(np.append(every, self.loss[-1])))
        return Order.of(law.points, law.masses, slack=self.slack + (4 * len(self.loss) + 64) * UNIT)

    def mu(self) -> float:
        """See the end of this file. Masses that were raised to TINY may be nothing."""
        if self.infinite > 0 or not len(self.loss):
            return math.inf if self.infinite > 0 else 0.0
        least = np.where(self.p > TINY, self.p * (1 - self.slack), 0.0)
        return mu_of(self.loss, self.p, least, self.slack, symmetric=self.symmetric)

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
    """An AtomicLoss is a loss whose pairs of laws can be listed.

    It is a base: a new family says `orders`, and `pure` where it is known.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpverify.accounting.discrete_losses import ResponseLoss
    >>> loss = ResponseLoss(Fraction(1))
    >>> isinstance(loss, AtomicLoss), loss.chosen[0].loss.tolist()
    (True, [1.0, -1.0])
    """

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
        return loss_laws.worst_of([order.on_points(points) for order in self.chosen])

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


def both_ways(order: Order) -> Orders:
    """List the orders of symmetric noise, for which one order says all.

    Parameters
    ----------
    order : Order
        P against Q.

    Returns
    -------
    dict of Direction to tuple of Order
        The same order in both directions, marked as symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> from dpverify.accounting.discrete_losses import Order
    >>> found = both_ways(Order.of(np.log([3.0, 1 / 3]), np.array([0.75, 0.25])))
    >>> all(order.symmetric for (order,) in found.values())
    True
    """
    order = replace(order, symmetric=True)
    return {Direction.UP: (order,), Direction.DOWN: (order,)}


@dataclass(frozen=True)
class ResponseLoss(AtomicLoss):
    """A ResponseLoss is the loss of any eps-DP step, as randomised response of eps.

    Parameters
    ----------
    eps : Fraction
        What the step is proved to be.

    Notes
    -----
    Every eps-DP step is dominated by it (Kairouz, Oh, Viswanath 2015, Theorem 2.5).

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> ResponseLoss(Fraction(1)).profile(np.array([0.0])).round(4).tolist()  # (e - 1)/(e + 1)
    [0.4621]
    """

    eps: Fraction

    @property
    def pure(self) -> Fraction:
        return self.eps

    def orders(self) -> Orders:
        return response(self.eps, 2)

    @property
    def mu(self) -> float:
        return super().mu if self.eps <= MANY else response_mu(float_up(self.eps))


@dataclass(frozen=True)
class KaryLoss(AtomicLoss):
    """A KaryLoss is the loss of k-ary randomised response: two outputs with loss +-eps, k - 2 with loss 0.

    Parameters
    ----------
    eps : Fraction
        Log ratio of the chances of the truth and of each other answer.
    k : int
        Number of answers.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> KaryLoss(Fraction(1), 4).profile(np.array([0.0])).round(4).tolist()  # (e - 1)/(e + 3)
    [0.3005]
    """

    eps: Fraction
    k: int

    @property
    def pure(self) -> Fraction:
        return self.eps

    def orders(self) -> Orders:
        return response(self.eps, self.k)


def response(eps: Fraction, k: int) -> Orders:
    """List the orders of k-ary randomised response.

    Parameters
    ----------
    eps : Fraction
        Log ratio of the chances of the truth and of each other answer.
    k : int
        Number of answers.

    Returns
    -------
    dict of Direction to tuple of Order
        Loss a with e^a/(e^a + k - 1), 0 with (k - 2)/(...), -a with 1/(...), a the next float above eps.

    Notes
    -----
    A response of a can be turned into one of eps by answering at random more often. Masses err by 8u.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpverify.ledger.events import Direction
    >>> (order,) = response(Fraction(1), 2)[Direction.UP]
    >>> order.loss.tolist(), order.symmetric
    ([1.0, -1.0], True)
    """
    a = float_up(eps)
    small = math.exp(-a)
    masses = np.array([1.0, (k - 2) * small, small]) / (1 + (k - 1) * small) * (1 + 16 * UNIT)
    used = np.array([True, k > 2, True])
    return both_ways(Order.of(np.array([a, 0.0, -a])[used], masses[used], slack=40 * UNIT))


@dataclass(frozen=True)
class DirectedLoss(AtomicLoss):
    """A DirectedLoss is a loss whose two directions differ; without a direction the worse one is charged.

    It is a base: a new family says `orders`.

    Parameters
    ----------
    direction : Direction, optional
        UP or DOWN where it is stated. None: the worse one is charged.

    Examples
    --------
    >>> from dpverify.accounting.discrete_losses import LawsLoss
    >>> from dpverify.ledger.events import Direction
    >>> loss = LawsLoss((((0.25, 0.75), (0.5, 0.5)),), direction=Direction.UP)
    >>> isinstance(loss, DirectedLoss), loss.mirrored.direction is Direction.DOWN
    (True, True)
    """

    direction: Direction | None = field(default=None, kw_only=True)

    @property
    def mirrored(self) -> Self:
        return self if self.direction is None else replace(self, direction=self.direction.mirrored)


@dataclass(frozen=True)
class LawsLoss(DirectedLoss):
    """A LawsLoss is the loss of laws that are written down.

    Parameters
    ----------
    pairs : tuple of two tuples of float
        Probabilities of the outputs under the first law and under the second, taken over their sums; one entry for each
        pair of laws. UP is the first law against the second.
    direction : Direction, optional
        UP or DOWN where it is stated. None: the worse one is charged.

    Examples
    --------
    >>> import numpy as np
    >>> LawsLoss((((0.25, 0.75), (0.75, 0.25)),)).profile(np.array([0.0])).round(4).tolist()
    [0.5]
    """

    pairs: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]

    @property
    def pure(self) -> Exact:
        return max(self._ways)

    @property
    def pure_ways(self) -> tuple[Exact, Exact]:
        up, down = self._ways
        if self.direction is None:
            return self.pure, self.pure
        return (up, down) if self.direction is Direction.UP else (down, up)

    @cached_property
    def _ways(self) -> tuple[Exact, Exact]:
        listed = [laws(first, second) for first, second in self.pairs]
        up = max((max_log_ratio(p, q) for p, q in listed), default=0.0)
        down = max((max_log_ratio(q, p) for p, q in listed), default=0.0)
        exact = [math.inf if each == math.inf else Fraction(max(each, 0.0)) for each in (up, down)]
        return exact[0], exact[1]

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


# ----------------------------------------------------------------------------------------------------------------------
# GDP parameters of pairs of laws that are listed as atoms: p_j at the losses l_j, the largest first.
#
# mu is the largest Phi^-1(P_k) - Phi^-1(Q_k), P_k and Q_k the masses of the k largest losses: these are the vertices of
# the trade-off curve, which is linear between them, and that of a Gaussian is convex. With upper bounds of p and l and
# Q- masses p e^-l this is a curve g below that of the pair (a pair that dominates), so only P_k up, and 1 - P_k and Q_k
# down, are needed. Sums are off by a unit for each of their terms, quantiles by some 1e-12.
#
# Neighbouring quantiles. s -> Phi^-1(e^s) is convex with the derivative Phi(z)/phi(z), z = Phi^-1(e^s) (log Phi is
# concave), so Phi^-1(P) - Phi^-1(Q) <= log(P/Q) Phi(z)/phi(z) at z = Phi^-1(P); log(P/Q) = log(1 + (P - Q)/Q), and
# P - Q = sum of p (1 - e^-l) has positive terms as long as l > 0: nothing cancels where the laws are nearly equal.
#
# Symmetric pairs (Q against P is the same): their curve f is its own inverse. Let m be the last vertex with l_m > 0, D
# = P_m - Q_m >= D_f(0) and x = (1 - D)/2. It is enough that a Gaussian G is below g at the vertices 1..m and G(x) <= x,
# so mu >= -2 Phi^-1(x). For f >= g, and f(a) >= 1 - D - a everywhere; g meets this line at the vertex m, so G, convex,
# is below f up to max(Q_m, x). The line is 1 - x - x = D at x, so the fixed point x_f of f is at least x: convexity and
# symmetry give f the slope -1 there, 1 - 2 x_f = D_f(0). On [x, x_f] f >= x_f >= x >= G(x) >= G. So G <= f on [0, x_f],
# and inverses are ordered in the same way beyond it.


MANY = 300.0  # losses beyond it: see `response_mu`


def mu_of(loss: Array, p: Array, least: Array, slack: float, *, symmetric: bool) -> float:
    """Compute an upper bound on the parameter of Gaussian DP of a pair of laws that is listed as atoms.

    Parameters
    ----------
    loss : array of float, shape (n,)
        Upper bounds of the losses, decreasing, none infinite.
    p : array of float, shape (n,)
        Upper bounds of the masses.
    least : array of float, shape (n,)
        Lower bounds of them: at most `p`, and at least (1 - slack) p or 0.
    slack : float
        See `least`.
    symmetric : bool
        Whether Q against P is the same pair.

    Returns
    -------
    float
        mu, rounded up.

    Notes
    -----
    mu is the largest Phi^-1(P_k) - Phi^-1(Q_k), P_k and Q_k the masses of the k largest losses: these are the vertices
    of the trade-off curve, which is linear between them, and that of a Gaussian is convex. The rest of the proof, and
    that for symmetric pairs, stands above this function.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([0.75, 0.25])
    >>> round(mu_of(np.log([3.0, 1 / 3]), p, p, 0.0, symmetric=True), 4)  # 2 Phi^-1(0.75)
    1.349
    """
    error = slack + 1e-13 + 2 * len(p) * UNIT
    rest = np.cumsum(least[::-1])[::-1][1:] * (1 - error)
    above = np.cumsum(least * np.exp(-loss))[:-1] * (1 - error)
    most = np.minimum(np.cumsum(p)[:-1] * (1 + error), 1.0)
    if not symmetric:
        return float(_differences(rest, above, most).max(initial=0.0)) * (1 + 1e-12) + 1e-15
    last = int(np.count_nonzero(loss > 0))
    gained = np.cumsum(p[:last] * -np.expm1(-loss[:last])) * (1 + error)
    distance = float(gained[-1]) if last else 0.0
    vertices = slice(0, min(last, len(rest)))
    rest, above, most, gained = rest[vertices], above[vertices], most[vertices], gained[vertices]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        z = special.ndtri(most)
        slopes = _HALF * special.erfcx(-z / math.sqrt(2)) * np.log1p(gained / above)
    found = np.fmin(_differences(rest, above, most), slopes)
    at_most = float(found.max(initial=0.0)) * (1 + 1e-12)
    # two bounds of (1 - D)/2: the rest and Q are small where D is near 1
    half = (float(rest[-1]) + float(above[-1])) / 2 if len(rest) == last and last else 0.0
    crossing = min(
        2 * math.sqrt(2) * float(special.erfinv(min(distance, 1.0))),
        -2 * float(special.ndtri(half)) if half > 0 else math.inf,
    )
    return max(at_most, crossing * (1 + 1e-12))


_HALF = math.sqrt(math.pi / 2)


def _differences(rest: Array, above: Array, most: Array) -> Array:
    """Phi^-1(P) - Phi^-1(Q), the first one from the side of the smaller tail."""
    with np.errstate(divide="ignore", invalid="ignore"):
        power = np.minimum(-special.ndtri(np.minimum(rest, 1.0)), special.ndtri(most))
        return np.asarray(power - special.ndtri(np.minimum(above, 1.0)), dtype=np.float64)


def response_mu(a: float) -> float:
    """Compute an upper bound on the parameter of Gaussian DP of randomised response of a large eps.

    Parameters
    ----------
    a : float
        eps, above `MANY`.

    Returns
    -------
    float
        -2 Phi^-1(1/(1 + e^a)), at most 1 % too much.

    Notes
    -----
    Phi(-z) <= e^(-z^2/2)/2 for z >= 0.

    Examples
    --------
    >>> round(response_mu(400.0), 2)
    56.52
    """
    return 2 * math.sqrt(2 * (a - math.log(2.0) + math.exp(-a))) * (1 + 16 * UNIT)
