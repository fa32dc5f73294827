"""Plans with the bonus of DP-Nash-VI's line 9 at B = 1, rewards known or learned (R1)."""

import numpy as np

from algorithms.bernstein_vi.learner import BernsteinVI
from algorithms.core.counting import layout_of
from algorithms.core.environments import random_environment
from algorithms.core.optimism import dense_counts
from algorithms.tabular import backward_induction
from dpverify.base.seeding import Stage, stream


def below(error: float, learned: bool = False, plans: int = 1_000, visits: int = 10**6, seed: int = 1) -> float:
    """Share of plans with some Q below Q*, every count moved by `error`/4 up or down."""
    model = random_environment(0, 2, 2, 2).model
    learner = BernsteinVI(
        layout=layout_of(model),
        episodes=visits,
        error=error,
        bonus="known",
        rewards=None if learned else model.rewards,
    )
    counts = dense_counts(model, visits, plans, noise=error / 4, rng=stream(seed, Stage.EXPERIMENT))
    best = backward_induction(model.transitions, model.rewards).q
    return float(np.mean((best - learner.optimistic(counts).q).max(axis=(1, 2, 3)) > 1e-9))
