"""OpenDP measurements as targets.

    target = Batched(measurement)      vector domain, noise independent for each coordinate
    target = OneByOne(measurement)     any measurement; a call for each trial
    claim  = claim_of(measurement, d_in, relation=...)

OpenDP draws from the operating system, so its releases cannot be replayed: a record repeats its verdict with
the stated confidence, not its numbers. The record says so.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpverify.adapters.functions import needed, UNSEEDED
from dpverify.claims.claim import ApproxDP, Claim, PureDP, ZCDP
from dpverify.errors import ParameterError, UsageError

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Batched:
    """A measurement on a vector domain that adds independent noise to each coordinate.

    `size` releases on data of v numbers are one release on a vector of size * v numbers. That is the same law
    exactly where the noise of each coordinate is independent of the others and of the length, as it is for
    Laplace, Gaussian and geometric noise. It is not for anything that sorts, truncates by rank, or sums.
    """

    measurement: Any
    name: str = "opendp"
    notes: tuple[str, ...] = (UNSEEDED,)
    reproducible: ClassVar[bool] = False

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> Array:
        """`size` releases; data is a number or a flat array of numbers."""
        values = np.asarray(data)
        if values.ndim > 1:
            raise ParameterError("data", data, "a number or a flat array")
        released = np.asarray(self.measurement(np.tile(values.ravel(), size).tolist()))
        return released.reshape(size, *values.shape)


@dataclass(frozen=True)
class OneByOne:
    """Any measurement whose releases are numbers, strings, or lists of equal length; one call a trial."""

    measurement: Any
    name: str = "opendp"
    notes: tuple[str, ...] = (UNSEEDED,)
    reproducible: ClassVar[bool] = False

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> Array:
        """`size` calls."""
        return np.stack([np.asarray(self.measurement(data)) for _ in range(size)])


def claim_of(measurement: Any, d_in: Any, **carried: Any) -> Claim:
    """What OpenDP says about inputs at distance `d_in`: its privacy map as a claim.

    `carried` is handed on (relation, view, source). UsageError for a measure that is none of the three.
    """
    dp = needed("opendp.prelude", "opendp")
    measure, d_out = measurement.output_measure, measurement.map(d_in)
    if measure == dp.max_divergence():
        return PureDP(d_out, **carried)
    if measure == dp.zero_concentrated_divergence():
        return ZCDP(d_out, **carried)
    if measure == dp.approximate(dp.max_divergence()):
        return ApproxDP(*d_out, **carried)
    raise UsageError(f"{measure}: must be MaxDivergence, Approximate(MaxDivergence) or ZeroConcentratedDivergence")
