"""Laws of single choices, by summation and quadrature of their own: responses, selections, the sparse vector.

The last three are eps-DP by theorems whose constants are reached in the limit of far scores and many queries: a
pair far out is enough to come within 1 %.
"""

import math

import numpy as np
from scipy import special

from benchmarks.tightness.laws import LargestRatio, listed, Product
from mechanisms.releases.exponential import Exponential
from mechanisms.releases.noisy_max import NoisyMax
from mechanisms.releases.randomised_response import RandomisedResponse
from mechanisms.releases.sparse_vector import SparseVector

FAR = 400.0  # noise scales
MANY = 1e6  # queries


def response_law(target: RandomisedResponse) -> Product:
    """The truth with probability e^eps/(e^eps + k - 1), each of the others with 1/(e^eps + k - 1)."""
    p = np.ones(target.k)
    p[0] = math.exp(target.eps)
    return listed((p / p.sum(), np.roll(p, 1) / p.sum(), 1))


def exponential_law(target: Exponential) -> LargestRatio:
    """One score, far below ten others, falls by s while they rise by s."""
    moved = _moved(target)
    rate = target.eps / (2 * moved)
    scores = np.array([-FAR / rate, *[0.0] * 10])
    other = scores + moved * np.array([-1.0, *[1.0] * 10])
    laws = [rate * each - special.logsumexp(rate * each) for each in (scores, other)]
    return LargestRatio(float(np.max(np.abs(laws[0] - laws[1]))))


def noisy_max_law(target: NoisyMax) -> LargestRatio:
    """Two candidates at a gap of g, then g + 2s: with noise of scale b, Pr[lower wins] = e^(-g/b) (2 + g/b)/4."""
    moved = _moved(target)
    scale = 2 * moved / target.eps

    def log_win(gap: float) -> float:
        return -gap / scale + math.log((2 + gap / scale) / 4)

    return LargestRatio(log_win(FAR * scale) - log_win(FAR * scale + 2 * moved))


def sparse_vector_law(target: SparseVector) -> LargestRatio:
    """Very many BELOWs at the threshold that rise by s, then all ABOVEs, far below it, that fall by s.

    With a fresh threshold after each ABOVE, that for each of them.
    """
    moved = _moved(target)
    runs, positive = (target.cutoff, 1) if target.fresh else (1, target.cutoff)
    bar, noise = 2 * runs * moved / target.eps, 4 * target.cutoff * moved / target.eps
    grid = np.linspace(-FAR * noise, 2 * FAR * noise, 2_000_001)  # of rho

    def log_event(shift: float) -> float:
        below = np.where(
            grid < shift, (grid - shift) / noise - math.log(2), np.log1p(-np.exp(-np.abs(grid - shift) / noise) / 2)
        )
        above = -(grid + shift + FAR * noise) / noise - math.log(2)  # its noise exceeds rho + FAR + shift > 0
        return float(special.logsumexp(-np.abs(grid) / bar + MANY * below + positive * above))

    return LargestRatio(runs * (log_event(0.0) - log_event(moved)))


def _moved(target: Exponential | NoisyMax | SparseVector) -> float:
    (shift,) = target.sensitivity.under(target.relation)
    return float(shift.size)
