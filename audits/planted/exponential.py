"""INCORRECT: exponential mechanisms with a wrong rate; releases and log ratios are those of what runs."""

from dataclasses import dataclass

from mechanisms.releases.exponential import Exponential
from mechanisms.releases.selection import score_movement


@dataclass(frozen=True, kw_only=True)
class NoSensitivity(Exponential):
    """INCORRECT: weights exp(eps u/2), as if scores moved by 1. True: s times eps."""

    @property
    def rate(self) -> float:
        return self.eps / 2


@dataclass(frozen=True, kw_only=True)
class NoFactorTwo(Exponential):
    """INCORRECT: weights exp(eps u/s), right only where no score falls while another rises. True: 2 eps."""

    @property
    def rate(self) -> float:
        return self.eps / score_movement(self.sensitivity, self.relation)
