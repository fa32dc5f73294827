"""How the numbers of an output are read: every coordinate as a code among the selection trials' quantiles.

Everything a linear score uses of a coordinate is a function of its code - rank, sign, ramps in the log odds
of the rank, which of a few values it is, whether it is NaN or infinite - but for one clipped standardised
value. So features are short tables, fitted once without the bits, and a fitted score is a table again.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
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


# ----------------------------------------------------------------------------------------------------------------------
# The linear model over codes: columns of every coordinate, and columns shared by all of them.
#
# Columns of one coordinate: rank, sign, clipped value and ramps for a coordinate of many values, an indicator
# of each value for one of few. Shared columns are sums over coordinates: noise is often shared out over
# exchangeable coordinates, and a few shared weights are learned from far fewer trials than a few a coordinate.


# log odds of a rank at which a score may bend, on each side, by how many coordinates there are
FINE = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
MEDIUM = (0.0, 0.5, 1.0, 1.75, 2.5, 3.5, 5.0, 6.5)
COARSE = (0.0, 1.0, 2.5)
FINE_TO, MEDIUM_TO, COARSE_TO = 3, 12, 48  # coordinates
FEWEST_BEYOND = 20  # selection trials beyond the last bend
EDGE = 1e-6  # keeps the log odds of the extreme ranks finite
SINGLES = 256  # beyond so many coordinates each has its rank only
WIDEST = 1024  # and beyond so many, neighbours share a weight

CHUNK = 8192  # rows of the matrix in memory

Float32 = npt.NDArray[np.float32]
Read = tuple[npt.NDArray[np.int32], Float32]  # codes and clipped values, each (coordinates, size)


@dataclass(frozen=True, eq=False)
class Compiled:
    """A fitted linear model as tables over codes, slopes and a quadratic form of the clipped values."""

    tables: tuple[FloatArray, ...]
    slopes: FloatArray
    form: FloatArray | None
    intercept: float

    def __call__(self, codes: npt.NDArray[np.int32], clipped: "Float32") -> FloatArray:
        """Log odds from codes and clipped values, each (coordinates, size)."""
        odds = np.full(codes.shape[1], self.intercept)
        for place, (table, slope) in enumerate(zip(self.tables, self.slopes, strict=True)):
            odds += table[codes[place]]
            if slope:
                odds += slope * clipped[place]
        if self.form is not None:
            odds += ((self.form @ clipped) * clipped).sum(axis=0)
        return odds


@dataclass(frozen=True, eq=False)
class Design:
    """Tables that turn codes into columns. `groups` holds for every column the set whose weights share a prior.

    own       for each coordinate (codes, columns of its own)
    starts    the first column of each; many coordinates share columns with their neighbours
    shared    for each coordinate (codes, shared columns), to be added up; shape (codes, 0) for one coordinate
    sloped    coordinates whose clipped value is a column
    """

    own: tuple[Float32, ...]
    starts: IntArray
    shared: tuple[Float32, ...]
    sloped: IntArray
    pairs: IntArray  # (products, 2): coordinates whose clipped values are multiplied
    groups: IntArray
    main: int  # the group of rank, sign and clipped value: the shared ones where there are several coordinates
    centre: Float32  # (width,), taken off: nearly constant columns would drown in single precision
    scale: FloatArray  # (width,), standard deviations; 0 for the intercept and for what never varies

    @classmethod
    def of(
        cls, features: FeatureMap, read: "Read", *, bends: bool, products: bool = False, shared_only: bool = False
    ) -> "Design":
        """Columns for these coordinates, centred on the trials that were read."""
        raw = cls._raw(features, read[0].shape[1], bends=bends, products=products, shared_only=shared_only)
        total, squares = np.zeros(raw.width), np.zeros(raw.width)
        count = read[0].shape[1]
        for start in range(0, count, CHUNK):
            rows = slice(start, start + CHUNK)
            matrix = raw.columns(read[0][:, rows], read[1][:, rows]).astype(float)
            total, squares = total + matrix.sum(axis=0), squares + (matrix * matrix).sum(axis=0)
        mean = total / max(1, count)
        variance = squares / max(1, count) - mean * mean
        variance[variance < 1e-9] = 0.0
        mean[-1] = 0.0
        return replace(raw, centre=mean.astype(np.float32), scale=np.sqrt(variance))

    @classmethod
    def _raw(cls, features: FeatureMap, trials: int, *, bends: bool, products: bool, shared_only: bool) -> "Design":
        """`bends` adds ramps as far out as `trials` can tell."""
        coordinates = features.coordinates
        several = len(coordinates) > 1
        stretches = _bends(len(coordinates), trials) if bends else ()
        plain = len(coordinates) > SINGLES
        own, shared, starts = [], [], []
        groups: list[int] = []
        for place, each in enumerate(coordinates):
            table, bent = _own(each, stretches if len(coordinates) <= COARSE_TO else (), plain, jumps=several)
            if shared_only and several:
                table, bent = table[:, :0], bent[:0]
            own.append(table)
            blocks = len(coordinates) > WIDEST and not shared_only
            starts.append(place * WIDEST // len(coordinates) if blocks else len(groups))
            if len(groups) == starts[-1]:
                groups += np.where(bent, 2 * place + 3, 2 * place + 2).tolist()
            curves = _curves(each, stretches) if several else np.zeros((len(table), 0))
            shared.append(curves / np.sqrt(len(coordinates)))
        numeric = [place for place, each in enumerate(coordinates) if not (each.categorical or plain)]
        if shared_only and several:
            numeric = []
        groups += [2 * place + 2 for place in numeric]
        pairs = np.array(
            [(i, j) for i in range(len(own)) for j in range(i + 1)] if products else np.zeros((0, 2)), np.int64
        )
        groups += [-1 if i == j else -2 for i, j in pairs]
        if several:
            groups += [0, 0] + [1] * (shared[0].shape[1] - 2) + [0]  # rank, sign, ramps; clipped sum
        labels, members = np.unique(groups, return_inverse=True) if groups else (np.zeros(0), np.zeros(0, np.int64))
        return cls(
            tuple(table.astype(np.float32) for table in own),
            np.array(starts, np.int64),
            tuple(table.astype(np.float32) for table in shared),
            np.array(numeric, np.int64),
            pairs,
            members.astype(np.int64),
            int(np.searchsorted(labels, 0 if several else 2)),
            np.zeros(len(groups) + 1, np.float32),
            np.zeros(len(groups) + 1),
        )

    @cached_property
    def _own_width(self) -> int:
        shared = self.shared[0].shape[1] + 1 if len(self.own) > 1 else 0
        return self.width - 1 - shared - len(self.sloped) - len(self.pairs)

    @cached_property
    def width(self) -> int:
        """Columns, the intercept's included (the last one)."""
        return len(self.groups) + 1

    def columns(self, codes: npt.NDArray[np.int32], clipped: Float32) -> Float32:
        """The design matrix (size, width) of some trials."""
        matrix = np.empty((codes.shape[1], self.width), np.float32)
        at = self._own_width
        matrix[:, :at] = 0.0
        for table, start, code in zip(self.own, self.starts, codes, strict=True):
            if table.shape[1]:
                matrix[:, start : start + table.shape[1]] += table[code]
        matrix[:, at : at + len(self.sloped)] = clipped[self.sloped].T
        at += len(self.sloped)
        matrix[:, at : at + len(self.pairs)] = (clipped[self.pairs[:, 0]] * clipped[self.pairs[:, 1]]).T
        at += len(self.pairs)
        if len(self.own) > 1:
            sums = sum(table[code] for table, code in zip(self.shared, codes, strict=True))
            matrix[:, at:-2] = sums
            matrix[:, -2] = clipped.sum(axis=0) / np.sqrt(len(self.own))
        matrix[:, -1] = 1.0
        matrix -= self.centre
        return matrix

    def compiled(self, weights: FloatArray) -> "Compiled":
        """The same linear model as tables."""
        slopes = np.zeros(len(self.own))
        at = self._own_width + len(self.sloped)
        slopes[self.sloped] = weights[self._own_width : at]
        form = np.zeros((len(self.own), len(self.own))) if len(self.pairs) else None
        if form is not None:
            form[self.pairs[:, 0], self.pairs[:, 1]] = weights[at : at + len(self.pairs)]
            at += len(self.pairs)
        several = len(self.own) > 1
        common = weights[at:-2] if several else np.zeros(0)
        if several:
            slopes += weights[-2] / np.sqrt(len(self.own))
        tables = tuple(
            own.astype(float) @ weights[start : start + own.shape[1]] + shared.astype(float) @ common
            for own, shared, start in zip(self.own, self.shared, self.starts, strict=True)
        )
        return Compiled(tables, slopes, form, float(weights[-1] - weights @ self.centre.astype(float)))


def _bends(coordinates: int, trials: int) -> tuple[float, ...]:
    """Where ramps begin and end; the last one ends where hardly any selection trial is left to say more."""
    wanted = FINE if coordinates <= FINE_TO else MEDIUM if coordinates <= MEDIUM_TO else COARSE
    last = np.log(max(2.0, trials / FEWEST_BEYOND))
    return (*(bend for bend in wanted if bend <= last - 0.2), float(last))


def _curves(coordinate: Coordinate, bends: tuple[float, ...]) -> FloatArray:
    """Functions of the rank for every code: rank, sign, ramps in its log odds on both sides.

    Ramps and not hinges: what is learned of one stretch says nothing about the next, so an unknown tail is flat.
    """
    rank = coordinate.ranks
    odds = np.log((0.5 + EDGE + rank) / (0.5 + EDGE - rank))
    ramps = [np.clip(side, low, high) - low for side in (odds, -odds) for low, high in pairwise(bends)]
    return np.stack([rank, np.sign(rank), *ramps], axis=1)


def _own(
    coordinate: Coordinate, bends: tuple[float, ...], plain: bool, jumps: bool
) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Columns of one coordinate, and which of them are ramps.

    Without `jumps` there is no sign: a score of one number that jumps in the middle is confident of every output,
    and no cut is to be found in it.
    """
    codes = len(coordinate.ranks)
    if plain:
        return coordinate.ranks[:, None], np.zeros(1, bool)
    if coordinate.constant:
        return np.zeros((codes, 0)), np.zeros(0, bool)
    seen = np.nonzero(coordinate.common)[0]
    symbols = seen[seen >= codes - len(SYMBOLS)]
    if coordinate.categorical:
        table = np.eye(codes)[:, seen[1:]]
        return table, np.zeros(table.shape[1], bool)
    curves = _curves(coordinate, bends)
    if not jumps:
        curves = np.delete(curves, 1, axis=1)
    table = np.concatenate([curves, np.eye(codes)[:, symbols]], axis=1)
    bent = np.zeros(table.shape[1], bool)
    bent[2 if jumps else 1 : curves.shape[1]] = True
    return table, bent
