"""The same count with one integer message a user, as the text of SDP-PE prints it: not private.

User i sends z_i = bit_i + Bin(m, p) in 0..m+1; the shuffler outputs the multiset {z_i}, that is the
histogram k_0, ..., k_{m+1}. It tells more than the sum: z = 0 is impossible for a bit 1. With everybody else
holding 1, a target with bit 0 shows z = 0 with probability (1-p)^m and a target with bit 1 never:

    delta(eps) >= (1-p)^m for every eps:  1 - tau/(2n) where n > tau,  2^-m where n <= tau.

Likelihood. Let a users hold 1, f_0(v) = C(m, v) p^v (1-p)^(m-v) and f_1(v) = f_0(v - 1). Summing over who
sent what, the permanent collapses to one coefficient:

    Pr[k | a] = (n-a)! a! / prod k_v!  *  [t^a] prod_v (f_0(v) + f_1(v) t)^{k_v},

so Pr[k | a]/Pr[k | a+1] = (n-a)/(a+1) * c_w / c_{w+1}, with c_j = [t^j] prod_{v=1..m} (1 + r_v t)^{k_v},
r_v = f_1(v)/f_0(v) = v/(m+1-v) (1-p)/p and w = a - k_{m+1}: a message 0 holds a bit 0, a message m + 1 a
bit 1. For m = 1, c_w/c_{w+1} = (w+1)/((k_1 - w) r_1). For m > 1 see `symmetric`.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.claims import Pair, Relation
from dpverify.errors import NeighbourError
from dpverify.ledger import Event, Exposed, FiniteLaws, Ledger
from mechanisms.shuffling.bits import Bits, check_users, NoiseBits
from mechanisms.shuffling.coefficient_ratio import log_coefficient_ratio

Array = npt.NDArray[Any]

MOST_HISTOGRAMS = 2_000  # above this many outputs the ledger does not enumerate


@dataclass(frozen=True, kw_only=True)
class ShuffledIntegers:
    """The shuffled integers of one counter. Outputs (size, m + 2): how many users sent 0, ..., m + 1.

    Claim (refuted): the (eps', beta')-SDP that SDP-PE, Lemma 10, proves for the sum of separate bits.
    """

    users: int
    noise: NoiseBits

    @property
    def ledger(self) -> Ledger:
        """All neighbouring pairs of laws where they can be listed; otherwise no finite eps is claimed."""
        values = self.noise.per_user + 2
        if math.comb(self.users + values - 1, values - 1) <= MOST_HISTOGRAMS:
            return Ledger(_enumerated(self.users, self.noise))
        return Ledger(integers_exposed("the multiset of integer messages of one counter"))

    def release(self, data: Bits, *, rng: np.random.Generator, size: int) -> Array:
        """Histograms of `size` independent shuffles; no message is materialised."""
        check_users(data, self.users)
        return histograms(self.noise, self.users, data.ones, (size,), rng)

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """Exact; see the module."""
        check_users(pair.first, self.users)
        check_users(pair.second, self.users)
        return histogram_log_ratio(outputs, pair.first.ones, pair.second.ones, self.users, self.noise)


def integers_exposed(what: str) -> Event:
    """The ledger entry of integer messages: at delta < (1-p)^m no eps is finite, above it none is proven here."""
    return Exposed(what=what)


def delta_floor(noise: NoiseBits) -> float:
    """(1-p)^m: delta(eps) is at least this for every eps, whatever n. Exact at eps = inf."""
    return math.exp(noise.per_user * math.log1p(-noise.probability))


def histograms(noise: NoiseBits, users: int, ones: int, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """(*shape, m + 2): sum of two multinomials, those of the users with bit 0 and with bit 1."""
    from scipy import stats  # slow to load, and declaring a privatizer does not need it

    m = noise.per_user
    law = stats.binom.pmf(np.arange(m + 1), m, noise.probability)
    out = np.zeros((*shape, m + 2), dtype=np.int64)
    out[..., :-1] = rng.multinomial(users - ones, law, size=shape)
    out[..., 1:] += rng.multinomial(ones, law, size=shape)
    return out


def histogram_log_ratio(outputs: Array, first: int, second: int, users: int, noise: NoiseBits) -> Array:
    """log Pr[k | first] / Pr[k | second], outputs (T, m + 2), for true counts that differ by at most 1."""
    if abs(first - second) > 1:
        raise NeighbourError(f"true counts {first} and {second} differ by more than one user can")
    if first == second:
        return np.zeros(len(outputs))
    m, ones = noise.per_user, min(first, second)
    w = ones - outputs[:, -1]
    middle = outputs[:, 1:-1]
    v = np.arange(1, m + 1)
    log_r = np.log(v / (m + 1 - v)) + math.log1p(-noise.probability) - math.log(noise.probability)
    smaller = math.log((users - ones) / (ones + 1)) + log_coefficient_ratio(middle, w, log_r)
    return smaller if first < second else -smaller


def histogram_law(users: int, ones: int, noise: NoiseBits) -> dict[tuple[int, ...], float]:
    """Pr[k | ones] for every histogram k, one user after the other; for small n."""
    from scipy import stats  # slow to load, and declaring a privatizer does not need it

    m = noise.per_user
    law = stats.binom.pmf(np.arange(m + 1), m, noise.probability)
    laws: dict[tuple[int, ...], float] = {(0,) * (m + 2): 1.0}
    for user in range(users):
        grown: dict[tuple[int, ...], float] = {}
        for histogram, mass in laws.items():
            for y, step in enumerate(law):
                z = y + (user < ones)
                key = (*histogram[:z], histogram[z] + 1, *histogram[z + 1 :])
                grown[key] = grown.get(key, 0.0) + mass * float(step)
        laws = grown
    return laws


def _enumerated(users: int, noise: NoiseBits) -> FiniteLaws:
    laws = [histogram_law(users, ones, noise) for ones in range(users + 1)]
    outputs = sorted(set().union(*laws))
    vectors = [tuple(law.get(output, 0.0) for output in outputs) for law in laws]
    return FiniteLaws(
        pairs=tuple(itertools.pairwise(vectors)), relation=Relation.REPLACE_ONE, what="the multiset of integer messages"
    )
