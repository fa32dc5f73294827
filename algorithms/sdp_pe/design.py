"""Fine exploration as an optimal design: a mixture of remaining policies that covers all of them.

The paper asks (eq. (4)) for pi minimising  max_mu sum_j w_mu(j)/w_pi(j)  over the remaining policies, j = (h, x, a),
w = occupancy in the crude model, 0/0 = 0; its Lemma 13 needs pi to be a distribution over policies. Then:

    for every mixture pi:        max_mu sum_j w_mu(j)/w_pi(j) >= sum_j w_pi(j)/w_pi(j) = J     (mu in pi's support)
    for the maximiser of
    F(pi) = sum_j log w_pi(j):   max_mu sum_j w_mu(j)/w_pi(j) <= J                              (first-order optimality)

J = number of reachable j, at most HXA. So (4) has value exactly J, and Frank-Wolfe on the concave F solves
it; its linear step is a maximisation over the remaining policies. `excess` = max_mu sum - J >= 0 is at once
the Frank-Wolfe gap and the exact suboptimality in (4).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from algorithms.tabular import occupancy
from dpverify.base import require

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

HALVINGS = 40


@dataclass(frozen=True, eq=False)
class PolicyDesign:
    """Mixture of `policies` (..., V, H, S) with `weights` (..., V); `reachable` = J and `excess`, both (...)."""

    policies: IntArray
    weights: Array
    reachable: IntArray
    excess: Array


def coverage_design(
    best: Callable[[Array, Array], IntArray],
    start: IntArray,
    law: Array,
    initial: Array,
    *,
    tolerance: float = 0.1,
    steps: int = 200,
) -> PolicyDesign:
    """Frank-Wolfe from the uniform mixture of `start` (..., M, H, S), until excess <= tolerance J or `steps` steps.

    `best(law, rewards)` is a policy of the set with the largest value. `start` must reach every j that any
    policy of the set reaches (the crude exploration's policies do). What was reached is in the result.
    """
    require.positive(tolerance=tolerance)
    require.integer(at_least=1, steps=steps)
    policies = [start[..., i, :, :] for i in range(start.shape[-3])]
    weights = np.full((*start.shape[:-3], len(policies)), 1.0 / len(policies))
    reach = occupancy(start, law[..., None, :, :, :, :], initial).mean(axis=-4)
    support = reach > 0
    reachable = support.sum(axis=(-3, -2, -1))
    while True:
        price = np.where(support, 1.0 / np.where(support, reach, 1.0), 0.0)
        vertex = best(law, price)
        arrival = occupancy(vertex, law, initial)
        excess = (price * arrival).sum(axis=(-3, -2, -1)) - reachable
        open_ = excess > tolerance * reachable
        if not open_.any() or len(policies) >= start.shape[-3] + steps:
            return PolicyDesign(np.stack(policies, axis=-3), weights, reachable, excess)
        step = np.where(open_, _line_search(reach, arrival, support), 0.0)
        reach = reach + step[..., None, None, None] * (arrival - reach)
        weights = np.concatenate([weights * (1 - step)[..., None], step[..., None]], axis=-1)
        policies.append(vertex)


def _line_search(reach: Array, arrival: Array, support: npt.NDArray[np.bool_]) -> Array:
    """The step in [0, 1) that maximises F on the segment: bisection on its decreasing derivative."""
    move = np.where(support, arrival - reach, 0.0)
    base = np.where(support, reach, 1.0)
    low, high = np.zeros(reach.shape[:-3]), np.ones(reach.shape[:-3])
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        rising = (move / (base + middle[..., None, None, None] * move)).sum(axis=(-3, -2, -1)) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return low
