"""sup{eps : p(eps) <= alpha} for an increasing p, returned on the side that is certified."""

from collections.abc import Callable

from scipy import optimize

_TOLERANCE = 1e-12


def largest_refuted(p_value: Callable[[float], float], significance: float, start: float = 1.0) -> float:
    """An eps >= 0 with p(eps) <= significance, within about 1e-12 of the largest; 0.0 if p(0) > significance.

    `p_value` is continuous and increasing and exceeds `significance` < 1 somewhere; the end point that is
    returned has been evaluated itself, so the certificate does not rest on the tolerance.
    """
    if p_value(0.0) > significance:
        return 0.0
    high = max(start, _TOLERANCE)
    while p_value(high) <= significance:
        high *= 2
    eps = float(optimize.brentq(lambda x: p_value(x) - significance, 0.0, high, xtol=_TOLERANCE))
    return step_down(p_value, significance, eps)


def step_down(p_value: Callable[[float], float], significance: float, eps: float) -> float:
    """Largest of eps, eps - 1e-12, eps - 3e-12, ... that is rejected; 0.0 when none above 0 is."""
    step = _TOLERANCE
    while eps > 0 and p_value(eps) > significance:
        eps -= step
        step *= 2
    return eps if eps > 0 else 0.0
