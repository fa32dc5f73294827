"""All paths of a vectorised program in a few calls: the trials axis of a call runs over what its draws can be.

Every draw of a row is a digit of the row's path number in a mixed radix; a uniform's digit says in which of the cells
between its thresholds it lies, and thresholds that are not among the cuts yet are cuts of the next pass. The program
must be one that `trials` accepts: rows of a draw are rows of the release, and no row depends on another one. That is
checked: rows are made again one by one, and with plain numbers in place of opaque uniforms. A program that draws
otherwise is LOOPED, and `finite.depth_first` follows it one release a call.
"""

import bisect
import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.tape import outputs, supports
from dpverify.tape.finite import Enumerated, FiniteCells, Numbers, output_key, PathLimits, streams
from dpverify.tape.running import Run, run_on_tape
from dpverify.tape.supports import Balls, down, exactly, Support, up
from dpverify.tape.transcript import Reason

Array = npt.NDArray[Any]

PROBE = 13  # rows of the first call: a leading axis of this length is the trials axis
CHUNK = 2**16  # rows of a call
SINGLE = 16  # rows that are made again, each by itself


@dataclass
class _Digit:
    """One variable of a row: a finite law, or the cuts of a uniform."""

    label: tuple[Any, ...]
    support: Support | None
    cuts: list[float] = field(default_factory=lambda: [0.0, 1.0])

    @property
    def count(self) -> int:
        return len(self.cuts) - 1 if self.support is None else len(self.support.values)


class _Rows(FiniteCells):
    """Thresholds inside of a cell are noted; the answer is that of the upper part, and the pass does not count."""

    def __init__(self) -> None:
        super().__init__()
        self.digits: list[Array] = []  # of each draw
        self.new: set[tuple[int, float]] = set()

    def split(self, cut: Array, place: Array) -> Array:
        low, high = self.cell(place)
        inside = np.flatnonzero((low < cut) & (cut < high))
        if len(inside):
            draws = self.draws_of(place[inside])
            for at, draw in zip(inside.tolist(), draws.tolist(), strict=True):
                made = self.transcript.draws[draw]
                digits = self.digits[draw]
                self.new.add((int(digits[(place[at] - made.start) % len(digits)]), float(cut[at])))
        return np.asarray(high <= cut)


class _Digits:
    """The source of the rows with these path numbers."""

    def __init__(self, digits: list[_Digit], numbers: Array, limits: PathLimits) -> None:
        self.arena: Any = _Rows()
        self.arena.law = limits.law
        self.digits = digits
        self.known = len(digits)
        self.at = 0
        self.handed: list[Any] = []
        self.mass = exactly(np.ones(len(numbers)))
        self._rows = len(numbers)
        self._numbers = numbers
        self._strides = np.cumprod([1, *(each.count for each in digits)])
        self._counts = [each.count for each in digits]
        self._uniforms: list[tuple[int, Array]] = []

    def _next(self, label: tuple[Any, ...], support: Support | None) -> tuple[_Digit, Array]:
        """The next digit, and its value in every row."""
        if self.at == len(self.digits):
            self.digits.append(_Digit(label, support))
        digit, at = self.digits[self.at], self.at
        if digit.label != label:
            self.arena.stop("LOOPED", "draws differ from pass to pass")
        self.at += 1
        if at >= self.known:
            return digit, np.zeros(self._rows, dtype=np.int64)
        return digit, self._numbers // int(self._strides[at]) % self._counts[at]

    def _columns(self, shape: tuple[int, ...]) -> int:
        if not shape or shape[0] != self._rows:
            self.arena.stop("LOOPED", "a draw without the trials axis")
        return math.prod(shape[1:])

    def variables(self, family: str, z: Any, parameters: tuple[Any, ...], dtype: Any) -> Any:
        shape = np.shape(z)
        width = self._columns(shape)
        if family == "uniform":
            low, high = np.zeros((self._rows, width)), np.ones((self._rows, width))
            first = self.at
            for column in range(width):
                digit, index = self._next(("uniform",), None)
                cuts = np.array(digit.cuts)
                low[:, column], high[:, column] = cuts[index], cuts[index + 1]
            start = self.arena.size
            self.arena.digits.append(np.arange(first, self.at))
            self.handed.append(slice(start, start + self._rows * width))
            return self.arena.uniform(low.reshape(shape), high.reshape(shape))
        given = [
            np.broadcast_to(np.asarray(each, dtype=np.float64), shape).reshape(self._rows, -1) for each in parameters
        ]
        if any((each != each[:1]).any() for each in given):
            self.arena.stop("LOOPED", "parameters depend on the row")
        found = np.zeros((self._rows, width), dtype=dtype)
        for column in range(width):
            row = tuple(float(each[0, column]) for each in given)
            found[:, column] = self._drawn((family, *row), lambda row=row: supports.of_family(family, row))
        return self._hand(found.reshape(shape))

    def atom(self, family: str, value: Any, law: Any, key: bytes, support: Any = None, *, given: Any = None) -> Any:
        if support is None:
            self.arena.stop("NOT_FINITE", f"{family} has no finite law that is known here")
        width = self._columns(support.outer)
        parts = [self._drawn((family, key), support.law) for _ in range(width)]
        found = np.stack(parts, axis=1).reshape(np.shape(value)).astype(np.asarray(value).dtype)
        return self._hand(found)

    def _hand(self, found: Array) -> Array:
        self.handed.append(found.copy())
        return found

    def _drawn(self, label: tuple[Any, ...], law: Any) -> Array:
        try:
            support = self.digits[self.at].support if self.at < self.known else _possible(law())
        except supports.NotFinite as error:
            self.arena.stop("NOT_FINITE", str(error))
        digit, index = self._next(label, support)
        assert digit.support is not None
        self.mass = self.mass * digit.support.masses[index]
        return np.asarray(digit.support.values[index])

    def masses(self) -> Balls:
        """Mass of every row."""
        found = self.mass
        for given in self.handed:
            if isinstance(given, slice):
                widths = self.arena.widths(np.arange(given.start, given.stop))
                low, high = (each.reshape(self._rows, -1) for each in widths.ends())
                for column in range(low.shape[1]):
                    found = found * Balls(low[:, column], high[:, column])
        return found


def _possible(support: Support) -> Support:
    rows = np.flatnonzero(support.masses.high > 0)
    return Support(support.values[rows], support.masses[rows], support.lost)


def vectorised(target: Any, data: Any, limits: PathLimits, seed: int) -> Enumerated:
    """The law of one dataset; `bad` is LOOPED where the program is not one for this."""
    digits: list[_Digit] = []
    found = Enumerated()
    first = _Digits(digits, np.zeros(PROBE, dtype=np.int64), limits)
    seen = run_on_tape(target, data, first.arena, first, *streams(seed, 0, 2), size=PROBE)
    if (bad := _refused(seen, first, PROBE)) is not None:
        found.bad = bad
        return found
    _cut(digits, first.arena.new)
    while True:
        count = math.prod(each.count for each in digits)
        if count > limits.paths:
            found.bad = Reason(
                "TOO_MANY", "", f"{count} paths" if count < 1e15 else f"2^{count.bit_length() - 1} paths"
            )
            return found
        found, new = _pass(target, data, digits, count, limits, seed)
        if found.bad is not None or not new:
            return found
        _cut(digits, new)


def _cut(digits: list[_Digit], new: set[tuple[int, float]]) -> None:
    for at, cut in new:
        if cut not in digits[at].cuts:
            bisect.insort(digits[at].cuts, cut)


def _refused(seen: Run, source: _Digits, rows: int) -> Reason | None:
    """Why a call is none whose rows are paths, or None."""
    if seen.notes:
        return seen.notes[0]
    if seen.bad is not None:
        return seen.bad
    kind, value = seen.outcome
    plain = type(value) is np.ndarray and value.dtype.kind in "biufcSU" and value.ndim and len(value) == rows
    if kind != "returned" or not plain:
        return Reason("LOOPED", "", "a release is not an array with one row for each trial")
    return None


def _pass(
    target: Any, data: Any, digits: list[_Digit], count: int, limits: PathLimits, seed: int
) -> tuple[Enumerated, set[tuple[int, float]]]:
    """One pass over all paths; the law, or the cuts that it has found."""
    found = Enumerated(paths=count)
    new: set[tuple[int, float]] = set()
    before = len(digits)
    lows: dict[bytes, list[float]] = {}
    highs: dict[bytes, list[float]] = {}
    for start in range(0, count, CHUNK):
        if time.monotonic() > limits.until:
            found.bad = Reason("TOO_MANY", "", f"{count} paths, {start} of them in the time given")
            return found, new
        numbers = np.arange(start, min(start + CHUNK, count))
        source, seen = _call(target, data, digits, numbers, limits, (seed, start, 3))
        found.bad = _refused(seen, source, len(numbers))
        if found.bad is None and (len(digits) != before or source.at != before):
            found.bad = Reason("LOOPED", "", "draws differ from pass to pass")
        if found.bad is not None:
            return found, new
        new |= source.arena.new
        if new:
            continue
        keys, which = _keys(seen.outcome[1])
        low, high = source.masses().ends()
        order = np.argsort(which, kind="stable")
        cuts = np.flatnonzero(np.r_[True, np.diff(which[order]) > 0])
        for at, key in zip(np.split(order, cuts[1:]), (keys[which[order[cut]]] for cut in cuts), strict=True):
            lows.setdefault(key, []).append(float(down(np.array(math.fsum(low[at].tolist())))))
            highs.setdefault(key, []).append(float(up(np.array(math.fsum(high[at].tolist())))))
            found.shown.setdefault(key, repr(seen.outcome[1][at[0]])[:200])
        if start == 0:
            found.bad = _independent(target, data, digits, numbers, limits, seed, [keys[each] for each in which])
            if found.bad is not None:
                return found, new
    found.law = {
        key: (float(down(np.array(math.fsum(lows[key])))), float(up(np.array(math.fsum(highs[key]))))) for key in lows
    }
    found.lost = math.fsum(each.support.lost for each in digits if each.support is not None) * (1 + 1e-9)
    return found, new


def _call(
    target: Any, data: Any, digits: list[_Digit], numbers: Array, limits: PathLimits, key: tuple[int, ...]
) -> tuple[_Digits, Run]:
    source = _Digits(digits, numbers, limits)
    return source, run_on_tape(target, data, source.arena, source, *streams(*key), size=len(numbers))


def _keys(value: Array) -> tuple[list[bytes], Array]:
    """The outcomes of rows as bytes, as `finite` has them, and which of them each row is."""
    rows = np.ascontiguousarray(value).reshape(len(value), -1)
    view = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel() if rows.shape[1] else None
    if view is None:
        return [output_key(outputs.parts(("returned", value[:1])))], np.zeros(len(value), dtype=np.int64)
    _, first, which = np.unique(view, return_index=True, return_inverse=True)
    return [output_key(outputs.parts(("returned", value[at : at + 1]))) for at in first], which.ravel()


def _independent(
    target: Any, data: Any, digits: list[_Digit], numbers: Array, limits: PathLimits, seed: int, keys: list[bytes]
) -> Reason | None:
    """Whether some rows, each by itself and all of them with plain numbers, give what they gave among the others."""
    rows = np.unique(np.linspace(0, len(numbers) - 1, SINGLE).astype(np.int64))
    for row in rows:
        known = len(digits)
        source, seen = _call(target, data, digits, numbers[row : row + 1], limits, (seed, int(row), 4))
        other_law = bool(source.arena.new) or len(digits) > known  # one release has other chances than many
        if _refused(seen, source, 1) is not None or output_key(seen.parts) != keys[row] or other_law:
            del digits[known:]
            return Reason("LOOPED", "", "a row depends on the other rows of its call")
    source, seen = _call(target, data, digits, numbers[rows], limits, (seed, 0, 5))
    plain = Numbers(source.handed, source.arena, streams(seed, 0, 7)[0])
    again = run_on_tape(target, data, plain.arena, plain, *streams(seed, 0, 6), size=len(rows))
    if _refused(again, source, len(rows)) is not None or not outputs.same_bits(again.parts, seen.parts):
        return Reason("UNFAITHFUL", "", "the same draws, as plain numbers, give something else")
    return None
