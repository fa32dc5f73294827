"""Whether a run draws random numbers by itself, from `numpy.random` or `random`: places in the user's code, no values.

Such noise is drawn apart and added later, so that its input is not seen: the derivation from code (`dpverify trace`)
follows it. Draws inside of installed packages are theirs: the choices that a library leaves to chance.
"""

import contextlib
import functools
import random
import sys
import sysconfig
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpverify.tape.transcript import site_text

INSTALLED = tuple({sysconfig.get_path(name) + "/" for name in ("purelib", "platlib", "stdlib")})
OURS = __file__.rpartition("/wild/")[0] + "/"
MAKER = "default_rng"
SEEDING = (MAKER, "seed", "getstate", "setstate", "get_state", "set_state")


@contextlib.contextmanager
def counted() -> Iterator[list[str]]:
    """Inside, the list fills with the places of draws: of both modules' functions and of new generators."""
    places: list[str] = []

    def noted(function: Any) -> Any:
        @functools.wraps(function)
        def draw(*args: Any, **kwargs: Any) -> Any:
            code, line = sys._getframe(1).f_code, sys._getframe(1).f_lineno
            if not code.co_filename.startswith((*INSTALLED, OURS, "<")):
                places.append(site_text((code.co_filename, line)))
            return function(*args, **kwargs)

        return draw

    plain = ("bit_generator", "spawn")
    names = [name for name in dir(np.random.Generator) if not name.startswith("_") and name not in plain]
    drawing = {name: noted(getattr(np.random.Generator, name)) for name in names}
    seen = type("Generator", (np.random.Generator,), drawing)
    original = getattr(np.random, MAKER)

    def made(seed: Any = None) -> np.random.Generator:
        if isinstance(seed, np.random.Generator):
            return seed
        found: np.random.Generator = seen(original(seed).bit_generator)
        return found

    kept = []
    for module in (np.random, random):
        for name in dir(module):
            function = getattr(module, name)
            if isinstance(getattr(function, "__self__", None), np.random.RandomState | random.Random):
                if name not in SEEDING and not name.startswith("_"):
                    kept.append((module, name, function, noted(function)))
    kept.append((np.random, MAKER, original, made))
    try:
        for module, name, _, new in kept:
            setattr(module, name, new)
        yield places
    finally:
        for module, name, old, _ in kept:
            setattr(module, name, old)
