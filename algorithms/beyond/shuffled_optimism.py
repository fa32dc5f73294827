"""Shuffled optimism: Bernstein-VI's optimistic plan on pooled shuffled counts, a few dozen deployments, no forgetting.

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
Of no paper; batches and noise are SDP-PE's (journal, section V), the plan is Bernstein-VI's.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from algorithms.bernstein_vi.learner import BernsteinVI
from algorithms.core.channels import ChannelStep
from algorithms.core.online import batches_of, number_of_users
from algorithms.core.protocol import Acting, Final, Setting, Shown
from algorithms.sdp_pe.batches import Batches
from dpverify.base import require
from dpverify.errors import ParameterError
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.flow import check_consistent

Array = npt.NDArray[Any]


class PooledBatches(Batches, Protocol):
    """Batches whose noise adds up: `variance` of one counter's noise, a sum of centred bits, or 0."""

    def variance(self, layout: CountLayout, users: int) -> float:
        """Of one counter of a batch."""
        ...


@dataclass(frozen=True, kw_only=True)
class ShuffledOptimism:
    """The learner; with `ExactBatches` it is its own baseline without privacy.

    Parameters
    ----------
    layout : CountLayout
        Sizes of the counts, with rewards.
    episodes : int
        K, the number of users.
    deployments : int
        B, the number of batches.
    beta : float
        Failure probability of E_m and of the plans.
    error_scale, bonus_scale : float
        Factors of E_m and of the bonus; 1 is the theory's.
    consistent : {"cells", "flow"}
        Post-processing of the pooled counts, as in `BernsteinVI`; "flow" knows how many users are in them.
    shown : {"nothing", "coins", "policies"}
        What the other users see beside the counts, as for all agents.

    Raises
    ------
    ParameterError
        For settings outside their ranges, a layout without rewards, and another `consistent`.

    Notes
    -----
    The claim is the same for both ways of post-processing: batches have public sizes. So is the guarantee: counts
    within E_m/4 of the exact ones are within E_m afterwards, and no visits are underestimated. "flow" solves one
    programme for each run and batch.
    """

    layout: CountLayout
    episodes: int
    deployments: int = 89
    beta: float = 0.05
    error_scale: float = 1.0
    bonus_scale: float = 1.0
    consistent: Literal["cells", "flow"] = "cells"
    shown: Shown = "nothing"

    def __post_init__(self) -> None:
        require.integer(at_least=1, episodes=self.episodes, deployments=self.deployments)
        require.open_unit(beta=self.beta)
        require.positive(error_scale=self.error_scale, bonus_scale=self.bonus_scale)
        if not self.layout.rewards:
            raise ParameterError("layout.rewards", False, "True")
        check_consistent(self.consistent, self.episodes)

    def steps(self, users: int | None = None) -> Sequence[ChannelStep]:
        """Batches in order; the last one's counts are not released."""
        return batches_of(self.layout, number_of_users(users, self.episodes), self.deployments)

    def error(self, batches: PooledBatches, pooled: int) -> float:
        """E of the counts of `pooled` batches, E_m with m - 1 = `pooled`, without `error_scale`; 0 without noise."""
        steps = self.steps()
        variance = batches.variance(self.layout, steps[0].users)
        if variance == 0 or pooled == 0:
            return 0.0
        log = math.log(2 * self.layout.cells * len(steps) / self.beta)
        return 4 * (math.sqrt(2 * pooled * variance * log) + log / 3)

    def planner(self, batches: PooledBatches, pooled: int) -> BernsteinVI:
        """Who plans after `pooled` batches, from their summed counts."""
        return BernsteinVI(
            layout=self.layout,
            episodes=self.episodes,
            error=self.error_scale * self.error(batches, pooled),
            beta=self.beta,
            bonus_scale=self.bonus_scale,
            consistent=self.consistent if pooled else "cells",  # before the first batch nobody is counted
            users=sum(each.users for each in self.steps()[:pooled]) or None,
        )

    def act(self, setting: Setting) -> Acting:
        """Plans from the pooled counts of all batches before."""
        counts = np.zeros((*setting.lead, self.layout.cells))
        for pooled, step in enumerate(setting.steps):
            policy = self.planner(setting.privatizer, pooled).plan(self.layout.unpack(counts))
            released = yield policy
            if not step.silent:
                counts = counts + released
        return Final((policy,))
