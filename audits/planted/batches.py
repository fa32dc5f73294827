"""INCORRECT: shuffled batches with mistakes in their noise. Each log ratio is that of what runs."""

from dataclasses import dataclass

import numpy as np

from algorithms.core.counting import total_counts
from algorithms.core.users import Episodes
from algorithms.sdp_pe.batches import ShuffledBatches
from audits.certainty import certainty
from dpverify.ledger import Exposed, Ledger
from dpverify.trials.target import Array
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.shuffling.bits import noise_for, NoiseBits, noisy_sums, threshold


@dataclass(frozen=True, kw_only=True)
class LostConstant(ShuffledBatches):
    """INCORRECT: tau = ln(2/beta')/eps'^2 with eps' = eps: neither the constant 96 nor the split over 3H counters."""

    def noise(self, layout: CountLayout, users: int) -> NoiseBits | None:
        return noise_for(threshold(self.eps, self.beta, 1.0), users)


@dataclass(frozen=True, kw_only=True)
class SharedBits(ShuffledBatches):
    """INCORRECT: one set of noise bits for all counters of a batch. True: (inf, 1), counters subtract."""

    def release(self, episodes: Episodes, layout: CountLayout, *, rng: np.random.Generator) -> Array:
        exact, users = total_counts(episodes, layout), episodes.actions.shape[-2]
        noise = self.noise(layout, users)
        assert noise is not None
        return np.asarray(exact + noisy_sums(noise, users, (*exact.shape[:-1], 1), rng) - noise.mean(users))

    def log_ratio(self, released: Array, first: Array, second: Array, layout: CountLayout, users: int) -> Array:
        """Differences between counters are exact."""
        gaps = released - released[..., :1]
        one, other = (
            np.isclose(gaps, each - each[..., :1], rtol=0, atol=1e-6).all(axis=-1) for each in (first, second)
        )
        return certainty(one, other)

    def ledger(self, batches: list[tuple[CountLayout, int]]) -> Ledger:
        return Ledger(Exposed(what="differences of counters"))
