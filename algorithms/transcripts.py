"""Whole online algorithms as audit targets, in the joint view: everything but what user t herself was told.

A dataset is `dpverify.Records` of `Tree`s, one a user. All randomness is the mechanism's.

White box (`Transcript`): the released counts of a full adaptive run, (size, R, cells). By the billboard lemma
the actions of all other users and the final policy are functions of it and of their own data. Its likelihood
ratio is exact: given the released counts, every policy is the same in both worlds, so only the replaced user
acts differently, and only through her own counts.

Black box (`Actions`): what the others really see, their actions and the final policy: (size, (T-1) H + H S).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from algorithms.counting import own_counts, Source
from algorithms.online import Learner, run_online
from algorithms.users import Episodes, play, Tree, TreeUsers
from dpverify.accounting.ledger import Ledger
from dpverify.base import require
from dpverify.base.errors import ParameterError
from dpverify.claims.neighbours import Pair, Records

Array = npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Transcript:
    """The released counts of `learner` run on `source`; `feed_last` and `last_transition` as in `run_online`."""

    learner: Learner
    source: Any  # a Source with `ledger` and `transcript_log_ratio`
    feed_last: bool = False
    last_transition: bool = True
    name: str = "transcript"

    @property
    def ledger(self) -> Ledger | None:
        """That of the counts: what follows is post-processing."""
        return getattr(self.source, "ledger", None)

    def release(self, data: Records, *, rng: np.random.Generator, size: int) -> Array:
        """`size` full runs, (size, R, cells)."""
        seen: list[Array] = []
        users = users_of(data)
        released = len(users) if self.feed_last else len(users) - 1

        def keep(t: int, policy: Array, episodes: Episodes, counts: Array) -> None:
            if t < released:
                seen.append(counts.copy())

        self._run(users, rng, size, keep)
        return np.stack(seen, axis=1)

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """Exact, by replaying the policies from the released counts."""
        worlds = [users_of(data) for data in pair]
        layout = self.source.layout
        own: tuple[list[Array], list[Array]] = ([], [])
        counts = np.zeros((len(outputs), layout.cells))
        for t in range(outputs.shape[1]):
            policy = self.learner.plan(layout.unpack(counts))
            for users, increments in zip(worlds, own, strict=True):
                episodes = play(users, t, policy, actions=layout.A)
                increments.append(own_counts(episodes, layout, last_transition=self.last_transition))
            counts = outputs[:, t]
        first, second = (np.stack(each, axis=1) for each in own)
        return np.asarray(self.source.transcript_log_ratio(outputs, first, second))

    def _run(self, users: TreeUsers, rng: np.random.Generator, size: int, observe: Any) -> Any:
        return run_online(
            users,
            self.learner,
            self.source,
            runs=size,
            rng=rng,
            feed_last=self.feed_last,
            last_transition=self.last_transition,
            observe=observe,
        )


@dataclass(frozen=True, kw_only=True)
class Actions:
    """Actions of all users but `hidden` (numbered from 0), then the final policy."""

    learner: Learner
    source: Source
    hidden: int
    feed_last: bool = False
    last_transition: bool = True
    name: str = "actions"
    twins: ClassVar[tuple[str, ...]] = ("exact-counts", "noise-")  # what a suite must plant, see `Subject.blind`

    def __post_init__(self) -> None:
        require.integer(at_least=0, hidden=self.hidden)

    @property
    def ledger(self) -> Ledger | None:
        """That of the counts, of which the actions are a function (billboard lemma)."""
        return getattr(self.source, "ledger", None)

    def release(self, data: Records, *, rng: np.random.Generator, size: int) -> Array:
        """`size` full runs, (size, (T - 1) H + H S) action numbers."""
        users, told = users_of(data), []

        def keep(t: int, policy: Array, episodes: Episodes, counts: Array) -> None:
            if t != self.hidden:
                told.append(episodes.actions)

        done = run_online(
            users,
            self.learner,
            self.source,
            runs=size,
            rng=rng,
            feed_last=self.feed_last,
            last_transition=self.last_transition,
            observe=keep,
        )
        return np.concatenate([*told, done.final.reshape(size, -1)], axis=1)


def users_of(data: Records) -> TreeUsers:
    """The users of a dataset; ParameterError when the records are no trees."""
    if not isinstance(data, Records) or not all(isinstance(row, Tree) for row in data.rows):
        raise ParameterError("data", data, "dpverify.Records of Trees, one a user")
    return TreeUsers(tuple(row for row in data.rows if isinstance(row, Tree)))


def replaced(trees: Sequence[Tree], t: int, tree: Tree, name: str = "") -> Pair:
    """The pair (trees, the same trees with user t, counted from 0, replaced)."""
    other = list(trees)
    other[t] = tree
    return Pair(Records(trees), Records(other), name=name)
