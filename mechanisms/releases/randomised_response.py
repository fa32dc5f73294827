"""Randomised response, binary and k-ary: each user perturbs a category before sending it."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpverify import Pair, PureDP, View
from dpverify.base import require
from dpverify.errors import ParameterError
from dpverify.ledger import KaryResponse, Ledger, Sensitivity
from mechanisms.toolbox import query_values as queries
from mechanisms.toolbox.local_reports import frequencies
from mechanisms.toolbox.query_values import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class RandomisedResponse:
    """Each report is the truth with probability e^eps/(e^eps + k - 1), else uniform on the other k - 1 values.

    Claim    eps-LDP: a report is eps-DP for any two values of its user.
    Why      any two probabilities of one report have ratio e^eps, 1 or e^-eps.
    Exact    the probability of a lie is rounded up in its last bits, and the draw meets it up to 2^-53,
             rounded up too: reports are never less private than claimed.
    Shapes   data: integers 0..k-1 of any shape v, one report each; outputs: int64 (size, *v).
    Raises   ParameterError unless k >= 2, 0 < eps <= 30, data in range.
    Source   Warner 1965 (k = 2); Kairouz, Bonawitz, Ramage 2016 (k-RR).
    """

    eps: float
    k: int = 2

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.positive(eps=self.eps)
        require.integer(at_least=2, k=self.k)
        if self.eps > 30:
            raise ParameterError("eps", self.eps, "at most 30: a lie must not be rarer than 2^-53")

    @property
    def lie(self) -> float:
        """(k - 1)/(e^eps + k - 1), rounded up: three roundings of at most 2^-52 each are outweighed."""
        return (self.k - 1) / (math.exp(self.eps) + self.k - 1) * (1 + 2**-50)

    @property
    def law(self) -> FloatArray:
        """Pr[report | truth], shape (k, k): rows are truths."""
        others = np.full((self.k, self.k), self.lie / (self.k - 1))
        np.fill_diagonal(others, 1 - self.lie)
        return others

    @property
    def claim(self) -> PureDP:
        """eps-LDP."""
        return PureDP(self.eps, view=View.LOCAL, source="Warner 1965; Kairouz, Bonawitz, Ramage 2016")

    @property
    def ledger(self) -> Ledger:
        """One report of one user; nothing is said of users who send none."""
        return Ledger(KaryResponse(what="report", k=self.k, eps=self.eps, reports=Sensitivity(replace=1)))

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> IntArray:
        truth = self._categories(data)
        shape = (size, *truth.shape)
        lies = rng.random(shape) < self.lie
        return (truth + lies * rng.integers(1, self.k, size=shape)) % self.k

    def log_ratio(self, outputs: Any, pair: Pair) -> FloatArray:
        """log of the ratio of truth to another value for each report that agrees with one dataset only."""
        for values in (outputs, pair.first, pair.second):
            self._categories(values)
        seen, first, second = queries.whole_side_by_side(outputs, pair)
        agree = (seen == first).astype(np.int64) - (seen == second)
        ratio: FloatArray = agree.sum(axis=1) * math.log((1 - self.lie) * (self.k - 1) / self.lie)
        return ratio

    def estimate(self, reports: Any) -> FloatArray:
        """Unbiased shares of the k values, (..., k), from reports (..., users)."""
        supports = self._categories(reports)[..., None] == np.arange(self.k)
        return frequencies(supports, 1 - self.lie, self.lie / (self.k - 1))

    def _categories(self, data: Any) -> IntArray:
        values = queries.wholes(data)
        if values.size and not (0 <= values.min() and values.max() < self.k):
            raise ParameterError("data", data, f"integers 0..{self.k - 1}")
        return values
