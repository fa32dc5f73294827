"""Query + noise, for every law of noise: release, log ratio, ledger. The subclasses have the proofs."""

from abc import ABC, abstractmethod
from dataclasses import asdict, replace
from typing import Any, ClassVar, Self

import numpy as np

from dpverify import Pair, Relation
from dpverify.base import require
from dpverify.ledger import Ledger, Sensitivity
from mechanisms.toolbox import query_values as queries
from mechanisms.toolbox.noise_laws import Array, Noise
from mechanisms.toolbox.query_values import FloatArray


class Additive(ABC):
    """M(D) = q(D) + Z, coordinates of Z independent, of the law `noise`; its fields are fields of the mechanism too.

    Shapes   data: numbers of any shape v, integers where `whole`; outputs: (size, *v), float64 or int64.
    """

    sensitivity: Sensitivity
    relation: Relation
    whole: ClassVar[bool] = False

    @property
    @abstractmethod
    def noise(self) -> Noise:
        """The law of one coordinate's noise; ParameterError for a width that is none."""

    def __post_init__(self) -> None:
        require.own_numbers(self)
        _ = self.noise
        queries.checked_sensitivity(self.sensitivity, self.relation)

    def with_noise(self, factor: float) -> Self:
        """The same mechanism with `factor` > 0 times its noise: what measured power is measured on."""
        return replace(self, **asdict(self.noise.with_noise(factor)))  # type: ignore[type-var, call-overload]

    @property
    def ledger(self) -> Ledger:
        """One event of the noise."""
        return Ledger(self.noise.event("query", self.sensitivity))

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> Array:
        values = queries.wholes(data) if self.whole else queries.reals(data)
        noisy: Array = self.noise.draw(1, (size, *values.shape), rng=rng)[0]
        noisy += values
        return noisy

    def log_ratio(self, outputs: Any, pair: Pair) -> FloatArray:
        """log p(o - q) - log p(o - q') of the noise, summed over coordinates; those with q = q' give 0."""
        seen, first, second = (queries.whole_side_by_side if self.whole else queries.coordinates_of_pair)(outputs, pair)
        moved = first != second
        with np.errstate(invalid="ignore"):
            ratio: FloatArray = self.noise.log_ratio(seen[:, moved], first[moved], second[moved])
        return np.nan_to_num(ratio, nan=0.0, posinf=np.inf, neginf=-np.inf)  # inf - inf: no evidence
