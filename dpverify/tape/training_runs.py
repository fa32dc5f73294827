"""One run of a training loop: what each step reads, draws and releases; with one thing changed in one step."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.tape.generator import streaming

Array = npt.NDArray[Any]
Factor = float | tuple[float, ...] | None


@dataclass(frozen=True)
class Change:
    """In `step`: rows are multiplied (by a number for each array, or one for all; None: left out), and values of normal
    calls, by their number, are moved.

    They are moved by a number, or by one for each value. The run ends with step `until`, `step` where that is None.
    `out` is a row whose uniform value is moved to `end`; `again` draws what comes after the first read once more.
    """

    step: int = -1
    rows: Mapping[int, Factor] = field(default_factory=dict)
    draws: Mapping[int, Any] = field(default_factory=dict)
    until: int | None = None
    out: int | None = None
    end: float = 0.0
    again: bool = False


class Enough(BaseException):
    """The step that was changed is over."""


@dataclass
class Run:
    """What a run did; one list a step, the last of them for what comes after the last step."""

    change: Change
    released: list[Array] = field(default_factory=list)
    reads: list[list[tuple[int, Array]]] = field(default_factory=lambda: [[]])  # (which array, rows), as they came
    draws: list[list[tuple[int, bool]]] = field(default_factory=lambda: [[]])  # (how many, after the first read)
    sizes: list[list[int]] = field(default_factory=lambda: [[]])  # of draws of any law
    whole: bool = False  # rows that cannot be left out were read: one by one, or all in one array
    seeds: bool = False  # a whole number was drawn that may seed other noise
    renew: Callable[[], None] | None = None
    notes: tuple[str, ...] = ()

    @property
    def steps(self) -> int:
        return len(self.released)

    def draw(self, family: str, z: Array, start: int) -> Array:
        here, change = self.change.step == self.steps, self.change
        self.sizes[-1].append(int(z.size))
        if family == "uniform" and here and change.out is not None and z.shape and z.shape[0] > change.out:
            z = z.copy()
            z[change.out] = change.end
        if family != "normal":
            return z
        place = len(self.draws[-1])
        self.draws[-1].append((int(z.size), bool(self.reads[-1])))
        if not here or place not in change.draws:
            return z
        by = change.draws[place]
        return z + np.reshape(by, z.shape if np.ndim(by) else ())

    def atom(self, value: Any) -> None:
        self.sizes[-1].append(int(np.size(value)))
        self.seeds |= np.asarray(value).dtype.kind not in "fb" and np.size(value) <= 4

    def step(self, released: Any) -> None:
        self.released.append(_flat(released))
        self.reads.append([])
        self.draws.append([])
        self.sizes.append([])
        last = self.change.step if self.change.until is None else self.change.until
        if 0 <= last < self.steps:
            raise Enough


def _flat(value: Any) -> Array:
    if isinstance(value, Mapping):
        value = [value[name] for name in value]
    parts = [_flat(each) for each in value] if isinstance(value, list | tuple) else [np.asarray(value)]
    return np.concatenate([np.ravel(each).astype(np.float64) for each in parts]) if parts else np.zeros(0)


class Rows(np.lib.mixins.NDArrayOperatorsMixin):
    """An array that notes which rows are read, and hands out changed ones while its run says so."""

    def __init__(self, run: Run, array: Array, number: int) -> None:
        self._run, self._array, self._number = run, array, number
        self.shape, self.ndim, self.dtype, self.size = array.shape, array.ndim, array.dtype, array.size

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))  # one by one, and noted so

    def __getitem__(self, index: Any) -> Any:
        first, rest = (index[0], index[1:]) if isinstance(index, tuple) else (index, ())
        if first is None:
            return np.asarray(self)[index]
        places = np.asarray(np.arange(len(self))[first])
        if places.ndim == 1:
            return self._read(places, droppable=True)[(slice(None), *rest)]
        found = self._read(places.ravel(), droppable=False)
        found = found.reshape((*places.shape, *found.shape[1:]))
        return found[(*(slice(None),) * places.ndim, *rest)]

    def _read(self, places: Array, *, droppable: bool) -> Array:
        run = self._run
        if run.change.again and run.change.step == run.steps and not run.reads[-1] and run.renew:
            run.renew()
        run.reads[-1].append((self._number, np.ravel(places)))
        run.whole |= not droppable
        found = self._array[places]
        if run.change.step != run.steps:
            return found
        for row, factor in run.change.rows.items():
            if factor is not None and found.dtype.kind == "f":
                by = factor[self._number] if isinstance(factor, tuple) else factor
                found[places == row] *= found.dtype.type(by)
        gone = [row for row, factor in run.change.rows.items() if factor is None]
        return found[~np.isin(places, gone)] if gone and droppable else found

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return self._read(np.arange(len(self)), droppable=False).astype(dtype or self.dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **more: Any) -> Any:
        plain = (np.asarray(each) if isinstance(each, Rows) else each for each in inputs)
        return getattr(ufunc, method)(*plain, **more)


def noted_by(real: np.random.Generator, run: Run) -> tuple[Any, Any]:
    """A generator on the tape whose normal and uniform draws `run` may change."""
    rng, source = streaming(real, run.draw)
    atom = source.atom

    def noted(family: str, value: Any, *args: Any, **more: Any) -> Any:
        run.atom(value)
        return atom(family, value, *args, **more)

    def renew() -> None:
        real.bit_generator.state = type(real.bit_generator)(int(real.integers(2**62))).state

    source.atom, run.renew = noted, renew  # type: ignore[method-assign]
    return rng, source
