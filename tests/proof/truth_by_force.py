"""What is true of a program, by brute force over a small schema.

`truth` knows nothing of provers: it runs the source itself, by NumPy, on every dataset of the schema, with numbers in
place of noise. So it learns what is released without noise and by which public matrix the draws enter; the laws do
the rest, over all pairs of neighbours.

    released = T(data) + M draws; log ratio of a pair = cost of the shift w with T' - T = M w, inf where there is none

Choices by the largest or smallest noisy value are integrated. What is found is exact, or a lower bound (`exact`).
"""

import itertools
import math
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Space:
    """A schema and, of its rows, values that it allows: all of them (`whole`) or some."""

    container: str
    column: str
    values: tuple[Any, ...]
    rows: tuple[int, int]
    whole: bool

    @property
    def data(self) -> str:
        """The schema in one line."""
        fewest, most = self.rows
        return (
            f"{self.container}: {self.column}, rows {fewest}..{most}"
            if fewest < most
            else (f"{self.container}: {self.column}, rows {fewest}")
        )

    def built(self, rows: Sequence[Any]) -> Any:
        """A dataset as a program gets it."""
        if self.container == "list":
            return list(rows)
        if self.container == "array":
            return np.array(rows, dtype=np.float64).reshape(len(rows), 2)
        return np.array(rows, dtype=np.int64 if "integer" in self.column else np.float64)

    def datasets(self) -> Iterator[tuple[Any, ...]]:
        """All of them, of every legal number of rows."""
        for size in range(self.rows[0], self.rows[1] + 1):
            yield from itertools.product(self.values, repeat=size)

    def neighbours(self, relation: str) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
        """Pairs in one order: another value at each place, or a record taken away at each place."""
        for rows in self.datasets():
            for at in range(len(rows)):
                if relation == "add-remove":
                    if len(rows) > self.rows[0]:
                        yield rows, rows[:at] + rows[at + 1 :]
                    continue
                for other in self.values:
                    if repr(other) > repr(rows[at]):
                        yield rows, (*rows[:at], other, *rows[at + 1 :])


@dataclass(frozen=True)
class Program:
    """A program, and the variants of it whose releases are affine in the noise.

    `variants`: bodies that say the same as a path of the program, without what it does to released values. `rule`: what
    the program does to the noisy vector of its only variant: nothing, or `argmax`, `argmin`. `times`: choices made.
    """

    space: Space
    relation: str
    source: str
    variants: tuple[str, ...]
    rule: str = ""


@dataclass(frozen=True)
class Truth:
    """Lower bounds of pure eps and of mu (Gaussian DP); `exact`: eps is the least that holds."""

    eps: float
    mu: float
    exact: bool


# ----------------------------------------------------------------------------------------------------------------------
# Numbers in place of noise.


@dataclass(frozen=True)
class Draw:
    """One coordinate of a draw: its law and its scale (of a geometric one: the chance of success)."""

    law: str
    scale: float


class Numbers:
    """Stands for every source of randomness: keeps the laws of what is drawn, returns the numbers it was given."""

    def __init__(self, numbers: Callable[[int], float]) -> None:
        self.numbers, self.draws, self.choices = numbers, [], []
        self.known = False

    def _drawn(self, law: str, scale: Any, size: Any, loc: Any = 0.0, *, whole: bool = False) -> Any:
        shape = np.broadcast(np.asarray(scale), np.asarray(loc)).shape if size is None else size
        scales = np.broadcast_to(np.asarray(scale, dtype=float), shape)
        if not (scales >= 0).all():
            raise ValueError("scale < 0")
        if self.known:
            return np.broadcast_to(np.asarray(loc), shape) + (np.zeros(scales.shape) if shape != () else 0.0)
        found = []
        for each in scales.ravel():
            found.append(self.numbers(len(self.draws)))
            self.draws.append(Draw(law, float(each)))
        values = np.array(found).reshape(scales.shape) + np.asarray(loc)
        values = values.astype(np.int64) if whole else values.astype(float)
        return values if values.shape else values[()]

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._drawn("laplace", scale, size, loc)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._drawn("normal", scale, size, loc)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._drawn("gumbel", scale, size, loc)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        return self._drawn("exponential", scale, size)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        return self._drawn("uniform", high - low, size)

    def bounded(self, scale: Any, size: Any = None) -> Any:
        """Noise of a half line or an interval."""
        return self._drawn("bounded", scale, size)

    def rounded(self, scale: Any, size: Any = None) -> Any:
        """Laplace noise that was rounded to whole numbers."""
        return self._drawn("rounded", scale, size, whole=True)

    def geometric(self, p: Any, size: Any = None) -> Any:
        return self._drawn("geometric", p, size, whole=True)

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:
        p = np.full(a, 1 / a) if p is None else np.asarray(p, dtype=float)
        if np.isnan(p).any() or (p < 0).any() or abs(p.sum() - 1) > 1e-8 or len(p) != a or not replace:
            raise ValueError("probabilities do not sum to 1")
        self.choices.append((p, 1 if size is None else int(np.prod(size))))
        return 0 if size is None else np.zeros(size, dtype=int)

    def default_rng(self, seed: Any = None) -> "Numbers":
        """Itself, or for a seed one whose numbers everybody knows."""
        if seed is None:
            return self
        other = Numbers(self.numbers)
        other.known = True
        return other

    def expovariate(self, rate: float) -> Any:
        return self._drawn("exponential", 1 / rate, None)

    def gauss(self, mean: float, sigma: float) -> Any:
        return self._drawn("normal", sigma, None, mean)


class _Numpy:
    """NumPy with another source of randomness."""

    def __init__(self, numbers: Numbers) -> None:
        self.random = numbers

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def _laws(numbers: Numbers) -> Any:
    def rvs(draw: Callable[..., Any]) -> Any:
        return types.SimpleNamespace(rvs=lambda loc=0.0, scale=1.0, size=None: draw(loc, scale, size))

    return types.SimpleNamespace(laplace=rvs(numbers.laplace), norm=rvs(numbers.normal))


@dataclass(frozen=True)
class Run:
    """What a program released on one dataset: its shape as text, its numbers, the laws of its draws, its choices."""

    form: str
    values: np.ndarray
    draws: tuple[Draw, ...]
    choices: tuple[tuple[np.ndarray, int], ...]


class Runner:
    """A variant of a program, run on datasets with numbers in place of noise."""

    def __init__(self, program: Program, variant: str) -> None:
        self.space = program.space
        self.code = compile(variant, "<program>", "exec")
        self._matrices: dict[tuple[Any, ...], np.ndarray] = {}

    def run(self, rows: Sequence[Any], numbers: Callable[[int], float]) -> Run:
        """On one dataset."""
        source = Numbers(numbers)
        names: dict[str, Any] = {"np": _Numpy(source), "random": source, "stats": _laws(source)}
        try:
            with np.errstate(all="ignore"):
                exec(self.code, names)
                form, values = _walked(names["release"](self.space.built(rows)))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            return Run(f"raised {type(error).__name__}", np.zeros(0), (), ())
        return Run(form, np.array(values, dtype=float), tuple(source.draws), tuple(source.choices))

    def affine(self, rows: Sequence[Any]) -> tuple[Run, np.ndarray] | None:
        """T and M of one dataset; None where the release is not affine in the noise."""
        still = self.run(rows, lambda at: 0.0)
        known = (still.form, still.draws)
        moved = self.run(rows, _far)
        if moved.form != still.form or moved.draws != still.draws:
            return None
        steps = np.array([_far(at) for at in range(len(still.draws))])
        matrix = self._matrices.get(known)
        if matrix is None or not _near(still.values + matrix @ steps, moved.values):
            matrix = np.zeros((len(still.values), len(still.draws)))
            for at in range(len(still.draws)):
                one = self.run(rows, lambda place, at=at: float(place == at))
                if one.form != still.form:
                    return None
                matrix[:, at] = one.values - still.values
            back = self.run(rows, lambda at: -_far(at))
            if back.form != still.form or not _near(still.values - matrix @ steps, back.values):
                return None
            self._matrices[known] = matrix
        return (still, matrix) if _near(still.values + matrix @ steps, moved.values) else None


def _far(at: int) -> float:
    return float((7919 * (at + 1)) % 211 + 10 * at - 97)


def _near(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and not (np.abs(one - other) > 1e-9 * (1 + np.abs(other))).any()


def _walked(value: Any) -> tuple[str, list[float]]:
    """The shape of a value as text, NaN and infinities with it, and its numbers."""
    if isinstance(value, dict):
        parts = [_walked(each) for each in value.values()]
        return f"{list(value)}{[form for form, _ in parts]}", [each for _, numbers in parts for each in numbers]
    if isinstance(value, list | tuple):
        parts = [_walked(each) for each in value]
        return f"{type(value).__name__}{[form for form, _ in parts]}", [
            each for _, numbers in parts for each in numbers
        ]
    if value is None or isinstance(value, str):
        return repr(value), []
    array = np.asarray(value, dtype=float)
    special = [(at, str(each)) for at, each in enumerate(array.ravel()) if not math.isfinite(each)]
    return f"{array.shape}{special}", [each if math.isfinite(each) else 0.0 for each in array.ravel()]


# ----------------------------------------------------------------------------------------------------------------------
# Log ratios.


@dataclass(frozen=True)
class Cost:
    """Of a pair: the largest log ratio in either order, the square of mu of its Gaussian part, whether eps is exact."""

    up: float = 0.0
    down: float = 0.0
    square: float = 0.0
    exact: bool = True

    def __add__(self, other: "Cost") -> "Cost":
        exact = self.exact and other.exact
        return Cost(self.up + other.up, self.down + other.down, self.square + other.square, exact)

    @property
    def eps(self) -> float:
        return max(self.up, self.down)


def _both(eps: float, square: float = 0.0, *, exact: bool = True) -> Cost:
    return Cost(float(eps), float(eps), float(square), exact)


BARE = _both(math.inf, math.inf)
UNKNOWN = Cost(exact=False)


def _shifted(draw: Draw, by: float) -> Cost:
    """A draw whose value can be read off, shifted."""
    if abs(by) < 1e-9:
        return Cost()
    if draw.law == "laplace" and draw.scale > 0:
        return _both(abs(by) / draw.scale)
    if draw.law == "normal" and draw.scale > 0:
        return _both(math.inf, (by / draw.scale) ** 2)
    if draw.law == "rounded" and draw.scale > 0:
        return _both(abs(by) / draw.scale, exact=False) if abs(by - round(by)) < 1e-9 else BARE
    return BARE


def _summed(draws: Sequence[Draw], factors: np.ndarray, by: float) -> Cost:
    """One number, the sum of draws of its own, shifted: what its farthest tails say."""
    if abs(by) < 1e-9:
        return Cost()
    laws = {each.law for each in draws}
    scales = [abs(factor) * each.scale for each, factor in zip(draws, factors, strict=True)]
    if len(draws) == 1:
        return _shifted(draws[0], by / factors[0])
    if laws == {"laplace"}:
        return _both(abs(by) / max(scales)) if max(scales) > 0 else BARE
    if laws == {"normal"}:
        return _both(math.inf, by**2 / sum(each**2 for each in scales)) if max(scales) > 0 else BARE
    if len(draws) == 2 and laws in ({"exponential"}, {"geometric"}):
        if factors[0] * factors[1] > 0:
            return BARE
        if laws == {"exponential"}:
            return _tails(by, [1 / each if each > 0 else math.inf for each in scales], factors)
        if abs(factors[0]) != abs(factors[1]):
            return UNKNOWN
        rates = [-math.log1p(-each.scale) if each.scale < 1 else math.inf for each in draws]
        steps = by / abs(factors[0])
        return _tails(round(steps), rates, factors) if abs(steps - round(steps)) < 1e-9 else BARE
    return UNKNOWN


def _tails(by: float, rates: Sequence[float], factors: np.ndarray) -> Cost:
    """The difference of two one-sided draws: it falls at the one rate to the right, at the other to the left.

    `up`: the largest log ratio of the unshifted law to the shifted one; the left tail has it for a shift to the right.
    """
    right, left = rates if factors[0] > 0 else (rates[1], rates[0])
    return Cost(by * left, by * right) if by > 0 else Cost(-by * right, -by * left)


def _components(matrix: np.ndarray) -> Iterator[tuple[list[int], list[int]]]:
    """Outputs and draws that hang together; outputs without noise are one each."""
    left = set(range(len(matrix)))
    while left:
        outputs, draws, new = set(), set(), {min(left)}
        while new:
            outputs |= new
            draws |= {int(at) for output in new for at in np.flatnonzero(matrix[output])}
            new = {int(at) for draw in draws for at in np.flatnonzero(matrix[:, draw])} - outputs
        left -= outputs
        yield sorted(outputs), sorted(draws)


def _cost(one: tuple[Run, np.ndarray], other: tuple[Run, np.ndarray]) -> Cost:
    """Of a pair, from T and M on both sides."""
    (first, matrix), (second, twin) = one, other
    if first.form != second.form:
        return BARE
    total = _cost_of_choices(first, second)
    if first.draws != second.draws or not _near(matrix, twin):
        return _cost_of_other_noise(one, other)
    moved = second.values - first.values
    for outputs, places in _components(matrix):
        part, by = matrix[np.ix_(outputs, places)], moved[outputs]
        draws = [first.draws[at] for at in places]
        if not np.abs(by).max(initial=0) > 1e-9:
            continue
        if not places:
            return BARE
        rank = int(np.linalg.matrix_rank(part))
        shift = np.linalg.lstsq(part, by, rcond=None)[0]
        if np.abs(part @ shift - by).max() > 1e-7:
            return BARE
        if rank == len(places):
            for draw, each in zip(draws, shift, strict=True):
                total += _shifted(draw, float(each))
        elif len(outputs) == 1:
            total += _summed(draws, part[0], float(by[0]))
        else:
            total += UNKNOWN
    return total


def _cost_of_other_noise(one: tuple[Run, np.ndarray], other: tuple[Run, np.ndarray]) -> Cost:
    """Where the noise itself is data: numbers whose own noise has another scale have unbounded tails."""
    kinds = []
    for run, matrix in (one, other):
        if any(len(outputs) > 1 for outputs, _ in _components(matrix)):
            return UNKNOWN
        kinds.append([_tail(run, row) for row in matrix])
    return BARE if any(a and b and a != b for a, b in zip(*kinds, strict=True)) else UNKNOWN


def _tail(run: Run, row: np.ndarray) -> tuple[Any, ...]:
    """What decides the tail of a number's own noise; nothing where that is not known."""
    used = np.flatnonzero(row)
    laws = {run.draws[at].law for at in used}
    scales = [round(abs(row[at]) * run.draws[at].scale, 9) for at in used]
    if laws == {"laplace"}:
        return "laplace", max(scales), scales.count(max(scales))
    if laws == {"normal"}:
        return "normal", round(sum(each**2 for each in scales), 9)
    return () if laws else ("none",)


def _cost_of_choices(first: Run, second: Run) -> Cost:
    if [times for _, times in first.choices] != [times for _, times in second.choices]:
        return BARE
    total = Cost()
    for (one, times), (other, _) in zip(first.choices, second.choices, strict=True):
        if len(one) != len(other) or ((one > 0) != (other > 0)).any():
            return BARE
        ratios = times * (np.log(one[one > 0]) - np.log(other[other > 0]))
        total += Cost(float(ratios.max()), float(-ratios.min()))
    return total


# ----------------------------------------------------------------------------------------------------------------------
# The largest noisy value.

_LAWS = {
    "laplace": stats.laplace,
    "normal": stats.norm,
    "gumbel": stats.gumbel_r,
    "exponential": stats.expon,
}
_QUANTILES = (np.arange(4000) + 0.5) / 4000
SEEN, SLACK = 0.005, 2e-3  # smaller chances are not looked at; what the quadrature may be off


def chances_of_the_largest(values: np.ndarray, draws: Sequence[Draw], factors: np.ndarray) -> np.ndarray:
    """P(values[i] + factors[i] draws[i] is the largest), by the quantiles of draw i."""
    found = np.ones(len(values))
    for at, (draw, factor) in enumerate(zip(draws, factors, strict=True)):
        own = values[at] + factor * _LAWS[draw.law].ppf(_QUANTILES, scale=draw.scale)
        inside = np.ones_like(own)
        for place, (rival, scaled) in enumerate(zip(draws, factors, strict=True)):
            if place != at:
                law, cut = _LAWS[rival.law], (own - values[place]) / scaled
                inside *= law.cdf(cut, scale=rival.scale) if scaled > 0 else law.sf(cut, scale=rival.scale)
        found[at] = inside.mean()
    return found


def _laws_of_the_largest(run: Run, matrix: np.ndarray, sign: int) -> list[Any] | None:
    """The law of argmax along the last axis, one a row of it; None where it is not integrated."""
    shape = eval(run.form.removesuffix("[]")) if run.form.endswith(")[]") else ()
    if not shape:
        return None
    width = int(shape[-1])
    laws: list[Any] = []
    for start in range(0, len(run.values), width):
        part, values = matrix[start : start + width], sign * run.values[start : start + width]
        used = np.flatnonzero(np.abs(part).max(axis=0, initial=0))
        if all(len(set(part[:, at])) == 1 for at in used):
            laws.append(int(np.argmax(values)))
            continue
        if len(used) != width or any(np.count_nonzero(part[:, at]) != 1 for at in used):
            return None
        places = [int(np.flatnonzero(row)[0]) for row in part]
        draws = [run.draws[at] for at in places]
        if not all(each.law in _LAWS and each.scale > 0 for each in draws):
            return None
        laws.append((values, draws, sign * np.array([part[at, place] for at, place in enumerate(places)])))
    shared = [np.count_nonzero(np.abs(matrix[:, at].reshape(-1, width)).max(axis=1)) for at in range(matrix.shape[1])]
    return laws if max(shared, default=0) <= 1 or not any(isinstance(each, tuple) for each in laws) else None


class _Choices:
    """Log ratios of choices by the largest noisy value; each law is integrated once."""

    def __init__(self, sign: int) -> None:
        self.sign = sign
        self._chances: dict[Any, np.ndarray] = {}

    def cost(self, one: tuple[Run, np.ndarray], other: tuple[Run, np.ndarray]) -> Cost:
        if one[0].form != other[0].form:
            return BARE
        laws = [_laws_of_the_largest(run, matrix, self.sign) for run, matrix in (one, other)]
        if laws[0] is None or laws[1] is None or len(laws[0]) != len(laws[1]):
            return UNKNOWN
        total = UNKNOWN
        for first, second in zip(*laws, strict=True):
            if isinstance(first, int) or isinstance(second, int):
                if first != second:
                    return BARE if isinstance(first, int) and isinstance(second, int) else UNKNOWN
                continue
            ones, others = self._of(first), self._of(second)
            seen = (ones > SEEN) & (others > SEEN)
            ratios = np.log(ones[seen] / others[seen])
            total += Cost(
                max(0.0, float(ratios.max(initial=0.0)) - SLACK), max(0.0, -float(ratios.min(initial=0.0)) - SLACK)
            )
        return total

    def _of(self, law: Any) -> np.ndarray:
        values, draws, factors = law
        key = (tuple(np.round(values - values.max(), 9)), tuple(draws), tuple(factors))
        if key not in self._chances:
            self._chances[key] = chances_of_the_largest(values, draws, factors)
        return self._chances[key]


def truth(program: Program) -> Truth | None:
    """What is true of a program; None where it does nothing on any dataset, or is not affine in its noise."""
    pairs = list(program.space.neighbours(program.relation))
    if not pairs:
        return Truth(math.inf, math.inf, exact=True)  # no neighbours: whatever is proved is empty
    eps = square = 0.0
    exact = program.space.whole
    for variant in program.variants:
        runner = Runner(program, variant)
        with warnings.catch_warnings(action="ignore"):
            known = {rows: runner.affine(rows) for rows in program.space.datasets()}
        if any(each is None for each in known.values()):
            return None
        if all(each[0].form.startswith("raised") for each in known.values()):
            return None
        cost = _Choices(1 if program.rule == "argmax" else -1).cost if program.rule else _cost
        numbers: dict[tuple[Any, ...], int] = {}
        kinds = {rows: numbers.setdefault(_key(each), len(numbers)) for rows, each in known.items()}
        samples = {kinds[rows]: each for rows, each in known.items()}
        for one, other in {(kinds[first], kinds[second]) for first, second in pairs}:
            found = cost(samples[one], samples[other])
            eps, square = max(eps, found.eps), max(square, found.square)
            exact = exact and found.exact
    square = square if len(program.variants) == 1 else (math.inf if math.isinf(square) else 0.0)
    return Truth(eps, math.sqrt(square), exact)


def _key(known: tuple[Run, np.ndarray]) -> tuple[Any, ...]:
    run, matrix = known
    choices = tuple((tuple(np.round(p, 12)), times) for p, times in run.choices)
    return run.form, run.values.tobytes(), run.draws, matrix.tobytes(), choices
