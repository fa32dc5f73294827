"""What an event would certify, predicted from expected counts: the objective of `cuts.choose_event`.

Plans, not bounds: vectorised over candidates, with real-valued counts. The certificate itself is computed by
`bounds` from the certifying trials.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import special

from dpverify.claims.claim import Claim, WholeProfile
from dpverify.evidence.attack import Side
from dpverify.evidence.bounds.two_step import RATE_SHARE
from dpverify.evidence.scores.score import FloatArray
from dpverify.evidence.selection.calibration import bounded_by, CapPrior, UNBOUNDED

# Three-point rule for a standard normal variable: exact for polynomials up to the fifth degree.
NORMAL = ((-np.sqrt(3.0), 1 / 6), (0.0, 2 / 3), (np.sqrt(3.0), 1 / 6))
Number = Callable[[FloatArray, FloatArray], FloatArray]
Bound = Callable[[FloatArray, FloatArray, int, Side, FloatArray | float], FloatArray]


@dataclass(frozen=True)
class Objective:
    """What an event is chosen for.

    bound         about what is certified from arrays of right and wrong guesses, trials, a side and a significance
    significance  of the whole certificate
    sides         rules worth trying, the default first
    prior         of the caps of a learned score's calibration
    pure          delta = 0: the event is the one with the largest mean share of what the best event of each curve would
                  certify, and others may have a part of the significance; otherwise the largest mean bound decides
    """

    bound: Bound
    significance: float
    sides: tuple[Side, ...]
    prior: CapPrior
    pure: bool = False

    def mean_bound(
        self, right: FloatArray, wrong: FloatArray, trials: int, side: Side, *, share: float | FloatArray = 1.0
    ) -> FloatArray:
        """Mean bound with a share of the significance, over the binomial noise of these expected counts."""
        spread = np.sqrt(right * wrong / np.maximum(right + wrong, 1e-9))
        mean = np.zeros_like(right)
        for z, weight in NORMAL:
            more = np.clip(z * spread, -right, wrong)
            mean += weight * self.bound(right + more, wrong - more, trials, side, share * self.significance)
        return mean

    def weighted_bound(self, weights: FloatArray, right: FloatArray, guesses: FloatArray) -> FloatArray:
        """About the mean bound of a weighted test, (curves,): `right` (curves, levels), `weights`, `guesses` (levels,).

        With A = sum l m_l, B = sum l^2 m_l: the r that solves A r + z sqrt(B r (1 - r)) = S (`bounds.weighted`).
        """
        mean = float(weights @ guesses)
        square = float(special.ndtri(1 - self.significance)) ** 2 * float(weights**2 @ guesses) / mean**2
        spread = np.sqrt(right * (guesses - right) / guesses @ weights**2) / mean
        total = np.zeros(len(right))
        for z, weight in NORMAL:
            share = np.clip(right @ weights / mean + z * spread, 0.0, 1.0)
            r = (share + square / 2 - np.sqrt(square**2 / 4 + square * share * (1 - share))) / (1 + square)
            total += weight * special.logit(np.clip(r, 0.5, 1 - 1e-12))
        return total

    def worth(self, bounds: FloatArray, weights: FloatArray) -> FloatArray:
        """Worth of each event from bounds of shape (curves, events), larger is better.

        Pure: mean share of the best event's bound, over the curves under which an event certifies something.
        """
        best = bounds.max(axis=1)
        if not (self.pure and (best > 0).any()):
            return np.asarray(weights @ bounds)
        some = best > 0
        return np.asarray(weights[some] @ (bounds[some] / best[some, None]) / weights[some].sum())


def objective_for(claim: Claim, significance: float, *, coordinates: int = 1) -> Objective:
    """What an event is chosen for: eps at the claim's delta, or rho, mu or a factor for claims about a whole profile.

    A pure claim is violated by a bounded ratio that is too large, as a rule, unless an output has several
    coordinates over which it may be spread. There the event is the one that loses least in comparison with the
    best of every possible curve, which guards against hoping for a tail.
    """
    if isinstance(claim, WholeProfile):
        whole = partial(_profile_bound, number=claim.number_at)
        return Objective(whole, significance, (Side.BOTH, Side.ALWAYS), UNBOUNDED)
    bound = partial(_eps_bound, delta=claim.delta)
    if claim.delta > 0:
        return Objective(bound, significance, (Side.BOTH, Side.FIRST, Side.SECOND), UNBOUNDED)
    prior = bounded_by(claim.eps) if coordinates == 1 else UNBOUNDED
    return Objective(bound, significance, (Side.BOTH,), prior, pure=True)


def _eps_bound(
    right: FloatArray, wrong: FloatArray, trials: int, side: Side, significance: FloatArray | float, *, delta: float
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


def _profile_bound(
    right: FloatArray, wrong: FloatArray, trials: int, side: Side, significance: FloatArray | float, *, number: Number
) -> FloatArray:
    """The claimed number at the corner (lower limit of c, upper limit of w) of a Clopper-Pearson rectangle."""
    level = significance if side is Side.ALWAYS else significance / 2
    c = special.betaincinv(np.maximum(right, 1e-9), trials - right + 1, level)
    w = 1 - c if side is Side.ALWAYS else _upper(wrong, trials - wrong, level)
    usable = (c > w) & (w < 1)
    return np.where(usable, number(np.where(usable, c, 0.6), np.where(usable, w, 0.4)), 0.0)


def _upper(hits: FloatArray, misses: FloatArray, level: FloatArray | float) -> FloatArray:
    return np.asarray(special.betaincinv(hits + 1, np.maximum(misses, 1e-9), 1 - level), dtype=float)
