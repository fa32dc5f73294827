"""How often is a guess right, given how confident the score is?

Model: logit Pr[right | a] = beta min(a, kappa) with a = |score|. beta = 1, kappa = inf is a score that is an
exact log-likelihood ratio; beta < 1 an over-confident one; a finite kappa one whose tail says nothing more.
The posterior over (beta, kappa) is averaged instead of maximised: events are rare in the tail, where the best
threshold often lies, and a threshold chosen by the luckiest tail certifies little. Curves are weighed by their
likelihood at the best beta: integrating beta out as well would favour low caps, whose beta hardly matters
(measured, Gaussian (1, 1e-5), n = 1e4, learned: mean bound .42 against .36).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.evidence.scores.score import FloatArray

CAPS = (0.8, 0.6, 0.4, 0.25, 0.15, 0.1, 0.06, 0.04, 0.025, 0.015, 0.01, 0.006, 0.004, 0.002, 0.001)
# Prior odds of no cap, and of confidence that says nothing at all, against each single cap. Measured on
# Gaussian (1, 1e-5), geometric noise and Laplace(0.1) at n = 1e4, 14 runs each: (10, 0), (3, 4), (6, 2) certify
# 0.403, 0.393, 0.388 and 0.908, 0.966, 0.933 and 0.051, 0.054, 0.053.
UNCAPPED, FLAT = 3.0, 4.0
SLOPE_VARIANCE = 4.0  # prior of beta: N(1, 4)
SPREAD = ((-1.2, 0.25), (0.0, 0.5), (1.2, 0.25))  # three-point rule for beta in its standard errors
GROUPS = 2048
NEGLIGIBLE = 1e-3


@dataclass(frozen=True, eq=False)
class Calibration:
    """Weighted curves a -> Pr[right | a]: slopes, caps and weights of shape (curves,), weights sum to 1."""

    slopes: FloatArray
    caps: FloatArray
    weights: FloatArray

    def right(self, confidence: FloatArray) -> FloatArray:
        """Pr[right | a] under every curve, shape (curves, len(confidence))."""
        return special.expit(self.slopes[:, None] * np.minimum(confidence, self.caps[:, None]))


def calibrate(
    confidence: FloatArray, correct: npt.NDArray[np.bool_], *, uncapped: float = UNCAPPED, flat: float = FLAT
) -> Calibration:
    """Posterior curves from guesses with their confidence a >= 0 and whether they were right.

    `uncapped` and `flat` are the prior odds, against each single cap, of no cap and of confidence that says
    nothing at all (the lowest cap).
    """
    level, size, hits = _grouped(confidence, correct.astype(float))
    if len(level) == 0:
        return Calibration(np.zeros(1), np.zeros(1), np.ones(1))
    tails = np.cumsum(size[::-1])[::-1] / size.sum()  # share of guesses at least this confident
    caps = np.unique([np.inf, level[0], *(level[np.searchsorted(-tails, -share, side="right") - 1] for share in CAPS)])
    slopes, caps_out, log_weights = [], [], []
    for cap in caps:
        x = np.minimum(level, cap)
        prior = uncapped if np.isinf(cap) else flat if cap == level[0] else 1.0
        beta, spread, fit = _slope(x, size, hits)
        for step, weight in SPREAD:
            slopes.append(beta + step * spread)
            caps_out.append(cap)
            log_weights.append(fit + np.log(weight * prior))
    weights = special.softmax(np.array(log_weights))
    kept = weights > NEGLIGIBLE
    return Calibration(np.array(slopes)[kept], np.array(caps_out)[kept], weights[kept] / weights[kept].sum())


def _slope(x: FloatArray, size: FloatArray, hits: FloatArray) -> tuple[float, float, float]:
    """Ridge estimate of beta by Newton's method, its standard error, and its log posterior density."""
    beta = 1.0
    for _ in range(30):
        p = special.expit(beta * x)
        gradient = ((hits - size * p) * x).sum() - (beta - 1) / SLOPE_VARIANCE
        curvature = (size * p * (1 - p) * x * x).sum() + 1 / SLOPE_VARIANCE
        step = gradient / curvature
        beta += float(np.clip(step, -1.0, 1.0))  # damped: the curve is flat where everything is right
        if abs(step) < 1e-9:
            break
    z = beta * x
    fit = (hits * special.log_expit(z) + (size - hits) * special.log_expit(-z)).sum()
    fit -= (beta - 1) ** 2 / (2 * SLOPE_VARIANCE)
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
