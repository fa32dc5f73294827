"""DP-Nash-VI as an audit target, in the joint view: whole runs on explicit users.

A dataset is `dpverify.Records` of `Tree`s over joint actions a B + b, one a user.

White box (`GameTranscript`): all released counts and all coins of the players. The coins do not depend on data,
so showing them costs nothing; given them and the counts, every policy and every action of a world follows. The
likelihood ratio is exact: only the replaced user's own counts differ. Every policy, and pi_out, is a function
of this view (billboard lemma), so its eps bounds that of the black box.

Black box (`GameActions`): what the other users see, their joint actions, and the output marginals.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from algorithms.counting import own_counts
from algorithms.nash_vi import GamePlan, NashVI, play_joint, self_play
from algorithms.transcripts import users_of
from algorithms.users import Episodes
from dpverify.accounting.ledger import Ledger
from dpverify.claims.neighbours import Pair, Records
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.protocol import OnlinePrivatizer

Array = npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class GameTranscript:
    """Counts and coins of a run; `privatizer` needs `transcript_log_ratio` for the exact score."""

    learner: NashVI
    privatizer: Any  # an OnlinePrivatizer with `ledger` and `transcript_log_ratio`
    start: int = 0
    feed_last: bool = False
    name: str = "game-transcript"

    @property
    def ledger(self) -> Ledger | None:
        """That of the privatizer: what follows is post-processing."""
        return getattr(self.privatizer, "ledger", None)

    def release(self, data: Records, *, rng: np.random.Generator, size: int) -> Array:
        """`size` runs, (size, R cells + K H): the counts after each episode, then the coins."""
        users = users_of(data)
        releases = self._releases(len(users))
        seen: list[Array] = []
        tossed: list[Array] = []

        def keep(k: int, plan: GamePlan, counts: Array, episodes: Episodes, coins: Array) -> None:
            if k < releases:
                seen.append(counts.copy())
            tossed.append(coins)

        self_play(
            users,
            self.learner,
            self.privatizer,
            start=self.start,
            runs=size,
            rng=rng,
            feed_last=self.feed_last,
            observe=keep,
        )
        return np.concatenate([*seen, *tossed], axis=1)

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """Exact, by replaying policies and actions from the released counts and the coins."""
        worlds = [users_of(data) for data in pair]
        size, episodes = self.learner.layout, len(worlds[0])
        flat = CountLayout(H=size.H, S=size.S, A=size.choices)
        releases = self._releases(episodes)
        released = outputs[:, : releases * size.cells].reshape(len(outputs), releases, size.cells)
        coins = outputs[:, releases * size.cells :].reshape(len(outputs), episodes, size.H)
        own: tuple[list[Array], list[Array]] = ([], [])
        counts = np.zeros((len(outputs), size.cells))
        for k in range(releases):
            joint = self.learner.plan(size.unpack(counts)).joint
            for users, increments in zip(worlds, own, strict=True):
                increments.append(own_counts(play_joint(users, k, joint, coins[:, k]), flat))
            counts = released[:, k]
        first, second = (np.stack(each, axis=1) for each in own)
        return np.asarray(self.privatizer.transcript_log_ratio(released, first, second))

    def _releases(self, episodes: int) -> int:
        return episodes if self.feed_last else episodes - 1


@dataclass(frozen=True, kw_only=True)
class GameActions:
    """Joint actions of all users but `hidden` (from 0), then the marginals of pi_out."""

    learner: NashVI
    privatizer: OnlinePrivatizer
    hidden: int
    start: int = 0
    name: str = "game-actions"
    twins: ClassVar[tuple[str, ...]] = ("exact-counts", "noise-")  # what a suite must plant, see `Subject.blind`

    @property
    def ledger(self) -> Ledger | None:
        """That of the privatizer (billboard lemma)."""
        return getattr(self.privatizer, "ledger", None)

    def release(self, data: Records, *, rng: np.random.Generator, size: int) -> Array:
        """`size` runs, (size, (K - 1) H + H S (A + B)) numbers."""
        users, told = users_of(data), []

        def keep(k: int, plan: GamePlan, counts: Array, episodes: Episodes, coins: Array) -> None:
            if k != self.hidden:
                told.append(episodes.actions)

        done = self_play(users, self.learner, self.privatizer, start=self.start, runs=size, rng=rng, observe=keep)
        policies = [each.reshape(size, -1) for each in (done.out_first, done.out_second)]
        return np.concatenate([*told, *policies], axis=1).astype(np.float64)
