"""Log ratios of finite laws, and where the conversions between notions are.

A law is a vector of probabilities; `p` and `q` range over the same outputs. The floats are weights, the law is
w/sum(w) in exact fractions. Log ratios are rounded up, so no output is lost to a rounded comparison.

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

from dpverify.base.errors import ParameterError
from dpverify.base.rounding import as_float, log_up, sum_exactly, UNIT

Array = npt.NDArray[np.float64]

MASS_TOLERANCE = 1e-12  # for each output: how far the sum of the weights may be from 1
_MODERATE = 1e-290  # ratios of floats in [1e-290, 1e290] keep their relative precision


def log_ratios(p: Array, q: Array, mass_p: float, mass_q: float) -> tuple[Array, Array]:
    """log((p/mass_p)/(q/mass_q)) for p, q > 0 and sums that are off by u, and a bound on the error of each."""
    with np.errstate(over="ignore", under="ignore"):
        ratio = p / q * (mass_q / mass_p)
    moderate = (np.minimum(p, q) > _MODERATE) & (ratio > _MODERATE) & (ratio < 1 / _MODERATE)
    near = np.log(np.where(moderate, ratio, 1.0))
    log_p, log_q = np.log(p), np.log(q)
    loss = np.where(moderate, near, log_p - log_q + math.log(mass_q / mass_p))
    error = np.where(moderate, 8 + 2 * np.abs(near), 4 * (2 + np.abs(log_p) + np.abs(log_q))) * UNIT
    return loss, error


def max_log_ratio(p: Array, q: Array) -> float:
    """max log(p/q) of two vectors of weights over outputs with p > 0, rounded up, >= 0; inf where q lacks one.

    Floats only say which outputs can be the largest; those are compared as fractions.
    """
    live = p > 0
    p, q = p[live], q[live]
    if (q == 0).any():
        return math.inf
    loss, error = log_ratios(p, q, 1.0, 1.0)
    close = loss + error >= (loss - error).max()
    ties = np.unique(np.stack([p[close], q[close]]), axis=1)
    largest = max(Fraction(float(a)) / Fraction(float(b)) for a, b in ties.T)
    ratio = largest * sum_exactly(q) / sum_exactly(p)
    return log_up(ratio) if ratio > 1 else 0.0


def pure_to_zcdp(eps: Fraction) -> Fraction:
    """rho = eps^2/2: every eps-DP mechanism is rho-zCDP (Bun, Steinke 2016, Proposition 3.3)."""
    return eps * eps / 2


def laws(p: npt.ArrayLike, q: npt.ArrayLike) -> tuple[Array, Array]:
    """Both as vectors of weights; ParameterError unless they are probability vectors over the same outputs."""
    first, second = _law("p", p), _law("q", q)
    if first.shape != second.shape:
        raise ParameterError("q", f"{second.size} outputs", f"over the {first.size} outputs of p")
    return first, second


def _law(name: str, given: Any) -> Array:
    try:
        raw = np.asarray(given)
    except ValueError:  # rows of different lengths
        raw = np.zeros(0)
    if raw.dtype.kind not in "biufO":
        raise ParameterError(name, given, "a probability vector")
    if raw.dtype.kind == "O" or raw.dtype.itemsize > 8:
        for number in raw.flat:
            as_float(name, number)
    law = np.asarray(raw, dtype=np.float64)
    # written so that NaN fails
    good = law.ndim == 1 and law.size and bool((law >= 0).all())
    if not (good and abs(math.fsum(law) - 1) <= MASS_TOLERANCE * law.size):
        raise ParameterError(name, given if law.size < 20 else f"{law.size} numbers", "a probability vector")
    return law
