"""INCORRECT: local protocols with the mistakes that libraries have made, or could."""

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mechanisms.releases.fake_data import FakeData
from mechanisms.releases.local_hashing import LocalHashing
from mechanisms.releases.rappor import Rappor
from mechanisms.releases.subset_selection import SubsetSelection
from mechanisms.releases.unary_encoding import UnaryEncoding
from mechanisms.toolbox.query_values import IntArray


@dataclass(frozen=True, kw_only=True)
class WholeBudgetABit(UnaryEncoding):
    """INCORRECT: each of the two changed bits is flipped as if it had all of eps. True: 2 eps."""

    @classmethod
    def symmetric(cls, eps: float, k: int) -> Self:
        """SUE with p = e^eps/(e^eps + 1)."""
        return cls(k=k, eps=eps, p=1 / (1 + math.exp(-eps)), q=1 / (1 + math.exp(eps)))


@dataclass(frozen=True, kw_only=True)
class LouderTruth(UnaryEncoding):
    """INCORRECT: OUE whose own bit is kept with probability 3/4 in place of 1/2. True: eps + ln 3."""

    @classmethod
    def optimised(cls, eps: float, k: int) -> Self:
        """OUE with p = 3/4."""
        return cls(k=k, eps=eps, p=0.75, q=1 / (1 + math.exp(eps)))


@dataclass(frozen=True, kw_only=True)
class HalfTheNoise(UnaryEncoding):
    """INCORRECT: THE with Lap(1/eps), the sensitivity of one coordinate. True: close to 2 eps."""

    @classmethod
    def thresholded(cls, eps: float, k: int, theta: float = 0.67) -> Self:
        """THE at twice its eps."""
        return replace(super().thresholded(2 * eps, k, theta), eps=eps)


@dataclass(frozen=True, kw_only=True)
class ResponseProbability(SubsetSelection):
    """INCORRECT: the true value is held with binary response's e^eps/(e^eps + 1), whatever the size of the set."""

    @property
    def p(self) -> float:
        """True: eps + log((k - w)/w)."""
        return 1 / (1 + math.exp(-self.eps))


@dataclass(frozen=True, kw_only=True)
class BinaryResponse(LocalHashing):
    """INCORRECT: the hash, one of g values, is sent with binary response's e^eps/(e^eps + 1). True: eps + ln(g - 1)."""

    @property
    def lie(self) -> float:
        """Right for g = 2 alone."""
        return 1 / (1 + math.exp(self.eps))


@dataclass(frozen=True, kw_only=True)
class NotPermanent(Rappor):
    """INCORRECT: the permanent bits are drawn anew for every report, and averaged out. True: grows with the reports."""

    @property
    def law(self) -> Any:
        """Independent reports."""
        counts = np.arange(self.reports + 1)
        p = np.array(
            [(1 - self.flip) * self.zero + self.flip * self.one, (1 - self.flip) * self.one + self.flip * self.zero]
        )
        ways = np.array([math.comb(self.reports, int(count)) for count in counts], dtype=np.float64)
        return ways * p[:, None] ** counts * (1 - p[:, None]) ** (self.reports - counts)

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> IntArray:
        filled = np.arange(self.k * self.hashes) // self.hashes == np.asarray(data)[..., None]
        permanent = (rng.random((self.reports, size, *filled.shape)) < self.flip) != filled
        shown = rng.random(permanent.shape) < np.where(permanent, self.one, self.zero)
        counts: IntArray = shown.sum(axis=0, dtype=np.int64)
        return counts


@dataclass(frozen=True, kw_only=True)
class NoFakes(FakeData):
    """INCORRECT: all attributes are sent by a response of the amplified eps. True: d times that of one."""

    def _weights(self, reports: IntArray, record: IntArray) -> Any:
        lies = np.array([each.lie for each in self.responses])
        k = np.array(self.sizes)
        return np.where(reports == record, k * (1 - lies), k * lies / (k - 1)).prod(axis=-1)

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> IntArray:
        k, d = np.array(self.sizes), len(self.sizes)
        lies = rng.random((size, d)) < np.array([each.lie for each in self.responses])
        reports: IntArray = (np.asarray(data) + lies * rng.integers(1, k, size=(size, d))) % k
        return reports
