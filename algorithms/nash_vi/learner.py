"""DP-Nash-VI (Qiao, Wang 2024, Algorithm 1): optimistic Nash value iteration on private counts.

For h = H..1, from post-processed counts N~ and P~ = N~(s,a,b,.)/N~(s,a,b), rewards known:

    gamma  = (C1/H) P~ (V^up_{h+1} - V^low_{h+1})
    Gamma  = C2 ( sqrt(Var_{P~}[(V^up + V^low)/2] iota/N~) + H S E iota/N~ + H^2 S iota/N~ )
    Q^up   = min(r + P~ V^up + gamma + Gamma, H),    Q^low = max(r + P~ V^low - gamma - Gamma, 0)
    pi_h   = CCE(Q^up, Q^low),    V^up = E_pi Q^up,    V^low = E_pi Q^low
    iota   = ln(30 H S A B K/beta)

Each episode plays pi (the players share a coin a step), feeds the user's counts to the privatizer, and keeps
the pi with the smallest (V^up_1 - V^low_1)(s_1); its marginals are the output. With `Central` this is
eps-JDP, with `Local` eps-LDP, with `NoPrivacy` it is Nash-VI (Liu et al. 2021) with the same bonus.

Start       line 2 of the paper sets all counts to 0 and divides by them. Here the first episode sees the
            privatizer's zero counts after post-processing: N~ = E/2, P~ uniform. Without noise (E = 0) a cell
            without visits has P~ uniform and its full bonus: Q^up = H, Q^low = 0.
Output      Delta starts at infinity, not at H with a strict "<": otherwise pi_out may not exist.
Constants   C1 and C2 are universal and unnamed in the paper. `gap_scale` is C1, `bonus_scale` is C2; 1 stands where
            nothing is said, smaller values are tuning and have no guarantee. `error` = E is the privatizer's
            `error_bound(beta/3)` by theory, see `error_of`.
One player  B = 1: pi_h is greedy in Q^up, ties to the smallest action: the single-agent learner.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from algorithms.baselines.ucbvi import next_value_variance
from algorithms.core.channels import ChannelStep
from algorithms.core.counting import Plugged
from algorithms.core.protocol import Acting, drive, Final, Look, Served, Setting, Shown
from algorithms.core.users import Users
from algorithms.nash_vi.equilibria import cce
from algorithms.nash_vi.markov_games import marginals, MarkovGame
from dpverify.base import require
from dpverify.errors import ParameterError, RunError
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts
from mechanisms.privatizers.consistency import never_underestimating
from mechanisms.privatizers.protocol import OnlinePrivatizer

Array = npt.NDArray[np.float64]


class GamePlan(NamedTuple):
    """Joint policy (..., H, S, A, B), tables of the same shape, values (..., H+1, S)."""

    joint: Array
    upper: Array
    lower: Array
    upper_values: Array
    lower_values: Array

    def width(self, start: int) -> Array:
        """(V^up_1 - V^low_1)(s_1), shape (...)."""
        return self.upper_values[..., 0, start] - self.lower_values[..., 0, start]


@dataclass(frozen=True, eq=False, kw_only=True)
class NashVI:
    """The planner; `rewards` (H, S, A, B) are the game's, `layout` its counters, `error` the E of the counts."""

    layout: CountLayout
    rewards: Array
    episodes: int
    error: float
    beta: float = 0.05
    bonus_scale: float = 1.0
    gap_scale: float = 1.0

    def __post_init__(self) -> None:
        require.integer(at_least=1, episodes=self.episodes)
        require.open_unit(beta=self.beta)
        require.non_negative(error=self.error, gap_scale=self.gap_scale)
        require.positive(bonus_scale=self.bonus_scale)
        if self.layout.B is None or self.layout.rewards or self.rewards.shape != self.layout.visits_shape:
            raise ParameterError("layout", self.layout, f"that of a game with rewards {self.rewards.shape}, known")

    @property
    def log_term(self) -> float:
        """Iota."""
        return math.log(30 * self.layout.tuples * self.episodes / self.beta)

    def plan(self, counts: PrivateCounts) -> GamePlan:
        """The optimistic plan from raw counts (..., H, S, A, B), (..., H, S, A, B, S)."""
        size = self.layout
        horizon, lead = size.H, counts.visits.shape[:-4]
        visits, law, known = self._processed(counts)
        table = (*lead, horizon, size.S, size.choices)
        visits, law, known = visits.reshape(table), law.reshape(*table, size.S), known.reshape(table)
        rewards = self.rewards.reshape(horizon, size.S, size.choices)
        joint, upper, lower = (np.empty((*lead, *size.visits_shape)) for _ in range(3))
        values = np.zeros((2, *lead, horizon + 1, size.S))
        for h in range(horizon - 1, -1, -1):
            step = np.s_[..., h, :, :]
            above, below = values[..., h + 1, :]
            kernel = law[..., h, :, :, :]
            bonus = self._bonus(visits[step], kernel, (above + below) / 2)
            bonus += self.gap_scale / horizon * _expect(kernel, above - below)
            high = np.minimum(rewards[h] + _expect(kernel, above) + bonus, horizon)
            low = np.maximum(rewards[h] + _expect(kernel, below) - bonus, 0.0)
            cells = (*lead, size.S, size.A, size.choices // size.A)
            high = np.where(known[step], high, float(horizon)).reshape(cells)
            low = np.where(known[step], low, 0.0).reshape(cells)
            mixed = cce(high, low)
            joint[..., h, :, :, :], upper[..., h, :, :, :], lower[..., h, :, :, :] = mixed, high, low
            values[0, ..., h, :] = (mixed * high).sum(axis=(-2, -1))
            values[1, ..., h, :] = (mixed * low).sum(axis=(-2, -1))
        return GamePlan(joint, upper, lower, values[0], values[1])

    def kernel(self, counts: PrivateCounts) -> Array:
        """P~ (..., H, S, A, B, S): a distribution whatever the counts."""
        return self._processed(counts)[1]

    def _bonus(self, visits: Array, kernel: Array, middle: Array) -> Array:
        size, iota = self.layout, self.log_term
        spread = np.sqrt(next_value_variance(kernel, middle) * iota / visits)
        lower_order = (size.H * size.S * self.error + size.H**2 * size.S) * iota / visits
        return np.asarray(self.bonus_scale * (spread + lower_order))

    def _processed(self, counts: PrivateCounts) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
        if self.error:
            done = never_underestimating(counts.transitions, counts.visits, self.error)
            law = done.next_counts / done.pair_counts[..., None]
            return done.pair_counts, law, np.ones(counts.visits.shape, dtype=bool)
        known = counts.visits > 0
        visits = np.maximum(counts.visits, 1.0)
        law = np.where(known[..., None], counts.transitions / visits[..., None], 1 / self.layout.S)
        return visits, law, known


@dataclass(frozen=True, eq=False)
class SelfPlayRun:
    """What was played and what is returned, for `runs` runs side by side.

    first, second          marginals of every episode, (K, runs, H, S, A) and (K, runs, H, S, B)
    out_first, out_second  marginals of pi_out, (runs, H, S, A) and (runs, H, S, B)
    out_width              (V^up_1 - V^low_1)(s_1) of pi_out, (runs,)
    """

    first: Array
    second: Array
    out_first: Array
    out_second: Array
    out_width: Array

    def of(self, runs: npt.NDArray[np.int64]) -> "SelfPlayRun":
        """These runs alone."""
        return SelfPlayRun(
            self.first[:, runs], self.second[:, runs], self.out_first[runs], self.out_second[runs], self.out_width[runs]
        )

    def regret(self, game: MarkovGame) -> Array:
        """Cumulated exact Nash gaps (K, runs)."""
        return np.cumsum(game.gap(self.first, self.second), axis=0)

    def output_gap(self, game: MarkovGame) -> Array:
        """Exact alpha of the output, (runs,)."""
        return game.gap(self.out_first, self.out_second)


def error_of(privatizer: OnlinePrivatizer, beta: float, *, scale: float = 1.0) -> float:
    """E for the learner: the privatizer's provable bound at beta/3, times `scale` (1 is the theory's)."""
    require.positive(scale=scale)
    return scale * privatizer.error_bound(beta / 3)


@dataclass(frozen=True, eq=False, kw_only=True)
class SelfPlay:
    """`planner` as an agent, from the first state `start`: it returns the plan that was narrowest there.

    The last user's counts come after the last plan and change nothing: they are fed (line 19 of the paper reads so)
    only with `feed_last`. So R = K - 1 prefixes are released, or R = K.
    """

    planner: NashVI
    start: int = 0
    feed_last: bool = False
    shown: Shown = "coins"

    def steps(self, users: int | None = None) -> Sequence[ChannelStep]:
        """One user each, at most as many as the planner is made for."""
        come = self.planner.episodes if users is None else users
        if come > self.planner.episodes:
            raise ParameterError("len(users)", come, f"at most {self.planner.episodes} users")
        step = ChannelStep(1, self.planner.layout)
        return [step] * (come - 1) + [replace(step, silent=not self.feed_last)]

    def act(self, setting: Setting) -> Acting:
        """Laws of joint actions; what is found is the width of the output."""
        size, lead = self.planner.layout, setting.lead
        counts: Array = np.zeros((*lead, size.cells))
        best = np.full(lead, np.inf)
        out: Array = np.zeros((*lead, *size.visits_shape))
        for _ in setting.steps:
            plan = self.planner.plan(size.unpack(counts))
            better = plan.width(self.start) < best
            best = np.where(better, plan.width(self.start), best)
            out[better] = plan.joint[better]
            counts = yield plan.joint.reshape(*lead, size.H, size.S, size.choices)
        if not np.isfinite(best).all():
            raise RunError("self-play: no plan had a finite width, so there is no output")
        return Final(marginals(out), best)


def self_play(
    users: Users,
    learner: NashVI,
    privatizer: OnlinePrivatizer,
    *,
    start: int,
    runs: int,
    rng: np.random.Generator,
    feed_last: bool = False,
    observe: Look | None = None,
) -> SelfPlayRun:
    """K = len(users) episodes. Users answer joint actions a B + b."""
    size = learner.layout
    if privatizer.layout != size:
        raise ParameterError("privatizer", privatizer, f"layout {size}")
    first: list[Array] = []
    second: list[Array] = []

    def keep(served: Served) -> None:
        one, two = marginals(served.policies.reshape(runs, *size.visits_shape))
        first.append(one)
        second.append(two)
        if observe is not None:
            observe(served)

    agent = SelfPlay(planner=learner, start=start, feed_last=feed_last)
    done = drive(agent, Plugged(privatizer), users, lead=(runs,), rng=rng, observe=keep)
    return SelfPlayRun(np.stack(first), np.stack(second), done.policies[0], done.policies[1], done.found)


def _expect(kernel: Array, values: Array) -> Any:
    """P V, (..., S, AB) from (..., S, AB, S) and (..., S)."""
    return (kernel @ values[..., None, :, None])[..., 0]
