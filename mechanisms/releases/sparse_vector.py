"""Sparse vector technique: which queries are above a threshold, paying only for those that are."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from dpverify import Pair, PureDP, Relation
from dpverify.base import require
from dpverify.base.rounding import div_up
from dpverify.errors import TargetError
from dpverify.ledger import AboveThreshold, Ledger, Sensitivity
from mechanisms.releases.selection import score_movement, scores
from mechanisms.toolbox import laplace_integrals as quadrature
from mechanisms.toolbox import query_values as queries
from mechanisms.toolbox import samplers as sampling
from mechanisms.toolbox.query_values import FloatArray, IntArray

UNANSWERED, BELOW, ABOVE = -1, 0, 1


@dataclass(frozen=True, kw_only=True)
class SparseVector:
    """Answers q_i + nu_i >= T + rho with ABOVE, else BELOW, and stops after the c-th ABOVE.

    Where T = `threshold`, c = `cutoff`, one rho ~ Laplace(2s/eps) for the whole run, a fresh
    nu_i ~ Laplace(4cs/eps) for every query, and `sensitivity` states s, the largest movement of any
    single query. Queries after the stop are UNANSWERED. With `fresh`, rho is drawn anew after each ABOVE, from
    Laplace(2cs/eps).

    Claim    eps-DP under `relation`, for any number of queries.
    Why      given rho, shift the threshold by s: every BELOW is at least as likely on the neighbour, so
             all BELOWs together cost the density ratio of rho, e^(eps/2); every ABOVE then needs nu_i
             to move by 2s, which costs e^(eps/(2c)), at most c times. A fresh rho makes c runs of eps/c each.
    Assumes  real arithmetic (float64 noise).
    Shapes   data: the true answers (m,), finite reals; outputs: int64 (size, m) of ABOVE = 1, BELOW = 0,
             UNANSWERED = -1. Queries chosen adaptively are covered by the same proof; here they are fixed.
    Raises   ParameterError for eps outside (0, inf), cutoff < 1, a threshold that is not finite; for
             `log_ratio` also when answers lie thousands of scales apart.
    Source   Lyu, Su, Li 2017, Algorithm 1 and Theorem 2; `fresh`: Dwork, Roth 2014, Algorithm 2 and Theorem 3.25.
             Algorithms 3 to 6 of the former are planted in the audit.
    """

    eps: float
    sensitivity: Sensitivity
    threshold: float = 0.0
    cutoff: int = 1
    fresh: bool = False
    relation: Relation = Relation.REPLACE_ONE

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.positive(eps=self.eps)
        require.finite(threshold=self.threshold)
        require.integer(at_least=1, cutoff=self.cutoff)
        require.instance(bool, fresh=self.fresh)
        queries.checked_sensitivity(self.sensitivity, self.relation)
        score_movement(self.sensitivity, self.relation)

    @property
    def threshold_scale(self) -> float:
        """Scale of rho: s/(eps/2), rounded up, c times that where it is drawn anew."""
        return div_up(
            2 * (self.cutoff if self.fresh else 1) * score_movement(self.sensitivity, self.relation), self.eps
        )

    @property
    def query_scale(self) -> float:
        """Scale of nu: 2cs/(eps/2), rounded up."""
        return div_up(4 * self.cutoff * score_movement(self.sensitivity, self.relation), self.eps)

    @property
    def claim(self) -> PureDP:
        """eps-DP."""
        return PureDP(
            self.eps, relation=self.relation, assumptions=(queries.IDEAL_REALS,), source="Lyu, Su, Li 2017, Theorem 2"
        )

    @property
    def ledger(self) -> Ledger:
        """The comparisons, with their scales."""
        return Ledger(
            AboveThreshold(
                what="sparse vector",
                threshold_scale=self.threshold_scale,
                query_scale=self.query_scale,
                sensitivity=self.sensitivity,
                count=self.cutoff,
                fresh=self.fresh,
            )
        )

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> IntArray:
        answers = scores(data)
        outputs = np.full((size, len(answers)), UNANSWERED, dtype=np.int64)
        bar = self._bar(rng, size)
        live, left = np.arange(size), np.full(size, self.cutoff)  # runs that go on, ABOVEs that each has left
        for at, answer in enumerate(answers):
            above = answer + self.query_scale * sampling.laplace(rng, (len(live),)) >= bar
            outputs[live, at] = above
            left[live] -= above
            going = left[live] > 0
            live, bar, anew = live[going], bar[going], above[going]
            if not len(live):
                break
            if self.fresh and anew.any():
                bar[anew] = self._bar(rng, int(anew.sum()))
        return outputs

    def _bar(self, rng: np.random.Generator, size: int) -> FloatArray:
        return self.threshold + self.threshold_scale * sampling.laplace(rng, (size,))

    def log_law(self, patterns: IntArray, data: Any) -> FloatArray:
        """log Pr[M(D) = pattern] for patterns (n, m): an integral over each rho, shape (n,)."""
        answers = scores(data)
        gaps = answers - self.threshold
        reach = self.threshold_scale * (40.0 + len(answers))
        nodes, log_weights = quadrature.panels(
            np.append(gaps, 0.0), reach=reach, longest=min(self.threshold_scale, self.query_scale)
        )
        need = (nodes[:, None] - gaps) / self.query_scale  # ABOVE means nu >= need
        log_p = np.stack([np.zeros_like(need), quadrature.log_below(need), quadrature.log_below(-need)])
        outer = log_weights + quadrature.log_density(nodes / self.threshold_scale) - np.log(self.threshold_scale)
        symbol = patterns + 1  # UNANSWERED, BELOW, ABOVE -> rows of log_p
        columns = np.arange(len(answers))
        law = []
        for row in symbol:
            ends = np.flatnonzero(row == ABOVE + 1) + 1 if self.fresh else np.zeros(0, dtype=np.int64)
            parts = [part for part in np.split(columns, ends) if len(part)]
            law.append(sum(special.logsumexp(outer + log_p[row[part], :, part].sum(axis=0)) for part in parts))
        return np.array(law)

    def log_ratio(self, outputs: Any, pair: Pair) -> FloatArray:
        """Difference of `log_law`, computed once for each pattern that occurs."""
        seen = np.asarray(outputs)
        shape = scores(pair.first).shape
        if seen.dtype.kind != "i" or seen.shape[1:] != shape or not np.isin(seen, (UNANSWERED, BELOW, ABOVE)).all():
            raise TargetError(f"outputs must be of -1, 0 and 1 with shape (size, {shape[0]})")
        patterns, which = np.unique(seen, axis=0, return_inverse=True)
        ratio: FloatArray = (self.log_law(patterns, pair.first) - self.log_law(patterns, pair.second))[which]
        return ratio
