"""One staged run as it happens: mixtures are deployed to users, and their batches released."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from algorithms.batches import Batches
from algorithms.users import Episodes, play, Users
from mechanisms.datasets.visit_counts import CountLayout

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# (users of the batch, their policies (..., n, H, S), raw released counts (..., cells))
Observe = Callable[[range, IntArray, Array], None]


@dataclass(frozen=True, eq=False)
class Mixture:
    """Policies (..., V, H, S): drawn with `weights` (..., V) for each user, or uniformly, or taken in turn."""

    policies: IntArray
    weights: Array | None = None
    in_turn: bool = False

    def assign(self, lead: tuple[int, ...], users: int, *, rng: np.random.Generator) -> IntArray:
        """Policies of `users` users, (*lead, users, H, S)."""
        kinds = self.policies.shape[-3]
        if self.in_turn:
            chosen = np.broadcast_to(np.arange(users) % kinds, (*lead, users))
        elif self.weights is None:
            chosen = rng.integers(kinds, size=(*lead, users))
        else:
            steps = np.cumsum(self.weights, axis=-1)[..., None, :-1]
            chosen = np.asarray((rng.random((*lead, users, 1)) >= steps).sum(axis=-1))
        return np.take_along_axis(self.policies, chosen[..., None, None].astype(np.int64), axis=-3)


@dataclass(eq=False)
class Deployment:
    """The users in order, what they were told to play, and how their batches are released."""

    users: Users
    batches: Batches
    size: CountLayout
    lead: tuple[int, ...]
    rng: np.random.Generator
    observe: Observe | None = None
    served: int = 0
    mixtures: int = 0
    played: npt.NDArray[np.int8] = field(init=False)

    def __post_init__(self) -> None:
        self.played = np.zeros((*self.lead, len(self.users), self.size.H, self.size.S), dtype=np.int8)

    def deploy(self, mixture: Mixture, number: int) -> None:
        """The next `number` users play the mixture."""
        mine = mixture.assign(self.lead, number, rng=self.rng)
        self.played[..., self.served : self.served + number, :, :] = mine
        self.served += number
        self.mixtures += number > 0

    def release(self, number: int, layout: CountLayout, *, step: int | None = None) -> Array:
        """Counts of the last `number` users: of one step and without rewards, or of all steps.

        An empty batch has told nothing: the counts of nobody.
        """
        if not number:
            return np.zeros((*self.lead, layout.cells))
        who = range(self.served - number, self.served)
        mine = self.played[..., who.start : who.stop, :, :].astype(np.int64)
        seen = play(self.users, np.asarray(who), mine, actions=self.size.A)
        counts = self.batches.release(seen if step is None else one_step(seen, step), layout, rng=self.rng)
        if self.observe is not None:
            self.observe(who, mine, counts)
        return counts


def one_step(episodes: Episodes, h: int) -> Episodes:
    """Step h as an episode of its own."""
    step = slice(h, h + 1)
    return Episodes(episodes.states[..., h : h + 2], episodes.actions[..., step], episodes.rewards[..., step])
