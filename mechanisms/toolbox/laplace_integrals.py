"""Vocabulary of the single releases: laws that are one integral over a Laplace variable, in logarithms.

Report-noisy-max and the sparse vector have output probabilities of the form
    integral of (product of Laplace densities and distribution functions, shifted by data) dx.
Between the shifts the integrand is analytic; beyond them it decays at least like exp(-|x|/scale). So:
Gauss-Legendre panels between the shifts, cut off `reach` beyond them, summed in logarithms, so that tiny
probabilities keep their relative accuracy. Tests hold the relative error below 1e-10.
"""

import itertools
import math

import numpy as np

from dpverify.errors import ParameterError
from mechanisms.toolbox.query_values import FloatArray

_ORDER = 16  # nodes a panel; with panels at most one scale long the rule's error is below 1e-13
_MOST_NODES = 200_000


def panels(breaks: FloatArray, *, reach: float, longest: float) -> tuple[FloatArray, FloatArray]:
    """Nodes and log weights for [min(breaks) - reach, max(breaks) + reach], no panel crossing a break.

    ParameterError when the breaks lie so far apart that more than 200,000 nodes are needed.
    """
    inner = np.unique(breaks)
    edges = np.concatenate([[inner[0] - reach], inner, [inner[-1] + reach]])
    if (edges[-1] - edges[0]) / longest * _ORDER > _MOST_NODES:
        raise ParameterError("data", breaks, "values within a few thousand noise scales of each other")
    parts = [np.linspace(a, b, math.ceil((b - a) / longest) + 1)[:-1] for a, b in itertools.pairwise(edges)]
    starts = np.append(np.concatenate(parts), edges[-1])
    abscissae, weights = np.polynomial.legendre.leggauss(_ORDER)
    half = np.diff(starts)[:, None] / 2
    nodes = starts[:-1, None] + half * (abscissae + 1)
    return nodes.ravel(), np.log(half * weights).ravel()


def log_density(x: FloatArray) -> FloatArray:
    """log of exp(-|x|)/2."""
    return -np.abs(x) - math.log(2)


def log_below(x: FloatArray) -> FloatArray:
    """log Pr[Z <= x] for Z of density exp(-|z|)/2."""
    return np.where(x < 0, x - math.log(2), np.log1p(-np.exp(-np.abs(x)) / 2))
