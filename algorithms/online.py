"""The protocol of PUCB, Algorithm 1: one user an episode, a policy planned from counts before each.

    for t = 1..T:  pi_t = plan(counts of users 1..t-1);  user t answers pi_t;  her own counts are fed
    final policy:  pi_T, which uses T - 1 users; or, with `feed_last`, the plan after user T.

So R = T - 1 prefixes are released, or R = T with `feed_last`: the difference matters to the accountant.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from algorithms.counting import own_counts, Source
from algorithms.tabular import backward_induction, expected_return, Model
from algorithms.users import Episodes, play, Users
from mechanisms.datasets.visit_counts import PrivateCounts

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

Observe = Callable[[int, IntArray, Episodes, Array], None]  # (t, policy, episodes, counts after user t)


class Learner(Protocol):
    """A rule that turns counts into a policy; everything it knows about users is in the counts."""

    def plan(self, counts: PrivateCounts) -> IntArray:
        """Deterministic policies (runs, H, S) from counts with leading axis runs."""
        ...


@dataclass(frozen=True, eq=False)
class OnlineRun:
    """Policies (T, runs, H, S) that were played, and the final one (runs, H, S)."""

    policies: npt.NDArray[np.int8]
    final: IntArray

    @property
    def switches(self) -> IntArray:
        """Number of t with pi_t != pi_{t+1}, by comparing the whole tables, shape (runs,)."""
        moved = (self.policies[1:] != self.policies[:-1]).any(axis=(-2, -1))
        return np.asarray(moved.sum(axis=0), dtype=np.int64)


def run_online(
    users: Users,
    learner: Learner,
    source: Source,
    *,
    runs: int,
    rng: np.random.Generator,
    feed_last: bool = False,
    last_transition: bool = True,
    observe: Observe | None = None,
) -> OnlineRun:
    """All T users in order, for `runs` runs (or audit trials) side by side."""
    layout = source.layout
    feed = source.stream(runs, rng=rng)
    counts: Array = np.zeros((runs, layout.cells))
    policies = np.empty((len(users), runs, layout.H, layout.S), dtype=np.int8)
    for t in range(len(users)):
        policy = learner.plan(layout.unpack(counts))
        policies[t] = policy
        episodes = play(users, t, policy, actions=layout.A)
        if feed_last or t + 1 < len(users):
            counts = feed.feed(own_counts(episodes, layout, last_transition=last_transition))
        if observe is not None:
            observe(t, policy, episodes, counts)
    final = learner.plan(layout.unpack(counts)) if feed_last else policy
    return OnlineRun(policies, final)


def regret_per_episode(policies: npt.NDArray[np.int8], model: Model, *, block: int = 1000) -> Array:
    """V* - V^pi from the initial law, in the true model: shape of `policies` without its last two axes.

    Expected, not realised, regret of each episode; the runs' means are unbiased for the papers' regret.
    """
    best = (backward_induction(model.transitions, model.rewards).values[0] * model.initial).sum()
    flat = policies.reshape(-1, *policies.shape[-2:])
    values = np.concatenate(
        [
            expected_return(flat[i : i + block], model.transitions, model.rewards, model.initial)
            for i in range(0, len(flat), block)
        ]
    )
    return np.asarray((best - values).reshape(policies.shape[:-2]))
