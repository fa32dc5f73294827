"""A source of no randomness: with it a mechanism with symmetric noise releases what it would without noise.

At the exact answer for the first dataset the log ratio of a release with Laplace noise is its largest, the sum of
|move|/scale over coordinates, and with Gaussian noise it is mu^2/2. So the log ratio of a mechanism, which its
own tests compare with its sampler, says how much really moves, along one whole adaptive run if need be.
"""

from typing import Any

import numpy as np

from dpverify import Pair


class Silent:
    """The draws that the mechanisms use; symmetric ones are 0, uniform ones in the middle."""

    def normal(self, loc: float = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return np.zeros(size)

    def standard_normal(self, size: Any = None) -> Any:
        return np.zeros(size)

    def standard_exponential(self, size: Any = None) -> Any:
        return np.zeros(size)

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
        return np.zeros(size)

    def negative_binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        return np.zeros(size, dtype=np.int64)

    def random(self, size: Any = None) -> Any:
        return np.full(size, 0.5)

    def integers(self, low: Any, high: Any = None, size: Any = None, **_: Any) -> Any:
        return np.zeros(size, dtype=np.uint64 if high == 2**64 else np.int64)


def ratio_at_the_truth(target: Any, pair: Pair, quiet: Any = None) -> float:
    """log ratio at the noiseless release of the first dataset; `quiet` releases it where `target` cannot."""
    outputs = (quiet or target).release(pair.first, rng=Silent(), size=1)
    return float(target.log_ratio(outputs, pair)[0])
