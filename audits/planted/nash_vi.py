"""INCORRECT: privatizers of DP-Nash-VI with mistakes. Each log ratio is that of what runs."""

from dataclasses import dataclass

import numpy as np

from audits.certainty import certainty
from dpverify.trials.target import Array
from mechanisms.datasets.visit_counts import CountLayout, ExactCounts, PrivateCounts
from mechanisms.privatizers.central import Central


@dataclass(frozen=True)
class OneNoiseForAllSteps:
    """INCORRECT: the counters of step 1 draw the noise, and every later step adds the same. True: eps = infinity."""

    privatizer: Central

    @property
    def layout(self) -> CountLayout:
        return self.privatizer.layout

    def stream(self, runs: int, *, rng: np.random.Generator) -> "_Copied":
        return _Copied(self.privatizer, runs, rng)

    def transcript_log_ratio(self, outputs: Array, first: Array, second: Array) -> Array:
        """Differences between steps are exact."""
        one, other = (
            np.isclose(self._gaps(outputs), self._gaps(sums), rtol=0, atol=1e-6).all(axis=(1, 2))
            for sums in (first.cumsum(axis=1), second.cumsum(axis=1))
        )
        return certainty(one, other)

    def _gaps(self, flat: Array) -> Array:
        counts = self.layout.unpack(flat)
        runs, rounds = flat.shape[:2]
        blocks = [
            (each[:, :, 1:] - each[:, :, :1]).reshape(runs, rounds, -1) for each in (counts.visits, counts.transitions)
        ]
        return np.concatenate(blocks, axis=-1)


class _Copied:
    def __init__(self, privatizer: Central, runs: int, rng: np.random.Generator) -> None:
        self._layout = privatizer.layout
        self._noise = privatizer.stream(runs, rng=rng)
        self._sums, self._runs = np.zeros((runs, self._layout.cells)), runs

    def feed(self, increments: ExactCounts) -> PrivateCounts:
        self._sums = self._sums + self._layout.pack(increments)
        zeros = self._layout.zeros(self._runs)
        noise = self._noise.feed(ExactCounts(zeros.visits, zeros.transitions))
        sums = self._layout.unpack(self._sums)
        return PrivateCounts(sums.visits + noise.visits[:, :1], sums.transitions + noise.transitions[:, :1])
