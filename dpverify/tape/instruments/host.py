"""What an instrument may do in a run: draw, hand out, note. The same in recorded, forced, plain and real runs.

    noise   o = off + coef z with z of a family of the tape: an entry like any other draw, materialised at once
    law     a value with a known log mass: an atom of the transcript
    bound   a value of which only the library's promise is known: an atom with a bound

Proof that the log ratio of an instrumented entry is right. The instrument runs the library's own code with uniforms
that it knows, and refuses (`NOISE`) where the result is not off + coef z for the z that those uniforms make. So the
library's output has, given what came before, the law of off + coef z (`noise`), or the stated log mass (`law`), and F1
of `trace_result` holds with this entry as one factor. For `bound` the factor is not known; the library promises that it
is at most e^eps, or dominated by an event, for inputs at this distance, and F5 and F7 need no more. F2 to F4 would need
the factor itself, and `witness.places` refuses transcripts with atoms.
"""

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base.sites import INSTALLED, Site, site_text
from dpverify.tape.entropy import Entropy
from dpverify.tape.instruments.calls import Given, NoiseCall, Spend
from dpverify.tape.opaque import Opaque
from dpverify.tape.sources import Source
from dpverify.tape.transcript import Reason

Array = npt.NDArray[Any]

_HERE = __file__.rpartition("/")[0] + "/"
_TAPE = _HERE.removesuffix("instruments/")
_EDGE = _TAPE + "running.py"


class Host:
    """One run, for instruments. `played` are the bounded values of the run that a real run is compared with.

    Frames in the folders `own` are ours, and a run begins in the file `edge`.
    """

    own: tuple[str, ...] = (_TAPE,)
    edge = _EDGE

    def __init__(self, arena: Any, source: Source | None, entropy: Entropy, played: Iterator[Any] | None) -> None:
        self.arena, self._source, self._entropy, self._played = arena, source, entropy, played
        self._frames: list[FrameType] = []  # kept alive, so that no two calls into a library have one identity
        self._objects: list[Any] = []
        self.transformed: list[Any] = []  # what is no noise, and has a promise of its own (OpenDP)
        self.calls: list[NoiseCall] = arena.calls
        self.spends: list[Spend] = arena.spends

    @property
    def taped(self) -> bool:
        """Not in the run with NumPy's own generators, where an unseeded one is not known from a seeded one."""
        return self._source is not None

    @property
    def rng(self) -> np.random.Generator:
        """The generator below the tape: equal streams in the run with NumPy's own generator."""
        return self._entropy.below

    # places

    def caller(self, library: str, through: str = "") -> tuple[Site, str, int | None]:
        """(the user's line, the library's line that it led to, number of the user's call into the library).

        The library's line is the innermost one that is not in its folder `through`, and "" where the user called that
        folder himself: then the call is part of nothing, and there is no number. The user's line is the innermost one
        outside of the tape, of the library and of installed packages; where all are installed, outside of the library.
        """
        frame: FrameType | None = sys._getframe(1)
        inner, below, found, fallback = "", None, None, None
        while frame is not None and frame.f_code.co_filename != self.edge:
            file = frame.f_code.co_filename
            if file.startswith(library):
                fallback = None
                if not through or not file.startswith(library + through):
                    inner = inner or site_text((file, frame.f_lineno))
                    below = frame
            elif not file.startswith(self.own):
                fallback = fallback or (file, frame.f_lineno)
                if not file.startswith(INSTALLED) and not file.startswith("<frozen"):
                    found = (file, frame.f_lineno)
                    break
                below = frame if below is not None else None
            frame = frame.f_back
        return found or fallback or ("", 0), inner, None if below is None else self._number(below)

    def _number(self, frame: FrameType) -> int:
        for number, known in enumerate(self._frames):
            if known is frame:
                return number
        self._frames.append(frame)
        return len(self._frames) - 1

    def identity(self, thing: Any) -> int:
        """The number of an object, in the order of first use."""
        for number, known in enumerate(self._objects):
            if known is thing:
                return number
        self._objects.append(thing)
        return len(self._objects) - 1

    def note(self, code: str, site: Site, text: str) -> None:
        """The run is not traced, and this is why."""
        self.arena.notes.append(Reason(code, site_text(site), text))

    # values

    def noise(self, site: Site, family: str, z: Any, off: Any, coef: float, parameters: tuple[float, ...] = ()) -> Any:
        """off + coef z, as numbers, in the shape of off."""
        whole = np.asarray(off).dtype.kind == "i"
        if self._source is None:
            return off + (int(coef) * np.asarray(z).astype(np.int64) if whole else coef * z)
        with self._at(site):
            variables = self._source.variables(family, z, parameters, np.int64 if whole else np.float64)
            found = off + variables * (int(coef) if whole else float(coef))
            return found.numbers() if isinstance(found, Opaque) else found

    def law(self, site: Site, what: str, value: Any, log_mass: Callable[[Any], Array], given: Given) -> Any:
        """A value that was drawn with this log mass; `given` says which event dominates it."""
        if self._source is None:
            return value
        with self._at(site):
            return self._source.atom(what, value, log_mass, b"", given=given)

    def bound(self, site: Site, what: str, value: Any, given: Given) -> Any:
        """A value of an unknown law with a promise: the run's own, or that of the run that it is forced to."""
        if self._source is None:
            return next(self._played, value) if self._played is not None else value
        with self._at(site):
            return self._source.atom(what, value, None, b"", given=given)

    def _at(self, site: Site) -> "_Called":
        return _Called(self.arena, site)


class _Called:
    """Draws inside belong to this line."""

    def __init__(self, arena: Any, site: Site) -> None:
        self._arena, self._site = arena, site

    def __enter__(self) -> None:
        self._before, self._arena.called = self._arena.called, self._site

    def __exit__(self, *ignored: object) -> None:
        self._arena.called = self._before
