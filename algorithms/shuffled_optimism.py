"""Shuffled optimism: DP-UCBVI's optimistic plan on pooled shuffled counts, a few dozen deployments, no forgetting.

    batches of n = ceil(K / B) users;  total N := 0
    for m = 1..B:  pi_m := optimistic plan from N at E_m;  n users play pi_m (the last batch: those that are left);
                   N := N + shuffled counts of the batch, (eps, delta)-calibrated for n users; nothing after the last

    E_m = 4 (sqrt(2 (m-1) v l) + l/3), m > 1;   l = ln(2 M B / beta)

with v = variance of one counter's noise, M counters. Bernstein: a counter's total noise is a sum of independent centred
bits of variance (m-1) v in all, each at most 1 away from 0 (Boucheron, Lugosi, Massart 2013, Theorem 2.10), so all
totals of all batches are within E_m/4 with probability 1 - beta: Assumption 4 on the pooled counts
(`never_underestimating`). `error_scale` multiplies E_m; 1 is the theory's, anything else is tuning.

Claim       (eps, delta)-SDP of all batches together: a user is in exactly one (parallel composition). Policies are
            post-processing, so what the other users see is (eps, delta)-JDP.
Of no paper; batches and noise are SDP-PE's (journal, section V), the plan is DP-UCBVI's.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.deployment import Observe
from algorithms.dp_ucbvi import DPUCBVI
from algorithms.pooled import batch_size, PooledBatches, PooledRun, run_pooled, sections
from algorithms.users import Users
from dpverify.base import require
from dpverify.base.errors import ParameterError
from mechanisms.datasets.visit_counts import CountLayout

Array = npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class ShuffledOptimism:
    """The learner; with `ExactBatches` it is its own baseline without privacy."""

    layout: CountLayout
    episodes: int
    deployments: int = 89
    beta: float = 0.05
    error_scale: float = 1.0
    bonus_scale: float = 1.0

    def __post_init__(self) -> None:
        require.integer(at_least=1, episodes=self.episodes, deployments=self.deployments)
        require.open_unit(beta=self.beta)
        require.positive(error_scale=self.error_scale, bonus_scale=self.bonus_scale)
        if not self.layout.rewards:
            raise ParameterError("layout.rewards", False, "True")

    @property
    def batch(self) -> int:
        """Users n of every batch but perhaps the last."""
        return batch_size(self)

    @property
    def sections(self) -> list[range]:
        """Users of every batch, in order; the last one's counts are not released."""
        return sections(self)

    def error(self, batches: PooledBatches, pooled: int) -> float:
        """E of the counts of `pooled` batches, E_m with m - 1 = `pooled`, without `error_scale`; 0 without noise."""
        variance = batches.variance(self.layout, self.batch)
        if variance == 0 or pooled == 0:
            return 0.0
        log = math.log(2 * self.layout.cells * len(self.sections) / self.beta)
        return 4 * (math.sqrt(2 * pooled * variance * log) + log / 3)

    def plan(self, counts: Array, batches: PooledBatches, pooled: int) -> npt.NDArray[np.int64]:
        """The policy after `pooled` batches, from their summed counts (..., cells)."""
        error = self.error_scale * self.error(batches, pooled)
        planner = DPUCBVI(
            layout=self.layout,
            episodes=self.episodes,
            error=error,
            beta=self.beta,
            bonus_scale=self.bonus_scale,
        )
        return planner.plan(self.layout.unpack(counts))

    def run(
        self,
        users: Users,
        batches: PooledBatches,
        *,
        rng: np.random.Generator,
        lead: tuple[int, ...] = (),
        observe: Observe | None = None,
    ) -> PooledRun:
        """All users in order, in as many runs side by side as `lead` says."""
        return run_pooled(self, users, batches, rng=rng, lead=lead, observe=observe)
