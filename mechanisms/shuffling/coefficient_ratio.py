"""Ratios of neighbouring coefficients of prod_v (1 + r_v t)^{k_v}, for products with millions of factors.

With any tilt t > 0 the coefficient c_j t^j / prod (1 + r_v t)^{k_v} is Pr[W = j], W the sum of independent
Bin(k_v, pi_v) with pi_v = r_v t/(1 + r_v t). So c_w/c_{w+1} = t Pr[W = w]/Pr[W = w+1]. We tilt so that
E[W] = w + 1/2: both probabilities are near the mode, hence of order 1/sd and well conditioned, and invert
the characteristic function phi of W by an M-point rule,

    Pr[W = j] = (1/M) sum_l phi(2 pi l/M) e^{-2 pi i l j/M}   up to   Pr[W = j + multiple of M].

Two errors, both below e^-40 in absolute terms: the alias (M/2 lies beyond Bernstein's tail bound), and nodes
that are left out where |phi(x)| <= exp(-2 var x^2/pi^2) < e^-40. What remains is rounding of the phases:
about 1e-16 k_v, so 1e-9 relative for a million factors. The cost does not depend on the k_v.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

Array = npt.NDArray[Any]

_TAIL = 42.0  # -log of the alias and of the dropped nodes, with two e-folds to spare
_HALVINGS = 40


def log_coefficient_ratio(factors: Array, w: Array, log_r: Array) -> Array:
    """log(c_w / c_{w+1}) of prod_v (1 + r_v t)^{factors_v}: factors (T, m), w (T,), log_r (m,); returns (T,).

    -inf where c_w = 0 (w = -1), +inf where c_{w+1} = 0 (w = number of factors), NaN where both are 0.
    """
    total = factors.sum(axis=1)
    out = np.full(len(factors), np.nan)
    out[(w == -1) & (total >= 0)] = -np.inf
    out[w == total] = np.inf
    out[(w == -1) & (total == -1)] = np.nan
    inside = (w >= 0) & (w < total)
    if inside.any():
        chosen = factors[inside], w[inside], log_r
        out[inside] = _one_kind(*chosen) if factors.shape[1] == 1 else _tilted(*chosen)
    return out


def _one_kind(factors: Array, w: Array, log_r: Array) -> Array:
    """c_j = C(k, j) r^j."""
    return np.asarray(np.log((w + 1) / (factors[:, 0] - w)) - log_r[0])


def _tilted(factors: Array, w: Array, log_r: Array) -> Array:
    log_t = _saddle(factors, w + 0.5, log_r)
    pi = special.expit(log_r + log_t[:, None])
    deviation = np.sqrt((factors * pi * (1 - pi)).sum(axis=1))
    half = np.ceil(np.sqrt(2 * _TAIL) * deviation + _TAIL * 2 / 3) + 1  # Bernstein's bound inverted, from above
    nodes = np.minimum(half, np.ceil(np.sqrt(_TAIL / 2) * (2 * half + 1) / (2 * np.maximum(deviation, 1e-9))) + 1)
    index = np.arange(int(nodes.max()) + 1)
    x = 2 * np.pi * index / (2 * half + 1)[:, None]
    log_phi = np.zeros(x.shape, dtype=np.complex128)
    turn = np.expm1(1j * x)
    for v in range(factors.shape[1]):
        log_phi += factors[:, v, None] * np.log1p(pi[:, v, None] * turn)
    weight = np.where(index == 0, 1.0, 2.0) * (index <= nodes[:, None])
    at_w, at_next = (
        (weight * np.exp(log_phi.real) * np.cos(log_phi.imag - x * j[:, None])).sum(axis=1) for j in (w, w + 1)
    )
    return np.asarray(log_t + np.log(at_w / at_next))


def _saddle(factors: Array, mean: Array, log_r: Array) -> Array:
    """log t with E[W] = mean, by bisection; any tilt is exact, so a rough one only costs conditioning."""
    total = factors.sum(axis=1)
    centre = special.logit(mean / total)
    low, high = centre - log_r.max(), centre - log_r.min()
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = (factors * special.expit(log_r + middle[:, None])).sum(axis=1) > mean
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.asarray((low + high) / 2)
