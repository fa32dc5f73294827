"""INCORRECT: the Central privatizer with mistakes; releases and log ratios are those of what runs."""

from dataclasses import dataclass, replace

import numpy as np

from dpverify.trials.target import Array
from mechanisms.counters import Stream
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.privatizers.central import Central


def half_noise(central: Central) -> Central:
    """INCORRECT: half the scale. True: 2 eps."""
    return replace(central, scale=central.scale / 2)


def add_remove_scale(central: Central) -> Central:
    """INCORRECT: scaled for the 2H cells of an absent user. True: D/(2H) eps for a replaced one."""
    moved = central.ledger.events[0].sensitivity  # type: ignore[attr-defined]
    return replace(central, scale=central.scale * moved.add_remove[0].count / moved.replace[0].count)


@dataclass(frozen=True)
class SummedVisits:
    """INCORRECT: visit counts are sums of the exact transition counts, so they carry no noise. True: eps = inf."""

    central: Central

    def release(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> Array:
        released = self.central.release(data, rng=rng, size=size)
        tuples = self.central.layout.tuples
        released[..., :tuples] = np.cumsum(self._exact(data).values, axis=0)[:, :tuples]
        return released

    def _exact(self, data: Trajectories) -> Stream:
        return Stream(self.central.layout.pack(data.per_user())[: self.central.releases])


@dataclass(frozen=True)
class SharedNoise:
    """INCORRECT: one noise stream for all cells: differences of cells are bare. True: eps = inf."""

    central: Central

    def release(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> Array:
        counter = replace(self.central.counter, cells=(), touches=1)
        noise = counter.release(Stream(np.zeros(self.central.releases)), rng=rng, size=size)
        increments = self.central.layout.pack(data.per_user())[: self.central.releases]
        summed: Array = np.cumsum(increments, axis=0) + noise[..., None]
        return summed
