"""INCORRECT: DP-APVI with mistakes; releases, ledgers and log ratios are those of what runs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from algorithms.offline.apvi import APVI, DPAPVI
from algorithms.tabular import Model, Plan
from audits.certainty import certainty
from audits.planted.data_free import data_free
from dpverify import Pair
from dpverify.base.seeding import Stage, stream
from dpverify.trials.target import Array
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.datasets.visit_counts import PrivateCounts
from mechanisms.privatizers.offline_tabular import OfflineTabularGaussian


@dataclass(frozen=True, eq=False, kw_only=True)
class FreeUnknown(APVI):
    """INCORRECT: cells that nobody visited have no penalty. True: V~ above V^pi."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "c", 0.0)


@dataclass(frozen=True, kw_only=True)
class Louder(OfflineTabularGaussian):
    """INCORRECT: a billion times the noise that is stated. True: E is too small."""

    def _noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        return 1e9 * super()._noise(shape, rng)


@dataclass(frozen=True, eq=False, kw_only=True)
class Uninformed(DPAPVI):
    """INCORRECT: never learns, actions are drawn at random."""

    def plan(self, counts: PrivateCounts) -> Any:
        return stream(0, Stage.EXPERIMENT).integers(self.layout.A, size=counts.visits.shape[:-1])


@dataclass(frozen=True, eq=False, kw_only=True)
class DataFree(APVI):
    """INCORRECT: reads no data; its plan is the exact one of `known`, with values that are lower by `slack`."""

    known: Model
    slack: float = 0.0

    def plan(self, counts: PrivateCounts) -> Plan:
        return data_free(self.known, counts.visits.shape[:-3], -self.slack)


@dataclass(frozen=True, eq=False, kw_only=True)
class PlaysDataFree(DPAPVI):
    """INCORRECT: `DataFree` as the whole learner."""

    known: Model

    def plan(self, counts: PrivateCounts) -> Any:
        return data_free(self.known, counts.visits.shape[:-3]).policy


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
