"""INCORRECT: continual counters with mistakes; releases and log ratios are those of what runs."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from dpverify.base.rounding import div_up
from dpverify.trials.target import Array
from mechanisms.counters import BinaryCounter, dyadic, GaussianNoiseLaw, LaplaceNoiseLaw, Stream, ToeplitzCounter


def half_noise(counter: Any) -> Any:
    """INCORRECT: Laplace noise of half the scale. True: 2 eps."""
    return replace(counter, noise=LaplaceNoiseLaw(counter.noise.scale / 2))


@dataclass(frozen=True, kw_only=True)
class OneNodeTooFew(BinaryCounter):
    """INCORRECT: an item is counted in floor(log2 R) nodes. True: eps L/(L - 1)."""

    @classmethod
    def for_claim(cls, eps: float, releases: int) -> Self:
        return cls(releases=releases, noise=LaplaceNoiseLaw(div_up(dyadic.levels(releases) - 1, eps)))


@dataclass(frozen=True)
class NoiseReusedBetweenLevels:
    """INCORRECT: a node gets the noise of its left half again. True: eps = inf, node differences are bare."""

    counter: BinaryCounter

    def release(self, data: Stream, *, rng: np.random.Generator, size: int) -> Array:
        noise = self.counter.noise.draw(len(data), (size,), rng=rng)
        for end in range(1, len(data) + 1):
            if (half := (end & -end) // 2) > 0:
                noise[end - 1] = noise[end - 1 - half]
        nodes = dyadic.node_sums(data.values)[:, None] + noise
        return np.ascontiguousarray(dyadic.prefixes(nodes).T)


@dataclass(frozen=True)
class ZerosNotFed:
    """INCORRECT: an item of 0 is not fed: the count stays and the counter's clock with it.

    This is what PUCB's Algorithm 2, line 152, says about its reward counters. True: eps = inf: the count moves iff
    the item was not 0.
    """

    counter: BinaryCounter

    def release(self, data: Stream, *, rng: np.random.Generator, size: int) -> Array:
        stream = self.counter.stream(size, rng=rng)
        count, outputs = np.zeros(size), []
        for item in data.values:
            count = stream.feed(np.full(size, item)) if item else count
            outputs.append(count)
        return np.stack(outputs, axis=1)


@dataclass(frozen=True, kw_only=True)
class LastColumn(ToeplitzCounter):
    """INCORRECT: sigma for the last column of the factor, norm 1. True: rho times the first column's square norm."""

    @classmethod
    def for_claim(cls, rho: float, releases: int) -> Self:
        return cls(releases=releases, noise=GaussianNoiseLaw((1 / (2 * rho)) ** 0.5))
