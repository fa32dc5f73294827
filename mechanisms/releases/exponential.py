"""Exponential mechanism: choose a candidate with probability exponential in its score."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import special

from dpverify import PureDP
from dpverify.base.rounding import float_down
from dpverify.ledger import BoundedRange, Ledger
from mechanisms.releases.selection import score_movement, scores, Selection
from mechanisms.toolbox import query_values as queries
from mechanisms.toolbox.query_values import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class Exponential(Selection):
    """Pr[M(D) = i] = exp(eps u_i/(2 s)) / sum_j exp(eps u_j/(2 s)) for the scores u = u(D).

    Where `sensitivity` states s, the largest movement of any single score between neighbours.

    Claim    eps-DP under `relation`.
    Why      the numerator moves by a factor of at most e^(eps/2), and so does the sum. The 2 is needed
             whenever some scores can rise while others fall.
    Assumes  real arithmetic: draws invert a float64 distribution function, each probability within 2^-50.
    Shapes   data: scores (c,), finite reals; outputs: int64 (size,), candidates 0..c-1.
    Raises   ParameterError for eps outside (0, inf), scores that are not one finite vector, s = 0 or more than
             one shift (each score is one number).
    Source   McSherry, Talwar 2007, Theorem 6; Dwork, Roth 2014, Theorem 3.10.
    """

    @property
    def claim(self) -> PureDP:
        """eps-DP."""
        return PureDP(
            self.eps,
            relation=self.relation,
            assumptions=(queries.IDEAL_REALS,),
            source="McSherry, Talwar 2007, Theorem 6",
        )

    @property
    def ledger(self) -> Ledger:
        """One step of range eps: all log ratios of a pair lie in an interval of length eps.

        log M(D)_i/M(D')_i = (u_i - u'_i) eps/(2s) - log of the ratio of the sums: the first term lies in
        [-eps/2, eps/2], the second is the same for all i (Durfee, Rogers 2019).
        """
        return Ledger(BoundedRange(what="selection", eps=self.eps, uses=queries.one_use_under(self.relation)))

    @property
    def rate(self) -> float:
        """eps/(2 s), rounded down: log odds for each unit of score."""
        return float_down(Fraction(self.eps) / (2 * Fraction(score_movement(self.sensitivity, self.relation))))

    def log_law(self, data: Any) -> FloatArray:
        """log Pr[M(D) = i], shape (c,)."""
        law: FloatArray = special.log_softmax(self.rate * scores(data))
        return law

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> IntArray:
        cumulative = np.cumsum(np.exp(self.log_law(data)))
        picks = np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")
        candidates: IntArray = np.minimum(picks, len(cumulative) - 1)  # u * total may round up to the total
        return candidates
