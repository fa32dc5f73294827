"""Users from an environment with Gymnasium's interface: one seed a user.

User t is `make().reset(seed=seeds[t])`; her replies are a function of (seed, actions so far), so she is a tree of
PUCB, section 2.2. They are replayed from the start and kept by prefix. Needs `reset` -> (observation, info) and
`step` -> (observation, reward, terminated, truncated, info) only; gymnasium itself is not imported.

An episode that ends early stays in the extra state `states - 1`, unpaid: `states` counts it where episodes may end.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.core.users import Tree, Which
from dpverify.base import require
from dpverify.errors import ParameterError

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_Life = tuple[tuple[int, ...], tuple[float, ...]]  # states after 0..n actions, rewards of n actions


class GymUsers:
    """`Users` of an environment; `encode` turns an observation into a state number (default: int)."""

    def __init__(
        self,
        make: Callable[[], Any],
        *,
        seeds: Sequence[int],
        horizon: int,
        states: int,
        actions: int,
        encode: Callable[[Any], int] | None = None,
    ) -> None:
        require.integer(at_least=1, horizon=horizon, states=states, actions=actions)
        if not len(seeds):
            raise ParameterError("seeds", seeds, "at least one, a user each")
        self._make, self._seeds, self._horizon = make, tuple(int(seed) for seed in seeds), horizon
        self._sizes, self._encode = (states, actions), int if encode is None else encode
        self._lives: dict[tuple[int, tuple[int, ...]], _Life] = {}

    @property
    def horizon(self) -> int:
        """H."""
        return self._horizon

    def __len__(self) -> int:
        return len(self._seeds)

    def start(self, which: Which) -> IntArray:
        users = np.arange(len(self))[which]
        return np.asarray(np.vectorize(lambda t: self._life(int(t), ())[0][0], otypes=[np.int64])(users))

    def reply(
        self, which: Which, h: int, prefix: IntArray, states: IntArray, actions: IntArray
    ) -> tuple[Array, IntArray]:
        users, prefixes = np.broadcast_arrays(np.arange(len(self))[which], prefix)
        lives = [self._life(int(t), self._digits(int(p), h)) for t, p in zip(users.flat, prefixes.flat, strict=True)]
        rewards = np.array([paid[h] for _, paid in lives]).reshape(users.shape)
        following = np.array([path[h + 1] for path, _ in lives], dtype=np.int64).reshape(users.shape)
        return rewards, following

    def tree(self, t: int) -> Tree:
        """All that user t would ever answer: A^H replays, for short horizons."""
        actions = self._sizes[1]
        levels = [[self._digits(p, h - 1) for p in range(actions**h)] for h in range(self._horizon + 1)]
        return Tree(
            tuple(tuple(self._life(t, each)[0][-1] for each in level) for level in levels),
            tuple(tuple(self._life(t, each)[1][-1] for each in level) for level in levels[1:]),
            actions,
        )

    def _digits(self, prefix: int, h: int) -> tuple[int, ...]:
        base = self._sizes[1]
        return tuple(prefix // base**i % base for i in range(h, -1, -1))

    def _life(self, t: int, actions: tuple[int, ...]) -> _Life:
        """Replayed twice when it is new: what differs is no function of the seed."""
        key = (t, actions)
        if key not in self._lives:
            first, second = self._replay(t, actions), self._replay(t, actions)
            shorter = self._lives.get((t, actions[:-1])) if actions else None
            same = first == second and (shorter is None or _starts(first, shorter))
            if not same:
                raise ParameterError("make", f"seed {self._seeds[t]}", "an environment whose replays agree")
            self._lives[key] = first
        return self._lives[key]

    def _replay(self, t: int, actions: tuple[int, ...]) -> _Life:
        environment = self._make()
        path, paid, ended = [self._state(environment.reset(seed=self._seeds[t])[0], t)], [], False
        for action in actions:
            if ended:
                path.append(self._sizes[0] - 1)
                paid.append(0.0)
                continue
            seen, reward, terminated, truncated, _ = environment.step(action)
            if not 0 <= float(reward) <= 1:  # NaN fails
                raise ParameterError("reward", reward, f"in [0, 1] (seed {self._seeds[t]}, actions {actions})")
            ended = bool(terminated or truncated)
            path.append(self._sizes[0] - 1 if ended else self._state(seen, t))
            paid.append(float(reward))
        return tuple(path), tuple(paid)

    def _state(self, observation: Any, t: int) -> int:
        state = self._encode(observation)
        if not 0 <= state < self._sizes[0]:
            allowed = f"a state in 0..{self._sizes[0] - 1} (seed {self._seeds[t]})"
            raise ParameterError("encode(observation)", state, allowed)
        return int(state)


def _starts(longer: _Life, shorter: _Life) -> bool:
    return all(one[: len(two)] == two for one, two in zip(longer, shorter, strict=True))
