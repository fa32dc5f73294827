"""What can be audited: the one protocol that mechanisms, privatizers and algorithms implement.

    release(data, *, rng, size) -> array of shape (size, ...)      `size` independent releases
    log_ratio(outputs, pair) -> array of shape (size,)             optional, exact:
                                log Pr[output | pair.first] / Pr[output | pair.second], +-inf allowed

All randomness comes from `rng`; trials are the leading axis, also for size 1. A plain function with the
signature of `release` is a target too. `loop_trials` wraps a function that makes one release a call, and
its name is there to make the cost visible.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from dpverify.base.errors import ParameterError
from dpverify.claims.neighbours import Pair

Array = npt.NDArray[Any]


@runtime_checkable
class Target(Protocol):
    """Anything with `release`."""

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> Array:
        """`size` independent releases on `data`, shape (size, ...)."""
        ...


@runtime_checkable
class ExactTarget(Target, Protocol):
    """A target that knows its own likelihood ratio."""

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """log Pr[output | pair.first] - log Pr[output | pair.second], shape (size,)."""
        ...


@dataclass(frozen=True)
class FunctionTarget:
    """A plain function `release(data, *, rng, size)` as a target."""

    function: Callable[..., Array]

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> Array:
        """Calls the function."""
        return self.function(data, rng=rng, size=size)

    @property
    def __name__(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)


@dataclass(frozen=True)
class LoopedTarget:
    """A function `once(data, *, rng)` that makes one release a call; see `loop_trials`."""

    once: Callable[..., Any]

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> Array:
        """`size` calls, stacked on the leading axis."""
        return np.stack([np.asarray(self.once(data, rng=rng)) for _ in range(size)])

    @property
    def __name__(self) -> str:
        return getattr(self.once, "__name__", type(self.once).__name__)


def loop_trials(once: Callable[..., Any]) -> LoopedTarget:
    """Target from a function `once(data, *, rng)` that makes one release a call: a Python loop over trials."""
    return LoopedTarget(once)


def as_target(subject: Any) -> Target:
    """The subject as a target; ParameterError when it neither has `release` nor is callable."""
    if isinstance(subject, type):
        raise ParameterError("target", subject, "an instance, not the class itself")
    if isinstance(subject, Target):
        return subject
    if callable(subject):
        return FunctionTarget(subject)
    raise ParameterError("target", subject, "an object with release(data, *, rng, size) or such a function")


def name_of(subject: Any) -> str:
    """A readable name for a target."""
    return str(getattr(subject, "name", "") or getattr(subject, "__name__", "") or type(subject).__name__)
