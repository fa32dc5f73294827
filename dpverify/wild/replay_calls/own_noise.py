"""What the target draws itself, from `numpy.random`, `random` or a generator that it is handed: on the tape.

A run is recorded on one dataset and forced on the other, so that branches on released values are the same on both, and
every draw costs what its input moves by. It is an upper bound on this pair: what is released may hide it.
"""

import contextlib
import functools
import random
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpverify.base.sites import site_text
from dpverify.claims.neighbours import Pair
from dpverify.tape import outputs
from dpverify.tape.tracer import trace
from dpverify.trials.health.provenance import seed_line
from dpverify.wild.fields import is_among
from dpverify.wild.replay_calls.recorded import Cost
from dpverify.wild.worker import codec, encoding, serving

TRANSCRIPTS = 2  # of a pair, in each order
SECONDS = 20.0
__tape_primitive__ = True  # draws belong to the line that calls this file


@dataclass(frozen=True)
class OwnNoise:
    """Costs of all draws, one for each transcript, calls of libraries among them; empty, and why, where not traced."""

    costs: tuple[Cost, ...] = ()
    why: str = ""


def own_noise(
    caller: Any, data: tuple[bytes, bytes], public: tuple[str, ...], out: tuple[str, ...], seed: int
) -> OwnNoise:
    """Traces one pair."""
    if caller.call == "seed":
        return OwnNoise(why="a seed is a parameter")
    if (line := seed_line(caller.target)) is not None:
        return OwnNoise(why=f"a seed is set ({site_text(line)})")
    found = trace(
        _Taped(caller, public, out),
        pair=Pair(*data, mixed=True),
        transcripts=TRANSCRIPTS,
        seed=seed,
        stress=False,
        timeout=SECONDS,
    )
    if found.status != "DERIVED" or found.bad:
        return OwnNoise(why="; ".join(map(str, found.reasons)) or found.status)
    ledgers = found.ledgers
    if any(each is None for each in ledgers):
        return OwnNoise(why="a draw that moves has no event")
    every = [[event for event, times in each.counted for _ in range(times)] for each in ledgers if each is not None]
    return OwnNoise(tuple(Cost(tuple(events), (), ()) for events in every))


class _Taped:
    """The target as the tape runs it: fields of one release, warnings among them."""

    def __init__(self, caller: Any, public: tuple[str, ...], out: tuple[str, ...]) -> None:
        self._caller, self._public, self._out = caller, public, out
        self.name = caller.name

    def __deepcopy__(self, memo: Any) -> "_Taped":
        """The target is the one function; what it keeps between runs, the tape sees as runs that differ."""
        return self

    def release(self, data: bytes, *, rng: np.random.Generator, size: int) -> dict[str, Any]:
        """One release; no generator is seeded."""
        with warnings.catch_warnings(record=True) as heard, _led():
            warnings.simplefilter("always")
            value = outputs.settled(self._called(serving.given(codec.unpacked(data)), rng))
            encode = self._caller.encode
            fields, _ = encoding.encoded(value if encode is None else encode(value))
        shown = {
            name: value
            for name, value in fields.items()
            if not is_among(name, self._public) and (not self._out or is_among(name, self._out))
        }
        return {**shown, **{f"~{each.category.__name__}": 1.0 for each in heard}}

    def _called(self, data: tuple[str, Any], rng: np.random.Generator) -> Any:
        caller, (how, value) = self._caller, data
        target, given = caller.target, dict(caller.arguments)
        if caller.call == "target":
            return getattr(target, "release", target)(value, rng=rng, size=1, **given)[0]
        if caller.stream:
            given[caller.stream] = rng if caller.stream == "rng" else np.random.mtrand._rand
        if caller.call == "fit":
            model = target(**given)
            caller._called(model.fit, how, value, {})
            return model
        return caller._called(target, how, value, given)


# `random` draws through the functions of `numpy.random`, which the tape leads. What is not named here moves the state
# of `random`, which the tape notes.


def _numpy(name: str, *args: Any) -> Any:
    return vars(np.random)[name](*args)


_RANDOM = {
    "random": lambda: _numpy("random_sample"),
    "uniform": lambda a, b: _numpy("uniform", a, b),
    "gauss": lambda mu=0.0, sigma=1.0: _numpy("normal", mu, sigma),
    "normalvariate": lambda mu=0.0, sigma=1.0: _numpy("normal", mu, sigma),
    "expovariate": lambda lambd=1.0: _numpy("exponential", 1 / lambd),
    **{name: functools.partial(_numpy, "seed") for name in ("seed", "setstate")},  # noted
}


@contextlib.contextmanager
def _led() -> Iterator[None]:
    kept = {name: getattr(random, name) for name in _RANDOM}
    try:
        vars(random).update(_RANDOM)
        yield
    finally:
        vars(random).update(kept)
