"""Sums of many independent Laplace variables, drawn in one go and with exactly the law of the sum.

Lap(b) is the difference of two independent Exp(b), so a sum of w of them is the difference of two
independent Gamma(w, b). In the same way the discrete Laplace law, Pr[k] proportional to q^|k| with
q = exp(-1/b), is the difference of two independent geometric variables on 0, 1, ... with success
probability 1 - q, and a sum of w of them the difference of two independent negative binomials (w, 1 - q).

Tail. With u = b lambda in (0, 1), E exp(lambda Lap(b)) = 1/(1 - u^2), and the discrete law has
1/(1 - sinh^2(u/2b)/sinh^2(1/2b)) <= 1/(1 - u^2), because sinh is convex and sinh 0 = 0. From
-ln(1 - u^2) <= u^2/(1 - u^2) <= u^2/(1 - u) the sum of w is sub-gamma with variance factor 2 w b^2 and scale
b, hence Pr[|sum| > b (2 sqrt(w l) + l)] <= 2 e^-l (Boucheron, Lugosi, Massart 2013, section 2.4).

One term comes from `mechanisms.toolbox.samplers`. More terms only ever simulate a sum of messages that were each noised
on their own: the law is that of the sum, up to the float64 arithmetic of NumPy's samplers.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.tape.families import primitive
from mechanisms.toolbox import samplers as sampling

Array = npt.NDArray[Any]


def laplace_sum(scale: float, terms: int, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
    """Sums of `terms` independent Lap(scale), independent over `shape`; zeros for no terms."""
    require.positive(scale=scale)
    require.integer(at_least=0, terms=terms)
    if terms == 0:
        return np.zeros(shape)
    if terms == 1:
        return scale * sampling.laplace(rng, shape)
    return scale * _gamma_difference(rng, terms, shape)


@primitive("laplace_sum", terms="terms")
def _gamma_difference(rng: np.random.Generator, terms: int, shape: tuple[int, ...]) -> Array:
    return rng.standard_gamma(terms, size=shape) - rng.standard_gamma(terms, size=shape)


def discrete_laplace_sum(scale: float, terms: int, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
    """Sums of `terms` independent discrete Laplace variables, int64, independent over `shape`."""
    require.positive(scale=scale)
    require.integer(at_least=0, terms=terms)
    if terms == 0:
        return np.zeros(shape, dtype=np.int64)
    if terms == 1:
        return sampling.discrete_laplace(rng, math.prod(shape), scale).reshape(shape)
    stop = -math.expm1(-1 / scale)  # 1 - q
    return rng.negative_binomial(terms, stop, size=shape) - rng.negative_binomial(terms, stop, size=shape)


def laplace_sum_bound(scale: float, terms: int, log_odds: float) -> float:
    """b (2 sqrt(w l) + l): exceeded in absolute value with probability at most 2 e^-l, both laws."""
    require.positive(scale=scale, log_odds=log_odds)
    require.integer(at_least=0, terms=terms)
    return scale * (2 * math.sqrt(terms * log_odds) + log_odds) if terms else 0.0
