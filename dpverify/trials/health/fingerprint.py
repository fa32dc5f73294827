"""Whether a target changes the data that it is handed: fingerprints before the first release and after every block.

Data are handed out as they are: a read-only array is refused by honest code (typed buffers, other frameworks), and an
exception that it causes would look like an outcome. So what is kept is what the data looked like.

A fingerprint is a table from places to contents or digests, not one digest: attributes that an object did not have
before (a cached property) are no change, a changed, lost or reordered element is.
"""

import hashlib
import io
import pickle
from enum import Enum
from fractions import Fraction
from typing import Any

import cloudpickle
import numpy as np
import numpy.typing as npt

from dpverify.claims.neighbours import Pair
from dpverify.errors import InvalidTrials

Place = tuple[Any, ...]
ATOMS = (bool, int, float, complex, str, bytes, type(None), Enum, Fraction, np.generic, type)
DEEPEST = 8  # levels of objects; below, an object is one pickle
KEPT = 1 << 24  # bytes of an array that are kept themselves: compared a hundred times faster than digested


def fingerprint(data: Any) -> dict[Place, Any]:
    """What `data` looks like: {place: contents or digest}; {} if it cannot change. What has no reading is left out."""
    found: dict[Place, Any] = {}
    _walk(data, (), found, set(), DEEPEST)
    return found


def changed(before: dict[Place, Any], data: Any) -> bool:
    """True where a place of `before` is gone or looks otherwise now."""
    if not before:
        return False
    now = fingerprint(data)
    return any(now.get(place, None) != digest for place, digest in before.items())


class Guard:
    """Remembers what a pair of datasets looked like; pickled without what it remembers, so a worker looks itself."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._before: tuple[dict[Place, Any], ...] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_name": self._name, "_before": None}

    def look(self, pair: Pair) -> None:
        """The first time, remembers the data."""
        if self._before is None:
            self._before = tuple(fingerprint(data) for data in pair)

    def check(self, pair: Pair) -> None:
        """InvalidTrials where a dataset has changed since the first look."""
        for before, data, which in zip(self._before or (), pair, ("first", "second"), strict=False):
            if changed(before, data):
                raise InvalidTrials(
                    "MUTATED",
                    f"{self._name}: the {which} dataset was changed by a release, so that later trials were made on "
                    "other data. Where the code must change its data, audit dpverify.copied(target): every call gets "
                    "a copy",
                )


def _walk(value: Any, place: Place, found: dict[Place, Any], open_: set[int], depth: int) -> None:
    if isinstance(value, ATOMS):
        if place:  # alone, an atom cannot change
            found[place] = ("atom", type(value), repr(value))
        return
    if id(value) in open_:
        return
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        found[place] = ("array", value.shape, value.dtype.str, _contents(value))
        return
    if isinstance(value, list | tuple | set | frozenset | dict) and type(value).__module__ == "builtins":
        if (packed := _packed(value)) is not None:
            found[place] = ("plain", packed)
            return
    state = getattr(value, "__dict__", None)
    slots = {name: getattr(value, name) for name in _slots(value) if hasattr(value, name)}
    if depth and (state or slots):
        open_.add(id(value))
        for name, part in {**(state or {}), **slots}.items():
            _walk(part, (*place, name), found, open_, depth - 1)
        open_.discard(id(value))
        if not isinstance(value, list | tuple | set | dict | np.ndarray):
            return
    if isinstance(value, list | tuple) and depth:
        found[(*place, "length")] = len(value)
        open_.add(id(value))
        for index, part in enumerate(value):
            _walk(part, (*place, index), found, open_, depth - 1)
        open_.discard(id(value))
        return
    if isinstance(value, dict) and depth:
        found[(*place, "keys")] = [repr(key) for key in value]
        open_.add(id(value))
        for key, part in value.items():
            _walk(part, (*place, repr(key)), found, open_, depth - 1)
        open_.discard(id(value))
        return
    try:
        found[place] = ("pickle", _digest(pickle.dumps(value, protocol=5)))
    except Exception:  # whatever a foreign object raises when it is pickled: it cannot be looked at
        return


def _packed(value: Any) -> bytes | None:
    """A digest of plain containers of atoms, fast; None where there is anything else in them."""
    parts = value.values() if isinstance(value, dict) else value
    keys = value.keys() if isinstance(value, dict) else ()
    for part in (*parts, *keys):
        if isinstance(part, tuple):
            if not all(isinstance(each, ATOMS) for each in part):
                return None
        elif not isinstance(part, ATOMS):
            return None
    return _digest(repr(sorted(map(repr, value)) if isinstance(value, set | frozenset) else value).encode())


def _slots(value: Any) -> list[str]:
    names: list[str] = []
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else list(slots)
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def _contents(array: npt.NDArray[Any]) -> bytes:
    if array.nbytes <= KEPT:
        return array.tobytes()
    return _digest(np.ascontiguousarray(array).view(np.uint8))


def _digest(data: Any) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


# ----------------------------------------------------------------------------------------------------------------------
# A copy of a target from before its first call: what it would do in a process that has seen no data yet.
#
# The copy is a pickle by value of what is no importable function or class (cloudpickle: closures, lambdas, attributes).
# State in a module's globals or in a class is shared by all copies and remains unseen.


LARGEST = 1 << 26  # bytes; a larger target is not copied


class _Full(Exception):
    """The target is larger than LARGEST."""


class _Limited(io.BytesIO):
    def write(self, data: Any) -> int:
        if self.tell() + memoryview(data).nbytes > LARGEST:
            raise _Full
        return super().write(data)


def pickled(target: Any) -> bytes | None:
    """The target as it is now; None where it cannot be copied, or is too large to be."""
    held = _Limited()
    try:
        cloudpickle.Pickler(held, protocol=pickle.HIGHEST_PROTOCOL).dump(target)
    except Exception:  # whatever foreign objects raise when they are pickled
        return None
    return held.getvalue()


def unpickled(pack: bytes | None) -> Any | None:
    """A target of its own, as it was; None where there is none."""
    if pack is None:
        return None
    try:
        return pickle.loads(pack)
    except Exception:
        return None
