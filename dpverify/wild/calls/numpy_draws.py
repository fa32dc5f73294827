"""Whether a run draws noise from `numpy.random` itself: places of the caller, no values.

Such noise is drawn apart and added later, so that its input is not seen: the derivation from code (`dpverify trace`)
follows it.
"""

import contextlib
import functools
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpverify.tape.transcript import site_text

NOISE = ("laplace", "normal", "standard_normal", "randn", "exponential", "standard_exponential", "gumbel", "logistic",
         "geometric", "binomial", "poisson", "multivariate_normal", "standard_cauchy", "gamma")  # fmt: skip
SKIPPED = ("numpy", "scipy", "diffprivlib.mechanisms", "dpverify.wild", "dpverify.tape")


@contextlib.contextmanager
def counted() -> Iterator[list[str]]:
    """Inside, the list fills with the places of draws: of the module's functions and of new generators."""
    places: list[str] = []
    kept: dict[str, Any] = {}

    def note() -> None:
        frame = sys._getframe(2)
        if not str(frame.f_globals.get("__name__", "")).startswith(SKIPPED):
            places.append(site_text((frame.f_code.co_filename, frame.f_lineno)))

    def noted(function: Any) -> Any:
        @functools.wraps(function)
        def draw(*args: Any, **kwargs: Any) -> Any:
            note()
            return function(*args, **kwargs)

        return draw

    class Seen(np.random.Generator):
        """A generator whose noise is noticed."""

    for name in NOISE:
        if hasattr(np.random.Generator, name):
            setattr(Seen, name, noted(getattr(np.random.Generator, name)))

    def made(seed: Any = None) -> np.random.Generator:
        return seed if isinstance(seed, np.random.Generator) else Seen(kept["default_rng"](seed).bit_generator)

    try:
        for name in (*NOISE, "default_rng"):
            if hasattr(np.random, name):
                kept[name] = getattr(np.random, name)
                setattr(np.random, name, made if name == "default_rng" else noted(kept[name]))
        yield places
    finally:
        for name, function in kept.items():
            setattr(np.random, name, function)
