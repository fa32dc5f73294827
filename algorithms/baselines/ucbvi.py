"""UCB-VI (Azar, Osband, Munos 2017): optimistic backward induction on exact counts; the non-private baseline.

    Q_h = min(H - h, r^ + P^ V_{h+1} + bonus) where N > 0 (h = 0..H-1), else H - h
    Hoeffding   bonus = 7 H L / sqrt(N)
    Bernstein   bonus = sqrt(8 L Var/N) + 14 H L/(3N) + sqrt((8/N) sum_t P^(t) min(100^2 S^2 H^2 A L^2/N'(t), H^2))
    where       L = ln(5 S A T/delta), T = K H, Var = Var_{P^}(V_{h+1}) + r^(1 - r^), N'(t) = visits of t at h + 1

Two changes against the paper, both needed here: counts are kept for each step (the models are not
stationary), and rewards are learned (r^(1 - r^) is the variance of a binary reward). `bonus_scale` multiplies
the bonus; 1 is the theory's. Anything else is tuning and is called so where it is used.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from algorithms.tabular import backward_induction, Plan
from dpverify.base import require
from dpverify.errors import ParameterError
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def next_value_variance(transitions: Array, next_values: Array) -> Array:
    """Var_{P(.|s,a)}(V) for one step: (..., S, A) from (..., S, A, S) and (..., S).

    Squares of deviations are summed: E[V^2] - E[V]^2 would lose all digits of a small variance, and the
    bonus takes its root.
    """
    mean = transitions @ next_values[..., None, :, None]
    return np.asarray((transitions * (next_values[..., None, None, :] - mean) ** 2).sum(axis=-1))


@dataclass(frozen=True, kw_only=True)
class UCBVI:
    """UCB-VI for `episodes` episodes; works on any counts, and is meant for exact ones."""

    layout: CountLayout
    episodes: int
    bonus: Literal["hoeffding", "bernstein"] = "bernstein"
    delta: float = 0.05
    bonus_scale: float = 1.0

    def __post_init__(self) -> None:
        require.integer(at_least=1, episodes=self.episodes)
        require.open_unit(delta=self.delta)
        require.positive(bonus_scale=self.bonus_scale)
        if self.bonus not in ("hoeffding", "bernstein"):
            raise ParameterError("bonus", self.bonus, "'hoeffding' or 'bernstein'")

    @property
    def log_term(self) -> float:
        """L = ln(5 S A K H / delta)."""
        size = self.layout
        return math.log(5 * size.S * size.A * self.episodes * size.H / self.delta)

    def plan(self, counts: PrivateCounts) -> IntArray:
        return self.optimistic(counts).policy

    def optimistic(self, counts: PrivateCounts) -> Plan:
        """The optimistic plan; its values are above the optimal ones with probability 1 - delta (theory scale)."""
        assert counts.rewards is not None
        visits = np.maximum(counts.visits, 1.0)
        law = counts.transitions / visits[..., None]
        rewards = counts.rewards / visits
        horizon = self.layout.H
        seen = counts.visits > 0

        def adjust(h: int, plain: Array, following: Array) -> Array:
            step = np.s_[..., h, :, :]
            bonus = self._bonus(h, visits[step], law[..., h, :, :, :], rewards[step], following, counts.visits)
            return np.where(seen[step], np.minimum(plain + self.bonus_scale * bonus, horizon - h), float(horizon - h))

        return backward_induction(law, rewards, adjust=adjust)

    def _bonus(self, h: int, visits: Array, law: Array, rewards: Array, following: Array, counted: Array) -> Array:
        horizon, log = self.layout.H, self.log_term
        if self.bonus == "hoeffding":
            return np.asarray(7 * horizon * log / np.sqrt(visits))
        spread = next_value_variance(law, following) + rewards * (1 - rewards)
        bonus = np.sqrt(8 * log * spread / visits) + 14 * horizon * log / (3 * visits)
        if h + 1 < horizon:
            arrivals = np.maximum(counted[..., h + 1, :, :].sum(axis=-1), 1.0)
            size = 100**2 * self.layout.S**2 * horizon**2 * self.layout.A * log**2
            miss = np.minimum(size / arrivals, float(horizon**2))
            bonus = bonus + np.sqrt(8 * (law @ miss[..., None, :, None])[..., 0] / visits)
        return np.asarray(bonus)
