"""Laws of losses on finitely many points, each above the law that it stands for.

A grid law has masses m_j at points x_j, mostly multiples j h of a step, and one at infinite loss. Its profile is
D(x) = infinite + sum_j m_j (1 - e^(x - x_j))^+.

Lemma 1. Let a law be changed in one of these ways: (a) the mass of a cell (x0, x0+h] moves to its two ends such that
its P-mass and its Q-mass (the mean of v = e^-L) are kept; (b) mass moves to a larger loss; (c) mass is added. Then
delta does not fall at any eps, nor does it where the law is composed with anything.
Proof. Fix all other coordinates. What is left is the mean of f(e^-L) with f(v) = E[(1 - c v)^+], which is convex,
non-increasing and non-negative. (a) is a spread that keeps the mean of v, so convexity raises the mean of f; (b) lowers
v; (c) adds values of f >= 0. Coordinates are changed one at a time. QED.

In (a) the share s of a cell's P-mass p that goes to the upper end solves p (1 - s) + p s e^-h = q e^x0, so
s = (1 - (q/p) e^x0)/(1 - e^-h), h the width of the cell. A larger share is (a) followed by (b): shares are rounded
up, masses too.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpverify.base.rounding import float_up, UNIT

Array = npt.NDArray[np.float64]

TINY = 1e-290  # below it floats lose relative precision: such masses are raised to it
MOST_EXPONENT = 700.0  # e^700 is a float, e^710 is not


class Cells(NamedTuple):
    """A Cells holds the masses of a loss in the cells (x_i, x_(i+1)] between consecutive edges, and outside of them.

    Parameters
    ----------
    p : array of float, shape (edges - 1,)
        Mass of each cell under P.
    q : array of float, shape (edges - 1,)
        Mass of each cell under Q.
    below : tuple of (float, float)
        P- and Q-mass of L <= x_0; Q-mass that P lacks (loss -inf) is counted here.
    above : tuple of (float, float)
        P- and Q-mass of L > x_last; P-mass that Q lacks (loss +inf) is counted here.
    lift : array of float, shape (edges - 1,), optional
        E_P[1 - e^(x_i - L); cell] = p - q e^(x_i), where known up to `eta` of the loss; NaN where not.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from dpverify.accounting.noise_losses import LaplaceLoss
    >>> cells = LaplaceLoss(Fraction(1)).cells(np.array([-2.0, 0.0, 2.0]))
    >>> round(float(cells.p[1]), 4), cells.above  # 1 - e^(-1/2)/2
    (0.6967, (0.0, 0.0))
    """

    p: Array
    q: Array
    below: tuple[float, float]  # masses of L <= x_0; Q-mass that P lacks (loss -inf) is counted here
    above: tuple[float, float]  # masses of L > x_last; P-mass that Q lacks (loss +inf) is counted here
    lift: Array | None = None  # E_P[1 - e^(x_i - L); cell] = p - q e^(x_i), where known up to `eta`; NaN where not


@dataclass(frozen=True, eq=False)
class GridLaw:
    """A GridLaw is a law of losses on finitely many points; its masses need not sum to 1.

    Parameters
    ----------
    points : array of float, shape (n,)
        Losses, increasing.
    masses : array of float, shape (n,)
        Mass at each of them.
    infinite : float
        Mass at infinite loss.

    Notes
    -----
    Its profile is D(x) = infinite + sum_j m_j (1 - e^(x - x_j))^+. Lemma 1 of `loss_laws` says which changes of a law
    do not lower its profile, whatever it is composed with.

    Examples
    --------
    >>> import numpy as np
    >>> law = GridLaw(np.array([-1.0, 1.0]), np.array([0.25, 0.75]), 0.0)
    >>> float(law.masses.sum())
    1.0
    """

    points: Array
    masses: Array
    infinite: float


def of_cells(points: Array, cells: Cells, eta: float) -> GridLaw:
    """Make the law on points above a loss of which the masses of cells are known.

    Parameters
    ----------
    points : array of float, shape (n,)
        Losses, increasing: the edges of the cells.
    cells : Cells
        The masses.
    eta : float
        Bound on the relative error of each of them.

    Returns
    -------
    GridLaw
        Above the loss. What is below the first point goes there, what is above the last one is infinite.

    Notes
    -----
    Mass of a cell moves to its two ends with its P- and its Q-mass kept, Lemma 1 (a) of `loss_laws`. The share that
    goes to the upper end is (1 - (q/p) e^x0)/(1 - e^-h), rounded up, h the width of the cell and x0 its lower end.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from dpverify.accounting.noise_losses import LaplaceLoss
    >>> loss, points = LaplaceLoss(Fraction(1)), np.linspace(-1.0, 1.0, 5)
    >>> law = of_cells(points, loss.cells(points), loss.eta)
    >>> round(float(law.masses.sum()), 9), law.infinite
    (1.0, 0.0)
    """
    p = np.where(cells.p > 0, np.maximum(cells.p, TINY), 0.0)
    known = (cells.p >= TINY) & (cells.q >= TINY) & (np.abs(points[:-1]) <= MOST_EXPONENT)
    ratio = np.where(known, cells.q, 0.0) / np.where(known, p, 1.0)
    ratio *= np.exp(np.where(known, points[:-1], 0.0))
    # (q/p) e^x0 is off by the errors of q and p, a division, an exponential and a product
    error = 2.5 * eta + 6 * UNIT
    excess = (1 - ratio + error) * (1 + 8 * UNIT)
    if cells.lift is not None:  # no cancellation
        lifted = cells.lift / np.where(p > 0, p, 1.0) * (1 + 2.5 * eta + 8 * UNIT)
        excess = np.where(np.isfinite(lifted), np.minimum(lifted, excess), excess)
    share = np.clip(excess * (1 + 4 * UNIT) / -np.expm1(-np.diff(points)), 0.0, 1.0)
    masses = np.zeros(len(points))
    masses[:-1] += p * (1 - share)
    masses[1:] += p * share
    masses[0] += cells.below[0]
    raised = 1 + 2 * eta + 16 * UNIT
    return GridLaw(points, masses * raised, cells.above[0] * raised)


def of_atoms(points: Array, loss: Array, p: Array, infinite: float) -> GridLaw:
    """Make the law on points above atoms.

    Parameters
    ----------
    points : array of float, shape (n,)
        Losses, increasing.
    loss : array of float, shape (m,)
        Upper bounds of the losses of the atoms.
    p : array of float, shape (m,)
        Upper bounds of their masses.
    infinite : float
        Mass at infinite loss.

    Returns
    -------
    GridLaw
        Above the atoms, by Lemma 1 of `loss_laws`. Those above the last point are infinite.

    Examples
    --------
    >>> import numpy as np
    >>> law = of_atoms(np.array([0.0, 1.0]), np.array([0.5]), np.array([1.0]), 0.0)
    >>> law.masses.round(4).tolist()  # (1 - e^(-1/2))/(1 - e^-1) at the upper end
    [0.3775, 0.6225]
    """
    over = loss > points[-1]
    infinite += math.fsum(p[over])
    loss, p = np.maximum(loss[~over], points[0]), p[~over]
    if len(points) == 1:
        return GridLaw(points, np.array([math.fsum(p)]) * (1 + 4 * UNIT), infinite * (1 + 4 * UNIT))
    cell = np.minimum(np.searchsorted(points, loss, side="right") - 1, len(points) - 2)
    # a difference of neighbouring floats is exact or off by u, as are widths; expm1 and the rest add some units
    share = np.expm1(points[cell] - loss) / np.expm1(points[cell] - points[cell + 1])
    share = np.clip(share * (1 + 16 * UNIT), 0.0, 1.0)
    # weights are added one by one: a sum is off by as many units as there are atoms in its two cells
    masses = np.zeros(len(points))
    masses += np.bincount(cell, p * (1 - share), len(points)) + np.bincount(cell + 1, p * share, len(points))
    most = 2 * int(np.bincount(cell).max(initial=0)) + 16
    return GridLaw(points, masses * (1 + most * UNIT), infinite * (1 + 4 * UNIT))


def worst_of(laws: Sequence[GridLaw]) -> GridLaw:
    """Make a law whose profile is at least that of each of some laws, at every eps.

    Parameters
    ----------
    laws : sequence of GridLaw
        Laws on the same points, at least one.

    Returns
    -------
    GridLaw
        On these points.

    Examples
    --------
    >>> import numpy as np
    >>> from dpverify.accounting.loss_laws import GridLaw
    >>> points = np.array([0.0, 1.0])
    >>> laws = [GridLaw(points, np.array(masses), 0.0) for masses in ([0.5, 0.5], [0.25, 0.75])]
    >>> worst_of(laws).masses.round(6).tolist()
    [0.25, 0.75]
    """
    if len(laws) == 1:
        return laws[0]
    profiles = np.max([_profile(law) for law in laws], axis=0)
    infinite = max(law.infinite for law in laws)
    return of_profile(laws[0].points, profiles, infinite, max(law.infinite + math.fsum(law.masses) for law in laws))


def of_profile(points: Array, deltas: Array, infinite: float, whole: float = 1.0) -> GridLaw:
    """Make a law whose profile is at least a given one.

    Parameters
    ----------
    points : array of float, shape (n,)
        Losses, increasing.
    deltas : array of float, shape (n,)
        Upper bounds of the profile at the points, non-increasing.
    infinite : float
        The profile beyond the points, which is the mass at infinite loss.
    whole : float
        All of the mass.

    Returns
    -------
    GridLaw
        Above every profile of which these are upper bounds: profiles are convex in e^eps, chords are above them.

    Notes
    -----
    With d_k = 1 - e^-(x_k - x_(k-1)) and W(k) = (D(x_(k-1)) - D(x_k))/d_k a profile is a sum of slopes,
    D(x_k) = infinite + sum of d_j W(j) over j > k, and the mass at x_k is W(k) - (1 - d_(k+1)) W(k+1). From the top,
    W(k) is the least number that leaves this mass >= 0 and brings D(x_(k-1)) up to the given one. Each rounding goes
    up, and D is carried rounded down, so that the next W makes up for it. Points between which D grows by less than
    1e-6 of itself, where slopes would be rounding errors, are passed over.

    Examples
    --------
    >>> import numpy as np
    >>> law = of_profile(np.array([0.0, 1.0]), np.array([-np.expm1(-1.0), 0.0]), 0.0)
    >>> law.masses.round(6).tolist()  # all of it has loss 1
    [0.0, 1.0]
    """
    infinite *= 1 + 1e-9  # so that rounding is no growth where only this is left
    at = _far_apart(deltas, infinite)
    gaps = np.diff(points[at])  # between the points that are used, the lowest first
    decays, widths = (np.exp(-gaps) * (1 - 4 * UNIT)).tolist(), (-np.expm1(-gaps)).tolist()
    masses = np.zeros(len(points))
    kept, reached = 0.0, infinite  # kept: (1 - d) W of the point above
    for k in range(len(at) - 1, 0, -1):
        wanted = (float(deltas[at[k - 1]]) - reached) / widths[k - 1] * (1 + 8 * UNIT)
        here = max((1 + 16 * UNIT) * kept, wanted)
        masses[at[k]] = (here - kept * (1 - 2 * UNIT)) * (1 + 4 * UNIT)
        reached = (reached + widths[k - 1] * here * (1 - 4 * UNIT)) * (1 - 2 * UNIT)
        kept = here * decays[k - 1]
    # below the first point a profile is linear in e^eps and comes to all of the mass
    masses[0] = max(0.0, whole * (1 + 4 * UNIT) - infinite - math.fsum(masses[1:]) * (1 - 4 * UNIT))
    return GridLaw(points, masses, infinite)


def _far_apart(profiles: Array, infinite: float) -> list[int]:
    """Indices, increasing, of the last point at which there is no more than `infinite`, of the first point, and of
    those between at which the profile has grown by 1e-6.
    """
    last = int(np.flatnonzero(profiles > infinite)[-1]) + 1 if (profiles > infinite).any() else 1
    found, reached = [last], infinite
    for k in range(last - 1, 0, -1):
        if profiles[k] > reached * (1 + 1e-6):
            found.append(k)
            reached = float(profiles[k])
    return [0, *found[::-1]]


def _profile(law: GridLaw) -> Array:
    """The profile at the points, rounded up: sums of positive numbers, in extended precision where there is one.

    W(k) = m_k + (1 - d_(k+1)) W(k+1).
    """
    widths = np.diff(law.points)
    decays, masses = np.exp(-widths).tolist(), law.masses.tolist()
    slopes, slope = np.zeros(len(masses)), 0.0
    for k in range(len(masses) - 1, 0, -1):
        slope = masses[k] + (decays[k] * slope if k < len(decays) else 0.0)
        slopes[k] = slope
    sums = np.zeros(len(masses), dtype=np.longdouble)
    sums[:-1] = np.cumsum((-np.expm1(-widths) * slopes[1:]).astype(np.longdouble)[::-1])[::-1]
    # a slope is off by 4u for each point that it reaches up to, which is as much as it decays, or for all of them
    error = 4 * min(len(masses), 64 / float(widths.min(initial=64.0)) + 64) + 32
    return np.asarray(law.infinite + sums, dtype=np.float64) * (1 + error * UNIT)


# ----------------------------------------------------------------------------------------------------------------------
# What a recursion over compositions ends in: a profile delta(eps) on an even grid.


@dataclass(frozen=True, eq=False)
class GridProfile:
    """A GridProfile holds delta on an even grid of eps: k times `step`, k = -N..N.

    Parameters
    ----------
    step : float
        Distance of neighbouring eps.
    deltas : array of float, shape (2 N + 1,)
        delta at each of them, an upper bound.

    Examples
    --------
    >>> import numpy as np
    >>> found = GridProfile(0.5, np.array([0.8, 0.5, 0.1]))
    >>> found.at(np.array([0.0, 7.0])).round(9).tolist(), found.beyond(0.2)
    ([0.5, 0.1], 0.5)
    """

    step: float
    deltas: Array

    def at(self, eps: Array) -> Array:
        """delta(eps), an upper bound: delta is convex in e^eps, so chords are above it; 1 below the grid."""
        half = len(self.deltas) // 2
        eps = np.clip(eps, -(half + 2) * self.step, (half + 2) * self.step)  # the same beyond: no quotient overflows
        left = np.clip(np.floor(eps / self.step), -half, half)
        left = (left - (left * self.step > eps)).astype(np.int64)
        low = np.where(left < -half, 1.0, self.deltas[np.maximum(half + left, 0)])
        high = self.deltas[np.minimum(half + left + 1, 2 * half)]
        weight = np.expm1(np.minimum(eps - left * self.step, 2 * self.step)) / np.expm1(self.step) * (1 - 8 * UNIT)
        chord = (low + np.clip(weight, 0.0, 1.0) * (high - low)) * (1 + 8 * UNIT)
        return np.asarray(np.minimum(np.where(left >= half, low, chord), 1.0), dtype=np.float64)

    def beyond(self, tail: float) -> float:
        """The first point of the grid where delta is no more than `tail`, else the last one."""
        half = len(self.deltas) // 2
        few = np.flatnonzero(self.deltas <= tail)
        return float(int(few[0]) - half if len(few) else half) * self.step


# ----------------------------------------------------------------------------------------------------------------------
# What one noised coordinate costs: a pair of laws (P, Q) that dominates it, as a law of its loss L = log dP/dQ
# under P.
#
# Each loss answers, for its stated direction or, where it has none, for the worse one (a maximum of profiles is again
# the profile of a pair: it is convex in e^eps):
#
#     pure          largest log ratio, a fraction that is not below it (inf where there is none)
#     rho           a zCDP parameter that is known exactly, a fraction (inf where none is: `renyi` then says more)
#     renyi(alpha)  Renyi divergence of an order > 1, rounded up
#     mu            a GDP parameter, rounded up (inf where none is known)
#     mirrored      the same coordinate when the two datasets change places
#     profile(eps)  delta(eps) = E_P[(1 - e^(eps - L))^+] on a vector of real eps, negative ones included, rounded up
#     cells(edges)  P- and Q-masses between edges, each with a relative error of at most `eta`
#     window(tail)  where all of L is but for masses of about `tail`
#     on_points(..) a law on points above it (see above)
#
# Dominating pairs compose under adaptivity (Zhu, Dong, Wang 2022, Theorem 10 and Proposition 9): what is computed from
# them is an upper bound, whatever the directions in which coordinates without a stated one move. Where it is a loose
# one, see `adaptive`. Losses are frozen and hashable, so that compositions can be cached.
#
# A smaller shift is dominated by the full one: every noise here is log-concave, so the likelihood ratio of a
# shift is monotone, the best tests are thresholds, and their power grows with the shift.


Exact = Fraction | float  # a fraction, or math.inf

RENYI_POINTS = 2**12 + 1
MODERATE = 600.0  # e^600 times any mass is a float
_PROBES = 2.0 ** np.arange(-60.0, 24.0, 0.25)


class Loss(ABC):
    """A Loss says what one noised coordinate costs: a pair of laws (P, Q) that dominates it, as a law of L = log dP/dQ.

    It is the base of all losses: a new family says `profile` and `cells`, and whatever of the rest it knows better.
    Losses are frozen and hashable, so that compositions can be cached.

    Notes
    -----
    Dominating pairs compose under adaptivity (Zhu, Dong, Wang 2022, Theorem 10 and Proposition 9): what is computed
    from them is an upper bound, whatever the directions in which coordinates without a stated one move.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from dpverify.accounting.noise_losses import LaplaceLoss
    >>> loss = LaplaceLoss(Fraction(1))
    >>> isinstance(loss, Loss), loss.pure, loss.profile(np.array([0.0])).round(4).tolist()  # 1 - e^(-1/2)
    (True, Fraction(1, 1), [0.3935])
    """

    @property
    def eta(self) -> float:
        """Bound on the relative error of every number that `cells` gives."""
        return 16 * UNIT

    @property
    def pure(self) -> Exact:
        """Largest log ratio; inf unless a family says otherwise."""
        return math.inf

    @property
    def pure_ways(self) -> "tuple[Exact, Exact]":
        """Largest log ratio in either order of the datasets, which for losses with a direction differ."""
        return self.pure, self.pure

    @property
    def rho(self) -> Exact:
        """D_alpha <= rho alpha for all alpha > 1, where that is known in closed form."""
        return math.inf

    @property
    def mu(self) -> float:
        """N(0,1) against N(mu,1) dominates the pair; inf where no such mu is known."""
        return math.inf

    @property
    def mirrored(self) -> "Loss":
        """The loss of the same coordinate when the two datasets change places; itself unless it has a direction."""
        return self

    @property
    def listable(self) -> bool:
        """False where the law has too many outputs to be listed: then only `pure`, `rho` and `renyi` are used."""
        return True

    @abstractmethod
    def profile(self, eps: Array) -> Array:
        """delta(eps), shape of eps: of the stated direction, else the larger of the two."""

    @abstractmethod
    def cells(self, edges: Array) -> Cells:
        """Masses of P and Q in (x_i, x_(i+1)], below and above, for increasing edges (one edge: no cell).

        Never differences of a computed profile: what counts is the *relative* error, also of 1e-40. The edges are the
        floats that are given, exactly.
        """

    def renyi(self, alpha: float) -> float:
        """D_alpha of the loss, rounded up, 1 < alpha < inf; here for pure losses, from a law on points.

        E_Q[(dP/dQ)^alpha] is the mean of v^(1 - alpha) under P, v = e^-L, convex and non-increasing as in Lemma 1 of
        `loss_laws`, so the law above the loss has the larger divergence.
        """
        if not isinstance(self.pure, Fraction) or not 0 < self.pure < 10**4:
            return 0.0 if self.pure == 0 else math.inf
        pure = max(float_up(self.pure), 1e-280)  # points that floats tell apart
        law = self.on_points(np.linspace(-pure, pure, RENYI_POINTS))
        return math.inf if law.infinite > 0 else renyi_of(law.masses, law.points, alpha, 4 * self.eta + 64 * UNIT)

    def window(self, tail: float) -> tuple[float, float]:
        """(low, high) with P(L < low) and P(high < L < inf) of about `tail`; tightness hangs on it, never safety."""
        points = np.concatenate([-_PROBES[::-1], [0.0], _PROBES])
        cells = self.cells(points)
        at_most = cells.below[0] + np.concatenate([[0.0], np.cumsum(cells.p)])
        beyond = np.concatenate([np.cumsum(cells.p[::-1])[::-1], [0.0]])
        low = points[max(0, int(np.searchsorted(at_most, tail, side="right")) - 1)]
        high = points[min(len(points) - 1, int(np.argmax(beyond <= tail)))]
        pure = float_up(self.pure) if isinstance(self.pure, Fraction) else math.inf
        return max(float(low), -pure), min(float(high), pure)

    def on_points(self, points: Array) -> GridLaw:
        """A law above this one on increasing points: mass below goes to the lowest, mass above to infinite loss."""
        return of_cells(points, self.cells(points), self.eta)


class ConvertedLoss(Loss):
    """A ConvertedLoss is known by its Renyi divergences alone: there is no law, and `delta` converts them.

    It is a base: a new family says `delta` and `renyi`.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpverify.accounting.noise_losses import ConcentratedLoss
    >>> loss = ConcentratedLoss(Fraction(1, 2))
    >>> isinstance(loss, ConvertedLoss), 0.1269 < loss.delta(1.0) < 1  # a Gaussian of this rho has 0.1269
    (True, True)
    """

    @abstractmethod
    def delta(self, eps: float) -> float:
        """delta at eps >= 0."""

    def profile(self, eps: Array) -> Array:
        """Below 0 by delta(x) = 1 - e^x + e^x delta(-x)."""
        above = np.array([self.delta(abs(float(each))) for each in eps])
        below = -np.expm1(np.minimum(eps, 0)) + np.exp(np.minimum(eps, 0)) * above
        return np.minimum(np.where(eps >= 0, above, below) * (1 + 2**20 * UNIT), 1.0)

    def cells(self, edges: Array) -> Cells:
        """All mass is infinite loss: the most cautious law there is."""
        nothing = np.zeros(len(edges) - 1)
        return Cells(nothing, nothing, (0.0, 1.0), (1.0, 0.0))


Losses = tuple[tuple[Loss, int], ...]  # (loss, how many coordinates have it), in an order of their own


def renyi_of(masses: Array, losses: Array, alpha: float, slack: float) -> float:
    """Compute an upper bound on the Renyi divergence of a law of losses.

    Parameters
    ----------
    masses : array of float, shape (n,)
        Upper bounds of masses that sum to 1.
    losses : array of float, shape (n,)
        Upper bounds of the losses.
    alpha : float
        The order, 1 < alpha < inf.
    slack : float
        Masses are at most this share too large.

    Returns
    -------
    float
        log(E[e^((alpha - 1) L)])/(alpha - 1), rounded up.

    Notes
    -----
    Small exponents: log1p of the mean of expm1, whose positive terms take the masses and whose negative ones take them
    less the slack; no digits are lost where alpha is near 1.

    Examples
    --------
    >>> import math
    >>> import numpy as np
    >>> found = renyi_of(np.array([0.75, 0.25]), np.log([3.0, 1 / 3]), 2.0, 0.0)
    >>> round(found - math.log(7 / 3), 12)
    0.0
    """
    losses, masses = losses[masses > 0], masses[masses > 0]
    if not len(losses):
        return 0.0
    size = float(np.abs(losses).max())
    if (alpha - 1) * size < 1:
        exponents = (alpha - 1) * losses
        terms = masses * np.expm1(exponents)
        terms = np.where(terms < 0, terms * (1 - slack), terms)
        moment = math.fsum(terms) + 8 * UNIT * math.fsum(np.abs(terms))
        return max(0.0, math.log1p(moment) / (alpha - 1) * (1 + 8 * UNIT))
    top = float(losses.max())
    with np.errstate(over="ignore"):
        log = math.log(math.fsum(masses * np.exp((alpha - 1) * (losses - top))))
    error = 8 * UNIT * (2 * size + (abs(log) + 2) / (alpha - 1))
    return max(0.0, (top + log / (alpha - 1) + error) * (1 + 4 * UNIT))


def renyi_of_symmetric(masses: Array, losses: Array, alpha: float) -> float:
    """Compute an upper bound on the Renyi divergence of a pair of laws that is the same as Q against P.

    Parameters
    ----------
    masses : array of float, shape (n,)
        Upper bounds of the masses.
    losses : array of float, shape (n,)
        Upper bounds of the losses.
    alpha : float
        The order, 1 < alpha < inf.

    Returns
    -------
    float
        log(E[e^((alpha - 1) L)])/(alpha - 1), rounded up; nothing cancels in it.

    Notes
    -----
    The outputs of loss l > 0 have mirror images of mass p e^-l at -l. With c = alpha - 1 and v = e^-l, E[e^(cL)] - 1 is
    the sum over l > 0 of p f(v), f(v) = (e^(cl) - 1) + e^-l (e^(-cl) - 1) = (e^(cl) - 1)(1 - e^(-alpha l)) = v^-c - v -
    1 + v^alpha: convex, non-increasing, and 0 with its derivative at v = 1. Set to 0 beyond, it stays so, hence laws
    above this one (`loss_laws`, Lemma 1) have a larger sum. Terms err by 16u, exponents by 3u of themselves.

    Examples
    --------
    >>> import math
    >>> import numpy as np
    >>> found = renyi_of_symmetric(np.array([0.75, 0.25]), np.log([3.0, 1 / 3]), 2.0)
    >>> round(found - math.log(7 / 3), 12)
    0.0
    """
    used = (losses > 0) & (masses > 0)
    losses, masses = losses[used], masses[used]
    if not len(losses):
        return 0.0
    c, top = alpha - 1, float(losses.max())
    with np.errstate(over="ignore"):
        falls = -np.expm1(-alpha * losses)
        if c * top < MODERATE:
            excess = math.fsum(masses * np.expm1(c * losses) * falls)
            return math.log1p(excess) / c * (1 + (32 + 4 * c * top) * UNIT)
        terms = masses * np.exp(c * (losses - top)) * -np.expm1(-c * losses) * falls
    log = math.log(math.fsum([math.exp(-min(c * top, 745.0)), *terms.tolist()]))
    return (top + log / c + 16 * UNIT * (2 * top + (abs(log) + 2) / c)) * (1 + 4 * UNIT)
