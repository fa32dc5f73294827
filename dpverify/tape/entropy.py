"""The doors to randomness that a program may open beside its `rng`: closed, led to the tape, or watched."""

import contextlib
import ctypes
import functools
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpverify.base.sites import site_text
from dpverify.tape.generator import TapeGenerator, TapeRandomState
from dpverify.tape.sources import Source
from dpverify.tape.transcript import Reason

_MADE = "default" + "_rng"  # by its name: only base.seeding makes generators, here it is led to the tape


_NEAR = {"ranf": "random_sample", "sample": "random_sample"}
_NAMES = [
    name
    for name in dir(np.random)
    if isinstance(getattr(getattr(np.random, name), "__self__", None), np.random.RandomState)
]


class Entropy:
    """Generators for `default_rng()` and `numpy.random`, equal for equal keys: what a run without seeds would get."""

    def __init__(self, root: Callable[[], np.random.Generator], source: Source | None) -> None:
        self._make = root
        self._source = source

    @functools.cached_property
    def _root(self) -> np.random.Generator:
        return self._make()

    def fresh(self) -> np.random.Generator:
        """The next unseeded generator."""
        real = self._root.spawn(1)[0]
        return real if self._source is None else TapeGenerator(real, self._source)

    @functools.cached_property
    def below(self) -> np.random.Generator:
        """What instruments draw from: below the tape, where there is one."""
        return self._root.spawn(1)[0]

    @functools.cached_property
    def legacy(self) -> np.random.RandomState:
        """What the functions of `numpy.random` draw from. On the tape it is made at its first draw."""
        return self._legacy() if self._source is None else TapeRandomState(self._legacy, self._source)

    @property
    def shared_used(self) -> bool:
        """Whether a run on the tape has drawn from the functions of `numpy.random`."""
        return "_real" in vars(self.legacy)

    def _legacy(self) -> np.random.RandomState:
        return np.random.RandomState(np.random.MT19937(self._root.integers(0, 2**32, 4).tolist()))


_at_work: list[Entropy] = []  # of the runs that are going on, the innermost last


def is_led() -> bool:
    """Whether a run goes on whose `default_rng()` and `numpy.random` are those of an `Entropy`."""
    return bool(_at_work)


def _led(name: str) -> Callable[..., Any]:
    """The function of `numpy.random` of this name, on the tape while a run goes on; who keeps it keeps NumPy's."""

    def draw(*args: Any, **kwargs: Any) -> Any:
        state = _at_work[-1].legacy if _at_work else np.random.mtrand._rand
        return getattr(state, _NEAR.get(name, name))(*args, **kwargs)

    return draw


_LED = {name: _led(name) for name in _NAMES}  # made once: runs are many and short


@contextlib.contextmanager
def watched_entropy(entropy: Entropy, source: Source | None, found: list[Reason]) -> Iterator[None]:
    """`default_rng()` and `numpy.random` draw from `entropy`, through the tape if there is a `source`.

    What is seen of other doors is added to `found`; the states of `random` and `numpy.random` are put back.
    """
    names = vars(np.random)
    kept = {name: names[name] for name in (_MADE, *_NAMES)}
    original = kept[_MADE]
    shared = np.random.mtrand._rand

    def note(text: str) -> None:
        site = source.arena.site() if source is not None else ("", 0)
        found.append(Reason("FOREIGN", site_text(site), text))

    def unseeded(seed: Any = None) -> Any:
        if isinstance(seed, np.random.Generator):
            return seed
        if seed is not None:
            note("makes a generator with a seed of its own")
            return original(seed)
        return entropy.fresh()

    saved = random.getstate(), read_legacy_state(), _torch()
    _at_work.append(entropy)
    try:
        names.update(_LED)
        names[_MADE] = unseeded
        np.random.mtrand._rand = entropy.legacy  # what scikit-learn and SciPy take where no seed is given
        yield
    finally:
        _at_work.pop()
        names.update(kept)
        np.random.mtrand._rand = shared
        after = random.getstate(), read_legacy_state(), _torch()
        same = tuple(ours == theirs for ours, theirs in zip(saved, after, strict=True))
        for door, unchanged in zip(("random", "numpy.random", "torch"), same, strict=True):
            if not unchanged:
                found.append(Reason("FOREIGN", "", f"draws from the generator of {door}, which the tape does not see"))
        if not same[0]:
            random.setstate(saved[0])
        if not same[1]:
            restore(saved[1])


def _torch() -> bytes:
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "random"):
        return b""
    return bytes(torch.random.get_rng_state().numpy().tobytes())


# ----------------------------------------------------------------------------------------------------------------------
# The state of `numpy.random`, read before and after every run on the tape.
#
# NumPy takes 0.1 ms to write a state down, as long as many a program runs. The words of its generator (MT19937) are
# read from memory instead. They leave out the one normal number that is kept for later; where they are those of a state
# that was found without one, there is none now: from there, only a draw leads to one, and a draw changes the words.


WORDS = 624  # of MT19937: uint32 key[624]; int pos
_SIZE = 4 * (WORDS + 1)


@dataclass(frozen=True)
class State:
    """`words` of generator `made`, with nothing kept for later; else `whole`, as `numpy.random.get_state` gives it."""

    made: int
    words: bytes = b""
    whole: Any = None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, State)
            and (self.made, self.words) == (other.made, other.words)
            and _equal(self.whole, other.whole)
        )

    __hash__ = None  # type: ignore[assignment]


_plain: set[bytes] = set()  # words of states, the last one, that were found with nothing kept for later


def read_legacy_state() -> State:
    """The state now."""
    words = _words()
    made = id(_generator())
    if words and words in _plain:
        return State(made, words)
    whole = np.random.get_state(legacy=False)  # noqa: NPY002
    if words and not whole["has_gauss"] and _written(whole) == words:  # otherwise this NumPy lays it out differently
        _plain.clear()
        _plain.add(words)
        return State(made, words)
    return State(made, whole=whole)


def restore(state: State) -> None:
    """Puts a state back."""
    whole = state.whole
    _plain.clear()  # the words may now be there with a number kept
    if whole is None:
        numbers = np.frombuffer(state.words, dtype=np.uint32)
        parts = {"key": numbers[:WORDS].copy(), "pos": int(numbers[WORDS])}
        whole = {"bit_generator": "MT19937", "state": parts, "has_gauss": 0, "gauss": 0.0}
    np.random.set_state(whole)  # noqa: NPY002


def _generator() -> Any:
    return vars(np.random)["get_bit_generator"]()  # not among its stubs


def _words() -> bytes:
    """The generator's memory; b"" for another one than NumPy's own."""
    found = _generator()
    if type(found) is not np.random.MT19937:
        return b""
    return ctypes.string_at(found.ctypes.state_address, _SIZE)


def _written(whole: Any) -> bytes:
    parts = whole["state"]
    return bytes(np.append(parts["key"], [parts["pos"]]).astype(np.uint32).tobytes())


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, dict):
        return isinstance(second, dict) and all(_equal(first[key], second.get(key)) for key in first)
    return bool(np.array_equal(first, second))
