"""Exact division and square root, rounded to a stated side.

A mechanism that computes its own scale rounds it *up* (more noise), an account is rounded *up*, a
certified lower bound is rounded *down*: always against ourselves. Comparisons are made on exact
fractions, so that "exactly eps" is decided and not a matter of the last bit.
"""

import math
from fractions import Fraction


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


def _nearest(x: Fraction) -> float:
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.nextafter(math.inf, 0.0)
