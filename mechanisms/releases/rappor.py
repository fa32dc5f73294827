"""RAPPOR: a Bloom filter, noised for ever, and again for every report (Erlingsson, Pihur, Korolova 2014)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpverify import Pair, PureDP, Relation, View
from dpverify.base import require
from dpverify.errors import ParameterError
from dpverify.ledger import FiniteLaws, Ledger
from mechanisms.toolbox import local_reports as local
from mechanisms.toolbox.query_values import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class Rappor:
    """Value v sets `hashes` bits of its own (h v, ..., h v + h - 1): Bloom filters without collisions, k h bits.

    permanent      each bit is kept with probability 1 - f, else a fair coin; drawn once, reused in all reports
    instantaneous  a report shows a permanent 1 as 1 with probability `one`, a permanent 0 as 1 with probability `zero`

    Claim    eps-LDP for any number of reports, eps = 2 h ln((1 - f/2)/(f/2)).
    Why      the reports are a function of the permanent bits, of which 2h change their laws, h each way
             (Theorem 1 of the paper).
    Exact    `reports` reports are less: the sum over 2h bits of the largest log ratio of the number of ones among
             them, `exact_eps`. f/2 is rounded up: never less private than claimed.
    Shapes   data: integers 0..k-1 of any shape v; outputs: int64 (size, *v, k h), how many of the reports show a 1.
    Raises   ParameterError unless k >= 2, hashes >= 1, reports >= 1, 0 < f < 1, 0 <= zero < one <= 1, data in range.
    """

    k: int
    f: float = 0.5
    one: float = 0.75
    zero: float = 0.5
    hashes: int = 1
    reports: int = 1

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.integer(at_least=2, k=self.k)
        require.integer(at_least=1, hashes=self.hashes, reports=self.reports)
        require.open_unit(f=self.f)
        if not 0 <= self.zero < self.one <= 1:
            raise ParameterError("zero, one", (self.zero, self.one), "0 <= zero < one <= 1")

    @property
    def flip(self) -> float:
        """f/2, rounded up: the probability that a permanent bit is not the true one."""
        return self.f / 2 * (1 + local.INWARD)

    @property
    def law(self) -> FloatArray:
        """(2, reports + 1): probability of every number of ones, for a bit that is 0 and one that is 1."""
        counts = np.arange(self.reports + 1)
        ways = np.array([math.comb(self.reports, int(count)) for count in counts], dtype=np.float64)
        shown = np.array([ways * p**counts * (1 - p) ** (self.reports - counts) for p in (self.zero, self.one)])
        permanent = np.array([[1 - self.flip, self.flip], [self.flip, 1 - self.flip]])
        mixed: FloatArray = permanent @ shown
        return mixed

    @property
    def exact_eps(self) -> float:
        """h times the largest log ratio of two bits that swap their laws."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.log(self.law[1]) - np.log(self.law[0])
        seen = ratios[~np.isnan(ratios)]
        return self.hashes * float(seen.max() - seen.min())

    @property
    def claim(self) -> PureDP:
        """The permanent bits' eps, whatever the number of reports."""
        eps = 2 * self.hashes * (math.log1p(-self.f / 2) - math.log(self.f / 2))
        return PureDP(eps, view=View.LOCAL, source="Erlingsson, Pihur, Korolova 2014, Theorem 1")

    @property
    def ledger(self) -> Ledger:
        """h pairs of bits of one user; all others keep their law."""
        off, on = self.law / self.law.sum(axis=1, keepdims=True)
        laws = (tuple(np.outer(on, off).ravel().tolist()), tuple(np.outer(off, on).ravel().tolist()))
        return Ledger(FiniteLaws(what="two bits", pairs=(laws,), relation=Relation.REPLACE_ONE)) * self.hashes

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> IntArray:
        truth = local.categories(data, self.k)
        filled = np.arange(self.k * self.hashes) // self.hashes == truth[..., None]
        permanent = (rng.random((size, *filled.shape)) < self.flip) != filled
        chance = np.where(permanent, self.one, self.zero)
        draws = rng.random((self.reports, *chance.shape)) < chance
        counts: IntArray = draws.sum(axis=0, dtype=np.int64)
        return counts

    def log_ratio(self, outputs: Any, pair: Pair) -> FloatArray:
        """Sum over the h bits of both values."""
        with np.errstate(divide="ignore"):
            of_count = np.log(self.law[1]) - np.log(self.law[0])

        def of_report(seen: IntArray, first: IntArray, second: IntArray) -> FloatArray:
            users, total = np.arange(len(first)), np.zeros(seen.shape[:2])
            for number in range(self.hashes):
                total += of_count[seen[:, users, self.hashes * first + number]]
                total -= of_count[seen[:, users, self.hashes * second + number]]
            return total

        return local.reports_log_ratio(outputs, pair, self.k, self.k * self.hashes, of_report)

    def estimate(self, reports: Any) -> FloatArray:
        """Unbiased shares of the k values from counts of ones (..., users, k h)."""
        ones = np.asarray(reports, dtype=np.float64) / self.reports
        per_value = ones.reshape(*ones.shape[:-1], self.k, self.hashes).mean(axis=-1)
        p = (1 - self.flip) * self.one + self.flip * self.zero
        q = self.flip * self.one + (1 - self.flip) * self.zero
        return local.frequencies(per_value, p, q)
