"""Numbers with a lower and an upper end, rounded outwards: what is true is always between them.

Arrays are float64. One operation of float64 on exact operands errs by at most half a unit in the last place, so one
`nextafter` outwards covers it; `math.fsum` is correctly rounded. Subnormal results are covered as well.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Balls:
    """Non-negative numbers, elementwise between `low` and `high`."""

    low: Array
    high: Array

    def __len__(self) -> int:
        return len(self.low)

    def __getitem__(self, key: Any) -> "Balls":
        return Balls(np.asarray(self.low[key]), np.asarray(self.high[key]))

    def __mul__(self, other: "Balls") -> "Balls":
        return Balls(down(self.low * other.low), up(self.high * other.high))

    def __truediv__(self, other: "Balls") -> "Balls":
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = self.low / other.high, self.high / other.low
        return Balls(down(np.nan_to_num(low, nan=0.0, posinf=np.inf)), up(np.where(np.isnan(high), np.inf, high)))

    def ends(self) -> tuple[Array, Array]:
        """(low, high)."""
        return self.low, self.high

    def total(self) -> "Balls":
        """The sum, shape ()."""
        return Balls(down(np.array(math.fsum(self.low.tolist()))), up(np.array(math.fsum(self.high.tolist()))))


def exactly(values: Any) -> Balls:
    """Numbers that floats hold."""
    found = np.asarray(values, dtype=np.float64)
    return Balls(found, found)


def about(values: Any, relative: Any) -> Balls:
    """Numbers with a relative error of at most `relative`, which the caller has proved."""
    found = np.asarray(values, dtype=np.float64)
    wide = np.asarray(relative, dtype=np.float64)
    return Balls(down(found * (1 - wide)), up(found * (1 + wide)))


def down(values: Array) -> Array:
    """The next float towards 0, for numbers that are not negative; 0 stays."""
    return np.asarray(np.where(values > 0, np.nextafter(values, 0.0), 0.0))


def up(values: Array) -> Array:
    """The next float upwards."""
    return np.asarray(np.nextafter(values, np.inf))


def exp_down(x: float) -> float:
    """At most e^x; math.exp errs by less than two units in the last place."""
    return 0.0 if x < -745 else math.exp(x) * (1 - 2.0**-50) if x < 709 else 8e307


def exp_up(x: float) -> float:
    """At least e^x."""
    return math.inf if x > 709 else math.exp(x) * (1 + 2.0**-50) + 5e-324


def gathered(pieces: Iterable[tuple[bytes, float, float]]) -> dict[bytes, tuple[float, float]]:
    """Sums of (key, low, high) by key."""
    lists: dict[bytes, tuple[list[float], list[float]]] = {}
    for key, low, high in pieces:
        found = lists.setdefault(key, ([], []))
        found[0].append(low)
        found[1].append(high)
    return {key: (_floor(math.fsum(low)), math.nextafter(math.fsum(high), math.inf))
            for key, (low, high) in lists.items()}  # fmt: skip


def _floor(value: float) -> float:
    return math.nextafter(value, 0.0) if value > 0 else 0.0
