"""Exact divergences of finite laws, of one direction and of both.

Hockey-stick divergence of one direction, with l = log(p/q):

    delta(eps) = sum over l > eps of p (1 - e^(eps - l))  =  max over prefixes k of  P_k - e^eps Q_k,

P_k and Q_k being the masses of the k outputs with the largest ratio p/q (Neyman-Pearson). The first form has positive
terms that grow with l: losses and masses are rounded up, so no output is lost to a rounded comparison. The second
inverts without a search: eps(delta) = max_k log((P_k - delta)/Q_k).
"""

import math

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.base.rounding import UNIT
from dpverify.errors import ParameterError
from dpverify.ledger.events import Array, laws, log_ratios, max_log_ratio


def delta_at(p: npt.ArrayLike, q: npt.ArrayLike, eps: float) -> float:
    """Smallest delta with p <= e^eps q + delta on every event and the same with p and q exchanged.

    p, q: shape (outputs,). Rounded up: at least the exact value, and 0 only where the largest log ratio is <= eps;
    above it by at most 16u of the mass of the outputs near the border and 32u (relative) of the rest.
    Raises ParameterError for laws that are not laws and for eps outside [0, inf).
    """
    require.non_negative(eps=eps)
    first, second = laws(p, q)
    return max(hockey_stick(first, second, eps), hockey_stick(second, first, eps))


def hockey_stick(p: Array, q: Array, eps: float) -> float:
    """sum (p - e^eps q)^+ of two vectors of weights, one direction, any real eps, rounded up."""
    mass_p, mass_q = math.fsum(p), math.fsum(q)
    live = (p > 0) & (q > 0)
    loss, error = log_ratios(p[live], q[live], mass_p, mass_q)
    loss = loss + error
    above = loss > eps
    if above.any() and max_log_ratio(p, q) <= eps:  # decided exactly
        above[:] = False
    terms = p[live][above] * -np.expm1(eps - loss[above])
    infinite = p[(p > 0) & (q == 0)]
    return min(1.0, (math.fsum(terms) + math.fsum(infinite)) / mass_p * (1 + 16 * UNIT))


def eps_at(p: npt.ArrayLike, q: npt.ArrayLike, delta: float) -> float:
    """Smallest eps >= 0 such that the two laws are (eps, delta)-close in both directions; inf where none is.

    p, q: shape (outputs,). delta = 0 gives the largest log ratio, rounded up. Otherwise `delta_at` the result is at
    most delta, so the result is rounded up.
    """
    require.delta(delta=delta)
    first, second = laws(p, q)
    return max(_eps_one_way(first, second, delta), _eps_one_way(second, first, delta))


def _eps_one_way(p: Array, q: Array, delta: float) -> float:
    if delta == 0:
        return max_log_ratio(p, q)
    if hockey_stick(p, q, 0.0) <= delta:
        return 0.0
    most = max_log_ratio(p, q)
    if math.fsum(p[q == 0]) / math.fsum(p) * (1 + 16 * UNIT) > delta:
        return math.inf
    eps, bump = _near(p / math.fsum(p), q / math.fsum(q), delta), 4 * UNIT
    while hockey_stick(p, q, eps) > delta:
        eps, bump = eps + bump * max(1.0, eps), 2 * bump
        if bump > 1:
            return most
    return min(eps, most)


def _near(p: Array, q: Array, delta: float) -> float:
    """eps(delta) by the prefix that attains it, to the nearest."""
    kept = p > 0
    p, q = p[kept], q[kept]
    with np.errstate(divide="ignore"):
        order = np.argsort(np.log(q) - np.log(p), kind="stable")  # largest ratio first
    p, q = p[order], q[order]
    mass_p, mass_q = np.cumsum(p), np.cumsum(q)
    live = (mass_q > 0) & (mass_p > delta)
    if not live.any():
        return 0.0
    with np.errstate(over="ignore"):
        best = int(np.argmax(np.where(live, (mass_p - delta) / np.where(live, mass_q, 1.0), 0.0))) + 1
    top, bottom = math.fsum(p[:best]) - delta, math.fsum(q[:best])  # the running sums only chose the prefix
    return max(0.0, math.log(top) - math.log(bottom)) if top > 0 else 0.0


def renyi(p: npt.ArrayLike, q: npt.ArrayLike, order: float) -> float:
    """D_a(p||q) = log(sum p^a q^(1-a))/(a - 1) for a > 1 (a = inf allowed); inf where q lacks an output of p.

    Nearest float, not rounded to a side. Source: Mironov 2017, Definition 3.
    """
    if not order > 1:
        raise ParameterError("order", order, "> 1")
    first, second = laws(p, q)
    if order == math.inf:
        return max_log_ratio(first, second)
    weights = order * math.log(math.fsum(first)) + (1 - order) * math.log(math.fsum(second))
    live = first > 0
    first, second = first[live], second[live]
    if (second == 0).any():
        return math.inf
    terms = order * np.log(first) + (1 - order) * np.log(second)
    top = float(terms.max())
    return (top + math.log(math.fsum(np.exp(terms - top))) - weights) / (order - 1)
