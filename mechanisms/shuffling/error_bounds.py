"""How far a shuffled count can be from the true one: Q - E Q, Q ~ Bin(N, p), with probability 1 - failure.

The noise does not depend on the data, so these are statements about one binomial.
"""

import math
from functools import lru_cache

from dpverify.base import require
from mechanisms.shuffling.bits import NoiseBits


def chernoff_error(tau: float, failure: float) -> float:
    """sqrt(3 tau ln(2/failure)): the papers' utility proof, for n <= tau and n > tau alike (E Q <= tau)."""
    require.positive(tau=tau)
    require.open_unit(failure=failure)
    return math.sqrt(3 * tau * math.log(2 / failure))


def provable_error(noise: NoiseBits, users: int, failure: float) -> float:
    """A bound with Pr[|Q - E Q| > bound] <= failure; l = ln(2/failure).

    Fair bits: sqrt(N l/2) (Hoeffding). Otherwise sqrt(2 N p (1-p) l) + 2l/3 (Bernstein, inverted from above).
    With the papers' tau both are at most sqrt(tau l) + 2l/3.
    """
    require.open_unit(failure=failure)
    log = math.log(2 / failure)
    if noise.probability == 0.5:
        return math.sqrt(noise.total(users) * log / 2)
    return math.sqrt(2 * noise.variance(users) * log) + 2 * log / 3


@lru_cache(maxsize=4096)  # a learner asks in every batch of every run
def exact_error(noise: NoiseBits, users: int, failure: float) -> float:
    """Smallest t of the form |q - E Q| with Pr[|Q - E Q| > t] <= failure, as scipy's binomial computes it."""
    from scipy import stats  # slow to load, and declaring a privatizer does not need it

    require.open_unit(failure=failure)
    total, p, mean = noise.total(users), noise.probability, noise.mean(users)
    nearest = round(mean)

    def beyond(left: int, right: int) -> float:
        return float(stats.binom.cdf(left - 1, total, p) + stats.binom.sf(right, total, p))

    low, high = 0, total  # fewest steps away from the rounded mean, to both sides, that leave enough inside
    while low < high:
        steps = (low + high) // 2
        low, high = (low, steps) if beyond(nearest - steps, nearest + steps) <= failure else (steps + 1, high)
    ends = nearest - low, nearest + low
    left, right = (abs(end - mean) for end in ends)  # not the same where the mean is no integer
    if left < right and beyond(ends[0], ends[1] - 1) <= failure:
        return left
    if right < left and beyond(ends[0] + 1, ends[1]) <= failure:
        return right
    return max(left, right)
