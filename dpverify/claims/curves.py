"""Claims that are curves: Renyi divergences at listed orders, and a piecewise linear trade-off curve.

Both have no single number. Their own unit is a *factor on the curve*: 1 is the claim, a claim with factor x allows x
times the divergences (RenyiDP), x times the power 1 - f (TradeOff). A certified `number_lower` of 1.3 refutes the claim
and every weaker one with a factor below 1.3.
"""

import csv
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.base.rounding import as_fraction
from dpverify.claims import profiles
from dpverify.claims.claim import ApproxDP, Claim, digits, GaussianDP, PureDP, REPORTING_DELTA, WholeProfile, ZCDP
from dpverify.errors import ParameterError, UsageError

Array = npt.NDArray[np.float64]
Points = tuple[tuple[float, float], ...]

COLLINEAR = 1e-12  # a point may lie this far above the chord of its neighbours: written-down decimals


@dataclass(frozen=True)
class RenyiDP(WholeProfile):
    """Renyi differential privacy at several orders: D_alpha(P||Q) <= eps for each listed (alpha, eps), both directions.

    This is Definition 4 of Mironov 2017 at each order.

    Parameters
    ----------
    curve : sequence of pairs of float
        ((alpha_1, eps_1), ...) with 1 < alpha_1 < alpha_2 < ... < inf and 0 < eps_1 <= eps_2 <= ... < inf. Renyi
        divergences grow with their order, so a smaller eps at a larger order claims it at the smaller order as well.
    delta : float
        Where eps of the claim is quoted, in (0, 1). It is no part of the claim: a verdict is about the whole profile.
    factor : float
        Multiplies every eps of the curve, 0 < factor < inf.
    relation, unit, view : Relation, Unit, View
        Neighbours, whose data is protected, and what the adversary sees, as in `Claim`.
    assumptions, source : tuple of str, str
        Printed in reports, as in `Claim`.

    Raises
    ------
    ParameterError
        For a curve, a delta or a factor that is not as above.

    Examples
    --------
    >>> from dpverify import RenyiDP
    >>> str(RenyiDP(((2, 0.5), (8, 1.1))))
    'rdp:2,0.5;8,1.1'
    """

    curve: Points
    delta: float = REPORTING_DELTA
    factor: float = 1.0

    notion: ClassVar[str] = "rdp"
    _number: ClassVar[str] = "factor"

    def __post_init__(self) -> None:
        require.own_numbers(self)
        object.__setattr__(self, "curve", _pairs("curve", self.curve, "(alpha, eps)"))
        last = (1.0, 0.0)
        for alpha, eps in self.curve:
            require.finite(alpha=alpha)
            require.positive(eps=eps)
            if not alpha > last[0]:
                raise ParameterError("curve", f"alpha = {alpha:g} after {last[0]:g}", "orders > 1 that increase")
            if not eps >= last[1]:
                raise ParameterError(
                    "curve", f"eps = {eps:g} at alpha = {alpha:g} after {last[1]:g}", "eps that do not fall"
                )
            last = (alpha, eps)
        require.positive(factor=self.factor)
        super().__post_init__()

    @cached_property
    def allowed(self) -> tuple[Array, Array]:
        """Orders, and the divergences that are allowed at them: eps times the factor."""
        alphas, eps = np.array(self.curve, dtype=np.float64).T
        return alphas, eps * self.factor

    def delta_at(self, eps: float) -> float:
        """min over the listed orders, see `profiles.renyi_delta`."""
        return profiles.renyi_delta(*self.allowed, eps)

    def accuracy_limit(self, wrong: float) -> float:
        """Largest c that no listed divergence of (Bern(c), Bern(w)) forbids."""
        return profiles.renyi_accuracy_limit(*self.allowed, wrong)

    def number_at(self, right: Array, wrong: Array) -> Array:
        orders, allowed = np.array(self.curve, dtype=np.float64).T
        return profiles.renyi_factor(orders, allowed, right, wrong)

    def __str__(self) -> str:
        return "rdp:" + _written(self.curve) + _times(self.factor)


@dataclass(frozen=True)
class TradeOff(WholeProfile):
    """Privacy by a trade-off curve, f-DP: every test of size a between neighbours has a type II error of at least f(a).

    This is Definition 2.3 of Dong, Roth, Su 2022. f need not be symmetric; the claim is about both directions.

    Parameters
    ----------
    points : sequence of pairs of float
        ((type_I, type_II), ...), all in [0, 1]. f is piecewise linear through them, from (0, f(0)) to (a, 0), and 0
        beyond a. Type I errors grow from 0 and type II errors fall to 0. f is convex: a point may lie at most 1e-12
        above the chord of its neighbours.
    delta : float
        Where eps of the claim is quoted, in (0, 1). The default is replaced by a larger one where 1 - f(0) needs it.
    factor : float
        Multiplies the power 1 - f of every test, 0 < factor < inf.
    relation, unit, view : Relation, Unit, View
        Neighbours, whose data is protected, and what the adversary sees, as in `Claim`.
    assumptions, source : tuple of str, str
        Printed in reports, as in `Claim`.

    Raises
    ------
    ParameterError
        For points, a delta or a factor that are not as above.

    Examples
    --------
    >>> from dpverify import TradeOff
    >>> claim = TradeOff(((0, 1), (0.25, 0.25), (1, 0)))
    >>> claim.delta_at(0.0)
    0.5
    """

    points: Points
    delta: float = REPORTING_DELTA
    factor: float = 1.0

    notion: ClassVar[str] = "tradeoff"
    _number: ClassVar[str] = "factor"

    def __post_init__(self) -> None:
        require.own_numbers(self)
        object.__setattr__(self, "points", _pairs("points", self.points, "(type I, type II)"))
        _check_curve(self.points)
        require.positive(factor=self.factor)
        certain = 1 - self.points[0][1]
        if self.delta == REPORTING_DELTA and 2 * certain > REPORTING_DELTA:
            object.__setattr__(self, "delta", 2 * certain if certain < 0.25 else (1 + certain) / 2)
        super().__post_init__()

    @cached_property
    def _power(self) -> tuple[Array, Array]:
        """Sizes and largest powers of the vertices: factor (1 - f), cut off at 1."""
        size, error = np.array(self.points, dtype=np.float64).T
        power = self.factor * (1 - error)
        if power[0] >= 1:
            return np.zeros(1), np.ones(1)
        if power[-1] > 1:
            end = int(np.argmax(power > 1))
            share = (1 - power[end - 1]) / (power[end] - power[end - 1])
            size = np.append(size[:end], size[end - 1] + share * (size[end] - size[end - 1]))
            power = np.append(power[:end], 1.0)
        return size, power

    def segments(self) -> list[tuple[Fraction, Fraction]]:
        """(r, d): the claim says D(log r) <= d for each, r >= 1, in both directions; together they are the claim.

        A segment of slope -m and intercept c lies below every trade-off curve iff D(log m) <= 1 - c. For m < 1 the same
        is said by the other direction at log(1/m), with the intercept c/m of the other axis, since
        D_PQ(x) = 1 - e^x + e^x D_QP(-x).
        """
        found = []
        factor = as_fraction(self.factor)
        points = [(Fraction(a), factor * (1 - Fraction(b))) for a, b in self.points]
        for (size, power), (next_size, next_power) in itertools.pairwise(points):
            slope = (next_power - power) / (next_size - size)
            missing = power - slope * size  # 1 - c
            if missing >= 1:
                break  # from here on nothing is claimed
            if slope >= 1:
                found.append((slope, missing))
            else:
                found.append((1 / slope, 1 - (1 - missing) / slope))
        return found

    def delta_at(self, eps: float) -> float:
        """max over a of 1 - f(a) - e^eps a: at a vertex."""
        require.non_negative(eps=eps)
        size, power = self._power
        with np.errstate(over="ignore", invalid="ignore"):
            cost = np.where(size > 0, np.exp(eps) * size, 0.0)
        return float((power - cost).max())

    def accuracy_limit(self, wrong: float) -> float:
        """1 - f(w), at most 1 - w."""
        return min(1.0 - wrong, float(np.interp(wrong, *self._power)))

    def number_at(self, right: Array, wrong: Array) -> Array:
        size, error = np.array(self.points, dtype=np.float64).T
        power = np.interp(wrong, size, 1 - error)
        return np.asarray(right / np.maximum(power, 1e-300), dtype=np.float64)

    def __str__(self) -> str:
        return "tradeoff:" + _written(self.points) + _times(self.factor)


def _check_curve(points: Points) -> None:
    for size, error in points:
        require.probability(type_I=size, type_II=error)
    if len(points) < 2 or points[0][0] != 0 or points[-1][1] != 0:
        raise ParameterError("points", _written(points), "two or more, the first with type I = 0, the last type II = 0")
    exact = [(Fraction(size), Fraction(error)) for size, error in points]
    for one, other in itertools.pairwise(exact):
        if not (other[0] > one[0] and other[1] < one[1]):
            raise ParameterError(
                "points",
                f"{_point(other)} after {_point(one)}",
                "type I errors that grow and type II errors that fall",
            )
    for before, here, after in zip(exact, exact[1:], exact[2:], strict=False):
        share = (here[0] - before[0]) / (after[0] - before[0])
        chord = before[1] + share * (after[1] - before[1])
        if not here[1] <= chord + Fraction(COLLINEAR):
            raise ParameterError("points", _point(here), f"convex: at most {float(chord):g} there")


def _point(point: tuple[Fraction, Fraction]) -> str:
    return f"({float(point[0]):g}, {float(point[1]):g})"


def _pairs(name: str, given: Any, what: str) -> Points:
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray) or not len(given):
        raise ParameterError(name, given, f"a sequence of pairs {what}")
    for each in given:
        if isinstance(each, str) or not isinstance(each, Sequence | np.ndarray) or len(each) != 2:
            raise ParameterError(name, each, f"a pair {what}")
        require.finite(**{f"{name}: first of a pair": each[0], f"{name}: second of a pair": each[1]})
    return tuple((float(first), float(second)) for first, second in given)


def _written(pairs: Points) -> str:
    """As on the command line, without loss."""
    return ";".join(f"{digits(first)},{digits(second)}" for first, second in pairs)


def _times(factor: float) -> str:
    return "" if factor == 1 or math.isnan(factor) else f" x {digits(factor)}"


# ----------------------------------------------------------------------------------------------------------------------
# Claims as they are written in reports and on the command line.


_NUMBERS: dict[str, tuple[type[Claim], str]] = {
    "pure": (PureDP, "pure:EPS"),
    "approx": (ApproxDP, "approx:EPS,DELTA"),
    "zcdp": (ZCDP, "zcdp:RHO"),
    "gdp": (GaussianDP, "gdp:MU"),
}
_CURVES: dict[str, tuple[type[RenyiDP] | type[TradeOff], str]] = {
    "rdp": (RenyiDP, "rdp:ALPHA,EPS;ALPHA,EPS;..."),
    "tradeoff": (TradeOff, "tradeoff:FILE.csv or tradeoff:TYPE_I,TYPE_II;TYPE_I,TYPE_II;..."),
}
NOTIONS = (*_NUMBERS, *_CURVES)
FORMS = tuple(form for _, form in (*_NUMBERS.values(), *_CURVES.values()))


def parse_claim(text: str, **carried: Any) -> Claim:
    """Claim of a text: `pure:1.0`, `approx:1,1e-6`, `zcdp:0.5`, `gdp:1`, `rdp:2,0.5;8,1.1`, `tradeoff:FILE.csv`.

    The file has two columns, type I and type II errors, with or without a line of names. Numbers are in plain digits.
    `carried` is handed on (relation, view, ...). UsageError names what is allowed.
    """
    if not isinstance(text, str):
        raise ParameterError("claim", text, "a text such as 'pure:1.0'")
    notion, _, rest = text.partition(":")
    if notion in _CURVES:
        curve, form = _CURVES[notion]
        is_file = notion == "tradeoff" and "," not in rest
        rows = _rows(text, rest) if is_file else [pair.split(",") for pair in rest.split(";")]
        return curve(_parsed_pairs(text, form, rows), **carried)
    if notion not in _NUMBERS:
        raise UsageError(f"claim {text!r}: must be one of " + " | ".join(FORMS))
    kind, form = _NUMBERS[notion]
    values = _floats(text, form, rest.split(","))
    if len(values) != form.count(",") + 1:
        raise UsageError(f"claim {text!r}: must look like {form}")
    return kind(*values, **carried)


def _floats(text: str, form: str, parts: list[str]) -> list[float]:
    try:
        return [_number(part) for part in parts]
    except ValueError:
        raise UsageError(f"claim {text!r}: must look like {form}") from None


def _number(text: str) -> float:
    """A float; ValueError for digits of other scripts and for underscores, which `float` lets through."""
    if not text.isascii() or "_" in text:
        raise ValueError(text)
    return float(text)


def _parsed_pairs(text: str, form: str, rows: list[list[str]]) -> tuple[tuple[float, float], ...]:
    if any(len(row) != 2 for row in rows):
        raise UsageError(f"claim {text!r}: must look like {form}")
    return tuple((first, second) for first, second in (_floats(text, form, row) for row in rows))


def _rows(text: str, name: str) -> list[list[str]]:
    """The rows of a file of two columns. Names of columns are words: a line with one number is a broken row."""
    try:
        rows = list(csv.reader(Path(name).read_text(encoding="utf-8-sig").splitlines()))
    except (OSError, ValueError, csv.Error) as error:  # ValueError: names and bytes that are no text
        raise UsageError(f"claim {text!r}: cannot read the file {name!r} ({error})") from None
    found: list[list[str]] = []
    for number, row in enumerate(rows, start=1):
        cells = [cell for cell in row if _is_number(cell)]
        if not row or (number == 1 and not cells):
            continue
        if len(row) != 2 or len(cells) != 2:
            raise UsageError(f"{name}, line {number}: {','.join(row)!r} must be TYPE_I,TYPE_II")
        found.append(cells)
    if not found:
        raise UsageError(f"{name}: holds no line TYPE_I,TYPE_II")
    return found


def _is_number(text: str) -> bool:
    try:
        _number(text)
    except ValueError:
        return False
    return True
