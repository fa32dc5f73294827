"""Tracked allocations: arrays that the target's own modules make by `np.zeros` and the like are opaque from the start.

Noise that is written into such an array, or added to it in place, stays opaque. Only the name of NumPy in modules of
the target's own is led elsewhere, never NumPy itself: compiled code takes what `numpy.empty` returns for an array
without asking. What is made by NumPy, by installed packages and by names imported from NumPy is an ordinary array, and
noise that is written there becomes numbers.
"""

import contextlib
import functools
import sys
import sysconfig
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpverify.tape.arena import Arena
from dpverify.tape.opaque import KEPT, Opaque

_MAKERS = ("zeros", "empty", "full", "ones", "zeros_like", "empty_like", "full_like", "ones_like")
_FOREIGN = (*{sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib")}, __file__.rpartition("/")[0] + "/")


class _Led(types.ModuleType):
    """NumPy, but for its makers of arrays."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


@contextlib.contextmanager
def tracked(arena: Arena) -> Iterator[None]:
    """Inside, where the alignment says so, `np.zeros` and its kin give opaque arrays to the target's own modules."""
    if not arena.align.tracked:
        yield
        return
    places = _places()
    led = _Led("numpy")
    for name in _MAKERS:
        make = getattr(np, name)
        setattr(led, name, functools.wraps(make)(functools.partial(_made, arena, make)))
    try:
        for names, name in places:
            names[name] = led
        yield
    finally:
        for names, name in places:
            names[name] = np


def _places() -> list[tuple[dict[str, Any], str]]:
    """Globals of the target's own modules that are NumPy."""
    return [
        (names, name)
        for module in list(sys.modules.values())
        if (names := getattr(module, "__dict__", None)) is not None
        and isinstance(file := names.get("__file__"), str)
        and not file.startswith(_FOREIGN)
        for name, value in list(names.items())
        if value is np
    ]


def _made(arena: Arena, make: Any, *args: Any, **kwargs: Any) -> Any:
    found = make(*args, **kwargs)
    if type(found) is not np.ndarray or found.dtype not in KEPT or not found.ndim:
        return found
    return Opaque(arena, found, np.zeros(found.shape, dtype=found.dtype), np.full(found.shape, -1))
