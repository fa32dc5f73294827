"""INCORRECT on purpose: noise on the nodes of a counter that is not what its ledger says; for the tap at full size."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mechanisms.counters.node_noise import Laplace

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class SlightlyLess(Laplace):
    """INCORRECT: draws 99 % of what it says."""

    def draw(self, steps: int, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        return 0.99 * super().draw(steps, shape, rng=rng)


@dataclass(frozen=True)
class SharedByCells(Laplace):
    """INCORRECT: one draw for all cells of a step."""

    def draw(self, steps: int, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        return np.broadcast_to(super().draw(steps, (*shape[:-1], 1), rng=rng), (steps, *shape))


@dataclass(frozen=True)
class OneDrawForAll(Laplace):
    """INCORRECT: the draw of the first step is used in every step."""

    _kept: list[Array] = field(default_factory=list, compare=False)

    def draw(self, steps: int, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        if not self._kept:
            self._kept.append(super().draw(1, shape, rng=rng))
        return np.broadcast_to(self._kept[0], (steps, *shape))
