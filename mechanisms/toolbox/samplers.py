"""Vocabulary of the single releases: vectorised samplers, exact for the integer laws.

`discrete_laplace` and `discrete_gaussian` are exact: given uniform bits, every probability is the stated
real number, not a float64 near it. They need one primitive, a coin of probability exp(-g) for rational g.
The coin compares 53 uniform bits with exp(-g) in float64, whose error is far below `_MARGIN`; a
comparison closer than that is finished with exact fractions and more bits. It happens once in 2^44 coins.

`laplace` is the usual float64 sampler.
"""

import decimal
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.errors import ParameterError
from dpverify.tape.families import primitive
from mechanisms.toolbox.query_values import FloatArray, IntArray

BoolArray = npt.NDArray[np.bool_]

_MARGIN = 2.0**-45  # float64 errors of exp(-g) here stay below 2^-48


@primitive("laplace")
def laplace(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """Density exp(-|x|)/2: an exponential with a random sign, about a third of the time of rng.laplace."""
    noise = rng.standard_exponential(shape)
    words = rng.integers(0, 2**64, size=-(-noise.size // 64), dtype=np.uint64, endpoint=False)
    bits = np.unpackbits(words.view(np.uint8), count=noise.size).view(np.int8).reshape(shape)
    noise *= 1 - 2 * bits
    return noise


def exp_coins(approximate: FloatArray, exact: Callable[[int], Fraction], rng: np.random.Generator) -> BoolArray:
    """Independent coins, coin i with probability exactly exp(-exact(i)), exact(i) >= 0.

    `approximate[i]` is exact(i) with an error that moves exp(-g) by less than 2^-47.
    """
    uniform = rng.random(len(approximate))  # j / 2^53: the first 53 bits of a uniform real
    gap = np.exp(-approximate) - uniform
    heads: BoolArray = gap > 0
    for i in np.flatnonzero(np.abs(gap) <= _MARGIN):
        heads[i] = _decide(int(uniform[i] * 2**53), exact(int(i)), rng)
    return heads


def _decide(prefix: int, g: Fraction, rng: np.random.Generator) -> bool:
    """Whether a uniform real with these first 53 bits lies below exp(-g)."""
    if g == 0:
        return True
    bits = 53
    while True:
        digits = bits // 3 + 10 + len(str(int(g)))
        with decimal.localcontext() as context:
            context.prec = digits
            log = -decimal.Decimal(g.numerator) / decimal.Decimal(g.denominator)
            middle = Fraction(log.exp())  # correctly rounded, so all but the last 5 digits stand
        error = middle / 10 ** (digits - 5 - len(str(int(g))))
        if Fraction(prefix + 1, 2**bits) <= middle - error:
            return True
        if Fraction(prefix, 2**bits) >= middle + error:
            return False
        prefix, bits = prefix << 64 | int.from_bytes(rng.bytes(8), "big"), bits + 64


@primitive("discrete_laplace", scale="scale")
def discrete_laplace(rng: np.random.Generator, size: int, scale: float) -> IntArray:
    """`size` integers with Pr[k] proportional to exp(-|k|/scale), exactly.

    Canonne, Kamath, Steinke 2020, Algorithm 2, over whole arrays. With scale = t/s in lowest terms:
    u + t v is geometric with ratio exp(-1/t), its quotient by s geometric with ratio exp(-s/t); a random
    sign, with -0 refused. ParameterError unless 2^-9 <= scale <= 2^52, where all of it fits into int64.
    """
    require_scale(scale)
    t, s = Fraction(scale).as_integer_ratio()

    def propose(count: int) -> tuple[IntArray, BoolArray]:
        u = rng.integers(0, t, size=count)
        kept = u[exp_coins(u / t, lambda i: Fraction(int(u[i]), t), rng)]
        v = _unit_geometric(rng, len(kept))
        magnitude = (kept + t * v) // s
        negative = rng.integers(0, 2, size=len(kept)).astype(bool)
        return np.where(negative, -magnitude, magnitude), ~(negative & (magnitude == 0))

    return _until(size, propose)


@primitive("discrete_gaussian", sigma="sigma")
def discrete_gaussian(rng: np.random.Generator, size: int, sigma: float) -> IntArray:
    """`size` integers with Pr[k] proportional to exp(-k^2/(2 sigma^2)), exactly.

    Canonne, Kamath, Steinke 2020, Algorithm 3: a discrete Laplace y of scale t = floor(sigma) + 1, kept
    with probability exp(-(|y| - sigma^2/t)^2/(2 sigma^2)). ParameterError unless 2^-9 <= sigma <= 2^26.
    """
    require_sigma(sigma)
    t = math.floor(sigma) + 1
    square = Fraction(sigma) ** 2

    def propose(count: int) -> tuple[IntArray, BoolArray]:
        y = discrete_laplace(rng, count, float(t))
        z = (np.abs(y) - float(square / t)) / sigma
        kept = exp_coins(z * z / 2, lambda i: (abs(int(y[i])) - square / t) ** 2 / (2 * square), rng)
        return y, kept

    return _until(size, propose)


def require_scale(scale: float) -> None:
    """2^-9 <= scale <= 2^52: numerator, denominator and every draw fit into int64."""
    require.positive(scale=scale)
    if not 2.0**-9 <= scale <= 2.0**52:
        raise ParameterError("scale", scale, "between 2^-9 and 2^52 for exact sampling")


def require_sigma(sigma: float) -> None:
    """2^-9 <= sigma <= 2^26: the error analysis of the float64 coins holds."""
    require.positive(sigma=sigma)
    if not 2.0**-9 <= sigma <= 2.0**26:
        raise ParameterError("sigma", sigma, "between 2^-9 and 2^26 for exact sampling")


def _unit_geometric(rng: np.random.Generator, count: int) -> IntArray:
    """Heads before the first tail of coins with probability 1/e."""
    heads = np.zeros(count, dtype=np.int64)
    alive = np.arange(count)
    one = Fraction(1)
    while len(alive):
        alive = alive[exp_coins(np.ones(len(alive)), lambda _: one, rng)]
        heads[alive] += 1
    if heads.max(initial=0) >= 1000:  # t v would leave int64; probability below e^-1000 a draw
        raise OverflowError("a geometric draw above 1000")
    return heads


def _until(size: int, propose: Callable[[int], tuple[IntArray, BoolArray]]) -> IntArray:
    """The first `size` accepted proposals."""
    batches: list[IntArray] = []
    missing = size
    while missing > 0:
        values, accepted = propose(missing + missing // 2 + 16)
        batches.append(values[accepted])
        missing -= len(batches[-1])
    return np.concatenate(batches)[:size] if batches else np.zeros(0, dtype=np.int64)
