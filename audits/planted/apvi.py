"""INCORRECT: DP-APVI with mistakes; releases, ledgers and log ratios are those of what runs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from algorithms.offline.apvi import DPAPVI
from audits.certainty import certainty
from dpverify import Pair
from dpverify.trials.target import Array
from mechanisms.datasets.trajectories import Trajectories


@dataclass(frozen=True, eq=False)
class OneNoiseForAllSteps:
    """INCORRECT: the noise of step 1 is added in every step. True: rho = infinity, steps subtract."""

    learner: DPAPVI

    def release(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> Array:
        exact = self._exact(data)
        fresh = self.learner.layout.unpack(self.learner.release(data, rng=rng, size=size) - exact)
        for family in (fresh.visits, fresh.transitions):
            family[:, 1:] = family[:, :1]
        return np.asarray(exact + self.learner.layout.pack(fresh))

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """+-inf: only the true dataset explains all steps by one noise."""
        first, second = (self._explains(outputs, each) for each in pair)
        return certainty(first, second)

    def _explains(self, outputs: Array, data: Trajectories) -> Any:
        noise = self.learner.layout.unpack(outputs - self._exact(data))
        one_draw = [
            np.isclose(family, family[:, :1], rtol=0, atol=1e-6).reshape(len(outputs), -1).all(axis=1)
            for family in (noise.visits, noise.transitions)
        ]
        return one_draw[0] & one_draw[1]

    def _exact(self, data: Trajectories) -> Array:
        return np.asarray(self.learner.layout.pack(data.counts()), dtype=np.float64)
