"""Optimistic backward induction on private counts, with a proof of its optimism; JDP or LDP by its source. Ours.

    N~, P~      post-processed counts (`never_underestimating`) at the source's E;  r~ = R~/N~, cut to [0, 1]
    Q_h         min(H - h, r~ + P~ V_{h+1} + C2 bonus),   h = 0..H-1
    l           ln(30 H S A K / beta)

It is no paper's: DP-UCBVI (Qiao, Wang 2023, arXiv 2212.04680) was not read here, and nothing here speaks of its bonus.

The bonus for learned rewards (the default), with R = H - h - 1, the range of V_{h+1}; C2 = 1 is what the proof needs:

    max{ sqrt(2 l Var_{P~}(V_{h+1}) / N~), 2 R l / N~ } + sqrt(2 l r~ (1 - r~) / N~)
        + [ (17/3) (R + 1) l + ((3 S + 1) R + 3) E / 2 ] / N~

Theorem. Let every N~ be at least the true N, all counts within E of the true ones, and R~ within E/4 (`error` of the
sources, with probability 1 - beta). Then Q >= Q* in every plan, cell and step, but for probability beta/7.

Proof, by induction from h = H down; V_{h+1} >= V* in [0, R]^S. Write n, P^ for the true count and frequencies.
1.  Empirical Bernstein (Maurer, Pontil 2009, Theorem 4) for the next states' V*, each n = 2..K and each cell:
        n (P - P^) V* <= sqrt(2 l n Var^) + (31/6) R l,      n Var^ = sum_i (V*(s_i) - P^ V*)^2,
    as theirs has n/(n-1) Var^ under the root and 7 n R l/(3 (n-1)) beside it: n >= 2 gives 14/3, and
    sqrt(n/(n-1)) - 1 <= 1/(2 (n-1)) with n Var^ <= n R^2/4 another R l/2. It holds for n <= 1: the left is at most R.
2.  d = N~(.) - N(.) has |d| <= E, and D = N~ - n is in [0, E]. As sum (d - D P) = 0, V* may be centred:
        N~ (P - P~) V* = n (P - P^) V* - sum (d - D P) V* <= n (P - P^) V* + (S + 1) E R/2.
3.  n Var^ <= sum N(.) (V* - P~ V*)^2 <= N~ Var~ + S E R^2, and sqrt(2 l S E) <= l/2 + S E. Together
        P V* <= P~ V* + sqrt(2 l Var~(V*)/N~) + [ (17/3) R l + (3 S + 1) R E/2 ] / N~.
4.  v -> P~ v + max{c sqrt(Var~(v)), c^2 R} with c^2 = 2 l/N~ does not decrease in any v(s) on [0, R]^S: where the
    root is the larger, its derivative is P~(s) (1 + c (v(s) - P~ v)/sqrt(Var~)), and c |v(s) - P~ v| <= c R <=
    sqrt(Var~) (the device of Zhang, Ji, Du 2021, Lemma 14). So V* may be raised to V_{h+1}: no correction for the
    estimated next value is needed.
5.  The rewards, W = n r^ in sum: the inequality of 1 with n Var^ at most n r^ (1 - r^) = W - W^2/n <= W - W^2/N~, as
    rewards are in [0, 1]. That moves by at most E/4 where R~, cut to [0, N~] and so no farther from W, stands for W;
    sqrt(l E/2) <= l/2 + E/4; and N~ r - R~ <= n r - W + E + E/4. In all (17/3) l + 3 E/2.
Two inequalities for K counts in each of H S A cells fail with probability 2 e^-l each: 4 H S A K e^-l <= beta/7.

With E = 0 and exact counts this is a learner without privacy with the same bonus.

The bonus for known rewards is that of DP-Nash-VI's Algorithm 1, line 9, for a min-player with one action (B = 1):

    sqrt(Var_{P~}(V_{h+1}) l / N~) + H S E l / N~ + H^2 S l / N~

Its paper assumes rewards that are deterministic and known (section 2), and with `rewards` given this learner's plans
are optimistic in every trial. It pays for next states alone: with rewards that are learned (`bonus="known"` without
`rewards`, a combination of ours, in no paper) r^ is below r by about sqrt(r (1 - r)/N), and plans are not optimistic.

Sources: `central` (JDP, binary counters on visits, transitions and rewards) and `local` (LDP, Laplace
noise on each user's message), calibrated to eps under replace-one: 6H changed cells. They tell the learner
the provable E of their own noise times `error_scale`; 1 is the theory's.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from algorithms.baselines.ucbvi import next_value_variance
from algorithms.core.counting import LocalCounts, TreeCounts
from algorithms.tabular import backward_induction, Plan
from dpverify.base import require
from dpverify.base.rounding import div_up
from dpverify.errors import ParameterError
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts
from mechanisms.privatizers.central import Central
from mechanisms.privatizers.consistency import never_underestimating
from mechanisms.privatizers.flow import check_consistent, FlowConsistent
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


def learned_rewards_bonus(
    span: int, visits: Array, spread: Array, rewards: Array, *, layout: CountLayout, log: float, error: Any
) -> Array:
    """The bonus of a step after which values are in [0, `span`], with `spread` = Var_P~(V); arrays (..., S, A)."""
    following = np.maximum(np.sqrt(2 * log * spread / visits), 2 * span * log / visits)
    reward = np.sqrt(2 * log * rewards * (1 - rewards) / visits)
    lower = 17 / 3 * (span + 1) * log + ((3 * layout.S + 1) * span + 3) / 2 * error
    return np.asarray(following + reward + lower / visits)


def known_rewards_bonus(
    span: int, visits: Array, spread: Array, rewards: Array, *, layout: CountLayout, log: float, error: Any
) -> Array:
    """DP-Nash-VI's at B = 1, for rewards that are known: it looks neither at `rewards` nor at `span`."""
    lower = (layout.H * layout.S * error + layout.H**2 * layout.S) * log
    return np.asarray(np.sqrt(spread * log / visits) + lower / visits)


@dataclass(frozen=True, eq=False, kw_only=True)
class BernsteinVI:
    """The learner: an optimistic plan from noisy counts.

    Parameters
    ----------
    layout : CountLayout
        Sizes of the counts.
    episodes : int
        K, the number of users of the whole run.
    error : float
        E of the source it is run with. With 0 counts are exact and are not post-processed.
    beta : float
        Failure probability of the plans.
    bonus_scale : float
        C2; 1 is the theory's.
    bonus : {"learned", "known"}
        For which rewards the bonus pays.
    rewards : ndarray of float, shape (H, S, A), optional
        Mean rewards where they are known. Else they are learned from the counts.
    consistent : {"cells", "flow"}
        Post-processing of the counts. "cells" is the papers' programme, cell by cell. "flow" is `FlowConsistent` with
        the loss "chebyshev": what leaves a state is what came into it, and `users` start. Rewards stay as they are.
    users : int, optional
        Number n of users in the counts that are planned from, public. It is needed for "flow", and all plans are from
        counts of that many: `ShuffledOptimism` makes a planner for every batch.

    Raises
    ------
    ParameterError
        For settings outside their ranges, rewards of another shape, and "flow" without `users`.

    Notes
    -----
    Where all noisy counts are within w = E/4 of the exact ones, all post-processed ones are within E = 4w and visits
    are not below the exact ones: with "flow" as with "cells", up to the accuracy of the solver. The proof of optimism
    uses nothing else of them. "flow" solves one programme for each run and plan: it raises RunError where the solver
    finds no optimum.
    """

    layout: CountLayout
    episodes: int
    error: float
    beta: float = 0.05
    bonus_scale: float = 1.0
    bonus: Literal["learned", "known"] = "learned"
    rewards: Array | None = None
    consistent: Literal["cells", "flow"] = "cells"
    users: int | None = None

    def __post_init__(self) -> None:
        require.integer(at_least=1, episodes=self.episodes)
        require.open_unit(beta=self.beta)
        require.non_negative(error=self.error)
        require.positive(bonus_scale=self.bonus_scale)
        if self.bonus not in ("learned", "known"):
            raise ParameterError("bonus", self.bonus, "'learned' or 'known', for rewards that are so")
        if self.rewards is not None and self.rewards.shape != self.layout.visits_shape:
            raise ParameterError("rewards", self.rewards.shape, f"of shape {self.layout.visits_shape}, or None")
        check_consistent(self.consistent, self.users)

    @property
    def log_term(self) -> float:
        """l."""
        return math.log(30 * self.layout.tuples * self.episodes / self.beta)

    def plan(self, counts: PrivateCounts) -> IntArray:
        return self.optimistic(counts).policy

    def optimistic(self, counts: PrivateCounts) -> Plan:
        """The optimistic plan."""
        visits, law = self._processed(counts)
        rewards = self._mean_rewards(counts, visits)
        known = counts.visits > 0 if self._exact else visits > 0
        horizon = self.layout.H

        def adjust(h: int, plain: Array, following: Array) -> Array:
            step = np.s_[..., h, :, :]
            spread = next_value_variance(law[..., h, :, :, :], following)
            paid = self.bonus_scale * self._bonus(horizon - h - 1, visits[step], spread, rewards[step])
            return np.where(known[step], np.minimum(plain + paid, horizon - h), float(horizon - h))

        return backward_induction(law, rewards, adjust=adjust)

    def _bonus(self, *step: Any) -> Array:
        make = learned_rewards_bonus if self.bonus == "learned" else known_rewards_bonus
        return make(*step, layout=self.layout, log=self.log_term, error=self.error)

    def _mean_rewards(self, counts: PrivateCounts, visits: Array) -> Array:
        if self.rewards is not None:
            return np.broadcast_to(self.rewards, visits.shape)
        assert counts.rewards is not None
        return np.clip(counts.rewards / visits, 0.0, 1.0)

    @property
    def _exact(self) -> bool:
        return self.error == 0

    def _processed(self, counts: PrivateCounts) -> tuple[Array, Array]:
        if self._exact:
            visits = np.maximum(counts.visits, 1.0)
            return visits, counts.transitions / visits[..., None]
        if self.consistent == "flow":
            found = self._flow.never_underestimating(counts, self.error)
            return found.visits, found.transitions / found.visits[..., None]
        done = never_underestimating(counts.transitions, counts.visits, self.error)
        return done.pair_counts, done.next_counts / done.pair_counts[..., None]

    @cached_property
    def _flow(self) -> FlowConsistent:
        assert self.users is not None
        return FlowConsistent(self.layout, self.users, "chebyshev")
