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
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from algorithms.baselines.ucbvi import next_value_variance
from algorithms.offline.learners import OneRelease
from algorithms.tabular import backward_induction, Plan
from dpverify.base import require
from dpverify.errors import ParameterError
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts
from mechanisms.privatizers.consistency import consistent
from mechanisms.privatizers.no_privacy import NoPrivacy
from mechanisms.privatizers.offline_tabular import OfflineTabularGaussian, OfflineTabularLaplace

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class APVI:
    """The planner: `layout` without rewards, `rewards` (H, S, A) known, `error` the E of the counts (0: exact)."""

    layout: CountLayout
    rewards: Array
    error: float = 0.0
    delta: float = 0.1
    penalty: Literal["bernstein", "hoeffding"] = "bernstein"
    c1: float = math.sqrt(2)
    c2: float = 16.0
    c: float = 2.0
    c3: float = 0.0

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

    @property
    def log_term(self) -> float:
        """Iota."""
        return math.log(self.layout.tuples / self.delta)

    def plan(self, counts: PrivateCounts) -> Plan:
        """The pessimistic plan from released counts (..., H, S, A), (..., H, S, A, S)."""
        horizon, iota = self.layout.H, self.log_term
        visits, law, known = self._processed(counts)
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

    def _processed(self, counts: PrivateCounts) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
        visits, onward = counts.visits, counts.transitions
        if self.error:
            done = consistent(onward, visits, self.error)
            visits, onward = done.pair_counts, done.next_counts
        known = visits > self.error
        law = np.where(known[..., None], onward / np.where(known, visits, 1.0)[..., None], 1 / self.layout.S)
        return visits, law, known


@dataclass(frozen=True, eq=False, kw_only=True)
class DPAPVI(OneRelease):
    """A privatizer and the planner that is told its E; `privatizer=None` is APVI on exact counts.

    `options` go to APVI (delta, penalty, constants). `error` overrides E (tuning, no guarantee).
    """

    layout: CountLayout
    rewards: Array
    privatizer: OfflineTabularGaussian | OfflineTabularLaplace | None = None
    error: float | None = None
    delta: float = 0.1
    penalty: Literal["bernstein", "hoeffding"] = "bernstein"
    name: str = "dp-apvi"

    @property
    def source(self) -> Any:
        """The privatizer, or exact counts."""
        return NoPrivacy(layout=self.layout) if self.privatizer is None else self.privatizer

    @property
    def planner(self) -> APVI:
        """APVI at E = `error`, or at the privatizer's provable bound."""
        error = self.source.error_bound(self.delta) if self.error is None else self.error
        return APVI(layout=self.layout, rewards=self.rewards, error=error, delta=self.delta, penalty=self.penalty)

    def plan(self, counts: PrivateCounts) -> IntArray:
        """The policy."""
        return self.planner.plan(counts).policy
