"""What an event would certify, predicted from expected counts: the objective of `attack.choose`.

Plans, not bounds: vectorised over candidates, with real-valued counts. The certificate itself is computed by
`bounds` from the certifying trials.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import special

from dpverify.claims import profiles
from dpverify.claims.claim import Claim, GaussianDP, ZCDP
from dpverify.evidence.attack import Gain, Side
from dpverify.evidence.bounds.threshold import RATE_SHARE
from dpverify.evidence.scores.score import FloatArray

Number = Callable[[FloatArray, FloatArray], FloatArray]


def is_curve(claim: Claim) -> bool:
    """True for claims about a whole profile that no single (eps, delta) expresses."""
    return isinstance(claim, GaussianDP | ZCDP)


def sides_for(claim: Claim) -> tuple[Side, ...]:
    """Rules worth trying: one-sided ones halve a slack, never abstaining saves a curve test the abstentions."""
    if is_curve(claim):
        return (Side.BOTH, Side.ALWAYS)
    return (Side.BOTH, Side.FIRST, Side.SECOND) if claim.delta > 0 else (Side.BOTH,)


def gain_for(claim: Claim, significance: float) -> Gain:
    """eps at the claim's delta for (eps, delta) claims; rho or mu for claims about a whole profile."""
    if isinstance(claim, GaussianDP):
        return partial(_profile_gain, significance=significance, number=_mu)
    if isinstance(claim, ZCDP):
        return partial(_profile_gain, significance=significance, number=profiles.zcdp_number)
    return partial(_eps_gain, delta=claim.delta, significance=significance)


def _eps_gain(
    right: FloatArray, wrong: FloatArray, trials: int, side: Side, *, delta: float, significance: float
) -> FloatArray:
    """log((1 - kappa - u)/u) with u the upper limit of the share of wrong guesses, kappa = d/tau_L."""
    rate_level = RATE_SHARE * significance if delta else 0.0
    rest = _upper(wrong, right, significance - rate_level)
    kappa: FloatArray | float = 0.0
    if delta:
        guesses = right + wrong
        rate = special.betaincinv(guesses, trials - guesses + 1, rate_level)
        kappa = (delta / 2 if side in (Side.FIRST, Side.SECOND) else delta) / np.maximum(rate, 1e-300)
    odds = (1 - kappa - rest) / rest
    return np.log(np.where(odds > 1, odds, 1.0))


def _profile_gain(
    right: FloatArray, wrong: FloatArray, trials: int, side: Side, *, significance: float, number: Number
) -> FloatArray:
    """The claimed number at the corner (lower limit of c, upper limit of w) of a Clopper-Pearson rectangle."""
    level = significance if side is Side.ALWAYS else significance / 2
    c = special.betaincinv(np.maximum(right, 1e-9), trials - right + 1, level)
    w = 1 - c if side is Side.ALWAYS else _upper(wrong, trials - wrong, level)
    usable = (c > w) & (w < 1)
    return np.where(usable, number(np.where(usable, c, 0.6), np.where(usable, w, 0.4)), 0.0)


def _mu(c: FloatArray, w: FloatArray) -> FloatArray:
    return np.asarray(special.ndtri(c) - special.ndtri(w), dtype=float)


def _upper(hits: FloatArray, misses: FloatArray, level: float) -> FloatArray:
    return np.asarray(special.betaincinv(hits + 1, np.maximum(misses, 1e-9), 1 - level), dtype=float)
