"""Visit counts of an episodic MDP: exact ones, private ones, and the one flat layout in which both are packed.

Axes: S states, A actions, B actions of a second player (no axis at all in a single-player game), H steps.

    visits       (..., H, S, A[, B])       N_h(s, a[, b])
    transitions  (..., H, S, A[, B], S)    N_h(s, a[, b], s')
    rewards      (..., H, S, A[, B])       sum of the rewards received there, or None

Leading axes are runs, trials or users. A flat vector holds visits, then transitions, then rewards where
there are any, each in C order.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.errors import ParameterError

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Counts:
    """Visits, transitions and (optionally) rewards with common leading axes; see the module for shapes."""

    visits: Array
    transitions: Array
    rewards: Array | None = None

    def __post_init__(self) -> None:
        require.own_numbers(self)
        if self.transitions.shape[:-1] != self.visits.shape:
            raise ParameterError("transitions.shape", self.transitions.shape, f"{self.visits.shape} and one axis more")
        if self.rewards is not None and self.rewards.shape != self.visits.shape:
            raise ParameterError("rewards.shape", self.rewards.shape, f"that of visits, {self.visits.shape}")

    def __getitem__(self, index: Any) -> Self:
        """The same index into the leading axes of every array."""
        rewards = None if self.rewards is None else self.rewards[index]
        return type(self)(self.visits[index], self.transitions[index], rewards)


class ExactCounts(Counts):
    """Counts as they are in the data: sensitive, never to be shown to an algorithm that claims privacy."""


class PrivateCounts(Counts):
    """Counts that a privatizer released: noisy, perhaps negative, perhaps inconsistent."""


@dataclass(frozen=True, kw_only=True)
class CountLayout:
    """Sizes of the counted space and the flat layout of its counts.

    >>> CountLayout(H=1, S=1, A=2).cells
    4
    """

    H: int
    S: int
    A: int
    B: int | None = None
    rewards: bool = False

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.integer(at_least=1, H=self.H, S=self.S, A=self.A)
        if self.B is not None:
            require.integer(at_least=1, B=self.B)

    @property
    def visits_shape(self) -> tuple[int, ...]:
        """(H, S, A) or (H, S, A, B)."""
        return (self.H, self.S, self.A) if self.B is None else (self.H, self.S, self.A, self.B)

    @property
    def transitions_shape(self) -> tuple[int, ...]:
        """(H, S, A, S) or (H, S, A, B, S)."""
        return (*self.visits_shape, self.S)

    @property
    def choices(self) -> int:
        """A B: the number of (joint) actions in a state."""
        return self.A * (self.B or 1)

    @property
    def tuples(self) -> int:
        """H S A B: the number of visit counters."""
        return self.H * self.S * self.choices

    @property
    def cells(self) -> int:
        """M = H S A B (1 + S), plus H S A B with rewards: the length of the flat vector."""
        return self.tuples * (1 + self.S + self.rewards)

    def pack(self, counts: Counts) -> Array:
        """(..., cells) from counts with leading axes (...)."""
        lead = counts.visits.shape[: counts.visits.ndim - len(self.visits_shape)]
        if counts.visits.shape[len(lead) :] != self.visits_shape:
            raise ParameterError("visits.shape", counts.visits.shape, f"(..., {self.visits_shape})")
        if (counts.rewards is not None) != self.rewards:
            raise ParameterError("rewards", counts.rewards, "present exactly where the layout has rewards")
        blocks = [counts.visits, counts.transitions] + ([] if counts.rewards is None else [counts.rewards])
        return np.concatenate([block.reshape(*lead, -1) for block in blocks], axis=-1)

    def unpack(self, flat: Array) -> PrivateCounts:
        """Private counts with leading axes (...) from (..., cells): views, no copies."""
        if flat.shape[-1] != self.cells:
            raise ParameterError("flat.shape", flat.shape, f"(..., {self.cells})")
        lead = flat.shape[:-1]
        first, second = self.tuples, self.tuples * (1 + self.S)
        return PrivateCounts(
            flat[..., :first].reshape(*lead, *self.visits_shape),
            flat[..., first:second].reshape(*lead, *self.transitions_shape),
            flat[..., second:].reshape(*lead, *self.visits_shape) if self.rewards else None,
        )

    def zeros(self, *lead: int) -> PrivateCounts:
        """The counts before any user came: data-independent, hence private."""
        return self.unpack(np.zeros((*lead, self.cells)))
