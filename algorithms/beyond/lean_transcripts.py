"""`lean` as an audit target, white box: both noisy statistics of every step, adaptively composed.

A view is (size, H (d + d(d+1)/2)): steps h = H..1 in the order in which they are released, the target and the upper
triangle of the Gram. V_{h+1} is a function of what was released before, so given a view the means in both worlds are
known, and the ratio is that of Gaussians with the same deviations.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from algorithms.beyond.lean import Lean
from algorithms.offline.data import counts_of_runs
from algorithms.offline.vapvi import Halves
from dpverify.base.rounding import sqrt_up
from dpverify.claims import Pair, Unit, ZCDP
from dpverify.ledger import GaussianNoise, Ledger, Sensitivity, Shift
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.privatizers.linear_noise import symmetric, upper_triangles

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class LeanView:
    """All statistics of `learner`."""

    learner: Lean
    name: str = "lean-statistics"

    @property
    def claim(self) -> ZCDP:
        """rho-zCDP, replacing one trajectory; see `lean`."""
        return ZCDP(
            self.learner.rho, unit=Unit.TRAJECTORY, source="algorithms.beyond.lean: joint worst case of each step"
        )

    @property
    def ledger(self) -> Ledger | None:
        """One Gaussian event a step: its two statistics together, scaled to unit noise."""
        events = []
        for h in range(self.learner.horizon - 1, -1, -1):
            cost = self.learner.step_cost(h)
            moves = Sensitivity(
                replace=Shift(sqrt_up(2 * cost.unit_ball_replace())),
                add_remove=Shift(sqrt_up(2 * cost.unit_ball_absent())),
            )
            what = f"step {h + 1}: target and Gram, scaled to unit noise"
            events.append(GaussianNoise(what=what, sigma=1.0, sensitivity=moves))
        return Ledger(*events)

    def with_noise(self, factor: float) -> Self:
        """The same claim with `factor` times the noise."""
        return replace(self, learner=self.learner.with_noise(factor))

    def release(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> Array:
        """`size` adaptive runs."""
        halves, learner = self._halves(data), self.learner
        following = np.zeros((size, learner.features.shape[0]))
        blocks = []
        for h in range(learner.horizon - 1, -1, -1):
            target, gram = learner.statistics(halves, h, following)
            noise = learner.draw(h, size, rng=rng)
            target, gram = target + noise[0], gram + noise[1]
            following = learner.q_values(target, gram, h).max(axis=-1)
            blocks += [target, upper_triangles(gram)]
        return np.concatenate(blocks, axis=1)

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """Exact: sum of ((y - m2)^2 - (y - m1)^2)/(2 sigma^2) over all cells."""
        first, second = (self._means(outputs, data) for data in pair)
        return np.asarray(((first - second) * (outputs - (first + second) / 2) / self._sigmas**2).sum(axis=1))

    @property
    def _sigmas(self) -> Array:
        d = self.learner.dimension
        rows, columns = np.triu_indices(d)
        shares = np.where(rows == columns, 1.0, 1 / math.sqrt(2))
        steps = reversed(self.learner.sigmas.tolist())
        return np.concatenate([np.concatenate([np.full(d, target), gram * shares]) for target, gram in steps])

    def _means(self, outputs: Array, data: Trajectories) -> Array:
        halves, learner, d = self._halves(data), self.learner, self.learner.dimension
        steps = outputs.reshape(len(outputs), learner.horizon, -1)
        following = np.zeros((len(outputs), learner.features.shape[0]))
        found = np.empty(steps.shape)
        for row, h in enumerate(range(learner.horizon - 1, -1, -1)):
            target, gram = learner.statistics(halves, h, following)
            found[:, row, :d], found[:, row, d:] = target, upper_triangles(gram)
            following = learner.q_values(steps[:, row, :d], symmetric(steps[:, row, d:], d), h).max(axis=-1)
        return found.reshape(len(outputs), -1)

    def _halves(self, data: Trajectories) -> Halves:
        counts = counts_of_runs([data])
        return Halves(counts, counts, max(len(data), 1))
