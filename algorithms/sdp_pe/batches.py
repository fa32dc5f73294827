"""Releases of a finished batch of users, for algorithms that learn in batches.

    ExactBatches()                  no privacy
    ShuffledBatches(eps, beta, ...) shuffled bits (SDP-PE, section V), separate for every counter

A batch release takes the users' episodes (..., n, H) and a layout, and returns flat raw counts (..., cells).
Crude exploration releases one layer: one-step episodes and a layout with H = 1. `error(layout, users)` is the
E of that batch at failure probability `delta`.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, Protocol, Self

import numpy as np
import numpy.typing as npt

from algorithms.core.counting import total_counts
from algorithms.core.users import Episodes
from dpverify.base import require
from dpverify.errors import ParameterError
from dpverify.ledger import Assigned, Disjoint, Exposed, Ledger
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.shuffle import changed_counters, Shuffle
from mechanisms.shuffling.bits import counter_ledger, noise_for, NoiseBits, noisy_sums, sum_log_ratio, threshold
from mechanisms.shuffling.error_bounds import exact_error

Array = npt.NDArray[np.float64]


class Batches(Protocol):
    """How a batch's counts are released."""

    def release(self, episodes: Episodes, layout: CountLayout, *, rng: np.random.Generator) -> Array:
        """Raw counts (..., layout.cells) of the users on the last leading axis."""
        ...

    def error(self, layout: CountLayout, users: int) -> float:
        """E of the post-processed counts of such a batch."""
        ...


@dataclass(frozen=True)
class ExactBatches:
    """No privacy."""

    def release(self, episodes: Episodes, layout: CountLayout, *, rng: np.random.Generator) -> Array:
        return total_counts(episodes, layout)

    def error(self, layout: CountLayout, users: int) -> float:
        return 0.0

    def variance(self, layout: CountLayout, users: int) -> float:
        """Of one counter's noise."""
        return 0.0


@dataclass(frozen=True, kw_only=True)
class ShuffledBatches:
    """Every counter by its own shuffled bits; eps = infinity adds no noise.

    budget      "journal" eps' = eps/(3H), beta' = beta/(HXA); "conference" beta' = beta; both with
                tau = 96 ln(2/beta')/eps'^2;
                "calibrated" the least noise whose exact account over the counters that a replaced user moves
                meets (eps, beta): 6H of them, or 4 in a one-layer batch without rewards
    layout      of the whole algorithm: H, X, A in the budgets are its, also in a one-layer batch
    delta       failure probability of `error`, for one batch
    share       of the standard deviation that the budget asks for; 1, or less for measured power
    """

    layout: CountLayout
    eps: float
    beta: float
    budget: Literal["journal", "conference", "calibrated"] = "journal"
    delta: float = 0.01
    share: float = 1.0

    def __post_init__(self) -> None:
        require.positive(share=self.share)
        if not self.eps > 0:
            raise ParameterError("eps", self.eps, "> 0, or infinity")
        require.open_unit(beta=self.beta, delta=self.delta)
        if self.budget not in ("journal", "conference", "calibrated"):
            raise ParameterError("budget", self.budget, "'journal', 'conference' or 'calibrated'")

    def with_noise(self, factor: float) -> Self:
        """The same batches with `factor` times the standard deviation."""
        return replace(self, share=factor * self.share)

    def noise(self, layout: CountLayout, users: int) -> NoiseBits | None:
        """Noise of each counter of a batch with this layout; None at eps = infinity."""
        if self.eps == np.inf:
            return None
        full = self._budgeted(layout, users)
        return full if self.share == 1 else _rescaled(full, users, self.share)

    def _budgeted(self, layout: CountLayout, users: int) -> NoiseBits:
        if self.budget == "calibrated":
            return _calibrated(layout, users, self.eps, self.beta)
        beta = self.beta / self.layout.tuples if self.budget == "journal" else self.beta
        return noise_for(threshold(self.eps / (3 * self.layout.H), beta), users)

    def release(self, episodes: Episodes, layout: CountLayout, *, rng: np.random.Generator) -> Array:
        if not np.isin(episodes.rewards, (0.0, 1.0)).all():
            raise ParameterError("rewards", episodes.rewards, "0 or 1: shuffled bits carry binary rewards")
        exact, users = total_counts(episodes, layout), episodes.actions.shape[-2]
        noise = self.noise(layout, users)
        return exact if noise is None else exact + noisy_sums(noise, users, exact.shape, rng) - noise.mean(users)

    def error(self, layout: CountLayout, users: int) -> float:
        noise = self.noise(layout, users)
        return 0.0 if noise is None else 4 * exact_error(noise, users, self.delta / layout.cells)

    def variance(self, layout: CountLayout, users: int) -> float:
        """Of one counter's noise, a sum of centred bits."""
        noise = self.noise(layout, users)
        return 0.0 if noise is None else noise.variance(users)

    def log_ratio(self, released: Array, first: Array, second: Array, layout: CountLayout, users: int) -> Array:
        """Exact log likelihood ratio of raw counts (size, cells), given the true counts in both worlds."""
        noise = self.noise(layout, users)
        if noise is None:
            raise ParameterError("eps", self.eps, "finite: exact counts have no density")
        sums = np.round(released + noise.mean(users))
        terms = sum_log_ratio(sums, first, second, noise.total(users), noise.probability)
        return np.asarray(terms.sum(axis=-1))

    def ledger(self, batches: list[tuple[CountLayout, int]]) -> Ledger:
        """A user is in exactly one of the batches, by the time of her arrival, which her data do not change; in it she
        moves counters as `changed_counters` says.
        """
        branches = []
        for layout, users in dict.fromkeys(batches):
            noise = self.noise(layout, users)
            what = f"shuffled bits of a batch of {users}"
            moved = changed_counters(layout)
            branches.append(Ledger(Exposed(what=what)) if noise is None else counter_ledger(noise, users, moved, what))
        return Ledger(Disjoint(branches=tuple(branches), assigned=Assigned.BY_POSITION))


def _rescaled(noise: NoiseBits, users: int, factor: float) -> NoiseBits:
    """`factor` times the standard deviation: n m p (1 - p) = factor^2 times what it was, with the least m."""
    variance = factor**2 * noise.variance(users)
    bits = max(1, math.ceil(4 * variance / users))
    return NoiseBits(bits, (1 - math.sqrt(max(0.0, 1 - 4 * variance / (users * bits)))) / 2)


@lru_cache(maxsize=4096)
def _calibrated(layout: CountLayout, users: int, eps: float, beta: float) -> NoiseBits:
    return Shuffle.calibrated(eps, beta, layout, users).noise
