"""INCORRECT: report-noisy-max with too little noise, or with too much said."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mechanisms.releases.noisy_max import NoisyMax
from mechanisms.releases.selection import score_movement
from mechanisms.toolbox import samplers as sampling
from mechanisms.toolbox.query_values import FloatArray


@dataclass(frozen=True, kw_only=True)
class NoFactorTwo(NoisyMax):
    """INCORRECT: noise of scale s/eps, right only where all scores move the same way. True: 2 eps."""

    @property
    def scale(self) -> float:
        return score_movement(self.sensitivity, self.relation) / self.eps


@dataclass(frozen=True)
class WinningValue:
    """INCORRECT: publishes the largest noisy score itself. True: c eps/2 for c candidates."""

    eps: float

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> FloatArray:
        noisy = np.asarray(data) + 2 / self.eps * sampling.laplace(rng, (size, len(data)))
        largest: FloatArray = noisy.max(axis=1)
        return largest
