"""An approximate policy set for instances that `policy_sets` cannot hold: one constraint, by Lagrange.

What is approximated, and what is not:
  1. Only the last stage's elimination is remembered: pi stays if V^pi(r~, P~ref) > max V - gap for the last
     (r~, P~ref, gap). Policies that an earlier, wider stage eliminated may come back: a superset of phi.
  2. Every maximisation over the set is made in the last refined model instead of the model asked about,
     because a constraint in one model and an objective in another make the problem intractable (a multi-model
     MDP). The exploration design's `excess` is therefore no certificate here.
  3. max c.w subject to r~.w > t is solved by backward induction on c + lambda r~, bisecting lambda to the
     smallest that satisfies the constraint. The policy found is deterministic and *in the set* exactly; its
     value is below that of the linear programme over occupancy measures by at most the duality gap, which
     `best_with_gap` returns.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from algorithms.policy_sets import indicator_rewards
from algorithms.tabular import backward_induction, evaluate

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

HALVINGS = 40
STEEPEST = 2.0**40  # lambda at which the objective no longer matters to double precision


@dataclass(frozen=True, eq=False)
class LagrangianSet:
    """All deterministic policies with V^pi(rewards, law) > threshold; `law` None = all policies. Single runs."""

    horizon: int
    actions: int
    initial: Array
    law: Array | None = None
    rewards: Array | None = None
    threshold: float = -np.inf

    @property
    def size(self) -> IntArray:
        """-1: the number of policies is not known."""
        return np.asarray(-1, dtype=np.int64)

    def best(self, law: Array, rewards: Array) -> IntArray:
        return self.best_with_gap(law, rewards)[0]

    def best_with_gap(self, law: Array, rewards: Array) -> tuple[IntArray, float]:
        """(policy of the set, bound on how much better any policy or mixture in the set could be)."""
        if self.law is None or self.rewards is None:
            return backward_induction(law, rewards).policy, 0.0
        free = backward_induction(self.law, rewards)
        if self._kept(free.policy):
            return free.policy, 0.0
        low, high = 0.0, 1.0
        while high < STEEPEST and not self._kept(self._leaning(rewards, high)):
            low, high = high, 2 * high
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self._kept(self._leaning(rewards, middle)) else (middle, high)
        policy = self._leaning(rewards, high)
        if not self._kept(policy):  # only the best policy itself is left
            policy = backward_induction(self.law, self.rewards).policy
        # weak duality at lambda = high: every policy of the set has c.w <= max (c + lambda r~).w - lambda t
        relaxed = backward_induction(self.law, rewards + high * self.rewards).values[0] @ self.initial
        reached = evaluate(policy, self.law, rewards)[0] @ self.initial
        return policy, float(relaxed - high * self.threshold - reached)

    def visitors(self, law: Array, h: int, *, rng: np.random.Generator) -> IntArray:
        states = len(self.initial)
        wanted = indicator_rewards(self.horizon, states, self.actions, h)
        model = law if self.law is None else self.law
        found = [self.best(law, each) for each in wanted]
        reached = [float(evaluate(p, model, r)[0] @ self.initial) > 0 for p, r in zip(found, wanted, strict=True)]
        return np.stack([p if seen else self.draw(rng) for p, seen in zip(found, reached, strict=True)])

    def keep(self, law: Array, rewards: Array, gap: float) -> "LagrangianSet":
        if gap > self.horizon:
            return self  # values lie in [0, H]: nothing can be eliminated
        top = float(backward_induction(law, rewards).values[0] @ self.initial)
        return replace(self, law=law, rewards=rewards, threshold=top - gap)

    def draw(self, rng: np.random.Generator) -> IntArray:
        """A policy of the set that is best for random rewards; uniform only while nobody is eliminated."""
        states = len(self.initial)
        if self.law is None:
            return np.asarray(rng.integers(self.actions, size=(self.horizon, states)))
        return self.best(self.law, rng.random((self.horizon, states, self.actions)))

    def _leaning(self, rewards: Array, weight: float) -> IntArray:
        assert self.law is not None
        assert self.rewards is not None
        return backward_induction(self.law, rewards + weight * self.rewards).policy

    def _kept(self, policy: IntArray) -> bool:
        assert self.law is not None
        assert self.rewards is not None
        return bool(evaluate(policy, self.law, self.rewards)[0] @ self.initial > self.threshold)
