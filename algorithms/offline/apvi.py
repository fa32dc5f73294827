"""DP-APVI (Qiao, Wang 2023, Algorithm 1): pessimistic value iteration on the private counts of a dataset.

    N~, P~      truncated noisy counts made consistent (slack E/2); P~ uniform where N~ <= E
    Q~          r + P~ V_{h+1}                                                   rewards known
    Gamma       C1 sqrt(Var_{P~}(V_{h+1}) iota/(N~ - E)) + C2 S H E iota/N~  where N~ > E,   C H elsewhere
    Q_h         max(0, min(Q~ - Gamma, H - h)),  h = 0..H-1;  greedy, ties to the smallest action
    iota        ln(H S A/delta)

Variants    penalty "hoeffding" puts H for the standard deviation. E = 0 on exact counts is APVI (Yin, Wang 2021), the
            non-private learner: `DPAPVI(privatizer=None)`, rho = infinity or eps = infinity.
Claim       the policy is a function of the released counts: rho-zCDP with Gaussian noise, eps-DP with Laplace noise,
            replacing one trajectory (Theorem 3.4). True.
Constants   C1 = sqrt 2, C2 = 16, C > 1 as printed (the text file lost the root). E is
            `privatizer.error_bound(delta)`, provable and a little below the printed E_rho.
Pessimism   the lower-order term of the Bernstein penalty is 16 S H E iota/N~, and the paper has E > 0. At E = 0,
            without noise, nothing is left: after a few visits the empirical variance is often 0, and V exceeds V^pi.
            There `c3` adds c3 H iota/N~, ours; 14/3 covers the empirical Bernstein inequality (Maurer, Pontil 2009).
Views       `release` is what the learner computes from: raw noisy counts, exact ratio (white box).
            `offline.learners.PolicyView` is the output policy alone (black box).
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from algorithms.baselines.ucbvi import next_value_variance
from algorithms.offline.learners import OneRelease
from algorithms.tabular import backward_induction, Plan
from dpverify.base import require
from dpverify.errors import ParameterError
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts
from mechanisms.privatizers.consistency import consistent as make_cells_consistent
from mechanisms.privatizers.flow import check_consistent, FlowConsistent
from mechanisms.privatizers.no_privacy import NoPrivacy
from mechanisms.privatizers.offline_tabular import OfflineTabularGaussian, OfflineTabularLaplace

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class APVI:
    """The planner: a pessimistic plan from noisy counts.

    Parameters
    ----------
    layout : CountLayout
        Sizes of the counts, without rewards and without a second player.
    rewards : ndarray of float, shape (H, S, A)
        Mean rewards, known.
    error : float
        E of the post-processed counts. With 0 counts are exact and are not post-processed.
    delta : float
        Probability with which the plan may fail to be pessimistic.
    penalty : {"bernstein", "hoeffding"}
        Spread of the next value: its empirical variance, or H^2.
    c1, c2, c, c3 : float
        Constants of the penalty, see the module.
    consistent : {"cells", "flow"}
        Post-processing of the counts. "cells" is the papers' programme, cell by cell, with slack E/2. "flow" is
        `FlowConsistent` with the loss "chebyshev": what leaves a state is what came into it, and `users` start.
    users : int, optional
        Number n of trajectories that are counted, public. It is needed for "flow".

    Raises
    ------
    ParameterError
        For settings outside their ranges, rewards of another shape, and "flow" without `users`.

    Notes
    -----
    Where all noisy counts are within w = E/2 of the exact ones, all post-processed ones are within E = 2w: with "flow"
    as with "cells", up to the accuracy of the solver. So the penalty is the same for both. "flow" needs data with final
    states, and solves one programme for each plan: it raises RunError where the solver finds no optimum.
    """

    layout: CountLayout
    rewards: Array
    error: float = 0.0
    delta: float = 0.1
    penalty: Literal["bernstein", "hoeffding"] = "bernstein"
    c1: float = math.sqrt(2)
    c2: float = 16.0
    c: float = 2.0
    c3: float = 0.0
    consistent: Literal["cells", "flow"] = "cells"
    users: int | None = None

    def __post_init__(self) -> None:
        require.open_unit(delta=self.delta)
        require.non_negative(error=self.error, c1=self.c1, c2=self.c2, c3=self.c3)
        require.positive(c=self.c)
        if not self.c > 1:
            raise ParameterError("c", self.c, "> 1")
        if self.layout.rewards or self.layout.B is not None or self.rewards.shape != self.layout.visits_shape:
            raise ParameterError("rewards.shape", self.rewards.shape, f"{self.layout.visits_shape}, known")
        if self.penalty not in ("bernstein", "hoeffding"):
            raise ParameterError("penalty", self.penalty, "'bernstein' or 'hoeffding'")
        check_consistent(self.consistent, self.users)

    @property
    def log_term(self) -> float:
        """Iota."""
        return math.log(self.layout.tuples / self.delta)

    def plan(self, counts: PrivateCounts) -> Plan:
        """The pessimistic plan from released counts (..., H, S, A), (..., H, S, A, S)."""
        return self.plan_consistent(self.make_consistent(counts))

    def make_consistent(self, counts: PrivateCounts) -> PrivateCounts:
        """The post-processed counts, in the shapes of the raw ones."""
        if not self.error:
            return counts
        if self.consistent == "flow":
            return self._flow.solve(counts)
        done = make_cells_consistent(counts.transitions, counts.visits, self.error)
        return PrivateCounts(done.pair_counts, done.next_counts)

    def plan_consistent(self, counts: PrivateCounts) -> Plan:
        """The pessimistic plan from counts that are consistent already, by whatever post-processing."""
        horizon, iota = self.layout.H, self.log_term
        visits = counts.visits
        known = visits > self.error
        law = np.where(
            known[..., None], counts.transitions / np.where(known, visits, 1.0)[..., None], 1 / self.layout.S
        )
        safe = np.where(known, visits, self.error + 1.0)  # any value above E: not used where unknown
        lower_order = (self.c2 * self.layout.S * self.error + self.c3) * horizon * iota / safe

        def adjust(h: int, plain: Array, following: Array) -> Array:
            step = np.s_[..., h, :, :]
            bernstein = self.penalty == "bernstein"
            spread: Any = next_value_variance(law[..., h, :, :, :], following) if bernstein else horizon**2
            penalty = self.c1 * np.sqrt(spread * iota / (safe[step] - self.error)) + lower_order[step]
            penalty = np.where(known[step], penalty, self.c * horizon)
            return np.maximum(np.minimum(plain - penalty, horizon - h), 0.0)

        return backward_induction(law, self.rewards, adjust=adjust)

    @cached_property
    def _flow(self) -> FlowConsistent:
        assert self.users is not None
        return FlowConsistent(self.layout, self.users, "chebyshev")


@dataclass(frozen=True, eq=False, kw_only=True)
class DPAPVI(OneRelease):
    """A privatizer and the planner that is told its E; `privatizer=None` is APVI on exact counts.

    Parameters
    ----------
    layout : CountLayout
        Sizes of the counts, without rewards and without a second player.
    rewards : ndarray of float, shape (H, S, A)
        Mean rewards, known.
    privatizer : OfflineTabularGaussian or OfflineTabularLaplace, optional
        What releases the counts.
    error : float, optional
        Is used in place of the privatizer's E: tuning, no guarantee.
    delta : float
        Failure probability of E and of the plan.
    penalty : {"bernstein", "hoeffding"}
        As in `APVI`.
    consistent : {"cells", "flow"}
        Post-processing of the counts, as in `APVI`.
    users : int, optional
        Number n of trajectories in every dataset, public. It is needed for "flow".
    name : str
        For reports.

    Raises
    ------
    ParameterError
        For "flow" without `users`, another `consistent`, and, from `policies`, data of another number of users or
        without final states.

    Notes
    -----
    The claim is the privatizer's for both ways of post-processing: the policy is a function of the released counts and
    of n, which all neighbours share (replace-one). The guarantee of E = 2w stays, see `APVI`.
    """

    layout: CountLayout
    rewards: Array
    privatizer: OfflineTabularGaussian | OfflineTabularLaplace | None = None
    error: float | None = None
    delta: float = 0.1
    penalty: Literal["bernstein", "hoeffding"] = "bernstein"
    consistent: Literal["cells", "flow"] = "cells"
    users: int | None = None
    name: str = "dp-apvi"

    def __post_init__(self) -> None:
        check_consistent(self.consistent, self.users)

    @property
    def source(self) -> Any:
        """The privatizer, or exact counts."""
        return NoPrivacy(layout=self.layout) if self.privatizer is None else self.privatizer

    @property
    def planner(self) -> APVI:
        """APVI at E = `error`, or at the privatizer's provable bound."""
        error = self.source.error_bound(self.delta) if self.error is None else self.error
        return APVI(
            layout=self.layout,
            rewards=self.rewards,
            error=error,
            delta=self.delta,
            penalty=self.penalty,
            consistent=self.consistent,
            users=self.users,
        )

    def plan(self, counts: PrivateCounts) -> IntArray:
        """The policy."""
        return self.planner.plan(counts).policy

    def policies(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> IntArray:
        if self.consistent == "flow":
            if len(data) != self.users:
                raise ParameterError("data", f"{len(data)} trajectories", f"as many as users, {self.users}")
            if data.final_states is None:
                raise ParameterError("data.final_states", None, "present: every visit needs its transition")
        return super().policies(data, rng=rng, size=size)
