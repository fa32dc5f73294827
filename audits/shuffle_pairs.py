"""The claim and the neighbours of the shuffle privatizer's audits, apart from its noise: that takes long to find."""

from dataclasses import replace

import numpy as np

from dpverify import Pair
from mechanisms.datasets.pairs import constant, worst_replacement
from mechanisms.datasets.visit_counts import CountLayout

EPS, BETA = 0.9, 1e-3


def worst(layout: CountLayout, users: int) -> tuple[Pair, ...]:
    """User 0 replaced so that all 6H counters move; everybody else does the same thing and earns nothing."""
    pair = worst_replacement(constant(layout, users), 0)
    rewards = np.zeros((users, layout.H))
    rewards[0] = 1.0
    return (replace(pair, first=replace(pair.first, rewards=rewards), second=replace(pair.second, rewards=rewards)),)
