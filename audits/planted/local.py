"""INCORRECT: local messages with mistakes in their noise; releases and log ratios are those of what runs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpverify import Pair
from dpverify.trials.target import Array
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.privatizers.local import Local


@dataclass(frozen=True)
class SharedNoise:
    """INCORRECT: each visit and its transitions share one noise. True: eps = inf where S > 1 (cells subtract)."""

    local: Local

    def release(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> Array:
        noise = rng.laplace(scale=self.local.scale, size=(size, self.local.layout.tuples))
        copies = np.repeat(noise, self.local.layout.S, axis=1)
        return np.asarray(_exact(self.local, data) + np.concatenate([noise, copies], axis=1))

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """+-inf: only the true dataset explains all copies by one noise."""
        return _certainty(self._explains(outputs, pair.first), self._explains(outputs, pair.second))

    def _explains(self, outputs: Array, data: Trajectories) -> Array:
        noise = outputs - _exact(self.local, data)
        first = np.repeat(noise[:, : self.local.layout.tuples], self.local.layout.S, axis=1)
        return np.asarray(np.isclose(noise[:, self.local.layout.tuples :], first, rtol=0, atol=1e-6).all(axis=1))


@dataclass(frozen=True)
class BareVisits:
    """INCORRECT: only the transition indicators are noised. True: eps = inf."""

    local: Local

    def release(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> Array:
        message = self.local.release(data, rng=rng, size=size)
        message[:, : self.local.layout.tuples] = data.counts().visits.ravel()
        return message

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """+-inf: the visits are there to be read."""
        seen = outputs[:, : self.local.layout.tuples]
        first, second = ((seen == each.counts().visits.ravel()).all(axis=1) for each in pair)
        return _certainty(first, second)


@dataclass(frozen=True)
class SparseNoise:
    """INCORRECT: cells that were not visited are sent as exact zeros. True: eps = inf."""

    local: Local

    def release(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> Array:
        return np.where(_exact(self.local, data) > 0, self.local.release(data, rng=rng, size=size), 0.0)

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """+-inf: the pattern of zeros is the message."""
        first, second = (((outputs != 0) == (_exact(self.local, each) > 0)).all(axis=1) for each in pair)
        return _certainty(first, second)


def _exact(local: Local, data: Trajectories) -> Array:
    return local.layout.pack(data.counts())


def _certainty(first: Any, second: Any) -> Array:
    """+inf where only the first dataset is possible, -inf where only the second, 0 where both are."""
    return np.where(first & ~second, np.inf, np.where(second & ~first, -np.inf, 0.0))
