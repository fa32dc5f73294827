"""Clopper-Pearson confidence limits for one binomial rate, each on its safe side.

The inverse of the incomplete beta function is checked against the function itself and moved outwards by
a relative 1e-14, 2e-14, 4e-14, ... until the binomial tail really is at most the level.
"""

from collections.abc import Callable

from scipy import special


def lower(successes: int, trials: int, level: float) -> float:
    """Largest p with Pr[Bin(trials, p) >= successes] <= level; 0.0 for no success."""
    if successes == 0:
        return 0.0
    a, b = successes, trials - successes + 1
    return _outwards(float(special.betaincinv(a, b, level)), -1, lambda p: bool(special.betainc(a, b, p) <= level))


def upper(successes: int, trials: int, level: float) -> float:
    """Smallest p with Pr[Bin(trials, p) <= successes] <= level; 1.0 for no failure.

    Accurate for small rates: `1 - lower(failures, ...)` would lose them.
    """
    if successes == trials:
        return 1.0
    a, b = successes + 1, trials - successes
    start = float(special.betainccinv(a, b, level))
    return min(1.0, _outwards(start, +1, lambda p: bool(special.betaincc(a, b, p) <= level)))


def _outwards(start: float, direction: int, safe: Callable[[float], bool]) -> float:
    p, step = start, 1e-14
    while not safe(min(p, 1.0)) and step < 1:
        p *= 1 + direction * step
        step *= 2
    return p
