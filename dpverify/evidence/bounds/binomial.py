"""delta = 0: the conditional binomial test, exact for every rule that looks at outputs only.

Given all outputs the coins are independent, and the posterior of each lies in [1 - r, r] under eps-DP.
So each guess is right with probability at most r, and v given m is stochastically below Bin(m, r).
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from scipy import special

from dpverify.base import require
from dpverify.errors import ParameterError
from dpverify.evidence.bounds import binomial_tails
from dpverify.evidence.bounds.binomial_tails import log10_up, log_at_most, SMALLEST
from dpverify.evidence.bounds.protocol import check_hypothesis, check_level, pooled
from dpverify.evidence.tally import Tally


@dataclass(frozen=True)
class BinomialTest:
    """p(eps) = Pr[Bin(m, r) >= v]; eps_lower = logit of the Clopper-Pearson lower limit of v/m.

    Only for delta = 0 (ParameterError otherwise). The first `levels` levels are pooled, None pools all.
    """

    levels: int | None = None
    name: ClassVar[str] = "binomial"

    @property
    def working(self) -> dict[str, Any]:
        return {}

    def p_value(self, tally: Tally, *, eps: float, delta: float) -> float:
        check_hypothesis(eps, delta)
        _check_pure(delta)
        return binomial_tail(*pooled(tally, self.levels), eps)

    def log10_p_value(self, tally: Tally, *, eps: float, delta: float) -> float:
        check_hypothesis(eps, delta)
        _check_pure(delta)
        return log10_up(log_binomial_tail(*pooled(tally, self.levels), eps))

    def eps_lower(self, tally: Tally, *, delta: float, significance: float) -> float:
        check_level(delta, significance)
        _check_pure(delta)
        right, wrong = pooled(tally, self.levels)
        # 1 - theta from above, not theta from below: nothing is lost where theta is close to 1
        rest = binomial_tails.clopper_pearson_upper(wrong, right + wrong, significance)
        if not rest < 0.5:
            return 0.0
        closed = math.log((1 - rest) / rest)
        return binomial_tails.step_down(lambda eps: binomial_tail(right, wrong, eps), significance, closed)


def binomial_tail(right: int, wrong: int, eps: float) -> float:
    """Pr[Bin(right + wrong, e^eps/(1 + e^eps)) >= right], through the small probability 1/(1 + e^eps); never 0."""
    if right == 0:
        return 1.0
    return max(float(special.betaincc(wrong + 1, right, special.expit(-eps))), SMALLEST)


def log_binomial_tail(right: int, wrong: int, eps: float) -> float:
    """Natural logarithm of `binomial_tail`, from above."""
    return float(log_at_most(wrong, right + wrong, float(special.expit(-eps))))


def _check_pure(delta: float) -> None:
    if delta != 0:
        raise ParameterError("delta", delta, "0 for the conditional binomial test")


# ----------------------------------------------------------------------------------------------------------------------
# Several events with one significance: delta = 0.
#
# Each event has a share of the significance; refuted is what one of them refutes at its share (Bonferroni). Events and
# shares are fixed in advance: a wrong choice of one event costs its share only.


_ROUNDING = 1e-14  # more than that of a logarithm of a share


@dataclass(frozen=True)
class BonferroniTest:
    """p(eps) = min_k p_k(eps)/share_k, at most 1, with p_k the binomial test of the first levels_k levels.

    `events` holds (levels, share): whole numbers >= 1, shares > 0 with a sum of at most 1 (ParameterError otherwise).
    Only for delta = 0. Valid for events that overlap, whatever their dependence.
    """

    events: tuple[tuple[int, float], ...]
    name: ClassVar[str] = "shared binomial"

    def __post_init__(self) -> None:
        for levels, share in self.events:
            require.integer(at_least=1, levels=levels)
            if not 0 < share <= 1:
                raise ParameterError("share", share, "in (0, 1]")
        if not (self.events and math.fsum(share for _, share in self.events) <= 1 + 1e-12):
            raise ParameterError("events", self.events, "at least one, with shares of at most 1 in all")

    def deciding(self, tally: Tally, *, significance: float) -> int:
        """Levels of the event with the largest bound at its share; of equal ones, the one with the largest share."""
        return max(self._bounds(tally, 0.0, significance))[2]

    @property
    def working(self) -> dict[str, Any]:
        return {"events": self.events}

    def p_value(self, tally: Tally, *, eps: float, delta: float) -> float:
        return min(1.0, *(BinomialTest(k).p_value(tally, eps=eps, delta=delta) / share for k, share in self.events))

    def log10_p_value(self, tally: Tally, *, eps: float, delta: float) -> float:
        logs = [BinomialTest(k).log10_p_value(tally, eps=eps, delta=delta) - math.log10(s) for k, s in self.events]
        return min(0.0, min(logs) + _ROUNDING)

    def eps_lower(self, tally: Tally, *, delta: float, significance: float) -> float:
        return max(self._bounds(tally, delta, significance))[0]

    def _bounds(self, tally: Tally, delta: float, significance: float) -> list[tuple[float, float, int]]:
        """Bound, share and levels of every event."""
        levels = [(BinomialTest(k), share * significance) for k, share in self.events]
        bounds = [test.eps_lower(tally, delta=delta, significance=level) for test, level in levels]
        return [(bound, share, k) for bound, (k, share) in zip(bounds, self.events, strict=True)]
