"""The linear model over codes: columns of every coordinate, and columns shared by all of them.

Columns of one coordinate: rank, sign, clipped value and hinges for a coordinate of many values, an indicator
of each value for one of few. Shared columns are sums over coordinates: noise is often shared out over
exchangeable coordinates, and a few shared weights are learned from far fewer trials than a few a coordinate.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpverify.evidence.scores.features import Coordinate, FeatureMap, IntArray, SYMBOLS
from dpverify.evidence.scores.score import FloatArray

# log odds of a rank at which a score may bend, on each side, by how many coordinates there are
FINE = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
MEDIUM = (0.0, 0.5, 1.0, 1.75, 2.5, 3.5, 5.0, 6.5)
COARSE = (0.0, 1.0, 2.5)
FINE_TO, MEDIUM_TO, COARSE_TO = 3, 12, 48  # coordinates
FEWEST_BEYOND = 50  # selection trials beyond the last bend
SINGLES = 256  # beyond so many coordinates each has its rank only

Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Design:
    """Tables that turn codes into columns. `groups` holds for every column the set whose weights share a prior.

    own       for each coordinate (codes, columns of its own)
    shared    for each coordinate (codes, shared columns), to be added up; shape (codes, 0) for one coordinate
    sloped    coordinates whose clipped value is a column
    """

    own: tuple[Float32, ...]
    shared: tuple[Float32, ...]
    sloped: IntArray
    groups: IntArray

    @classmethod
    def of(cls, features: FeatureMap, trials: int, *, bends: bool) -> "Design":
        """Columns for these coordinates; `bends` adds hinges as far out as `trials` can tell."""
        coordinates = features.coordinates
        several = len(coordinates) > 1
        hinges = _hinges(len(coordinates), trials) if bends else ()
        plain = len(coordinates) > SINGLES
        own, shared, groups = [], [], []
        for place, each in enumerate(coordinates):
            table, bent = _own(each, hinges if len(coordinates) <= COARSE_TO else (), plain)
            own.append(table)
            groups += list(np.where(bent, 2 * place + 3, 2 * place + 2))
            shared.append(_curves(each, hinges) / np.sqrt(len(coordinates)) if several else np.zeros((len(table), 0)))
        numeric = [place for place, each in enumerate(coordinates) if not (each.categorical or plain)]
        groups += [2 * place + 2 for place in numeric]
        if several:
            groups += [0, 0] + [1] * (shared[0].shape[1] - 2) + [0]  # rank, sign, hinges; clipped sum
        return cls(
            tuple(table.astype(np.float32) for table in own),
            tuple(table.astype(np.float32) for table in shared),
            np.array(numeric, np.int64),
            np.unique(groups, return_inverse=True)[1].astype(np.int64) if groups else np.zeros(0, np.int64),
        )

    @cached_property
    def width(self) -> int:
        """Columns, the intercept's included (the last one)."""
        return len(self.groups) + 1

    def columns(self, codes: npt.NDArray[np.int32], clipped: Float32) -> Float32:
        """The design matrix (size, width) of some trials."""
        matrix = np.empty((codes.shape[1], self.width), np.float32)
        at = 0
        for table, code in zip(self.own, codes, strict=True):
            matrix[:, at : at + table.shape[1]] = table[code]
            at += table.shape[1]
        matrix[:, at : at + len(self.sloped)] = clipped[self.sloped].T
        at += len(self.sloped)
        if len(self.own) > 1:
            sums = sum(table[code] for table, code in zip(self.shared, codes, strict=True))
            matrix[:, at:-2] = sums
            matrix[:, -2] = clipped.sum(axis=0) / np.sqrt(len(self.own))
        matrix[:, -1] = 1.0
        return matrix

    def compiled(self, weights: FloatArray) -> tuple[tuple[FloatArray, ...], FloatArray]:
        """For each coordinate the contribution of every code, and the slope of its clipped value."""
        ends = np.cumsum([0] + [table.shape[1] for table in self.own])
        slopes = np.zeros(len(self.own))
        at = int(ends[-1]) + len(self.sloped)
        slopes[self.sloped] = weights[ends[-1] : at]
        several = len(self.own) > 1
        common = weights[at:-2] if several else np.zeros(0)
        if several:
            slopes += weights[-2] / np.sqrt(len(self.own))
        tables = tuple(
            own.astype(float) @ weights[start:stop] + shared.astype(float) @ common
            for own, shared, start, stop in zip(self.own, self.shared, ends[:-1], ends[1:], strict=True)
        )
        return tables, slopes


def _hinges(coordinates: int, trials: int) -> tuple[float, ...]:
    wanted = FINE if coordinates <= FINE_TO else MEDIUM if coordinates <= MEDIUM_TO else COARSE
    farthest = np.log(max(2.0, trials / FEWEST_BEYOND))
    return tuple(bend for bend in wanted if bend <= farthest)


def _curves(coordinate: Coordinate, hinges: tuple[float, ...]) -> FloatArray:
    """Functions of the rank for every code: rank, sign, hinges in its log odds on both sides."""
    rank = coordinate.ranks
    tail = 1e-6 + 1.0
    odds = np.log((tail / 2 + rank) / (tail / 2 - rank))
    above = [np.maximum(odds - bend, 0.0) for bend in hinges]
    under = [np.maximum(-odds - bend, 0.0) for bend in hinges]
    return np.stack([rank, np.sign(rank), *above, *under], axis=1)


def _own(
    coordinate: Coordinate, hinges: tuple[float, ...], plain: bool
) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Columns of one coordinate, and which of them are hinges."""
    codes = len(coordinate.ranks)
    if coordinate.constant:
        return np.zeros((codes, 0)), np.zeros(0, bool)
    seen = np.nonzero(coordinate.common)[0]
    symbols = seen[seen >= codes - len(SYMBOLS)]
    if plain:
        return coordinate.ranks[:, None], np.zeros(1, bool)
    if coordinate.categorical:
        table = np.eye(codes)[:, seen[1:]]
        return table, np.zeros(table.shape[1], bool)
    curves = _curves(coordinate, hinges)
    table = np.concatenate([curves, np.eye(codes)[:, symbols]], axis=1)
    bent = np.zeros(table.shape[1], bool)
    bent[2 : curves.shape[1]] = True
    return table, bent
