"""INCORRECT: post-processing that looks at the data again; the release is what runs, no log ratio is known."""

from dataclasses import dataclass

import numpy as np

from dpverify.trials.target import Array
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.datasets.visit_counts import Counts
from mechanisms.privatizers.consistency import never_underestimating
from mechanisms.privatizers.consistent import Processed
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
