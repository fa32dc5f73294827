"""The binary (tree) mechanism for prefix sums of a stream (Chan, Shi, Song 2011; Dwork, Naor, Pitassi, Rothblum 2010).

Mechanism   at time t = 1..R close the node (t - lowbit(t), t], add fresh noise to its sum, and release
            B(t) = sum of the noisy nodes of t's binary expansion                  (see `dyadic`)
where       R = releases, noise = the law put on every node, cells = shape of the counters run side by side

Claim       with Lap(b) on every node: (D L / b)-DP, L = floor(log2 R) + 1, D = cells x size by which a
            changed user's item moves (`changed_cells`). Exact: item 1 lies in L nodes.
Why         given the same transcript only the nodes that contain the changed item have another mean, by at
            most the item's change; their densities multiply. Equality where every changed node lies on the
            far side. Outputs and nodes are one unit-triangular map apart (`dyadic`), so the bound is exact
            for the output view too, and its likelihood ratio is the nodes' one.
As printed  PUCB (Vietri et al. 2020), Algorithm 5: b = log(T)/eps. The number of nodes is L > log T for
            most T, so Theorem 12 claims too little; log 1 = 0 adds no noise at T = 1. `printed` builds it,
            `calibrated` the corrected one. The printed output line reads Bin_j(T) and Bin_j(j) for Bin_j(t).
Views       "outputs": the prefix counts B(t).  "nodes": the noisy nodes (white box). Both (size, R, *cells).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.base.rounding import div_up
from dpverify.claims import Pair
from dpverify.errors import ParameterError, UsageError
from mechanisms.counters import dyadic
from mechanisms.counters.dyadic_counter import checked_values, DyadicCounter
from mechanisms.counters.logbase import LogBase
from mechanisms.counters.stream import Stream
from mechanisms.toolbox.noise_laws import LaplaceNoiseLaw, NoNoise

Array = npt.NDArray[Any]
CounterView = Literal["outputs", "nodes"]


@dataclass(frozen=True, kw_only=True)
class BinaryCounter(DyadicCounter):
    """Binary mechanism for `releases` time steps; see the module for formula, claim and proof."""

    view: CounterView = "outputs"
    nodes: ClassVar[str] = "nodes of the tree"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.view not in ("outputs", "nodes"):
            raise ParameterError("view", self.view, "'outputs' or 'nodes'")

    @classmethod
    def printed(cls, horizon: int, eps: float, *, log: LogBase, releases: int | None = None, **shape: Any) -> Self:
        """Algorithm 5 with parameters T = `horizon` and eps: Lap(log(T)/eps) on every node.

        `releases` is T (Theorem 12's "all prefixes 1 <= t <= T") unless given; PUCB with T episodes uses T - 1.
        """
        require.integer(at_least=1, horizon=horizon)
        require.positive(eps=eps)
        width = log.of(horizon)
        noise = LaplaceNoiseLaw(div_up(width, eps)) if width > 0 else NoNoise()
        return cls(releases=horizon if releases is None else releases, noise=noise, **shape)

    def release(self, data: Stream, *, rng: np.random.Generator, size: int) -> Array:
        """`size` independent runs over the stream, shape (size, R, *cells)."""
        sums = dyadic.node_sums(checked_values(data, self))
        noisy = sums[:, None] + self.noise.draw(self.releases, (size, *self.cells), rng=rng)
        seen = noisy if self.view == "nodes" else dyadic.prefixes(noisy)
        return np.ascontiguousarray(np.moveaxis(seen, 0, 1))

    @property
    def weights(self) -> tuple[Array, Array]:
        """l2 and sup norm of the noise coefficients of each prefix, both (R,): sqrt(popcount(t)) and 1."""
        return np.sqrt(dyadic.widths(self.releases)), np.ones(self.releases)

    def counts(self, released: Array) -> Array:
        """Prefix counts of a release, shape (size, R, *cells)."""
        if self.view == "outputs":
            return released
        return np.moveaxis(dyadic.prefixes(np.moveaxis(released, 1, 0)), 0, 1)

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """Exact log likelihood ratio of both views, shape (size,)."""
        first, second = checked_values(pair.first, self), checked_values(pair.second, self)
        return self.transcript_log_ratio(outputs, first[None], second[None])

    def transcript_log_ratio(self, outputs: Array, first: Array, second: Array) -> Array:
        """Log likelihood ratio of a transcript, given the exact increments under each dataset.

        `outputs` (runs, R, *cells) in this counter's view; `first` and `second` are increments of shape
        (runs or 1, R, *cells). In an online algorithm the other users' increments follow from the transcript,
        so the two arrays differ at the changed user's time only, and every other node cancels.
        """
        seen = np.moveaxis(outputs, 1, 0)
        noisy = seen if self.view == "nodes" else dyadic.nodes(seen)
        one, other = (dyadic.node_sums(np.moveaxis(each, 1, 0)) for each in (first, second))
        rows = np.flatnonzero((one != other).reshape(self.releases, -1).any(axis=1))  # the rest cancels
        return self.noise.log_ratio(*(np.moveaxis(each[rows], 0, 1) for each in (noisy, one, other)))

    def stream(self, runs: int, *, rng: np.random.Generator) -> "BinaryStream":
        """The same mechanism one item at a time, for `runs` runs at once."""
        require.integer(at_least=1, runs=runs)
        return BinaryStream(self, runs, rng)


class BinaryStream:
    """Algorithm 5 one step at a time: memory O(log R), never more than the open nodes.

    Feeding the items of a stream gives what `release` gives, bit for bit, under the same rng.
    """

    def __init__(self, counter: BinaryCounter, runs: int, rng: np.random.Generator) -> None:
        self.counter = counter
        self.time = 0
        self.node: Array = np.zeros((runs, *counter.cells))  # the noisy node that was released last
        self._shape = (runs, *counter.cells)
        self._rng = rng
        self._sums: list[Array] = [np.zeros(())] * counter.nodes_per_item
        self._counts: list[Array] = [np.zeros(())] * counter.nodes_per_item

    def feed(self, increments: Array) -> Array:
        """Item of time t in, noisy prefix count of items 1..t out; both (runs, *cells)."""
        if self.time == self.counter.releases:
            raise UsageError(f"the counter is made for {self.counter.releases} items and has seen them all")
        increments = np.asarray(increments)
        if increments.shape != self._shape:
            raise ParameterError("increments", increments.shape, f"of shape {self._shape}")
        self.time += 1
        level, above = _set_bits(self.time)
        total = increments
        for below in range(level):
            total = self._sums[below] + total
        self.node = total + self.counter.noise.draw(1, self._shape, rng=self._rng)[0]
        self._sums[level] = total
        self._counts[level] = self.node if above is None else self.node + self._counts[above]
        return self._counts[level].copy()


def _set_bits(time: int) -> tuple[int, int | None]:
    """The lowest set bit of `time` and the next one above it."""
    bits: Iterator[int] = (bit for bit in range(time.bit_length()) if time >> bit & 1)
    return next(bits), next(bits, None)
