"""INCORRECT: Gaussian noise with mistakes in its calibration; releases and log ratios are those of what runs."""

import math
from dataclasses import dataclass
from typing import Self

from dpverify import Relation
from dpverify.ledger import Sensitivity
from mechanisms.releases.gaussian import Gaussian


@dataclass(frozen=True, kw_only=True)
class RootOfSigma(Gaussian):
    """INCORRECT: the variance is sigma, since sigma was handed to a sampler that takes a variance."""

    @classmethod
    def for_approx(
        cls, eps: float, delta: float, *, sensitivity: Sensitivity, relation: Relation = Relation.REPLACE_ONE
    ) -> Self:
        right = Gaussian.for_approx(eps, delta, sensitivity=sensitivity, relation=relation)
        return cls(sigma=math.sqrt(right.sigma), sensitivity=sensitivity, relation=relation)


@dataclass(frozen=True, kw_only=True)
class LargestCoordinate(Gaussian):
    """INCORRECT: noise for one coordinate where several move. True: mu times the root of their number."""

    @classmethod
    def for_gdp(cls, mu: float, *, sensitivity: Sensitivity, relation: Relation = Relation.REPLACE_ONE) -> Self:
        largest = max(shift.size for shift in sensitivity.under(relation))
        return cls(sigma=largest / mu, sensitivity=sensitivity, relation=relation)

    @classmethod
    def for_zcdp(cls, rho: float, *, sensitivity: Sensitivity, relation: Relation = Relation.REPLACE_ONE) -> Self:
        return cls.for_gdp(math.sqrt(2 * rho), sensitivity=sensitivity, relation=relation)
