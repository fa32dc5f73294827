"""SDP-PE as an audit target: everything that its analyzer ever receives, in one full adaptive run.

An output row is: the raw counts of every batch, in order, then the policy that each user was given (public:
the agent deploys them). Given these, every later step is a function of them, so the likelihood ratio is that
of the one batch that the replaced user is in; the coins that drew the policies have the same law in both
worlds.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from algorithms.batches import Batches
from algorithms.counting import total_counts
from algorithms.deployment import one_step
from algorithms.policy_sets import ExplicitSet
from algorithms.sdp_pe import SDPPE
from algorithms.tabular import all_policies
from algorithms.transcripts import users_of
from algorithms.users import play
from dpverify.accounting.ledger import Ledger
from dpverify.claims.neighbours import Pair, Records
from mechanisms.datasets.visit_counts import CountLayout

Array = npt.NDArray[Any]


class RatedBatches(Batches, Protocol):
    """Batches whose release has an exact likelihood ratio and a ledger."""

    def log_ratio(self, released: Array, first: Array, second: Array, layout: CountLayout, users: int) -> Array:
        """Exact, from the true counts (size, cells) of the batch in both worlds."""
        ...

    def ledger(self, batches: list[tuple[CountLayout, int]]) -> Ledger:
        """All batches, each with users of its own."""
        ...


@dataclass(frozen=True, kw_only=True)
class StagedActions:
    """What all users but `hidden` (from 0) are told: their policies, (size, (K - 1) H S) action numbers.

    The last stage's best policy is that of the users left over. Stage noise hides everything but exact counts here:
    a decision of SDP-PE is about sums over a batch, with the noise of 6H counters in each.
    """

    learner: SDPPE
    batches: Batches
    initial: tuple[float, ...]
    hidden: int
    name: str = "staged-actions"
    twins: ClassVar[tuple[str, ...]] = ("exact-counts", "noise-")  # what a suite must plant, see `Subject.blind`

    @property
    def ledger(self) -> Ledger | None:
        """That of the batches: policies are post-processing."""
        stated = getattr(self.batches, "ledger", None)
        if stated is None:
            return None
        transcript = BatchTranscript(learner=self.learner, batches=self.batches, initial=self.initial)  # type: ignore[arg-type]
        return transcript.ledger

    def release(self, data: Records, *, rng: np.random.Generator, size: int) -> Array:
        """`size` full runs."""
        layout, initial = self.learner.layout, np.array(self.initial)
        phi = ExplicitSet.full(all_policies(layout.H, layout.S, layout.A), initial, layout.A, (size,))
        done = self.learner.run(users_of(data), self.batches, phi, initial, rng=rng, lead=(size,))
        return np.delete(done.policies, self.hidden, axis=1).reshape(size, -1).astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class BatchTranscript:
    """`learner` on all deterministic policies from `initial`, listed: for small instances."""

    learner: SDPPE
    batches: RatedBatches
    initial: tuple[float, ...]
    name: str = "transcript"

    @property
    def sections(self) -> list[tuple[range, CountLayout, int | None]]:
        """Every non-empty batch: its users, its layout, the step it releases (None = all)."""
        size = self.learner.layout
        layer = CountLayout(H=1, S=size.S, A=size.A)
        found: list[tuple[range, CountLayout, int | None]] = []
        for stage in self.learner.plan:
            start = stage.first
            for h, number in enumerate(stage.layers):
                found.append((range(start, start + number), layer, h))
                start += number
            found.append((range(start, stage.end), size, None))
        return [each for each in found if len(each[0])]

    @property
    def ledger(self) -> Ledger:
        """Parallel composition over the batches."""
        return self.batches.ledger([(layout, len(who)) for who, layout, _ in self.sections])

    def release(self, data: Records, *, rng: np.random.Generator, size: int) -> Array:
        """`size` full runs, (size, all cells of all batches + K H S)."""
        layout, initial, seen = self.learner.layout, np.array(self.initial), []
        phi = ExplicitSet.full(all_policies(layout.H, layout.S, layout.A), initial, layout.A, (size,))
        done = self.learner.run(
            users_of(data),
            self.batches,
            phi,
            initial,
            rng=rng,
            lead=(size,),
            observe=lambda who, policies, counts: seen.append(counts),
        )
        return np.concatenate([*seen, done.policies.reshape(size, -1)], axis=1)

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """Exact; 0 for the batches without the replaced user."""
        worlds, size = [users_of(data) for data in pair], self.learner.layout
        policies = outputs[:, -self.learner.episodes * size.H * size.S :].astype(np.int64)
        policies = policies.reshape(len(outputs), self.learner.episodes, size.H, size.S)
        total, start = np.zeros(len(outputs)), 0
        for who, layout, step in self.sections:
            released = outputs[:, start : start + layout.cells]
            start += layout.cells
            exact = []
            for users in worlds:
                episodes = play(users, np.asarray(who), policies[:, who.start : who.stop], actions=size.A)
                exact.append(total_counts(episodes if step is None else one_step(episodes, step), layout))
            total += self.batches.log_ratio(released, exact[0], exact[1], layout, len(who))
        return total
