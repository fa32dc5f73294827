"""Central privatizer: a binary counter for every visit and transition (Qiao, Wang, DP-Nash-VI, section 5.1).

Mechanism   after each episode every counter N_h(s,a,b), N_h(s,a,b,s') is fed 0 or 1 and releases its prefix count
            through the binary mechanism with Lap(scale) on every node (`counters.tree`).
Claim       eps-JDP: all released counts together are eps-DP in any one user's trajectory; what the other users see
            is post-processing of them (billboard lemma).
Why         given the released counts, changing user k changes only her own increments, and these lie in at most
            L = floor(log2 R) + 1 nodes of a counter: eps_true = D L / scale, D = changed cells (`changed_cells`).
As printed  "Binary Mechanism with input parameter eps' = eps/(2H log K)". Two readings of eps', two of log:
              TREE   eps' is the mechanism's own parameter, each node gets eps'/log K:  scale = 2H log(K)^2/eps
              NODE   eps' is spent on each node, as the paper's E needs it:             scale = 2H log(K)/eps
            TREE is true for K >= 6 (log2) or 24 (ln), and wasteful. NODE is short by a factor of about two: it
            counts H changed cells in each family where a replaced trajectory changes 2H.
Corrected   scale = D L / eps, rounded up.

Where       R = releases: K, or K - 1 if the counts after the last episode are not used
            D = 4H; with `fixed_start` 4H - 2: the first state is the same for everybody and the first actions are
            drawn without the user's data, so her first visit cell cannot change. 2H for an absent user.
            With rewards in [0, 1] (a third family) 2H, or 2H - 1, or H more; "2H" in the printed scale becomes 3H.
View        the whole stream of released noisy counts, (size, R, layout.cells): white box, stronger than JDP's own.
Source      section 5.1 and Lemma 5.1.
"""

import math
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.base.rounding import div_up
from dpverify.claims import Pair, PureDP, Relation, Unit, View
from dpverify.errors import NeighbourError, ParameterError
from dpverify.ledger import Ledger, Sensitivity, Shift
from mechanisms.counters import error_bounds as errors
from mechanisms.counters.dyadic_counter import times
from mechanisms.counters.logbase import LogBase
from mechanisms.counters.stream import Stream
from mechanisms.counters.tree import BinaryCounter, BinaryStream
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.datasets.visit_counts import CountLayout, ExactCounts, PrivateCounts
from mechanisms.toolbox.noise_laws import DiscreteLaplaceNoiseLaw, LaplaceNoiseLaw

Array = npt.NDArray[Any]


class Reading(Enum):
    """What the printed eps' = eps/(2H log K) is spent on."""

    TREE = "eps' is the input of the binary mechanism"
    NODE = "eps' is spent on each node"


def changed_counter_cells(layout: CountLayout, *, fixed_start: bool) -> Sensitivity:
    """D: cells of all counters that one user changes by at most 1, attained together.

    A family has two changed cells in every step where two trajectories can differ. The reward of a step whose
    visit cell cannot change can still change itself. One state and one action leave only rewards.
    """
    steps, moving = layout.H, layout.H - fixed_start
    still = layout.S == 1 and layout.choices == 1
    visits = 0 if still else 2 * moving
    transitions = 0 if still else 2 * (steps if layout.S > 1 else moving)
    rewards = 0
    if layout.rewards:
        rewards = steps if still else 2 * moving + (steps - moving)
    return Sensitivity(
        replace=Shift(1, visits + transitions + rewards), add_remove=Shift(1, (2 + layout.rewards) * steps)
    )


@dataclass(frozen=True, kw_only=True)
class Central:
    """Binary counters with noise of `scale` on every node of every cell.

    layout       sizes of the game; with rewards a third family is released
    eps          the claimed eps
    scale        b > 0, in counts
    episodes     K, the number of users
    releases     R <= K, after how many episodes counts are released
    discrete     integer noise, Pr[k] proportional to exp(-|k|/scale)
    fixed_start  the first state is everybody's and the first actions do not depend on the user

    `as_printed` and `corrected` choose the scale.
    """

    layout: CountLayout
    eps: float
    scale: float
    episodes: int
    releases: int
    discrete: bool = False
    fixed_start: bool = False

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.positive(eps=self.eps, scale=self.scale)
        require.integer(at_least=1, episodes=self.episodes, releases=self.releases)
        if self.releases > self.episodes:
            raise ParameterError("releases", self.releases, f"at most episodes = {self.episodes}")

    @classmethod
    def as_printed(
        cls,
        eps: float,
        layout: CountLayout,
        episodes: int,
        *,
        reading: Reading,
        log: LogBase,
        releases: int | None = None,
        **options: Any,
    ) -> Self:
        """The printed scale in one of its four readings; `releases` is K unless given. Needs K >= 2: log 1 = 0."""
        require.positive(eps=eps)
        require.integer(at_least=2, episodes=episodes)
        require.member(Reading, reading=reading)
        require.member(LogBase, log=log)
        width = log.of(episodes) ** (2 if reading is Reading.TREE else 1)
        scale = div_up((2 + layout.rewards) * layout.H * width, eps)
        return cls(
            layout=layout,
            eps=eps,
            scale=scale,
            episodes=episodes,
            releases=episodes if releases is None else releases,
            **options,
        )

    @classmethod
    def corrected(
        cls,
        eps: float,
        layout: CountLayout,
        episodes: int,
        *,
        releases: int | None = None,
        fixed_start: bool = False,
        discrete: bool = False,
    ) -> Self:
        """scale = D L / eps, rounded up: the smallest one whose ledger gives eps under replacement."""
        require.positive(eps=eps)
        require.integer(at_least=1, episodes=episodes)
        (shift,) = changed_counter_cells(layout, fixed_start=fixed_start).under(Relation.REPLACE_ONE)
        if shift.count == 0:
            raise ParameterError("layout", layout, "with S > 1, A B > 1 or rewards: nothing else can change")
        rounds = episodes if releases is None else releases
        tree = BinaryCounter(releases=rounds, noise=LaplaceNoiseLaw(1.0))
        return cls(
            layout=layout,
            eps=eps,
            scale=div_up(shift.count * tree.nodes_per_item, eps),
            episodes=episodes,
            releases=rounds,
            discrete=discrete,
            fixed_start=fixed_start,
        )

    @property
    def claim(self) -> PureDP:
        """eps-JDP with a whole trajectory as the unit."""
        return PureDP(self.eps, unit=Unit.TRAJECTORY, view=View.JOINT, source="DP-Nash-VI, Lemma 5.1")

    @property
    def counter(self) -> BinaryCounter:
        """The counters of all cells, side by side."""
        return BinaryCounter(
            releases=self.releases,
            noise=DiscreteLaplaceNoiseLaw(self.scale) if self.discrete else LaplaceNoiseLaw(self.scale),
            cells=(self.layout.cells,),
            touches=(2 + self.layout.rewards) * self.layout.H,
        )

    def with_noise(self, factor: float) -> Self:
        """The same privatizer with `factor` > 0 times its noise: what measured power is measured on."""
        require.positive(factor=factor)
        return replace(self, scale=factor * self.scale)

    @property
    def ledger(self) -> Ledger:
        """L noisy nodes for each of the D changed cells."""
        changed = changed_counter_cells(self.layout, fixed_start=self.fixed_start)
        nodes = times(changed, self.counter.nodes_per_item)
        return Ledger(self.counter.noise.event("nodes of all counters", nodes))

    def release(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> Array:
        """`size` streams of noisy counts of K fixed trajectories, (size, R, cells)."""
        return self.counter.release(Stream(self._increments(data)), rng=rng, size=size)

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """Exact log likelihood ratio, (size,). NeighbourError if a first visit cell moves despite `fixed_start`."""
        first, second = (self._increments(data) for data in pair)
        if self.fixed_start:
            start = [self.layout.unpack(each).visits[:, 0] for each in (first, second)]
            here = [each.any(axis=tuple(range(1, each.ndim))) for each in start]  # absent users start nowhere
            if (start[0] != start[1])[here[0] & here[1]].any():
                raise NeighbourError("fixed_start: the first state and actions of a user cannot change")
        return self.transcript_log_ratio(outputs, first[None], second[None])

    def transcript_log_ratio(self, outputs: Array, first: Array, second: Array) -> Array:
        """Log likelihood ratio of an online run's released counts, given both exact increment streams.

        outputs (runs, R, cells), `layout.pack` of what `feed` returned; first, second (runs or 1, R, cells), the
        packed increments with and without the change. They differ in the changed user's episode only, because
        all others act on released counts (see `BinaryCounter.transcript_log_ratio`).
        """
        return self.counter.transcript_log_ratio(outputs, first, second)

    def stream(self, runs: int, *, rng: np.random.Generator) -> "CentralStream":
        """Fresh counters for `runs` independent runs; at most `releases` episodes can be fed."""
        return CentralStream(self.layout, self.counter.stream(runs, rng=rng))

    def noise_bound(self, beta: float) -> float:
        """b (2 sqrt(L l) + l), l = ln(2 M R/beta), M = layout.cells: all counters, all episodes."""
        return errors.binary_tail_bound(self.scale, self.releases, beta, counters=self.layout.cells)

    def numerical_noise_bound(self, beta: float) -> float:
        """The same promise from exact tails of each prefix and a union bound; real-valued noise only."""
        return errors.numerical_bound(self.counter, beta, counters=self.layout.cells)

    def error_bound(self, beta: float) -> float:
        """E = 4 noise_bound(beta): the slack of Lemma 5.8 is E/4."""
        return 4 * self.noise_bound(beta)

    def paper_error_bound(self, beta: float) -> float:
        """(H/eps) ln(HSABK/beta)^2: the printed form with 1 for the hidden constant. Not a promise."""
        require.open_unit(beta=beta)
        return self.layout.H / self.eps * math.log(self.layout.tuples * self.episodes / beta) ** 2

    def _increments(self, data: Trajectories) -> Array:
        if data.layout != CountLayout(H=self.layout.H, S=self.layout.S, A=self.layout.A, B=self.layout.B):
            raise ParameterError("data.layout", data.layout, str(self.layout))
        if len(data) != self.episodes:
            raise ParameterError("len(data)", len(data), f"episodes = {self.episodes}")
        return self.layout.pack(data.per_user(rewards=self.layout.rewards))[: self.releases]


class CentralStream:
    """The counters of `runs` runs, one episode at a time."""

    def __init__(self, layout: CountLayout, counters: BinaryStream) -> None:
        self._layout, self._counters = layout, counters

    def feed(self, increments: ExactCounts) -> PrivateCounts:
        """Private counts of all episodes fed so far. UsageError after `releases` episodes."""
        return self._layout.unpack(self._counters.feed(self._layout.pack(increments)))
