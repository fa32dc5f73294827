"""The smallest shuffle noise that meets a claim, by an exact account instead of the papers' constants.

Noise is ordered by its variance n m p (1-p): first one Bern(p) bit a user with p rising to 1/2, then two bits
with p rising from where they have the variance of one fair bit, then three, and so on. For each m the
probabilities form a geometric grid of `STEPS` points that ends at 1/2.

More fair bits only post-process (the extra ones can be added afterwards), so the profile falls along them.
Between them, along p, that is not proven here. Only minimality leans on it: the answer itself is accounted.
"""

import functools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dpverify.accounting.accountant import delta_upper
from dpverify.accounting.ledger import Ledger
from dpverify.base import require
from dpverify.base.errors import RunError
from dpverify.claims.neighbours import Relation
from mechanisms.shuffling.bits import NoiseBits

STEPS = 4096  # neighbours differ by at most a factor n^(1/STEPS) in p: 0.3 % at n = 1e6, far less where m > 1
_MOST_BITS = 2**40
_FAR = 1e3  # log of a delta of which only the sign counts


def smallest_noise(users: int, excess: Callable[[NoiseBits], float]) -> NoiseBits:
    """Least noise of one counter with `excess(noise)` <= 0, in the order of the module.

    `excess` falls along the order, log delta(eps) - log beta for instance: the smoother it is, the fewer noises are
    asked (Brent's method, then halving of what is left). The result has `excess` <= 0 and `one_step_less` of it has
    not: both were asked. RunError where no noise of up to 2^40 bits does.
    """
    from scipy import optimize  # slow to load, and declaring a privatizer does not need it

    require.integer(at_least=1, users=users)
    known: dict[int, float] = {}

    def at(place: float) -> float:
        place = round(place)
        if place not in known:
            found = excess(_noise(users, place))
            known[place] = found if math.isfinite(found) else -_FAR if found < 0 else _FAR  # NaN: too little noise
        return known[place]

    low, high = 0, STEPS - 1
    while not at(high) <= 0:
        low, high = high, 2 * high + 1
        if (high + 1) // STEPS * users > _MOST_BITS:
            raise RunError(f"no shuffle noise of up to 2^40 bits for {users} users meets the claim")
    if at(low) <= 0:
        return _noise(users, low)
    optimize.brentq(at, low, high, xtol=0.5)
    high = min(place for place, found in known.items() if found <= 0)
    low = max(place for place, found in known.items() if found > 0 and place < high)
    return _noise(users, _first(low + 1, high, lambda place: at(place) <= 0))


def log_excess(ledger: Callable[[NoiseBits], Ledger], noise: NoiseBits, *, eps: float, beta: float) -> float:
    """log(delta(eps)/beta) of the account, under replace-one; at most 0 exactly where delta(eps) <= beta."""
    delta = delta_upper(ledger(noise), eps=eps, relation=Relation.REPLACE_ONE)
    found = math.log(delta / beta) if delta / beta > 0 else -math.inf
    return min(found, 0.0) if delta <= beta else max(found, math.ulp(0.0))


def one_step_less(users: int, noise: NoiseBits) -> NoiseBits | None:
    """The next smaller noise of the order; None below the smallest."""
    smaller = [p for p in _grid(users, noise.per_user) if p < noise.probability]
    if smaller:
        return NoiseBits(noise.per_user, smaller[-1])
    return NoiseBits(noise.per_user - 1) if noise.per_user > 1 else None


def _noise(users: int, place: int) -> NoiseBits:
    """The noise at a place of the order."""
    bits, step = divmod(place, STEPS)
    return NoiseBits(bits + 1, _grid(users, bits + 1)[step])


@functools.lru_cache(maxsize=64)
def _grid(users: int, bits: int) -> list[float]:
    """Probabilities from the least noise of `bits` bits up to 1/2, which is exact."""
    least = 0.5 / users if bits == 1 else (1 - math.sqrt(1 / bits)) / 2  # m p (1-p) = (m-1)/4
    inner: npt.NDArray[np.float64] = np.geomspace(least, 0.5, STEPS)[:-1]
    return [*inner.tolist(), 0.5]


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Smallest integer in low..high that holds, for a property that stays; `high` is known to hold."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
