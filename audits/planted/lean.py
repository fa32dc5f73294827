"""INCORRECT: `lean` with mistakes; log ratios are those of what runs."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from algorithms.beyond.lean import Lean
from algorithms.beyond.lean_transcripts import LeanView
from audits.certainty import certainty
from dpverify import Pair
from dpverify.ledger import Ledger
from dpverify.trials.target import Array


class _Exact(Lean):
    """The Gram of the first step, the last one that is released, has no noise."""

    def draw(self, h: int, size: int, *, rng: np.random.Generator) -> tuple[Array, Array]:
        vector, gram = super().draw(h, size, rng=rng)
        return vector, gram * (h > 0)


@dataclass(frozen=True, eq=False)
class BareLastGram(LeanView):
    """INCORRECT: one of the 2H statistics has no noise. True: rho = infinity."""

    def __post_init__(self) -> None:
        given = self.learner
        exact = _Exact(features=given.features, horizon=given.horizon, rho=given.rho, penalty=given.penalty)
        object.__setattr__(self, "learner", exact)

    @property
    def ledger(self) -> Ledger | None:
        """Not stated."""
        return None

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """+-inf: the Gram is there to be read."""
        width = self.learner.dimension * (self.learner.dimension + 1) // 2
        seen = outputs[:, -width:]
        one, other = (
            np.isclose(seen, self._means(outputs, data)[:, -width:], rtol=0, atol=1e-9).all(axis=1) for data in pair
        )
        return certainty(one, other)


class _Whole(Lean):
    """Every step spends all of rho."""

    @cached_property
    def sigmas(self) -> Array:
        single = [Lean(features=self.features, horizon=1, rho=self.rho).sigmas[0] for _ in range(self.horizon)]
        tops = np.arange(self.horizon, 0, -1)
        return np.array([[target * top, gram] for (target, gram), top in zip(single, tops, strict=True)])


@dataclass(frozen=True, eq=False)
class OneBudget(LeanView):
    """INCORRECT: the budget is not split over the steps. True: up to H rho."""

    def __post_init__(self) -> None:
        given = self.learner
        whole = _Whole(features=given.features, horizon=given.horizon, rho=given.rho, penalty=given.penalty)
        object.__setattr__(self, "learner", whole)
