"""All paths of a program with finitely many outcomes, one release a call: depth first over what its draws can be.

Finite draws are branched over as they are drawn, with plain numbers. A uniform is split lazily: it is known as a cell
[low, high) of [0, 1), and a threshold inside of the cell is a branch; any other use of it ends the enumeration
(NOT_FINITE). A path whose mass falls below PRUNED is cut, and its mass is lost: so loops that end with probability 1
are finite, and the bounds say what was left out.

NumPy's u is j/2^53 with j uniform: as implemented, u < t has mass ceil(2^53 t)/2^53 and u <= t has mass
(floor(2^53 t) + 1)/2^53; both are floats, and so are the widths of cells. The ideal law has t in their place.
"""

import functools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dpverify.base.seeding import Stage, stream
from dpverify.tape import outputs, supports
from dpverify.tape.opaque import made
from dpverify.tape.randomness import Arena
from dpverify.tape.running import Run, run_on_tape
from dpverify.tape.supports import about, Balls, exactly, gathered, Support, up
from dpverify.tape.transcript import Reason

Array = npt.NDArray[Any]
Law = Literal["implemented", "ideal"]

PRUNED = 1e-18  # mass of a path that is not followed
SLOP = 2.0**-50  # of a threshold that an affine map of a uniform is compared with: a few roundings
GRID = 2.0**53


class FiniteCells(Arena):
    """Uniforms that are known up to a cell of [0, 1). `split` says what a threshold inside of a cell does."""

    law: Law = "implemented"

    def __init__(self) -> None:
        super().__init__()
        self.sloppy = np.zeros(0, dtype=bool)

    def uniform(self, low: Array, high: Array, *, like: Any = None) -> Any:
        """New uniforms in these cells; `like` as in `made`."""
        place = self.draw("uniform", low)
        rows = slice(self.size - low.size, self.size)
        self._columns["low"][rows], self._columns["high"][rows] = low.ravel(), high.ravel()
        self.sloppy = np.concatenate([self.sloppy, np.zeros(low.size, dtype=bool)])
        return made(self, place, like=like)

    def widths(self, place: Array) -> Balls:
        """Masses of the cells that are left."""
        low, high = self._columns["low"][place], self._columns["high"][place]
        width = exactly(high - low) if self.law == "implemented" else about(high - low, 2.0**-52)
        slop = np.where(self.sloppy[place], SLOP, 0.0)
        return Balls(np.maximum(width.low - slop, 0.0), width.high + slop)

    def cell(self, places: Any) -> tuple[Array, Array]:
        """(low, high) of uniforms."""
        return self._columns["low"][places], self._columns["high"][places]

    def is_uniform(self, place: Array) -> bool:
        return len(place) > 0

    def resolve(self, off: Array, coef: Array, place: Array) -> Array:
        if (place >= 0).any():
            self.stop("NOT_FINITE", "uses the value of a uniform and not only comparisons with it")
        return off

    def decide(self, below: Array, place: Array, closed: Array, plain: Array) -> Array:
        cut = np.clip(below, -1.0, 2.0)
        if self.law == "implemented":
            cut = np.where(closed, np.floor(cut * GRID) + 1, np.ceil(cut * GRID)) / GRID
        self.sloppy[place[~plain]] = True
        return self.split(np.clip(cut, 0.0, 1.0), place)

    def split(self, cut: Array, place: Array) -> Array:
        """Whether each uniform is below its cut."""
        raise NotImplementedError

    def stop(self, code: str, text: str) -> None:
        """Ends the run."""
        self._diverge(code, self.site(), text)


class _Path(FiniteCells):
    """One path: a threshold inside of a cell asks `branch` for a side."""

    def __init__(self, branch: Callable[[int], int]) -> None:
        super().__init__()
        self._branch = branch

    def split(self, cut: Array, place: Array) -> Array:
        low, high = self._columns["low"], self._columns["high"]
        found = np.zeros(len(place), dtype=bool)
        for at, (where, here) in enumerate(zip(place.tolist(), cut.tolist(), strict=True)):
            if low[where] < here < high[where]:
                found[at] = self._branch(2) == 0
                (high if found[at] else low)[where] = here
            else:
                found[at] = high[where] <= here
        return found


class _Branches:
    """The source of one path: `chosen` are the branches to take, then the first one of each."""

    def __init__(self, chosen: list[int], expected: list[int], limits: "PathLimits") -> None:
        self.arena: Any = _Path(self._branch)
        self.arena.law = limits.law
        self.taken: list[int] = []
        self.counts: list[int] = []
        self.lost: list[float] = []  # of tails that supports have cut, and of a path that is not followed
        self.handed: list[Any] = []  # values, and the places of uniforms
        self._chosen, self._expected, self._until = chosen, expected, limits.until
        self._mass = exactly(1.0)  # of the finite draws

    def _branch(self, count: int) -> int:
        at = len(self.taken)
        if at < len(self._expected) and self._expected[at] != count:
            self.arena.stop("FOREIGN", "the program asks for other draws when it is repeated")
        self.taken.append(self._chosen[at] if at < len(self._chosen) else 0)
        self.counts.append(count)
        return self.taken[-1]

    def mass(self) -> Balls:
        """Mass of the path so far, shape ()."""
        found = self._mass
        for low, high in zip(*self.arena.widths(np.arange(self.arena.size)).ends(), strict=True):
            found = found * Balls(low, high)
        return found

    def variables(self, family: str, z: Any, parameters: tuple[Any, ...], dtype: Any) -> Any:
        shape = np.shape(z)
        if family == "uniform":
            self._prune()
            self.handed.append(slice(self.arena.size, self.arena.size + math.prod(shape)))
            return self.arena.uniform(np.zeros(shape), np.ones(shape), like=z)
        columns = [np.broadcast_to(np.asarray(each, dtype=np.float64), shape).ravel() for each in parameters]
        drawn = [
            self._drawn(functools.partial(supports.of_family, family, tuple(float(each[at]) for each in columns)))
            for at in range(math.prod(shape))
        ]
        found = np.array(drawn, dtype=dtype).reshape(shape) if shape else type(z)(drawn[0])
        self.handed.append(np.copy(found) if shape else found)
        return found

    def atom(self, family: str, value: Any, law: Any, key: bytes, support: Any = None, *, given: Any = None) -> Any:
        if support is None:
            self.arena.stop("NOT_FINITE", f"{family} has no finite law that is known here")
        drawn = [self._drawn(support.law) for _ in range(math.prod(support.outer))]
        found = np.array(drawn, dtype=np.asarray(value).dtype).reshape(np.shape(value))
        found = found if np.ndim(value) else type(value)(found[()])
        self.handed.append(np.copy(found) if np.ndim(value) else found)
        return found

    def _drawn(self, law: Callable[[], Support]) -> Any:
        self._prune()
        try:
            support = law()
        except supports.NotFinite as error:
            self.arena.stop("NOT_FINITE", str(error))
        possible = np.flatnonzero(support.masses.high > 0)
        at = possible[self._branch(len(possible))]
        if support.lost and len(self.taken) > len(self._chosen):  # once: by the first path that comes here
            self.lost.append(float(up(self.mass().high * support.lost)))
        self._mass = self._mass * support.masses[at]
        return support.values[at]

    def _prune(self) -> None:
        if time.monotonic() > self._until:
            self.arena.stop("TIMEOUT", "")
        if (mass := float(self.mass().high)) < PRUNED:
            self.lost.append(mass)
            self.arena.stop("PRUNED", "")


class Numbers:
    """A source that hands out what another one has: its values, and numbers in the cells of its uniforms."""

    def __init__(self, handed: list[Any], arena: FiniteCells, rng: np.random.Generator) -> None:
        self.arena = Arena()
        self._handed, self._cells, self._rng = iter(handed), arena, rng

    def variables(self, family: str, z: Any, parameters: tuple[Any, ...], dtype: Any) -> Any:
        found = next(self._handed, None)
        if isinstance(found, slice):
            low, high = self._cells.cell(found)
            inner = np.minimum(low + self._rng.random(low.shape) * (high - low), np.nextafter(high, low))
            if self._cells.law == "implemented":
                inner = np.floor(inner * GRID) / GRID
            found = inner.reshape(np.shape(z)) if np.ndim(z) else float(inner[0])
        if found is None or np.shape(found) != np.shape(z):
            self.arena._diverge("UNFAITHFUL", self.arena.site(), "the plain program draws otherwise")
        return found

    def atom(self, family: str, value: Any, law: Any, key: bytes, support: Any = None, *, given: Any = None) -> Any:
        return self.variables(family, value, (), None)


@dataclass
class Enumerated:
    """The law of one dataset: outcome -> (least, largest mass); `bad` where it could not be enumerated."""

    law: dict[bytes, tuple[float, float]] = field(default_factory=dict)
    lost: float = 0.0
    paths: int = 0
    bad: Reason | None = None
    shown: dict[bytes, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PathLimits:
    """What an enumeration may take."""

    paths: int
    until: float  # time.monotonic()
    law: Law


def output_key(parts: outputs.Parts) -> bytes:
    """An output as bytes: equal where the outputs are equal bit for bit."""
    return b"\0".join(name + (b"" if numbers is None else b"=" + numbers.tobytes()) for name, numbers in parts)


def depth_first(target: Any, data: Any, limits: PathLimits, seed: int) -> Enumerated:
    """All paths of one release a call."""
    found = Enumerated()
    pieces: list[tuple[bytes, float, float]] = []
    lost: list[float] = []
    chosen: list[int] = []
    counts: list[int] = []
    while found.bad is None:
        source = _Branches(chosen, counts[: len(chosen)], limits)
        seen = run_on_tape(target, data, source.arena, source, *streams(seed, found.paths, 0))
        found.paths += 1
        lost += source.lost
        found.bad = seen.notes[0] if seen.notes else seen.bad
        if found.bad is None:
            mass, key = source.mass(), output_key(seen.parts)
            found.shown.setdefault(key, repr(seen.outcome[1])[:200])
            pieces.append((key, float(mass.low), float(mass.high)))
            if found.paths & (found.paths - 1) == 0:  # path 1, 2, 4, 8, ...
                found.bad = _repeated(target, data, source, seen, streams(seed, found.paths, 1))
        elif found.bad.code == "PRUNED":
            found.bad = None
        chosen, counts = source.taken, source.counts
        while chosen and chosen[-1] + 1 >= counts[len(chosen) - 1]:
            chosen.pop()
        if not chosen:
            break
        chosen[-1] += 1
        if found.bad is None and found.paths >= limits.paths:
            found.bad = Reason("TOO_MANY", "", f"more than {found.paths} paths")
    if found.bad is not None and found.bad.code == "TIMEOUT":
        found.bad = Reason("TOO_MANY", "", f"more than {found.paths - 1} paths in the time given")
    found.law = gathered(pieces)
    found.lost = float(up(np.array(math.fsum(lost)))) if lost else 0.0
    return found


def streams(seed: int, *key: int) -> tuple[np.random.Generator, Callable[[], np.random.Generator]]:
    """Streams of a run: the one below the tape, and the one of generators without a seed."""
    return stream(seed, Stage.TAPE, *key, 21), lambda: stream(seed, Stage.TAPE, *key, 22)


def _repeated(target: Any, data: Any, source: _Branches, seen: Run, streams: Any) -> Reason | None:
    """Whether the same path gives something else with numbers in place of opaque uniforms."""
    numbers = Numbers(source.handed, source.arena, streams[0])
    again = run_on_tape(target, data, numbers.arena, numbers, *streams)
    if again.notes or again.bad is not None:
        return again.notes[0] if again.notes else again.bad
    if outputs.same_bits(again.parts, seen.parts):
        return None
    return Reason(
        "UNFAITHFUL",
        "",
        "the same draws, as plain numbers, give something else: randomness or state that "
        "the tape does not see, or an array that it has changed",
    )
