"""What a run could have caught: the smallest violation with a stated power."""

import math

from scipy import special, stats

from dpverify.evidence.bounds.protocol import BoundTest
from dpverify.evidence.tally import Tally

LARGEST = 60.0  # e^60 trials will not be run


def detectable_eps(
    test: BoundTest,
    *,
    trials: int,
    guess_fraction: float,
    claim_eps: float,
    delta: float,
    significance: float,
    power: float = 0.95,
) -> float:
    """Smallest true eps that `test` refutes as `claim_eps` with probability >= `power`; inf when none.

    Model: the rule guesses in a share `guess_fraction` of the trials, and the log-ratio is +-eps on all of
    them, so that each guess is right with probability e^eps/(1 + e^eps).
    """
    guesses = round(guess_fraction * trials)

    def caught(eps: float) -> bool:
        right = int(stats.binom.ppf(1 - power, guesses, special.expit(eps)))
        while right > 0 and stats.binom.sf(right - 1, guesses, special.expit(eps)) < power:
            right -= 1
        tally = Tally.of(right, guesses - right, trials)
        return test.eps_lower(tally, delta=delta, significance=significance) > claim_eps

    if guesses == 0 or not caught(LARGEST):
        return math.inf
    low, high = claim_eps, LARGEST
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if caught(middle) else (middle, high)
    return high
