"""The state of `numpy.random`, read before and after every run on the tape.

NumPy takes 0.1 ms to write a state down, as long as many a program runs. The words of its generator (MT19937) are read
from memory instead. They leave out the one normal number that is kept for later; where they are those of a state that
was found without one, there is none now: from there, only a draw leads to one, and a draw changes the words.
"""

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

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


def read() -> State:
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
