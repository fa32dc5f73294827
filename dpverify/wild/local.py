"""A target of this process as a source of releases: the same calls as in another interpreter, without the process."""

import copy
import functools
import hashlib
import inspect
import numbers
import platform
import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dpverify.base.text import clean
from dpverify.errors import TargetError, UsageError
from dpverify.tape import entropy
from dpverify.trials.target import loop_trials
from dpverify.wild.worker import calling, codec, encoding, serving


class ReleaseSource(Protocol):
    """What gives releases: `Here`, or `Elsewhere`."""

    name: str
    hello: dict[str, Any]

    def check(self, data: bytes) -> None:
        """UsageError where data of this form cannot be handed over."""

    def fields(self, data: bytes, seeds: Sequence[int]) -> dict[str, Any]:
        """{"fields": [one dict a release], "changed": bool, "notes": [...], "seconds": of processor time}."""

    def versions(self) -> dict[str, str]:
        """Of what is imported."""

    def close(self) -> None:
        """Ends what it has started."""


class Here:
    """A function, class or object with `release`, called in this process on a copy of the data."""

    def __init__(
        self,
        target: Any,
        *,
        call: str = "auto",
        arguments: dict[str, Any] | None = None,
        encode: Callable[[Any], dict[str, float | str]] | None = None,
    ) -> None:
        try:
            self._caller = calling.Caller(target, call, arguments, encode)
        except calling.Refused as error:
            raise UsageError(clean(error)) from None
        self.name: str = self._caller.name
        self.hello = {
            "call": self._caller.call,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "executable": sys.executable,
            "stream": self._caller.stream,
        }

    def check(self, data: bytes) -> None:
        """See `ReleaseSource`."""
        try:
            self._caller.check(*serving.given(codec.unpacked(data)))
        except calling.Refused as error:
            raise UsageError(clean(error)) from None

    def fields(self, data: bytes, seeds: Sequence[int]) -> dict[str, Any]:
        """See `ReleaseSource`."""
        try:
            found: dict[str, Any] = serving.many(self._caller, data, list(seeds))
        except (calling.RunFailed, encoding.TooMuch) as error:
            raise TargetError(f"{self.name}: {clean(error)}") from error
        return found

    def versions(self) -> dict[str, str]:
        """See `ReleaseSource`."""
        found: dict[str, str] = serving.versions()
        return found

    def close(self) -> None:
        """Nothing was started."""


# ----------------------------------------------------------------------------------------------------------------------
# A library's function or class as a target of `audit` and `certify`: the call shapes of `certify --data`, one a call.
#
# The data of a pair are handed over as they are, a fresh deep copy for every release; a tuple is several arguments, as
# (X, y) of `fit`. What is no array of numbers is read field by field (`worker.encoding`), and may hold no text:
# `--data` takes any output.


def is_shaped(found: Any) -> bool:
    """True for a function that takes data and a class with `fit`, unless it is a target, or makes one."""
    if inspect.isclass(found):
        return hasattr(found, "fit") and not hasattr(found, "release")
    if hasattr(found, "release") or not callable(found):
        return False
    try:
        parameters = inspect.signature(found).parameters
    except (TypeError, ValueError):  # compiled
        return True
    if {"rng", "size"} <= set(parameters):
        return False
    return any(
        each.default is each.empty and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        for each in parameters.values()
    )


def shaped(found: Any, *, call: str = "auto", arguments: dict[str, Any] | None = None, name: str = "") -> Any:
    """The object as a target; UsageError where it cannot be called so."""
    try:
        caller = calling.Caller(found, call, arguments, name=name)
    except calling.Refused as error:
        raise UsageError(clean(error)) from None
    if caller.call == "target":
        return functools.partial(found, **caller.arguments) if caller.arguments else found
    return loop_trials(Once(caller))


def on_wire(found: Any, *, call: str, arguments: dict[str, Any], name: str) -> Any:
    """The object as a target whose datasets are those of `datasets.wire`; UsageError where it cannot be called so."""
    try:
        caller = calling.Caller(found, call, arguments, name=name)
    except calling.Refused as error:
        raise UsageError(clean(error)) from None
    return loop_trials(Once(caller, wire=True))


class Once:
    """One release; what a `LoopedTarget` calls."""

    def __init__(self, caller: Any, *, wire: bool = False) -> None:
        self._caller, self._checked, self._wire = caller, False, wire
        self.__name__ = str(caller.name)
        self.reproducible = caller.call not in ("data", "fit")

    def __call__(self, data: Any, *, rng: np.random.Generator) -> Any:
        """One release on a copy of the data."""
        if self._wire:
            mine = serving.given(codec.unpacked(data))
        else:
            mine = "args" if isinstance(data, tuple) else "one", copy.deepcopy(data)
        if not self._checked:
            try:
                self._caller.check(*mine)
            except calling.Refused as error:
                raise UsageError(clean(error)) from None
            self._checked = True
        if self._caller.call == "target" or (self._caller.stream == "rng" and self._caller.call == "rng"):
            return _numbers(self._caller.with_generator(mine, rng), self.__name__, tried=self._wire)
        # the tape leads the generators of the process to itself: a seed of ours would take their noise out of its sight
        led = entropy.is_led() and self._caller.call in ("data", "fit") and not self._caller.stream
        released = self._caller.release(mine, None if led else int(rng.integers(2**62)))
        return _numbers(released, self.__name__, tried=self._wire)


def _numbers(value: Any, name: str, *, tried: bool) -> npt.NDArray[Any]:
    """An output as an array of numbers; TargetError where it holds texts. `tried`: trials beside this read any output.

    What is no array of numbers begins with a number for its structure: keys, columns, index, types and where it is
    None. A mechanism may leak in each of them, and nothing of an output may be lost.
    """
    try:
        array = np.asarray(value)
    except ValueError:  # ragged
        array = np.zeros(0, dtype=object)
    if array.dtype.kind in "biuf" and _plain(value):
        return array
    fields = sorted(encoding.encode(value).items())
    structure = [(each, cell) for each, cell in fields if isinstance(cell, str) and _structural(each, cell)]
    texts = [each for each, cell in fields if isinstance(cell, str) and not _structural(each, cell)]
    if texts:
        remedy = (
            "the trials read them; return numbers to have the code traced too"
            if tried
            else "return numbers, or describe the data with --data instead of --pairs: its trials read texts"
        )
        raise TargetError(f"{name} returns texts ({', '.join(texts[:3])}), and only numbers are read here: {remedy}")
    digest = int.from_bytes(hashlib.sha256(repr(structure).encode()).digest()[:6], "big")  # a float holds it exactly
    held = [np.nan if cell == "None" else cell for _, cell in fields if cell == "None" or isinstance(cell, float)]
    return np.array([float(digest), *held])


def _plain(value: Any) -> bool:
    """Whether an output is nothing but its numbers: a series has an index beside them, a masked array its mask."""
    if isinstance(value, list | tuple):
        return all(map(_plain, value))
    beside = any(hasattr(value, each) for each in ("iloc", "columns", "filled"))
    return isinstance(value, numbers.Number) or (hasattr(value, "__array__") and not beside)


def _structural(field: str, cell: str) -> bool:
    """Whether a text of the encoding says how an output is made, and is no text in it."""
    return cell == "None" or field.endswith(("#", ".keys", ".columns", ".index", ".name", ":type"))
