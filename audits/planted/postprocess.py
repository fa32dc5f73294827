"""INCORRECT: post-processing that looks at the data again, and that spoils what it promises.

The release is what runs, no log ratio is known.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np

from dpverify.trials.target import Array
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.datasets.visit_counts import Counts, PrivateCounts
from mechanisms.privatizers.consistency import never_underestimating
from mechanisms.privatizers.consistent import FlowProcessed, Processed
from mechanisms.privatizers.flow import FlowConsistent, Transitions
from mechanisms.privatizers.protocol import BatchPrivatizer


@dataclass(frozen=True)
class LiftedToTruth:
    """INCORRECT: "never underestimate" by lifting noisy counts to the true ones first. True: eps = inf."""

    privatizer: BatchPrivatizer
    beta: float

    def release(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> Array:
        raw = self.privatizer.private_counts(data, rng=rng, size=size)
        true = data.counts(rewards=self.privatizer.layout.rewards)
        lifted = Counts(np.maximum(raw.visits, true.visits), np.maximum(raw.transitions, true.transitions), raw.rewards)
        return Processed(self.privatizer, self.beta).process(lifted)


@dataclass(frozen=True)
class SlackFromData:
    """INCORRECT: E is scaled by the largest true visit count, and with it every shift. True: eps = inf."""

    privatizer: BatchPrivatizer
    beta: float

    def release(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> Array:
        raw = self.privatizer.private_counts(data, rng=rng, size=size)
        bound = self.privatizer.error_bound(self.beta) / data.counts().visits.max()
        done = never_underestimating(raw.transitions, raw.visits, bound)
        return done.next_counts.reshape(size, -1)


@dataclass(frozen=True)
class ConstraintFromData:
    """INCORRECT: `extra` says that what nobody did is impossible, and reads it in the data. True: eps = inf."""

    privatizer: BatchPrivatizer
    flow: FlowConsistent
    trials_per_block: ClassVar[int] = FlowProcessed.trials_per_block

    def release(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> Array:
        layout, never = self.flow.layout, data.counts().transitions == 0
        unseen = np.argwhere(never.reshape(layout.H, layout.S, layout.choices, layout.S))
        own = FlowProcessed(self.privatizer, forbid(self.flow, tuple(map(tuple, unseen.tolist()))))
        return np.round(own.release(data, rng=rng, size=size), 6)  # the solver's zeros are 1e-12, or so


@cache
def forbid(flow: FlowConsistent, cells: tuple[tuple[int, ...], ...]) -> FlowConsistent:
    """INCORRECT: says that the `cells` (h, s, a, s') are impossible. Kept, for a programme takes long to compile."""

    def extra(x: Transitions) -> list[Any]:
        return [x[h][s][a][after] == 0 for h, s, a, after in cells]

    return replace(flow, extra=extra)


@dataclass(frozen=True)
class RoundedCells:
    """INCORRECT: rounds each cell to a whole number afterwards, and users vanish between two steps."""

    flow: FlowConsistent

    @property
    def loss(self) -> Literal["l2", "chebyshev"]:
        return self.flow.loss

    def solve(self, counts: PrivateCounts) -> PrivateCounts:
        transitions = np.rint(self.flow.solve(counts).transitions)
        return PrivateCounts(transitions.sum(axis=-1), transitions, counts.rewards)


@dataclass(frozen=True)
class DataFree:
    """INCORRECT: reads no counts, and says of every crowd that all of it stays in state 0."""

    flow: FlowConsistent

    @property
    def loss(self) -> Literal["l2", "chebyshev"]:
        return self.flow.loss

    def solve(self, counts: PrivateCounts) -> PrivateCounts:
        transitions = np.zeros_like(counts.transitions)
        transitions[..., :, 0, 0, 0] = self.flow.users
        return PrivateCounts(transitions.sum(axis=-1), transitions, counts.rewards)


def forbid_staying(x: Transitions) -> list[Any]:
    """INCORRECT: `extra` that excludes the truth: nobody stays in state 0, where all users stay."""
    return [cell[0] == 0 for step in x for cell in step[0]]
