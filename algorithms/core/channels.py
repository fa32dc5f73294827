"""How the users of one step become released counts: one by one, or together.

    Step         who is served by one policy, and what is counted of them
    Continual    a `Source`: every user's own counts in, counts of all users so far out
    Batchwise    `Batches`: the summed counts of a step's users, with noise of their own
    Replayed     what was released before, again: the same run in another world

A channel opens for some runs side by side; it knows the ledger and the exact log ratio of what it releases.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.core.counting import own_counts, total_counts
from algorithms.core.users import Episodes
from dpverify.ledger import Ledger
from mechanisms.datasets.visit_counts import CountLayout

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class ChannelStep:
    """Public, known before any data.

    users            served by one policy
    layout           of what is released
    together         their counts are summed; otherwise there is one user, and her own counts are fed
    part             the step of the horizon that is counted, as an episode of its own; None: all
    silent           nothing is released
    last_transition  False: the state after the last step is never sent (PUCB's protocol)
    """

    users: int
    layout: CountLayout
    together: bool = False
    part: int | None = None
    silent: bool = False
    last_transition: bool = True

    @property
    def actions(self) -> int:
        """Of the players together."""
        return self.layout.choices

    @property
    def releases(self) -> bool:
        """Whether there is anybody to release something of."""
        return self.users > 0 and not self.silent

    def seen(self, episodes: Episodes) -> Episodes:
        """What is counted."""
        if self.part is None:
            return episodes
        step = slice(self.part, self.part + 1)
        states = episodes.states[..., self.part : self.part + 2]
        return Episodes(states, episodes.actions[..., step], episodes.rewards[..., step])

    def exact(self, episodes: Episodes) -> Array:
        """Exact counts (*lead, cells): the user's own, or of all the step's users."""
        if self.together:
            return total_counts(self.seen(episodes), self.layout)
        return own_counts(self.seen(episodes), self.layout, last_transition=self.last_transition)


Release = Callable[[ChannelStep, Episodes], Array]


@dataclass(frozen=True)
class Continual:
    """One user a step."""

    source: Any  # a `counting.CountSource`

    def open(self, lead: tuple[int, ...], rng: np.random.Generator) -> Release:
        feed = self.source.stream(*lead, rng=rng).feed
        return lambda step, episodes: feed(step.exact(episodes))

    def ledger(self, steps: Callable[[], Sequence[ChannelStep]]) -> Ledger | None:
        """That of the source, which knows how many releases it was made for."""
        return getattr(self.source, "ledger", None)

    def log_ratio(self, steps: Sequence[ChannelStep], released: Array, worlds: Sequence[Sequence[Array]]) -> Array:
        """Exact, from all released counts, (runs, cells of all steps), and every step's exact ones in both worlds."""
        first, second = (np.stack(each, axis=1) for each in worlds)
        return np.asarray(self.source.transcript_log_ratio(released.reshape(first.shape), first, second))


@dataclass(frozen=True)
class Batchwise:
    """A step's users together."""

    batches: Any  # `batches.Batches`

    def open(self, lead: tuple[int, ...], rng: np.random.Generator) -> Release:
        return lambda step, episodes: self.batches.release(step.seen(episodes), step.layout, rng=rng)

    def ledger(self, steps: Callable[[], Sequence[ChannelStep]]) -> Ledger | None:
        """Parallel composition: a user is in one step, by the time of her arrival (McSherry 2009, Theorem 4)."""
        stated = getattr(self.batches, "ledger", None)
        return stated([(step.layout, step.users) for step in steps() if step.releases]) if stated else None

    def log_ratio(self, steps: Sequence[ChannelStep], released: Array, worlds: Sequence[Sequence[Array]]) -> Array:
        """Exact: only the steps whose counts differ tell the worlds apart."""
        total = np.zeros(len(released))
        for step, counts, first, second in zip(steps, split(steps, released), *worlds, strict=True):
            if (first != second).any():
                total += self.batches.log_ratio(counts, first, second, step.layout, step.users)
        return total


def channel_of(privatizer: Any) -> Continual | Batchwise:
    """The channel of a `Source`, which has `stream`, or of `Batches`, which have `release`."""
    return Continual(privatizer) if hasattr(privatizer, "stream") else Batchwise(privatizer)


def split(steps: Sequence[ChannelStep], released: Array) -> list[Array]:
    """Of the counts of all steps, (runs, cells of all steps), those of each."""
    return np.split(released, np.cumsum([step.layout.cells for step in steps])[:-1], axis=1)


@dataclass(frozen=True, eq=False)
class ReplayedChannel:
    """What was released, step by step, and the coins of the run, (steps, *lead, H), where there are any."""

    released: Sequence[Array]
    coins: Array | None = None

    def open(self, lead: tuple[int, ...], rng: np.random.Generator) -> Release:
        again = iter(self.released)
        return lambda step, episodes: next(again)
