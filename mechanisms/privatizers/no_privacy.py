"""Exact counts in the privatizers' clothes: the non-private baseline, E = 0.

Mechanism   releases the counts as they are.
Claim       none that holds; `claim` is the eps that it pretends to, so that the auditor has something to refute.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify import Pair, PureDP, Unit
from dpverify.base import require
from dpverify.ledger import Exposed, Ledger
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.datasets.visit_counts import CountLayout, ExactCounts, PrivateCounts

Array = npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class NoPrivacy:
    """Exact counts, with rewards where the layout has them."""

    layout: CountLayout
    pretended_eps: float = 1.0

    @property
    def claim(self) -> PureDP:
        """False for every eps."""
        return PureDP(self.pretended_eps, unit=Unit.TRAJECTORY, source="no source: nobody claims this")

    @property
    def ledger(self) -> Ledger:
        """Everything is exposed."""
        return Ledger(Exposed(what="all counts"))

    def release(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> Array:
        """`size` copies of the flat exact counts."""
        return np.tile(self._exact(data), (size, 1)).astype(float)

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """+-inf where the counts differ, 0 where they do not."""
        first, second = ((outputs == self._exact(each)).all(axis=1) for each in pair)
        return np.where(first & ~second, np.inf, np.where(second & ~first, -np.inf, 0.0))

    def private_counts(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> PrivateCounts:
        """Exact counts, leading axis `size`."""
        return self.layout.unpack(self.release(data, rng=rng, size=size))

    def stream(self, runs: int, *, rng: np.random.Generator) -> "ExactStream":
        """Running exact counts."""
        require.integer(at_least=1, runs=runs)
        return ExactStream(self.layout, runs)

    def noise_bound(self, beta: float) -> float:
        """0: there is no noise."""
        require.open_unit(beta=beta)
        return 0.0

    def error_bound(self, beta: float) -> float:
        """0."""
        return self.noise_bound(beta)

    def _exact(self, data: Trajectories) -> Array:
        return self.layout.pack(data.counts(rewards=self.layout.rewards))


class ExactStream:
    """Running sums of increments."""

    def __init__(self, layout: CountLayout, runs: int) -> None:
        self._layout, self._sums = layout, np.zeros((runs, layout.cells))

    def feed(self, increments: ExactCounts) -> PrivateCounts:
        """Exact counts after one more episode in each run."""
        self._sums = self._sums + self._layout.pack(increments)
        return self._layout.unpack(self._sums)
