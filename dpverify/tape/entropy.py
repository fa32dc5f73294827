"""The doors to randomness that a program may open beside its `rng`: closed, led to the tape, or watched."""

import contextlib
import ctypes
import functools
import os
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpverify.base.sites import INSTALLED, site_text
from dpverify.tape.generator import TapeGenerator, TapeRandomState
from dpverify.tape.sources import Source
from dpverify.tape.standard_library import Bits, DRAWN, Material, SEEDS, TapeRandom
from dpverify.tape.transcript import Reason

_GENERATOR, _STATE, _MT19937 = np.random.Generator, np.random.RandomState, np.random.MT19937  # whatever a run leads
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
        self.material = Material()

    @functools.cached_property
    def _roots(self) -> list[np.random.Generator]:
        return self._make().spawn(2)

    @property
    def _root(self) -> np.random.Generator:
        return self._roots[0]

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
        shared = functools.partial(_legacy, lambda: self._roots[1])
        return shared() if self._source is None else TapeRandomState(shared, self._source)

    @functools.cached_property
    def standard(self) -> Bits:
        """What the functions of `random` draw from."""
        return self.standard_fresh()

    @functools.cached_property
    def system(self) -> Bits:
        """What `SystemRandom` and `secrets` draw from."""
        return self.standard_fresh()

    def standard_fresh(self) -> Bits:
        """The next unseeded `random.Random`."""
        bits = Bits(self._root.spawn(1)[0], self.material)
        return bits if self._source is None else TapeRandom(bits, self._source)

    def legacy_fresh(self) -> np.random.RandomState:
        """The next unseeded `RandomState`."""
        real = _legacy(lambda: self._root)
        return real if self._source is None else TapeRandomState(real, self._source)

    def bit_generator(self, kind: Any) -> Any:
        """The next unseeded bit generator of this kind; `generator` knows it."""
        made = kind(self._root.integers(0, 2**32, 4).tolist())
        self._bit_generators.append(made)
        return made

    def generator(self, kind: Any, bits: Any) -> Any:
        """A generator of these bits: on the tape where they have no seed that is known."""
        real = kind(bits)
        fresh = any(bits is each for each in self._bit_generators)
        if not fresh or self._source is None:
            return real
        return (TapeGenerator if kind is _GENERATOR else TapeRandomState)(real, self._source)

    @functools.cached_property
    def _bit_generators(self) -> list[Any]:
        return []

    @functools.cached_property
    def bytes(self) -> np.random.Generator:
        """What the operating system gives."""
        return self._root.spawn(1)[0]

    @property
    def shared_used(self) -> bool:
        """Whether a run on the tape has drawn from the functions of `numpy.random` or of `random`."""
        return "_real" in vars(self.legacy) or "standard" in vars(self)


def _legacy(root: Callable[[], np.random.Generator]) -> np.random.RandomState:
    return _STATE(_MT19937(root().integers(0, 2**32, 4).tolist()))


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


def _led_standard(name: str) -> Callable[..., Any]:
    """The function of `random` of this name."""

    def draw(*args: Any, **kwargs: Any) -> Any:
        return getattr(_at_work[-1].standard, name)(*args, **kwargs)

    return draw


def _led_system(name: str) -> Callable[..., Any]:
    """The method of `SystemRandom` of this name, also without an instance, as `secrets.randbits` is."""

    def draw(*args: Any, **kwargs: Any) -> Any:
        own = bool(args) and type(args[0]) is random.SystemRandom
        return getattr(_at_work[-1].system, name)(*args[own:], **kwargs)

    return draw


def _urandom(size: int, /) -> bytes:
    entropy = _at_work[-1]
    return entropy.material.add(entropy.bytes.bytes(size))


class _Led(type):
    """A class of generators whose instances are those of a run; `isinstance` is that of the class itself."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, vars(cls)["_kind"])

    def __subclasscheck__(cls, kind: Any) -> bool:
        return issubclass(kind, vars(cls)["_kind"])

    def __getattr__(cls, name: str) -> Any:
        return getattr(vars(cls)["_kind"], name)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        kind, fresh = vars(cls)["_kind"], vars(cls)["_fresh"]
        given = [*args, *kwargs.values()]
        entropy = _at_work[-1] if _at_work else None
        if entropy is not None and len(given) <= 1:
            seed = given[0] if given else None
            bits = isinstance(seed, np.random.BitGenerator)
            if bits if fresh == "generator" else seed is None or entropy.material.seeds(seed):
                return (
                    entropy.generator(kind, seed)
                    if bits
                    else getattr(entropy, fresh)(*((kind,) if fresh == "bit_generator" else ()))
                )
        return kind(*args, **kwargs)


def _class(kind: Any, fresh: str) -> Any:
    return _Led(kind.__name__, (), {"_kind": kind, "_fresh": fresh, "__doc__": kind.__doc__})


_KINDS = {
    "RandomState": _class(np.random.RandomState, "legacy_fresh"),
    "Generator": _class(np.random.Generator, "generator"),
    **{
        name: _class(getattr(np.random, name), "bit_generator")
        for name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
    },
}
_RANDOM = {name: _led_standard(name) for name in (*DRAWN, *SEEDS)}
_SYSTEM = {name: _led_system(name) for name in (*DRAWN, "_randbelow")}
_STANDARD = {**_RANDOM, "Random": _class(random.Random, "standard_fresh"), "_urandom": _urandom}


# Names in the target's own modules, as `from random import gauss` makes them, are led as well.


Names = dict[str, Any]


@functools.lru_cache(maxsize=4)
def _own(loaded: int) -> tuple[Names, ...]:
    here = __file__.rpartition("/")[0].rpartition("/")[0] + "/"
    found = [getattr(module, "__dict__", None) for module in list(sys.modules.values())]
    return tuple(
        names
        for names in found
        if names is not None
        and isinstance(file := names.get("__file__"), str)
        and not file.startswith((*INSTALLED, here))
    )


def own_modules() -> tuple[Names, ...]:
    """Globals of the modules that are neither installed nor of this package."""
    return _own(len(sys.modules))


_found: dict[Any, list[tuple[Names, str]]] = {}


@contextlib.contextmanager
def led_names(to: dict[int, tuple[Any, Any]]) -> Iterator[None]:
    """Inside, names of the target's own modules that stand for a value of {id: (value, other)} stand for the other."""
    modules = own_modules()
    key = tuple(to), len(sys.modules), sum(map(len, modules))  # looked for again when anything has a new name
    if key not in _found:
        if len(_found) > 8:
            _found.clear()
        _found[key] = [(names, name) for names in modules for name, value in list(names.items()) if id(value) in to]
    changed = []
    for names, name in _found[key]:
        value = names.get(name)
        known = to.get(id(value))
        if known is not None and known[0] is value:
            changed.append((names, name, value))
            names[name] = known[1]
    try:
        yield
    finally:
        for names, name, value in changed:
            names[name] = value


def _imported() -> dict[int, tuple[Any, Any]]:
    """Functions and classes of random numbers, and what stands for them while a run goes on."""
    import secrets

    pairs = [(vars(random).get(name), led) for name, led in _STANDARD.items()]
    pairs += [(vars(np.random)[name], led) for name, led in {**_LED, **_KINDS}.items()]
    pairs += [(os.urandom, _urandom), (secrets.randbits, _SYSTEM["getrandbits"])]
    return {id(value): (value, led) for value, led in pairs if value is not None}


_IMPORTED = _imported()


class _SharedState:
    """`_random_state` of SciPy's distributions: the shared generator is that of the run."""

    def __get__(self, instance: Any, kind: Any = None) -> Any:
        if instance is None:
            return self
        state = vars(instance)["_random_state"]
        return _at_work[-1].legacy if state is _SHARED and _at_work else state

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)["_random_state"] = _SHARED if _at_work and value is _at_work[-1].legacy else value


_SHARED = np.random.mtrand._rand


@contextlib.contextmanager
def _scipy() -> Iterator[None]:
    """SciPy's distributions keep the shared generator that they have found when they were made."""
    found = [("scipy.stats._distn_infrastructure", "rv_generic"), ("scipy.stats._multivariate", "multi_rv_generic")]
    kinds = [
        vars(module)[name]
        for home, name in found
        if (module := sys.modules.get(home)) is not None and name in vars(module)
    ]
    kinds = [kind for kind in kinds if "_random_state" not in vars(kind)]
    for kind in kinds:
        kind._random_state = _SharedState()
    try:
        yield
    finally:
        for kind in kinds:
            del kind._random_state


@contextlib.contextmanager
def _standard() -> Iterator[None]:
    """`random`, `SystemRandom`, `secrets` and `os.urandom` are those of the run."""
    import secrets

    system = random.SystemRandom
    kept = {name: vars(random)[name] for name in _STANDARD if name in vars(random)}
    methods = {name: vars(system).get(name) for name in _SYSTEM}
    before = os.urandom, secrets.randbits
    try:
        vars(random).update({name: _STANDARD[name] for name in kept})
        for name, led in _SYSTEM.items():
            setattr(system, name, led)
        os.urandom, secrets.randbits = _urandom, _SYSTEM["getrandbits"]
        yield
    finally:
        vars(random).update(kept)
        for name, method in methods.items():
            if method is None:
                delattr(system, name)
            else:
                setattr(system, name, method)
        os.urandom, secrets.randbits = before


@contextlib.contextmanager
def watched_entropy(entropy: Entropy, source: Source | None, found: list[Reason]) -> Iterator[None]:
    """`default_rng()` and `numpy.random` draw from `entropy`, through the tape if there is a `source`.

    What is seen of other doors is added to `found`; the states of `random` and `numpy.random` are put back.
    """
    names = vars(np.random)
    kept = {name: names[name] for name in (_MADE, *_NAMES, *_KINDS)}
    original = kept[_MADE]
    shared = np.random.mtrand._rand

    def note(text: str) -> None:
        site = source.arena.site() if source is not None else ("", 0)
        found.append(Reason("FOREIGN", site_text(site), text))

    def unseeded(seed: Any = None) -> Any:
        if isinstance(seed, np.random.Generator):
            return seed
        if isinstance(seed, np.random.BitGenerator):
            return entropy.generator(_GENERATOR, seed)
        if seed is not None and not entropy.material.seeds(seed):
            note("makes a generator with a seed of its own")
            return original(seed)
        return entropy.fresh()

    saved = random.getstate(), read_legacy_state(), _torch()
    _at_work.append(entropy)
    try:
        names.update(_LED)
        names.update(_KINDS)
        names[_MADE] = unseeded
        np.random.mtrand._rand = entropy.legacy  # what scikit-learn and SciPy take where no seed is given
        with _standard(), _scipy(), led_names({**_IMPORTED, id(original): (original, unseeded)}):
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
    if type(found) is not _MT19937:
        return b""
    return ctypes.string_at(found.ctypes.state_address, _SIZE)


def _written(whole: Any) -> bytes:
    parts = whole["state"]
    return bytes(np.append(parts["key"], [parts["pos"]]).astype(np.uint32).tobytes())


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, dict):
        return isinstance(second, dict) and all(_equal(first[key], second.get(key)) for key in first)
    return bool(np.array_equal(first, second))
