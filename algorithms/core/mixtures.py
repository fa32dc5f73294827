"""Mixtures of policies, and how they are dealt out to users."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PolicyMixture:
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
