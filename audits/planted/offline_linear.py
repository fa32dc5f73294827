"""INCORRECT: DP-VAPVI statistics with mistakes; releases, ledgers and log ratios are those of what runs."""

from dataclasses import dataclass

import numpy as np

from dpverify import Pair
from dpverify.trials.target import Array
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.privatizers.offline_linear import OfflineLinear


@dataclass(frozen=True)
class OneDraw:
    """INCORRECT: the noise is drawn once, before the loop over h, as the paper's line 2 reads. True: rho = inf."""

    linear: OfflineLinear

    def release(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> Array:
        fresh = self.linear.release(data, rng=rng, size=size) - self.linear.exact(data)
        steps = fresh.reshape(size, self.linear.noise.H, -1)
        steps[:, 1:] = steps[:, :1]
        return np.asarray(self.linear.exact(data) + fresh)

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """+-inf: only the true dataset explains all steps by one noise."""
        first, second = (self._explains(outputs, each) for each in pair)
        return np.where(first & ~second, np.inf, np.where(second & ~first, -np.inf, 0.0))

    def _explains(self, outputs: Array, data: Trajectories) -> Array:
        steps = (outputs - self.linear.exact(data)).reshape(len(outputs), self.linear.noise.H, -1)
        return np.asarray(np.isclose(steps, steps[:, :1], rtol=0, atol=1e-6).all(axis=(1, 2)))
