"""A batch privatizer together with its post-processing: what the learning algorithms get to see.

Post-processing reads nothing but the released counts, so claim and ledger are those of the privatizer. No
likelihood ratio is known after it; an audit has to learn one, and can only find less.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.claims import Claim
from dpverify.errors import ParameterError
from dpverify.ledger import Ledger
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.datasets.visit_counts import Counts, PrivateCounts
from mechanisms.privatizers.consistency import never_underestimating
from mechanisms.privatizers.flow import FlowConsistent
from mechanisms.privatizers.protocol import BatchPrivatizer

Array = npt.NDArray[Any]


class PostProcessed(ABC):
    """Counts of `privatizer` after `process`; the claim is the privatizer's (Dwork, Roth 2014, Proposition 2.1)."""

    privatizer: BatchPrivatizer

    @property
    def claim(self) -> Claim:
        """That of the privatizer."""
        return self.privatizer.claim

    @property
    def ledger(self) -> Ledger:
        """That of the privatizer."""
        return self.privatizer.ledger

    def release(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> Array:
        """`size` releases, post-processed and packed."""
        return self.process(self.privatizer.private_counts(data, rng=rng, size=size))

    @abstractmethod
    def process(self, raw: PrivateCounts) -> Array:
        """Post-processes raw counts with leading axes (...): (..., cells). No data and no randomness."""


@dataclass(frozen=True)
class Processed(PostProcessed):
    """Counts of `privatizer` made consistent with E = error_bound(beta); rewards, if any, as they are.

    The claim is the privatizer's: post-processing (Dwork, Roth 2014, Proposition 2.1).
    Outputs (size, layout.cells). Raises ParameterError unless 0 < beta < 1.
    """

    privatizer: BatchPrivatizer
    beta: float

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.open_unit(beta=self.beta)

    def process(self, raw: Counts) -> Array:
        done = never_underestimating(raw.transitions, raw.visits, self.privatizer.error_bound(self.beta))
        return self.privatizer.layout.pack(Counts(done.pair_counts, done.next_counts, raw.rewards))


@dataclass(frozen=True)
class FlowProcessed(PostProcessed):
    """Counts of `privatizer` that `flow` makes consistent from step to step; rewards, if any, as they are.

    The claim is the privatizer's: post-processing (Dwork, Roth 2014, Proposition 2.1). It needs constraints of
    `flow.extra` that are made without the data. Outputs (size, layout.cells), one programme for each.
    Raises ParameterError unless both have the same layout.
    """

    privatizer: BatchPrivatizer
    flow: FlowConsistent
    trials_per_block: ClassVar[int] = 100  # one programme for each trial: calls stay short

    def __post_init__(self) -> None:
        if self.flow.layout != self.privatizer.layout:
            raise ParameterError("flow.layout", self.flow.layout, f"the privatizer's, {self.privatizer.layout}")

    def process(self, raw: PrivateCounts) -> Array:
        return self.privatizer.layout.pack(self.flow.solve(raw))
