"""When a ledger proves a claim that is a curve: functions of the ledger's Renyi divergences and of its delta(eps).

`divergence(alpha)` and `delta(eps)` are upper bounds that cover both directions of every pair of neighbours.
"""

import math
from collections.abc import Callable
from fractions import Fraction

from dpverify.base.rounding import as_fraction, float_up
from dpverify.claims.curves import RenyiDP, TradeOff

Bound = Callable[[float], float]

CLOSE = 1e-3  # a trade-off factor is found to this, from above
MOST_FACTOR = 2.0**60


def meets_renyi(claim: RenyiDP, divergence: Bound) -> bool:
    """D_alpha <= eps at every listed order."""
    factor = as_fraction(claim.factor)
    return all(divergence(alpha) <= factor * Fraction(eps) for alpha, eps in claim.curve)


def renyi_factor(claim: RenyiDP, divergence: Bound) -> float:
    """max over the listed orders of D_alpha/eps, rounded up: the smallest factor that is proved."""
    worst = 0.0
    for alpha, eps in claim.curve:
        value = divergence(alpha)
        if value == math.inf:
            return math.inf
        worst = max(worst, float_up(Fraction(value) / Fraction(eps)))
    return worst


def meets_tradeoff(claim: TradeOff, delta: Bound) -> bool:
    """The finite conjunction over the segments, see `TradeOff.segments`.

    The vertices would not do: the ledger's own curve is convex and may dip below the claim between them.
    """
    return all(_holds(ratio, missing, delta) for ratio, missing in claim.segments())


def tradeoff_factor(claim: TradeOff, delta: Bound) -> float:
    """Smallest factor that is proved, from above and to 1 in 1000; inf where none is found.

    A larger factor only weakens every segment, so the set of factors that are proved is an interval up to infinity.
    """
    low, high = 0.0, 1.0
    while not meets_tradeoff(claim.with_number(high), delta):
        low, high = high, 2 * high
        if high > MOST_FACTOR:
            return math.inf
    if low == 0:  # the claim itself is proved: how much less would be
        low = high / 2
        while meets_tradeoff(claim.with_number(low), delta) and low > 1 / MOST_FACTOR:
            low, high = low / 2, low
    while high - low > CLOSE * high:
        middle = (low + high) / 2
        low, high = (low, middle) if meets_tradeoff(claim.with_number(middle), delta) else (middle, high)
    return high


def _holds(ratio: Fraction, missing: Fraction, delta: Bound) -> bool:
    """D(log ratio) <= missing, with the logarithm rounded down, where D is larger."""
    if missing < 0:
        return False
    return Fraction(delta(_log_down(ratio))) <= missing


def _log_down(ratio: Fraction) -> float:
    """A float <= log(ratio), for a ratio >= 1; at most 1e-15 relative (1e-14 for huge ratios) below it."""
    if ratio < 2:
        value = math.log1p(float(ratio - 1))
        return max(0.0, math.nextafter(math.nextafter(value * (1 - 2.0**-52), 0.0), 0.0))
    value = math.log(ratio.numerator) - math.log(ratio.denominator)
    return value - 2.0**-50 * (math.log(ratio.numerator) + math.log(ratio.denominator))
