"""Policies: deterministic (..., H, S) of action numbers, or stochastic (..., H, S, A) of probabilities."""

import numpy as np
import numpy.typing as npt

from dpverify.errors import ParameterError

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

MOST = 1 << 22  # policies that `all_policies` agrees to list


def as_stochastic(policy: npt.NDArray[np.generic], actions: int) -> Array:
    """The policy as probabilities (..., H, S, A): integers become unit vectors, floats are taken as they are.

    ParameterError for an action outside 0..A-1, or when float rows do not have A entries.
    """
    if np.issubdtype(policy.dtype, np.integer):
        numbers = policy.astype(np.int64, copy=False)
        if not np.all((numbers >= 0) & (numbers < actions)):
            raise ParameterError("policy", policy, f"action numbers in 0..{actions - 1}")
        return np.asarray(numbers[..., None] == np.arange(actions), dtype=np.float64)
    if policy.shape[-1] != actions:
        raise ParameterError("policy", policy.shape, f"probabilities of {actions} actions on the last axis")
    return np.asarray(policy, dtype=np.float64)


def uniform_policy(horizon: int, states: int, actions: int) -> Array:
    """Every action with probability 1/A, shape (H, S, A)."""
    return np.full((horizon, states, actions), 1.0 / actions)


def all_policies(horizon: int, states: int, actions: int) -> IntArray:
    """All A^(H S) deterministic non-stationary policies, shape (A^(H S), H, S), in counting order.

    ParameterError when there are more than 2^22: then the set must be handled implicitly.
    """
    cells = horizon * states
    if actions**cells > MOST:
        raise ParameterError("policies", f"{actions}^{cells}", f"at most {MOST} to be listed")
    codes = np.arange(actions**cells, dtype=np.int64)
    digits = codes[:, None] // actions ** np.arange(cells - 1, -1, -1, dtype=np.int64) % actions
    return digits.reshape(-1, horizon, states)
