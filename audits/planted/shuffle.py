"""INCORRECT: shuffled counts with mistakes, in the noise or in the ledger; log ratios are those of what runs."""

import functools
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import special

from dpverify import Pair
from dpverify.ledger import Direction, Ledger, Shift
from dpverify.trials.target import Array
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.shuffle import Shuffle
from mechanisms.shuffling.bits import counter_ledger, NoiseBits, noisy_sums
from mechanisms.shuffling.calibration import log_excess, smallest_noise


@dataclass(frozen=True)
class OneNoiseForAll:
    """INCORRECT: one draw of noise bits serves all counters. True: eps = inf (counters subtract)."""

    shuffle: Shuffle

    def release(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> Array:
        return _exact_counts(self.shuffle, data) + noisy_sums(self.shuffle.noise, self.shuffle.users, (size, 1), rng)

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """+-inf: only the true dataset explains all counters by one noise."""
        first, second = (np.ptp(outputs - _exact_counts(self.shuffle, each), axis=1) == 0 for each in pair)
        return np.where(first == second, 0.0, np.where(first, np.inf, -np.inf))


@dataclass(frozen=True, kw_only=True)
class RewardsBothWays(Shuffle):
    """INCORRECT ledger: with a single tuple as many rewards go up as down, as if they had different cells.

    A user whose rewards turn from 0 to 1 moves all H up. Noise calibrated to this ledger is too small, and
    where each law is impossible under the other too often, no eps is finite at beta.
    """

    @classmethod
    def calibrated(cls, eps: float, beta: float, layout: CountLayout, users: int) -> Self:
        def stated(noise: NoiseBits) -> Ledger:
            return cls._stated(noise, layout, users)

        noise = smallest_noise(users, functools.partial(log_excess, stated, eps=eps, beta=beta))
        return cls(layout=layout, users=users, eps=eps, beta=beta, noise=noise)

    @property
    def ledger(self) -> Ledger:
        return self._stated(self.noise, self.layout, self.users)

    @staticmethod
    def _stated(noise: NoiseBits, layout: CountLayout, users: int) -> Ledger:
        up = layout.H // 2
        wrong = Shift(1, up, Direction.UP), Shift(1, layout.H - up, Direction.DOWN)
        return counter_ledger(noise, users, (wrong,), "shuffled rewards")


@dataclass(frozen=True)
class BundledBits:
    """INCORRECT: bits are separate, but the j-th bits of all counters travel as one vector message.

    The n true vectors are hidden among N = n m noise vectors, uniform on 2^C patterns: next to none looks like
    a given one. The release is less than what the shuffler shows: how often each of `patterns`, the vectors of
    the replaced user, occurs. Noise is fair bits, so both occur with the same probability in it.
    """

    shuffle: Shuffle
    patterns: tuple[tuple[int, ...], tuple[int, ...]]

    def release(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> Array:
        noise = rng.multinomial(self._messages, self._law, size=size)
        return np.asarray(noise[:, :2] + self._own(data))

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """Of two multinomial laws, moved by how many users hold each pattern."""
        first, second = (self._log_law(outputs - self._own(each)) for each in pair)
        with np.errstate(invalid="ignore"):
            return np.asarray(first - second)

    @property
    def _messages(self) -> int:
        return self.shuffle.noise.total(self.shuffle.users)

    @property
    def _law(self) -> tuple[float, float, float]:
        each = 0.5**self.shuffle.layout.cells
        return each, each, 1 - 2 * each

    def _own(self, data: Trajectories) -> Array:
        vectors = self.shuffle.layout.pack(data.per_user(rewards=self.shuffle.layout.rewards))
        return np.array([(vectors == np.array(pattern)).all(axis=1).sum() for pattern in self.patterns])

    def _log_law(self, counts: Array) -> Array:
        rest = self._messages - counts.sum(axis=1)
        terms = [
            special.xlogy(k, p) - special.gammaln(k + 1) for k, p in zip([*counts.T, rest], self._law, strict=True)
        ]
        impossible = (counts < 0).any(axis=1) | (rest < 0)
        return np.where(impossible, -np.inf, np.sum(terms, axis=0))


def _exact_counts(shuffle: Shuffle, data: Trajectories) -> Array:
    """(cells,) true counts."""
    return shuffle.layout.pack(data.counts(rewards=shuffle.layout.rewards)).astype(np.int64)
