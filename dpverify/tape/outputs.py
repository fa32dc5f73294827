"""What a run gave: opaque arrays in it become numbers, and two outputs are compared bit for bit.

-0.0 against 0.0, another dtype, another type, another exception text: all of them are different outputs.
"""

import dataclasses
import pickle
import struct
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from dpverify.base.sites import INSTALLED
from dpverify.tape.opaque import Opaque

HEAP, IMMUTABLE = 1 << 9, 1 << 8  # of a class's __flags__: made by Python code; takes no attributes
Parts = list[tuple[bytes, Any]]

ULPS = 16  # units in the last place of the largest term: how far apart outputs may be and be called rounding
CLOSE = 1e-9  # of the smallest noise: how far a plain program's number may be from the opaque one's, and
DIGITS = 64  # units in its own last place; but
LOST = 1e-4  # of the noise at most: where fewer digits of the noise are left, nothing shows that it is all there


def settled(value: Any) -> Any:
    """The value with all opaque arrays made numbers, in containers and in attributes as well."""
    if isinstance(value, Opaque):
        found = value.numbers()
        return found.copy() if isinstance(found, np.ndarray) else found
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        flat = np.empty(value.size, dtype=object)
        flat[:] = [settled(each) for each in value.ravel()]
        return flat.reshape(value.shape)
    if type(value) in (list, tuple):
        return type(value)(settled(each) for each in value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(settled(each) for each in value))
    if type(value) is dict:
        return {key: settled(each) for key, each in value.items()}
    if hasattr(value, "__dict__") and not isinstance(value, type) and not callable(value):
        for name, each in list(vars(value).items()):
            made = settled(each)
            if made is not each:
                object.__setattr__(value, name, made)
    return value


def parts(value: Any) -> Parts:
    """(everything but the numbers, numbers or None) of each part, in order; two outputs are compared by their parts.

    A foreign object is its class, its attributes (slots included, and those that it has from its class) and its pickle.
    An array is its elements, dtype and shape: not the memory that it is a view of. Raises where something may hold more
    than that shows: classes and functions made in the run, metadata, what has no pickle.
    """
    whole = type(value) is np.ndarray or isinstance(value, np.generic)  # a subclass may hold more: masks, units
    if whole:
        return _array(value)
    if type(value) is float:
        return [(b"float", np.array([value]))]
    if type(value) in (list, tuple) or (isinstance(value, tuple) and hasattr(value, "_fields")):
        inner = [part for each in value for part in parts(each)]
        return [(f"{_class(value)} {len(value)}".encode(), None), *inner]
    if type(value) is dict:
        inner = [part for key, each in value.items() for part in (*parts(key), *parts(each))]
        return [(f"dict {len(value)}".encode(), None), *inner]
    if type(value) is complex:
        return [(b"complex" + struct.pack("<dd", value.real, value.imag), None)]
    if value is None or type(value) in (bool, int, str, bytes):
        return [(type(value).__name__.encode() + pickle.dumps(value, protocol=5), None)]
    inner = [part for key, each in _attributes(value) for part in ((key.encode(), None), *parts(each))]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(_class(value).encode(), None), *inner]
    return [(_class(value).encode(), None), *inner, (pickle.dumps(value, protocol=5), None)]


def _array(value: Any) -> Parts:
    found = np.asarray(value)
    kind = type(value).__name__
    if _holds_metadata(found.dtype) or (found.dtype.kind == "V" and found.dtype.hasobject) or found.dtype.kind == "T":
        raise TypeError(f"an array of {found.dtype!r} may hold more than its numbers")
    if found.dtype.kind == "f":
        return [(f"{kind} {found.dtype.str} {found.shape}".encode(), found.ravel())]
    if found.dtype.kind == "O":
        return [(f"{kind} {found.shape}".encode(), None), *(part for each in found.ravel() for part in parts(each))]
    return [(f"{kind} {found.dtype} {found.dtype.str} {found.shape}".encode() + found.tobytes(), None)]


def _holds_metadata(dtype: Any) -> bool:
    inner = [field[0] for field in (dtype.fields or {}).values()] + ([dtype.base] if dtype.base is not dtype else [])
    return dtype.metadata is not None or any(_holds_metadata(each) for each in inner)


def _class(value: Any) -> str:
    """The full name of the value's class; TypeError for a class that the run itself has made."""
    kind = type(value)
    named: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        named = getattr(named, name, None)
    if named is not kind:
        raise TypeError(f"{kind.__qualname__} is a class that nothing names")
    if isinstance(value, type) and kind is not type:
        raise TypeError(f"{value!r} is a class")
    return f"{kind.__module__}.{kind.__qualname__}"


def _attributes(value: Any) -> list[tuple[str, Any]]:
    """What an object holds, in its __dict__ and in its slots, in order of the names."""
    if isinstance(value, type) or callable(value):
        raise TypeError(f"{value!r} is code")
    found = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            hidden = f"_{kind.__name__.lstrip('_')}{name}" if name.startswith("__") and name[-2:] != "__" else name
            if name not in ("__dict__", "__weakref__") and hasattr(value, hidden):
                found[hidden] = getattr(value, hidden)
    return [*_of_class(value), *sorted(found.items())]


def _of_class(value: Any) -> list[tuple[str, Any]]:
    """The data that an object has from its classes: a run can write there what it releases.

    Built-in classes are fixed, and those of installed libraries are taken to be.
    """
    found: dict[str, Any] = {}
    for kind in type(value).__mro__:
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        if not kind.__flags__ & HEAP or kind.__flags__ & IMMUTABLE or str(file).startswith(INSTALLED):
            continue
        for name, each in vars(kind).items():
            code = callable(each) or hasattr(type(each), "__get__") or isinstance(each, (ModuleType, kind))
            if not code and not (name.startswith("__") and name.endswith("__")) and name != "_abc_impl":
                found[f"{kind.__qualname__}.{name}"] = each
    return sorted(found.items())


def same_bits(ours: Parts, theirs: Parts) -> bool:
    """Equal in every bit, dtype, shape and type."""
    return len(ours) == len(theirs) and all(
        a == b and (x is None) == (y is None) and (x is None or x.tobytes() == y.tobytes())
        for (a, x), (b, y) in zip(ours, theirs, strict=True)
    )


def close(ours: Parts, theirs: Parts, *, noise: float) -> bool:
    """Equal but for roundings: each float by itself, within CLOSE of the smallest noise and its own last DIGITS.

    A large public number beside a noisy one says nothing about how precisely the noisy one is known. `noise` is the
    scale of the smallest noise of the run, 0 without noise; the sign of zero and NaN are compared exactly.
    """

    def tolerance(x: Any) -> Any:
        own = DIGITS * np.finfo(x.dtype).eps * np.abs(x)
        return CLOSE * noise + (np.minimum(own, LOST * noise) if noise else own)

    return _close(ours, theirs, tolerance)


def rounding(first: Parts, second: Parts, *, largest: float = 0.0, single: bool = False) -> bool:
    """Whether outputs that differ do so by at most ULPS units in the last place of the largest number.

    `largest` is that of the terms that went into them: where data and noise nearly cancel, it is larger than the
    outputs. With `single`, units of single precision.
    """
    unit = 2.0**-24 if single else 2.0**-52
    return _close(first, second, lambda x: ULPS * unit * max(largest, np.abs(x).max(initial=0.0)))


def _close(ours: Parts, theirs: Parts, tolerance: Callable[[Any], Any]) -> bool:
    def alike(x: Any, y: Any) -> bool:
        finite = np.isfinite(x)
        if not np.array_equal(finite, np.isfinite(y)) or x[~finite].tobytes() != y[~finite].tobytes():
            return False
        zeros = (x == 0) & (y == 0)
        if (np.signbit(x[zeros]) != np.signbit(y[zeros])).any():
            return False
        return bool((np.abs(x[finite] - y[finite]) <= tolerance(x[finite])).all())

    return len(ours) == len(theirs) and all(
        a == b and (x is None) == (y is None) and (x is None or alike(x, y))
        for (a, x), (b, y) in zip(ours, theirs, strict=True)
    )


def differing(first: Any, second: Any, path: str = "") -> list[str]:
    """Where two outputs differ: names of attributes, keys and places of containers, at most eight."""
    try:
        if same_bits(parts(first), parts(second)):
            return []
    except Exception:  # a foreign object that cannot be looked at differs as a whole
        return [path]
    pairs: list[tuple[str, Any, Any]] = []
    if type(first) is type(second):
        if type(first) in (list, tuple) and len(first) == len(second):
            pairs = [(f"{path}[{at}]", *both) for at, both in enumerate(zip(first, second, strict=True))]
        elif type(first) is dict and first.keys() == second.keys():
            pairs = [(f"{path}[{key!r}]", first[key], second[key]) for key in first]
        elif hasattr(first, "__dict__") and not isinstance(first, type) and not callable(first):
            ours, theirs = vars(first), vars(second)
            if ours.keys() == theirs.keys():
                pairs = [(f"{path}.{key}", ours[key], theirs[key]) for key in ours]
    found = [name for each in pairs for name in differing(each[1], each[2], each[0])]
    return (found or [path])[:8]
