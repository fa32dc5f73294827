"""Privacy profiles and accuracy limits of the four notions: pure functions of numbers.

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
from scipy import optimize, special

from dpverify.base import require


def response_delta(eps0: float, delta0: float, eps: float) -> float:
    """delta(eps) of (eps0, delta0)-DP: delta0 + (1 - delta0)(e^eps0 - e^eps)^+/(1 + e^eps0).

    The pair "reveal with probability delta0, else eps0-randomised response" dominates every
    (eps0, delta0)-DP pair (Kairouz, Oh, Viswanath 2015, Theorem 2.5).
    """
    require.non_negative(eps=eps)
    if eps >= eps0:
        return delta0
    return delta0 + (1 - delta0) * -math.expm1(eps - eps0) / (1 + math.exp(-eps0))


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
    """Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) (Balle, Wang 2018, Theorem 8)."""
    require.non_negative(eps=eps)
    upper = float(special.log_ndtr(mu / 2 - eps / mu))
    lower = eps + float(special.log_ndtr(-mu / 2 - eps / mu))
    return -math.exp(upper) * math.expm1(lower - upper)


def gaussian_accuracy_limit(mu: float, wrong: float) -> float:
    """Phi(Phi^-1(w) + mu): the power of the Neyman-Pearson test of N(0,1) against N(mu,1) at size w."""
    return min(1.0 - wrong, float(special.ndtr(special.ndtri(wrong) + mu)))


def zcdp_delta(rho: float, eps: float) -> float:
    """min over a > 1 of exp((a-1)(a rho - eps)) (1 - 1/a)^a / (a - 1), at most 1.

    Canonne, Kamath, Steinke 2020, Proposition 12. Every order a gives a valid bound, so a numerical
    minimum errs on the safe side.
    """
    require.non_negative(eps=eps)

    def log_bound(log_excess: float) -> float:
        excess = math.exp(log_excess)  # a - 1
        order = 1 + excess
        return excess * (order * rho - eps) + order * math.log(excess / order) - log_excess

    found = optimize.minimize_scalar(log_bound, bounds=(-15.0, 15.0), method="bounded", options={"xatol": 1e-11})
    return min(1.0, math.exp(min(0.0, float(found.fun))))


_ORDERS = 1 + np.exp(np.arange(-6.0, 7.0, 1 / 32))  # 1.0025 .. 1080, so fine that the best one is missed by little


def zcdp_accuracy_limit(rho: float, wrong: float) -> float:
    """max{c : D_a(Bern(c) || Bern(w)) <= rho a for every a > 1}, from above.

    Data processing: the event of a right guess is a post-processing of the output. A finite set of
    orders is checked, which only enlarges the set of allowed c; the bisection returns its upper end.
    """
    if not 0 < wrong < 1:
        return 0.0

    def excess(c: float) -> float:
        return float((_bernoulli_divergences(c, wrong) / _ORDERS).max()) - rho

    low, high = min(wrong, 1 - wrong), 1 - wrong
    if excess(high) <= 0:
        return high
    if excess(low) >= 0:
        return low
    c, step = float(optimize.brentq(excess, low, high, xtol=1e-300, rtol=1e-12)), 1e-12
    while excess(c) <= 0:  # to the side that is not allowed any more
        c, step = min(high, c * (1 + step)), 2 * step
    return c


def zcdp_number(c: npt.NDArray[np.float64], w: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Smallest rho that allows right guesses of rate c with wrong ones of rate w: max over a of D_a/a."""
    numbers = np.zeros(np.shape(c))
    for order in _ORDERS[::4]:
        inside = order * np.log(c) + (1 - order) * np.log(w)
        outside = order * np.log1p(-c) + (1 - order) * np.log1p(-w)
        numbers = np.maximum(numbers, np.logaddexp(inside, outside) / (order - 1) / order)
    return numbers


def _bernoulli_divergences(c: float, w: float) -> npt.NDArray[np.float64]:
    """Renyi divergences of all `_ORDERS` between Bernoulli(c) and Bernoulli(w), 0 < c <= 1, 0 < w < 1."""
    if c == 1:  # 1 - w rounds to this for w below 1e-16
        return np.full(_ORDERS.shape, -math.log(w))
    inside = _ORDERS * math.log(c) + (1 - _ORDERS) * math.log(w)
    outside = _ORDERS * math.log1p(-c) + (1 - _ORDERS) * math.log1p(-w)
    divergences: npt.NDArray[np.float64] = np.logaddexp(inside, outside) / (_ORDERS - 1)
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
        low, high = (low, middle) if profile(middle) <= delta else (middle, high)
    return high
