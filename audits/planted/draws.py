"""INCORRECT on purpose: noise that is not what its ledger says, put in the place of what is drawn; for the tap at size.

`REUSED` has the ways to use it twice.

Each is a `Change` of the tape, fresh for every run. Counts (binomial) are changed about their mean over the cells.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dpverify.base.seeding import Stage, stream

Array = npt.NDArray[Any]

NOISE = ("laplace", "normal", "binomial")


@dataclass(eq=False)
class SlightlyLess:
    """INCORRECT: 99 % of the noise. Counts are rounded at random: rounding to the nearest would undo it."""

    rng: np.random.Generator = field(default_factory=lambda: stream(0, Stage.EXPERIMENT, 99))

    def __call__(self, family: str, z: Array, start: int) -> Array:
        if family not in NOISE:
            return z
        if family != "binomial":
            return 0.99 * z
        centre = z.mean()
        return np.asarray(np.floor(centre + 0.99 * (z - centre) + self.rng.random(z.shape)))


def shared_by_cells(family: str, z: Array, start: int) -> Array:
    """INCORRECT: one draw for all cells of a step."""
    return np.broadcast_to(z[..., :1], z.shape).copy() if family in NOISE else z


@dataclass(eq=False)
class OneDrawForAll:
    """INCORRECT: the draw of the first step is used in every step; of counts, its standard scores."""

    kept: dict[tuple[int, ...], Array] = field(default_factory=dict)

    def __call__(self, family: str, z: Array, start: int) -> Array:
        if family not in NOISE:
            return z
        centre, unit = (z.mean(), max(z.std(), 1e-9)) if family == "binomial" else (0.0, 1.0)
        scores = self.kept.setdefault(z.shape, (z - centre) / unit)
        changed = centre + unit * scores
        return np.rint(changed) if family == "binomial" else changed


@dataclass(eq=False)
class Reused:
    """INCORRECT: the noise of every second stretch of `lag` steps is that of the stretch before it.

    As it is, with other signs, with the cells rotated, or mixed in equal parts with the step's own draw. Steps that
    draw fewer or more numbers are counted on their own; counts are changed about their mean over the cells.
    """

    lag: int
    how: Literal["copy", "sign", "rotation", "mixture"] = "copy"
    kept: dict[tuple[int, ...], list[Array]] = field(default_factory=dict)

    def __call__(self, family: str, z: Array, start: int) -> Array:
        if family not in NOISE:
            return z
        steps = self.kept.setdefault(z.shape, [])
        steps.append(z - (round(z.mean()) if family == "binomial" else 0))
        time = len(steps) - 1
        if time // self.lag % 2 == 0:
            return z
        old, new = steps[time - self.lag], steps[time]
        if self.how == "mixture":
            mixed = 0.5**0.5 * (old + new)
            changed = np.rint(mixed) if family == "binomial" else mixed
        else:
            changed = {"copy": old, "sign": -old, "rotation": np.roll(old, 1, axis=-1)}[self.how]
        return np.asarray(z - new + changed if family == "binomial" else changed)


LAGS = (1, 7, 64, 1000)
WAYS: tuple[Literal["copy", "sign", "rotation", "mixture"], ...] = ("copy", "sign", "rotation", "mixture")
REUSED: dict[str, Callable[[], Reused]] = {
    f"{how} at lag {lag}": functools.partial(Reused, lag, how) for lag in LAGS for how in WAYS
}
