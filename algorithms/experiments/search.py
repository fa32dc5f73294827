"""One search for all learners: log-uniform points of a declared space, successive halving, the same budget for each.

    points      value j of a parameter is low (high/low)^u with u a function of (seed, parameter's name, j) alone:
                learners that share a parameter and its range try the same values, with privacy and without
    halving     round i keeps the better half, by the mean over all seeds so far, and gives each point that is left
                twice as many new seeds as the round before: every round costs `points` runs, 2^i x ceil(points/2^i)
    known       points set by hand come first, and are among the number of points that everybody has
    seeds       of users and noise: a function of (seed, i), 56 bits; a figure's seed is a number that somebody wrote

What is found says nothing of the figure: a loss of the search is the least of several and too small. Draw on a seed of
its own. Successive halving: Jamieson, Talwalkar 2016, Algorithm 1.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.base.seeding import derive, Stage, stream
from dpverify.errors import ParameterError, RunError

Array = npt.NDArray[np.float64]
Space = Mapping[str, tuple[float, float]]  # parameter -> (low, high)
Point = dict[str, float]
Loss = Callable[[str, Point, Sequence[int]], npt.NDArray[Any]]
Together = Callable[[Mapping[str, Sequence[Point]], Sequence[int]], Mapping[str, npt.NDArray[Any]]]


@dataclass(frozen=True)
class Tried:
    """A point, and its losses on the first seeds of the search."""

    point: Point
    losses: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Over the seeds that it was tried on."""
        return math.fsum(self.losses) / len(self.losses)


@dataclass(frozen=True)
class SearchResult:
    """The best point of a learner and all that was tried for it; `runs` is the same for all learners."""

    point: Point
    loss: float  # mean over all seeds of the search: too small as an estimate, see the module
    runs: int
    seeds: tuple[int, ...]
    tried: tuple[Tried, ...]

    @property
    def record(self) -> dict[str, Any]:
        """For a file of numbers."""
        return asdict(self)


def search(
    learners: Mapping[str, Space],
    loss: Loss,
    *,
    points: int,
    seed: int,
    known: Mapping[str, Sequence[Point]] | None = None,
    together: Together | None = None,
) -> dict[str, SearchResult]:
    """The point with the least mean loss for every learner, name -> Found.

    learners    name -> {parameter: (low, high)}, 0 < low <= high
    loss        (name, point, seeds) -> one value a seed, (len(seeds),), smaller is better
    points      tried for each learner; ceil(log2 points) rounds after the first, until one is left
    known       name -> points set by hand, the first of its points
    together    ({name: points}, seeds) -> {name: (len(points), len(seeds))}: a whole round, where that is faster

    ParameterError for a wrong space; RunError where a loss is not finite or has another shape.
    """
    require.integer(at_least=1, points=points)
    require.integer(at_least=0, seed=seed)
    for name, space in learners.items():
        check_space(name, space)

    def one_by_one(asked: Mapping[str, Sequence[Point]], seeds: Sequence[int]) -> dict[str, Array]:
        return {
            name: np.stack([_checked(name, loss(name, each, seeds), (len(seeds),)) for each in chosen])
            for name, chosen in asked.items()
        }

    by_hand = known or {}
    races = {name: _Race(draw_points(each, points, seed, by_hand.get(name, ()))) for name, each in learners.items()}
    seeds, count, left = list[int](), 1, points
    while True:
        fresh = [derive(seed, f"search/run {len(seeds) + i}") for i in range(count)]
        seen = (together or one_by_one)({name: race.asked for name, race in races.items()}, fresh)
        for name, race in races.items():
            race.add(_checked(name, seen[name], (left, count)))
        seeds += fresh
        if left <= 2:
            break
        left, count = (left + 1) // 2, 2 * count
        for race in races.values():
            race.keep(left)
    return {name: race.found(tuple(seeds)) for name, race in races.items()}


def draw_points(space: Space, points: int, seed: int, known: Sequence[Point] = ()) -> list[Point]:
    """`points` points, the first of them the `known` ones, the others log-uniform: see the module."""
    for each in known:
        if each.keys() != space.keys():
            raise ParameterError("known", each, f"a value for each of {', '.join(space) or 'no parameters'}")
    shares = {name: stream(derive(seed, f"search/{name}"), Stage.EXPERIMENT).random(points) for name in space}
    drawn = [
        {name: float(low * (high / low) ** shares[name][j]) for name, (low, high) in space.items()}
        for j in range(points)
    ]
    return [*map(dict, known), *drawn][:points]


class _Race:
    """The points of one learner, and which are left."""

    def __init__(self, points: list[Point]) -> None:
        self.points, self.left = points, list(range(len(points)))
        self.losses: list[list[float]] = [[] for _ in points]

    @property
    def asked(self) -> list[Point]:
        """The points that are left."""
        return [self.points[j] for j in self.left]

    def add(self, seen: Array) -> None:
        """Losses of the points that are left, the best of which comes first from now on."""
        for j, row in zip(self.left, seen, strict=True):
            self.losses[j] += row.tolist()
        self.left.sort(key=lambda j: (math.fsum(self.losses[j]), j))

    def keep(self, number: int) -> None:
        """The best `number` of points."""
        self.left = self.left[:number]

    def found(self, seeds: tuple[int, ...]) -> SearchResult:
        """The best point."""
        tried = tuple(Tried(point, tuple(each)) for point, each in zip(self.points, self.losses, strict=True))
        best = tried[self.left[0]]
        return SearchResult(best.point, best.mean, sum(len(each.losses) for each in tried), seeds, tried)


def check_space(name: str, space: Space) -> None:
    """ParameterError for bounds that are not 0 < low <= high."""
    for parameter, between in space.items():
        if not (isinstance(between, tuple | list) and len(between) == 2):
            raise ParameterError(f"{name}.{parameter}", between, "(low, high)")
        low, high = between
        require.positive(**{f"{name}.{parameter} low": low, f"{name}.{parameter} high": high})
        if low > high:
            raise ParameterError(f"{name}.{parameter}", (low, high), "low <= high")


def _checked(name: str, values: Any, shape: tuple[int, ...]) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        raise RunError(f"the loss of {name} has shape {array.shape}, not {shape}: one value a seed")
    if not np.isfinite(array).all():
        raise RunError(f"the loss of {name} is not finite")
    return array
