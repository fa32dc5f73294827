"""One Laplace draw added to every prefix: the negative control of PUCB, section 2.2.

Mechanism   xi ~ Lap(1/eps) once; output(t) = sum_{i <= t} x_i + xi for t = `first_seen`..R
Claim       eps-DP for whoever sees only outputs after the changed item (the future-only joint DP of Shariff and
            Sheffet 2018): all of them shift by the same amount. FALSE under continual observation: users t - 1
            and t + 1 subtract their views and read user t's item, output(t+1) - output(t-1) - x_{t+1} = x_t.
            No finite eps, delta = 1.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.base.rounding import div_up
from dpverify.claims import Pair
from dpverify.errors import ParameterError, TargetError
from dpverify.ledger import Exposed, Ledger
from mechanisms.counters.dyadic_counter import changed_cells, checked_values
from mechanisms.counters.stream import Stream
from mechanisms.toolbox.noise_laws import LaplaceNoiseLaw

Array = npt.NDArray[Any]
_ROUNDING = 1e-6  # differences of outputs are exact up to float rounding, items differ by whole numbers


@dataclass(frozen=True, kw_only=True)
class SingleNoiseCounter:
    """One counter, one draw of noise for all prefixes; shape (size, R - first_seen + 1)."""

    releases: int
    eps: float
    first_seen: int = 1

    cells = ()
    touches = 1

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.integer(at_least=1, releases=self.releases, first_seen=self.first_seen)
        require.positive(eps=self.eps)
        if self.first_seen > self.releases:
            raise ParameterError("first_seen", self.first_seen, f"at most releases = {self.releases}")

    @property
    def noise(self) -> LaplaceNoiseLaw:
        """Lap(1/eps)."""
        return LaplaceNoiseLaw(div_up(1, self.eps))

    @property
    def weights(self) -> tuple[Array, Array]:
        """One draw in every output."""
        return np.ones(self.releases), np.ones(self.releases)

    @property
    def ledger(self) -> Ledger:
        """Two outputs and the one draw are known up to data: the differences carry no noise at all."""
        if self.first_seen == self.releases:
            return Ledger(self.noise.event("the only prefix that is seen", changed_cells(1, ())))
        return Ledger(Exposed(what="differences of outputs"))

    def release(self, data: Stream, *, rng: np.random.Generator, size: int) -> Array:
        """`size` independent runs over the stream."""
        exact = np.cumsum(checked_values(data, self))[self.first_seen - 1 :]
        noisy: Array = exact + self.noise.draw(1, (size, 1), rng=rng)[0]
        return noisy

    def counts(self, released: Array) -> Array:
        """The outputs are the counts."""
        return released

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """+-inf where the differences of outputs fit one dataset only, else Laplace's ratio at the first output.

        For items that are whole numbers. TargetError for an output that neither dataset can give.
        """
        first, second = (np.cumsum(checked_values(data, self))[self.first_seen - 1 :] for data in pair)
        one, other = (self._fits(outputs, exact) for exact in (first, second))
        if not (one | other).all():
            raise TargetError("an output that neither dataset can give")
        start = np.s_[:, :1]
        shared = self.noise.log_ratio(outputs[start], first[None][start], second[None][start])
        return np.select([one & other, one], [shared, np.inf], default=-np.inf)

    def _fits(self, outputs: Array, exact: Array) -> Array:
        gaps: Array = np.abs(np.diff(outputs, axis=1) - np.diff(exact))
        fits: Array = gaps.max(axis=1, initial=0.0) < _ROUNDING
        return fits
