"""INCORRECT: randomised response with wrong probabilities."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mechanisms.toolbox.query_values import IntArray


@dataclass(frozen=True)
class BinaryTruth:
    """INCORRECT: the truth with probability e^eps/(e^eps + 1), right only for k = 2. True: eps + log(k - 1)."""

    eps: float
    k: int

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> IntArray:
        lies = rng.random((size, *np.shape(data))) < 1 / (np.exp(self.eps) + 1)
        reports: IntArray = (np.asarray(data) + lies * rng.integers(1, self.k, size=lies.shape)) % self.k
        return reports


@dataclass(frozen=True)
class LiesThatAreTrue:
    """INCORRECT: a "lie" is uniform over all k values, the truth included. True: log(1 + k e^eps/(k - 1))."""

    eps: float
    k: int

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> IntArray:
        lies = rng.random((size, *np.shape(data))) < (self.k - 1) / (np.exp(self.eps) + self.k - 1)
        return np.where(lies, rng.integers(0, self.k, size=lies.shape), np.asarray(data))
