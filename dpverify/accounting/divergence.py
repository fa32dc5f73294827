"""Exact divergences of finite laws, and the conversions between notions.

A law is a vector of probabilities; `p` and `q` range over the same outputs. The floats are taken as the exact
probabilities. Hockey-stick divergence of one direction, with t = e^eps:

    delta(eps) = sum_x (p_x - t q_x)^+  =  max over prefixes k of  P_k - t Q_k,

P_k and Q_k being the masses of the k outputs with the largest ratio p/q (Neyman-Pearson). The second form is
piecewise linear and convex in t, and inverts without a search: eps(delta) = max_k log((P_k - delta)/Q_k).

Conversions, each where it is written down once:
    rho-zCDP -> (eps, delta)   `claims.profiles.zcdp_delta`       Canonne, Kamath, Steinke 2020, Proposition 12
    mu-GDP   -> (eps, delta)   `claims.profiles.gaussian_delta`   Balle, Wang 2018, Theorem 8
    eps-DP   -> (eps', delta)  `claims.profiles.response_delta`   Kairouz, Oh, Viswanath 2015, Theorem 2.5
    eps-DP   -> rho-zCDP       `pure_to_zcdp`                     Bun, Steinke 2016, Proposition 3.3
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.base.errors import ParameterError

Array = npt.NDArray[np.float64]

UNIT = 2.0**-53  # unit roundoff of a float
MASS_TOLERANCE = 1e-9  # how far the mass of a law may be from 1: written-down decimals, not a licence to lose mass


def delta_at(p: npt.ArrayLike, q: npt.ArrayLike, eps: float) -> float:
    """Smallest delta with p <= e^eps q + delta on every event and the same with p and q exchanged.

    p, q: shape (outputs,). The value is rounded up: at least the exact one, above it by at most some 1e-15.
    Raises ParameterError for laws that are not laws and for eps outside [0, inf).
    """
    require.non_negative(eps=eps)
    first, second = laws(p, q)
    return max(hockey_stick(first, second, eps), hockey_stick(second, first, eps))


def hockey_stick(p: Array, q: Array, eps: float) -> float:
    """sum (p - e^eps q)^+, one direction, any real eps, rounded up."""
    try:
        factor = math.exp(eps)
    except OverflowError:
        factor = math.inf
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.where(q > 0, factor * q, 0.0)
    inside = p > scaled
    p, scaled = p[inside], scaled[inside]
    # exp, product and difference are each off by less than two units; an output that is left out by mistake
    # would have contributed no more than that, too
    error = 8 * UNIT * math.fsum(p)
    return min(1.0, math.fsum(p - scaled) + error) if p.size else 0.0


def eps_at(p: npt.ArrayLike, q: npt.ArrayLike, delta: float) -> float:
    """Smallest eps >= 0 such that the two laws are (eps, delta)-close in both directions; inf where none is.

    p, q: shape (outputs,). delta = 0 gives the largest log ratio, rounded up. Otherwise the divergence at the
    result is at most delta + 4e-15.
    """
    require.delta(delta=delta)
    first, second = laws(p, q)
    return max(_eps_one_way(first, second, delta), _eps_one_way(second, first, delta))


def _eps_one_way(p: Array, q: Array, delta: float) -> float:
    if delta == 0:
        return max_log_ratio(p, q)
    if math.fsum(p[q == 0]) > delta:
        return math.inf
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
    if top <= bottom:
        return 0.0
    eps, bump = math.log(top) - math.log(bottom), 4 * UNIT
    while hockey_stick(p, q, eps) > delta and bump < 1e-10:
        eps, bump = eps + bump * max(1.0, eps), 2 * bump
    return eps


def max_log_ratio(p: Array, q: Array) -> float:
    """max log(p/q) over outputs with p > 0, rounded up, at least 0; inf where q lacks an output of p."""
    live = p > 0
    p, q = p[live], q[live]
    if (q == 0).any():
        return math.inf
    worst = int(np.argmax(np.log(p) - np.log(q)))
    ratio = Fraction(float(p[worst])) / Fraction(float(q[worst]))
    if ratio <= 1:
        return 0.0
    near = math.log1p(float(ratio - 1)) if ratio < 2 else math.log(ratio.numerator) - math.log(ratio.denominator)
    return near * (1 + 8 * UNIT) + (0.0 if ratio < 2 else 1e-13)  # the two large logarithms lose digits


def renyi(p: npt.ArrayLike, q: npt.ArrayLike, order: float) -> float:
    """D_a(p||q) = log(sum p^a q^(1-a))/(a - 1) for a > 1 (a = inf allowed); inf where q lacks an output of p.

    Nearest float, not rounded to a side. Source: Mironov 2017, Definition 3.
    """
    if not order > 1:
        raise ParameterError("order", order, "> 1")
    first, second = laws(p, q)
    if order == math.inf:
        return max_log_ratio(first, second)
    live = first > 0
    first, second = first[live], second[live]
    if (second == 0).any():
        return math.inf
    terms = order * np.log(first) + (1 - order) * np.log(second)
    top = float(terms.max())
    return (top + math.log(math.fsum(np.exp(terms - top)))) / (order - 1)


def pure_to_zcdp(eps: Fraction) -> Fraction:
    """rho = eps^2/2: every eps-DP mechanism is rho-zCDP (Bun, Steinke 2016, Proposition 3.3)."""
    return eps * eps / 2


def laws(p: npt.ArrayLike, q: npt.ArrayLike) -> tuple[Array, Array]:
    """Both as float vectors; ParameterError unless they are probability vectors over the same outputs."""
    first, second = _law("p", p), _law("q", q)
    if first.shape != second.shape:
        raise ParameterError("q", f"{second.size} outputs", f"over the {first.size} outputs of p")
    return first, second


def _law(name: str, given: Any) -> Array:
    law = np.asarray(given, dtype=np.float64)
    # written so that NaN fails
    if law.ndim != 1 or not law.size or not (law >= 0).all() or not abs(math.fsum(law) - 1) <= MASS_TOLERANCE:
        raise ParameterError(name, given if law.size < 20 else f"{law.size} numbers", "a probability vector")
    return law
