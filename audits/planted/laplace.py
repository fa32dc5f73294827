"""INCORRECT: Laplace noise with mistakes in its calibration; releases and log ratios are those of what runs."""

from dataclasses import dataclass
from typing import Self

from dpverify import Relation
from dpverify.ledger import Sensitivity
from mechanisms.releases.laplace import Laplace


@dataclass(frozen=True, kw_only=True)
class HalfTheNoise(Laplace):
    """INCORRECT: scale s/(2 eps). True: 2 eps."""

    @classmethod
    def for_claim(cls, eps: float, *, sensitivity: Sensitivity, relation: Relation = Relation.REPLACE_ONE) -> Self:
        return super().for_claim(2 * eps, sensitivity=sensitivity, relation=relation)


@dataclass(frozen=True, kw_only=True)
class AddRemoveNoise(Laplace):
    """INCORRECT: calibrated for adding a record whatever the relation. True: 2 eps for a replaced one."""

    @classmethod
    def for_claim(cls, eps: float, *, sensitivity: Sensitivity, relation: Relation = Relation.REPLACE_ONE) -> Self:
        right = Laplace.for_claim(eps, sensitivity=sensitivity, relation=Relation.ADD_OR_REMOVE_ONE)
        return cls(scale=right.scale, sensitivity=sensitivity, relation=relation)


@dataclass(frozen=True, kw_only=True)
class LargestCoordinate(Laplace):
    """INCORRECT: the largest single movement used where the l1 distance is needed. True: count times eps."""

    @classmethod
    def for_claim(cls, eps: float, *, sensitivity: Sensitivity, relation: Relation = Relation.REPLACE_ONE) -> Self:
        largest = max(shift.size for shift in sensitivity.under(relation))
        return cls(scale=largest / eps, sensitivity=sensitivity, relation=relation)
