"""The tabular core: model, policy, planning. One implementation of each, broadcasting over leading axes.

Axis letters: H steps, S states, A actions (of two players: A B joint actions, flattened), t = next state.
Suffix order is axis order, `counts_hsa` has shape (..., H, S, A). Leading axes are runs or trials.
Steps are 0..H-1 here and 1..H in the papers.
"""

from algorithms.tabular.model import Model
from algorithms.tabular.planning import backward_induction, evaluate, expected_return, occupancy, Plan
from algorithms.tabular.policy import all_policies, as_stochastic, uniform_policy

__all__ = [
    "Model",
    "Plan",
    "all_policies",
    "as_stochastic",
    "backward_induction",
    "evaluate",
    "expected_return",
    "occupancy",
    "uniform_policy",
]
