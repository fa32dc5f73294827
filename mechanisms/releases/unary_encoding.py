"""Unary encoding: one bit a value, flipped independently. SUE, OUE and thresholded histograms (THE)."""

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dpverify import Pair, PureDP, Relation, View
from dpverify.base import require
from dpverify.errors import ParameterError
from dpverify.ledger import FiniteLaws, Ledger
from mechanisms.toolbox import local_reports as local
from mechanisms.toolbox.query_values import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class UnaryEncoding:
    """Bit v of a report is 1 with probability p, every other bit with probability q.

    SUE      p = e^(eps/2)/(e^(eps/2) + 1), q = 1 - p (Erlingsson, Pihur, Korolova 2014, one round)
    OUE      p = 1/2, q = 1/(e^eps + 1): the least variance for rare values (Wang, Blocki, Li, Jha 2017, section 4.3)
    THE      1{e_v + Lap(2/eps) > theta} of each coordinate, 1/2 < theta < 1 (their section 4.2): p = 1 -
             e^(eps (theta - 1)/2)/2, q = e^(-eps theta/2)/2. Post-processing of an eps-LDP histogram: its bits alone
             have the smaller eps of `exact_eps`.

    Claim    eps-LDP: a report is eps-DP for any two values of its user.
    Why      only the bits of the two values change their laws; the ratio is at most p (1 - q)/((1 - p) q) = e^eps.
    Exact    p and q are moved towards each other by a relative 2^-48: reports are never less private than claimed.
    Shapes   data: integers 0..k-1 of any shape v, one report each; outputs: int64 (size, *v, k), 0 or 1.
    Raises   ParameterError unless k >= 2, 0 < eps <= 30, 0 < q < p < 1, data in range.
    """

    k: int
    eps: float
    p: float
    q: float

    def __post_init__(self) -> None:
        require.own_numbers(self)
        local.checked_reports(self.eps, self.k)
        if not 0 < self.q < self.p < 1:
            raise ParameterError("p, q", (self.p, self.q), "0 < q < p < 1")

    @classmethod
    def symmetric(cls, eps: float, k: int) -> Self:
        """SUE."""
        local.checked_reports(eps, k)
        p, q = local.inward(1 / (1 + math.exp(-eps / 2)), 1 / (1 + math.exp(eps / 2)))
        return cls(k=k, eps=eps, p=p, q=q)

    @classmethod
    def optimised(cls, eps: float, k: int) -> Self:
        """OUE."""
        local.checked_reports(eps, k)
        p, q = local.inward(0.5, 1 / (1 + math.exp(eps)))
        return cls(k=k, eps=eps, p=p, q=q)

    @classmethod
    def thresholded(cls, eps: float, k: int, theta: float = 0.67) -> Self:
        """THE."""
        local.checked_reports(eps, k)
        if not 0.5 < theta < 1:
            raise ParameterError("theta", theta, "above 1/2 and below 1")
        p, q = local.inward(-math.expm1(math.log(0.5) - eps * (1 - theta) / 2), math.exp(-eps * theta / 2) / 2)
        return cls(k=k, eps=eps, p=p, q=q)

    @property
    def exact_eps(self) -> float:
        """log of p (1 - q)/((1 - p) q)."""
        return local.bit_eps(self.p, self.q)

    @property
    def claim(self) -> PureDP:
        """eps-LDP."""
        return PureDP(self.eps, view=View.LOCAL, source="Wang, Blocki, Li, Jha 2017, section 4")

    @property
    def ledger(self) -> Ledger:
        """The bits of the two values of one user; all others keep their law."""
        p, q = np.array([self.p, 1 - self.p]), np.array([self.q, 1 - self.q])
        laws = (tuple(np.outer(p, q).ravel().tolist()), tuple(np.outer(q, p).ravel().tolist()))
        return Ledger(FiniteLaws(what="two bits of a report", pairs=(laws,), relation=Relation.REPLACE_ONE))

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> IntArray:
        truth = local.categories(data, self.k)
        chance = np.where(np.arange(self.k) == truth[..., None], self.p, self.q)
        return (rng.random((size, *chance.shape)) < chance).astype(np.int64)

    def log_ratio(self, outputs: Any, pair: Pair) -> FloatArray:
        """eps times (the bit of the first value minus that of the second)."""

        def of_report(seen: IntArray, first: IntArray, second: IntArray) -> FloatArray:
            users = np.arange(len(first))
            return np.asarray(self.exact_eps * (seen[:, users, first] - seen[:, users, second]), dtype=np.float64)

        return local.reports_log_ratio(outputs, pair, self.k, self.k, of_report)

    def estimate(self, reports: Any) -> FloatArray:
        """Unbiased shares of the k values from reports (..., users, k)."""
        return local.frequencies(reports, self.p, self.q)
