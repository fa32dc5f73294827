"""A tree counter with a smaller variance for the same privacy (Honaker 2015; Kairouz et al. 2021, appendix B).

Mechanism   noise *every* complete dyadic interval, (t - 2^i, t] for all i with 2^i | t, not only the largest
            one that ends at t; estimate an interval from itself and from its two halves,
                est(t, 0) = node(t, 0),    est(t, i) = v_i node(t, i) + (1 - v_i)(est of left + right half),
                v_0 = 1,    v_i = 2 v_{i-1}/(2 v_{i-1} + 1) = 2^i/(2^{i+1} - 1),
            and add up the estimates of t's binary expansion.
Error       est(t, i) has variance v_i sigma^2 instead of sigma^2, v_i -> 1/2: the best linear unbiased estimate
            from below. Time t: sigma^2 sum over the set bits i of t of v_i.
Claim       (D L / b)-DP with Lap(b), the same as `binary`: item 1 lies in the intervals (0, 2^i] <= R, which are
            L = floor(log2 R) + 1, and no item lies in two intervals of one length.
Note        Algorithm 5 (`binary`) noises R nodes for R prefixes. That is a bijection: nothing is redundant and
            nothing can be averaged. The 2R - popcount(R) nodes here cost no privacy, because the extra ones
            contain only items that had nodes to spare.
View        the noisy nodes, (size, nodes, *cells), in order of (end, length); `counts` makes the prefixes.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.claims import Pair
from dpverify.errors import ParameterError, UsageError
from mechanisms.counters import dyadic
from mechanisms.counters.dyadic_counter import checked_values, DyadicCounter
from mechanisms.counters.stream import Stream

Array = npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class HonakerCounter(DyadicCounter):
    """Full-tree counter for `releases` time steps; see the module for formula, claim and proof."""

    nodes: ClassVar[str] = "nodes of the full tree"

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """Position of node (t, 0) for t = 1..R; node (t, i) comes i later. Last entry: the number of nodes."""
        ends = np.arange(1, self.releases + 1)
        return np.concatenate([[0], np.cumsum(1 + _trailing_zeros(ends))])

    @property
    def weights(self) -> tuple[Array, Array]:
        """l2 and sup norm of the noise coefficients of each prefix, both (R,)."""
        ends = np.arange(1, self.releases + 1)
        bits = ends[:, None] >> np.arange(dyadic.levels(self.releases)) & 1
        shares = variance_shares(dyadic.levels(self.releases))
        return np.sqrt(bits @ shares), shares[_trailing_zeros(ends)]

    def release(self, data: Stream, *, rng: np.random.Generator, size: int) -> Array:
        """`size` independent sets of noisy nodes, (size, nodes, *cells)."""
        sums = self._sums(checked_values(data, self))
        noisy = sums[:, None] + self.noise.draw(len(sums), (size, *self.cells), rng=rng)
        return np.ascontiguousarray(np.moveaxis(noisy, 0, 1))

    def counts(self, released: Array) -> Array:
        """Prefix estimates from noisy nodes, (size, R, *cells)."""
        nodes = np.moveaxis(released, 1, 0).astype(np.float64)
        shares = variance_shares(dyadic.levels(self.releases))
        for level in range(1, dyadic.levels(self.releases)):
            here = self._rows(level)
            left, right = self._halves(level)
            nodes[here] = shares[level] * nodes[here] + (1 - shares[level]) * (nodes[left] + nodes[right])
        ends = np.arange(1, self.releases + 1)
        largest = nodes[self.starts[:-1] + _trailing_zeros(ends)]
        return np.ascontiguousarray(np.moveaxis(dyadic.prefixes(largest), 0, 1))

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """Exact log likelihood ratio of the noisy nodes, (size,)."""
        one, other = (self._sums(checked_values(data, self)) for data in pair)
        rows = np.flatnonzero((one != other).reshape(len(one), -1).any(axis=1))  # the rest cancels
        return self.noise.log_ratio(outputs[:, rows], one[rows][None], other[rows][None])

    def stream(self, runs: int, *, rng: np.random.Generator) -> "HonakerStream":
        """The same mechanism one item at a time, for `runs` runs at once."""
        require.integer(at_least=1, runs=runs)
        return HonakerStream(self, runs, rng)

    def _rows(self, level: int) -> Array:
        ends = np.arange(1 << level, self.releases + 1, 1 << level)
        return self.starts[ends - 1] + level

    def _halves(self, level: int) -> tuple[Array, Array]:
        ends = np.arange(1 << level, self.releases + 1, 1 << level)
        return self.starts[ends - (1 << level - 1) - 1] + level - 1, self.starts[ends - 1] + level - 1

    def _sums(self, values: Array) -> Array:
        sums = np.zeros((int(self.starts[-1]), *values.shape[1:]), dtype=values.dtype)
        sums[self.starts[:-1]] = values
        for level in range(1, dyadic.levels(self.releases)):
            left, right = self._halves(level)
            sums[self._rows(level)] = sums[left] + sums[right]
        return sums


class HonakerStream:
    """The full-tree counter one step at a time, memory O(log R); bit for bit what `release` and `counts` give."""

    def __init__(self, counter: HonakerCounter, runs: int, rng: np.random.Generator) -> None:
        self.counter = counter
        self.time = 0
        depth = dyadic.levels(counter.releases)
        self._shape = (runs, *counter.cells)
        self._rng = rng
        self._shares = variance_shares(depth)
        self._sums: list[Array] = [np.zeros(())] * depth  # exact sum, estimate and prefix of the last node of a level
        self._estimates: list[Array] = [np.zeros(())] * depth
        self._counts: list[Array] = [np.zeros(())] * depth

    def feed(self, increments: Array) -> Array:
        """Item of time t in, estimated prefix count of items 1..t out; both (runs, *cells)."""
        if self.time == self.counter.releases:
            raise UsageError(f"the counter is made for {self.counter.releases} items and has seen them all")
        increments = np.asarray(increments)
        if increments.shape != self._shape:
            raise ParameterError("increments", increments.shape, f"of shape {self._shape}")
        self.time += 1
        level = (self.time & -self.time).bit_length() - 1
        noise = self.counter.noise.draw(level + 1, self._shape, rng=self._rng)
        total = increments
        estimate = total + noise[0]
        for above in range(1, level + 1):
            total = self._sums[above - 1] + total
            share = self._shares[above]
            estimate = share * (total + noise[above]) + (1 - share) * (self._estimates[above - 1] + estimate)
        self._sums[level], self._estimates[level] = total, estimate
        rest = self.time & (self.time - 1)
        before = self._counts[(rest & -rest).bit_length() - 1] if rest else None
        self._counts[level] = np.asarray(estimate if before is None else estimate + before, dtype=np.float64)
        return self._counts[level].copy()


def variance_shares(depth: int) -> npt.NDArray[np.float64]:
    """v_i = 2^i/(2^{i+1} - 1) for i < depth: variance of an estimated interval over that of its own node."""
    powers = np.exp2(np.arange(depth))
    return np.asarray(powers / (2 * powers - 1))


def _trailing_zeros(ends: Array) -> Array:
    return np.asarray(np.bitwise_count((ends & -ends) - 1), dtype=np.int64)
