"""The smallest shuffle noise that meets a claim, by an exact account instead of the papers' constants.

Noise is ordered: one Bern(p) bit a user with p rising to 1/2, then 2, 3, ... fair bits a user. More fair bits
only post-process (the extra ones can be added afterwards), so the profile falls along the second part. Along
the first that is not proven here; the bisection needs it for minimality only, since the answer is accounted.
"""

from collections.abc import Callable

from dpverify.base import require
from dpverify.base.errors import RunError
from mechanisms.shuffled_bits import NoiseBits

STEPS = 4096  # of the geometric grid of p; neighbours differ by a factor n^(1/STEPS), 0.3 % at n = 1e6
_MOST_BITS = 2**40


def smallest_noise(users: int, meets: Callable[[NoiseBits], bool]) -> NoiseBits:
    """Least noise of one counter with `meets(noise)`, along the order of the module; bisection.

    The result meets the claim; `one_step_less` of it does not. RunError when no noise up to 2^40 bits does.
    """
    require.integer(at_least=1, users=users)
    if meets(NoiseBits(1)):
        return partial(users, _first(1, STEPS, lambda step: meets(partial(users, step))))
    high = 2
    while not meets(NoiseBits(high)):
        high *= 2
        if high * users > _MOST_BITS:
            raise RunError(f"no shuffle noise of up to 2^40 bits for {users} users meets the claim")
    return NoiseBits(_first(high // 2 + 1, high, lambda bits: meets(NoiseBits(bits))))


def partial(users: int, step: int) -> NoiseBits:
    """Step 1..STEPS of one Bern(p) bit a user: p = (1/2) n^(-(1 - step/STEPS)), from 1/(2n) up to 1/2."""
    return NoiseBits(1, min(0.5, 0.5 * float(users) ** (step / STEPS - 1)))


def one_step_less(users: int, noise: NoiseBits) -> NoiseBits | None:
    """The next smaller noise of the order; None below the smallest."""
    if noise.per_user > 1:
        return NoiseBits(noise.per_user - 1)
    grid = (partial(users, step) for step in range(STEPS, 0, -1))
    return next((each for each in grid if each.probability < noise.probability), None)


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Smallest integer in low..high that holds, for a property that stays; `high` is known to hold."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
