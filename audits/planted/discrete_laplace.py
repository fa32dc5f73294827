"""INCORRECT: discrete Laplace noise with mistakes in its calibration or its sign."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dpverify import Relation
from dpverify.ledger import Sensitivity
from mechanisms.releases.discrete_laplace import DiscreteLaplace
from mechanisms.toolbox.query_values import IntArray


@dataclass(frozen=True, kw_only=True)
class HalfTheNoise(DiscreteLaplace):
    """INCORRECT: scale s/(2 eps). True: 2 eps."""

    @classmethod
    def for_claim(cls, eps: float, *, sensitivity: Sensitivity, relation: Relation = Relation.REPLACE_ONE) -> Self:
        return super().for_claim(2 * eps, sensitivity=sensitivity, relation=relation)


def clipped_at_the_truth(data: Any, *, rng: np.random.Generator, size: int) -> IntArray:
    """INCORRECT: |noise| instead of noise, so that counts never shrink. True: no finite eps."""
    mechanism = DiscreteLaplace.for_claim(1.0, sensitivity=Sensitivity(replace=1))
    truth = np.asarray(data, dtype=np.int64)
    counts: IntArray = truth + np.abs(mechanism.release(data, rng=rng, size=size) - truth)
    return counts
