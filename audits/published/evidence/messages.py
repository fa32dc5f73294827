"""The integer messages of the papers' binary summation, transcribed: y plus noise, shuffled as one number (A7)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from audits.published.evidence.trials import lower


@dataclass(frozen=True)
class Messages:
    """Numbers of messages 0, 1 and 2 where n > tau: the shuffler shows how often each number came."""

    users: int
    tau: float

    def release(self, ones: int, *, rng: np.random.Generator, size: int) -> Any:
        """`ones` of the users hold 1."""
        noise = self.tau / (2 * self.users)
        zero_up = rng.binomial(self.users - ones, noise, size)
        one_up = rng.binomial(ones, noise, size)
        return np.stack([self.users - ones - zero_up, ones - one_up + zero_up, one_up], axis=1)


def certified(users: int, eps: float, beta: float, trials: int) -> float:
    """Lower bound on eps at delta = beta: all others hold 1, one user 0 or 1."""
    target = Messages(users, 96 * math.log(2 / beta) / eps**2)
    return lower(target, users - 1, users, eps=eps, delta=beta, trials=trials)


def excess(largest: int, eps: float, beta: float) -> float:
    """96 ln(2/beta)/eps^2 over the least tau for which one sum of fair bits, n = 1000 or more, is (eps, beta)-DP."""
    from mechanisms.shuffling.profile import sum_delta

    low, high = 1, largest
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if sum_delta(largest, middle / (2 * largest), eps) <= beta else (middle, high)
    return 96 * math.log(2 / beta) / eps**2 / high
