"""What a draw can be, and how likely each value is: the finite laws of NumPy's samplers, and cut tails of lattice laws.

Masses have an upper and a lower end. Laws on the integers are built from the ratios of neighbouring masses, upwards and
downwards from the mode, and normalised: after d steps of at most 6 roundings each a weight errs by at most 6(d + 1)
2^-53 relatively. Ratios of these laws do not increase (they are log-concave), so that beyond the last weight w with
ratio r there is at most w r/(1 - r): the lost mass, which is part of the normalising sum's upper end.

`choice(p=)` is NumPy's: the number of partial sums that are at most u, and u = j/2^53. Binomial, Poisson and other
samplers are taken to have their ideal law.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

# ----------------------------------------------------------------------------------------------------------------------
# Numbers with a lower and an upper end, rounded outwards: what is true is always between them.
#
# Arrays are float64. One operation of float64 on exact operands errs by at most half a unit in the last place, so one
# `nextafter` outwards covers it; `math.fsum` is correctly rounded. Subnormal results are covered as well.


Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Balls:
    """Non-negative numbers, elementwise between `low` and `high`."""

    low: Floats
    high: Floats

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

    def ends(self) -> tuple[Floats, Floats]:
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


def down(values: Floats) -> Floats:
    """The next float towards 0, for numbers that are not negative; 0 stays."""
    return np.asarray(np.where(values > 0, np.nextafter(values, 0.0), 0.0))


def up(values: Floats) -> Floats:
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
    return {
        key: (_floor(math.fsum(low)), math.nextafter(math.fsum(high), math.inf)) for key, (low, high) in lists.items()
    }


def _floor(value: float) -> float:
    return math.nextafter(value, 0.0) if value > 0 else 0.0


# ----------------------------------------------------------------------------------------------------------------------


Array = npt.NDArray[Any]

LOST = 1e-20  # mass that a tail may have when it is cut
LONGEST = 2**21  # values of one draw
PERMUTED = 8  # elements of a permutation


class NotFinite(Exception):
    """The draw has too many values, or a law that is not known here; the text says which."""


@dataclass(frozen=True)
class Support:
    """`values[i]` has mass `masses[i]`; `lost` bounds the mass of all other values."""

    values: Array
    masses: Balls
    lost: float = 0.0


def of_family(family: str, parameters: tuple[float, ...]) -> Support:
    """Support of one variable of a law of `families`."""
    if family not in _LAWS:
        raise NotFinite(f"{family} has no finite law")
    return _LAWS[family](*parameters)


def _integers(low: float, high: float) -> Support:
    return _uniform(np.arange(_size(high - low)) + int(low))


def _uniform(values: Array) -> Support:
    """Equally likely values."""
    return Support(values, about(np.full(len(values), 1 / len(values)), 2.0**-52))


def _size(count: float) -> int:
    if not count <= LONGEST:
        raise NotFinite(f"a draw has {count:g} values, more than {LONGEST}")
    return int(count)


def _binomial(n: float, p: float) -> Support:
    if p in (0.0, 1.0) or n == 0:
        return _one(int(n * p))
    odds = p / (1 - p)
    return _walk(int(min(n, math.floor((n + 1) * p))), lambda k: (n - k + 1) / k * odds, 0, int(n))


def _poisson(mean: float) -> Support:
    return _one(0) if mean == 0 else _walk(math.floor(mean), lambda k: mean / k, 0, None)


def _geometric(p: float) -> Support:
    return _one(1) if p == 1 else _walk(1, lambda k: np.full(len(k), 1 - p), 1, None)


def _negative_binomial(n: float, p: float) -> Support:
    if p == 1:
        return _one(0)
    if n < 1:
        raise NotFinite("negative binomial with n < 1")
    return _walk(max(0, math.floor((n - 1) * (1 - p) / p)), lambda k: (k + n - 1) / k * (1 - p), 0, None)


def _discrete_laplace(scale: float) -> Support:
    """Weights exp(-|k|/scale), each by itself: the exponent errs by 2^-53 of it, exp by one unit."""
    reach = _size(math.ceil(scale * math.log(1 / LOST)) + 1)
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(k) / scale)
    ratio = math.exp(-1 / scale) * (1 + 2.0**-50)
    return _normalised(k, weights, (np.abs(k) / scale + 4) * 2.0**-52, 2 * weights[0] * ratio / (1 - ratio) * 1.01)


def _discrete_gaussian(sigma: float) -> Support:
    reach = _size(math.ceil(sigma * math.sqrt(2 * math.log(1 / LOST))) + 2)
    k = np.arange(-reach, reach + 1)
    exponent = k.astype(np.float64) ** 2 / (2 * sigma * sigma)
    weights = np.exp(-exponent)
    ratio = math.exp(-(2 * reach + 1) / (2 * sigma * sigma)) * (1 + 2.0**-50)
    return _normalised(k, weights, (4 * exponent + 4) * 2.0**-52, 2 * weights[0] * ratio / (1 - ratio) * 1.01)


def _one(value: int) -> Support:
    return Support(np.array([value]), exactly([1.0]))


def _walk(mode: int, ratio: Callable[[Array], Array], first: int, last: int | None) -> Support:
    """Masses from the mode: mass(k)/mass(k-1) = ratio(k), which does not increase."""
    upwards, beyond = _tail(
        lambda steps: ratio(np.asarray(mode + steps, dtype=np.float64)), None if last is None else last - mode
    )
    downwards, below = _tail(lambda steps: 1 / ratio(np.asarray(mode - steps + 1, dtype=np.float64)), mode - first)
    weights = np.concatenate([downwards[::-1], [1.0], upwards])
    k = np.arange(mode - len(downwards), mode + len(upwards) + 1)
    return _normalised(k, weights, 6 * (np.abs(k - mode) + 1) * 2.0**-53, beyond + below)


def _tail(ratio: Callable[[Array], Array], most: int | None) -> tuple[Array, float]:
    """Weights after 1, 2, ... steps until what is left is below LOST, or to the end; and a bound of what is left."""
    length = 64
    while True:
        count = length if most is None else min(length, most)
        if count == 0:
            return np.zeros(0), 0.0
        weights = np.cumprod(ratio(np.arange(1, count + 1)))
        if most is not None and count == most and weights[-1] > 0:
            return weights, 0.0
        next_ratio = float(ratio(np.array([count + 1]))[0]) if most is None or count < most else 0.5
        left = weights[-1] * next_ratio / (1 - next_ratio) * 1.01 if next_ratio < 1 else math.inf
        if left < LOST:
            keep = int(np.flatnonzero(weights > 0)[-1]) + 1 if weights[0] > 0 else 0
            return weights[:keep], max(left, 1e-300)
        length = _size(2 * length)


def _normalised(k: Array, weights: Array, error: Array, left: float) -> Support:
    raw = about(weights, error)
    total = raw.total()
    masses = raw / Balls(np.full(len(k), total.low), np.full(len(k), float(up(np.asarray(total.high + left)))))
    return Support(k, masses, float(up(np.asarray(left / float(total.low) * 1.01))) if left else 0.0)


_LAWS: dict[str, Callable[..., Support]] = {
    "integers": _integers,
    "binomial": _binomial,
    "poisson": _poisson,
    "geometric": _geometric,
    "negative_binomial": _negative_binomial,
    "discrete_laplace": _discrete_laplace,
    "discrete_gaussian": _discrete_gaussian,
}


def choice(count: int, chances: Array | None) -> Support:
    """One index with replacement."""
    if chances is None:
        return _uniform(np.arange(_size(count)))
    cut = np.cumsum(chances)
    cut /= cut[-1]
    steps = np.diff(np.concatenate([[0.0], np.minimum(np.ceil(cut * 2.0**53), 2.0**53)])) * 2.0**-53
    return Support(np.arange(count), exactly(steps))


@functools.lru_cache(maxsize=8)
def arrangements(count: int, taken: int) -> Support:
    """Ordered draws of `taken` of `count` things, all equally likely."""
    _size(math.perm(count, taken))
    return _uniform(np.array(list(itertools.permutations(range(count), taken)), dtype=np.int64).reshape(-1, taken))


def permutations(count: int) -> Support:
    """All orders of at most PERMUTED things."""
    if count > PERMUTED:
        raise NotFinite(f"a permutation of {count} things, more than {PERMUTED}")
    return arrangements(count, count)


def multinomial(n: int, chances: Array) -> Support:
    """All tables of n things in the cells."""
    cells = len(chances)
    if n > 150:
        raise NotFinite(f"a multinomial of {n} things, more than 150")
    _size(math.comb(n + cells - 1, cells - 1))
    tables = np.array(
        [np.diff([-1, *bars, n + cells - 1]) - 1 for bars in itertools.combinations(range(n + cells - 1), cells - 1)]
    ).reshape(-1, cells)
    ways = [math.factorial(n) / math.prod(math.factorial(int(each)) for each in row) for row in tables]
    weights = np.array(ways) * np.prod(np.asarray(chances, dtype=np.float64) ** tables, axis=1)
    return Support(tables, about(weights, (4 * n + 4 * cells + 8) * 2.0**-52))
