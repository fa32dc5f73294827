"""INCORRECT: private offline counts with mistakes; releases, ledgers and log ratios are those of what runs."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpverify import Pair
from dpverify.base.rounding import div_up, sqrt_up
from dpverify.trials.target import Array
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.privatizers.offline_tabular import OfflineTabularGaussian, OfflineTabularLaplace


@dataclass(frozen=True, kw_only=True)
class VisitsOnlyBudget(OfflineTabularGaussian):
    """INCORRECT: sigma^2 = H/rho, the whole rho spent on each family. True: 2 rho."""

    @property
    def sigma(self) -> float:
        return sqrt_up(Fraction(self.layout.H) / Fraction(self.rho))


@dataclass(frozen=True, kw_only=True)
class AddRemoveScale(OfflineTabularLaplace):
    """INCORRECT: Lap(2H/eps), the l1 distance of adding a trajectory. True: 2 eps."""

    @property
    def scale(self) -> float:
        return div_up(2 * self.layout.H, self.eps)


@dataclass(frozen=True)
class SummedTransitions:
    """INCORRECT: releases sum_s' n(s,a,s') exactly instead of noising n(s,a). True: rho = inf."""

    tabular: OfflineTabularGaussian

    def release(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> Array:
        noisy = self.tabular.release(data, rng=rng, size=size)
        noisy[:, : self.tabular.layout.tuples] = data.counts().visits.ravel()
        return noisy

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """+-inf: the visits are there to be read."""
        seen = outputs[:, : self.tabular.layout.tuples]
        first, second = ((seen == each.counts().visits.ravel()).all(axis=1) for each in pair)
        return np.where(first & ~second, np.inf, np.where(second & ~first, -np.inf, 0.0))
