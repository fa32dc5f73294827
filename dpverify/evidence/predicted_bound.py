"""What an event would certify, predicted from expected counts: the objective of `selection.choose_event`.

Plans, not bounds: vectorised over candidates, with real-valued counts. The certificate itself is computed by
`bounds` from the certifying trials.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.claims.claim import Claim, WholeProfile
from dpverify.evidence.attack import Side
from dpverify.evidence.bounds.two_step import RATE_SHARE
from dpverify.evidence.scores.score import FloatArray

# ----------------------------------------------------------------------------------------------------------------------
# How often is a guess right, given how confident the score is?
#
# Model: logit Pr[right | a] = beta s_kappa min(a, kappa) with a = |score| and s_kappa such that min(a, kappa) has
# the mean square of a. beta = 1, kappa = inf is a score that is an exact log-likelihood ratio; beta < 1 an
# over-confident one; a finite kappa one whose tail says nothing more, at equal information in all: the lowest cap
# is a score of which only the sign is to be believed.
# The posterior over (beta, kappa) is averaged instead of maximised: events are rare in the tail, where the best
# threshold often lies, and a threshold chosen by the luckiest tail certifies little. Curves are weighed by their
# likelihood at the best beta: integrating beta out as well would favour low caps, whose beta hardly matters
# (measured, Gaussian (1, 1e-5), n = 1e4, learned: mean bound .42 against .36).


CAPS = (0.8, 0.6, 0.4, 0.25, 0.15, 0.1, 0.06, 0.04, 0.025, 0.015, 0.01, 0.006, 0.004, 0.002, 0.001)
SLOPE, SLOPE_VARIANCE = 0.9, 0.09  # prior of beta: a learned score is close to calibrated, and rather too decided
SPREAD = ((-1.2, 0.25), (0.0, 0.5), (1.2, 0.25))  # three-point rule for beta in its standard errors
GROUPS = 2048
NEGLIGIBLE = 1e-3


@dataclass(frozen=True)
class CapPrior:
    """Prior odds against each single cap: of no cap, and of one beyond which the share `decided` of all guesses lies.

    decided = 1: only the sign counts, and nowhere is it undecided.
    """

    uncapped: float
    flat: float
    decided: float = 1.0


# Tuned on scalar subjects at 1e3 and 1e4 trials, seeds from 1000. The noise behind a claim with delta > 0 has an
# unbounded ratio: Gaussian (1, 1e-5) at n = 1e4 reaches .91 of the exact score's bound with UNBOUNDED, .85 with
# flat = 20.
UNBOUNDED = CapPrior(uncapped=30.0, flat=0.01)
KNOWN = CapPrior(uncapped=1000.0, flat=1.0)  # of a score that is said to be the exact log-likelihood ratio
FLAT = 4.0  # report noisy max 3 certifies .076, .072, .062 with 1, 4, 10; Laplace(1) at n = 1e3 .818, .827, .828


def bounded_by(eps: float) -> CapPrior:
    """A claim with delta = 0 says that the ratio is bounded; a violation is typically a bound that is too large.

    The ratio of additive noise is then flat but for a stretch as wide as the shift, a share 1 - exp(-eps/2) of the
    outputs of the Laplace mechanism. A guess there is worth nothing and costs as much as any other (Laplace(0.1),
    n = 1e5: guessing everywhere certifies 0.084, abstaining there 0.086).
    """
    return CapPrior(uncapped=1.0, flat=FLAT, decided=float(np.exp(-eps / 2)))


@dataclass(frozen=True, eq=False)
class Calibration:
    """Weighted curves a -> Pr[right | a]: slopes, caps and weights of shape (curves,), weights sum to 1."""

    slopes: FloatArray
    caps: FloatArray
    weights: FloatArray

    def right(self, confidence: FloatArray) -> FloatArray:
        """Pr[right | a] under every curve, shape (curves, len(confidence))."""
        return special.expit(self.slopes[:, None] * np.minimum(confidence, self.caps[:, None]))


def calibrate(confidence: FloatArray, correct: npt.NDArray[np.bool_], prior: CapPrior) -> Calibration:
    """Posterior curves from guesses with their confidence a >= 0 and whether they were right."""
    level, size, hits = _grouped(confidence, correct.astype(float))
    if len(level) == 0:
        return Calibration(np.zeros(1), np.zeros(1), np.ones(1))
    tails = np.cumsum(size[::-1])[::-1] / size.sum()  # share of guesses at least this confident
    levels = [float(level[np.searchsorted(-tails, -share, side="right") - 1]) for share in (prior.decided, *CAPS)]
    caps = np.unique([np.inf, level[0], *levels])
    slopes, caps_out, log_weights = [], [], []
    for cap in caps:
        x = np.minimum(level, cap)
        scale = np.sqrt((size @ level**2) / max(size @ x**2, 1e-300))
        odds = prior.uncapped if np.isinf(cap) else prior.flat if cap == levels[0] else 1.0
        beta, spread, fit = _slope(scale * x, size, hits)
        for step, weight in SPREAD:
            slopes.append(scale * (beta + step * spread))
            caps_out.append(cap)
            log_weights.append(fit + np.log(weight * odds))
    weights = special.softmax(np.array(log_weights))
    kept = weights > NEGLIGIBLE
    return Calibration(np.array(slopes)[kept], np.array(caps_out)[kept], weights[kept] / weights[kept].sum())


def _slope(x: FloatArray, size: FloatArray, hits: FloatArray) -> tuple[float, float, float]:
    """Ridge estimate of beta by Newton's method, its standard error, and its log posterior density."""
    beta = SLOPE
    for _ in range(30):
        p = special.expit(beta * x)
        gradient = ((hits - size * p) * x).sum() - (beta - SLOPE) / SLOPE_VARIANCE
        curvature = (size * p * (1 - p) * x * x).sum() + 1 / SLOPE_VARIANCE
        step = gradient / curvature
        beta += float(np.clip(step, -1.0, 1.0))  # damped: the curve is flat where everything is right
        if abs(step) < 1e-9:
            break
    z = beta * x
    fit = (hits * special.log_expit(z) + (size - hits) * special.log_expit(-z)).sum()
    fit -= (beta - SLOPE) ** 2 / (2 * SLOPE_VARIANCE)
    return beta, float(1 / np.sqrt(curvature)), float(fit)


def _grouped(confidence: FloatArray, hits: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean confidence, size and hits of groups of neighbouring guesses, most extreme groups small."""
    finite = np.where(np.isinf(confidence), np.nanmax(confidence[np.isfinite(confidence)], initial=50.0), confidence)
    order = np.argsort(finite, kind="stable")
    count = len(order)
    if count == 0:
        empty = np.zeros(0)
        return empty, empty, empty
    if count > GROUPS:
        # evenly spaced in rank, but single guesses at the top, where the threshold may lie
        cuts = np.unique(
            np.r_[np.linspace(0, count, GROUPS // 2).astype(int), np.arange(max(0, count - GROUPS // 2), count)]
        )
        starts = cuts[cuts < count]
    else:
        starts = np.arange(count)
    size = np.diff(np.r_[starts, count]).astype(float)
    level = np.add.reduceat(finite[order], starts) / size
    return level, size, np.add.reduceat(hits[order], starts)


# ----------------------------------------------------------------------------------------------------------------------


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
