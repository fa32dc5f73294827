"""Are the trials of an audit independent? Tests on what a frozen attack says of them, grain by grain.

If trials of one dataset are independent draws of one law, then, given the scores that a call produced, every order of
them is equally likely. Let a and b say of n pairs of trials, disjoint and laid down by place alone, whether something
holds of each trial. Given how often it holds on either side, r and c times, it holds on both sides in N of the pairs,
N hypergeometric: r draws from n, c of them marked. With D = N - r c/n, for every real x,
    E exp(x D) <= exp(x^2 V/2),   V = min over m in {r, n-r, c, n-c} of m/4 (1 - (m - 1)/n)
(Serfling 1974, Theorem 2.2 and its proof). So over grains exp(x sum D - x^2 sum V/2) is a supermartingale, whatever
rule is settled for each grain before it is drawn; mixed over x ~ N(0, 1/ETA),
    log M = log(ETA / (ETA + V))/2 + D^2 / (2 (ETA + V)),     Pr[M ever reaches 1/level] <= level     (Ville 1939)
at any time of stopping. The pairs:
    neighbours    trials 2i and 2i+1 of a call: serial correlation (AR(1), alternation, chunks that share a draw)
    halves        trials i and i + n/2 of a call of n: antithetic and repeated halves
    datasets      the i-th trial on the first and on the second dataset: noise shared by both
    calls         the i-th trial of a call and of the next call on the same dataset: a generator that starts anew
and for whole calls, r guesses among n trials of one and c - r among m of the next: the same D and V with n + m pairs'
places, a wager for every two calls. It sees a draw or a state that trials of one call have in common.

What holds of a trial: its rank value - the score, ties broken by the output itself - is above the median of its call (a
symmetric function of the call: the order stays uniform), or it is guessed on. Rare guesses say little, and their V is
generous.

Last, values: outputs of two calls are laid on a line by a function of each output alone, ordered together, equal ones
by lot, and cut into t pairs of neighbours on that line. Given the values, m of the first call among 2t, every choice of
m places is equally likely, so that s pairs are split between the calls with probability
    Pr[s] = 2^s t! / (s! a! b!) / C(2t, m),     a = (m - s)/2,  b = t - s - a.
Noise that a call uses again - all of it or in part, in order or not, with a little noise of another kind upon it - has
its like in the same call: few pairs are split. A generator that starts anew in every call: nearly all.

Every one of the TESTS tests has level LEVEL; together an honest target is INVALID by them at most 8 times in 10^7
audits, by the sentinel once in 10^7, by redrawn calls once in 10^7 (`trials.outcomes`).
"""

import math
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

# ----------------------------------------------------------------------------------------------------------------------
# What a grain of certifying trials says about independence: pairs of its trials, counted. The tests follow below.


FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

RANKED, LOOKED_AT = 256, 2048  # trials of a call that are ranked, and whose guesses are compared: enough, and cheap
BITS = 64  # trials of a call that are compared with the next call's

Deviation = tuple[float, float]  # D, V of pairs, see `independence`


def looked_at(trials: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
    """Which of the trials of a call are ranked, in parts: the first of either half, or all."""
    n, part = len(trials), RANKED // 2
    return [trials] if n <= RANKED else [trials[:part], trials[n // 2 : n // 2 + part]]


def association(a: int, b: int, n: int) -> Deviation:
    """D and V of n pairs, see the module, from what holds of each side as the bits of a number."""
    if not (a and b):
        return 0.0, 0.0
    return deviation(n, a.bit_count(), b.bit_count(), (a & b).bit_count())


def deviation(n: int, r: int, c: int, both: int) -> Deviation:
    """The same from counts: r and c of n, `both` together."""
    m = min(r, n - r, c, n - c)
    if m <= 0:
        return 0.0, 0.0
    return both - r * c / n, m / 4 * (1 - (m - 1) / n)


@dataclass(frozen=True)
class CallMarks:
    """What the next call on the same dataset is compared with."""

    trials: int
    guesses: tuple[int, int]  # of the first and of the second dataset
    bits: int  # whether each of the first trials is above the median, as one integer
    known: int  # how many of them
    values: bytes = b""  # where its outputs lie on a line, as float32, if they are compared


@dataclass(frozen=True)
class Marks:
    """What one grain says about independence: plain numbers, that travel and are kept."""

    index: int
    deviations: dict[str, Deviation]
    calls: tuple[CallMarks, CallMarks]

    def to_plain(self) -> dict[str, Any]:
        """Plain values, for a checkpoint."""
        calls = [[c.trials, list(c.guesses), c.bits, c.known, b64encode(c.values).decode()] for c in self.calls]
        return {"index": self.index, "deviations": {k: list(v) for k, v in self.deviations.items()}, "calls": calls}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "Marks":
        """Inverse of `to_plain`."""
        first, second = (CallMarks(n, (g[0], g[1]), b, k, b64decode(v)) for n, g, b, k, v in plain["calls"])
        return cls(plain["index"], {k: (d, v) for k, (d, v) in plain["deviations"].items()}, (first, second))


@dataclass(frozen=True, eq=False)
class Sample:
    """What marks of a grain are made from: rank values of the trials on each dataset that are looked at (`looked_at`).

    `guessed[arm]` are the masks of trials on that dataset that are guessed as first and as second, LOOKED_AT of them;
    `trials` and `guesses` count all; `values` say where outputs lie on a line.
    """

    index: int
    ranked: tuple[FloatArray, FloatArray]
    guessed: tuple[tuple[BoolArray, BoolArray], tuple[BoolArray, BoolArray]]
    trials: tuple[int, int]
    guesses: tuple[tuple[int, int], tuple[int, int]]
    values: tuple[bytes, bytes] = (b"", b"")

    @classmethod
    def of(
        cls,
        index: int,
        ranked: tuple[FloatArray, FloatArray],
        guessed: tuple[tuple[BoolArray, BoolArray], tuple[BoolArray, BoolArray]],
        values: tuple[bytes, bytes] = (b"", b""),
    ) -> "Sample":
        """From the masks of all trials."""
        (one, two), (three, four) = guessed
        return cls(
            index,
            ranked,
            ((one[:LOOKED_AT], two[:LOOKED_AT]), (three[:LOOKED_AT], four[:LOOKED_AT])),
            (len(one), len(three)),
            (
                (int(np.count_nonzero(one)), int(np.count_nonzero(two))),
                (int(np.count_nonzero(three)), int(np.count_nonzero(four))),
            ),
            values,
        )


def marks(samples: Sequence[Sample]) -> list[Marks]:
    """Marks of grains, each by itself; of many together, since every call of NumPy costs as much as its numbers."""
    above = _above_bits([each[:RANKED] for sample in samples for each in sample.ranked])
    looked = _bits([mask for sample in samples for guessed in sample.guessed for mask in guessed], LOOKED_AT)
    return [
        _marks(sample, above[2 * at : 2 * at + 2], looked[4 * at : 4 * at + 4]) for at, sample in enumerate(samples)
    ]


def _marks(sample: Sample, above: list[int], looked: list[int]) -> Marks:
    ranked = [(bits, min(RANKED, len(each))) for bits, each in zip(above, sample.ranked, strict=True)]
    first, second = (min(LOOKED_AT, n) for n in sample.trials)
    shared = (1 << min(n for _, n in ranked)) - 1
    found = {
        "neighbours": _sum(_neighbours(*ranked[0]), _neighbours(*ranked[1])),
        "guessed neighbours, first": _sum(_neighbours(looked[0], first), _neighbours(looked[2], second)),
        "guessed neighbours, second": _sum(_neighbours(looked[1], first), _neighbours(looked[3], second)),
        "halves": _sum(_halves(*ranked[0]), _halves(*ranked[1])),
        "datasets": association(above[0] & shared, above[1] & shared, shared.bit_count()),
    }
    one, other = (
        CallMarks(
            sample.trials[arm],
            sample.guesses[arm],
            above[arm] & ((1 << BITS) - 1),
            min(BITS, ranked[arm][1]),
            sample.values[arm],
        )
        for arm in (0, 1)
    )
    return Marks(sample.index, found, (one, other))


def _above_bits(scores: list[FloatArray]) -> list[int]:
    """Of each vector, whether each score is above the median of them all, as bits.

    Ties go to the side that makes the shares more equal.
    """
    rows = np.full((len(scores), RANKED), np.nan)  # which is above nothing
    sizes = np.array([len(each) for each in scores], dtype=np.int64)
    for row, each in zip(rows, scores, strict=True):
        row[: len(each)] = each
    places = sizes // 2
    middle = np.empty(len(scores))
    for place in set(places.tolist()):  # those of full calls all together
        same = places == place
        middle[same] = np.partition(rows[same], place, axis=1)[:, place]
    over, reached = rows > middle[:, None], rows >= middle[:, None]
    half = sizes / 2
    up = np.count_nonzero(reached, axis=1) - half <= half - np.count_nonzero(over, axis=1)
    return _bits(list(np.where(up[:, None], reached, over)), RANKED)


def _bits(held: list[BoolArray], most: int) -> list[int]:
    """Of each vector of at most so many, the i-th as the i-th bit: whole numbers are counted faster than arrays."""
    rows = np.zeros((len(held), most), bool)
    for row, each in zip(rows, held, strict=True):
        row[: len(each)] = each
    packed, width = np.packbits(rows, axis=1, bitorder="little").tobytes(), most // 8
    return [int.from_bytes(packed[at * width : (at + 1) * width], "little") for at in range(len(held))]


EVEN = int.from_bytes(b"\x55" * (LOOKED_AT // 8), "little")


def _neighbours(held: int, n: int) -> Deviation:
    if not held:
        return 0.0, 0.0
    pairs = EVEN & ((1 << (n - n % 2)) - 1)
    return association(held & pairs, (held >> 1) & pairs, n // 2)


def _halves(held: int, n: int) -> Deviation:
    half = (1 << (n // 2)) - 1
    return association(held & half, (held >> (n // 2)) & half, n // 2)


def _sum(one: Deviation, other: Deviation) -> Deviation:
    return one[0] + other[0], one[1] + other[1]


# ----------------------------------------------------------------------------------------------------------------------


PAIRED = {
    "neighbours": "neighbouring trials of a call are correlated",
    "guessed neighbours, first": "guesses in neighbouring trials of a call are correlated",
    "guessed neighbours, second": "guesses in neighbouring trials of a call are correlated",
    "halves": "the halves of a call are correlated",
    "datasets": "trials on the first dataset are correlated with trials on the second",
    "calls": "trials of a call are correlated with those of the next call",
}
WHOLE = {"first": "calls differ by more than chance allows", "second": "calls differ by more than chance allows"}
AGAIN = "values of a call come again, or nearly so, in the same call"
ANEW = "values of a call come again, or nearly so, in the next call"
TESTS = len(PAIRED) + len(WHOLE) + 1
LEVEL = 8e-7 / TESTS
ETA = 64.0  # where the mixture is sharpest: about 1,000 pairs
EVERY = 5  # pairs of grains from one whose values are compared to the next one, at first
FEW = 32  # pairs whose law is always looked at
LARGEST = 4096  # values of a call that are compared, drawn by lot from larger calls


def compared_calls(index: int) -> bool:
    """Whether the values of this grain are compared with its partner's.

    Those of pairs 0, 5, 10, 15, 20, 30, 40, 60, 80, ...: few, and one of them in the last third of any long run.
    """
    place, rest = divmod(index // 2, EVERY)
    leading = max(0, place.bit_length() - 2)
    return rest == 0 and place >> leading << leading == place


def log_wager(d: float, v: float, eta: float = ETA) -> float:
    """log M, see the module; 0 for no pairs."""
    return 0.5 * math.log(eta / (eta + v)) + d * d / (2 * (eta + v))


def log_split_law(pairs: int, first: int) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """(s, log Pr[s of the pairs are split]), see the module, where `first` of all 2 `pairs` are of the first call."""
    s = np.arange(first % 2, min(first, 2 * pairs - first) + 1, 2)
    a = (first - s) // 2
    parts = special.gammaln(s + 1) + special.gammaln(a + 1) + special.gammaln(pairs - s - a + 1)
    weights = s * math.log(2) - parts
    return s, weights - special.logsumexp(weights)


def rarity_of_split(pairs: int, first: int, split: int) -> float:
    """-log of twice the smaller tail of that law, at least 0; 0 where that would tell nothing."""
    expected = 2 * first * (2 * pairs - first) / max(1, 2 * (2 * pairs - 1))
    if pairs > FEW and (split - expected) ** 2 < 9 * pairs / 4:  # 3 standard deviations: less than is ever asked for
        return 0.0
    s, law = log_split_law(pairs, first)
    tail = min(float(special.logsumexp(law[s <= split])), float(special.logsumexp(law[s >= split])))
    return max(0.0, -math.log(2) - tail)


def split_pairs(before: npt.NDArray[Any], now: npt.NDArray[Any]) -> tuple[int, int, int]:
    """(pairs, how many of their values are of the first call, how many are split): see the module."""
    own = _own_in_order(np.concatenate([before, now]).astype(np.float32, copy=False), len(before))
    own = own[: len(own) - len(own) % 2]
    return len(own) // 2, int(np.count_nonzero(own)), int(np.count_nonzero(own[::2] != own[1::2]))


def _own_in_order(together: npt.NDArray[np.float32], first: int) -> BoolArray:
    """Whether each of the values, none of them nan, is among the first ones, in their order; equal ones by lot.

    Bits of floats, those of negative ones turned round, are ordered as the floats are: sorts of whole numbers that say
    in their last bit what is asked take a tenth of those of places. Calls of thousands often have two equal float32.
    """
    bits = (together + np.float32(0)).view(np.int32)  # -0.0 is 0.0
    keys = (bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))).astype(np.int64) << 32
    keys[:first] |= 1
    line = np.sort(keys)
    if (line[1:] >> 32 == line[:-1] >> 32).any():
        keys[np.random.Generator(np.random.PCG64(len(keys))).permutation(len(keys))] |= np.arange(len(keys)) << 1
        line = np.sort(keys)
    return (line & 1).astype(bool)


@dataclass
class Independence:
    """Collects the marks of an audit, in the order of its grains."""

    _paired: dict[str, Deviation] = field(default_factory=dict)
    _whole: dict[str, float] = field(default_factory=dict)
    _values: tuple[float, str] = (0.0, "")  # the largest -log p, less what it is charged for the others; its words
    _compared: int = 0
    _last: tuple[Marks, Any] | None = None

    def add(self, marks: Marks, rule: Any = None) -> None:
        """One more grain; two calls are compared only where they were made under the same `rule`."""
        for name, (d, v) in marks.deviations.items():
            self._put(name, d, v)
        if self._last is None or self._last[1] is not rule:
            self._last = marks, rule
            return
        before, self._last = self._last[0], None  # each grain has one partner
        for arm in (0, 1):
            self._compare(before.calls[arm], marks.calls[arm])

    @property
    def objections(self) -> list[str]:
        """What speaks against independence at LEVEL each; empty for an honest target but for TESTS LEVEL."""
        reached = math.log(1 / LEVEL)
        found = [said for name, said in PAIRED.items() if log_wager(*self._paired.get(name, (0.0, 0.0))) > reached]
        found += [said for name, said in WHOLE.items() if self._whole.get(name, 0.0) > reached]
        if self._values[0] > reached:
            found.append(self._values[1])
        return list(dict.fromkeys(found))

    def _put(self, name: str, d: float, v: float) -> None:
        old = self._paired.get(name, (0.0, 0.0))
        self._paired[name] = old[0] + d, old[1] + v

    def _compare(self, before: CallMarks, now: CallMarks) -> None:
        known = min(before.known, now.known)
        mask = (1 << known) - 1
        a, b = before.bits & mask, now.bits & mask
        self._put("calls", *deviation(known, a.bit_count(), b.bit_count(), (a & b).bit_count()))
        together = before.trials + now.trials
        for name, one, other in zip(WHOLE, before.guesses, now.guesses, strict=True):
            d, v = deviation(together, before.trials, one + other, one)
            if v > 0:
                self._whole[name] = self._whole.get(name, 0.0) + log_wager(d, v, eta=v)
        if before.values and now.values:
            pairs, first, split = split_pairs(*(np.frombuffer(each.values, np.float32) for each in (before, now)))
            self._compared += 1  # the k-th has 1/(k (k + 1)) of the level
            found = rarity_of_split(pairs, first, split) - math.log(self._compared * (self._compared + 1))
            self._values = max(self._values, (found, ANEW if 2 * split > pairs else AGAIN))
