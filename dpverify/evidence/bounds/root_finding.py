"""Where something monotone changes: sup{eps : p(eps) <= alpha} on the side that is certified, and plans."""

import math
from collections.abc import Callable
from functools import cache

import scipy
from scipy import special

_TOLERANCE = 1e-12


def largest_refuted(
    p_value: Callable[[float], float], significance: float, *, start: float = 1.0, tolerance: float = _TOLERANCE
) -> float:
    """An eps >= 0 with p(eps) <= significance, about `tolerance` below the largest; 0.0 if p(0) > significance.

    `p_value` is increasing and exceeds `significance` < 1 somewhere. The returned point has been evaluated
    itself, so a certificate rests neither on the tolerance nor on the search. `start` > 0 is a guess.
    """
    p_value = cache(p_value)
    if p_value(0.0) > significance:
        return 0.0
    low, high, step = 0.0, start, 0.05 * start
    while p_value(high) <= significance:
        low, high, step = high, high + step, 2 * step
    while low == 0.0 and high > step and p_value(high - step) > significance:
        high, step = high - step, 2 * step
    low = max(low, high - step)

    def distance(eps: float) -> float:  # nearly linear where p behaves like a normal tail
        p = min(max(p_value(eps), 1e-300), 1 - 1e-16)
        return float(special.ndtri(p) - special.ndtri(significance))

    eps = float(scipy.optimize.brentq(distance, low, high, xtol=tolerance)) if distance(low) < 0 else low
    return step_down(p_value, significance, eps, tolerance)


def step_down(p_value: Callable[[float], float], significance: float, eps: float, step: float = _TOLERANCE) -> float:
    """First of eps, eps - step, eps - 3 step, eps - 7 step, ... that is rejected; 0.0 when none above 0 is."""
    while eps > 0 and p_value(eps) > significance:
        eps -= step
        step *= 2
    return eps if eps > 0 else 0.0


def least_reached(reached: Callable[[float], bool], low: float, high: float, *, most: float = math.inf) -> float:
    """Smallest x > low from which on `reached` is true, from above to 1e-4 of itself; inf when not up to `most`.

    `high` > 0 is a guess, doubled while it is too small. For plans: the point returned has been evaluated itself.
    """
    while not reached(high):
        if high >= most:
            return math.inf
        low, high = high, 2 * high
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
