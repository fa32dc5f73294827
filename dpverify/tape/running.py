"""One run of a program on the tape: its own copies, closed doors, and what it gave, an exception included."""

import contextlib
import copy
import functools
import math
import random
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpverify.base.sites import site_text
from dpverify.errors import TargetError
from dpverify.tape import instruments, outputs
from dpverify.tape.arithmetic import OpaqueNumber
from dpverify.tape.entropy import Entropy, led_names, watched_entropy
from dpverify.tape.generator import TapeGenerator
from dpverify.tape.opaque import KEPT, Opaque
from dpverify.tape.randomness import Arena, Diverged
from dpverify.tape.sources import Source
from dpverify.tape.transcript import Reason, SEEDED
from dpverify.trials.health.fingerprint import changed, fingerprint, Place
from dpverify.trials.health.provenance import seed_line


@dataclass
class Run:
    """`outcome` is ("returned", value) or ("raised", (class, text)); `bad` why there is none; `notes` what was seen."""

    arena: Arena
    outcome: Any
    parts: outputs.Parts
    bad: Reason | None
    notes: list[Reason] = field(default_factory=list)
    changed: bool = False


GENERATORS = (np.random.Generator, np.random.BitGenerator, np.random.RandomState, random.Random)


def keeps_state(target: Any, data: Any, rng: np.random.Generator) -> bool:
    """Whether a target has a generator of its own, or is another one after a release (but for what the first caches).

    Every run of a transcript has a copy of the target, so noise of its own is the same on both datasets; releases of
    one object have fresh noise. Outputs that differ prove nothing then.
    """
    memo: dict[int, Any] = {}
    target, data = copy.deepcopy(target, memo), copy.deepcopy(data, memo)
    if any(isinstance(each, GENERATORS) for each in memo.values()):
        return True
    before: dict[Place, Any] = {}
    for _ in range(2):
        before = fingerprint(target)
        with contextlib.suppress(Exception, SystemExit):  # which are what the program gives
            target.release(copy.deepcopy(data), rng=rng, size=1)
    return changed(before, target)


def run_on_tape(
    target: Any,
    data: Any,
    arena: Arena,
    source: Source | None,
    rng: np.random.Generator,
    spare: Callable[[], np.random.Generator],
    *,
    size: int = 1,
    before: dict[Place, Any] | None = None,
    played: Iterator[Any] | None = None,
    instrumented: bool = False,
) -> Run:
    """`target.release` on deep copies of target and data; without `source` the generator is `rng` itself.

    `spare` makes what generators come from that the program makes without a seed. `before` is the fingerprint of a copy
    of `data`, where it is known: copies have equal ones. With `instrumented`, libraries that have an instrument draw
    through it; `played` are values that a run without `source` takes from another one.
    """
    data, target = copy.deepcopy(data), copy.deepcopy(target)
    before = fingerprint(data) if before is None else before
    entropy = Entropy(spare, source)
    notes: list[Reason] = []
    outcome: Any = None
    seen: outputs.Parts = []
    bad = None
    returned = False
    libraries = (
        instruments.at_work(instruments.Host(arena, source, entropy, played))
        if instrumented
        else contextlib.nullcontext()
    )
    with warnings.catch_warnings(), watched_entropy(entropy, source, notes), libraries, tracked(arena):
        warnings.simplefilter("ignore")
        try:
            given = rng if source is None else TapeGenerator(rng, source)
            try:
                outcome = target.release(data, rng=given, size=size)
                returned = True
            except TargetError as error:  # of those who call the program: nothing that it gives
                bad = Reason("OUTPUT", "", str(error))
            except (Exception, SystemExit) as error:  # an exception of the program is what it gives
                outcome = (type(error).__qualname__, str(error))
            if bad is None:
                outcome = ("returned" if returned else "raised", outputs.settled(outcome))
                seen = outputs.parts(outcome)
        except Diverged:
            bad = arena.bad
        except Exception as error:  # ours: what is released cannot be looked at
            bad = Reason("OUTPUT", "", f"what is released cannot be compared ({type(error).__name__}: {error})")
    if source is not None and entropy.shared_used and (line := seed_line(target)) is not None:
        text = "the release draws from a global generator whose seed is set here, so its law is not known"
        notes.append(Reason(SEEDED, site_text(line), text))
    if bad is None:
        arena.finish()
    bad = bad or arena.bad  # a program may catch what ends a run
    return Run(arena, outcome, seen, bad, [*arena.notes, *notes], changed(before, data))


# ----------------------------------------------------------------------------------------------------------------------
# Tracked allocations: arrays that the target's own modules make by `np.zeros` and the like are opaque from the start.
#
# Noise that is written into such an array, or added to it in place, stays opaque. Only the name of NumPy in modules of
# the target's own is led elsewhere, never NumPy itself: compiled code takes what `numpy.empty` returns for an array
# without asking. What is made by NumPy, by installed packages and by names imported from NumPy is an ordinary array,
# and noise that is written there becomes numbers.


_MAKERS = ("zeros", "empty", "full", "ones", "zeros_like", "empty_like", "full_like", "ones_like")
_MATH = {"log": np.log, "log1p": np.log1p, "sqrt": np.sqrt, "fabs": np.fabs, "cos": np.cos, "sin": np.sin}


class _Led(types.ModuleType):
    """A module, but for some of its functions."""

    def __init__(self, module: Any, **functions: Any) -> None:
        super().__init__(module.__name__)
        vars(self).update(functions, _module=module)

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["_module"], name)


@contextlib.contextmanager
def tracked(arena: Arena) -> Iterator[None]:
    """Inside, where the alignment says so, `np.zeros` and its kin give opaque arrays to the target's own modules.

    Where noise is made of several draws, the functions of `math` take numbers that do not exist yet.
    """
    to: dict[int, tuple[Any, Any]] = {}
    if arena.align.tracked:
        makers = {name: getattr(np, name) for name in _MAKERS}
        made = {name: functools.wraps(make)(functools.partial(_made, arena, make)) for name, make in makers.items()}
        to[id(np)] = np, _Led(np, **made)
    if arena.align.composed:
        to |= _OPAQUE_MATH
    with led_names(to) if to else contextlib.nullcontext():
        yield


def _function(name: str, act: Any) -> Callable[..., Any]:
    plain = getattr(math, name)

    def function(*args: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], OpaqueNumber):
            return made if isinstance(made := act(args[0]), OpaqueNumber) else plain(args[0])
        return plain(*args)

    return function


def _copysign(size: Any, sign: Any) -> Any:
    """A positive number with a sign that does not exist yet is that number times the sign."""
    if isinstance(sign, OpaqueNumber) and type(size) in (int, float):
        made = np.copysign(float(size), sign)
        return made if isinstance(made, OpaqueNumber) else math.copysign(size, sign)
    return math.copysign(size, sign)


def _opaque_math() -> dict[int, tuple[Any, Any]]:
    functions = {name: _function(name, act) for name, act in _MATH.items()} | {"copysign": _copysign}
    found = {id(getattr(math, name)): (getattr(math, name), led) for name, led in functions.items()}
    return found | {id(math): (math, _Led(math, **functions))}


_OPAQUE_MATH = _opaque_math()


def _made(arena: Arena, make: Any, *args: Any, **kwargs: Any) -> Any:
    found = make(*args, **kwargs)
    if type(found) is not np.ndarray or found.dtype not in KEPT or not found.ndim:
        return found
    return Opaque(arena, found, np.zeros(found.shape, dtype=found.dtype), np.full(found.shape, -1))
