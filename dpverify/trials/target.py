"""What can be audited: the one protocol that mechanisms, privatizers and algorithms implement.

    release(data, *, rng, size) -> array of shape (size, ...)      `size` independent releases
    log_ratio(outputs, pair) -> array of shape (size,)             optional, exact:
                                log Pr[output | pair.first] / Pr[output | pair.second], +-inf allowed

A plain function with the signature of `release` is a target too. `loop_trials` wraps a function that makes one
release a call, and its name is there to make the cost visible.

What a target must be, for a bound to mean anything. What can be checked is checked in every audit; a target that
does not keep it is INVALID, neither refuted nor cleared:
    independent   the `size` releases of a call, and of all calls, are independent draws of one law: no state that is
                  carried over, no draw shared by trials (`size=` forgotten), no serial correlation
    its own rng   all randomness comes from `rng`: equal streams give equal releases, other streams others. A target
                  that draws from the operating system says `reproducible = False`, and its records say so
    unchanging    data are read, not changed; where the code must change them, wrap it: `copied(target)`
    one form      trials on the leading axis, also for size 1; one shape, one kind of number; no masked arrays
    size-blind    what a call does, its failures included, does not depend on its size: see `outcomes`
    row by row    `log_ratio` of an output does not depend on the other outputs in the call

Optional attributes of a target: `name`, `notes`, `ledger`, `trials_per_block` (no call makes more trials),
`reproducible`.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from dpverify.claims.neighbours import Pair
from dpverify.errors import ParameterError, TargetError

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
class Failed:
    """A trial that ended without a value, under the name of how it ended; see `failure`."""

    name: str


def failure(name: str) -> Failed:
    """Make the outcome of a trial that failed, for a function that is given to `loop_trials`.

    A failure is an outcome like any other. A vectorised target returns `Outcomes(values, failures)` instead.

    Parameters
    ----------
    name : str
        Name of the failure. It must not be empty: an empty name stands for success.

    Returns
    -------
    Failed
        What the function returns in place of a release.

    Raises
    ------
    ParameterError
        For a name that is no text, or empty.

    Examples
    --------
    >>> from dpverify import failure
    >>> failure("no candidate")
    Failed(name='no candidate')
    """
    if not isinstance(name, str) or not name:
        raise ParameterError("name", name, "a non-empty name of the failure")
    return Failed(name)


@dataclass(frozen=True)
class LoopedTarget:
    """A function `once(data, *, rng)` that makes one release a call; see `loop_trials`."""

    once: Callable[..., Any]

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> Array:
        """`size` calls, stacked on the leading axis."""
        return np.stack([np.asarray(self.once(data, rng=rng)) for _ in range(size)])

    def attempts(
        self, data: Any, *, rng: np.random.Generator, size: int, named: Callable[[BaseException], str]
    ) -> list[Any]:
        """`size` calls as a list: releases, and `Failed` under the name that `named` gives an exception."""
        found: list[Any] = []
        for _ in range(size):
            try:
                found.append(self.once(data, rng=rng))
            except BaseException as error:  # foreign code; `named` raises again what is no outcome
                found.append(Failed(named(error)))
        return found

    @property
    def __name__(self) -> str:
        return getattr(self.once, "__name__", type(self.once).__name__)


def loop_trials(once: Callable[..., Any]) -> LoopedTarget:
    """Make a target from a function that makes one release a call.

    Trials are a Python loop then, which is slow. An exception, or a `failure(name)` that the function returns, is the
    outcome of its own trial alone.

    Parameters
    ----------
    once : callable
        `once(data, *, rng)` returns one release.

    Returns
    -------
    LoopedTarget
        Its releases have shape (size, ...).

    Examples
    --------
    >>> import numpy as np
    >>> from dpverify import loop_trials
    >>> def noisy_sum(data, *, rng):
    ...     return sum(data) + rng.laplace(scale=2.0)
    >>> loop_trials(noisy_sum).release([1, 2], rng=np.random.default_rng(0), size=5).shape
    (5,)
    """
    return LoopedTarget(once)


class CopiedTarget:
    """A target whose every call gets a fresh deep copy of the data; see `copied`."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.name = name_of(target)
        for declared in ("ledger", "notes", "trials_per_block", "reproducible"):
            if (said := declaration(target, declared)) is not None:
                setattr(self, declared, said)

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> Array:
        """The target's releases on a copy of `data`."""
        return self._target.release(copy.deepcopy(data), rng=rng, size=size)


class CopiedExactTarget(CopiedTarget):
    """The same, of a target that knows its likelihood ratio."""

    _target: ExactTarget

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """The target's own."""
        return self._target.log_ratio(outputs, copy.deepcopy(pair))


@dataclass(frozen=True)
class CopiedOnce:
    """A function for `loop_trials` whose every call gets a fresh deep copy of the data."""

    once: Callable[..., Any]

    def __call__(self, data: Any, *, rng: np.random.Generator) -> Any:
        return self.once(copy.deepcopy(data), rng=rng)

    @property
    def reproducible(self) -> bool:
        """What the function declares."""
        return is_reproducible(self.once)

    @property
    def __name__(self) -> str:
        return name_of(self.once)


def copied(target: Any) -> Target:
    """Make a target that gets a fresh deep copy of the data in every call, for code that changes its data in place.

    The next call does not see what one call changes, as if the data were loaded anew for each release. Trials of one
    vectorised call still share their copy: code that changes its data from trial to trial needs `loop_trials`.

    Parameters
    ----------
    target : object or callable
        A target as for `audit`.

    Returns
    -------
    Target
        Has the name, the ledger, the notes and the `log_ratio` of the target, as far as there are any.

    Examples
    --------
    >>> import numpy as np
    >>> from dpverify import copied
    >>> def pop(data, *, rng, size):
    ...     return data.pop() + rng.laplace(size=size)
    >>> data = [1, 2]
    >>> copied(pop).release(data, rng=np.random.default_rng(0), size=3).shape, data
    ((3,), [1, 2])
    """
    target = as_target(target)
    if isinstance(target, LoopedTarget):
        return LoopedTarget(CopiedOnce(target.once))
    return (CopiedExactTarget if isinstance(target, ExactTarget) else CopiedTarget)(target)


def declaration(target: Any, name: str) -> Any:
    """An attribute that a target, or the function that it wraps, declares; None where neither does."""
    for holder in (target, getattr(target, "function", None), getattr(target, "once", None)):
        if (said := getattr(holder, name, None)) is not None:
            return said
    return None


def is_reproducible(target: Any) -> bool:
    """False where the target declares operating-system randomness: `reproducible = False`."""
    return declaration(target, "reproducible") is not False


def own_block(target: Any) -> int | None:
    """The largest call that the target allows, its `trials_per_block`; TargetError where that is no count of trials."""
    own = declaration(target, "trials_per_block")
    if own is None:
        return None
    if isinstance(own, bool | np.bool_) or not isinstance(own, Integral) or own < 1:
        raise TargetError(f"{name_of(target)}: trials_per_block = {own!r}, must be a whole number, at least 1")
    return int(own)


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
