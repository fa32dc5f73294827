"""Discrete Laplace (two-sided geometric) mechanism: integer query + integer noise, sampled exactly."""

from dataclasses import dataclass
from typing import ClassVar, Self

from dpverify import PureDP, Relation
from dpverify.ledger import Sensitivity
from mechanisms.releases.additive import Additive
from mechanisms.toolbox import noise_laws
from mechanisms.toolbox import query_values as queries


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplace(Additive):
    """M(D) = q(D) + Z with Pr[Z_j = k] = (e^(1/b) - 1)/(e^(1/b) + 1) e^(-|k|/b), k an integer.

    Where b = `scale`, and `sensitivity` states the l1 distance s of q between neighbours, in whole numbers.

    Claim    (s/b)-DP under `relation`, rounded up.
    Why      as for Laplace noise: the log ratio of two probabilities is (|o - q'| - |o - q|)/b.
    Exact    the law is the stated one given uniform bits, see `mechanisms.toolbox.samplers`; with
             `mechanisms.toolbox.secure` it is fit for real data.
    Shapes   data: integers of any shape v; outputs: int64 (size, *v), in units of q.
    Raises   ParameterError for a scale outside [2^-9, 2^52], data of another type than integers.
    Source   Ghosh, Roughgarden, Sundararajan 2012, Section 2 (the geometric mechanism);
             sampling: Canonne, Kamath, Steinke 2020, Algorithm 2.
    """

    scale: float
    sensitivity: Sensitivity
    relation: Relation = Relation.REPLACE_ONE
    whole: ClassVar[bool] = True

    @property
    def noise(self) -> noise_laws.DiscreteLaplaceNoiseLaw:
        """The law of one coordinate's noise."""
        return noise_laws.DiscreteLaplaceNoiseLaw(self.scale)

    @classmethod
    def for_claim(cls, eps: float, *, sensitivity: Sensitivity, relation: Relation = Relation.REPLACE_ONE) -> Self:
        """The least noise whose exact account is at most eps: scale = s/eps, rounded up."""
        return cls(scale=queries.laplace_scale(eps, sensitivity, relation), sensitivity=sensitivity, relation=relation)

    @property
    def claim(self) -> PureDP:
        """(s/b)-DP."""
        eps = queries.laplace_eps(self.scale, self.sensitivity, self.relation)
        return PureDP(eps, relation=self.relation, source="Ghosh, Roughgarden, Sundararajan 2012")
