"""One private count by shuffled bits (Cheu, Smith, Ullman, Zeber, Zhilyaev 2019; SDP-PE, section V).

n users hold one bit each. User i sends her bit and m noise bits, all shuffled together:

    bit_i, y_1, ..., y_m   with   y_j ~ Bern(p) independent

The shuffler's output is a multiset of bits, which is its sum: ones + Bin(n m, p). Estimate: sum - n m p.
The papers take, with tau = 96 ln(2/beta)/eps^2 for a claim of (eps, beta) on this one counter,

    n <= tau:  m = ceil(tau/n), p = 1/2          n > tau:  m = 1, p = tau/(2n).

Why (eps, beta): neighbours move the sum by 1, so the likelihood ratio is Pr[Q = q]/Pr[Q = q - 1] with
Q ~ Bin(N, p), which is (N - q + 1)/q * p/(1-p); `shuffle_profile` computes the exact profile.

Assumptions: a perfect shuffler; a shuffle of its own for each counter. n is public; relation replace-one.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.base.rounding import div_up
from dpverify.claims import Difference, Pair
from dpverify.errors import NeighbourError, ParameterError
from dpverify.ledger import BinomialNoise, Exposed, Ledger, OneOf, Sensitivity, Shift

Array = npt.NDArray[Any]
Patterns = tuple[tuple[Shift, ...], ...]  # which counters may move together, and in which direction

PAPER_CONSTANT = 96.0  # c of tau = c ln(2/beta)/eps^2; the conference paper prints it, the journal hides it in O(.)


@dataclass(frozen=True)
class Bits:
    """A dataset of `users` bits of which `ones` are 1; their order does not matter to a shuffle."""

    users: int
    ones: int

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.integer(at_least=1, users=self.users)
        require.integer(at_least=0, ones=self.ones)
        if self.ones > self.users:
            raise ParameterError("ones", self.ones, f"at most users = {self.users}")

    def differences(self, other: "Bits", /) -> Difference:
        """Fewest users that must be replaced, added or removed."""
        ones, zeros = other.ones - self.ones, (other.users - other.ones) - (self.users - self.ones)
        gone, come = max(-ones, 0) + max(-zeros, 0), max(ones, 0) + max(zeros, 0)
        replaced = min(gone, come)
        return Difference(replaced, come - replaced, gone - replaced)


@dataclass(frozen=True)
class NoiseBits:
    """Noise of one counter: `per_user` bits of every user, each 1 with `probability` in (0, 1/2]."""

    per_user: int
    probability: float = 0.5

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.integer(at_least=0, per_user=self.per_user)
        if not 0 < self.probability <= 0.5:
            raise ParameterError("probability", self.probability, "in (0, 1/2]")

    def total(self, users: int) -> int:
        """N = n m: the number of noise bits of a counter."""
        return users * self.per_user

    def mean(self, users: int) -> float:
        """N p: what the estimate subtracts (tau/2 where n > tau)."""
        return self.total(users) * self.probability

    def variance(self, users: int) -> float:
        """N p (1 - p): of the estimate."""
        return self.mean(users) * (1 - self.probability)


def threshold(eps: float, beta: float, constant: float = PAPER_CONSTANT) -> float:
    """tau = c ln(2/beta)/eps^2."""
    require.positive(eps=eps, constant=constant)
    require.open_unit(beta=beta)
    return constant * math.log(2 / beta) / eps**2


def noise_for(tau: float, users: int) -> NoiseBits:
    """The papers' noise: ceil(tau/n) fair bits a user where n <= tau, else one Bern(tau/(2n)); rounded up."""
    require.positive(tau=tau)
    require.integer(at_least=1, users=users)
    if users <= tau:
        return NoiseBits(math.ceil(div_up(tau, users)))
    return NoiseBits(1, min(0.5, div_up(tau, 2 * users)))


@dataclass(frozen=True, kw_only=True)
class ShuffledSum:
    """The shuffled bits of one counter. Outputs (size,): their sum, an integer in 0..n(m + 1)."""

    users: int
    noise: NoiseBits

    @property
    def ledger(self) -> Ledger:
        """One binomial release; a replaced user moves it by 1, up or down."""
        return counter_ledger(self.noise, self.users, ((Shift(1),),), "shuffled bits of one counter")

    def release(self, data: Bits, *, rng: np.random.Generator, size: int) -> Array:
        """Sums of `size` independent shuffles; no message is materialised."""
        check_users(data, self.users)
        return data.ones + noisy_sums(self.noise, self.users, (size,), rng)

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """Exact, by the closed form of the module."""
        check_users(pair.first, self.users)
        check_users(pair.second, self.users)
        ones = pair.first.ones, pair.second.ones
        return sum_log_ratio(outputs, *ones, self.noise.total(self.users), self.noise.probability)


def noisy_sums(noise: NoiseBits, users: int, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Independent draws of Bin(n m, p)."""
    return rng.binomial(noise.total(users), noise.probability, size=shape)


def sum_log_ratio(sums: Array, first: Any, second: Any, trials: int, probability: float) -> Array:
    """log Pr[first + Bin = sums] / Pr[second + Bin = sums] for true counts that differ by at most 1.

    Broadcasts. NaN where neither count can produce the sum. NeighbourError for counts further apart.
    """
    first, second = np.asarray(first), np.asarray(second)
    if np.abs(first - second).max(initial=0) > 1:
        raise NeighbourError(f"true counts {first} and {second} differ by more than one user can")
    q = sums - np.minimum(first, second)  # noise in the world with the smaller count; q - 1 in the other
    with np.errstate(divide="ignore", invalid="ignore"):
        smaller = np.log((trials + 1 - q) / q) + math.log(probability) - math.log1p(-probability)
    return np.where(first == second, 0.0, np.where(first < second, smaller, -smaller))


def counter_ledger(noise: NoiseBits, users: int, patterns: Patterns, what: str) -> Ledger:
    """Counters, each with its own shuffle, move in one of `patterns` when a user is replaced; no noise is exposure."""
    if not noise.per_user:
        return Ledger(Exposed(what=what))

    def of(changed: tuple[Shift, ...]) -> Ledger:
        moves = Sensitivity(replace=changed)
        trials, probability = noise.total(users), noise.probability
        return Ledger(BinomialNoise(trials=trials, probability=probability, sensitivity=moves, what=what))

    return of(patterns[0]) if len(patterns) == 1 else Ledger(OneOf(branches=tuple(map(of, patterns))))


def check_users(data: Bits, users: int) -> None:
    """ParameterError unless the dataset has the number of users that the noise was made for."""
    if data.users != users:
        raise ParameterError("data.users", data.users, f"{users}, the n of the mechanism")
