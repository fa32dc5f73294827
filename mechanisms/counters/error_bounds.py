"""How far a counter's outputs lie from the true prefix counts: printed, provable and numerical bounds.

The error of prefix t is a weighted sum of independent noise draws, sum_i a_ti xi_i. A counter gives the l2
and sup norms of its coefficients (`weights`, two arrays of shape (R,)); that is all that is needed here.

    printed    (4/eps) ln(1/beta) log(T)^{5/2}                                 PUCB, Theorem 12
    provable   Pr[|sum_i a_i Lap(b)_i| > b (2 |a|_2 sqrt(l) + |a|_inf l)] <= 2 e^-l
               Why: for 0 <= u < 1, -ln(1 - u^2) <= u^2/(1 - u^2) <= u^2/(1 - u). So with x = b lambda |a|_inf < 1,
               sum_i -ln(1 - (b lambda a_i)^2) <= (b lambda |a|_2)^2/(1 - x): sub-gamma with variance factor
               2 b^2 |a|_2^2 and scale b |a|_inf (Boucheron, Lugosi, Massart 2013, section 2.4). The discrete
               Laplace law of the same b has a smaller moment generating function (`mechanisms.toolbox.laplace_sums`).
    numerical  the closed form of `laplace_sum_tail` (binary counter) or the normal tail, and a union bound over
               times and counters.

Every bound is for all t <= R and all `counters` counters at once, failing with probability at most beta.
"""

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.base import require
from dpverify.errors import ParameterError
from mechanisms.counters import dyadic
from mechanisms.counters.logbase import LogBase
from mechanisms.toolbox.noise_laws import (
    DiscreteGaussianNoiseLaw,
    DiscreteLaplaceNoiseLaw,
    GaussianNoiseLaw,
    LaplaceNoiseLaw,
    Noise,
    NoNoise,
)

Array = npt.NDArray[Any]
_SLACK = 1 + 1e-9  # far above the relative error of the tails below (1e-12), so that a bound stays a bound


class Weighted(Protocol):
    """A counter, as far as its error goes."""

    @property
    def noise(self) -> Noise:
        """The law of one draw."""
        ...

    @property
    def weights(self) -> tuple[Array, Array]:
        """l2 and sup norm of the noise coefficients of each prefix, both (R,)."""
        ...


def printed_bound(horizon: int, eps: float, beta: float, *, log: LogBase) -> float:
    """(4/eps) ln(1/beta) log(T)^{5/2}, as in PUCB's section 2.3 and Theorem 12."""
    require.integer(at_least=1, horizon=horizon)
    require.positive(eps=eps)
    require.open_unit(beta=beta)
    return 4 / eps * math.log(1 / beta) * math.pow(log.of(horizon), 2.5)


def provable_bound(counter: Weighted, beta: float, *, counters: int = 1) -> float:
    """max_t b (2 |a_t|_2 sqrt(l) + |a_t|_inf l), l = ln(2 counters R/beta); (discrete) Gaussian: see below.

    Discrete Gaussian noise is sub-Gaussian with its sigma (Canonne, Kamath, Steinke 2020, section 3.2):
    max_t sigma |a_t|_2 sqrt(2 l). Gaussian noise has `numerical_bound`.
    """
    require.open_unit(beta=beta)
    require.integer(at_least=1, counters=counters)
    noise, (l2, sup) = counter.noise, counter.weights
    log_odds = math.log(2 * counters * len(l2) / beta)
    if isinstance(noise, DiscreteGaussianNoiseLaw):
        return float(noise.sigma * l2.max() * math.sqrt(2 * log_odds))
    if isinstance(noise, LaplaceNoiseLaw | DiscreteLaplaceNoiseLaw):
        return float((noise.scale * (2 * l2 * math.sqrt(log_odds) + sup * log_odds)).max())
    return numerical_bound(counter, beta, counters=counters)


def numerical_bound(counter: Weighted, beta: float, *, counters: int = 1) -> float:
    """Smallest x with counters x sum_t Pr[|error_t| > x] <= beta, from above (relative error 1e-9).

    For Gaussian noise, and for the binary counter with Laplace noise (all weights 0 or 1). ParameterError
    for other combinations: `provable_bound` has them.
    """
    require.open_unit(beta=beta)
    require.integer(at_least=1, counters=counters)
    noise, (l2, sup) = counter.noise, counter.weights
    if isinstance(noise, NoNoise):
        return 0.0
    squares = np.rint(l2**2).astype(np.int64)
    if isinstance(noise, GaussianNoiseLaw):
        spreads, times = np.unique(l2, return_counts=True)

        def failure(x: float) -> float:
            return counters * float((times * 2 * special.ndtr(-x / (noise.sigma * spreads))).sum())

        scale = noise.sigma
    elif isinstance(noise, LaplaceNoiseLaw) and (sup == 1).all() and np.allclose(l2**2, squares, rtol=1e-12):
        terms, times = np.unique(squares, return_counts=True)

        def failure(x: float) -> float:
            tails = [laplace_sum_tail(int(w), x / noise.scale) for w in terms]
            return counters * float(np.dot(times, tails))

        scale = noise.scale
    else:
        raise ParameterError("counter", counter, "Gaussian, or the binary counter with Laplace noise")
    return _smallest(lambda x: failure(x) * _SLACK <= beta, scale)


def laplace_sum_tail(terms: int, x: float) -> float:
    """Pr[|S_w| > x] for a sum S_w of w = `terms` independent Lap(1), x >= 0, to a relative error of 1e-12.

    S_w is a difference of two Gamma(w). Partial fractions of its moment generating function (1-s)^-w (1+s)^-w
    at s = 1 give the positive half as a mixture of Gamma laws with positive weights:
        Pr[S_w > x] = sum_{j<w} C(w-1+j, j) 2^-(w+j) Q(w-j, x),     Q the regularised upper gamma function.
    """
    require.integer(at_least=1, terms=terms)
    require.non_negative(x=x)
    j = np.arange(terms)
    log_weight = (
        special.gammaln(terms + j) - special.gammaln(terms) - special.gammaln(j + 1) - (terms + j) * math.log(2)
    )
    return float(2 * np.dot(np.exp(log_weight), special.gammaincc(terms - j, x)))


def binary_tail_bound(scale: float, releases: int, beta: float, *, counters: int = 1) -> float:
    """b (2 sqrt(L l) + l), l = ln(2 counters R/beta): the provable form with L for every popcount(t).

    For Lap(b) and discrete Laplace noise on the nodes; needs no array of R numbers.
    """
    require.positive(scale=scale)
    require.open_unit(beta=beta)
    require.integer(at_least=1, counters=counters)
    log_odds = math.log(2 * counters * releases / beta)
    return scale * (2 * math.sqrt(dyadic.levels(releases) * log_odds) + log_odds)


def mean_square_error(counter: Weighted) -> float:
    """Average over t of the variance of the error of prefix t."""
    return float((counter.weights[0] ** 2).mean() * counter.noise.variance)


def worst_deviation(counter: Weighted) -> float:
    """Largest standard deviation of an output."""
    return float(counter.weights[0].max() * math.sqrt(counter.noise.variance))


def _smallest(enough: Callable[[float], bool], scale: float) -> float:
    high = scale
    while not enough(high):
        high *= 2
    low = 0.0
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
