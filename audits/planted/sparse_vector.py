"""INCORRECT: four published sparse vector algorithms, as printed side by side in Lyu, Su, Li 2017, Figure 1."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpverify.ledger import Ledger, PureStep, Sensitivity
from mechanisms.releases.selection import score_movement
from mechanisms.releases.sparse_vector import SparseVector
from mechanisms.toolbox import samplers as sampling
from mechanisms.toolbox.query_values import FloatArray, IntArray


def _as_published(eps: float) -> Ledger:
    """What the authors would declare: their theorem says eps."""
    return Ledger(PureStep(what="sparse vector", eps=eps, uses=Sensitivity(replace=1)))


@dataclass(frozen=True)
class Algorithm3:
    """INCORRECT (Roth 2011): publishes the noisy answer that was compared. No finite eps for all inputs.

    Sensitivity 1, threshold 0, cutoff 1. Outputs (size, 2): index of the first ABOVE, its noisy answer.
    """

    eps: float

    @property
    def ledger(self) -> Ledger:
        return _as_published(self.eps)

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> FloatArray:
        bar = 2 / self.eps * sampling.laplace(rng, (size, 1))
        noisy = np.asarray(data) + 2 / self.eps * sampling.laplace(rng, (size, len(data)))
        above = noisy >= bar
        first = np.where(above.any(axis=1), above.argmax(axis=1), len(data))
        answer = np.append(noisy, np.zeros((size, 1)), axis=1)[np.arange(size), first]
        return np.stack([first.astype(np.float64), answer], axis=1)


@dataclass(frozen=True, kw_only=True)
class Algorithm4(SparseVector):
    """INCORRECT (Lee, Clifton 2014): query noise does not grow with the cutoff. True: (1 + 6c)/4 eps."""

    @property
    def ledger(self) -> Ledger:
        return _as_published(self.eps)

    @property
    def threshold_scale(self) -> float:
        return 4 * score_movement(self.sensitivity, self.relation) / self.eps

    @property
    def query_scale(self) -> float:
        return 4 * score_movement(self.sensitivity, self.relation) / (3 * self.eps)


@dataclass(frozen=True)
class Algorithm5:
    """INCORRECT (Stoddard, Chen, Machanavajjhala 2014): no query noise, no cutoff. No finite eps.

    Sensitivity 1, threshold 0.
    """

    eps: float

    @property
    def ledger(self) -> Ledger:
        return _as_published(self.eps)

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> IntArray:
        bar = 2 / self.eps * sampling.laplace(rng, (size, 1))
        return (np.asarray(data) >= bar).astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class Algorithm6(SparseVector):
    """INCORRECT (Chen, Xiao, Zhang, Xu 2015): no cutoff. No finite eps for all inputs.

    `cutoff` must be set to the number of queries; the query noise ignores it.
    """

    @property
    def ledger(self) -> Ledger:
        return _as_published(self.eps)

    @property
    def query_scale(self) -> float:
        return 2 * score_movement(self.sensitivity, self.relation) / self.eps
