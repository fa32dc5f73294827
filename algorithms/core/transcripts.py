"""Whole runs of any agent as audit targets.

A dataset is `dpverify.Records` of `Tree`s, one a user. All randomness is the mechanism's.

White box (`Transcript`): everything but what a user herself was told: the released counts of a full adaptive run, and
what the agent shows beside them. By the billboard lemma the actions of all other users and the final policy are
functions of it and of their own data. Its likelihood ratio is exact: given what was released and shown, every policy is
the same in both worlds, so only the replaced user acts differently, and only through her own counts. Coins have one law
in both.

Black box (`Actions`): what the others really see, what they were told and the final policy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from algorithms.core.channels import channel_of, ReplayedChannel, split
from algorithms.core.protocol import Agent, drive, Handed, Served
from algorithms.core.users import Tree, TreeUsers
from dpverify.base import require
from dpverify.claims import Pair, Records
from dpverify.errors import ParameterError
from dpverify.ledger import Ledger

Array = npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class RunTranscript:
    """What `agent` run on `privatizer` releases and shows."""

    agent: Agent
    privatizer: Any  # a Source with `ledger` and `transcript_log_ratio`, or Batches with `ledger` and `log_ratio`
    name: str = "transcript"

    @property
    def ledger(self) -> Ledger | None:
        """That of the released counts: what follows is post-processing."""
        return channel_of(self.privatizer).ledger(self.agent.steps)

    def release(self, data: Records, *, rng: np.random.Generator, size: int) -> Array:
        """`size` full runs: (size, R, cells), or (size, all cells of all releases, then what is shown)."""
        seen: list[Array] = []
        shown: list[Array] = []

        def keep(served: Served) -> None:
            if served.counts is not None:
                seen.append(served.counts.copy())
            if self.agent.shown != "nothing":
                shown.append(np.reshape(served.shown(self.agent), (size, -1)))

        drive(self.agent, self.privatizer, users_of(data), lead=(size,), rng=rng, observe=keep)
        return np.concatenate([*seen, *shown], axis=1) if shown else np.stack(seen, axis=1)

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """Exact, by replaying the run from what was released and shown."""
        runs, worlds = len(outputs), [users_of(data) for data in pair]
        every = self.agent.steps(len(worlds[0]))
        steps = [step for step in every if step.releases]
        cells = sum(step.layout.cells for step in steps)
        released, shown = np.split(outputs.reshape(runs, -1), [cells], axis=1)
        agent, coins = self.agent, None
        if agent.shown == "coins":
            coins = np.moveaxis(shown.reshape(runs, len(every), -1), 0, 1)
        elif agent.shown == "policies":
            size = every[-1].layout
            agent = Handed(agent, shown.reshape(runs, -1, worlds[0].horizon, size.S).astype(np.int64))
        exact: tuple[list[Array], list[Array]] = ([], [])

        def compare(served: Served) -> None:
            if served.counts is not None:
                exact[0].append(served.step.exact(served.episodes))
                exact[1].append(served.step.exact(served.play(worlds[1], served.which)))

        again: Any = None  # nothing is drawn in a replay
        replay = ReplayedChannel(split(steps, released), coins)
        drive(agent, self.privatizer, worlds[0], lead=(runs,), rng=again, observe=compare, replay=replay)
        return channel_of(self.privatizer).log_ratio(steps, released, exact)


@dataclass(frozen=True, kw_only=True)
class Actions:
    """What all users but `hidden` (numbered from 0) are told: their actions, then the final policies.

    Where the agent's policies are drawn, everybody is told hers: these stand for the actions.
    """

    agent: Agent
    privatizer: Any
    hidden: int
    name: str = "actions"
    twins: ClassVar[tuple[str, ...]] = ("exact-counts", "noise-")  # what a suite must plant, see `Subject.blind`

    def __post_init__(self) -> None:
        require.integer(at_least=0, hidden=self.hidden)

    @property
    def ledger(self) -> Ledger | None:
        """That of the counts, of which the actions are a function (billboard lemma)."""
        return channel_of(self.privatizer).ledger(self.agent.steps)

    def release(self, data: Records, *, rng: np.random.Generator, size: int) -> Array:
        """`size` full runs, a row of numbers each."""
        told: list[Array] = []

        def keep(served: Served) -> None:
            each = served.policies if self.agent.shown == "policies" else served.episodes.actions
            if not served.step.together:
                each = each[:, None]
            hidden = self.hidden - served.first
            of_all = each.shape[1] < served.step.users  # one drawn policy, which all of a batch are told
            if 0 <= hidden < served.step.users and not of_all:
                each = np.delete(each, hidden, axis=1)
            told.append(each.reshape(size, -1))

        done = drive(self.agent, self.privatizer, users_of(data), lead=(size,), rng=rng, observe=keep)
        return np.concatenate([*told, *(each.reshape(size, -1) for each in done.policies)], axis=1)


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
