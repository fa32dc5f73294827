"""Users of an online algorithm: who answers which states and rewards to which actions.

    TapeUsers(environment, tapes)   users drawn from an environment, tapes (..., T, width)
    SideBySide(environments, ...)   fresh users of several environments, in one batch of runs
    TreeUsers(trees)                explicit decision trees, one a user: the datasets of an audit
    Replaced(users, t, tree)        the same users with user t replaced: a neighbouring dataset

`play` runs one policy with one or many users. Leading axes are runs or trials.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from algorithms.core.environments import Environment
from dpverify.errors import ParameterError

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Which = int | slice | IntArray  # user numbers


class Episodes(NamedTuple):
    """What users did: states (..., H+1), the last one after the last step, actions and rewards (..., H)."""

    states: IntArray
    actions: IntArray
    rewards: Array


class Users(Protocol):
    """A sequence of users."""

    @property
    def horizon(self) -> int:
        """H."""
        ...

    def __len__(self) -> int: ...

    def start(self, which: Which) -> IntArray:
        """Initial states of the users `which`."""
        ...

    def reply(
        self, which: Which, h: int, prefix: IntArray, states: IntArray, actions: IntArray
    ) -> tuple[Array, IntArray]:
        """Rewards and next states of step h; `prefix` = all actions so far and this one, in base A."""
        ...


@dataclass(frozen=True, eq=False)
class TapeUsers:
    """Users of an environment; tapes (..., T, width), leading axes = runs with users of their own."""

    environment: Environment
    tapes: Array

    @property
    def horizon(self) -> int:
        """H."""
        return self.environment.model.horizon

    def __len__(self) -> int:
        return int(self.tapes.shape[-2])

    def run(self, number: int) -> "TapeUsers":
        """The users of one run alone."""
        return TapeUsers(self.environment, self.tapes[number])

    def start(self, which: Which) -> IntArray:
        return self.environment.start(self.tapes[..., which, :])

    def reply(
        self, which: Which, h: int, prefix: IntArray, states: IntArray, actions: IntArray
    ) -> tuple[Array, IntArray]:
        return self.environment.answer(self.tapes[..., which, :], h, states, actions)


class SideBySide:
    """Fresh users of several environments in one batch, `runs` runs of each; `where[k]` are those of environment k.

    Which run is of which environment is drawn anew, so that a player cannot tell from the place of its run. The
    environments have one horizon, one number of states and one of actions: an instance and its mirror image.
    """

    def __init__(self, environments: Sequence[Environment], runs: int, users: int, *, rng: np.random.Generator) -> None:
        self.parts = [TapeUsers(each, rng.random((runs, users, each.tape_width))) for each in environments]
        self._users = users
        self.where = np.split(rng.permutation(runs * len(self.parts)), len(self.parts))
        if len({each.model.rewards.shape for each in environments}) != 1:
            raise ParameterError("environments", environments, "at least one, all of one shape")

    @property
    def horizon(self) -> int:
        """H."""
        return self.parts[0].horizon

    def __len__(self) -> int:
        return self._users

    def start(self, which: Which) -> IntArray:
        return self._in_place([each.start(which) for each in self.parts])

    def reply(
        self, which: Which, h: int, prefix: IntArray, states: IntArray, actions: IntArray
    ) -> tuple[Array, IntArray]:
        found = [
            part.reply(which, h, prefix[mine], states[mine], actions[mine])
            for part, mine in zip(self.parts, self.where, strict=True)
        ]
        rewards, following = zip(*found, strict=True)
        return self._in_place(rewards), self._in_place(following)

    def _in_place(self, answers: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        whole = np.concatenate(answers)
        ordered = np.empty_like(whole)
        ordered[np.concatenate(self.where)] = whole
        return ordered


@dataclass(frozen=True)
class Tree:
    """A deterministic user: `states[h][p]` is her state at step h after actions p (p in base A, h digits).

    h = 0..H, the last being the state after the last step; `rewards[h][p]`, p with h+1 digits. A step with one entry is
    the same after all actions: A^H entries are too many for long horizons. Hashable, so that `dpverify.Records` of
    trees is a dataset whose neighbours are checked.
    """

    states: tuple[tuple[int, ...], ...]
    rewards: tuple[tuple[float, ...], ...]
    actions: int

    def __post_init__(self) -> None:
        horizon = len(self.rewards)
        sizes = [self.actions**h for h in range(horizon + 1)]
        levels = [*zip(self.states, sizes, strict=False), *zip(self.rewards, sizes[1:], strict=False)]
        if len(self.states) != horizon + 1 or any(len(level) not in (1, size) for level, size in levels):
            raise ParameterError("tree", self, f"A^h states and A^(h+1) rewards at step h, or one, A = {self.actions}")

    @classmethod
    def steady(cls, states: tuple[int, ...], rewards: tuple[float, ...], actions: int) -> "Tree":
        """A user who walks through `states` (H+1) and earns `rewards` (H) whatever the actions are."""
        return cls(tuple((s,) for s in states), tuple((float(r),) for r in rewards), actions)

    @classmethod
    def of_tape(cls, environment: Environment, tape: Array) -> "Tree":
        """All that the user with this tape would ever answer."""
        actions, horizon = environment.model.actions, environment.model.horizon
        states = [environment.start(tape[None])]
        rewards = []
        for h in range(horizon):
            here = np.repeat(states[-1], actions)
            chosen = np.tile(np.arange(actions), len(states[-1]))
            paid, following = environment.answer(np.broadcast_to(tape, (len(here), len(tape))), h, here, chosen)
            rewards.append(tuple(paid.tolist()))
            states.append(following)
        return cls(tuple(tuple(level.tolist()) for level in states), tuple(rewards), actions)


class TreeUsers:
    """Users given by their trees, the same in every run or trial."""

    def __init__(self, trees: tuple[Tree, ...]) -> None:
        shapes = {(len(tree.rewards), tree.actions) for tree in trees}
        if len(shapes) != 1:
            raise ParameterError("trees", trees, "at least one tree, all of one horizon and number of actions")
        self.trees = trees
        self._horizon = len(trees[0].rewards)
        self._states = [_level([tree.states[h] for tree in trees]) for h in range(self._horizon + 1)]
        self._rewards = [_level([tree.rewards[h] for tree in trees]) for h in range(self._horizon)]

    @property
    def horizon(self) -> int:
        """H."""
        return self._horizon

    def __len__(self) -> int:
        return len(self.trees)

    def start(self, which: Which) -> IntArray:
        return np.asarray(self._states[0][which, 0])

    def reply(
        self, which: Which, h: int, prefix: IntArray, states: IntArray, actions: IntArray
    ) -> tuple[Array, IntArray]:
        users, paid, following = np.arange(len(self.trees))[which], self._rewards[h], self._states[h + 1]
        return paid[users, prefix % paid.shape[1]], following[users, prefix % following.shape[1]]


def _level(entries: list[tuple[Any, ...]]) -> npt.NDArray[Any]:
    """One step of all trees, (users, 1) where none of them depends on the actions, else (users, all prefixes)."""
    width = max(map(len, entries))
    return np.array([each if len(each) == width else each * width for each in entries])


class Replaced:
    """`users` with user `t` replaced by `tree`, in every run; nobody else's answers change."""

    def __init__(self, users: Users, t: int, tree: Tree) -> None:
        if not 0 <= t < len(users):
            raise ParameterError("t", t, f"a user number in 0..{len(users) - 1}")
        self.users, self.t, self._other = users, t, TreeUsers((tree,))
        if self._other.horizon != users.horizon:
            raise ParameterError("tree", tree, f"a tree of {users.horizon} steps")

    @property
    def horizon(self) -> int:
        """H."""
        return self.users.horizon

    def __len__(self) -> int:
        return len(self.users)

    def _mine(self, which: Which) -> npt.NDArray[np.bool_]:
        return np.asarray(np.arange(len(self.users))[which] == self.t)

    def start(self, which: Which) -> IntArray:
        return np.where(self._mine(which), self._other.start(0), self.users.start(which))

    def reply(
        self, which: Which, h: int, prefix: IntArray, states: IntArray, actions: IntArray
    ) -> tuple[Array, IntArray]:
        rewards, following = self.users.reply(which, h, prefix, states, actions)
        paid, after = self._other.reply(0, h, prefix, states, actions)
        mine = self._mine(which)
        return np.where(mine, paid, rewards), np.where(mine, after, following)


def play(
    users: Users, which: Which, policy: npt.NDArray[np.generic], *, actions: int, coins: Array | None = None
) -> Episodes:
    """One episode with each of the users `which`.

    `policy` is (..., H, S) of action numbers, or (..., H, S, A) of probabilities together with `coins`
    (..., H), uniform numbers of the agent (not of the user). Leading axes broadcast against the users'
    shape: () for one user of each run, (L,) for L users.
    """
    deterministic = np.issubdtype(policy.dtype, np.integer)
    lead = policy.shape[: -2 if deterministic else -3]
    states = np.broadcast_to(users.start(which), np.broadcast_shapes(users.start(which).shape, lead))
    index = np.indices(lead, sparse=True)
    path, chosen, paid = [states], [], []
    prefix = np.zeros(states.shape, dtype=np.int64)
    for h in range(users.horizon):
        if deterministic:
            acts = np.broadcast_to(policy[(*index, h, states)] if lead else policy[h, states], states.shape)
            acts = acts.astype(np.int64, copy=False)
        else:
            if coins is None:
                raise ParameterError("coins", coins, "uniform numbers (..., H) for a stochastic policy")
            odds = np.cumsum(policy[(*index, h, states)] if lead else policy[h, states], axis=-1)[..., :-1]
            acts = np.asarray((coins[..., h, None] >= odds).sum(axis=-1), dtype=np.int64)
        prefix = prefix * actions + acts
        rewards, states = users.reply(which, h, prefix, states, acts)
        path.append(states)
        chosen.append(acts)
        paid.append(rewards)
    return Episodes(np.stack(path, axis=-1), np.stack(chosen, axis=-1), np.stack(paid, axis=-1))
