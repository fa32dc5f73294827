"""DP-UCBVI (Qiao, Wang 2023): UCB-VI on private counts with a Bernstein bonus; JDP or LDP by its source.

    N~, P~      post-processed counts (`never_underestimating`) at the source's E;  r~ = R~/N~, cut to [0, 1]
    bonus       C2 ( sqrt(Var_{P~}(V_{h+1}) iota / N~) + H S E iota / N~ + H^2 S iota / N~ )
    Q_h         min(H - h, r~ + P~ V_{h+1} + bonus),   h = 0..H-1
    iota        ln(30 H S A K / beta)

The papers leave the universal constant C2 open; `bonus_scale` is C2 and 1 stands for it where nothing is
said. With E = 0 and exact counts this is a non-private learner with the same bonus.

Sources: `central` (JDP, binary counters on visits, transitions and rewards) and `local` (LDP, Laplace
noise on each user's message), calibrated to eps under replace-one: 6H changed cells. They tell the learner
the provable E of their own noise times `error_scale`; 1 is the theory's.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from algorithms.baselines.ucbvi import next_value_variance
from algorithms.core.counting import LocalCounts, TreeCounts
from algorithms.tabular import backward_induction, Plan
from dpverify.base import require
from dpverify.base.rounding import div_up
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts
from mechanisms.privatizers.central import Central
from mechanisms.privatizers.consistency import never_underestimating
from mechanisms.toolbox.laplace_sums import laplace_sum_bound

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def central(
    layout: CountLayout, episodes: int, eps: float, *, beta: float = 0.05, error_scale: float = 1.0
) -> TreeCounts:
    """The Central privatizer with rewards, corrected: Lap(6HL/eps) on every node of every cell, R = K - 1.

    E is its provable error bound. eps-JDP by the billboard lemma.
    """
    require.positive(error_scale=error_scale)
    privatizer = Central.corrected(eps, layout, episodes, releases=episodes - 1)
    return TreeCounts(layout, privatizer.counter, error_scale * privatizer.error_bound(beta))


def local(
    layout: CountLayout, episodes: int, eps: float, *, beta: float = 0.05, error_scale: float = 1.0
) -> LocalCounts:
    """Lap(6H/eps) on every cell of every user's message: eps-LDP.

    E = 4 b (2 sqrt((K-1) l) + l), l = ln(4 M/beta) (Levy's inequality over all episodes, union bound).
    """
    require.open_unit(beta=beta)
    require.positive(eps=eps, error_scale=error_scale)
    scale = div_up(6 * layout.H, eps)
    bound = laplace_sum_bound(scale, max(episodes - 1, 1), math.log(4 * layout.cells / beta))
    return LocalCounts(layout, scale, error_scale * 4 * bound)


@dataclass(frozen=True, kw_only=True)
class DPUCBVI:
    """The learner; `error` = E of the source it is run with."""

    layout: CountLayout
    episodes: int
    error: float
    beta: float = 0.05
    bonus_scale: float = 1.0

    def __post_init__(self) -> None:
        require.integer(at_least=1, episodes=self.episodes)
        require.open_unit(beta=self.beta)
        require.non_negative(error=self.error)
        require.positive(bonus_scale=self.bonus_scale)

    @property
    def log_term(self) -> float:
        """Iota."""
        return math.log(30 * self.layout.tuples * self.episodes / self.beta)

    def plan(self, counts: PrivateCounts) -> IntArray:
        return self.optimistic(counts).policy

    def optimistic(self, counts: PrivateCounts) -> Plan:
        """The optimistic plan."""
        assert counts.rewards is not None
        visits, law = self._processed(counts)
        rewards = np.clip(counts.rewards / visits, 0.0, 1.0)
        horizon, states, iota = self.layout.H, self.layout.S, self.log_term
        lower = (horizon * states * self.error + horizon**2 * states) * iota / visits
        known = counts.visits > 0 if self._exact else visits > 0

        def adjust(h: int, plain: Array, following: Array) -> Array:
            step = np.s_[..., h, :, :]
            spread = next_value_variance(law[..., h, :, :, :], following)
            bonus = np.sqrt(spread * iota / visits[step]) + lower[step]
            capped = np.minimum(plain + self.bonus_scale * bonus, horizon - h)
            return np.where(known[step], capped, float(horizon - h))

        return backward_induction(law, rewards, adjust=adjust)

    @property
    def _exact(self) -> bool:
        return self.error == 0

    def _processed(self, counts: PrivateCounts) -> tuple[Array, Array]:
        if self._exact:
            visits = np.maximum(counts.visits, 1.0)
            return visits, counts.transitions / visits[..., None]
        done = never_underestimating(counts.transitions, counts.visits, self.error)
        return done.pair_counts, done.next_counts / done.pair_counts[..., None]
