"""The error bound of a continual counter as a promise that trials can check."""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dpverify.promises import Outcomes, Promise
from mechanisms.counters.stream import Stream

Array = npt.NDArray[Any]


class Prefixes(Protocol):
    """A counter that can be read as prefix counts."""

    def release(self, data: Stream, *, rng: np.random.Generator, size: int) -> Array: ...

    def counts(self, released: Array) -> Array:
        """(size, R, *cells) prefix counts of a release."""
        ...


def prefix_promise(counter: Prefixes, data: Stream, bound: float, beta: float, **options: Any) -> Promise:
    """With probability >= 1 - beta no prefix of any cell is off by more than `bound`; `options` go to Promise."""
    true = np.cumsum(data.values, axis=0)

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        counts = counter.counts(counter.release(data, rng=rng, size=size))
        errors = np.abs(counts - true[: counts.shape[1]])
        return Outcomes(errors.reshape(size, -1).max(axis=1))

    return Promise(draw=draw, bound=bound, failure_probability=beta, **options)
