"""Several events with one significance: delta = 0.

Each event has a share of the significance; refuted is what one of them refutes at its share (Bonferroni). Events and
shares are fixed in advance, so a wrong choice of one event is insured against, for a share of its significance.
"""

import math
from dataclasses import dataclass
from operator import itemgetter
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

    def share(self, levels: int) -> float:
        """Share of the significance that the event of the first `levels` levels has."""
        return math.fsum(share for k, share in self.events if k == levels)

    def deciding(self, tally: Tally, *, significance: float) -> int:
        """Levels of the event with the largest bound at its share; of equal ones, the one with the largest share."""
        return max(self._bounds(tally, 0.0, significance), key=itemgetter(0, 2))[1]

    def p_value(self, tally: Tally, *, eps: float, delta: float) -> float:
        return min(1.0, *(BinomialTest(k).p_value(tally, eps=eps, delta=delta) / share for k, share in self.events))

    def log10_p_value(self, tally: Tally, *, eps: float, delta: float) -> float:
        logs = [BinomialTest(k).log10_p_value(tally, eps=eps, delta=delta) - math.log10(s) for k, s in self.events]
        return min(0.0, min(logs) + _ROUNDING)

    def eps_lower(self, tally: Tally, *, delta: float, significance: float) -> float:
        return max(bound for bound, *_ in self._bounds(tally, delta, significance))

    def _bounds(self, tally: Tally, delta: float, significance: float) -> list[tuple[float, int, float]]:
        """Bound, levels and share of every event."""
        return [
            (BinomialTest(k).eps_lower(tally, delta=delta, significance=share * significance), k, share)
            for k, share in self.events
        ]
