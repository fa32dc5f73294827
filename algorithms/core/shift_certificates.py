"""Lower bounds on privacy parameters from shifts that are known and noise whose law is stated.

binomial_eps   cells move by 1 under independent Bin(N, p): the privacy loss is a sum of independent losses
log Pr[q]/Pr[q +- 1], so delta(eps) = E[(1 - e^(eps - L))^+] is a number. Every loss is rounded down
to a grid and far losses are left out: what is computed is at most delta(eps), so eps is a lower bound
gaussian_eps   a run of Gaussian noise with |shift/sigma|_2 = mu: eps at delta (Balle, Wang 2018, Theorem 8)
mean_lower     KL(P || Q) = E[sum shift^2/(2 sigma^2)] for Gaussian noise whose shifts depend on what was released
(chain rule), and rho-zCDP asks KL <= rho. The mean of k transcripts, each in [0, most], less an
empirical Bernstein margin (Maurer, Pontil 2009, Theorem 4), is a lower bound at 1 - significance
"""

import math

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.base import require
from dpverify.claims.profiles import gaussian_delta

Array = npt.NDArray[np.float64]

POINTS = 2**19  # of the grid
DEVIATIONS = 8.0  # losses of a cell beyond so many are left out
ROUNDING = 1e-9  # of delta: far above what transforms of so many points lose
MASS_ERROR = 1e-8  # relative: logarithms of factorials of 1e6 are known to some 1e-9


def binomial_eps(trials: int, probability: float, moved: tuple[int, int], delta: float) -> float:
    """Lower bound on eps at `delta`; `moved` cells have one more, respectively one less, in the first world."""
    require.integer(at_least=1, trials=trials)
    require.open_unit(probability=probability, delta=delta)
    centre, deviation = trials * probability, math.sqrt(trials * probability * (1 - probability))
    low, high = max(0, math.floor(centre - DEVIATIONS * deviation)), math.ceil(centre + DEVIATIONS * deviation)
    q = np.arange(low, min(trials, high) + 1, dtype=np.float64)
    masses = np.exp(
        special.gammaln(trials + 1)
        - special.gammaln(q + 1)
        - special.gammaln(trials - q + 1)
        + special.xlogy(q, probability)
        + special.xlog1py(trials - q, -probability)
    )
    odds = math.log(probability) - math.log1p(-probability)
    with np.errstate(divide="ignore"):
        losses = (np.log((q + 1) / (trials - q)) - odds, np.log((trials - q + 1) / q) + odds)
    kept = [np.isfinite(each) for each in losses]
    reach = sum(count * float(np.abs(each[ok]).max()) for count, each, ok in zip(moved, losses, kept, strict=True))
    step = 2 * reach / (POINTS - 4 * sum(moved) - 2)  # sums never leave the circle
    spectrum = np.ones(POINTS // 2 + 1, dtype=np.complex128)
    for count, each, ok in zip(moved, losses, kept, strict=True):
        places = np.floor(each[ok] / step).astype(np.int64) % POINTS
        law = np.bincount(places, weights=masses[ok] * (1 - MASS_ERROR), minlength=POINTS)
        spectrum *= np.fft.rfft(law) ** count
    loss = step * np.arange(-(POINTS // 2), POINTS // 2)
    law = np.maximum(np.fft.fftshift(np.fft.irfft(spectrum, POINTS)), 0.0)

    def least(eps: float) -> float:
        start = int(np.searchsorted(loss, eps, side="right"))
        return float(law[start:] @ -np.expm1(eps - loss[start:])) - ROUNDING

    reached, missed = 0.0, reach
    if least(reached) <= delta:
        return 0.0
    while missed - reached > 1e-6:
        middle = (reached + missed) / 2
        reached, missed = (middle, missed) if least(middle) > delta else (reached, middle)
    return reached


def gaussian_eps(mu: float, delta: float) -> float:
    """Lower bound on eps at `delta` of N(mu, 1) against N(0, 1); 0 where delta is reached at once."""
    require.open_unit(delta=delta)
    reached, missed = 0.0, mu**2 / 2 + 40 * mu  # far beyond which the loss of N(mu, 1) is not
    if gaussian_delta(mu, reached) <= delta * (1 + ROUNDING):
        return 0.0
    while missed - reached > 1e-9 * missed:
        middle = (reached + missed) / 2
        reached, missed = (middle, missed) if gaussian_delta(mu, middle) > delta * (1 + ROUNDING) else (reached, middle)
    return reached


def mean_lower(values: Array, most: float, significance: float) -> float:
    """Lower bound on the mean of independent values in [0, `most`], valid at 1 - significance."""
    require.open_unit(significance=significance)
    n, log = len(values), math.log(2 / significance)
    margin = math.sqrt(2 * float(values.var(ddof=1)) * log / n) + 7 * most * log / (3 * (n - 1))
    return float(values.mean()) - margin
