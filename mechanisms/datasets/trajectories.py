"""A dataset of users, one trajectory of H steps each, and its exact counts.

A user who is *absent* (all her states are `ABSENT`) keeps her place in the stream and contributes nothing:
this is how a user is removed from an online mechanism without moving the users behind her.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.claims import Difference
from dpverify.errors import NeighbourError, ParameterError
from mechanisms.datasets.visit_counts import CountLayout, ExactCounts

ABSENT = -1

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False, kw_only=True)
class Trajectories:
    """n users with H steps each.

    states            (n, H) in 0..S-1, or a whole row of ABSENT
    actions           (n, H) in 0..A-1
    rewards           (n, H) finite; zeros where None is given
    opponent_actions  (n, H) in 0..B-1, exactly where B is given: the second player's actions
    final_states      (n,) in 0..S-1: the state after the last step; without it the last step has no transition

    Values at absent users are ignored. The arrays are copied and frozen. Raises ParameterError for anything
    outside its range.
    """

    states: Array
    actions: Array
    S: int
    A: int
    rewards: Array | None = None
    opponent_actions: Array | None = None
    B: int | None = None
    final_states: Array | None = None

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.integer(at_least=1, S=self.S, A=self.A)
        states = _whole("states", self.states, 2)
        if states.shape[1] < 1:
            raise ParameterError("states.shape", states.shape, "(n, H) with H >= 1")
        absent = (states == ABSENT).all(axis=1)
        if (self.opponent_actions is None) != (self.B is None):
            raise ParameterError("opponent_actions", self.opponent_actions, "given together with B")
        clean: dict[str, Array] = {"states": states, "actions": _whole("actions", self.actions, 2)}
        limits = {"states": self.S, "actions": self.A}
        if self.opponent_actions is not None and self.B is not None:
            require.integer(at_least=1, B=self.B)
            clean["opponent_actions"] = _whole("opponent_actions", self.opponent_actions, 2)
            limits["opponent_actions"] = self.B
        if self.final_states is not None:
            clean["final_states"] = _whole("final_states", self.final_states, 1)
            limits["final_states"] = self.S
        rewards = np.zeros(states.shape) if self.rewards is None else np.array(self.rewards, dtype=np.float64)
        if not np.isfinite(rewards).all():
            raise ParameterError("rewards", rewards, "finite")
        clean["rewards"] = rewards
        for name, array in clean.items():
            wanted = states.shape[: array.ndim]
            if array.shape != wanted:
                raise ParameterError(f"{name}.shape", array.shape, f"{wanted}, as that of states")
            limit = limits.get(name)
            used = array[~absent]
            if limit is not None and used.size and not (used.min() >= 0 and used.max() < limit):
                raise ParameterError(name, array, f"in 0..{limit - 1}")
            if name != "states":
                array[absent] = 0  # one canonical absent user, so that two of them compare equal
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __len__(self) -> int:
        return len(self.states)

    @property
    def H(self) -> int:
        """Steps of an episode."""
        return int(self.states.shape[1])

    @property
    def layout(self) -> CountLayout:
        """Layout of this dataset's counts, without rewards."""
        return CountLayout(H=self.H, S=self.S, A=self.A, B=self.B)

    @cached_property
    def absent(self) -> Array:
        """(n,) True where the user contributes nothing."""
        return np.asarray((self.states == ABSENT).all(axis=1))

    @cached_property
    def next_states(self) -> Array:
        """(n, H) states after each step, (n, H-1) without `final_states`."""
        later = self.states[:, 1:]
        return later if self.final_states is None else np.column_stack([later, self.final_states])

    def differences(self, other: "Trajectories", /) -> Difference:
        """Users replaced, added and removed from `self` to `other`.

        Equal lengths are compared place by place, an absent user against a present one being an addition
        or a removal. With unequal lengths the common beginning and end are matched, and what is left in
        between counts as removed and added, the overlap as replaced.
        """
        if (self.layout, self.final_states is None) != (other.layout, other.final_states is None):
            raise NeighbourError(f"trajectories over two different spaces: {self.layout} and {other.layout}")
        mine, theirs = self._rows, other._rows
        if len(mine) == len(theirs):
            changed = (mine != theirs).any(axis=1)
            added, removed = self.absent & ~other.absent, ~self.absent & other.absent
            return Difference(int((changed & ~added & ~removed).sum()), int(added.sum()), int(removed.sum()))
        shorter = min(len(mine), len(theirs))
        head = _agreement(mine[:shorter], theirs[:shorter])
        rest = shorter - head
        tail = _agreement(mine[::-1][:rest], theirs[::-1][:rest])
        left, right = len(mine) - head - tail, len(theirs) - head - tail
        both = min(left, right)
        return Difference(both, right - both, left - both)

    def counts(self, *, rewards: bool = False) -> ExactCounts:
        """Exact counts of all users together, without leading axes."""
        return self._counts(np.zeros(len(self), dtype=np.int64), 1, rewards)[0]

    def per_user(self, *, rewards: bool = False) -> ExactCounts:
        """Each user's own counts (one-hot in every step), leading axis n: the increments of a stream."""
        return self._counts(np.arange(len(self)), len(self), rewards)

    def _counts(self, group: Array, groups: int, rewards: bool) -> ExactCounts:
        layout, present = self.layout, ~self.absent
        steps = np.arange(self.H)
        index = ((group[:, None] * self.H + steps) * self.S + self.states) * self.A + self.actions
        if self.opponent_actions is not None and self.B is not None:
            index = index * self.B + self.opponent_actions
        index = index[present]
        following = self.next_states[present]
        onward = index[:, : following.shape[1]] * self.S + following
        size = groups * layout.tuples
        visits = np.bincount(index.ravel(), minlength=size)
        transitions = np.bincount(onward.ravel(), minlength=size * self.S)
        shape = (groups, *layout.visits_shape)
        sums = None
        if rewards:
            assert self.rewards is not None
            sums = np.bincount(index.ravel(), weights=self.rewards[present].ravel(), minlength=size).reshape(shape)
        return ExactCounts(visits.reshape(shape), transitions.reshape(*shape, self.S), sums)

    @cached_property
    def _rows(self) -> Array:
        parts = [self.states, self.actions, self.rewards, self.opponent_actions, self.final_states]
        return np.column_stack([part for part in parts if part is not None])


def _whole(name: str, values: Array, ndim: int) -> Array:
    array = np.array(values)
    if array.ndim != ndim or not (np.issubdtype(array.dtype, np.integer) or array.size == 0):
        raise ParameterError(name, values, f"an array of whole numbers with {ndim} axes")
    return array.astype(np.int64)


def _agreement(first: Array, second: Array) -> int:
    """Length of the common beginning of two stacks of rows."""
    differs = (first != second).any(axis=1)
    return int(differs.argmax()) if differs.any() else len(first)
