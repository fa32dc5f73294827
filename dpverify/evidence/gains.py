"""What an event would certify, predicted from expected counts: the objective of `attack.choose`.

Plans, not bounds: vectorised over candidates, with real-valued counts. The certificate itself is computed by
`bounds` from the certifying trials.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import special

from dpverify.claims.claim import Claim, GaussianDP, ZCDP
from dpverify.evidence.attack import Gain
from dpverify.evidence.bounds.threshold import RATE_SHARE
from dpverify.evidence.scores.score import FloatArray

Number = Callable[[FloatArray, FloatArray], FloatArray]


def gain_for(claim: Claim, significance: float) -> Gain:
    """eps at the claim's delta for (eps, delta) claims; rho or mu for claims about a whole profile."""
    if isinstance(claim, GaussianDP):
        return partial(_profile_gain, significance=significance, number=_mu)
    if isinstance(claim, ZCDP):
        return partial(_profile_gain, significance=significance, number=_rho)
    return partial(_eps_gain, delta=claim.delta, significance=significance)


def _eps_gain(
    right: FloatArray, wrong: FloatArray, trials: int, one_sided: bool, *, delta: float, significance: float
) -> FloatArray:
    """log((1 - kappa - u)/u) with u the upper limit of the share of wrong guesses, kappa = d/tau_L."""
    rate_level = RATE_SHARE * significance if delta else 0.0
    rest = _upper(wrong, right, significance - rate_level)
    kappa: FloatArray | float = 0.0
    if delta:
        guesses = right + wrong
        rate = special.betaincinv(guesses, trials - guesses + 1, rate_level)
        kappa = (delta / 2 if one_sided else delta) / np.maximum(rate, 1e-300)
    odds = (1 - kappa - rest) / rest
    return np.log(np.where(odds > 1, odds, 1.0))


def _profile_gain(
    right: FloatArray, wrong: FloatArray, trials: int, one_sided: bool, *, significance: float, number: Number
) -> FloatArray:
    """The claimed number at the corner (lower limit of c, upper limit of w) of a Clopper-Pearson rectangle."""
    c = special.betaincinv(np.maximum(right, 1e-9), trials - right + 1, significance / 2)
    w = _upper(wrong, trials - wrong, significance / 2)
    if one_sided:  # P(E) = 2c, Q(E) = 2w
        c, w = 2 * c, 2 * w
    usable = (c > w) & (w < 1)
    values = number(np.where(usable, c, 0.5), np.where(usable, w, 0.5))
    return np.where(usable, values, 0.0)


def _mu(c: FloatArray, w: FloatArray) -> FloatArray:
    return np.asarray(special.ndtri(c) - special.ndtri(w), dtype=float)


def _rho(c: FloatArray, w: FloatArray) -> FloatArray:
    """(sqrt(-ln w) - sqrt(-ln c))^2: where D_a(Bern(c) || Bern(w)) > rho a for the best order, w small."""
    return (np.sqrt(-np.log(w)) - np.sqrt(-np.log(c))) ** 2


def _upper(hits: FloatArray, misses: FloatArray, level: float) -> FloatArray:
    return np.asarray(special.betaincinv(hits + 1, np.maximum(misses, 1e-9), 1 - level), dtype=float)
