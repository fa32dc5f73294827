"""Bounded range: all losses of a step lie in some interval of length eps (exponential mechanism, Gumbel noisy max).

Pair c, 0 <= c <= eps: losses c and c - eps with P-masses p_c = (1 - e^(c-eps))/(1 - e^-eps) and 1 - p_c. A step whose
losses lie in [c - eps, c] is dominated by pair c: moving its mass to the two ends, with the mean 1 of e^-L kept, is
Lemma 1 (a) of `loss_laws` (Durfee, Rogers 2019; Dong, Durfee, Rogers 2020). Best for a single step is c = (eps + x)/2:
one step has D(x) = (1 - e^((x-eps)/2))^2/(1 - e^-eps) for |x| <= eps. That envelope is `BoundedRangeLoss`; it composes
with anything. rho = eps^2/8 (Cesar, Rogers 2021): k(a) = log E_Q[e^(a L)] has k(0) = k(1) = 0 and k'' <= eps^2/4, the
largest variance of a variable of range eps, so k(a) - a (a - 1) eps^2/8 is concave with zeros at 0 and 1, hence <= 0
beyond. Renyi divergences are those of the worst pair c, order by order: with b = a - 1, N = 1 - e^-eps,
s = e^(b eps) - 1 and w = e^(c - eps) the moment E_P[e^(b L)] = w^b (1 + s (1 - w)/N) has its maximum at
w = b (N + s)/((b + 1) s).

Steps of one eps alone: who chooses the steps may look at what was released (adaptivity matters: Dong, Durfee, Rogers
2020), and the worst case is f_0(x) = (1 - e^x)^+, f_k(x) = max over c of p_c f_(k-1)(x - c) + (1 - p_c) f_(k-1)(x - c
+ eps). On the grid of step h = eps/J, for c between c_j and c_(j+1): both atoms are split between grid points with one
share s, e^-c = (1-s) e^-c_j + s e^-c_(j+1), which only helps (`loss_laws`, Lemma 1). p_c is concave in s and below its
chord plus an eighth of its largest second derivative, e^(c_j+3h-eps) (1-e^-h)^2/(4 (1-e^-eps)). The bound is then a
quadratic in s, and its maximum over [0, 1] is taken; it grows with p_c because f falls. All terms are positive: errors
stay relative. Beyond the window f is charged 1 below and its last value above.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.accounting import loss_laws
from dpverify.accounting.loss_laws import Cells, GridLaw, GridProfile, Loss
from dpverify.base.rounding import float_up, UNIT
from dpverify.claims import profiles

Array = npt.NDArray[np.float64]

LARGE = 1000.0  # ranges beyond it are charged in full
LEAST = 1e-100  # ranges below it are charged by their envelope
FINE = 32  # steps of the grid in a range
MESH = 2**13  # points in [0, eps]
MORE = (1.001, 1.002, 1.005, 1.01, 1.02, 1.05, 1.1, 1.2)  # shares of the least mu that are tried
MOST_STEPS = 200


@dataclass(frozen=True)
class BoundedRangeLoss(Loss):
    """A BoundedRangeLoss is the loss of a step all of whose losses lie in some interval of length eps: a bounded range.

    The exponential mechanism is such a step, and noisy max with Gumbel noise.

    Parameters
    ----------
    eps : Fraction
        Length of the interval.

    Notes
    -----
    It is the envelope of all pairs that one step may have: density e^((l-a)/2)/(2 (1 - e^-a)) of losses l in (-a, a)
    under P, a = eps. rho = eps^2/8 (Cesar, Rogers 2021); the module has the proofs.

    Examples
    --------
    >>> from fractions import Fraction
    >>> loss = BoundedRangeLoss(Fraction(1))
    >>> loss.pure, loss.rho
    (Fraction(1, 1), Fraction(1, 8))
    """

    eps: Fraction

    @property
    def pure(self) -> Fraction:
        return self.eps

    @property
    def rho(self) -> Fraction:
        return self.eps**2 / 8

    @cached_property
    def _a(self) -> float:
        return max(float_up(self.eps), LEAST)

    @property
    def eta(self) -> float:
        """Exponents of at most a, and some units."""
        return (32 + 2 * self._a) * UNIT

    def window(self, tail: float) -> tuple[float, float]:
        low, high = super().window(tail)
        return min(low, -LEAST), max(high, LEAST)

    def profile(self, eps: Array) -> Array:
        """The square above; 12u."""
        a = self._a
        inside = np.expm1((np.clip(eps, -a, a) - a) / 2) ** 2 / -math.expm1(-a)
        found = np.where(eps >= a, 0.0, np.where(eps <= -a, -np.expm1(np.minimum(eps, 0)), inside))
        return np.asarray(found * (1 + 16 * UNIT), dtype=np.float64)

    def on_points(self, points: Array) -> GridLaw:
        if self._a <= LARGE:
            return super().on_points(points)
        return loss_laws.of_atoms(points, np.array([self._a]), np.ones(1), 0.0)  # all of it at the largest loss

    def cells(self, edges: Array) -> Cells:
        a = self._a
        low, high = np.clip(edges[:-1], -a, a), np.clip(edges[1:], -a, a)
        first, last = min(max(float(edges[0]), -a), a), min(max(float(edges[-1]), -a), a)
        return Cells(*self._masses(low, high), self._ends(-a, first), self._ends(last, a))

    def _ends(self, low: float, high: float) -> tuple[float, float]:
        p, q = self._masses(np.array([low]), np.array([high]))
        return float(p[0]), float(q[0])

    def _masses(self, low: Array, high: Array) -> tuple[Array, Array]:
        a, width = self._a, high - low
        norm = -math.expm1(-a)
        return np.exp((high - a) / 2) * -np.expm1(-width / 2) / norm, np.exp(-(low + a) / 2) * -np.expm1(
            -width / 2
        ) / norm

    def renyi(self, alpha: float) -> float:
        """Of the worst pair, or rho alpha where that is less: logarithms err by 64u, which counts for small moments.

        At a maximum w need not be exact: the moment falls by the square of its relative error (of some u).
        """
        a, b = self._a, max(alpha - 1, 1e-6)  # divergences grow with their order
        bounds = [a, float_up(self.rho * Fraction(alpha))]
        if b < 1e6 and 1e-9 < a < LARGE:
            alpha, norm = 1 + b, -math.expm1(-a)
            rest = -math.expm1(-b * a)  # s e^(-b a)
            w = min(1.0, max(math.exp(-a), b * (rest + norm * math.exp(-b * a)) / (alpha * rest)))
            log_w = math.log(w)
            inside = math.exp(-b * a) + rest * (1 - w) / norm  # (1 + s (1 - w)/N) e^(-b a)
            log = b * (log_w + a) + math.log(inside)
            bounds.append((log + 64 * UNIT * (1 + b * (a + abs(log_w)) + abs(math.log(inside)))) / b * (1 + 8 * UNIT))
        return max(0.0, min(bounds))

    @cached_property
    def mu(self) -> float:
        """N(0,1) against N(mu,1) is above the envelope at the points of a mesh: checked for some mu.

        A Gaussian above the envelope is above every pair. Both fall, so D(x_j) <= G(x_(j+1)) is enough between two
        points, and x < 0 follows from x > 0, both pairs being symmetric. At eps/2 the pair c = eps/2 has mu = 2 Phi^-1
        (1/(1 + e^(-eps/2))): less cannot be. Near 1 what is missing to 1 is compared: with w = e^((x-eps)/2) here (2 w
        - w^2 - e^-eps)/(1 - e^-eps), a difference of at least half of 2 w where D > 1/2, there Phi(x/mu - mu/2) + e^x
        Phi(-x/mu - mu/2).
        """
        a = self._a
        if not 1e-9 < a < 60:  # response: see `parameters`
            return math.inf
        mesh = np.concatenate([np.linspace(0.0, a, MESH), [a]])
        reached, w = self.profile(mesh[:-1]), np.exp((mesh[:-1] - a) / 2)
        missing = np.where(reached > 0.5, (2 * w - w * w - math.exp(-a)) / -math.expm1(-a) * (1 - 1e-9), 0.0)
        least = -2 * float(special.ndtri(1 / (1 + math.exp(a / 2))))
        for factor in MORE:
            mu, x = least * factor, mesh[1:]
            lost = special.ndtr(x / mu - mu / 2) + np.exp(x + special.log_ndtr(-x / mu - mu / 2))
            below = reached <= profiles.gaussian_deltas(mu, x) * (1 - 2e-6)
            if bool((below | (missing > lost * (1 + 1e-9))).all()):
                return mu
        return math.inf


def most_steps(loss: Loss) -> int:
    """Say how many steps of a loss `worst_case` is for.

    Parameters
    ----------
    loss : Loss
        The loss of one step.

    Returns
    -------
    int
        The number of steps; 0 for losses that are not of bounded range.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpverify.accounting.bounded_range import BoundedRangeLoss
    >>> from dpverify.accounting.noise_losses import LaplaceLoss
    >>> most_steps(BoundedRangeLoss(Fraction(1))), most_steps(LaplaceLoss(Fraction(1)))
    (200, 0)
    """
    return MOST_STEPS if isinstance(loss, BoundedRangeLoss) and LEAST < loss.eps < 100 else 0


@lru_cache(maxsize=32)
def worst_case(loss: Loss, count: int) -> GridProfile:
    """Compute the worst delta of repeated steps of bounded range, whoever chooses them.

    Parameters
    ----------
    loss : BoundedRangeLoss
        The loss of one step.
    count : int
        How many steps.

    Returns
    -------
    GridProfile
        delta on a grid, an upper bound.

    Notes
    -----
    f_0(x) = (1 - e^x)^+, f_k(x) = max over c of p_c f_(k-1)(x - c) + (1 - p_c) f_(k-1)(x - c + eps). Between grid
    points of c both atoms are split with one share s, and the maximum of a quadratic in s that is not below the truth
    is taken; the module has the proof.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from dpverify.accounting.bounded_range import BoundedRangeLoss
    >>> found = worst_case(BoundedRangeLoss(Fraction(1)), 1)
    >>> found.at(np.array([0.0])).round(3).tolist()  # (1 - e^(-1/2))^2/(1 - e^-1)
    [0.245]
    """
    assert isinstance(loss, BoundedRangeLoss)
    a = float_up(loss.eps)
    h = a / FINE
    # all that is reached, or where zCDP leaves less than e^-60
    rho = count * a**2 / 8
    half = math.ceil(min(count * a, rho + 2 * math.sqrt(60 * rho) + 2 * a) / h)
    x = np.arange(-half, half + 1, dtype=np.float64) * h
    norm = -math.expm1(-a)
    c = np.arange(FINE + 1) * h
    p = np.maximum(-np.expm1(c - a), 0.0) / norm
    bump = np.exp(c[:-1] + 3 * h - a) * math.expm1(-h) ** 2 / (4 * norm) * (1 + 32 * UNIT)
    deltas = -np.expm1(np.minimum(x, 0.0)) * (1 + 4 * UNIT)
    for _ in range(count):
        deltas = _step(deltas, p, bump)
    return GridProfile(h, deltas)


def _step(deltas: Array, p: Array, bump: Array) -> Array:
    """One application; index i - j + FINE of the padded array is f(x_i - c_j), and FINE further f(x_i - c_j + eps)."""
    n, fine = len(deltas), FINE
    padded = np.concatenate([np.ones(fine), deltas, np.full(fine, deltas[-1])])
    best = np.zeros(n)
    for j in range(fine):
        near, far = fine - j, 2 * fine - j
        a0, a1 = padded[near : near + n], padded[near - 1 : near - 1 + n]
        b0, b1 = padded[far : far + n], padded[far - 1 : far - 1 + n]
        # g(s) = B(s) + p(s) (A(s) - B(s)), all three linear in s
        p0, rise = p[j] + bump[j], p[j + 1] - p[j]
        gap, wider = a0 - b0, (a1 - b1) - (a0 - b0)
        slope = (b1 - b0) + p0 * wider + rise * gap
        bend = rise * wider
        with np.errstate(divide="ignore", invalid="ignore"):
            inner = np.minimum(np.maximum(-slope / (2 * bend), 0.0), 1.0)
        s = np.where(bend < 0, inner, slope + bend > 0)
        top, bottom = a0 + s * (a1 - a0), b0 + s * (b1 - b0)
        chance = np.minimum(p0 + rise * s, 1.0)
        best = np.maximum(best, bottom + chance * (top - bottom))
    # a share that misses the top of the parabola by d loses |bend| d^2, d the rounding of slope over bend: some u^2
    return np.minimum(best * (1 + 128 * UNIT), 1.0)
