"""Many online learners in one run: every row with constants, privacy and noise of its own, planned together.

An episode of twenty thousand costs a plan, and a plan of fifty rows costs little more than that of one. A row does what
`BernsteinVI` or `UCBVI` does, up to rounding: counts are post-processed at E = 1 after division by E, the same.
Rows do not depend on one another: each part has a stream of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from algorithms.baselines.ucbvi import UCBVI
from algorithms.bernstein_vi.learner import BernsteinVI, known_rewards_bonus, learned_rewards_bonus
from algorithms.core.counting import CountSource, ExactSource
from algorithms.core.online import Learner, OnlineRun, run_online
from algorithms.core.users import Users
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts
from mechanisms.privatizers.consistency import never_underestimating

Array = npt.NDArray[np.float64]


class Part(NamedTuple):
    """`runs` rows: one source, its noise, one bonus scale; `known`: the bonus for known rewards."""

    source: CountSource
    bonus: float
    runs: int
    rng: np.random.Generator
    known: bool = False


def run_parts(users: Users, parts: Sequence[Part], *, layout: CountLayout, episodes: int) -> OnlineRun:
    """All parts, rows in order; their sources are all exact (UCB-VI) or all noisy (Bernstein-VI)."""
    runs = [each.runs for each in parts]
    bonus: Any = np.repeat([each.bonus for each in parts], runs)[:, None, None]
    errors: Any = np.repeat([each.source.error for each in parts], runs)[:, None, None, None]
    learner: Learner = _Plain(layout=layout, episodes=episodes, bonus_scale=bonus)
    if not all(isinstance(each.source, ExactSource) for each in parts):
        known: Any = np.repeat([each.known for each in parts], runs)[:, None, None]
        learner = _Private(layout=layout, episodes=episodes, error=errors, bonus_scale=bonus, bonus=known)
    stacked = _Stacked(layout, 0.0, tuple(parts))
    return run_online(users, learner, stacked, runs=sum(runs), rng=parts[0].rng)  # parts draw from their own


@dataclass(frozen=True)
class _Stacked:
    layout: CountLayout
    error: float
    parts: tuple[Part, ...]

    def stream(self, runs: int, *, rng: np.random.Generator) -> "_Feeds":
        return _Feeds(self.parts)


class _Feeds:
    def __init__(self, parts: tuple[Part, ...]) -> None:
        self._feeds = [each.source.stream(each.runs, rng=each.rng) for each in parts]
        self._cuts = np.cumsum([each.runs for each in parts])[:-1]

    def feed(self, increments: Array) -> Array:
        pieces = np.split(increments, self._cuts)
        return np.concatenate([feed.feed(own) for feed, own in zip(self._feeds, pieces, strict=True)])


class _Plain(UCBVI):
    """UCB-VI with a bonus scale for every run, (runs, 1, 1)."""

    def __post_init__(self) -> None:
        """Constants are checked where they are made."""


class _Private(BernsteinVI):
    """Bernstein-VI with an E, (runs, 1, 1, 1), a bonus scale and whether it is that for known rewards, (runs, 1, 1)."""

    def __post_init__(self) -> None:
        """Constants are checked where they are made."""

    @property
    def _exact(self) -> bool:
        return False

    def _bonus(self, *step: Any) -> Array:
        errors: Any = self.error
        sizes: Any = {"layout": self.layout, "log": self.log_term, "error": errors[..., 0]}
        return np.where(self.bonus, known_rewards_bonus(*step, **sizes), learned_rewards_bonus(*step, **sizes))

    def _processed(self, counts: PrivateCounts) -> tuple[Array, Array]:
        errors: Any = self.error
        done = never_underestimating(counts.transitions / errors[..., None], counts.visits / errors, 1.0)
        return done.pair_counts * errors, done.next_counts / done.pair_counts[..., None]
