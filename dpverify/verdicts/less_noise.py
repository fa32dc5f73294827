"""The same target with less noise: its own `with_noise(factor)`, or its code with every noise scaled on the way.

A target without that method draws from a generator of the tape (`tape.streaming`), which multiplies what normal,
Laplace, exponential, Gumbel and other continuous laws with a scale give, and leaves uniform draws and whole numbers
as they are: coins, choices, seeds. So the code is unchanged, and so are claim and ledger. It has no `log_ratio` of its
own: scores are learned. There is no such target where a call of the code draws nothing that can be scaled, draws from
other laws (discrete noise, which has no scale), or past the tape: noise that is scaled in part would mislead.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable, Self

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.base.errors import ParameterError, TargetError
from dpverify.base.seeding import derive, Stage, stream
from dpverify.claims.neighbours import Pair
from dpverify.tape.families import FAMILIES
from dpverify.tape.streaming import Streamed, streaming
from dpverify.trials.target import as_target, declaration, LoopedTarget, name_of, Target

Array = npt.NDArray[Any]

SCALED = frozenset(name for name, family in FAMILIES.items() if family.symmetric and not family.lattice)
SCALED |= {"exponential", "gumbel"}
LEFT = frozenset({"uniform", "integers"})  # what environments, samplers and seeds are made of


@runtime_checkable
class Rescalable(Protocol):
    """A target that can be had with less noise."""

    def with_noise(self, factor: float) -> Self:
        """The same target with every noise it adds multiplied by `factor`; its claim is not made again."""


@dataclass(frozen=True)
class OnceWithLessNoise:
    """A function for `loop_trials` with `factor` times the noise."""

    once: Any
    factor: float

    def __call__(self, data: Any, *, rng: np.random.Generator) -> Any:
        return self.once(data, rng=streaming(rng, partial(_scaled, self.factor))[0])

    @property
    def reproducible(self) -> bool:
        """What the function declares."""
        return declaration(self.once, "reproducible") is not False

    @property
    def __name__(self) -> str:
        return name_of(self.once)


class WithLessNoise:
    """A target with `factor` times the noise."""

    def __init__(self, target: Target, factor: float) -> None:
        self._target, self.factor, self.name = target, factor, name_of(target)
        for declared in ("trials_per_block", "reproducible"):
            if (said := declaration(target, declared)) is not None:
                setattr(self, declared, said)

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> Any:
        """The target's releases from a generator whose noise is scaled."""
        return self._target.release(data, rng=streaming(rng, partial(_scaled, self.factor))[0], size=size)


def rescalable(target: Any, pair: Pair, *, seed: int) -> bool:
    """Whether `less_noise` has an answer: the target says so itself, or a call of its code shows noise to scale."""
    if isinstance(target, Rescalable):
        return True
    seen: set[str] = set()

    def look(family: str, z: Array, start: int) -> Array:
        seen.add(family)
        return z

    sources: list[Streamed] = []
    for data, name in ((pair.first, "first"), (pair.second, "second")):
        generator, source = streaming(stream(derive(seed, f"ladder/{name}"), Stage.EXPERIMENT), look)
        try:
            as_target(target).release(data, rng=generator, size=1)
        except Exception:  # foreign code; the audit itself says what fails
            return False
        sources.append(source)
    return bool(seen & SCALED) and seen <= SCALED | LEFT and not any(source.notes for source in sources)


def score_of_less(target: Any, score: str) -> str:
    """The score for `less_noise(target, ...)` where `score` is asked: scaled on the tape it has no ratio of its own."""
    return "auto" if score in ("exact", "trace") and not isinstance(target, Rescalable) else score


def less_noise(target: Any, factor: float) -> Any:
    """The target with `factor` >= 0 times its noise; TargetError where its `with_noise` gives no target."""
    require.non_negative(factor=factor)
    if isinstance(target, Rescalable):
        try:
            less: Any = target.with_noise(factor)
        except ParameterError:
            if factor:
                raise
            less = _by_tape(target, factor)  # most laws have no scale 0
        if not hasattr(less, "release"):
            raise TargetError(f"with_noise({factor:g}) returned a {type(less).__name__}, not a target")
        return less
    return _by_tape(target, factor)


def _by_tape(target: Any, factor: float) -> Target:
    plain = as_target(target)
    if isinstance(plain, LoopedTarget):
        return LoopedTarget(OnceWithLessNoise(plain.once, factor))
    return WithLessNoise(plain, factor)


def _scaled(factor: float, family: str, z: Array, start: int) -> Array:
    return factor * z if family in SCALED else z
