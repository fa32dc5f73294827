"""What a sequential run could have seen, and when to give up: plans by normal approximation, no bounds.

A guess made in a fraction f of the trials is right with probability theta; the growth-optimal stake against
H0(eps, delta) multiplies the wealth by a = 1 + lambda - s, b = 1 - lambda rho - s or 1 - s (see `sequential`).
After n trials the log wealth has mean n g and variance n v with g, v the mean and variance of the log factor.
"""

import math

import numpy as np
from scipy import special

from dpverify.evidence.bounds import clopper_pearson
from dpverify.evidence.tally import Tally

REGRET = math.log(2.0) + 1.5  # half of the capital follows predictions, and predictions have to be learned
SURE = 1e-3  # futility: probability with which a level's accuracy may be underestimated
LARGEST_EPS = 500.0


def growth(right: float, guess_fraction: float, eps: float, slack: float) -> tuple[float, float]:
    """Mean and variance of the log factor a trial, with the growth-optimal stake; (0, 0) where none pays."""
    rho = math.exp(eps)
    wrong = 1 - right
    # maximise f (right log(1 + l (1 - d)) + wrong log(1 - l (rho + d))) + (1 - f) log(1 - l d) on a grid
    stake = np.linspace(0.0, 0.95, 400) / (rho + slack)
    logs = np.log1p(stake * (1 - slack)), np.log1p(-stake * (rho + slack)), np.log1p(-stake * slack)
    law = guess_fraction * right, guess_fraction * wrong, 1 - guess_fraction
    mean = law[0] * logs[0] + law[1] * logs[1] + law[2] * logs[2]
    best = int(np.argmax(mean))
    second = sum(p * log[best] ** 2 for p, log in zip(law, logs, strict=True))
    return float(mean[best]), float(second - mean[best] ** 2)


def detectable_eps(
    *, trials: int, guess_fraction: float, claim_eps: float, delta: float, significance: float, power: float
) -> float:
    """Smallest true eps refuted at `claim_eps` within `trials` with about the given power; inf when none is.

    Model as in `evidence.power`: the bound is attained on the guessed mass.
    """
    if not guess_fraction > 0:
        return math.inf
    margin = float(special.ndtri(power))

    def caught(eps: float) -> bool:
        mean, variance = growth(_accuracy(eps, guess_fraction, delta), guess_fraction, claim_eps, delta)
        return trials * mean - margin * math.sqrt(trials * variance) >= REGRET - math.log(significance)

    low, high = claim_eps, 2 * claim_eps + 0.1
    while not caught(high):
        if high >= LARGEST_EPS:
            return math.inf
        low, high = high, 2 * high
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if caught(middle) else (middle, high)
    return high


def expected_trials(
    *, true_eps: float, guess_fraction: float, claim_eps: float, delta: float, significance: float
) -> float:
    """About the mean number of trials until a true eps is refuted at `claim_eps` (Wald); inf when never."""
    mean, _ = growth(_accuracy(true_eps, guess_fraction, delta), guess_fraction, claim_eps, delta)
    return (REGRET - math.log(significance)) / mean if mean > 0 else math.inf


def _accuracy(eps: float, guess_fraction: float, delta: float) -> float:
    """Pr[a guess is right] where the bound of (eps, delta)-DP is attained on the guessed mass."""
    kappa = min(1.0, delta / guess_fraction)
    return float(special.expit(eps)) * (1 - kappa) + kappa


def futile(tally: Tally, log_wealth: float, left: int, claim_eps: float, delta: float, significance: float) -> bool:
    """True when `left` more trials are most unlikely to refute, however many levels are played.

    Each prefix of levels is given the upper Clopper-Pearson limit of its accuracy at SURE, and two standard
    deviations of luck. Stopping on this costs power only: a test may stop for any reason.
    """
    needed = -math.log(significance) - max(log_wealth, 0.0)
    right, wrong = np.cumsum(tally.right), np.cumsum(tally.wrong)
    for v, w in zip(right.tolist(), wrong.tolist(), strict=True):
        if v + w == 0:
            return False
        mean, variance = growth(1 - clopper_pearson.lower(w, v + w, SURE), (v + w) / tally.trials, claim_eps, delta)
        if left * mean + 2 * math.sqrt(left * variance) >= needed:
            return False
    return True
