"""Several levels of confidence: right guesses are weighted by integers fixed in advance.

Given the levels, a guess that was not revealed is right with probability at most r whatever its level, and
a revealed trial is worth at most the largest weight. So S = sum_l weight_l v_l is stochastically below
W Bin(n, d) + sum_l weight_l Bin(m_l, r) with W = max weight. Random m_l do no harm: for any tail F of this
kind, moving a revealed trial from "on top" into level l leaves
    r P(R >= s) + (1 - r) P(R >= s + weight_l)  >=  r P(R >= s) + (1 - r) P(R >= s + W),
and the right side is at least the tail of the ideal experiment in which its own level were known.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy
from scipy import special

from dpverify.base import require
from dpverify.errors import ParameterError
from dpverify.evidence.bounds import binomial_tails
from dpverify.evidence.bounds.binomial import binomial_tail, log_binomial_tail
from dpverify.evidence.bounds.binomial_tails import log10_of, log10_up, log_at_least, log_at_most, log_pmf, SMALLEST
from dpverify.evidence.bounds.protocol import check_hypothesis, check_level, slack
from dpverify.evidence.bounds.rejection_region import FloatArray
from dpverify.evidence.tally import IntArray, Tally

# ----------------------------------------------------------------------------------------------------------------------
# delta > 0 when n d is small: every revealed trial is counted as a right guess that came for free.
#
# The p-value is Pr[Bin(n, d) + Bin(m, r) >= v]: over-charged by about r n d guesses, hence for n d < 0.5.
#
# A fixed rule under H0(eps, delta) behaves as if each trial were revealed with probability at most d and
# were otherwise guessed right with probability at most r given the guess (Kairouz, Oh, Viswanath 2015).
# The tail below is then conservative although m is random: putting a revealed trial among the guesses
# instead of on top of them never lowers it.


_WHAT_IS_LEFT_OUT = 1e-15  # the short sum's remainder is far below, and would decide p-values of its own size
_SUMMING = 1e-9  # more than the rounding of a sum of a million terms


def revealed_tail(right: int, wrong: int, eps: float, trials: int, revealed: float) -> float:
    """Pr[Bin(trials, revealed) + Bin(right + wrong, r) >= right]; what the sum leaves out is added back."""
    if right == 0:
        return 1.0
    if revealed == 0:
        return binomial_tail(right, wrong, eps)
    mean = trials * revealed
    last = min(trials, right - 1, math.ceil(mean + 10 * math.sqrt(mean) + 12))
    count = np.arange(last + 1)
    pmf = scipy.stats.binom.pmf(count, trials, revealed)
    tail = special.betaincc(wrong + 1 + count, right - count, special.expit(-eps))
    beyond = special.betainc(last + 1, trials - last, revealed) if last < trials else 0.0
    found = float(pmf @ tail + beyond)
    if found < _WHAT_IS_LEFT_OUT:
        found = max(math.exp(log_revealed_tail(right, wrong, eps, trials, revealed)), SMALLEST)
    return min(1.0, found)


def log_revealed_tail(right: int, wrong: int, eps: float, trials: int, revealed: float) -> float:
    """Natural logarithm of `revealed_tail`, from above; sums until what is left out is e^-40 of the sum."""
    if right == 0:
        return 0.0
    if revealed == 0:
        return log_binomial_tail(right, wrong, eps)
    mean, most = trials * revealed, min(trials, right - 1)
    last = min(most, math.ceil(mean + 10 * math.sqrt(mean) + 12))
    while True:
        count = np.arange(last + 1)
        terms = log_pmf(count, trials, revealed)
        terms = terms + log_at_most(wrong + count, right + wrong, float(special.expit(-eps)))
        inside = float(special.logsumexp(terms)) + _SUMMING
        beyond = float(log_at_least(last + 1, trials, revealed)) if last < trials else -math.inf
        if last == most or beyond < inside - 40:
            return min(0.0, float(np.logaddexp(inside, beyond)))
        last = min(most, 2 * last)


# ----------------------------------------------------------------------------------------------------------------------


_TAIL = 1e-14  # mass left out on either side of every binomial
_ROUNDING = 1e-11  # more than the rounding of the fast convolutions; no p-value is smaller


@dataclass(frozen=True)
class WeightedTest:
    """p(eps) = Pr[W Bin(n, d) + sum_l weights[l] Bin(m_l, r) >= sum_l weights[l] v_l].

    `weights` has one whole number >= 0 for each level, not all 0; weight 0 makes a level abstain. Equal
    weights are the tail of the convolution below, exactly. With d > 0 use it for n d < 0.5 only: a revealed trial is
    charged W. Near-optimal weights against eps0 are (|log dP/dQ| - eps0)^+, capped.
    Raises ParameterError for other weights, or a tally with another number of levels.
    """

    weights: tuple[int, ...]
    name: ClassVar[str] = "weighted"

    def __post_init__(self) -> None:
        for weight in self.weights:
            require.integer(at_least=0, weights=weight)
        if not any(self.weights):
            raise ParameterError("weights", self.weights, "whole numbers >= 0, not all 0")

    @property
    def working(self) -> dict[str, Any]:
        return {"weights": self.weights}

    def p_value(self, tally: Tally, *, eps: float, delta: float) -> float:
        check_hypothesis(eps, delta)
        right, wrong, weights = self._merged(tally)
        if weights.size == 1:
            return revealed_tail(int(right[0]), int(wrong[0]), eps, tally.trials, slack(tally, delta))
        score = int(weights @ right)
        if score == 0:
            return 1.0
        parts = [_Part.of(int(weights.max()), tally.trials, slack(tally, delta))]
        parts += [
            _Part.of(int(weight), int(m), float(special.expit(eps)))
            for weight, m in zip(weights, right + wrong, strict=True)
        ]
        return _tail(parts, score)

    def log10_p_value(self, tally: Tally, *, eps: float, delta: float) -> float:
        check_hypothesis(eps, delta)
        right, wrong, weights = self._merged(tally)
        if weights.size == 1:
            log = log_revealed_tail(int(right[0]), int(wrong[0]), eps, tally.trials, slack(tally, delta))
            return log10_up(log)
        return log10_of(self.p_value(tally, eps=eps, delta=delta))

    def _merged(self, tally: Tally) -> tuple[IntArray, IntArray, IntArray]:
        """Right, wrong and weight of the levels that count; levels of one weight are one: binomials with one r."""
        if tally.right.size != len(self.weights):
            raise ParameterError("weights", self.weights, f"one for each of the {tally.right.size} levels")
        weights, level = np.unique(np.array(self.weights), return_inverse=True)
        right = np.bincount(level, weights=tally.right).astype(np.int64)
        wrong = np.bincount(level, weights=tally.wrong).astype(np.int64)
        return right[weights > 0], wrong[weights > 0], weights[weights > 0]

    def eps_lower(self, tally: Tally, *, delta: float, significance: float) -> float:
        check_level(delta, significance)
        return binomial_tails.largest_refuted(
            lambda eps: self.p_value(tally, eps=eps, delta=delta),
            significance,
            start=max(self.approximate(tally, delta=delta, significance=significance), 1e-3),
            tolerance=1e-9,
        )

    def approximate(self, tally: Tally, *, delta: float, significance: float) -> float:
        """About eps_lower, at once: with weight moments A = sum l m_l, B = sum l^2 m_l, the r that solves
        A r + z sqrt(B r (1 - r)) = S - W n d. A plan and a starting point, no bound.
        """
        weights = np.array(self.weights)
        guesses = tally.right + tally.wrong
        mean, spread = float(weights @ guesses), float(weights**2 @ guesses)
        if mean == 0:
            return 0.0
        share = (float(weights @ tally.right) - float(weights.max()) * tally.trials * slack(tally, delta)) / mean
        square = float(special.ndtri(1 - significance)) ** 2 * spread / mean**2
        root = np.sqrt(square * square / 4 + square * share * (1 - share)) if 0 <= share <= 1 else square / 2
        r = (share + square / 2 - root) / (1 + square)
        return float(special.logit(r)) if 0.5 < r < 1 else 0.0


@dataclass(frozen=True, eq=False)
class _Part:
    """Law of weight * Bin(count, p) on the lattice: pmf of start, start + 1, ...; `lost` mass is left out."""

    start: int
    pmf: FloatArray
    lost: float

    @classmethod
    def of(cls, weight: int, count: int, p: float) -> "_Part":
        binom = scipy.stats.binom
        low, high = int(binom.ppf(_TAIL, count, p)), int(binom.isf(_TAIL, count, p))
        low = max(low, 0)
        k = np.arange(low, high + 1)
        pmf = np.zeros(weight * (high - low) + 1)
        pmf[::weight] = binom.pmf(k, count, p)
        return cls(weight * low, pmf, float(binom.cdf(low - 1, count, p) + binom.sf(high, count, p)))


def _tail(parts: list[_Part], score: int) -> float:
    """Pr[sum of the parts >= score], lost mass and rounding added."""
    law = np.ones(1)
    for part in sorted(parts, key=lambda each: each.pmf.size):
        law = np.maximum(scipy.signal.convolve(law, part.pmf), 0.0)
    offset = score - sum(part.start for part in parts)
    inside = float(law[max(offset, 0) :].sum())
    return min(1.0, inside + sum(part.lost for part in parts) + _ROUNDING)
