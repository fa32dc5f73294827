"""Laplace mechanism: query + Laplace noise."""

from dataclasses import dataclass
from typing import Self

from dpverify import PureDP, Relation
from dpverify.ledger import Sensitivity
from mechanisms.releases.additive import Additive
from mechanisms.toolbox import noise_laws
from mechanisms.toolbox import query_values as queries


@dataclass(frozen=True, kw_only=True)
class Laplace(Additive):
    """M(D) = q(D) + Z, each Z_j of density exp(-|z|/b)/(2b).

    Where b = `scale`, and `sensitivity` states the l1 distance s of q between neighbours (shifts add up).

    Claim    (s/b)-DP under `relation`, rounded up.
    Why      |o - q'| - |o - q| <= |q - q'| in each coordinate, so the log density ratio is at most
             |q - q'|_1/b <= s/b (Dwork, McSherry, Nissim, Smith 2006, Proposition 1).
    Assumes  real arithmetic: outputs in float64 have gaps that leak (Mironov 2012). For real data use
             `mechanisms.releases.discrete_laplace` with `mechanisms.toolbox.secure`.
    Shapes   data: finite reals of any shape v; outputs: float64 (size, *v), in units of q.
    Raises   ParameterError for a scale outside (0, inf), data that is not finite; AccountingError when
             `sensitivity` is not stated under `relation`; the claim of sensitivity 0 is no claim.
    Source   Dwork, Roth 2014, Definition 3.3 and Theorem 3.6.
    """

    scale: float
    sensitivity: Sensitivity
    relation: Relation = Relation.REPLACE_ONE

    @property
    def noise(self) -> noise_laws.LaplaceNoiseLaw:
        """The law of one coordinate's noise."""
        return noise_laws.LaplaceNoiseLaw(self.scale)

    @classmethod
    def for_claim(cls, eps: float, *, sensitivity: Sensitivity, relation: Relation = Relation.REPLACE_ONE) -> Self:
        """The least noise whose exact account is at most eps: scale = s/eps, rounded up."""
        return cls(scale=queries.laplace_scale(eps, sensitivity, relation), sensitivity=sensitivity, relation=relation)

    @property
    def claim(self) -> PureDP:
        """(s/b)-DP."""
        eps = queries.laplace_eps(self.scale, self.sensitivity, self.relation)
        return PureDP(
            eps, relation=self.relation, assumptions=(queries.IDEAL_REALS,), source="Dwork, Roth 2014, Theorem 3.6"
        )
