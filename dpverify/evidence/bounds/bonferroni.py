"""Several events with one significance: delta = 0.

Each event has a share of the significance; refuted is what one of them refutes at its share (Bonferroni). Events and
shares are fixed in advance: a wrong choice of one event costs its share only.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from dpverify.base import require
from dpverify.base.errors import ParameterError
from dpverify.evidence.bounds.binomial import BinomialTest
from dpverify.evidence.tally import Tally

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
