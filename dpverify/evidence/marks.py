"""What a grain of certifying trials says about independence: pairs of its trials, counted. Tests: `independence`."""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

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
