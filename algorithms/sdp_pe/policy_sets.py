"""The set of policies that elimination has left, and what SDP-PE asks of it.

    best(law, rewards)         a remaining policy with the largest V^pi(rewards, law)
    visitors(law, h, rng)      for each (x, a) a remaining policy with the largest Pr[x_h = x, a_h = a]
    keep(law, rewards, gap)    the set without the policies with max V - V^pi >= gap
    draw(rng)                  a remaining policy, uniformly

`ExplicitSet` lists the policies and broadcasts over leading axes (audit trials). `FactoredSet` holds *all*
deterministic policies of one run without listing them: at step 0 only the choices in possible first states
matter, so the paper's RiverSwim has 2 * 16^5 = 2.1 million different policies instead of 16.7 million, and
the values of all of them come from one backward pass in which policies share their later steps. Both are
exact; neither needs the approximations of an occupancy-measure programme, in which the constraints of
different stages live in different estimated models.

Ties: a tie for `best` goes to the first policy found. Where no remaining policy reaches (x, a), every one is
a maximiser, and `visitors` draws one uniformly.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from algorithms.tabular import backward_induction, expected_return, occupancy
from dpverify.base import require
from dpverify.errors import ParameterError

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

MOST = 1 << 23  # policies that a FactoredSet agrees to hold


class PolicySet(Protocol):
    """What SDP-PE needs."""

    @property
    def size(self) -> IntArray:
        """Number of remaining policies (...)."""
        ...

    def best(self, law: Array, rewards: Array) -> IntArray:
        """Policy (..., H, S)."""
        ...

    def visitors(self, law: Array, h: int, *, rng: np.random.Generator) -> IntArray:
        """Policies (..., X A, H, S), (x, a) in C order."""
        ...

    def keep(self, law: Array, rewards: Array, gap: float) -> Self:
        """The remaining set."""
        ...

    def draw(self, rng: np.random.Generator) -> IntArray:
        """Policy (..., H, S)."""
        ...


def indicator_rewards(horizon: int, states: int, actions: int, h: int) -> Array:
    """1_{h,x,a} for every (x, a): shape (X A, H, X, A)."""
    rewards = np.zeros((states * actions, horizon, states * actions))
    rewards[np.arange(states * actions), h, np.arange(states * actions)] = 1.0
    return rewards.reshape(-1, horizon, states, actions)


@dataclass(frozen=True, eq=False)
class ExplicitSet:
    """`policies` (N, H, S), `alive` (..., N), initial law (S,)."""

    policies: IntArray
    initial: Array
    actions: int
    alive: Mask

    @classmethod
    def full(cls, policies: IntArray, initial: Array, actions: int, lead: tuple[int, ...] = ()) -> Self:
        """All of `policies`, once for each leading index."""
        return cls(policies, initial, actions, np.ones((*lead, len(policies)), dtype=bool))

    @property
    def size(self) -> IntArray:
        return np.asarray(self.alive.sum(axis=-1), dtype=np.int64)

    def _values(self, law: Array, rewards: Array) -> Array:
        values = expected_return(self.policies, law[..., None, :, :, :, :], rewards[..., None, :, :, :], self.initial)
        return np.where(self.alive, values, -np.inf)

    def best(self, law: Array, rewards: Array) -> IntArray:
        return np.asarray(self.policies[self._values(law, rewards).argmax(axis=-1)])

    def visitors(self, law: Array, h: int, *, rng: np.random.Generator) -> IntArray:
        reach = occupancy(self.policies, law[..., None, :, :, :, :], self.initial)[..., h, :, :]
        reach = np.where(self.alive[..., None, None], reach, -1.0)
        chances = np.moveaxis(reach.reshape(*reach.shape[:-2], -1), -1, -2)  # (..., X A, N)
        chosen = np.where(chances.max(axis=-1) > 0, chances.argmax(axis=-1), self._drawn(rng, chances.shape[-2]))
        return np.asarray(self.policies[chosen])

    def keep(self, law: Array, rewards: Array, gap: float) -> "ExplicitSet":
        values = self._values(law, rewards)
        stays = values.max(axis=-1, keepdims=True) - values < gap
        return ExplicitSet(self.policies, self.initial, self.actions, self.alive & stays)

    def draw(self, rng: np.random.Generator) -> IntArray:
        return np.asarray(self.policies[self._drawn(rng, 1)[..., 0]])

    def _drawn(self, rng: np.random.Generator, number: int) -> IntArray:
        lottery = rng.random((*self.alive.shape[:-1], number, self.alive.shape[-1]))
        return np.asarray(np.where(self.alive[..., None, :], lottery, -1.0).argmax(axis=-1))


@dataclass(frozen=True, eq=False)
class FactoredSet:
    """All deterministic policies from `initial`, those still in `alive` (N,); None = nobody eliminated yet.

    Policy number = mixed radix (rule of step 0, ..., rule of step H-1); a rule is a map from states to
    actions, at step 0 from the possible first states only (the others are given action 0).
    """

    horizon: int
    actions: int
    initial: Array
    alive: Mask | None = None

    def __post_init__(self) -> None:
        require.integer(at_least=1, horizon=self.horizon, actions=self.actions)
        if self.first_rules.shape[0] * len(self.rules) ** (self.horizon - 1) > MOST:
            raise ParameterError("policies", self.total, f"at most {MOST} different ones")

    @cached_property
    def rules(self) -> IntArray:
        """All maps from states to actions, (A^S, S)."""
        states = len(self.initial)
        codes = np.arange(self.actions**states)
        return np.asarray(codes[:, None] // self.actions ** np.arange(states - 1, -1, -1) % self.actions)

    @cached_property
    def first_rules(self) -> IntArray:
        """Maps that differ in a possible first state."""
        return np.asarray(self.rules[(self.rules[:, self.initial == 0] == 0).all(axis=1)])

    @property
    def total(self) -> int:
        """N."""
        return int(len(self.first_rules) * len(self.rules) ** (self.horizon - 1))

    @property
    def size(self) -> IntArray:
        return np.asarray(self.total if self.alive is None else self.alive.sum(), dtype=np.int64)

    def decode(self, numbers: IntArray) -> IntArray:
        """Policies (..., H, S) from their numbers (...)."""
        steps, rest = [], np.asarray(numbers)
        for _ in range(self.horizon - 1):
            rest, rule = np.divmod(rest, len(self.rules))
            steps.append(self.rules[rule])
        return np.stack([self.first_rules[rest], *reversed(steps)], axis=-2)

    def values(self, law: Array, rewards: Array) -> Array:
        """V^pi from the initial law for all N policies; at step 0 for the possible first states only."""
        later = np.zeros((len(self.initial), 1))  # (S, number of ways to continue)
        for h in range(self.horizon - 1, 0, -1):
            later = self._step(law[h], rewards[h], later, self.rules)
        begin = self.initial > 0
        first = self._step(law[0][begin], rewards[0][begin], later, self.first_rules[:, begin])
        if len(first) == 1 and self.initial[begin][0] == 1:
            return np.asarray(first[0])
        return np.asarray(np.einsum("s,sn->n", self.initial[begin], first, optimize=True))

    def _step(self, law: Array, rewards: Array, later: Array, rules: IntArray) -> Array:
        """Values (states of `law`, rules x ways) of doing a rule now and then one of the ways in `later`."""
        here, ways = len(law), later.shape[1]
        backup = (law.reshape(-1, len(later)) @ later).reshape(here, self.actions, ways)
        backup += rewards[..., None]
        values = np.empty((here, len(rules), ways))
        for s in range(here):
            np.take(backup[s], rules[:, s], axis=0, out=values[s])
        return values.reshape(here, -1)

    def best(self, law: Array, rewards: Array) -> IntArray:
        if self.alive is None:
            return backward_induction(law, rewards).policy
        if self._listed is not None:
            reach = self._reach(law)
            return np.asarray(self._listed_policies[(reach @ rewards.ravel()).argmax()])
        return self.decode(np.asarray(np.where(self.alive, self.values(law, rewards), -np.inf).argmax()))

    def visitors(self, law: Array, h: int, *, rng: np.random.Generator) -> IntArray:
        states = len(self.initial)
        if self.alive is None:
            rewards = indicator_rewards(self.horizon, states, self.actions, h)
            plan = backward_induction(np.broadcast_to(law, (len(rewards), *law.shape)), rewards)
            reached = (plan.values[:, 0] * self.initial).sum(axis=-1) > 0
            found = plan.policy
        else:
            reached, found = self._alive_visitors(law, h)
        return np.stack([found[i] if reached[i] else self.draw(rng) for i in range(states * self.actions)])

    def _alive_visitors(self, law: Array, h: int) -> tuple[Mask, IntArray]:
        assert self.alive is not None
        here = self.initial[None]  # (ways to get here, S)
        for g in range(h):
            rules = self.first_rules if g == 0 else self.rules
            moves = np.stack([law[g][np.arange(len(self.initial)), rule] for rule in rules])  # (rules, S, S)
            here = np.einsum("ps,rst->prt", here, moves, optimize=True).reshape(-1, len(self.initial))
        rules = self.first_rules if h == 0 else self.rules
        tails = self.alive.reshape(len(here), len(rules), -1)
        some = np.asarray(tails.any(axis=-1))  # (ways, rules): is any policy of that kind left
        reached, found = [], []
        for x in range(len(self.initial)):
            for a in range(self.actions):
                does = rules[:, x] == a
                chance = np.where((some & does).any(axis=-1), here[:, x], -1.0)
                way = int(chance.argmax())
                rule = int((some[way] & does).argmax())
                reached.append(chance[way] > 0)
                number = (way * len(rules) + rule) * tails.shape[-1] + int(tails[way, rule].argmax())
                found.append(self.decode(np.asarray(number)))
        return np.asarray(reached), np.stack(found)

    def keep(self, law: Array, rewards: Array, gap: float) -> "FactoredSet":
        if gap > self.horizon and np.all((rewards >= 0) & (rewards <= 1)):
            return self  # values lie in [0, H]: nothing can be eliminated
        values = self.values(law, rewards)
        top = values.max() if self.alive is None else values.max(where=self.alive, initial=-np.inf)
        stays = top - values < gap
        if self.alive is not None:
            stays &= self.alive
        elif stays.all():
            return self
        return FactoredSet(self.horizon, self.actions, self.initial, stays)

    def draw(self, rng: np.random.Generator) -> IntArray:
        if self.alive is None:
            return self.decode(np.asarray(rng.integers(self.total)))
        numbers = np.flatnonzero(self.alive)
        return self.decode(np.asarray(numbers[rng.integers(len(numbers))]))

    # Few policies left: list their occupancies once per model, then every maximisation is one product.

    @cached_property
    def _listed(self) -> IntArray | None:
        assert self.alive is not None
        numbers = np.flatnonzero(self.alive)
        return numbers if len(numbers) <= 1 << 15 else None

    @cached_property
    def _listed_policies(self) -> IntArray:
        assert self._listed is not None
        return self.decode(self._listed)

    def _reach(self, law: Array) -> Array:
        known: dict[bytes, Array] = self.__dict__.setdefault("_reach_of", {})
        key = law.tobytes()
        if key not in known:
            known.clear()
            visits = occupancy(self._listed_policies, law, self.initial)
            known[key] = visits.reshape(len(visits), -1)
        return known[key]
