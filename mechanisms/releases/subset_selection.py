"""Subset selection: a report is a set of w values, which holds the true one more often than not."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpverify import Pair, PureDP, Relation, View
from dpverify.base import require
from dpverify.ledger import FiniteLaws, Ledger
from mechanisms.toolbox import local_reports as local
from mechanisms.toolbox.query_values import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class SubsetSelection:
    """A uniform set of w values with the true one in it, with probability p; else a uniform one without it.

    Where    w = max(1, round(k/(e^eps + 1))), p = w e^eps/(w e^eps + k - w).
    Claim    eps-LDP: a report is eps-DP for any two values of its user.
    Why      a set has probability p/C(k-1, w-1) or (1-p)/C(k-1, w), by whether the value is in it; their ratio is
             p (k - w)/((1 - p) w) = e^eps.
    Exact    p is rounded down by a relative 2^-48: reports are never less private than claimed.
    Shapes   data: integers 0..k-1 of any shape v, one report each; outputs: int64 (size, *v, k), w ones.
    Raises   ParameterError unless k >= 2, 0 < eps <= 30, data in range.
    Source   Ye, Barg 2018; Wang, Huang, Wang, Nie, Xu 2016.
    """

    eps: float
    k: int

    def __post_init__(self) -> None:
        require.own_numbers(self)
        local.checked_reports(self.eps, self.k)

    @property
    def w(self) -> int:
        """Values in a report."""
        return max(1, round(self.k / (math.exp(self.eps) + 1)))

    @property
    def p(self) -> float:
        """Probability that a report holds the true value."""
        lie = (self.k - self.w) / (self.w * math.exp(self.eps) + self.k - self.w)
        return 1 - lie * (1 + local.INWARD) - 2**-52

    @property
    def q(self) -> float:
        """Probability that it holds a given other value."""
        return (self.p * (self.w - 1) + (1 - self.p) * self.w) / (self.k - 1)

    @property
    def exact_eps(self) -> float:
        """log of p (k - w)/((1 - p) w)."""
        return math.log(self.p) - math.log1p(-self.p) + math.log((self.k - self.w) / self.w)

    @property
    def claim(self) -> PureDP:
        """eps-LDP."""
        return PureDP(self.eps, view=View.LOCAL, source="Ye, Barg 2018")

    @property
    def ledger(self) -> Ledger:
        """Which of the two values of one user a report holds: both, the first, the second, neither."""
        w, k, p = self.w, self.k, self.p
        with_it, without = (w - 1) / (k - 1), w / (k - 1)  # the other value is held, given that the true one is or not
        first = (p * with_it, p * (1 - with_it), (1 - p) * without, (1 - p) * (1 - without))
        second = (first[0], first[2], first[1], first[3])
        laws = FiniteLaws(what="a report", pairs=((first, second),), relation=Relation.REPLACE_ONE)
        return Ledger(laws)

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> IntArray:
        truth = local.categories(data, self.k)
        here = np.arange(self.k) == truth[..., None]
        keys = rng.random((size, *here.shape))  # the w smallest are in; the true value comes first, or last
        holds = rng.random((size, *truth.shape, 1)) < self.p
        keys = np.where(here, np.where(holds, -1.0, 2.0), keys)
        ranks = keys.argsort(axis=-1, kind="stable").argsort(axis=-1, kind="stable")
        return (ranks < self.w).astype(np.int64)

    def log_ratio(self, outputs: Any, pair: Pair) -> FloatArray:
        """eps times (the first value is in the set, minus the second is)."""

        def of_report(seen: IntArray, first: IntArray, second: IntArray) -> FloatArray:
            users = np.arange(len(first))
            return np.asarray(self.exact_eps * (seen[:, users, first] - seen[:, users, second]), dtype=np.float64)

        return local.reports_log_ratio(outputs, pair, self.k, self.k, of_report)

    def estimate(self, reports: Any) -> FloatArray:
        """Unbiased shares of the k values from reports (..., users, k)."""
        return local.frequencies(reports, self.p, self.q)
