"""One-run canaries for messages: every user's coin is guessed from her own message (Steinke, Nasr, Jagielski 2023).

A fair coin chooses each user's life. Given what was released before her, her message has one of two known laws, and its
likelihood ratio is her score. If messages are eps-DP, and noises are independent, the number of right guesses among
the m surest is dominated by Bin(m, e^eps/(1 + e^eps)), whatever m was fixed before. The shares of `SHARES` are
tested by Clopper-Pearson, each at an equal share of the significance (Bonferroni).

One run finds gross errors at size; it never tells a factor of two.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from algorithms.core.users import IntArray, TreeUsers, Which
from dpverify.evidence.bounds.binomial_tails import clopper_pearson_lower

Array = npt.NDArray[np.float64]

SHARES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
SIGNIFICANCE = 0.05
DIGITS = 9  # scores that are equal but for rounding are ties: low bits tell 1 + z from z, and the claim is about reals


class Canaries(NamedTuple):
    """`eps_lower` at 1 - `SIGNIFICANCE` from the best share: `right` of `guesses`."""

    eps_lower: float
    guesses: int
    right: int


def canaries(scores: Array, coins: npt.NDArray[np.bool_]) -> Canaries:
    """`scores` (users,): log ratio of the message's laws with coin False and True; positive guesses False."""
    scores = np.round(scores, DIGITS)
    sure = np.argsort(-np.abs(scores), kind="stable")
    right = (scores > 0) != coins
    found = []
    for share in SHARES:
        guesses = max(1, math.floor(share * len(scores)))
        good = int(right[sure[:guesses]].sum())
        rate = clopper_pearson_lower(good, guesses, SIGNIFICANCE / len(SHARES))
        eps = math.log(rate / (1 - rate)) if 0 < rate < 1 else (math.inf if rate == 1 else -math.inf)
        found.append(Canaries(eps, guesses, good))
    return max(found, key=lambda each: each.eps_lower)


@dataclass(frozen=True, eq=False)
class CoinUsers:
    """User t lives the life `trees[coins[t]]`."""

    trees: TreeUsers
    coins: npt.NDArray[np.int64]

    @property
    def horizon(self) -> int:
        """H."""
        return self.trees.horizon

    def __len__(self) -> int:
        return len(self.coins)

    def start(self, which: Which) -> IntArray:
        return self.trees.start(self.coins[which])

    def reply(
        self, which: Which, h: int, prefix: IntArray, states: IntArray, actions: IntArray
    ) -> tuple[Array, IntArray]:
        return self.trees.reply(self.coins[which], h, prefix, states, actions)
