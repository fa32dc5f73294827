"""Local hashing: a random hash of the value, sent by randomised response together with the hash function (BLH, OLH)."""

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dpverify import Pair, PureDP, View
from dpverify.base import require
from dpverify.ledger import KaryResponse, Ledger, Sensitivity
from mechanisms.releases.randomised_response import RandomisedResponse
from mechanisms.toolbox import local_reports as local
from mechanisms.toolbox.query_values import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class LocalHashing:
    """The user draws a function h from {0..k-1} to {0..g-1}, and sends h and the g-ary response to h(v).

    BLH      g = 2 (Bassily, Smith 2015)
    OLH      g = round(e^eps + 1), at least 2 (Wang, Blocki, Li, Jha 2017, section 4.4)

    h is uniform over all g^k functions and is sent as its k values, so that two values collide with probability 1/g
    exactly; libraries send the seed of a hash function in its place, for which that holds approximately.

    Claim    eps-LDP: a report is eps-DP for any two values of its user.
    Why      h does not depend on the value, and given h the response is one of g-ary randomised response.
    Exact    as `RandomisedResponse`: never less private than claimed.
    Shapes   data: integers 0..k-1 of any shape v, one report each; outputs: int64 (size, *v, k + 1): h(0), ...,
             h(k-1), response.
    Raises   ParameterError unless k >= 2, g >= 2, 0 < eps <= 30, data in range.
    """

    eps: float
    k: int
    g: int = 2

    def __post_init__(self) -> None:
        require.own_numbers(self)
        local.checked_reports(self.eps, self.k)
        require.integer(at_least=2, g=self.g)

    @classmethod
    def binary(cls, eps: float, k: int) -> Self:
        """BLH."""
        return cls(eps=eps, k=k)

    @classmethod
    def optimised(cls, eps: float, k: int) -> Self:
        """OLH."""
        local.checked_reports(eps, k)
        return cls(eps=eps, k=k, g=max(2, round(math.exp(eps) + 1)))

    @property
    def response(self) -> RandomisedResponse:
        """What happens to the hash of the value."""
        return RandomisedResponse(eps=self.eps, k=self.g)

    @property
    def lie(self) -> float:
        """Probability that the response is not the hash of the value."""
        return self.response.lie

    @property
    def claim(self) -> PureDP:
        """eps-LDP."""
        return PureDP(self.eps, view=View.LOCAL, source="Wang, Blocki, Li, Jha 2017, section 4.4")

    @property
    def ledger(self) -> Ledger:
        """One g-ary response of one user."""
        return Ledger(KaryResponse(what="hash", k=self.g, eps=self.eps, reports=Sensitivity(replace=1)))

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> IntArray:
        truth = local.categories(data, self.k)
        hashes = rng.integers(0, self.g, size=(size, *truth.shape, self.k))
        where = np.broadcast_to(truth, (size, *truth.shape))[..., None]
        hashed = np.take_along_axis(hashes, where, axis=-1)
        lies = rng.random(hashed.shape) < self.lie
        sent = (hashed + lies * rng.integers(1, self.g, size=hashed.shape)) % self.g
        return np.concatenate([hashes, sent], axis=-1)

    def log_ratio(self, outputs: Any, pair: Pair) -> FloatArray:
        """eps times (the response is the hash of the first value, minus of the second)."""
        lie = self.lie
        unit = math.log((1 - lie) * (self.g - 1) / lie)

        def of_report(seen: IntArray, first: IntArray, second: IntArray) -> FloatArray:
            users, sent = np.arange(len(first)), seen[:, :, -1]
            agree = (seen[:, users, first] == sent).astype(np.int64) - (seen[:, users, second] == sent)
            ratio: FloatArray = unit * agree
            return ratio

        return local.reports_log_ratio(outputs, pair, self.k, self.k + 1, of_report)

    def estimate(self, reports: Any) -> FloatArray:
        """Unbiased shares of the k values from reports (..., users, k + 1)."""
        seen = np.asarray(reports)
        return local.frequencies(seen[..., :-1] == seen[..., -1:], 1 - self.lie, 1 / self.g)
