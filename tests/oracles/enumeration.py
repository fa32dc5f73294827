"""Exact levels of tests: every outcome of n trials, its probability under many laws, and the worst Pr[p <= a]/a.

A law is a vector of rates (right, wrong) for each level of confidence; the rest of the trials abstains.
"""

import math
from itertools import combinations

import numpy as np
from scipy import special, stats

from dpverify.evidence.tally import Tally


def outcomes(trials, levels=1, *, abstains=True):
    """All counts (right_1, wrong_1, right_2, ...) of `trials` trials, shape (outcomes, 2 levels)."""
    cells = 2 * levels + abstains
    bars = np.array(list(combinations(range(trials + cells - 1), cells - 1)), dtype=np.int64)
    edges = np.hstack([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), trials + cells - 1)])
    return np.diff(edges, axis=1)[:, : 2 * levels] - 1


def tally(counts, trials, *, one_sided=False):
    return Tally(trials, counts[0::2], counts[1::2], one_sided)


def probabilities(counts, trials, rates):
    """Multinomial law of all outcomes, shape (laws, outcomes)."""
    rates = np.atleast_2d(rates)
    rest = np.maximum(1 - rates.sum(axis=1, keepdims=True), 0.0)
    rates = np.hstack([rates, np.where(rest < 1e-15, 0.0, rest)])
    every = np.hstack([counts, trials - counts.sum(axis=1, keepdims=True)])
    ways = special.gammaln(trials + 1) - special.gammaln(every + 1).sum(axis=1)
    return np.exp(ways + special.xlogy(every[None], rates[:, None]).sum(axis=2))


def worst_ratio(p_values, law):
    """max Pr[p <= a]/a over all attained a and all laws; a test keeps its level where this is at most 1."""
    order = np.argsort(p_values, kind="stable")
    a = p_values[order]
    last = np.append(np.diff(a) > 0, True)  # equal p-values fall together
    reached = np.cumsum(law[:, order], axis=1)[:, last]
    return float((reached / a[last]).max())


def response_laws(eps, delta, *, one_sided=False, points=40):
    """Rates (right, wrong) of rules on the pair "reveal with probability delta, else eps-randomised response".

    On the boundary of H0(eps, delta), where an error is most likely, for many shares of guesses; some inside.
    """
    rho = math.exp(eps)
    if one_sided:
        q = np.linspace(0.0, 1.0, points)
        p = np.minimum(np.minimum(rho * q + delta, 1 - (1 - q - delta) / rho), 1.0)
        edge = np.column_stack([p, q]) / 2
    else:
        top = (1 - delta) / (1 + rho)
        w = np.append(top * np.geomspace(1e-3, 1, points - 1), 0.0)
        edge = np.column_stack([np.minimum(rho * w + delta, 1 - w), w])
    return np.vstack([edge, edge[::7] * [0.9, 1.0]])


def claim_laws(claim, *, one_sided=False, points=40):
    """Rates on the claim's own trade-off curve; for one-sided rules on the whole curve, P(E) against Q(E)."""
    top = fixed_point(claim)
    w = top * np.append(np.geomspace(1e-3, 1, points // 2), np.linspace(0.05, 0.999, points // 2))
    c = np.minimum([claim.accuracy_limit(float(each)) for each in w], 1 - w)
    if one_sided:  # the curve is its own mirror image
        return np.vstack([np.column_stack([c, w]), np.column_stack([1 - w, 1 - c])]) / 2
    edge = np.column_stack([c, w])
    return np.vstack([edge, edge[::7] * [0.9, 1.0]])


def fixed_point(claim):
    """The w with g(w) = 1 - w, from below: how often a rule that never abstains is wrong at least."""
    low, high = 0.0, 0.5
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if claim.accuracy_limit(middle) < 1 - middle else (low, middle)
    return high


def two_levels(eps, delta, points=6):
    """Rates of two levels on the boundary of H0(eps, delta); the slack is spent on either level or on both."""
    rho, found = math.exp(eps), []
    for first in np.linspace(0.02, 0.98, points):
        for share in (0.0, 0.5, 1.0):
            for guessed in (1.0, 0.6, 0.2):
                w = (guessed - delta) / (1 + rho) * np.array([first, 1 - first])
                c = rho * w + delta * np.array([share, 1 - share])
                if guessed > delta:
                    found.append([c[0], w[0], c[1], w[1]])
    return np.array(found)


def least_right(p_value, trials, a, *, one_sided=False):
    """Smallest number of right guesses with p <= a for each number of wrong ones, for a p that falls with them."""
    found = []
    for wrong in range(trials + 1):
        low, high = -1, trials - wrong + 1
        while high - low > 1:
            middle = (low + high) // 2
            inside = p_value(Tally.of(middle, wrong, trials, one_sided=one_sided)) <= a
            low, high = (low, middle) if inside else (middle, high)
        found.append(high)
    return np.array(found)


def probability_of(start, trials, right, wrong):
    """Pr[v >= start[j]] with j wrong guesses, by the trinomial law."""
    j = np.arange(trials + 1)
    return float(
        (stats.binom.pmf(j, trials, wrong) * stats.binom.sf(start - 1, trials - j, min(1.0, right / (1 - wrong)))).sum()
    )
