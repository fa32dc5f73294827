"""An attack from what the other users see: trees of the hidden user and of the colluders, found on trials of its own.

    target   actions of all users but one, and the final policy (`Actions`)
    pair     the same users, the hidden one replaced; the colluders are the others, the same in both worlds
    move     one user's tree is drawn again in one place: her start, a next state or a reward. The hidden user has two
             trees, one for each world

A user's actions tell of the hidden one only where a decision depends on noisy counts, so which trees the colluders
live matters as much as hers. Search trials have streams of their own and never certify
(`algorithms.beyond.pair_search`): the pair is fixed before the audit, and its significance is spent on one pair.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from algorithms.beyond.pair_search import worst_pair
from algorithms.core.transcripts import users_of
from algorithms.core.users import Tree
from dpverify.base import require
from dpverify.base.seeding import Stage, stream
from dpverify.claims import Claim, Pair, Records
from dpverify.errors import ParameterError

Free = Literal["hidden", "colluders"]
FREE: tuple[Free, ...] = ("hidden", "colluders")
RANDOM = 8  # pairs drawn at random beside the given one: a start where all users are alike shows nothing to climb


def search_trees(
    target: Any,
    *,
    claim: Claim,
    start: Pair,
    trials: int,
    seed: int,
    free: Sequence[Free] = FREE,
    states: int = 2,
    fixed_start: bool = False,
) -> Pair:
    """The most telling pair found from `start`, which may show nothing; `target.hidden` says who is replaced.

    states       states are drawn from 0..states - 1
    fixed_start  every user starts where `start` has her
    Raises ParameterError for a `free` with other words than "hidden" and "colluders", or for none.
    """
    require.integer(at_least=1, trials=trials, states=states)
    require.integer(at_least=0, seed=seed)
    if not free or not set(free) <= set(FREE):
        raise ParameterError("free", free, "some of hidden, colluders")
    changes = Trees(target.hidden, tuple(dict.fromkeys(free)), states, fixed_start)
    rng = stream(seed, Stage.SEARCH, RANDOM)
    drawn = [start]
    for _ in range(RANDOM):
        pair = start
        for _ in range(4 * len(users_of(start.first)) + 4):
            pair = changes(pair, rng)
        drawn.append(pair)
    return worst_pair(target, claim=claim, pairs=drawn, trials=trials, seed=seed, move=changes)


@dataclass(frozen=True)
class Trees:
    """The move: one place of one free tree."""

    hidden: int
    free: tuple[Free, ...]
    states: int
    fixed_start: bool

    def __call__(self, pair: Pair, rng: np.random.Generator) -> Pair:
        worlds = [list(users_of(each).trees) for each in pair]
        others = [t for t in range(len(worlds[0])) if t != self.hidden] if "colluders" in self.free else []
        own = 2 if "hidden" in self.free else 0
        which = int(rng.integers(own + len(others)))
        if which < own:
            worlds[which][self.hidden] = self._changed(worlds[which][self.hidden], rng)
        else:
            t = others[which - own]
            worlds[0][t] = worlds[1][t] = self._changed(worlds[0][t], rng)
        return Pair(Records(worlds[0]), Records(worlds[1]), name="found by search")

    def _changed(self, tree: Tree, rng: np.random.Generator) -> Tree:
        """A start or next state, or a reward of 0 or 1, for one sequence of actions or for all of them."""
        spread = [tree.actions**h for h in range(len(tree.states))]  # entries of a step: a steady tree has one for all
        states = [list(level) * (size // len(level)) for level, size in zip(tree.states, spread, strict=True)]
        rewards = [list(level) * (size // len(level)) for level, size in zip(tree.rewards, spread[1:], strict=True)]
        first = 1 if self.fixed_start else 0
        level = int(rng.integers(first, len(states) + len(rewards)))
        row: list[Any] = states[level] if level < len(states) else rewards[level - len(states)]
        place = int(rng.integers(len(row)))
        value = int(rng.integers(self.states)) if level < len(states) else float(rng.integers(2))
        everywhere = bool(rng.integers(2))
        row[:] = [value if everywhere or i == place else old for i, old in enumerate(row)]
        return replace(
            tree, states=tuple(tuple(each) for each in states), rewards=tuple(tuple(each) for each in rewards)
        )
