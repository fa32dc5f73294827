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
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from dpverify.accounting.ledger import Ledger, Sensitivity, Shift
from dpverify.base import require
from dpverify.base.errors import ParameterError, UsageError
from dpverify.base.rounding import div_up
from dpverify.claims.neighbours import Pair, Relation
from mechanisms.counters import dyadic
from mechanisms.counters.logbase import LogBase
from mechanisms.counters.node_noise import calibrated, DiscreteGaussian, DiscreteLaplace, Laplace, Noise, NoNoise
from mechanisms.counters.stream import Stream

Array = npt.NDArray[Any]
CounterView = Literal["outputs", "nodes"]


def changed_cells(touches: int, cells: tuple[int, ...]) -> Sensitivity:
    """Cells that one user changes by at most 1, when an item touches at most `touches` of them.

    Removed: `touches`. Replaced: what she leaves and what she enters, 2 touches, but never more than there are.
    """
    require.integer(at_least=1, touches=touches)
    there = int(np.prod(cells, dtype=np.int64))
    if touches > there:
        raise ParameterError("touches", touches, f"at most the {there} cells")
    return Sensitivity(replace=Shift(1, min(2 * touches, there)), add_remove=Shift(1, touches))


@dataclass(frozen=True, kw_only=True)
class BinaryCounter:
    """Binary mechanism for `releases` time steps; see the module for formula, claim and proof."""

    releases: int
    noise: Noise
    cells: tuple[int, ...] = ()
    touches: int = 1
    view: CounterView = "outputs"

    def __post_init__(self) -> None:
        require.integer(at_least=1, releases=self.releases)
        changed_cells(self.touches, self.cells)
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
        noise = Laplace(div_up(width, eps)) if width > 0 else NoNoise()
        return cls(releases=horizon if releases is None else releases, noise=noise, **shape)

    @classmethod
    def calibrated(
        cls,
        releases: int,
        eps: float | None = None,
        *,
        rho: float | None = None,
        relation: Relation = Relation.REPLACE_ONE,
        discrete: bool = False,
        cells: tuple[int, ...] = (),
        touches: int = 1,
        view: CounterView = "outputs",
    ) -> Self:
        """The smallest noise for eps-DP, b = D L / eps, or for rho-zCDP, sigma^2 = D L / (2 rho); rounded up."""
        (shift,) = changed_cells(touches, cells).under(relation)
        noise = calibrated(shift.count * dyadic.levels(releases), eps=eps, rho=rho, discrete=discrete)
        return cls(releases=releases, noise=noise, cells=cells, touches=touches, view=view)

    @property
    def nodes_per_item(self) -> int:
        """L = floor(log2 R) + 1: released nodes that contain the worst item."""
        return dyadic.levels(self.releases)

    def with_noise(self, factor: float) -> Self:
        """The same counter with `factor` > 0 times its noise: what measured power is measured on."""
        return replace(self, noise=self.noise.with_noise(factor))

    @property
    def ledger(self) -> Ledger:
        """L noisy nodes for every changed cell."""
        changed = changed_cells(self.touches, self.cells)
        return Ledger(self.noise.event("nodes of the tree", times(changed, self.nodes_per_item)))

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


def times(changed: Sensitivity, nodes: int) -> Sensitivity:
    """`changed` coordinates, each of them noised in `nodes` nodes."""

    def in_all(shifts: tuple[Shift, ...] | None) -> tuple[Shift, ...] | None:
        return None if shifts is None else tuple(replace(each, count=each.count * nodes) for each in shifts)

    return Sensitivity(replace=in_all(changed.replace), add_remove=in_all(changed.add_remove))


def checked_values(data: Any, counter: Any) -> Array:
    """The stream's values, when the counter's ledger is about such streams; ParameterError otherwise."""
    if not isinstance(data, Stream):
        raise ParameterError("data", type(data).__name__, "a mechanisms.counters Stream")
    if data.values.shape != (counter.releases, *counter.cells):
        raise ParameterError("data", data.values.shape, f"of shape {(counter.releases, *counter.cells)}")
    if data.touches > counter.touches:
        raise ParameterError("data", data.touches, f"items that touch at most {counter.touches} cells")
    if isinstance(counter.noise, DiscreteLaplace | DiscreteGaussian):
        whole = data.values.astype(np.int64)
        if (whole != data.values).any():
            raise ParameterError("data", data.values, "whole numbers, as the noise is")
        return whole
    return data.values
