"""INCORRECT: discrete Gaussian noise with mistakes in its calibration; log ratios are those of what runs."""

import math
from dataclasses import dataclass
from typing import Self

from dpverify import Relation
from dpverify.ledger import Sensitivity
from mechanisms.releases.discrete_gaussian import DiscreteGaussian


@dataclass(frozen=True, kw_only=True)
class SigmaForVariance(DiscreteGaussian):
    """INCORRECT: the sampler takes sigma^2 and was given sigma. True: sigma times rho."""

    @classmethod
    def for_claim(cls, rho: float, *, sensitivity: Sensitivity, relation: Relation = Relation.REPLACE_ONE) -> Self:
        right = DiscreteGaussian.for_claim(rho, sensitivity=sensitivity, relation=relation)
        return cls(sigma=math.sqrt(right.sigma), sensitivity=sensitivity, relation=relation)


@dataclass(frozen=True, kw_only=True)
class AddRemoveNoise(DiscreteGaussian):
    """INCORRECT: calibrated for adding a record whatever the relation. True: 4 rho for a count that moves by 2."""

    @classmethod
    def for_claim(cls, rho: float, *, sensitivity: Sensitivity, relation: Relation = Relation.REPLACE_ONE) -> Self:
        right = DiscreteGaussian.for_claim(rho, sensitivity=sensitivity, relation=Relation.ADD_OR_REMOVE_ONE)
        return cls(sigma=right.sigma, sensitivity=sensitivity, relation=relation)
