"""Exact division and square root, rounded to a stated side.

A mechanism that computes its own scale rounds it *up* (more noise), an account is rounded *up*, a
certified lower bound is rounded *down*: always against ourselves. Comparisons are made on exact
fractions, so that "exactly eps" is decided and not a matter of the last bit.
"""

import math
import numbers
from decimal import Context, Decimal, localcontext, MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.errors import ParameterError

UNIT = 2.0**-53  # unit roundoff of a float


def as_fraction(number: Any) -> Fraction:
    """The number exactly: int, float, Fraction and every NumPy scalar, extended precision included.

    Raises ParameterError for anything else (strings, decimals, arrays), for booleans, infinities and NaN.
    """
    if isinstance(number, numbers.Rational) and not isinstance(number, bool):  # int, NumPy integers, Fraction
        return Fraction(int(number.numerator), int(number.denominator))
    if isinstance(number, numbers.Real) and not isinstance(number, bool) and math.isfinite(number):
        numerator, denominator = number.as_integer_ratio()  # type: ignore[attr-defined]
        return Fraction(int(numerator), int(denominator))
    raise ParameterError("number", number, "a finite int, float, Fraction or NumPy number")


def as_float(name: str, number: Any) -> float:
    """The float that equals the number; ParameterError where there is none: a nearest one would be another law."""
    try:
        found = float(number) if isinstance(number, numbers.Real) else math.nan
    except OverflowError:
        found = math.inf
    if not math.isfinite(found) or as_fraction(number) != Fraction(found):
        raise ParameterError(name, number, "a number that a float holds exactly")
    return found


def float_up(x: Fraction) -> float:
    """Smallest float >= x."""
    nearest = _nearest(x)
    return nearest if nearest == math.inf or Fraction(nearest) >= x else math.nextafter(nearest, math.inf)


def float_down(x: Fraction) -> float:
    """Largest float <= x."""
    return -float_up(-x)


def div_up(numerator: float, denominator: float) -> float:
    """Smallest float >= numerator / denominator, for finite numbers and a denominator > 0."""
    return float_up(Fraction(numerator) / Fraction(denominator))


def sqrt_up(x: float | Fraction) -> float:
    """A float >= sqrt(x), at most one step above the nearest one."""
    exact = Fraction(x)
    if not exact:
        return 0.0
    # scaled by a power of four into [1, 4), where no square is subnormal; the scale comes back exactly or rounds up
    shift = (exact.numerator.bit_length() - exact.denominator.bit_length()) // 2
    scaled = exact / Fraction(4) ** shift
    root = math.sqrt(scaled)
    while Fraction(root) ** 2 < scaled:
        root = math.nextafter(root, math.inf)
    return float_up(Fraction(root) * Fraction(2) ** shift)


def digits_up(x: float, digits: int = 4) -> float:
    """The smallest number of so many significant digits that is >= x >= 0; inf stays inf.

    For what a search has found to more digits than two processors agree on.
    """
    if not 0 < x < math.inf:
        return x
    with localcontext(Context(prec=digits, rounding=ROUND_CEILING, Emax=MAX_EMAX, Emin=MIN_EMIN)):
        return float(+Decimal(x))


def text_above(x: float, limit: float, digits: int = 3) -> str:
    """x in words, rounded down, with as many significant digits as still tell it from a limit below it."""
    if not limit < x < math.inf:
        return f"{x:.{digits}g}"
    for many in range(digits, 18):
        with localcontext(Context(prec=many, rounding=ROUND_FLOOR, Emax=MAX_EMAX, Emin=MIN_EMIN)):
            rounded = +Decimal(repr(float(x)))
        if rounded > Decimal(repr(float(limit))):
            return f"{rounded.normalize():f}" if 1e-4 <= abs(x) < 1e15 else f"{rounded:g}"
    return repr(x)


def _nearest(x: Fraction) -> float:
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.nextafter(math.inf, 0.0)


def log_up(x: Fraction) -> float:
    """A float >= log(x) for x >= 1, above it by less than 16u (relative).

    With x = m 2^k, 1 <= m < 2: k log 2 + log(1 + (m - 1)), both >= 0, and log1p and the product err by 4u at most.
    """
    if not x >= 1:
        raise ParameterError("x", x, ">= 1")
    k = max(0, x.numerator.bit_length() - x.denominator.bit_length() - 1)  # x/2^k is in [1, 4)
    mantissa = float_up(x / 2**k - 1)
    return (k * math.log(2.0) + math.log1p(mantissa)) * (1 + 8 * UNIT)


def sum_exactly(x: npt.NDArray[np.float64]) -> Fraction:
    """The sum of finite floats, without rounding."""
    mantissas, exponents = np.frexp(x)
    whole = np.asarray(np.ldexp(mantissas, 53), dtype=np.int64)
    total = Fraction(0)
    for exponent in np.unique(exponents):
        chosen = whole[exponents == exponent]
        parts = int((chosen >> 32).sum()) * 2**32 + int((chosen & (2**32 - 1)).sum())
        total += parts * Fraction(2) ** (int(exponent) - 53)
    return total
