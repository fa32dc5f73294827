"""The most favourable violation of a claim about a whole profile (rho, mu) that a run refutes."""

import math

import numpy as np
import scipy

from dpverify.claims.claim import Claim
from dpverify.evidence.bounds import clopper_pearson
from dpverify.evidence.bounds.root_finding import least_reached

LARGEST = 2.0**20  # times the claimed number


def detectable_number(claim: Claim, *, trials: int, guess_fraction: float, significance: float, power: float) -> float:
    """Smallest true number that two Clopper-Pearson limits refute with probability >= power; inf when none.

    Model: the mechanism attains its own curve g_x on the guessed mass f: rates c = g_x(w) with c + w = f
    (f = 1: it never abstains, and one limit on c decides). The certifying test is at least as powerful but
    for its nuisance level of 1e-3. The power splits evenly over the two counts.
    """
    if not guess_fraction > 0:
        return math.inf

    def caught(number: float) -> bool:
        wrong = _wrong_rate(claim.with_number(number), guess_fraction)
        right = guess_fraction - wrong
        if guess_fraction >= 1:
            v = _low_count(trials, right, 1 - power)
            limit = clopper_pearson.lower(v, trials, significance)
            return limit > 1 - _wrong_rate(claim, 1.0)
        v = _low_count(trials, right, (1 - power) / 2)
        u = trials - _low_count(trials, 1 - wrong, (1 - power) / 2)
        c = clopper_pearson.lower(v, trials, significance / 2)
        w = clopper_pearson.upper(u, trials, significance / 2)
        return c > claim.accuracy_limit(w) and w < 1 - c

    return least_reached(caught, claim.number, 2 * claim.number, most=LARGEST * claim.number)


def _low_count(trials: int, rate: float, miss: float) -> int:
    """A count v with Pr[Bin(trials, rate) < v] <= miss."""
    v = int(scipy.stats.binom.ppf(miss, trials, np.clip(rate, 0.0, 1.0)))
    return v if scipy.stats.binom.cdf(v - 1, trials, rate) <= miss else v - 1


def _wrong_rate(claim: Claim, mass: float) -> float:
    """The w with g(w) + w = mass, from above."""
    low, high = 0.0, mass / 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if not low < middle < high:  # nothing representable in between: a strong claim's rate underflows
            break
        low, high = (middle, high) if claim.accuracy_limit(middle) + middle < mass else (low, middle)
    return high
