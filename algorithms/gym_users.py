"""Users from an environment with Gymnasium's interface: themselves, or drawn from a model estimated from it.

    GymUsers                one seed a user: exact, slow, for datasets of an audit
    estimated_environment   an `Environment` estimated from 1e6 steps of uniform actions: its users are drawn from that
                            model, many at once, and regret is measured on it; what `Study` and `compare` run on

User t of `GymUsers` is `make().reset(seed=seeds[t])`; her replies are a function of (seed, actions so far), so she is a
tree of PUCB, section 2.2. They are replayed from the start and kept by prefix. Needs `reset` -> (observation, info) and
`step` -> (observation, reward, terminated, truncated, info) only; gymnasium itself is imported by `gymnasium_maker`.

An episode that ends early stays in the extra state `states - 1`, unpaid: `states` counts it where episodes may end.
"""

import operator
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, SupportsFloat

import numpy as np
import numpy.typing as npt

from algorithms.core.environments import Environment
from algorithms.core.users import Tree, Which
from dpverify.base import require
from dpverify.base.seeding import derive, Stage, stream
from dpverify.errors import ParameterError, UsageError
from dpverify.execution.executors import ordered_map

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

STEPS, BLOCK, SEED = 1_000_000, 50_000, 1  # of an estimate; a block has a seed of its own
AGAIN = 1_000  # steps that are walked twice: what differs is no function of the seed

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


def gymnasium_maker(name: str) -> Callable[[], Any]:
    """Makes the environment that Gymnasium has under this name; UsageError where there is none, or no Gymnasium."""
    try:
        gymnasium = import_module("gymnasium")
    except ImportError as error:
        raise UsageError(f"gym:{name} needs gymnasium, the extra rl: pip install -e '.[rl]' ({error})") from error
    try:
        gymnasium.make(name).close()
    except gymnasium.error.Error as error:
        raise UsageError(f"gym:{name}: {' '.join(str(error).split())}") from error
    return partial(gymnasium.make, name, disable_env_checker=True)


def estimated_environment(
    make: Callable[[], Any], *, name: str, horizon: int, steps: int = STEPS, seed: int = SEED, jobs: int = 1
) -> Environment:
    """A stationary model from `steps` steps of uniform actions, in episodes of at most `horizon` steps.

    State `n`, after those of `observation_space`, is where episodes go that have ended, and pairs of state and action
    that nobody met: unpaid, so that no policy is thought better for them. Rewards are Bernoulli with the mean that was
    seen at (state, action, next state). Not seen by this model: what depends on the time or on more than the state.

    Parameters
    ----------
    make : callable
        Makes an environment whose `observation_space` and `action_space` are discrete, from 0 (an `n`), and whose
        rewards are in [0, 1].
    name : str
        Of the environment.
    horizon : int
        H of the episodes.
    steps, seed : int
        The model is a function of these two.
    jobs : int
        Processes; the model does not depend on it.

    Raises
    ------
    ParameterError
        For other spaces and rewards, where episodes are cut off before `horizon` steps, and where two walks from one
        seed differ.
    """
    require.integer(at_least=1, horizon=horizon, steps=steps)
    world = make()
    ends, actions = _number(world, "observation_space"), _number(world, "action_space")
    sizes = [min(BLOCK, steps - first) for first in range(0, steps, BLOCK)]
    walk = partial(_walk, make, ends, actions, horizon, seed)
    once, again = (walk((0, min(AGAIN, steps))) for _ in range(2))
    if not all(np.array_equal(one, two) for one, two in zip(once, again, strict=True)):
        raise ParameterError("make", make, "an environment that is a function of the seed of its first reset")
    walked = ordered_map(walk, list(enumerate(sizes)), jobs=jobs)
    first, moves, paid = (np.sum(each, axis=0) for each in zip(*walked, strict=True))
    moves[..., ends] += moves.sum(axis=-1) == 0
    law = moves / moves.sum(axis=-1, keepdims=True)
    means = np.minimum(np.divide(paid, moves, out=np.zeros_like(law), where=moves > 0), 1.0)
    shape = (horizon, *law.shape)
    estimated = f"{steps:g} steps (uniform actions, seed {seed})"
    return Environment(
        name, np.broadcast_to(law, shape), np.broadcast_to(means, shape), first / first.sum(), estimated=estimated
    )


def _walk(
    make: Callable[[], Any], ends: int, actions: int, horizon: int, seed: int, block: tuple[int, int]
) -> tuple[Array, Array, Array]:
    """A block's first states (n + 1,), transitions and what was paid in them, (n + 1, A, n + 1)."""
    number, steps = block
    world, chosen = make(), stream(derive(seed, "gym"), Stage.EXPERIMENT, number).integers(actions, size=steps)
    first, moves = np.zeros(ends + 1), np.zeros((ends + 1, actions, ends + 1))
    paid, state, h = np.zeros_like(moves), ends, 0
    observation = _started(world.reset(seed=derive(seed, f"gym/{number}") % 2**31))
    for action in chosen.tolist():
        if h == 0:
            state = _numbered(observation, ends)
            first[state] += 1
        told = world.step(action)
        if not (isinstance(told, tuple) and len(told) == 5):
            raise ParameterError("step", told, "(observation, reward, terminated, truncated, info)")
        observation, reward, terminated, truncated, _ = told
        h += 1
        paying = isinstance(reward, SupportsFloat) and 0 <= float(reward) <= 1  # NaN fails
        if not paying:
            raise ParameterError("reward", reward, f"in [0, 1] (state {state}, action {action}); wrap the environment")
        if truncated and not terminated and h < horizon:
            raise ParameterError("horizon", horizon, f"at most {h}: episodes are cut off there")
        after = ends if terminated else _numbered(observation, ends)
        moves[state, action, after] += 1
        paid[state, action, after] += reward
        state = after
        if terminated or truncated or h == horizon:
            observation, h = _started(world.reset()), 0
    return first, moves, paid


def _number(world: Any, space: str) -> int:
    found = getattr(world, space, None)
    number, start = getattr(found, "n", None), getattr(found, "start", 0)
    single = getattr(found, "shape", None) in (None, ())
    if not isinstance(number, int | np.integer) or start != 0 or not single:
        raise ParameterError(space, found, "a discrete space from 0 (with an n); wrap the environment")
    return int(number)


def _started(told: Any) -> Any:
    if not (isinstance(told, tuple) and len(told) == 2):
        raise ParameterError("reset", told, "(observation, info)")
    return told[0]


def _numbered(observation: Any, states: int) -> int:
    try:
        state = operator.index(observation)
    except TypeError:
        state = -1
    if not 0 <= state < states:
        raise ParameterError("observation", observation, f"a state in 0..{states - 1}")
    return state
