"""Losses of what runs on a random subset of the users: amplification by sampling.

Let (P, Q) be a pair that dominates what is run on the subset (`inside`, all of it on one subset), D its profile, q the
chance that the changed user is in the subset. With M = (1 - q) Q + q P and y(x) = log(1 + (e^x - 1)/q):

    REMOVED  (M, Q)   delta(x) = q D(y(x)) where e^x > 1 - q, else 1 - e^x
    ADDED    (Q, M)   delta(x) = (1 - (1 - q) e^x) D'(-y(-x)), D' the profile of (Q, P), where e^x < 1/(1 - q), else 0
    FIXED    delta(x) = q D(y(x)) for x >= 0, and 1 - e^x + e^x delta(-x) below

REMOVED and ADDED: Poisson sampling, one dataset is the other one and a user (Zhu, Dong, Wang 2022, Theorem 11); second
line: D_add(x) = 1 - e^x + e^x D_rem(-x), and D(y) = 1 - e^y + e^y D'(-y). FIXED: subsets of fixed size, one user
replaced. The law of a release is (1 - q) R + q P or (1 - q) R + q Q, with R that without the user, P and Q those with
its first and second record; of P, Q, R any two are one replacement apart (who stands in for the user in R is any other
record). By advanced joint convexity (Balle, Barthe, Gaboardi 2018, Theorem 2) the divergence at e^x = 1 + q (e^y - 1)
is q times at most max(D(P||R), D(P||Q)) = q D(y), for x >= 0; both orders have this bound, and below 0 the profile of
one order is that of the other one. Loss 0 keeps the rest of the mass.

On points: a law above `inside` on the points y(x_i) has atoms; each is an atom of (M, Q) at x_i. All three delta(x)
grow with D, so the bound is kept.
"""

import math
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from dpverify.accounting import loss_laws
from dpverify.accounting.loss_laws import Cells, Exact, GridLaw, Loss, renyi_of
from dpverify.base.rounding import float_up, log_up, sqrt_up, UNIT
from dpverify.errors import AccountingError

Array = npt.NDArray[np.float64]
Inside = tuple[tuple[Loss, int], ...]

RENYI_POINTS = 2**12
RENYI_TAILS = (1e-2, 1e-6, 1e-15, 1e-60, 1e-250)  # points are equally dense over each of these windows
HIGHER = (2, 4, 8, 16, 32)  # orders above the wanted one that bound the tail of its moment
MOST_ORDER = 2000
SLACK = 4e-9  # masses of inner laws are too large by less than this share
LOWEST = 300.0  # inner losses below minus this are not told apart


class Sampling(Enum):
    """A Sampling says which pair of laws a sample has; q is the chance of the changed user, and M = (1 - q) Q + q P.

    Attributes
    ----------
    REMOVED
        (M, Q): Poisson sampling, the first dataset has the user.
    ADDED
        (Q, M): Poisson sampling, the second dataset has the user.
    FIXED
        Subsets of fixed size, one user replaced.
    """

    REMOVED = "removed"
    ADDED = "added"
    FIXED = "fixed"

    @property
    def mirrored(self) -> "Sampling":
        """The pair in the other order."""
        return {Sampling.REMOVED: Sampling.ADDED, Sampling.ADDED: Sampling.REMOVED}.get(self, self)


@dataclass(frozen=True)
class SampledLoss(Loss):
    """A SampledLoss is the loss of what runs on a random subset of the users.

    Parameters
    ----------
    rate : Fraction
        Chance with which the changed user joins the subset, 0 < rate < 1.
    inside : tuple of (Loss, int)
        What is run on the subset, all of it on one: losses, and how many coordinates have each.
    sampling : Sampling
        How the subset is drawn, and the order of the datasets.

    Notes
    -----
    Poisson sampling: Zhu, Dong, Wang 2022, Theorem 11. Fixed size: Balle, Barthe, Gaboardi 2018, Theorem 2. The module
    has the forms of delta and their proofs.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from dpverify.accounting.noise_losses import GaussianLoss
    >>> from dpverify.accounting.sampled_losses import Sampling
    >>> inside = ((GaussianLoss(Fraction(1)), 1),)
    >>> loss = SampledLoss(Fraction(1, 2), inside, Sampling.REMOVED)
    >>> whole = inside[0][0].profile(np.array([0.0]))  # at eps = 0 a sample of half of the users costs half
    >>> round(float(loss.profile(np.array([0.0]))[0] / whole[0]), 9)
    0.5
    """

    rate: Fraction
    inside: Inside
    sampling: Sampling

    @property
    def mirrored(self) -> "SampledLoss":
        return replace(self, sampling=self.sampling.mirrored)

    @property
    def _inside_mirrored(self) -> Inside:
        return tuple((loss.mirrored, count) for loss, count in self.inside)

    @property
    def pure(self) -> Exact:
        """log(1 + q (e^a - 1)), for ADDED at most -log(1 - q + q e^-a); a the largest log ratio inside."""
        total = Fraction(0)
        for loss, count in self.inside:
            if not isinstance(loss.pure, Fraction):
                total = Fraction(-1)
                break
            total += count * loss.pure
        if total < 0:
            return Fraction(log_up(1 / (1 - self.rate))) if self.sampling is Sampling.ADDED else math.inf
        if total > 600:
            return math.inf if self.sampling is not Sampling.ADDED else Fraction(log_up(1 / (1 - self.rate)))
        a = float_up(total)
        if self.sampling is Sampling.ADDED:
            # -expm1(-a) up by some units, so that 1 - q + q e^-a comes down
            gone = min(Fraction(1), Fraction(-math.expm1(-a) * (1 + 8 * UNIT)))
            return Fraction(log_up(1 / (1 - self.rate * gone)))
        return Fraction(log_up(1 + self.rate * Fraction(math.expm1(a) * (1 + 8 * UNIT))))

    @property
    def rho(self) -> Exact:
        """That of `inside`: what is sampled is a mixture of it and of what tells nothing."""
        return sum((count * loss.rho for loss, count in self.inside), Fraction(0)) if self._known("rho") else math.inf

    @property
    def mu(self) -> float:
        """That of `inside`, for the same reason."""
        if any(loss.mu == math.inf for loss, _ in self.inside):
            return math.inf
        return sqrt_up(sum((count * Fraction(loss.mu) ** 2 for loss, count in self.inside), Fraction(0)))

    @property
    def listable(self) -> bool:
        return all(loss.listable for loss, _ in self.inside)

    def _known(self, name: str) -> bool:
        return all(isinstance(getattr(loss, name), Fraction) for loss, _ in self.inside)

    def profile(self, eps: Array) -> Array:
        """The forms of the module; y is rounded down by a bound on its error, where D is larger."""
        q = float_up(self.rate)
        if self.sampling is Sampling.FIXED:
            above = q * inner_profile(self.inside, _inner_edges(np.abs(eps), self.rate)[0]) * (1 + 8 * UNIT)
            x = np.minimum(eps, 0.0)
            below = (-np.expm1(x) + np.exp(x) * above) * (1 + 8 * UNIT)
            return np.asarray(np.where(eps >= 0, above, below), dtype=np.float64)
        y, live = _inner_edges(eps if self.sampling is Sampling.REMOVED else -eps, self.rate)
        found = np.zeros(len(eps))
        if self.sampling is Sampling.REMOVED:
            found[~live] = -np.expm1(eps[~live]) * (1 + 4 * UNIT)
            found[live] = q * inner_profile(self.inside, y[live]) * (1 + 8 * UNIT)
        elif live.any():
            y = _inner_edges(-eps[live], self.rate, up=True)[0]
            factor = float_up(self.rate) - (1 - q) * np.expm1(eps[live])  # 1 - (1 - q) e^x
            error = 8 * UNIT * (1 + np.abs(np.expm1(eps[live])))
            found[live] = np.maximum(factor + error, 0.0) * inner_profile(self._inside_mirrored, -y) * (1 + 8 * UNIT)
        return np.minimum(found, 1.0)

    def cells(self, edges: Array) -> Cells:
        """Not needed: the atoms on the points are known."""
        raise NotImplementedError("a sampled loss has atoms, see on_points")

    def on_points(self, points: Array) -> GridLaw:
        match self.sampling:
            case Sampling.REMOVED:
                return self._removed(points)
            case Sampling.ADDED:
                return self._added(points)
        return self._fixed(points)

    @property
    def _rest(self) -> float:
        """1 - q, rounded up."""
        return 1 - float(self.rate) + UNIT

    def _removed(self, points: Array) -> GridLaw:
        """Atoms (1 - q) m e^-y + q m at x, what of Q is missing at log(1 - q), q times the infinite mass."""
        x, y, law = self._atoms(points)
        q = float_up(self.rate)
        mass_q, error = law.masses * np.exp(-y), (16 + 2 * np.abs(y)) * UNIT
        missing = max(0.0, 1 - math.fsum(mass_q * (1 - error)) * (1 - 8 * UNIT))
        masses = (self._rest * mass_q * (1 + error) + q * law.masses) * (1 + 16 * UNIT)
        least = math.log1p(-float(self.rate)) * (1 - 8 * UNIT)
        return loss_laws.of_atoms(
            points, np.append(x, least), np.append(masses, self._rest * missing), law.infinite * q * (1 + 8 * UNIT)
        )

    def _atoms(self, points: Array) -> tuple[Array, Array, GridLaw]:
        """Losses x_i that some y_i >= -300 reaches, these y_i, and a law above `inside` on them."""
        y, live = _inner_edges(points, self.rate)
        live &= y > -LOWEST
        x, y = points[live], y[live]
        if len(x):
            keep = np.concatenate([np.diff(y) > 0, [True]])  # of equal y the last, which has the largest x
            x, y = x[keep], y[keep]
        if len(x) < 2:
            return np.zeros(0), np.zeros(0), GridLaw(np.zeros(0), np.zeros(0), 1.0)
        return x, y, inner_law(self.inside, y)

    def _added(self, points: Array) -> GridLaw:
        """Q-masses of `inside` at their losses, from its mirror image; what P lacks is at -log(1 - q).

        The last cell ends there: e^-x is linear in e^-z, so a chord inside is one outside. Without it all that is above
        the last point would be at the largest loss, and in many steps that adds up.
        """
        y, live = _inner_edges(-points, self.rate, up=True)
        x, z = points[live], -y[live]
        most = -math.log1p(-float(self.rate)) * (1 + 8 * UNIT)
        if len(x):
            keep = np.concatenate([np.diff(z) > 0, [True]])
            x, z = x[keep], z[keep]
            if z[-1] < LOWEST:
                x, z = np.append(x, most), np.append(z, LOWEST)
        if len(x) < 2:
            return loss_laws.of_atoms(points, np.array([most]), np.array([1.0]), 0.0)
        law = inner_law(self._inside_mirrored, z)
        return loss_laws.of_atoms(points, np.append(x, most), np.append(law.masses, law.infinite), 0.0)

    def _fixed(self, points: Array) -> GridLaw:
        """Above 0 as REMOVED, below 0 the mirror image, the rest at 0."""
        positive = np.concatenate([[0.0], points[points > 0]])
        if len(positive) < 2:
            positive = np.array([0.0, 1.0])
        x, y, law = self._atoms(positive)
        q = float_up(self.rate)
        x, y, m = x[1:], y[1:], law.masses[1:]
        error = (16 + 2 * np.abs(y)) * UNIT
        mass_q = m * np.exp(-y) * (1 + error)
        up = (self._rest * mass_q + q * m) * (1 + 16 * UNIT)
        here = 1 - math.fsum((up + mass_q) * (1 - 4 * error)) - q * law.infinite * (1 - 4 * UNIT)
        # y was rounded down by a share of at most 32u: the mirrored loss is -x or larger by y dx/dy times that
        low = x - 64 * UNIT * y * np.exp(np.minimum(y + math.log(q) - x, 0.0))
        loss = np.concatenate([x, -low, [0.0]])
        masses = np.concatenate([up, mass_q, [max(0.0, here * (1 + 8 * UNIT))]])
        return loss_laws.of_atoms(points, loss, masses, law.infinite * q * (1 + 8 * UNIT))

    def window(self, tail: float) -> tuple[float, float]:
        """From the windows inside; tightness only."""
        q = float(self.rate)
        low, high = inner_window(self.inside, tail / q)
        back, most = (-end for end in inner_window(self._inside_mirrored, tail))  # of y under Q: from most to back
        match self.sampling:
            case Sampling.REMOVED:
                return _outer(min(low, most), q), _outer(max(high, back), q)
            case Sampling.ADDED:
                return -_outer(back, q), -_outer(most, q)
        return -_outer(max(high, back), q), _outer(max(high, back), q)

    def renyi(self, alpha: float) -> float:
        """Whole orders of REMOVED: (a-1) D_a = log sum_k C(a,k) (1-q)^(a-k) q^k E_Q[(dP/dQ)^k] (Mironov, Talwar, Zhang
        2019, section 3.3). Others: the law on points, and the moment of its tail from a whole order b > a,
        E[e^((a-1) L); L > h] <= e^((a-b) h) E[e^((b-1) L)]; above 0 the laws of FIXED are those of REMOVED.
        """
        if not self.listable:  # that of `inside`, see `rho`
            return math.fsum(count * loss.renyi(alpha) for loss, count in self.inside) * (1 + 4 * UNIT)
        if self.sampling is not Sampling.REMOVED or isinstance(self.pure, Fraction):
            return self._renyi_on_points(alpha)
        if alpha == int(alpha) and alpha <= MOST_ORDER:
            return _log_moment(self.rate, self.inside, int(alpha)) / (alpha - 1) * (1 + 4 * UNIT)
        return self._renyi_on_points(alpha)

    @cached_property
    def _for_renyi(self) -> GridLaw:
        """A law on points without those of no mass, asked for many orders."""
        windows = [self.window(tail) for tail in RENYI_TAILS]
        ends = [(low, high if high > low else low + 1e-300) for low, high in windows]
        if isinstance(self.pure, Fraction):
            ends.append((-float_up(self.pure), float_up(self.pure) * (1 + 1e-9) + 1e-300))
        points = np.unique(np.concatenate([np.linspace(low, high, RENYI_POINTS) for low, high in ends]))
        law = self.on_points(points[np.concatenate([[True], np.diff(points) > 64 * UNIT * np.abs(points[1:])])])
        used = law.masses > 0
        used[-1] = True
        return GridLaw(law.points[used], law.masses[used], law.infinite)

    def _renyi_on_points(self, alpha: float) -> float:
        law = self._for_renyi
        if law.infinite == 0:
            return renyi_of(law.masses, law.points, alpha, SLACK)
        if self.sampling is Sampling.ADDED or not alpha < MOST_ORDER:
            return math.inf
        inside = (alpha - 1) * renyi_of(law.masses, law.points, alpha, SLACK)
        top = float(law.points[-1])
        tails = [
            (alpha - order) * top + _log_moment(self.rate, self.inside, order)
            for order in (math.floor(alpha) + more for more in HIGHER)
        ]
        tail = min(tails)
        if tail == math.inf:
            return math.inf
        both = max(inside, tail)
        found = both + math.log(math.exp(inside - both) + math.exp(tail - both))
        return (found + 16 * UNIT * (abs(found) + 1)) / (alpha - 1) * (1 + 4 * UNIT)


@lru_cache(maxsize=4096)
def _log_moment(rate: Fraction, inside: Inside, order: int) -> float:
    """log E_Q[(dM/dQ)^order], rounded up; order a whole number >= 2."""
    q = float(rate)
    excess, error = [0.0], 0.0  # log of the sum over k of w_k e^(a_k), with weights w that sum to 1
    for k in range(2, order + 1):
        inner = (k - 1) * math.fsum(count * loss.renyi(float(k)) for loss, count in inside)
        ways = math.lgamma(order + 1) - math.lgamma(k + 1) - math.lgamma(order - k + 1)
        parts = [ways, (order - k) * math.log1p(-q), k * math.log(q), inner]
        if inner == math.inf:
            return math.inf
        if inner > 0:
            excess.append(math.fsum(parts) + math.log(-math.expm1(-inner)))
        error = max(error, 16 * UNIT * (math.fsum(map(abs, parts)) + math.lgamma(order + 1)))
    top = max(excess)
    # 1 + sum of w_k (e^(a_k) - 1)
    total = math.fsum([math.exp(-top), *(math.exp(term - top) for term in excess[1:])])
    if top == 0:
        return math.log1p(math.fsum(math.exp(term) for term in excess[1:])) * (1 + error + 16 * UNIT)
    return (top + math.log(total)) * (1 + 8 * UNIT) + error


def _outer(y: float, q: float) -> float:
    """log(1 - q + q e^y), nearest."""
    return y + math.log(q) if y > 600 else math.log1p(q * math.expm1(y))


def _inner_edges(x: Array, rate: Fraction, *, up: bool = False) -> tuple[Array, npt.NDArray[np.bool_]]:
    """y(x), rounded down (up), and where it exists: e^x > 1 - q.

    e^y = 1 + (e^x - 1)/q; the quotient is off by 6u of its size, so y by that over e^y, and by some units of its own.
    """
    q = float(rate)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        quotient = np.expm1(np.minimum(x, 700.0)) / q
        grown = 1 + quotient
        error = 8 * UNIT * np.abs(quotient)
        live = grown > 2 * error
        y = np.log1p(np.where(live, quotient, 0.0))
        error = np.where(live, error / np.where(live, grown - error, 1.0), 0.0) + 8 * UNIT * np.abs(y)
        far = x > 600
        y = np.where(far, x - math.log(q), y)
        error = np.where(far, 8 * UNIT * np.abs(y), error)
    return np.asarray(y + error if up else y - error, dtype=np.float64), live


# ----------------------------------------------------------------------------------------------------------------------
# Laws of compositions that are run on one and the same subset of users: few losses, as one law on points.
#
# One loss is asked itself. Several are put on one grid each and convolved: sums of positive numbers, so that errors
# stay relative and everything stays above the truth (`loss_laws`, Lemma 1).


POINTS = 2**14  # of a convolution
MOST_INSIDE = 64  # coordinates
TAIL = 1e-40


def inner_law(inside: Inside, points: Array) -> GridLaw:
    """Make a law on points above a composition that is run on one subset of users.

    Parameters
    ----------
    inside : tuple of (Loss, int)
        Losses, and how many coordinates have each; at most 64 coordinates, if more than one.
    points : array of float, shape (n,)
        Losses, increasing.

    Returns
    -------
    GridLaw
        Above the composition.

    Raises
    ------
    AccountingError
        For more than 64 coordinates.

    Notes
    -----
    One loss is asked itself. Several are put on one grid each and convolved: sums of positive numbers, so that errors
    stay relative and everything stays above the truth (`loss_laws`, Lemma 1).

    Examples
    --------
    >>> import numpy as np
    >>> inner_law((), np.array([0.0, 1.0])).masses.round(9).tolist()  # nothing is run: loss 0
    [1.0, 0.0]
    """
    if not inside:
        return loss_laws.of_atoms(points, np.zeros(1), np.ones(1), 0.0)
    if _single(inside):
        return inside[0][0].on_points(points)
    law = _convolved(inside)
    return loss_laws.of_atoms(points, law.points, law.masses, law.infinite)


def inner_profile(inside: Inside, eps: Array) -> Array:
    """Compute an upper bound on delta of a composition that is run on one subset of users.

    Parameters
    ----------
    inside : tuple of (Loss, int)
        Losses, and how many coordinates have each; at most 64 coordinates, if more than one.
    eps : array of float, shape (n,)
        Where, negative numbers included.

    Returns
    -------
    array of float, shape (n,)
        delta at each eps.

    Raises
    ------
    AccountingError
        For more than 64 coordinates.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from dpverify.accounting.noise_losses import GaussianLoss
    >>> inner_profile(((GaussianLoss(Fraction(1)), 1),), np.array([1.0])).round(4).tolist()
    [0.1269]
    """
    if not inside:
        return np.asarray(np.maximum(-np.expm1(eps), 0.0) * (1 + 4 * UNIT), dtype=np.float64)
    if _single(inside):
        return np.minimum(inside[0][0].profile(eps), 1.0)
    law = _convolved(inside)
    found = [law.infinite + math.fsum(law.masses * np.maximum(-np.expm1(each - law.points), 0.0)) for each in eps]
    return np.minimum(np.array(found) * (1 + 16 * UNIT), 1.0)


def inner_window(inside: Inside, tail: float) -> tuple[float, float]:
    """Compute where all losses of a composition lie, but for little mass: the sums of the windows of its losses.

    Parameters
    ----------
    inside : tuple of (Loss, int)
        Losses, and how many coordinates have each.
    tail : float
        About the mass beyond either end of each window, at most 0.1.

    Returns
    -------
    tuple of (float, float)
        The lowest and the highest loss. Tightness hangs on them, never safety.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpverify.accounting.noise_losses import LaplaceLoss
    >>> inner_window(((LaplaceLoss(Fraction(1)), 3),), 1e-9)
    (-3.0, 3.0)
    """
    windows = [(loss.window(min(tail, 0.1)), count) for loss, count in inside]
    return sum(count * low for (low, _), count in windows), sum(count * high for (_, high), count in windows)


def _single(inside: Inside) -> bool:
    return len(inside) == 1 and inside[0][1] == 1


@lru_cache(maxsize=32)
def _convolved(inside: Inside) -> GridLaw:
    total = sum(count for _, count in inside)
    if total > MOST_INSIDE:
        raise AccountingError(f"{total} losses on one subset: more than {MOST_INSIDE} are not convolved")
    windows = [loss.window(TAIL) for loss, _ in inside]
    span = sum(count * (high - low) for (low, high), (_, count) in zip(windows, inside, strict=True))
    step = float(2.0 ** math.ceil(math.log2(span / POINTS)))  # multiples are floats
    masses, first, finite = np.ones(1), 0, 1.0
    for (low, high), (loss, count) in zip(windows, inside, strict=True):
        start = math.floor(low / step)
        grid = np.arange(start, math.ceil(high / step) + 2, dtype=np.float64) * step
        law = loss.on_points(grid)
        for _ in range(count):
            masses = np.convolve(masses, law.masses)
            masses *= 1 + (2 * min(len(law.masses), len(masses)) + 4) * UNIT
            first += start
            finite *= max(0.0, 1 - law.infinite)
    points = (first + np.arange(len(masses), dtype=np.float64)) * step
    return GridLaw(points, masses, (1 - finite) * (1 + 4 * UNIT) + total * 2 * UNIT * (finite < 1))
