"""Privacy profiles and accuracy limits of the notions: pure functions of numbers.

A profile is delta(eps), the hockey-stick divergence that a notion allows. An accuracy limit g(w) is the
largest probability c of a right guess of a fair coin b from o ~ M(D_b) when a wrong guess has probability
w (the rest abstains). With c = (P(E) + Q(F))/2 and w = (Q(E) + P(F))/2 for the events E, F on which the
rule guesses, and f(q) = max{P(E) : Q(E) = q} concave, c <= (f(Q(E)) + f(P(F)))/2 <= f(w): so g = f, the
largest power at size w, for every notion that bounds both directions.
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.base import require
from dpverify.base.rounding import UNIT

Array = npt.NDArray[np.float64]

LEAST_DELTA = 1e-300  # smaller ones than this, but for none at all, are no floats with 53 digits: this is returned


def response_delta(eps0: float, delta0: float, eps: float) -> float:
    """delta(eps) of (eps0, delta0)-DP: delta0 + (1 - delta0)(e^eps0 - e^eps)^+/(1 + e^eps0).

    The pair "reveal with probability delta0, else eps0-randomised response" dominates every
    (eps0, delta0)-DP pair (Kairouz, Oh, Viswanath 2015, Theorem 2.5).
    """
    require.non_negative(eps=eps)
    if eps >= eps0:
        return delta0
    return max(delta0 + (1 - delta0) * -math.expm1(float(eps - eps0)) / (1 + math.exp(-eps0)), LEAST_DELTA)


def response_eps(eps0: float, delta0: float, delta: float) -> float:
    """Inverse of `response_delta` in eps; inf where delta < delta0."""
    require.delta(delta=delta)
    if delta < delta0:
        return math.inf
    gap = (delta - delta0) / (1 - delta0) * (1 + math.exp(-eps0))  # = 1 - e^(eps - eps0)
    return eps0 + math.log1p(-gap) if gap < -math.expm1(-eps0) else 0.0


def response_accuracy_limit(eps0: float, delta0: float, wrong: float) -> float:
    """e^eps0 w + delta0, at most 1 - w."""
    return min(1.0 - wrong, math.exp(min(eps0, 700.0)) * wrong + delta0)


def gaussian_delta(mu: float, eps: float) -> float:
    """Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) (Balle, Wang 2018, Theorem 8), rounded up."""
    require.non_negative(eps=eps)
    return float(gaussian_deltas(mu, np.array([eps]))[0])


def gaussian_deltas(mu: float, eps: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """delta(eps) of N(0,1) against N(mu,1) for any real eps, rounded up by at most 1e-6 relative where it is > 1e-300.

    With a = eps/mu - mu/2 and R(x) = Phi(-x)/phi(x): (a + mu)^2 - a^2 = 2 eps, so e^eps phi(a + mu) = phi(a) and

        delta = phi(a) (R(a) - R(a + mu)) = phi(a) int_0^inf e^(-a s - s^2/2) (1 - e^(-mu s)) ds.

    eps < 0 is delta(eps) = 1 - e^eps + e^eps delta(-eps), a sum of positive numbers. delta falls in a, so a is rounded
    down: off by at most 4u (|eps|/mu + mu). For eps >= 0:

        a < -5 (mu > 10)  Phi(-a) - phi(a) R(a + mu), the second below 1e-6
        mu >= 1e-6        the difference, plus phi(a) 16u (R(a) + R(a + mu)); relative to delta below 1e-7 up to a = 30
        mu < 1e-6         1 - e^-v <= v: phi(a) mu m, m = 1 - a R(a), by Taylor at most a share mu m_2/(2 m) < mu too
                          much; for a > 30 m <= 1/(a^2 + 1), as R(a) >= a/(a^2 + 1) (Gordon 1941)

    e^(-a^2/2) errs by (a^2 + 4) u. Where delta would be below `LEAST_DELTA` that is returned.
    """
    if mu == math.inf:
        return np.ones_like(eps)
    x = np.abs(eps)
    with np.errstate(over="ignore"):
        far = np.minimum(x / mu, 1e200)
    a = np.minimum(far - mu / 2 - 4 * UNIT * (far + mu), 1e100)
    with np.errstate(over="ignore", under="ignore"):
        density = np.exp(-a * a / 2) * ((1 + (np.minimum(a * a, 1e6) + 4) * UNIT) / math.sqrt(2 * math.pi))
        inner = np.maximum(a, -5.0)
        here = _SQRT_HALF_PI * special.erfcx(inner / _SQRT_2)
        if mu >= 1e-6:
            there = _SQRT_HALF_PI * special.erfcx((a + mu) / _SQRT_2)
            found = density * (here - there + 16 * UNIT * (here + there))
            near_1 = special.ndtr(-a) - density * there * (1 - 16 * UNIT) + 8 * UNIT
            found = np.where(a < -5, near_1, found)
        else:
            first = np.where(a > 30, 1 / (a * a + 1), 1 - inner * here + 16 * UNIT * (1 + np.abs(inner) * here))
            found = density * mu * first
        found = np.where(eps < 0, -np.expm1(np.minimum(eps, 0.0)) + np.exp(np.minimum(eps, 0.0)) * found, found)
    return np.asarray(np.clip(found * (1 + 16 * UNIT), LEAST_DELTA, 1.0), dtype=np.float64)


_SQRT_2 = math.sqrt(2.0)
_SQRT_HALF_PI = math.sqrt(math.pi / 2)


def gaussian_accuracy_limit(mu: float, wrong: float) -> float:
    """Phi(Phi^-1(w) + mu): the power of the Neyman-Pearson test of N(0,1) against N(mu,1) at size w."""
    return min(1.0 - wrong, float(special.ndtr(special.ndtri(wrong) + mu)))


def zcdp_delta(rho: float, eps: float) -> float:
    """min over a > 1 of exp((a-1)(a rho - eps)) (1 - 1/a)^a / (a - 1), in [1e-300, 1].

    Canonne, Kamath, Steinke 2020, Proposition 12. Every order a gives a valid bound, so a numerical
    minimum errs on the safe side. The best order is near (1 + eps/rho)/2, which is large for a small rho.
    """
    require.non_negative(eps=eps)

    def log_bound(log_excess: float) -> float:
        excess = math.exp(log_excess)  # a - 1
        order = 1 + excess
        # a log(1 - 1/a) = -a log(1 + 1/(a - 1)): no digits are lost for large orders
        found = excess * (order * rho - eps) - order * math.log1p(1 / excess) - log_excess
        return min(max(found, -_SURE), _SURE)  # numbers, for a search: e^-10000 is none any more

    from scipy import optimize  # slow to load, and stating a claim does not need it

    far = math.log(eps) - math.log(2) - math.log(rho) if min(eps, rho) > 0 else 0.0
    bounds = [(-15.0, 15.0), *([(far - 5, min(far + 5, 300.0))] if 10 < far < 300 else [])]
    found = [
        optimize.minimize_scalar(log_bound, bounds=ends, method="bounded", options={"xatol": 1e-11}) for ends in bounds
    ]
    return max(math.exp(min(0.0, *(float(each.fun) for each in found))), LEAST_DELTA)


_SURE = 1e4


def renyi_delta(orders: Array, allowed: Array, eps: float) -> float:
    """min over the orders of exp((a-1)(eps_a - eps)) (1 - 1/a)^a/(a - 1), in [1e-300, 1].

    From D_a <= eps_a: Canonne, Kamath, Steinke 2020, Proposition 12. Each order gives a valid bound; the logarithm is
    moved up by 8 units of its terms.
    """
    require.non_negative(eps=eps)
    excess = orders - 1
    with np.errstate(over="ignore"):
        gains = np.clip(excess * (allowed - eps), -1e300, 1e300)
        terms = np.stack([gains, -orders * np.log1p(1 / excess), -np.log(excess)])
    logs = terms.sum(axis=0) + 2.0**-50 * np.abs(terms).sum(axis=0)
    return max(math.exp(min(0.0, float(logs.min()))), LEAST_DELTA)


_ORDERS = 1 + np.exp(np.arange(-6.0, 7.0, 1 / 32))  # 1.0025 .. 1080, so fine that the best one is missed by little


def zcdp_accuracy_limit(rho: float, wrong: float) -> float:
    """max{c : D_a(Bern(c) || Bern(w)) <= rho a for every a > 1}, from above: a finite set of orders is checked."""
    return renyi_accuracy_limit(_ORDERS, rho * _ORDERS, wrong)


def renyi_accuracy_limit(orders: Array, allowed: Array, wrong: float) -> float:
    """max{c : D_a(Bern(c) || Bern(w)) <= eps_a for the orders a}, from above.

    Data processing: the event of a right guess is a post-processing of the output. Fewer orders only enlarge the set
    of allowed c; the bisection returns its upper end.
    """
    if not 0 < wrong < 1:
        return 0.0

    def excess(c: float) -> float:
        return float((_bernoulli_divergences(orders, c, wrong) / allowed).max()) - 1

    low, high = min(wrong, 1 - wrong), 1 - wrong
    if excess(high) <= 0:
        return high
    if excess(low) >= 0:
        return low
    from scipy import optimize

    c, step = float(optimize.brentq(excess, low, high, xtol=1e-300, rtol=1e-12, maxiter=2000)), 1e-12
    while excess(c) <= 0:  # to the side that is not allowed any more
        c, step = min(high, c * (1 + step)), 2 * step
    return c


def zcdp_number(c: Array, w: Array) -> Array:
    """Smallest rho that allows right guesses of rate c with wrong ones of rate w: max over a of D_a/a."""
    return renyi_factor(_ORDERS[::4], _ORDERS[::4], c, w)


def renyi_factor(orders: Array, allowed: Array, c: Array, w: Array) -> Array:
    """max over the orders of D_a(Bern(c) || Bern(w))/eps_a, at least 0."""
    factors = np.zeros(np.shape(c))
    for order, eps in zip(orders, allowed, strict=True):
        inside = order * np.log(c) + (1 - order) * np.log(w)
        outside = order * np.log1p(-c) + (1 - order) * np.log1p(-w)
        factors = np.maximum(factors, np.logaddexp(inside, outside) / (order - 1) / eps)
    return factors


def _bernoulli_divergences(orders: Array, c: float, w: float) -> Array:
    """Renyi divergences of these orders between Bernoulli(c) and Bernoulli(w), 0 < c <= 1, 0 < w < 1."""
    if c == 1:  # 1 - w rounds to this for w below 1e-16
        return np.full(orders.shape, -math.log(w))
    inside = orders * math.log(c) + (1 - orders) * math.log(w)
    outside = orders * math.log1p(-c) + (1 - orders) * math.log1p(-w)
    divergences: Array = np.logaddexp(inside, outside) / (orders - 1)
    return divergences


def invert_profile(profile: Callable[[float], float], delta: float) -> float:
    """Smallest eps >= 0 with profile(eps) <= delta for a decreasing profile, from above; inf if none."""
    require.delta(delta=delta)
    if profile(0.0) <= delta:
        return 0.0
    if delta == 0:
        return math.inf
    low, high = 0.0, 1.0
    while not profile(high) <= delta:
        low, high = high, 2 * high
        if high > 1e6:
            return math.inf
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if not low < middle < high:  # subnormal floats
            break
        low, high = (low, middle) if profile(middle) <= delta else (middle, high)
    return high
