"""Assumption 4 on pooled counts: what shuffled optimism promises of its error bound. A trial of a promise is a run."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.beyond.shuffled_optimism import PooledBatches, ShuffledOptimism
from algorithms.core.counting import total_counts
from algorithms.core.environments import Environment
from algorithms.core.protocol import drive
from algorithms.core.users import Episodes, TapeUsers
from algorithms.pucb.promises import Assumption
from dpverify.promises import Outcomes, Promise
from mechanisms.datasets.visit_counts import CountLayout

Array = npt.NDArray[Any]


def pooled_promise(
    environment: Environment,
    learner: ShuffledOptimism,
    batches: PooledBatches,
    *,
    bound: Callable[[int], float] | None = None,
    **options: Any,
) -> Promise:
    """Assumption 4 on the totals after every batch of a run: within E, pair counts never below the truth.

    `bound(pooled)` stands for the learner's `error` (without `error_scale`). The error of a run is its largest one over
    its E; the failure probability is the learner's beta. Needs noise: E = 0 leaves nothing to post-process.
    """
    stated = bound or (lambda pooled: learner.error(batches, pooled))

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        watched = _Pooled(batches, size, stated)
        users = TapeUsers(environment, rng.random((size, learner.episodes, environment.tape_width)))
        drive(learner, watched, users, lead=(size,), rng=rng)
        invariants = {"counts > 0": watched.positive, "pair count is the sum of next-state counts": watched.sums}
        return Outcomes(errors=watched.worst, failed=watched.below, invariants=invariants)

    return Promise(draw=draw, bound=1.0, failure_probability=learner.beta, **options)


@dataclass(eq=False)
class _Pooled(Assumption):
    """The batches, and what was seen of Assumption 4 on their sums."""

    bound: Callable[[int], float]
    pooled: int = 0
    released: Any = 0.0
    true: Any = 0.0

    def variance(self, layout: CountLayout, users: int) -> float:
        """That of the batches."""
        return self.batches.variance(layout, users)  # type: ignore[attr-defined,no-any-return]

    def release(self, episodes: Episodes, layout: CountLayout, *, rng: np.random.Generator) -> Array:
        counts = self.batches.release(episodes, layout, rng=rng)
        self.pooled += 1
        self.released, self.true = self.released + counts, self.true + total_counts(episodes, layout)
        self.compare(self.released, self.true, self.bound(self.pooled), layout)
        return counts
