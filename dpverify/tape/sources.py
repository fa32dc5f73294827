"""What a tape generator hands out: opaque arrays (record, force), or plain numbers with the values of another run."""

import pickle
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dpverify.base.sites import site_text
from dpverify.tape.opaque import made
from dpverify.tape.randomness import Arena, Diverged, GUMBEL_MAXIMUM
from dpverify.tape.supports import Support
from dpverify.tape.transcript import Reason, TranscriptEntry

Array = npt.NDArray[Any]
Change = Callable[[str, Array, int], Array]  # (family, z, first place) -> chosen z, of the same shape


@dataclass(frozen=True)
class Whole:
    """An array of independent draws of one finite law: `outer` is its shape, `law` makes the support of each."""

    outer: tuple[int, ...]
    law: Callable[[], Support]


class Source(Protocol):
    """Where values of draws come from."""

    arena: Arena

    def variables(self, family: str, z: Any, parameters: tuple[Any, ...], dtype: Any) -> Any:
        """Standard variables in the shape of z."""
        ...

    def atom(
        self,
        family: str,
        value: Any,
        law: Callable[[Any], Array] | None,
        key: bytes,
        support: "Whole | None" = None,
        *,
        given: Any = None,
    ) -> Any:
        """A value that is drawn whole; `law` gives its log masses, `key` what must be equal on both datasets.

        `given` is an instrument's, see `instruments.calls.Given`.
        """
        ...


class Opaques:
    """Opaque arrays of an arena."""

    def __init__(self, arena: Arena, change: Change | None = None) -> None:
        self.arena = arena
        self._change = change
        self.composes = arena.align.composed

    def variables(self, family: str, z: Any, parameters: tuple[Any, ...], dtype: Any) -> Any:
        like = z
        if self._change is not None:
            z = self._change(family, np.asarray(z, dtype=np.float64), self.arena.size)
        place = self.arena.draw(family, np.asarray(z), parameters)
        found = made(self.arena, place, dtype, like=like)
        if site_text(self.arena.transcript.draws[-1].site) in self.arena.align.coins:
            found.numbers()
        return found

    def atom(
        self,
        family: str,
        value: Any,
        law: Callable[[Any], Array] | None,
        key: bytes,
        support: "Whole | None" = None,
        *,
        given: Any = None,
    ) -> Any:
        site = self.arena.site()
        entry: TranscriptEntry = self.arena.atom(family, value, None, key, site, given)
        if given is None:
            self.arena.tell_outcome(site, family, entry.value, support)
        if law is not None:
            entry.log_mass = np.asarray(law(entry.value), dtype=np.float64)
        return entry.value


class Plain:
    """Numbers: those that the variables have in a finished run; the program runs as it would without a tape.

    `done` is the arena of that run. A call that it did not make ends the replay (`Diverged`).
    """

    def __init__(self, done: Arena) -> None:
        self.arena = Arena()
        self._done = done
        self.composes = done.align.composed
        self._draws = iter([draw for draw in done.transcript.draws if not draw.made])
        atoms = (entry for entry in done.transcript.entries if entry.kind == "atom")
        self._atoms = iter([entry for entry in atoms if entry.families != (GUMBEL_MAXIMUM,)])

    def variables(self, family: str, z: Any, parameters: tuple[Any, ...], dtype: Any) -> Any:
        draw = next(self._draws, None)
        if draw is None or draw.family != family or draw.count != np.size(z):
            self._stop()
        assert draw is not None
        found = self._done.values(draw.start, draw.count).reshape(np.shape(z))
        if np.dtype(dtype).kind == "i" and not np.isfinite(found).all():
            self._stop()
        found = np.array(found, dtype=dtype)
        return found if found.ndim else found.item()

    def atom(
        self,
        family: str,
        value: Any,
        law: Callable[[Any], Array] | None,
        key: bytes,
        support: "Whole | None" = None,
        *,
        given: Any = None,
    ) -> Any:
        entry = next(self._atoms, None)
        if entry is None or entry.families != (family,):
            self._stop()
        assert entry is not None
        return entry.value

    def _stop(self) -> None:
        self.arena.bad = Reason("UNFAITHFUL", site_text(self.arena.site()), "the plain program draws otherwise")
        raise Diverged


def key_of(value: Any) -> bytes:
    """Arguments as bytes, for comparison bit for bit with dtype and shape."""
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind != "O":
        found = np.asarray(value)
        return b"A" + found.dtype.str.encode() + str(found.shape).encode() + found.tobytes()
    if isinstance(value, tuple | list):
        parts = [key_of(each) for each in value]
        return type(value).__name__.encode() + b"".join(struct.pack("<q", len(each)) + each for each in parts)
    if type(value) is float:
        return b"F" + struct.pack("<d", value)
    if value is None or type(value) in (bool, int, str, bytes):
        return type(value).__name__.encode() + str(value).encode()
    return b"P" + pickle.dumps(value)
