"""The smallest shuffle noise that meets a claim, by an exact account instead of the papers' constants.

Noise is ordered by its variance n m p (1-p): first one Bern(p) bit a user with p rising to 1/2, then two bits
with p rising from where they have the variance of one fair bit, then three, and so on. For each m the
probabilities form a geometric grid of `STEPS` points that ends at 1/2.

More fair bits only post-process (the extra ones can be added afterwards), so the profile falls along them.
Between them, along p, that is not proven here. Only minimality leans on it: the answer itself is accounted.
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.base.errors import RunError
from mechanisms.shuffling.bits import NoiseBits

STEPS = 4096  # neighbours differ by at most a factor n^(1/STEPS) in p: 0.3 % at n = 1e6, far less where m > 1
_MOST_BITS = 2**40


def smallest_noise(users: int, meets: Callable[[NoiseBits], bool]) -> NoiseBits:
    """Least noise of one counter with `meets(noise)`, in the order of the module; bisection.

    The result meets the claim; `one_step_less` of it does not. RunError when no noise up to 2^40 bits does.
    """
    require.integer(at_least=1, users=users)
    high = 1
    while not meets(NoiseBits(high)):
        high *= 2
        if high * users > _MOST_BITS:
            raise RunError(f"no shuffle noise of up to 2^40 bits for {users} users meets the claim")
    bits = _first(high // 2 + 1, high, lambda m: meets(NoiseBits(m)))
    grid = _grid(users, bits)
    return NoiseBits(bits, grid[_first(0, STEPS - 1, lambda step: meets(NoiseBits(bits, grid[step])))])


def one_step_less(users: int, noise: NoiseBits) -> NoiseBits | None:
    """The next smaller noise of the order; None below the smallest."""
    smaller = [p for p in _grid(users, noise.per_user) if p < noise.probability]
    if smaller:
        return NoiseBits(noise.per_user, smaller[-1])
    return NoiseBits(noise.per_user - 1) if noise.per_user > 1 else None


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
