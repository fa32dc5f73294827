"""What every privatizer promises: how it releases counts, its claim, its ledger, its error bound.

Two ways to use one:

    batch    counts = privatizer.private_counts(data, rng=rng, size=trials)
    online   stream = privatizer.stream(runs, rng=rng)
             counts = layout.zeros(runs)                 # before the first episode
             for each episode: counts = stream.feed(increments)

and one way to audit one: `release` returns the adversary's whole view as a flat array (see
`counts.CountLayout`), `log_ratio` its exact likelihood ratio. Counts are raw, that is noisy and inconsistent;
`noise_bound` says how noisy. Post-processing makes them consistent and turns that bound into E.
"""

from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from dpverify.claims import Claim, Pair
from dpverify.ledger import Ledger
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.datasets.visit_counts import CountLayout, ExactCounts, PrivateCounts

Array = npt.NDArray[Any]


class CountStream(Protocol):
    """One run, or `runs` independent runs side by side, of a continual release."""

    def feed(self, increments: ExactCounts) -> PrivateCounts:
        """Private counts of all episodes fed so far, the new one included; both with leading axis `runs`.

        `increments` are one episode's own exact counts: for each run and step one visit (none in a step
        that is not fed). Raises UsageError after more episodes than the privatizer was built for.
        """
        ...


@runtime_checkable
class Privatizer(Protocol):
    """A release of counts with a claim.

    `noise_bound(beta)`: with probability >= 1 - beta every released raw count (and, online, at every
    episode) is within this of its exact value. `error_bound(beta)` is the E of the papers' assumption for
    the post-processed counts, at the same probability: 4 noise_bound online, 2 noise_bound offline.
    """

    @property
    def layout(self) -> CountLayout:
        """Sizes of the counted space."""
        ...

    @property
    def claim(self) -> Claim:
        """What is promised about privacy: to be audited, not to be believed."""
        ...

    @property
    def ledger(self) -> Ledger:
        """What is really done."""
        ...

    def release(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> Array:
        """`size` independent views of the adversary, (size, cells of the view)."""
        ...

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """Exact log likelihood ratio of views, (size,)."""
        ...

    def noise_bound(self, beta: float) -> float:
        """Bound on all raw errors at once, failing with probability at most beta."""
        ...

    def error_bound(self, beta: float) -> float:
        """E of the post-processed counts, failing with probability at most beta."""
        ...


@runtime_checkable
class BatchPrivatizer(Privatizer, Protocol):
    """A privatizer of a finished dataset."""

    def private_counts(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> PrivateCounts:
        """`size` independent releases of the counts of `data`, leading axis `size`."""
        ...


@runtime_checkable
class OnlinePrivatizer(Privatizer, Protocol):
    """A privatizer that releases after every episode."""

    def stream(self, runs: int, *, rng: np.random.Generator) -> CountStream:
        """A fresh stream of `runs` independent runs."""
        ...
