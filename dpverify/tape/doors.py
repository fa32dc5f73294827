"""The doors to randomness that a program may open beside its `rng`: closed, led to the tape, or watched."""

import contextlib
import functools
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dpverify.tape import legacy_state
from dpverify.tape.generator import TapeGenerator, TapeRandomState
from dpverify.tape.sources import Source
from dpverify.tape.transcript import Reason, site_text

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

    def _legacy(self) -> np.random.RandomState:
        return np.random.RandomState(np.random.MT19937(self._root.integers(0, 2**32, 4).tolist()))


_at_work: list[Entropy] = []  # of the runs that are going on, the innermost last


def _led(name: str) -> Callable[..., Any]:
    """The function of `numpy.random` of this name, on the tape while a run goes on; who keeps it keeps NumPy's."""

    def draw(*args: Any, **kwargs: Any) -> Any:
        state = _at_work[-1].legacy if _at_work else np.random.mtrand._rand
        return getattr(state, _NEAR.get(name, name))(*args, **kwargs)

    return draw


_LED = {name: _led(name) for name in _NAMES}  # made once: runs are many and short


@contextlib.contextmanager
def watched(entropy: Entropy, source: Source | None, found: list[Reason]) -> Iterator[None]:
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

    saved = random.getstate(), legacy_state.read(), _torch()
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
        after = random.getstate(), legacy_state.read(), _torch()
        same = tuple(ours == theirs for ours, theirs in zip(saved, after, strict=True))
        for door, unchanged in zip(("random", "numpy.random", "torch"), same, strict=True):
            if not unchanged:
                found.append(Reason("FOREIGN", "", f"draws from the generator of {door}, which the tape does not see"))
        if not same[0]:
            random.setstate(saved[0])
        if not same[1]:
            legacy_state.restore(saved[1])


def _torch() -> bytes:
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "random"):
        return b""
    return bytes(torch.random.get_rng_state().numpy().tobytes())
