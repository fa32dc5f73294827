"""Environments: a model, a law of rewards, and users as tapes of random numbers.

A user is a row of uniform numbers, her tape. Pushed through the inverse distribution function of whatever
(s, a) comes up, it answers any sequence of actions: the tree of PUCB, section 2.2, evaluated lazily.

    column 0            initial state
    columns 1 .. H      next state of step h
    columns H+1 .. 2H   reward of step h (binary)
    columns 2H+1 ..     the user's own taste, where users differ in law (heterogeneous bandit)

Replacing user t leaves every other row as it is.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from algorithms.tabular import Model
from dpverify.base import require
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, init=False)
class Environment:
    """A model whose rewards are Bernoulli with mean `reward_means` (H, S, A, S), given the next state.

    `taste` = sigma of the users' own shift of the means, clip(mean + N(0, sigma^2), 0, 1) per (h, s, a);
    0 where users are alike. The model's rewards are the means of an average user, without the clip:
    that is what the papers measure regret against. `estimated`: from what the model is estimated, empty where it is
    the environment itself.
    """

    name: str
    model: Model
    reward_means: Array
    taste: float
    estimated: str

    def __init__(
        self,
        name: str,
        transitions: Any,
        reward_means: Any,
        initial: Any,
        *,
        taste: float = 0.0,
        estimated: str = "",
    ) -> None:
        law = np.asarray(transitions, dtype=np.float64)
        means = np.asarray(reward_means, dtype=np.float64)
        if means.shape == law.shape[:-1]:
            means = np.repeat(means[..., None], law.shape[-1], axis=-1)
        if law.ndim != 4 or means.shape != law.shape:
            raise ParameterError("reward_means", means.shape, "(H, S, A) or (H, S, A, S), as the transitions")
        if not np.all((means >= 0) & (means <= 1)):
            raise ParameterError("reward_means", means, "in [0, 1]: rewards are binary")
        require.non_negative(taste=taste)
        model = Model(law, (law * means).sum(axis=-1), initial)
        if not model.complete:
            raise ParameterError("transitions", law.sum(axis=-1), "rows summing to 1")
        fields = {"name": name, "model": model, "reward_means": means, "taste": taste, "estimated": estimated}
        for field, value in fields.items():
            object.__setattr__(self, field, value)
        object.__setattr__(self, "_climb", np.cumsum(law, axis=-1)[..., :-1])
        object.__setattr__(self, "_first", np.cumsum(model.initial)[:-1])

    @property
    def mirrored(self) -> "Environment":
        """The same with its actions in reversed order: who reads no data and is right here loses there."""
        law, means = self.model.transitions[:, :, ::-1], self.reward_means[:, :, ::-1]
        return Environment(
            f"{self.name}, mirrored", law, means, self.model.initial, taste=self.taste, estimated=self.estimated
        )

    @property
    def relative_to(self) -> str:
        """Whose value regret is measured against."""
        return f"the best policy on a model estimated from {self.estimated}" if self.estimated else "the optimal policy"

    @property
    def tape_width(self) -> int:
        """Uniform numbers that a user is made of."""
        model = self.model
        cells = model.horizon * model.states * model.actions
        return 1 + 2 * model.horizon + (cells if self.taste else 0)

    def tapes(self, seed: int, runs: int, users: int) -> Array:
        """Tapes (runs, users, width). Row (run, user) depends on (seed, run, user) only, not on the sizes."""
        require.integer(at_least=1, runs=runs, users=users)
        rows = [stream(seed, Stage.EXPERIMENT, run).random((users, self.tape_width)) for run in range(runs)]
        return np.stack(rows)

    def start(self, tapes: Array) -> IntArray:
        """Initial states (...) of users with tapes (..., width)."""
        first: Array = self._first  # type: ignore[attr-defined]
        return np.asarray((tapes[..., 0, None] >= first).sum(axis=-1), dtype=np.int64)

    def answer(self, tapes: Array, h: int, states: IntArray, actions: IntArray) -> tuple[Array, IntArray]:
        """Rewards in {0., 1.} and next states of step h; `states` and `actions` of the tapes' shape (...)."""
        climb: Array = self._climb  # type: ignore[attr-defined]
        horizon = self.model.horizon
        following = np.asarray((tapes[..., 1 + h, None] >= climb[h, states, actions]).sum(axis=-1), dtype=np.int64)
        means = self.reward_means[h, states, actions, following]
        if self.taste:
            cell = np.ravel_multi_index((h, states, actions), self.model.rewards.shape)
            own = np.take_along_axis(tapes, np.asarray(1 + 2 * horizon + cell)[..., None], axis=-1)[..., 0]
            means = np.clip(means + self.taste * ndtri(own), 0.0, 1.0)
        return (tapes[..., 1 + horizon + h] < means).astype(np.float64), following


def river_swim(states: int = 4, horizon: int = 6) -> Environment:
    """RiverSwim of the SDP-PE journal paper (section VI): action 0 = left, 1 = right, start in the first state.

    Left always succeeds. Right: from the first state it moves on with 0.6 and stays with 0.4; from a middle
    state 0.35 on, 0.6 stay, 0.05 back; in the last state 0.6 stay, 0.4 back (Osband, Russo, Van Roy 2013,
    the paper's reference; the paper itself prints no numbers). Mean rewards 0.005 for left in the first
    state and 1 for right in the last one; 0.005 is made binary by a Bernoulli draw.
    """
    require.integer(at_least=2, states=states)
    require.integer(at_least=1, horizon=horizon)
    step, rewards = np.zeros((states, 2, states)), np.zeros((states, 2))
    for s in range(states):
        step[s, 0, max(s - 1, 0)] = 1.0
        last = s == states - 1
        back, on = (0.4, 0.0) if last else (0.05 if s else 0.0, 0.35 if s else 0.6)
        if s:
            step[s, 1, s - 1] = back
        if not last:
            step[s, 1, s + 1] = on
        step[s, 1, s] = 1 - back - on
    rewards[0, 0], rewards[-1, 1] = 0.005, 1.0
    return Environment(
        "riverswim",
        np.broadcast_to(step, (horizon, states, 2, states)),
        np.broadcast_to(rewards, (horizon, states, 2)),
        np.eye(states)[0],
    )


def heterogeneous_bandit(seed: int, arms: int = 20, *, sigma: float = 0.1) -> Environment:
    """Bandit of the journal paper: r*(a) ~ U(0, 0.99), user means r*(a) + N(0, sigma^2), Bernoulli(clip)."""
    require.integer(at_least=1, arms=arms)
    means = stream(seed, Stage.EXPERIMENT, 1 << 20).uniform(0.0, 0.99, size=(1, 1, arms))
    return Environment("bandit", np.ones((1, 1, arms, 1)), means, np.ones(1), taste=sigma)


def random_environment(
    seed: int, states: int, actions: int, horizon: int, *, concentration: float = 1.0
) -> Environment:
    """Dirichlet(concentration) transitions and initial law, uniform mean rewards; a function of the seed."""
    require.integer(at_least=1, states=states, actions=actions, horizon=horizon)
    require.positive(concentration=concentration)
    rng = stream(seed, Stage.EXPERIMENT, 1 << 21)
    law = rng.dirichlet(np.full(states, concentration), size=(horizon, states, actions))
    means = rng.random((horizon, states, actions))
    return Environment("random", law, means, rng.dirichlet(np.full(states, concentration)))


def deep_sea(size: int) -> Environment:
    """DeepSea (Osband et al. 2020, bsuite): one treasure at the end of `size` steps to the right, and left is paid.

    H = S = `size`; the state is the column, the step is the row, everybody starts in column 0. Action 1 moves right, 0
    left, for certain. bsuite charges 0.01/size for right and pays 1 for right in the last column and row; here every
    step is paid 0.01/size more, so that rewards are in [0, 1]: left 0.01/size, right 0, the treasure 1. The optimal
    value is 1, all to the right; without the treasure 0.01 is best. Uniform actions find it once in 2^size episodes.
    """
    require.integer(at_least=2, size=size)
    law, means = np.zeros((size, 2, size)), np.zeros((size, size, 2))
    for s in range(size):
        law[s, 0, max(s - 1, 0)] = law[s, 1, min(s + 1, size - 1)] = 1.0
    means[..., 0], means[-1, -1, 1] = 0.01 / size, 1.0
    return Environment(f"deepsea:{size}", np.broadcast_to(law, (size, *law.shape)), means, np.eye(size)[0])


def chain(states: int) -> Environment:
    """A chain of our own: `states` states, 2 `states` steps; 1 is paid for forward in the last state, nothing else.

    Action 1, forward, moves on with probability 0.9 and stays with 0.1 (in the last state it always stays); action 0
    goes back to the first state. The optimal value, always forward, is the sum over h < H of
    Pr[Binomial(h, 0.9) >= states - 1].
    """
    require.integer(at_least=2, states=states)
    law, means = np.zeros((states, 2, states)), np.zeros((states, 2))
    for s in range(states):
        law[s, 0, 0] = 1.0
        law[s, 1, s] = 0.1
        law[s, 1, min(s + 1, states - 1)] += 0.9
    means[-1, 1] = 1.0
    shape = (2 * states, states, 2)
    return Environment(
        f"chain:{states}", np.broadcast_to(law, (*shape, states)), np.broadcast_to(means, shape), np.eye(states)[0]
    )


def random_family(seed: int) -> Environment:
    """Member `seed` of a family: `random_environment` with S = 4, A = 2, H = 6."""
    require.integer(at_least=0, seed=seed)
    drawn = random_environment(seed, 4, 2, 6)
    return Environment(f"random:{seed}", drawn.model.transitions, drawn.reward_means, drawn.model.initial)


NUMBERED = {"deepsea": deep_sea, "chain": chain, "random": random_family}  # NAME:NUMBER on a command line
