"""How the numbers of an output are read: every coordinate as a code among the selection trials' quantiles.

Everything a linear score uses of a coordinate is a function of its code - rank, sign, ramps in the log odds
of the rank, which of a few values it is, whether it is NaN or infinite - but for one clipped standardised
value. So features are short tables, fitted once without the bits, and a fitted score is a table again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.evidence.scores.score import FloatArray
from dpverify.trials.outcomes import Outcomes

UNIFORM, TAIL = 512, 1.08  # quantiles of the bulk; ratio of the tail probabilities of neighbouring quantiles beyond
REACH = 4  # selection trials beyond the last quantile
FEW = 16  # a coordinate of at most so many values is a category
CLIP = 0.005  # share of selection trials beyond the clipped bulk on each side, where there are few
CLIPPED = 20  # about so many trials lie beyond it where there are many: rare events live in the tails
SYMBOLS: tuple[Callable[[FloatArray], npt.NDArray[np.bool_]], ...] = (
    np.isnan,
    np.isposinf,
    np.isneginf,
)  # coded in this order

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Coordinate:
    """One coordinate: its codes, and the rank in [-1/2, 1/2] of each; what is not finite has rank 0."""

    knots: FloatArray  # sorted, distinct
    atomic: bool  # values repeat: meeting a knot exactly has a code of its own
    ranks: FloatArray  # (codes,)
    common: npt.NDArray[np.bool_]  # (codes,): seen among the selection trials
    centre: float
    spread: float
    low: float
    high: float
    categorical: bool

    @classmethod
    def fit(cls, column: FloatArray) -> "Coordinate":
        """Quantiles of the finite values, dense in both tails."""
        marks = [mark(column) for mark in SYMBOLS]
        finite = np.sort(column[~(marks[0] | marks[1] | marks[2])])
        seen, empty = np.array([mark.any() for mark in marks]), len(finite) == 0
        if empty:  # a knot where nothing was seen
            finite = np.zeros(1)
        values = finite[np.r_[True, finite[1:] != finite[:-1]]]
        categorical = len(values) <= FEW
        knots = values if categorical else np.unique(finite[_places(len(finite))])
        left, right = (np.searchsorted(finite, knots, side) for side in ("left", "right"))
        atomic = categorical or bool((right - left > 1).any())
        below = np.r_[left, len(finite)].astype(float)
        between = np.r_[0.0, (right[:-1] + left[1:]) / 2, len(finite)] if len(knots) > 1 else np.array([0.0, right[-1]])
        if atomic:
            codes = np.empty(2 * len(knots) + 1)
            codes[0::2], codes[1::2] = between, (left + right) / 2
            common = np.zeros(len(codes), bool)
            common[1::2] = not empty
        else:
            codes, common = np.r_[below[:1] / 2, (below[1:] + below[:-1]) / 2], np.ones(len(below), bool)
        clip = CLIP if len(column) < 10_000 else max(CLIPPED / len(column), 1e-4)
        low, centre, high = np.quantile(finite, [clip, 0.5, 1 - clip])
        return cls(
            knots,
            atomic,
            np.r_[codes / len(finite) - 0.5, 0.0, 0.0, 0.0],
            np.r_[common, seen],
            float(centre),
            float((high - low) / 2 if high > low else 1.0),
            float(low),
            float(high),
            categorical,
        )

    def codes(self, column: FloatArray) -> IntArray:
        """The code of every value, shape of `column`."""
        place = np.searchsorted(self.knots, column)  # NaN comes last
        if self.atomic:
            met = self.knots[np.minimum(place, len(self.knots) - 1)] == column
            place = 2 * place + met
        if not _all_finite(column):
            for code, mark in enumerate(SYMBOLS, start=len(self.ranks) - len(SYMBOLS)):
                place[mark(column)] = code
        return place

    def clipped(self, column: FloatArray) -> FloatArray:
        """The standardised value, clipped to the bulk; 0 for what is not finite."""
        value: FloatArray = (np.minimum(np.maximum(column, self.low), self.high) - self.centre) / self.spread
        if not _all_finite(column):
            value[~np.isfinite(column)] = 0.0
        return value

    @property
    def constant(self) -> bool:
        """True where all selection trials had one value."""
        return int(self.common.sum()) <= 1


def _all_finite(column: FloatArray) -> bool:
    """False where any value is not finite; also where their sum is not, which only costs time."""
    with np.errstate(over="ignore", invalid="ignore"):  # inf - inf
        return bool(np.isfinite(column.sum()))


@lru_cache
def _places(count: int) -> IntArray:
    """Places of the quantiles among `count` sorted values: evenly spaced, and geometric towards both ends."""
    tail = np.unique(np.geomspace(REACH, max(REACH, count / 2), int(np.log(max(2, count)) / np.log(TAIL))).astype(int))
    even = np.linspace(0, count - 1, UNIFORM).astype(int)
    places = np.r_[np.minimum(tail, count - 1), np.maximum(count - 1 - tail, 0), even[1:-1]]
    found: IntArray = np.unique(places).astype(np.int64)
    found.setflags(write=False)
    return found


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """The coordinates of an output, of its values or of their increments along the first axis."""

    coordinates: tuple[Coordinate, ...]
    increments: bool = False

    @classmethod
    def fit(cls, outcomes: Outcomes, *, increments: bool = False) -> "FeatureMap":
        """Reads the selection trials, without their bits."""
        columns = numbers(outcomes, increments).T
        return cls(tuple(Coordinate.fit(np.ascontiguousarray(column)) for column in columns), increments)

    def read(self, outcomes: Outcomes) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Codes and clipped values, each of shape (coordinates, size)."""
        columns = numbers(outcomes, self.increments).T
        codes = np.empty(columns.shape, np.int32)
        clipped = np.empty(columns.shape, np.float32)
        for place, (coordinate, column) in enumerate(zip(self.coordinates, columns, strict=True)):
            straight = np.ascontiguousarray(column)
            codes[place], clipped[place] = coordinate.codes(straight), coordinate.clipped(straight)
        return codes, clipped

    def ranks(self, outcomes: Outcomes) -> FloatArray:
        """Ranks of shape (size, coordinates), beyond +-1/2 where a number is infinite, and farther where it is NaN.

        Trees are handed no NaN: a column without any number has no place to be cut.
        """
        columns = numbers(outcomes, self.increments).T
        ranks = np.empty(columns.shape)
        for place, (coordinate, column) in enumerate(zip(self.coordinates, columns, strict=True)):
            table = coordinate.ranks.copy()
            table[-len(SYMBOLS) :] = 2.0, 1.0, -1.0
            ranks[place] = table[coordinate.codes(np.ascontiguousarray(column))]
        return ranks.T


def numbers(outcomes: Outcomes, increments: bool) -> FloatArray:
    """Outputs as rows of numbers, (size, coordinates)."""
    values: npt.NDArray[Any] = outcomes.values.astype(float)
    if increments and values.ndim > 1:  # running sums hide fresh noise in every later value
        with np.errstate(invalid="ignore"):  # inf - inf is a NaN, which is a symbol
            values = np.diff(values, axis=1, prepend=0.0)
    flat: FloatArray = values.reshape(outcomes.rows.shape)
    return flat
