"""delta > 0 when n d is small: every revealed trial is counted as a right guess that came for free.

A fixed rule under H0(eps, delta) behaves as if each trial were revealed with probability at most d and
were otherwise guessed right with probability at most r given the guess (Kairouz, Oh, Viswanath 2015).
The tail below is then conservative although m is random: putting a revealed trial among the guesses
instead of on top of them never lowers it.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import special, stats

from dpverify.evidence.bounds import solve
from dpverify.evidence.bounds.binomial import binomial_tail
from dpverify.evidence.bounds.protocol import check_hypothesis, check_level, pooled, slack
from dpverify.evidence.tally import Tally


@dataclass(frozen=True)
class ConvolutionTest:
    """p(eps) = Pr[Bin(n, d) + Bin(m, r) >= v].

    Over-charges by about r n d guesses, hence for n d < 0.5; there it needs no split of alpha.
    The first `levels` levels are pooled, None pools all.
    """

    levels: int | None = None
    name: ClassVar[str] = "convolution"

    def p_value(self, tally: Tally, *, eps: float, delta: float) -> float:
        check_hypothesis(eps, delta)
        return revealed_tail(*pooled(tally, self.levels), eps, tally.trials, slack(tally, delta))

    def eps_lower(self, tally: Tally, *, delta: float, significance: float) -> float:
        check_level(delta, significance)
        return solve.largest_refuted(lambda eps: self.p_value(tally, eps=eps, delta=delta), significance)


def revealed_tail(right: int, wrong: int, eps: float, trials: int, revealed: float) -> float:
    """Pr[Bin(trials, revealed) + Bin(right + wrong, r) >= right]; what the sum leaves out is added back."""
    if right == 0:
        return 1.0
    if revealed == 0:
        return binomial_tail(right, wrong, eps)
    mean = trials * revealed
    last = min(trials, right - 1, math.ceil(mean + 10 * math.sqrt(mean) + 12))
    count = np.arange(last + 1)
    pmf = stats.binom.pmf(count, trials, revealed)
    tail = special.betaincc(wrong + 1 + count, right - count, special.expit(-eps))
    beyond = special.betainc(last + 1, trials - last, revealed) if last < trials else 0.0
    return min(1.0, float(pmf @ tail + beyond))
