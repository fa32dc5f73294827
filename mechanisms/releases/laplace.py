"""Laplace mechanism: query + Laplace noise."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from dpverify import Pair, PureDP, Relation
from dpverify.accounting.ledger import LaplaceNoise, Ledger, Sensitivity
from dpverify.base import require
from mechanisms.toolbox import query_values as queries
from mechanisms.toolbox import samplers as sampling
from mechanisms.toolbox.query_values import FloatArray


@dataclass(frozen=True, kw_only=True)
class Laplace:
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

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.positive(scale=self.scale)
        queries.checked_sensitivity(self.sensitivity, self.relation)

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

    def with_noise(self, factor: float) -> Self:
        """The same mechanism with `factor` > 0 times its noise: what measured power is measured on."""
        require.positive(factor=factor)
        return replace(self, scale=factor * self.scale)

    @property
    def ledger(self) -> Ledger:
        """One Laplace event."""
        return Ledger(LaplaceNoise(what="query", scale=self.scale, sensitivity=self.sensitivity))

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> FloatArray:
        values = queries.reals(data)
        noise = sampling.laplace(rng, (size, *values.shape))
        noise *= self.scale
        noise += values
        return noise

    def log_ratio(self, outputs: Any, pair: Pair) -> FloatArray:
        """Sum over coordinates of (|o - q'| - |o - q|)/b, in a form that is exact far from both."""
        seen, first, second = queries.side_by_side(outputs, pair)
        apart = np.abs(first - second)
        each = np.sign(first - second) * np.clip(2 * seen - first - second, -apart, apart)
        ratio: FloatArray = each.sum(axis=1) / self.scale
        return ratio
