"""delta > 0 when n d is small: every revealed trial is counted as a right guess that came for free.

The p-value is Pr[Bin(n, d) + Bin(m, r) >= v]: over-charged by about r n d guesses, hence for n d < 0.5.

A fixed rule under H0(eps, delta) behaves as if each trial were revealed with probability at most d and
were otherwise guessed right with probability at most r given the guess (Kairouz, Oh, Viswanath 2015).
The tail below is then conservative although m is random: putting a revealed trial among the guesses
instead of on top of them never lowers it.
"""

import math

import numpy as np
import scipy
from scipy import special

from dpverify.evidence.bounds.binomial import binomial_tail, log_binomial_tail
from dpverify.evidence.bounds.log_tails import log_at_least, log_at_most, log_pmf, SMALLEST

_WHAT_IS_LEFT_OUT = 1e-15  # the short sum's remainder is far below, and would decide p-values of its own size
_SUMMING = 1e-9  # more than the rounding of a sum of a million terms


def revealed_tail(right: int, wrong: int, eps: float, trials: int, revealed: float) -> float:
    """Pr[Bin(trials, revealed) + Bin(right + wrong, r) >= right]; what the sum leaves out is added back."""
    if right == 0:
        return 1.0
    if revealed == 0:
        return binomial_tail(right, wrong, eps)
    mean = trials * revealed
    last = min(trials, right - 1, math.ceil(mean + 10 * math.sqrt(mean) + 12))
    count = np.arange(last + 1)
    pmf = scipy.stats.binom.pmf(count, trials, revealed)
    tail = special.betaincc(wrong + 1 + count, right - count, special.expit(-eps))
    beyond = special.betainc(last + 1, trials - last, revealed) if last < trials else 0.0
    found = float(pmf @ tail + beyond)
    if found < _WHAT_IS_LEFT_OUT:
        found = max(math.exp(log_revealed_tail(right, wrong, eps, trials, revealed)), SMALLEST)
    return min(1.0, found)


def log_revealed_tail(right: int, wrong: int, eps: float, trials: int, revealed: float) -> float:
    """Natural logarithm of `revealed_tail`, from above; sums until what is left out is e^-40 of the sum."""
    if right == 0:
        return 0.0
    if revealed == 0:
        return log_binomial_tail(right, wrong, eps)
    mean, most = trials * revealed, min(trials, right - 1)
    last = min(most, math.ceil(mean + 10 * math.sqrt(mean) + 12))
    while True:
        count = np.arange(last + 1)
        terms = log_pmf(count, trials, revealed)
        terms = terms + log_at_most(wrong + count, right + wrong, float(special.expit(-eps)))
        inside = float(special.logsumexp(terms)) + _SUMMING
        beyond = float(log_at_least(last + 1, trials, revealed)) if last < trials else -math.inf
        if last == most or beyond < inside - 40:
            return min(0.0, float(np.logaddexp(inside, beyond)))
        last = min(most, 2 * last)
