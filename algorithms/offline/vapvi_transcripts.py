"""DP-VAPVI as an audit target, white box: all 5H noisy statistics, adaptively composed.

A view is (size, H width): steps h = H..1 in the order in which they are released; within a step sum phi V^2,
sum phi V, the first Gram, sum phi (r + V)/sigma2, the second Gram, Grams as upper triangles. V_{h+1} and
sigma2 are functions of what was released before, so given a view the means in both worlds are known and the
ratio is that of Gaussians with the same deviations.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from algorithms.offline.vapvi import Halves, VAPVI
from dpverify.claims import Pair, ZCDP
from dpverify.errors import ParameterError
from dpverify.ledger import Ledger
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.privatizers.linear_noise import LinearNoise, StepNoise, symmetric, upper_triangles
from mechanisms.privatizers.offline_linear import OfflineLinear

Array = npt.NDArray[Any]


class Before(NamedTuple):
    """What the variance of a step is computed from."""

    second: Array
    first: Array
    gram: Array


@dataclass(frozen=True, eq=False)
class StatisticsView:
    """All statistics of `learner`, which must have noise. `unit_ball`: see `OfflineLinear`."""

    learner: VAPVI
    unit_ball: bool = True
    name: str = "vapvi-statistics"

    def __post_init__(self) -> None:
        if self.learner.noise is None:
            raise ParameterError("learner.noise", None, "LinearNoise: exact statistics have no density")

    @property
    def noise(self) -> LinearNoise:
        """The learner's noise."""
        assert self.learner.noise is not None
        return self.learner.noise

    @property
    def statistics(self) -> OfflineLinear:
        """The same release with V fixed to 0: its claim and ledger hold for every V and every sigma2 >= 1."""
        nothing = np.zeros((self.learner.horizon, self.learner.features.shape[0]))
        return OfflineLinear(
            noise=self.noise,
            features=self.learner.features,
            values=nothing,
            split=self.learner.split,
            unit_ball=self.unit_ball,
        )

    @property
    def claim(self) -> ZCDP:
        """rho-zCDP, Theorem 4.1."""
        return self.statistics.claim

    @property
    def ledger(self) -> Ledger | None:
        """Per step, jointly: see `OfflineLinear.ledger`."""
        return self.statistics.ledger

    @property
    def sigmas(self) -> Array:
        """(width,) deviations of one step."""
        vectors, d = self.noise.vector_sigmas, self.noise.d
        grams = self.noise.triangle_sigmas
        return np.concatenate([np.full(d, vectors[0]), np.full(d, vectors[1]), grams, np.full(d, vectors[2]), grams])

    def release(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> Array:
        """`size` adaptive runs."""
        halves, learner = self.learner.halves(data), self.learner
        following = np.zeros((size, learner.features.shape[0]))
        blocks = []
        for draws, h in zip(self.draws(size, rng=rng), range(learner.horizon - 1, -1, -1), strict=True):
            second, first, gram = learner.variance_statistics(halves.variance, h, following)
            before = Before(second + draws.phi1, first + draws.phi2, gram + draws.gram1)
            target, weighted = learner.fitted_statistics(
                halves.fitted, h, following, self.weights(halves, h, following, before)
            )
            after = (target + draws.phi3, weighted + draws.gram2)
            following = learner.q_values(*after, h, halves.users).max(axis=-1)
            blocks.append(
                np.concatenate([*before[:2], upper_triangles(before.gram), after[0], upper_triangles(after[1])], axis=1)
            )
        return np.concatenate(blocks, axis=1)

    def draws(self, size: int, *, rng: np.random.Generator) -> list[StepNoise]:
        """Fresh noise for every step."""
        return [self.noise.draw(size, rng=rng) for _ in range(self.learner.horizon)]

    def weights(self, halves: Halves, h: int, following: Array, before: Before) -> Array:
        """sigma2 from what was released."""
        return self.learner.variance(*before, h) if self.learner.weighted else np.ones((*before.first.shape[:1], 1, 1))

    def means(self, outputs: Array, data: Trajectories) -> Array:
        """What the statistics would be without noise, given the transcript: (size, H, width)."""
        halves, learner = self.learner.halves(data), self.learner
        steps = outputs.reshape(len(outputs), learner.horizon, -1)
        following = np.zeros((len(outputs), learner.features.shape[0]))
        found = np.empty(steps.shape)
        for row, h in enumerate(range(learner.horizon - 1, -1, -1)):
            before, after = self._parts(steps[:, row])
            exact = learner.variance_statistics(halves.variance, h, following)
            target, gram = learner.fitted_statistics(
                halves.fitted, h, following, self.weights(halves, h, following, before)
            )
            parts = [*exact[:2], upper_triangles(exact[2]), target, upper_triangles(gram)]
            found[:, row] = np.concatenate([np.broadcast_to(p, (len(outputs), p.shape[1])) for p in parts], axis=1)
            following = learner.q_values(*after, h, halves.users).max(axis=-1)
        return found

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """Exact: sum of ((y - m2)^2 - (y - m1)^2)/(2 sigma^2) over all cells."""
        first, second = (self.means(outputs, data) for data in pair)
        steps = outputs.reshape(first.shape)
        return np.asarray(((first - second) * (steps - (first + second) / 2) / self.sigmas**2).sum(axis=(1, 2)))

    def _parts(self, step: Array) -> tuple[Before, tuple[Array, Array]]:
        d = self.noise.d
        ends = np.cumsum([d, d, d * (d + 1) // 2, d])
        second, first, gram1, target, gram2 = np.split(step, ends, axis=1)
        return Before(second, first, symmetric(gram1, d)), (target, symmetric(gram2, d))
