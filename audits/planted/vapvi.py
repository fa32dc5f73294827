"""INCORRECT: DP-VAPVI with mistakes; log ratios are those of what runs."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from algorithms.offline.vapvi import Halves, LinearPlan
from algorithms.offline.vapvi_transcripts import Before, StatisticsView
from algorithms.tabular import Model
from audits.certainty import certainty
from audits.planted.data_free import data_free
from dpverify import Pair
from dpverify.trials.target import Array
from mechanisms.privatizers.linear_noise import StepNoise


@dataclass(frozen=True, eq=False)
class RewardsAsCosts:
    """INCORRECT: `learner` is told 1 - r for every reward."""

    learner: Any

    def learn(self, halves: Halves, *, rng: np.random.Generator, size: int) -> LinearPlan:
        fitted = replace(halves.fitted, rewards=halves.fitted.visits - halves.fitted.rewards)
        plan: LinearPlan = self.learner.learn(halves._replace(fitted=fitted), rng=rng, size=size)
        return plan


@dataclass(frozen=True, eq=False)
class Uninformed:
    """INCORRECT: never learns, actions are drawn at random."""

    learner: Any

    def learn(self, halves: Halves, *, rng: np.random.Generator, size: int) -> LinearPlan:
        plan: LinearPlan = self.learner.learn(halves, rng=rng, size=size)
        return plan._replace(policy=rng.integers(self.learner.features.shape[1], size=plan.policy.shape))


@dataclass(frozen=True, eq=False)
class DataFree:
    """INCORRECT: reads no data; its plan is the exact one of `known`, with values that are lower by `slack`."""

    known: Model
    slack: float = 0.0

    def learn(self, halves: Halves, *, rng: np.random.Generator, size: int) -> LinearPlan:
        """`rng` is not used."""
        plan = data_free(self.known, (size,), -self.slack)
        return LinearPlan(plan.policy, plan.values, np.ones(plan.q.shape))


@dataclass(frozen=True, eq=False)
class RawVariance(StatisticsView):
    """INCORRECT: the weights 1/sigma2 come from the exact statistics, not from the noisy ones.

    One user in D' can change sigma2 of a feature, and with it the weight of everybody in D.
    """

    @property
    def ledger(self) -> None:
        """Not stated."""

    def weights(self, halves: Halves, h: int, following: Array, before: Before) -> Array:
        return self.learner.variance(*self.learner.variance_statistics(halves.variance, h, following), h)


@dataclass(frozen=True, eq=False)
class OneDraw(StatisticsView):
    """INCORRECT: noise drawn once before the loop over h, as line 2 reads. True: rho = infinity."""

    @property
    def ledger(self) -> None:
        """Not stated."""

    def draws(self, size: int, *, rng: np.random.Generator) -> list[StepNoise]:
        return [self.noise.draw(size, rng=rng)] * self.learner.horizon

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """+-inf: only the true dataset explains all steps by one noise."""
        return certainty(*(self._explains(outputs - self.means(outputs, data).reshape(outputs.shape)) for data in pair))

    def _explains(self, noise: Array) -> Any:
        steps = noise.reshape(len(noise), self.learner.horizon, -1)
        return np.isclose(steps, steps[:, :1], rtol=0, atol=1e-6).all(axis=(1, 2))


@dataclass(frozen=True, eq=False)
class BareGram(StatisticsView):
    """INCORRECT: one of the 5H statistics, the second Gram of the last step, has no noise. True: rho = infinity."""

    @property
    def ledger(self) -> None:
        """Not stated."""

    def draws(self, size: int, *, rng: np.random.Generator) -> list[StepNoise]:
        fresh = super().draws(size, rng=rng)
        return [replace(fresh[0], gram2=np.zeros(fresh[0].gram2.shape)), *fresh[1:]]

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """+-inf: the Gram is there to be read."""
        width = self.noise.d * (self.noise.d + 1) // 2
        seen = outputs.reshape(len(outputs), self.learner.horizon, -1)[:, 0, -width:]
        one, other = (
            np.isclose(seen, self.means(outputs, data)[:, 0, -width:], rtol=0, atol=1e-9).all(axis=1) for data in pair
        )
        return certainty(one, other)
