"""Any callable as a target, whatever its signature.

f(data, *, rng, size)   is a target already
f(data, *, rng)         `dpverify.loop_trials(f)`
f(data)                 `Unseeded(f)`
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpverify.errors import UsageError

# ----------------------------------------------------------------------------------------------------------------------
# One clear line for a package that is not installed.


def needed(module: str, package: str) -> ModuleType:
    """The module; UsageError that says what to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(f"needs the package {package!r}: pip install {package} ({error})") from error


UNSEEDED = "the releases come from a source that cannot be seeded: another run gives other trials"


# ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Unseeded:
    """`function(data)` with a source of randomness of its own; one call a trial, and no replay."""

    function: Callable[[Any], Any]
    notes: tuple[str, ...] = (UNSEEDED,)
    reproducible: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The function's name."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> npt.NDArray[Any]:
        """`size` calls, stacked."""
        return np.stack([np.asarray(self.function(data)) for _ in range(size)])
