"""INCORRECT: counts for online learners with mistakes in their noise. Each log ratio is that of what runs."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from algorithms.core.counting import LocalCounts, TreeCounts
from algorithms.pucb.learner import PUCB
from algorithms.pucb.lower_bounds import HardInstance
from algorithms.tabular import Model, Plan
from audits.certainty import certainty
from audits.planted.data_free import data_free
from dpverify.ledger import Exposed, Ledger
from dpverify.trials.target import Array
from mechanisms.counters.tree import BinaryCounter
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts


@dataclass(frozen=True)
class UnfedRewards:
    """INCORRECT: PUCB's pseudo-code, Algorithm 2 read literally, feeds a reward counter only on visits.

    Visits and transitions get 0 where nothing happened; rewards get nothing, so a reward counter's release
    changes if and only if the cell was visited. True: eps = infinity.
    """

    layout: CountLayout
    counter: BinaryCounter
    error: float

    @property
    def ledger(self) -> Ledger:
        return Ledger(Exposed(what="which reward counters moved: the visited cells"))

    def stream(self, runs: int, *, rng: np.random.Generator) -> "_UnfedStream":
        return _UnfedStream(self, runs, rng)

    def transcript_log_ratio(self, released: Array, first: Array, second: Array) -> Array:
        """The cells whose reward counter moved are the visited ones: +-inf where they tell the worlds apart."""
        rewards = slice(self.layout.tuples * (1 + self.layout.S), None)
        moved = np.diff(released[..., rewards], axis=1, prepend=0.0) != 0
        visits = slice(0, self.layout.tuples)
        one, other = ((moved == (each[..., visits] > 0)).all(axis=(1, 2)) for each in (first, second))
        return certainty(one, other)


class _UnfedStream:
    """Every reward cell has a clock of its own; all other cells share one."""

    def __init__(self, source: UnfedRewards, runs: int, rng: np.random.Generator) -> None:
        self._source, self._rng = source, rng
        self._together = source.counter.stream(runs, rng=rng)
        levels, cells = source.counter.nodes_per_item, source.layout.tuples
        self._clock = np.zeros((runs, cells), dtype=np.int64)
        self._sums = np.zeros((levels, runs, cells))
        self._prefixes = np.zeros((levels, runs, cells))
        self._shown = np.zeros((runs, cells))

    def feed(self, increments: Array) -> Array:
        tuples = self._source.layout.tuples
        counts = self._together.feed(increments).copy()
        visited = increments[:, :tuples] > 0
        self._clock += visited
        total = increments[:, -tuples:].copy()
        lowest = self._clock & -self._clock
        noise = self._source.counter.noise.draw(1, total.shape, rng=self._rng)[0]
        for level in range(len(self._sums)):
            below = visited & (lowest > 1 << level)
            total = np.where(below, total + self._sums[level], total)
        node = total + noise
        for level in range(len(self._sums) - 1, -1, -1):  # the next set bit above the lowest one
            rest = (self._clock - lowest) & -(self._clock - lowest)
            node = np.where(visited & (rest == 1 << level), node + self._prefixes[level], node)
        for level in range(len(self._sums)):
            here = visited & (lowest == 1 << level)
            self._sums[level] = np.where(here, total, self._sums[level])
            self._prefixes[level] = np.where(here, node, self._prefixes[level])
        self._shown = np.where(visited, node, self._shown)
        counts[:, -tuples:] = self._shown
        return counts


@dataclass(frozen=True)
class OneNoise:
    """INCORRECT: one Laplace draw a cell, added to every prefix (PUCB, section 2.2).

    Later users alone cannot tell user t apart beyond one Laplace release, which is all that the older,
    future-only definition asks. With the users before and after her, prefixes subtract: eps = infinity.
    """

    layout: CountLayout
    scale: float
    error: float

    def stream(self, runs: int, *, rng: np.random.Generator) -> "_Shifted":
        return _Shifted(rng.laplace(scale=self.scale, size=(runs, self.layout.cells)))

    def transcript_log_ratio(self, released: Array, first: Array, second: Array) -> Array:
        """The first prefix is one Laplace release; all later increments are there to be read."""
        start = released[:, 0]
        terms = np.abs(start - second[:, 0]) - np.abs(start - first[:, 0])
        steps = np.diff(released, axis=1)
        one, other = (np.isclose(steps, each[:, 1:], rtol=0, atol=1e-6).all(axis=(1, 2)) for each in (first, second))
        return np.where(one & other, terms.sum(axis=1) / self.scale, certainty(one, other))


@dataclass(frozen=True)
class SharedNoise:
    """INCORRECT: all cells of a step share one counter's noise. True: eps = infinity, cells subtract."""

    layout: CountLayout
    counter: BinaryCounter
    error: float

    def stream(self, runs: int, *, rng: np.random.Generator) -> "_Copied":
        return _Copied(BinaryCounter(releases=self.counter.releases, noise=self.counter.noise), runs, rng)

    def transcript_log_ratio(self, released: Array, first: Array, second: Array) -> Array:
        """Differences between cells are exact."""
        gaps = released - released[..., :1]
        one, other = (
            np.isclose(gaps, sums - sums[..., :1], rtol=0, atol=1e-6).all(axis=(1, 2))
            for sums in (first.cumsum(axis=1), second.cumsum(axis=1))
        )
        return certainty(one, other)


@dataclass(frozen=True)
class SharedMessages:
    """INCORRECT: every user adds the same noise vector, drawn once for all. True: eps = infinity, users subtract."""

    layout: CountLayout
    scale: float
    error: float

    def stream(self, runs: int, *, rng: np.random.Generator) -> "_Drifting":
        return _Drifting(rng.laplace(scale=self.scale, size=(runs, self.layout.cells)))

    def transcript_log_ratio(self, released: Array, first: Array, second: Array) -> Array:
        """Messages minus the first message are exact."""
        messages = np.diff(released, axis=1, prepend=0.0)
        gaps = messages - messages[:, :1]
        one, other = (
            np.isclose(gaps, each - each[:, :1], rtol=0, atol=1e-6).all(axis=(1, 2)) for each in (first, second)
        )
        return certainty(one, other)


@dataclass(frozen=True)
class BareRewards:
    """INCORRECT: `source` as it is, but the reward counts are exact. True: eps = infinity."""

    source: TreeCounts | LocalCounts

    @property
    def layout(self) -> CountLayout:
        return self.source.layout

    @property
    def error(self) -> float:
        return self.source.error

    def stream(self, runs: int, *, rng: np.random.Generator) -> "_Bare":
        return _Bare(self.source.stream(runs, rng=rng), self.layout.tuples, runs)

    def transcript_log_ratio(self, released: Array, first: Array, second: Array) -> Array:
        """The rewards are there to be read."""
        rewards = np.diff(released[..., -self.layout.tuples :], axis=1, prepend=0.0)
        one, other = ((rewards == each[..., -self.layout.tuples :]).all(axis=(1, 2)) for each in (first, second))
        return certainty(one, other)


class _Shifted:
    def __init__(self, noise: Array) -> None:
        self._sums = noise

    def feed(self, increments: Array) -> Array:
        self._sums = self._sums + increments
        return self._sums


class _Copied:
    def __init__(self, counter: BinaryCounter, runs: int, rng: np.random.Generator) -> None:
        self._noise, self._sums = counter.stream(runs, rng=rng), np.zeros(())

    def feed(self, increments: Array) -> Array:
        self._sums = self._sums + increments
        return np.asarray(self._sums + self._noise.feed(np.zeros(len(increments)))[:, None])


class _Drifting:
    def __init__(self, noise: Array) -> None:
        self._noise = noise
        self._sums: Array = np.zeros(noise.shape)

    def feed(self, increments: Array) -> Array:
        self._sums = self._sums + increments + self._noise
        return self._sums


class _Bare:
    def __init__(self, inner: Any, tuples: int, runs: int) -> None:
        self._inner, self._tuples, self._rewards = inner, tuples, np.zeros((runs, tuples))

    def feed(self, increments: Array) -> Array:
        self._rewards = self._rewards + increments[:, -self._tuples :]
        counts: Array = self._inner.feed(increments).copy()
        counts[:, -self._tuples :] = self._rewards
        return counts


class NeverCurious(PUCB):
    """INCORRECT: Q+ = 0 instead of H where n~ < 2E, in the one step of a bandit: what pays once is played for ever."""

    def optimistic(self, counts: PrivateCounts) -> Plan:
        plan = super().optimistic(counts)
        q = np.where((counts.visits >= 2 * self.error) & (counts.visits > 0), plan.q, 0.0)
        return Plan(q.argmax(axis=-1), q, plan.values)


class Guesses(PUCB):
    """INCORRECT: never learns; the last digits of the noise are its coin."""

    def optimistic(self, counts: PrivateCounts) -> Plan:
        plan = super().optimistic(counts)
        coins = np.floor(1e3 * (counts.visits + counts.transitions.sum(axis=-1)).sum(axis=-1)).astype(np.int64)
        return Plan(coins % self.layout.A, plan.q, plan.values)


@dataclass(frozen=True, kw_only=True)
class DataFree(PUCB):
    """INCORRECT: reads no data; its plan is the exact one of `known`, with `slack` on every Q."""

    known: Model
    slack: float = 0.0

    def optimistic(self, counts: PrivateCounts) -> Plan:
        return data_free(self.known, counts.visits.shape[:-3], self.slack)


class NoPrivateBonus(PUCB):
    """INCORRECT: forgets psi, the part of the bonus that is for the noise."""

    def optimistic(self, counts: PrivateCounts) -> Plan:
        return PUCB(layout=self.layout, episodes=self.episodes, error=0.0, beta=self.beta).optimistic(counts)


class Myopic(PUCB):
    """INCORRECT: V_{h+1} = 0: what comes after the first reward is not planned for."""

    def optimistic(self, counts: PrivateCounts) -> Plan:
        return super().optimistic(replace(counts, transitions=np.zeros_like(counts.transitions)))


class Mirrored(PUCB):
    """INCORRECT: next states in the wrong order."""

    def optimistic(self, counts: PrivateCounts) -> Plan:
        return super().optimistic(replace(counts, transitions=counts.transitions[..., ::-1]))


@dataclass(frozen=True)
class Stubborn:
    """INCORRECT: plays one arm whatever it pays: private, and right on one instance."""

    arm: int

    def __call__(self, instance: HardInstance, *, rng: np.random.Generator, size: int) -> tuple[Array, Array]:
        starts, arms = instance.chances.shape
        last = np.full((size, starts), self.arm)
        return 16_000 * (np.arange(arms) == last[..., None]), last
