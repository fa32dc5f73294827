"""From what users did to flat count vectors, and the sources of counts that learners may see.

A source turns one user's own counts, episode after episode, into the counts that the learner works with:

    Exact(layout)                     no privacy
    TreeCounts(layout, counter)       the binary mechanism on every cell (central, JDP)
    LocalCounts(layout, scale, ...)   sums of noisy messages (local, LDP)
    Plugged(privatizer, beta)         any OnlinePrivatizer of `mechanisms`

`error` is the E that the learner is told; with `Exact` it is 0. Flat vectors are (runs, layout.cells).
"""

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from algorithms.core.users import Episodes
from algorithms.tabular import Model
from dpverify.base import require
from dpverify.errors import ParameterError
from dpverify.ledger import Exposed, LaplaceNoise, Ledger, Sensitivity, Shift
from mechanisms.counters.tree import BinaryCounter
from mechanisms.datasets.visit_counts import CountLayout, ExactCounts
from mechanisms.privatizers.protocol import OnlinePrivatizer
from mechanisms.toolbox.laplace_sums import laplace_sum

Array = npt.NDArray[np.float64]


def layout_of(model: Model) -> CountLayout:
    """Visits, transitions and rewards of a single-player model."""
    return CountLayout(H=model.horizon, S=model.states, A=model.actions, rewards=True)


def families(layout: CountLayout) -> int:
    """Cells that one user touches in a step: a visit, a transition, and a reward where there are any."""
    return 3 if layout.rewards else 2


def cells_of(episodes: Episodes, layout: CountLayout) -> tuple[Any, Any]:
    """Visit cell (..., H) and transition cell (..., H) of every step in the flat vector."""
    steps = np.arange(layout.H)
    visit = (steps * layout.S + episodes.states[..., :-1]) * layout.choices + episodes.actions
    return visit, layout.tuples + visit * layout.S + episodes.states[..., 1:]


def own_counts(episodes: Episodes, layout: CountLayout, *, last_transition: bool = True) -> Array:
    """Each user's own counts (..., cells): one visit, one transition, one reward a step.

    `last_transition=False` leaves out the transition of the last step: PUCB's protocol (Algorithm 1) never
    sends the state after it.
    """
    visit, transition = cells_of(episodes, layout)
    counts = np.zeros((*visit.shape[:-1], layout.cells))
    np.put_along_axis(counts, visit, 1.0, axis=-1)
    np.put_along_axis(counts, transition if last_transition else transition[..., :-1], 1.0, axis=-1)
    if layout.rewards:
        np.put_along_axis(counts, layout.tuples * (1 + layout.S) + visit, episodes.rewards, axis=-1)
    return counts


def total_counts(episodes: Episodes, layout: CountLayout) -> Array:
    """Sums over the users, the last leading axis: (..., cells) from episodes with leading axes (..., users)."""
    visit, transition = cells_of(episodes, layout)
    lead = visit.shape[:-2]
    groups = int(np.prod(lead, dtype=np.int64))
    offset = (np.arange(groups) * layout.cells).reshape(*lead, 1, 1)
    size = groups * layout.cells
    flat = np.bincount((offset + visit).ravel(), minlength=size).astype(np.float64)
    flat += np.bincount((offset + transition).ravel(), minlength=size)
    if layout.rewards:
        place = offset + layout.tuples * (1 + layout.S) + visit
        flat += np.bincount(place.ravel(), weights=episodes.rewards.ravel(), minlength=size)
    return flat.reshape(*lead, layout.cells)


class Feed(Protocol):
    """`runs` continual releases side by side."""

    def feed(self, increments: Array) -> Array:
        """One user's own counts in, counts of all users so far out; both (runs, cells)."""
        ...


class CountSource(Protocol):
    """Where a learner's counts come from.

    A source with `transcript_log_ratio(released, first, second)` can be audited exactly: `released` and the
    users' own counts in two worlds are (runs, R, cells), the result (runs,).
    """

    @property
    def layout(self) -> CountLayout:
        """Sizes of the counted space."""
        ...

    @property
    def error(self) -> float:
        """E: the bound on all errors that the learner is told; 0 without noise."""
        ...

    def stream(self, runs: int, *, rng: np.random.Generator) -> Feed:
        """A fresh feed for `runs` runs."""
        ...


@dataclass(frozen=True)
class ExactSource:
    """No privacy: exact counts. The reference that a private learner must become at eps = infinity."""

    layout: CountLayout
    error: float = 0.0

    def stream(self, runs: int, *, rng: np.random.Generator) -> Feed:
        return _NoisySum(np.zeros((runs, self.layout.cells)), 0.0, rng)


@dataclass(frozen=True)
class LocalCounts:
    """Every user adds Lap(scale) to each of her own cells; the counts are sums of messages.

    eps-LDP with eps = D/scale, D = 6H for a replaced user: 2H in each of three families. `scale` 0 is exact.
    """

    layout: CountLayout
    scale: float
    error: float

    def __post_init__(self) -> None:
        require.non_negative(scale=self.scale, error=self.error)

    @property
    def ledger(self) -> Ledger:
        """One message of 0/1 (rewards: [0, 1]) indicators; every user sends one."""
        touched = Sensitivity(
            replace=Shift(1, 2 * families(self.layout) * self.layout.H),
            add_remove=Shift(1, families(self.layout) * self.layout.H),
        )
        if not self.scale:
            return Ledger(Exposed(what="messages without noise"))
        return Ledger(LaplaceNoise(what="one user's message", scale=self.scale, sensitivity=touched))

    def stream(self, runs: int, *, rng: np.random.Generator) -> Feed:
        return _NoisySum(np.zeros((runs, self.layout.cells)), self.scale, rng)

    def transcript_log_ratio(self, released: Array, first: Array, second: Array) -> Array:
        """The messages are the differences of the released sums: a Laplace likelihood ratio of each."""
        messages = np.diff(released, axis=1, prepend=0.0)
        terms = np.abs(messages - second) - np.abs(messages - first)
        return np.asarray(np.where(first == second, 0.0, terms).sum(axis=(1, 2)) / self.scale)


class _NoisySum:
    def __init__(self, sums: Array, scale: float, rng: np.random.Generator) -> None:
        self._sums, self._scale, self._rng = sums, scale, rng

    def feed(self, increments: Array) -> Array:
        self._sums = self._sums + increments
        if self._scale:
            self._sums += laplace_sum(self._scale, 1, self._sums.shape, rng=self._rng)
        return self._sums


@dataclass(frozen=True)
class TreeCounts:
    """The binary mechanism on every cell; `counter.cells` must be (layout.cells,)."""

    layout: CountLayout
    counter: BinaryCounter
    error: float

    def __post_init__(self) -> None:
        require.non_negative(error=self.error)
        if self.counter.cells != (self.layout.cells,):
            raise ParameterError("counter.cells", self.counter.cells, f"({self.layout.cells},), one a cell")

    def stream(self, runs: int, *, rng: np.random.Generator) -> Feed:
        return self.counter.stream(runs, rng=rng)

    @property
    def ledger(self) -> Ledger:
        """The counters' ledger: D cells, L nodes each."""
        return self.counter.ledger

    def transcript_log_ratio(self, released: Array, first: Array, second: Array) -> Array:
        """Exact: of the nodes that contain a user whose own counts differ."""
        counter = replace(self.counter, view="outputs")
        return np.asarray(counter.transcript_log_ratio(released, first, second))


@dataclass(frozen=True)
class Plugged:
    """Any online privatizer of `mechanisms`; E is its `error_bound(beta)`. One player: its layout has rewards."""

    privatizer: OnlinePrivatizer
    beta: float = 0.05

    def __post_init__(self) -> None:
        require.open_unit(beta=self.beta)
        if self.layout.B is None and not self.layout.rewards:
            raise ParameterError("privatizer.layout.rewards", False, "True: these learners learn the rewards too")

    @property
    def layout(self) -> CountLayout:
        """The privatizer's layout."""
        return self.privatizer.layout

    @property
    def error(self) -> float:
        """The privatizer's error bound."""
        return self.privatizer.error_bound(self.beta)

    @property
    def ledger(self) -> Ledger | None:
        """The privatizer's, where it has one."""
        return getattr(self.privatizer, "ledger", None)

    def stream(self, runs: int, *, rng: np.random.Generator) -> Feed:
        return _PluggedFeed(self.layout, self.privatizer.stream(runs, rng=rng))

    def transcript_log_ratio(self, released: Array, first: Array, second: Array) -> Array:
        """The privatizer's."""
        rated: Any = self.privatizer
        return np.asarray(rated.transcript_log_ratio(released, first, second))


class _PluggedFeed:
    def __init__(self, layout: CountLayout, inner: Any) -> None:
        self._layout, self._inner = layout, inner

    def feed(self, increments: Array) -> Array:
        parts = self._layout.unpack(increments)
        own = ExactCounts(parts.visits, parts.transitions, parts.rewards)
        return np.asarray(self._layout.pack(self._inner.feed(own)))
