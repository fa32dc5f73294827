"""Discrete Laplace (two-sided geometric) mechanism: integer query + integer noise, sampled exactly."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from dpverify import Pair, PureDP, Relation
from dpverify.accounting.ledger import DiscreteLaplaceNoise, Ledger, Sensitivity
from dpverify.base import require
from mechanisms.toolbox import query_values as queries
from mechanisms.toolbox import samplers as sampling
from mechanisms.toolbox.query_values import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplace:
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

    def __post_init__(self) -> None:
        require.own_numbers(self)
        sampling.require_scale(self.scale)
        queries.checked_sensitivity(self.sensitivity, self.relation)

    @classmethod
    def for_claim(cls, eps: float, *, sensitivity: Sensitivity, relation: Relation = Relation.REPLACE_ONE) -> Self:
        """The least noise whose exact account is at most eps: scale = s/eps, rounded up."""
        return cls(scale=queries.laplace_scale(eps, sensitivity, relation), sensitivity=sensitivity, relation=relation)

    @property
    def claim(self) -> PureDP:
        """(s/b)-DP."""
        eps = queries.laplace_eps(self.scale, self.sensitivity, self.relation)
        return PureDP(eps, relation=self.relation, source="Ghosh, Roughgarden, Sundararajan 2012")

    def with_noise(self, factor: float) -> Self:
        """The same mechanism with `factor` > 0 times its noise: what measured power is measured on."""
        require.positive(factor=factor)
        return replace(self, scale=factor * self.scale)

    @property
    def ledger(self) -> Ledger:
        """One discrete Laplace event."""
        return Ledger(DiscreteLaplaceNoise(what="query", scale=self.scale, sensitivity=self.sensitivity))

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> IntArray:
        values = queries.wholes(data)
        noise = sampling.discrete_laplace(rng, size * values.size, self.scale)
        return noise.reshape(size, *values.shape) + values

    def log_ratio(self, outputs: Any, pair: Pair) -> FloatArray:
        """Sum over coordinates of (|o - q'| - |o - q|)/b, the distances in exact integers."""
        seen, first, second = queries.whole_side_by_side(outputs, pair)
        closer = np.abs(seen - second) - np.abs(seen - first)
        ratio: FloatArray = closer.astype(np.float64).sum(axis=1) / self.scale
        return ratio
