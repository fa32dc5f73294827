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
from dpverify.base.errors import ParameterError, RunError
from dpverify.base.seeding import derive, Stage, stream

Array = npt.NDArray[np.float64]
Space = Mapping[str, tuple[float, float]]  # parameter -> (low, high)
Point = dict[str, float]
Loss = Callable[[str, Point, Sequence[int]], npt.NDArray[Any]]
Together = Callable[[str, Sequence[Point], Sequence[int]], npt.NDArray[Any]]


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
class Found:
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
) -> dict[str, Found]:
    """The point with the least mean loss for every learner, name -> Found.

    learners    name -> {parameter: (low, high)}, 0 < low <= high
    loss        (name, point, seeds) -> one value a seed, (len(seeds),), smaller is better
    points      tried for each learner; ceil(log2 points) rounds after the first, until one is left
    known       name -> points set by hand, the first of its points
    together    (name, points, seeds) -> (len(points), len(seeds)): the same values, where that is faster

    ParameterError for a wrong space; RunError where a loss is not finite or has another shape.
    """
    require.integer(at_least=1, points=points)
    require.integer(at_least=0, seed=seed)
    for name, space in learners.items():
        _check(name, space)

    def one_by_one(name: str, chosen: Sequence[Point], seeds: Sequence[int]) -> Array:
        return np.stack([_checked(name, loss(name, each, seeds), (len(seeds),)) for each in chosen])

    return {
        name: _halve(name, draw_points(space, points, seed, (known or {}).get(name, ())), together or one_by_one, seed)
        for name, space in learners.items()
    }


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


def _halve(name: str, chosen: list[Point], evaluate: Together, seed: int) -> Found:
    losses: list[list[float]] = [[] for _ in chosen]
    left, seeds, count, runs = list(range(len(chosen))), list[int](), 1, 0
    while True:
        fresh = [derive(seed, f"search/run {len(seeds) + i}") for i in range(count)]
        seen = _checked(name, evaluate(name, [chosen[j] for j in left], fresh), (len(left), count))
        for j, row in zip(left, seen, strict=True):
            losses[j] += row.tolist()
        seeds += fresh
        runs += seen.size
        left = sorted(left, key=lambda j: (math.fsum(losses[j]), j))
        if len(left) <= 2:
            break
        left, count = left[: (len(left) + 1) // 2], 2 * count
    best = Tried(chosen[left[0]], tuple(losses[left[0]]))
    tried = tuple(Tried(point, tuple(values)) for point, values in zip(chosen, losses, strict=True))
    return Found(best.point, best.mean, runs, tuple(seeds), tried)


def _check(name: str, space: Space) -> None:
    for parameter, (low, high) in space.items():
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
