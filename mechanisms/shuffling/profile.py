"""Exact privacy profile of one shuffled count, in log space: deltas of 1e-100 keep their digits.

Sum view. With Q ~ Bin(N, p), one direction is (P, P') = (Q, Q + 1). Its likelihood ratio
Pr[Q = s]/Pr[Q = s - 1] = (N - s + 1)/s * p/(1-p) falls in s, so with s* the last s where it exceeds e^eps

    delta(eps) = sum_{s <= s*} (Pr[Q = s] - e^eps Pr[Q = s - 1]),

a sum of positive terms. The other direction is the same with 1 - p for p (count the zeros).

Integer view with m = 1. Given a users with bit 1, k_0 ~ Bin(n - a, 1 - p) and k_2 ~ Bin(a, p) are
independent and k_1 is the rest. Against a + 1 ones the ratio is (1-p)/p (a+1)/(n-a) (n-a-k_0)/(a+1-k_2).
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.base import require
from mechanisms.shuffling.bits import NoiseBits

Array = npt.NDArray[Any]


def log_sum_delta(trials: int, probability: float, eps: float) -> float:
    """log delta(eps) of integer + Bin(trials, probability) against a shift by 1, both directions; from above.

    -inf where delta is 0. Relative accuracy of delta about 1e-8 (that of the log-gamma function at large N).
    """
    require.integer(at_least=0, trials=trials)
    require.probability(probability=probability)
    require.non_negative(eps=eps)
    if trials == 0 or probability in (0.0, 1.0):
        return 0.0
    return max(_log_one_direction(trials, p, eps) for p in (probability, 1 - probability))


def sum_delta(trials: int, probability: float, eps: float) -> float:
    """exp of `log_sum_delta`: 0.0 below 1e-308."""
    return math.exp(log_sum_delta(trials, probability, eps))


def integers_delta(users: int, ones: int, probability: float, eps: float) -> float:
    """delta(eps) of the integer view with m = 1, `ones` against `ones` + 1 of `users`, both directions.

    Work and memory grow like the product of two 12-sd windows; the mass outside, below 1e-30, is added. What
    remains is rounding, some 1e-12 relative.
    """
    require.integer(at_least=1, users=users)
    require.integer(at_least=0, ones=ones, zeros_left=users - ones - 1)
    require.open_unit(probability=probability)
    return max(
        _integers_one_direction(users, ones, probability, eps),
        _integers_one_direction(users, users - 1 - ones, 1 - probability, eps),  # bits and messages flipped
    )


def _log_one_direction(trials: int, p: float, eps: float) -> float:
    from scipy import stats  # slow to load, and declaring a privatizer does not need it

    odds = p / (1 - p)
    # largest s with (N - s + 1) odds > e^eps s; one more is tried because the division rounds
    last = min(trials, int((trials + 1) * odds / (math.exp(eps) + odds)) + 1)
    first = max(0, last - 60 - int(12 * math.sqrt(trials * p * (1 - p))))
    s = np.arange(first, last + 1)
    log_pmf = stats.binom.logpmf(s, trials, p)
    with np.errstate(divide="ignore"):
        gain = eps - (np.log((trials + 1 - s) / s) + math.log(odds))  # eps - log ratio, < 0 where it counts
    terms = np.where(gain < 0, log_pmf + np.log(-np.expm1(np.minimum(gain, -1e-300))), -np.inf)
    if first > 0:  # below `first` the pmf falls by more than the ratio there, a geometric series
        terms = np.append(terms, log_pmf[0] - math.log(math.expm1(eps - float(gain[0]))))
    return float(special.logsumexp(terms))


def _integers_one_direction(users: int, ones: int, p: float, eps: float) -> float:
    """Sup over events of Pr[E | ones] - e^eps Pr[E | ones + 1]."""
    from scipy import stats  # slow to load, and declaring a privatizer does not need it

    k0, k2 = _window(users - ones, 1 - p), _window(ones, p)
    mass = stats.binom.pmf(k0, users - ones, 1 - p)[:, None] * stats.binom.pmf(k2, ones, p)[None, :]
    # Pr[k | ones + 1] / Pr[k | ones]; k_0 = users - ones is impossible with one more 1
    odds = (1 - p) / p * (ones + 1) / (users - ones)
    ratio = odds * (users - ones - k0)[:, None] / (ones + 1 - k2)[None, :]
    # outside a window of 60 + 12 sd on either side lies at most 2 e^-72 of each law (Bernstein)
    outside = 0.0 if len(k0) + len(k2) == users + 2 else 1e-30
    return float(math.fsum((mass * np.maximum(0.0, 1 - math.exp(eps) * ratio)).sum(axis=1))) + outside


def _window(trials: int, p: float) -> Array:
    reach = 60 + int(12 * math.sqrt(trials * p * (1 - p)))
    centre = int(trials * p)
    return np.arange(max(0, centre - reach), min(trials, centre + reach) + 1)


def profile_meets(noise: NoiseBits, users: int, eps: float, delta: float) -> bool:
    """True where the sum of one counter with this noise is (eps, delta)-DP, by its exact profile."""
    require.open_unit(delta=delta)
    return log_sum_delta(noise.total(users), noise.probability, eps) <= math.log(delta)
