"""Report noisy max: add Laplace noise to every score, publish only which one is largest."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from dpverify import PureDP
from dpverify.base.rounding import div_up
from dpverify.ledger import Ledger, PureStep
from mechanisms.releases.selection import score_movement, scores, Selection
from mechanisms.toolbox import laplace_integrals as quadrature
from mechanisms.toolbox import query_values as queries
from mechanisms.toolbox import samplers as sampling
from mechanisms.toolbox.query_values import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class NoisyMax(Selection):
    """M(D) = argmax_i u_i(D) + Z_i, Z_i independent of density exp(-|z|/b)/(2b), b = 2s/eps, rounded up.

    Where `sensitivity` states s, the largest movement of any single score between neighbours.

    Claim    eps-DP under `relation`. Only the index is covered: the winning value is not.
    Why      fix the noise of the others; i wins when Z_i >= z. On a neighbour the gaps u_j - u_i grow by
             at most 2s, so Z_i >= z + 2s suffices, and Pr[Z_i >= z + 2s] >= e^(-2s/b) Pr[Z_i >= z].
    Assumes  real arithmetic (float64 noise).
    Shapes   data: scores (c,), finite reals; outputs: int64 (size,), candidates 0..c-1.
    Raises   ParameterError as `mechanisms.releases.selection`, for scores that are not one finite vector, and for
             `log_ratio` when scores lie thousands of scales apart.
    Source   Dwork, Roth 2014, Section 3.3, Claim 3.9 (there for monotone scores, with s in place of 2s).
    """

    @property
    def scale(self) -> float:
        """b = 2s/eps, rounded up."""
        return div_up(2 * score_movement(self.sensitivity, self.relation), self.eps)

    @property
    def claim(self) -> PureDP:
        """eps-DP."""
        return PureDP(
            self.eps, relation=self.relation, assumptions=(queries.IDEAL_REALS,), source="Dwork, Roth 2014, Claim 3.9"
        )

    @property
    def ledger(self) -> Ledger:
        """One step that a theorem charges with eps."""
        return Ledger(PureStep(what="selection", eps=self.eps, uses=queries.one_use_under(self.relation)))

    def log_law(self, data: Any) -> FloatArray:
        """log Pr[M(D) = i] = log of the integral of f(x - u_i) prod_{j != i} F(x - u_j), shape (c,)."""
        heights = scores(data) / self.scale
        nodes, log_weights = quadrature.panels(heights, reach=40.0 + len(heights), longest=1.0)
        x = nodes[:, None] - heights
        below = quadrature.log_below(x)
        others = below.sum(axis=1, keepdims=True) - below
        law: FloatArray = special.logsumexp(log_weights[:, None] + quadrature.log_density(x) + others, axis=0)
        return law

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> IntArray:
        heights = scores(data)
        winners: IntArray = np.argmax(heights + self.scale * sampling.laplace(rng, (size, len(heights))), axis=1)
        return winners
