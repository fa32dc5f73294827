"""Bellman equations of a finite horizon: backward induction, evaluation, occupancy measure.

    V_H = 0,  Q_h(s,a) = r_h(s,a) + sum_t P_h(t|s,a) V_{h+1}(t),  V_h(s) = max_a Q_h(s,a) or sum_a pi Q
    d_0 = initial,  w_h(s,a) = d_h(s) pi_h(a|s),  d_{h+1}(t) = sum_{s,a} w_h(s,a) P_h(t|s,a)

Everything broadcasts over leading axes. Optimistic learners are backward induction with an `adjust` that
turns the plain backup into an optimistic one; there is no second copy of the recursion.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from algorithms.tabular.policy import as_stochastic

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# (h, backup (..., S, A), V_{h+1} (..., S)) -> Q_h (..., S, A)
Adjust = Callable[[int, Array, Array], Array]


class Plan(NamedTuple):
    """Result of backward induction: greedy policy (..., H, S), q (..., H, S, A), values (..., H+1, S)."""

    policy: IntArray
    q: Array
    values: Array


def backup(transitions: Array, rewards: Array, next_values: Array) -> Array:
    """One Bellman step r(s,a) + sum_t P(t|s,a) V(t), shapes (..., S, A, S), (..., S, A), (..., S)."""
    return rewards + (transitions @ next_values[..., None, :, None])[..., 0]


def backward_induction(transitions: Array, rewards: Array, *, adjust: Adjust | None = None) -> Plan:
    """Optimal plan of the model (..., H, S, A, S), (..., H, S, A); ties go to the smallest action number.

    `adjust(h, backup, next_values)` replaces the plain backup of step h, e.g. by
    min(H - h, backup + bonus). Rows of `transitions` may miss mass (absorbing state of value 0).
    """
    lead = np.broadcast_shapes(transitions.shape[:-4], rewards.shape[:-3])
    horizon, states, actions = rewards.shape[-3:]
    values = np.zeros((*lead, horizon + 1, states))
    q = np.empty((*lead, horizon, states, actions))
    for h in range(horizon - 1, -1, -1):
        following = values[..., h + 1, :]
        step = backup(transitions[..., h, :, :, :], rewards[..., h, :, :], following)
        q[..., h, :, :] = step if adjust is None else adjust(h, step, following)
        values[..., h, :] = q[..., h, :, :].max(axis=-1)
    return Plan(q.argmax(axis=-1), q, values)


def evaluate(policy: npt.NDArray[np.generic], transitions: Array, rewards: Array) -> Array:
    """Values (..., H+1, S) of a deterministic or stochastic policy; leading axes broadcast."""
    horizon, states, actions = rewards.shape[-3:]
    chances = as_stochastic(policy, actions)
    lead = np.broadcast_shapes(chances.shape[:-3], transitions.shape[:-4], rewards.shape[:-3])
    values = np.zeros((*lead, horizon + 1, states))
    for h in range(horizon - 1, -1, -1):
        step = backup(transitions[..., h, :, :, :], rewards[..., h, :, :], values[..., h + 1, :])
        values[..., h, :] = (chances[..., h, :, :] * step).sum(axis=-1)
    return values


def expected_return(
    policy: npt.NDArray[np.generic], transitions: Array, rewards: Array, initial: Array
) -> npt.NDArray[np.float64]:
    """Mean total reward of an episode that starts from `initial` (..., S): shape (...)."""
    return np.asarray((evaluate(policy, transitions, rewards)[..., 0, :] * initial).sum(axis=-1))


def occupancy(policy: npt.NDArray[np.generic], transitions: Array, initial: Array) -> Array:
    """Pr[s_h = s, a_h = a], shape (..., H, S, A). Each step sums to 1, or to less where mass was absorbed.

    sum_{h,s,a} occupancy * rewards is the expected return, whatever the rewards: the linear functional
    that policy elimination works with.
    """
    horizon, states, actions = transitions.shape[-4:-1]
    chances = as_stochastic(policy, actions)
    lead = np.broadcast_shapes(chances.shape[:-3], transitions.shape[:-4], initial.shape[:-1])
    visits = np.empty((*lead, horizon, states, actions))
    here = np.broadcast_to(initial, (*lead, states))
    for h in range(horizon):
        visits[..., h, :, :] = here[..., :, None] * chances[..., h, :, :]
        here = np.einsum("...sa,...sat->...t", visits[..., h, :, :], transitions[..., h, :, :, :])
    return visits
