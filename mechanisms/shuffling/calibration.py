"""The smallest shuffle noise that meets a claim, by an exact account instead of the papers' constants.

Noise is ordered by its variance n m p (1-p): first one Bern(p) bit a user with p rising to 1/2, then two bits
with p rising from where they have the variance of one fair bit, then three, and so on. For each m the
probabilities form a geometric grid of `STEPS` points that ends at 1/2.

The search starts where Gaussian noise of the same variance would meet the claim (if that variance is 16 or more), and
corrects that place by what the account says of it: the two log deltas differ by nearly a constant, so three or four
accounts do instead of a dozen.

More fair bits only post-process (the extra ones can be added afterwards), so the profile falls along them.
Between them, along p, that is not proven here. Only minimality leans on it: the answer itself is accounted.
"""

import bisect
import functools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dpverify.accounting.accountant import delta_upper
from dpverify.base import require
from dpverify.claims import Relation
from dpverify.errors import RunError
from dpverify.ledger import Ledger
from mechanisms.shuffling.bits import NoiseBits

STEPS = 4096  # neighbours differ by at most a factor n^(1/STEPS) in p: 0.3 % at n = 1e6, far less where m > 1
_MOST_BITS = 2**40
_FAR = 1e3  # log of a delta of which only the sign counts
_WIDE = 16.0  # variances from which a binomial is close enough to a normal law for the start to save accounts
_FIRST_STRIDE = 64  # steps below the first noise that does, where the next one is asked
_GUESSES = 8  # noises asked on the way from the Gaussian start; what they leave open is halved
_STEEPER = 8.0  # how much steeper or flatter than the Gaussian's the account may fall in one step


def smallest_noise(
    users: int, excess: Callable[[NoiseBits], float], *, near: Callable[[float], float] | None = None
) -> NoiseBits:
    """Least noise of one counter with `excess(noise)` <= 0, in the order of the module.

    `excess` falls along the order, log delta(eps) - log beta for instance: the smoother it is, the fewer noises are
    asked (Brent's method, then halving of what is left). The result has `excess` <= 0 and `one_step_less` of it has
    not: both were asked. RunError where no noise of up to 2^40 bits does.

    `near(value)` guesses the variance at which `excess` takes a value (`gaussian_variance`). It decides which noises
    are asked, never what is accepted.
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

    def limits() -> tuple[int | None, int | None]:
        """The first place that was found to do, and the last one below it that was found not to."""
        high = min((place for place, found in known.items() if found <= 0), default=None)
        return max((p for p, found in known.items() if found > 0 and (high is None or p < high)), default=None), high

    if near is not None:
        _follow(users, at, near)
    low, high = limits()
    stride = _FIRST_STRIDE
    if high is None:
        high = max(STEPS, (low or 0) + 1) - 1
        stride = STEPS // 2
        while not at(high) <= 0:
            low, high = high, 2 * high + 1
            if (high + 1) // STEPS * users > _MOST_BITS:
                raise RunError(f"no shuffle noise of up to 2^40 bits for {users} users meets the claim")
    while low is None:  # not at once down to the least noise: its account is the slowest of all
        place = max(high - stride, high // 2)
        if at(place) > 0:
            low = place
        elif place == 0:
            return _noise(users, 0)
        else:
            high, stride = place, 2 * stride
    if high - low > 1:
        optimize.brentq(at, low, high, xtol=0.5)
    low, high = (place or 0 for place in limits())
    return _noise(users, _first(low + 1, high, lambda place: at(place) <= 0))


def _follow(users: int, ask: Callable[[int], float], near: Callable[[float], float]) -> None:
    """Asks the places that `near` leads to, by secant steps, until two neighbours enclose the answer or it strays."""
    offset, slope = 0.0, 1.0
    last: tuple[float, float] | None = None
    known: dict[int, float] = {}
    for _ in range(_GUESSES):
        variance = near(offset)
        if not _WIDE <= variance <= _MOST_BITS / 4:
            return
        place = _place(users, variance)
        if place in known:  # closer than one step: its neighbour decides
            place += 1 if known[place] > 0 else -1
        if place < 0 or place in known:
            return
        found = known[place] = ask(place)
        if not abs(found) < _FAR or (place + 1 if found > 0 else place - 1) in known:
            return
        if last is not None and last[0] != offset:
            slope = min(max((found - last[1]) / (offset - last[0]), 1 / _STEEPER), _STEEPER)
        last = offset, found
        offset -= found / slope


def gaussian_variance(moved: int, *, eps: float, beta: float, above: float = 0.0) -> float:
    """Variance v at which N(0, v) on `moved` counters that move by 1 has log delta(eps) = log(beta) + above.

    With mu = sqrt(moved/v): delta(eps) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) (Balle, Wang 2018,
    Theorem 8). NaN where it has none.
    """
    from scipy import optimize, special  # slow to load, as above

    wanted = math.log(beta) + above
    if not (wanted < 0 and moved):
        return math.nan

    def excess(log_mu: float) -> float:
        mu = math.exp(log_mu)
        first, second = special.log_ndtr(mu / 2 - eps / mu), eps + special.log_ndtr(-mu / 2 - eps / mu)
        gap = -math.expm1(second - first)
        return float(first + math.log(gap) - wanted) if gap > 0 else -_FAR

    low, high = math.log(1e-9), math.log(1e3)
    if not excess(low) < 0 < excess(high):
        return math.nan
    return moved / math.exp(2 * float(optimize.brentq(excess, low, high, xtol=1e-12)))


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


def _place(users: int, variance: float) -> int:
    """The first place of the order with at least this variance (the last before it, by rounding)."""
    each = variance / users
    bits = max(1, math.ceil(4 * each))
    probability = (1 - math.sqrt(max(0.0, 1 - 4 * each / bits))) / 2
    grid = _grid(users, bits)
    return (bits - 1) * STEPS + min(bisect.bisect_left(grid, probability), STEPS - 1)


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
