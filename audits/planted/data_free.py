"""INCORRECT: a plan that reads no data. The players `DataFree` of all learners play it."""

import numpy as np

from algorithms.tabular import backward_induction, Model, Plan


def data_free(known: Model, lead: tuple[int, ...], shift: float = 0.0) -> Plan:
    """INCORRECT: the exact plan of `known` for every run of `lead`; values and Q are moved by `shift`, at least 0."""
    exact = backward_induction(known.transitions, known.rewards)
    q, values = np.maximum(exact.q + shift, 0.0), np.maximum(exact.values + shift, 0.0)
    return Plan(
        np.broadcast_to(exact.policy, (*lead, *exact.policy.shape)),
        np.broadcast_to(q, (*lead, *q.shape)),
        np.broadcast_to(values, (*lead, *values.shape)),
    )
