"""Datasets of a behaviour policy, and the linear MDP of Appendix F of the offline paper.

    collect(model, policy, users)      trajectories with the known mean rewards r_h(s, a), with final states
    counts_of_runs(datasets, users)    exact counts of some users of each of many datasets

A linear MDP has features phi(s, a) in R^d, P_h(s'|s,a) = <phi(s,a), nu_h(s')> and r_h(s,a) = <phi(s,a), theta_h>.

Appendix F   S = {0, 1}, A = {0..99}, d = 10; phi, nu and theta as printed, alpha and r uniform on [0, 1]; the
             behaviour policy plays action 0 with probability 0.6 and the others alike; uniform first state.
             Rewards are in [0, 1]. Features have squared length up to 7, while the privacy analysis wants at
             most 1: `scaled()` divides phi by sqrt 7 and multiplies nu and theta by it: the same decision
             process, with features that fit the analysis.
Source: "Offline RL with differential privacy" (Qiao, Wang 2023), section 6 and Appendix F.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from algorithms.tabular import backward_induction, expected_return, Model
from dpverify.base import require
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.datasets.visit_counts import ExactCounts
from mechanisms.privatizers.linear_costs import appendix_features

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearMDP:
    """features (S, A, d), measures nu (H, S, d), weights theta (H, d), first states (S,)."""

    features: Array
    measures: Array
    weights: Array
    initial: Array

    @property
    def model(self) -> Model:
        """The tabular model; ParameterError when a P_h is not a distribution."""
        law = np.einsum("sad,htd->hsat", self.features, self.measures)
        if not np.all(np.abs(law.sum(axis=-1) - 1) <= 1e-9):
            raise ParameterError("measures", law.sum(axis=-1), "transition rows summing to 1")
        return Model(np.maximum(law, 0.0), np.einsum("sad,hd->hsa", self.features, self.weights), self.initial)

    def scaled(self) -> "LinearMDP":
        """The same model with features divided by the longest length, if that is above 1."""
        longest = max(1.0, math.sqrt((self.features**2).sum(axis=-1).max()))
        features = self.features / longest
        return replace(self, features=features, measures=self.measures * longest, weights=self.weights * longest)


def appendix_mdp(seed: int, horizon: int = 20, actions: int = 100) -> LinearMDP:
    """The synthetic example of Appendix F; alpha_{h,1}, alpha_{h,2} and r_h are functions of the seed."""
    require.integer(at_least=1, horizon=horizon, actions=actions)
    alpha, r = np.split(stream(seed, Stage.EXPERIMENT, 1 << 23).random((horizon, 3)), [2], axis=1)
    measures = np.zeros((horizon, 2, 10))
    measures[:, 0, 8:], measures[:, 1, 8:] = alpha, 1 - alpha
    weights = np.zeros((horizon, 10))
    weights[:, [0, 2, 4, 6]] = r / 8
    weights[:, [3, 9]] = (1 - r) / 2
    weights[:, 8:9] = r / 2
    return LinearMDP(appendix_features(actions), measures, weights, np.full(2, 0.5))


def leaning_policy(horizon: int, states: int, actions: int, *, favourite: float = 0.6) -> Array:
    """Action 0 with probability `favourite`, every other one alike, (H, S, A)."""
    require.probability(favourite=favourite)
    require.integer(at_least=2, actions=actions)
    policy = np.full((horizon, states, actions), (1 - favourite) / (actions - 1))
    policy[..., 0] = favourite
    return policy


def collect(model: Model, policy: Array, users: int, *, rng: np.random.Generator) -> Trajectories:
    """`users` independent trajectories of a stochastic policy (H, S, A), with mean rewards and final states."""
    require.integer(at_least=1, users=users)
    horizon, states, actions = model.horizon, model.states, model.actions
    path = np.empty((users, horizon + 1), dtype=np.int64)
    chosen = np.empty((users, horizon), dtype=np.int64)
    path[:, 0] = _draw(np.broadcast_to(model.initial, (users, states)), rng)
    for h in range(horizon):
        chosen[:, h] = _draw(policy[h, path[:, h]], rng)
        path[:, h + 1] = _draw(model.transitions[h, path[:, h], chosen[:, h]], rng)
    return Trajectories(
        states=path[:, :-1],
        actions=chosen,
        S=states,
        A=actions,
        rewards=model.rewards[np.arange(horizon), path[:, :-1], chosen],
        final_states=path[:, -1],
    )


def take(data: Trajectories, users: slice) -> Trajectories:
    """The trajectories of some users; rewards and final states must be there."""
    assert data.rewards is not None
    assert data.final_states is not None
    return replace(
        data,
        states=data.states[users],
        actions=data.actions[users],
        rewards=data.rewards[users],
        final_states=data.final_states[users],
    )


def counts_of_runs(datasets: Sequence[Trajectories], users: slice = slice(None)) -> ExactCounts:
    """Exact counts and reward sums of the chosen users of every dataset, leading axis = datasets."""
    each = [take(data, users).counts(rewards=True) for data in datasets]
    rewards = [counts.rewards for counts in each if counts.rewards is not None]
    return ExactCounts(
        np.stack([counts.visits for counts in each]),
        np.stack([counts.transitions for counts in each]),
        np.stack(rewards),
    )


def sample_counts(model: Model, policy: Array, users: int, *, rng: np.random.Generator) -> ExactCounts:
    """Counts and reward sums of `users` fresh trajectories, leading axis 1, without drawing the trajectories.

    Given how many users are in each state, their actions and next states are independent, so the counts of a step
    are multinomial: the same law as `collect(...).counts()`, at a cost that does not grow with `users`.
    """
    require.integer(at_least=0, users=users)
    visits = np.zeros((1, model.horizon, model.states, model.actions))
    onward = np.zeros((*visits.shape, model.states))
    here = rng.multinomial(users, model.initial)
    for h in range(model.horizon):
        visits[0, h] = rng.multinomial(here, _proper(policy[h]))
        onward[0, h] = rng.multinomial(visits[0, h].astype(np.int64), _proper(model.transitions[h]))
        here = onward[0, h].sum(axis=(0, 1)).astype(np.int64)
    return ExactCounts(visits, onward, visits * model.rewards)


def suboptimality(policy: npt.NDArray[np.generic], model: Model) -> Array:
    """v* - v^pi from the initial law, exactly (dynamic programming in the true model), shape (...)."""
    best = (backward_induction(model.transitions, model.rewards).values[0] * model.initial).sum()
    return np.asarray(best - expected_return(policy, model.transitions, model.rewards, model.initial))


def _proper(law: Array) -> Array:
    """Rows divided by their sums, which are 1 up to rounding: the sampler is strict."""
    return np.asarray(law / law.sum(axis=-1, keepdims=True))


def _draw(chances: Array, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """One outcome a row of (n, m) probabilities."""
    steps = np.cumsum(chances, axis=1)[:, :-1]
    return np.asarray((rng.random((len(chances), 1)) >= steps).sum(axis=1), dtype=np.int64)
