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
    """A Batched releases an OpenDP measurement on a vector domain many times in one call.

    The measurement must add independent noise to each coordinate. `size` releases on data of v numbers are one release
    on a vector of size * v numbers.

    Parameters
    ----------
    measurement : opendp.Measurement
        A measurement on vectors, such as that of `make_laplace` on a vector domain.
    name : str
        Name of the target in reports.
    notes : tuple of str
        Are added to the notes of its records. By default they say that the releases cannot be replayed.

    Notes
    -----
    One release on the long vector has the law of `size` releases exactly where the noise of each coordinate is
    independent of the others and of the length, as it is for Laplace, Gaussian and geometric noise. It has not for
    anything that sorts, truncates by rank, or sums.

    Examples
    --------
    >>> import numpy as np
    >>> import opendp.prelude as dp
    >>> from dpverify.adapters.opendp import Batched
    >>> dp.enable_features("contrib")
    >>> space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    >>> target = Batched(dp.m.make_laplace(*space, scale=1.0))
    >>> target.release([3, 5], rng=np.random.default_rng(1), size=4).shape
    (4, 2)
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
    """A OneByOne releases any OpenDP measurement, by one call for each trial.

    Parameters
    ----------
    measurement : opendp.Measurement
        Its releases are numbers, strings, or lists of equal length.
    name : str
        Name of the target in reports.
    notes : tuple of str
        Are added to the notes of its records. By default they say that the releases cannot be replayed.

    Examples
    --------
    >>> import numpy as np
    >>> import opendp.prelude as dp
    >>> from dpverify.adapters.opendp import OneByOne
    >>> dp.enable_features("contrib")
    >>> target = OneByOne(dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0))
    >>> target.release(3, rng=np.random.default_rng(1), size=4).shape
    (4,)
    """

    measurement: Any
    name: str = "opendp"
    notes: tuple[str, ...] = (UNSEEDED,)
    reproducible: ClassVar[bool] = False

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> Array:
        """`size` calls."""
        return np.stack([np.asarray(self.measurement(data)) for _ in range(size)])


def claim_of(measurement: Any, d_in: Any, **carried: Any) -> Claim:
    """Read the claim that OpenDP makes about a measurement: its privacy map at one input distance.

    Parameters
    ----------
    measurement : opendp.Measurement
        A measurement of pure DP, approximate DP or zCDP.
    d_in : number
        How far the inputs of neighbours are apart, in the measurement's own input metric.
    **carried : fields of `Claim`
        Are handed on: relation, view, source and so on.

    Returns
    -------
    PureDP, ApproxDP or ZCDP
        The claim.

    Raises
    ------
    UsageError
        For a measure that is none of the three, and where OpenDP is not installed.

    Examples
    --------
    >>> import opendp.prelude as dp
    >>> from dpverify.adapters.opendp import claim_of
    >>> dp.enable_features("contrib")
    >>> measurement = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=2.0)
    >>> str(claim_of(measurement, 1))
    'pure:0.5'
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
