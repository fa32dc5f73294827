"""The tape of a run that is too long to be kept: draws are counted and may be chosen, nothing is recorded.

A `Trace` holds every draw of a run, so it is for programs of some thousand draws. A learner with 20,000 users makes
millions. `streaming` gives its code the same generator (primitives and NumPy's methods go through it alike) over a
source that hands out plain numbers, as the program would draw them itself or as `change` chooses them.

Values may be chosen for a lower bound (see `witness`, F2 and F3): the transcript that comes out is a possible one, and
its density ratio does not depend on how it was found.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.tape.generator import TapeGenerator
from dpverify.tape.randomness import Arena
from dpverify.tape.sources import Change, Whole

Array = npt.NDArray[Any]


class Streamed:
    """A source of numbers; `drawn` variables so far. `randomness` takes the notes of what the tape cannot follow."""

    def __init__(self, change: Change | None = None) -> None:
        self.arena = Arena()
        self.drawn = 0
        self._change = change

    def variables(self, family: str, z: Any, parameters: tuple[Any, ...], dtype: Any) -> Any:
        """The values z, or those that `change` puts in their place."""
        start, self.drawn = self.drawn, self.drawn + int(np.size(z))
        if self._change is None:
            return z
        chosen = np.asarray(self._change(family, np.asarray(z, dtype=np.float64), start)).astype(dtype, copy=False)
        return chosen if np.ndim(z) else dtype(chosen)

    def atom(
        self, family: str, value: Any, law: Callable[[Any], Array] | None, key: bytes, support: Whole | None = None,
        *, given: Any = None,
    ) -> Any:  # fmt: skip
        """The value itself: what is drawn whole is never chosen."""
        return value

    @property
    def notes(self) -> tuple[str, ...]:
        """What left the tape, one line each; a witness must have none."""
        return tuple(f"{note.code} {note.text}" for note in self.arena.notes)


def streaming(rng: np.random.Generator, change: Change | None = None) -> tuple[TapeGenerator, Streamed]:
    """A generator that draws from `rng` through the tape, and its source."""
    source = Streamed(change)
    return TapeGenerator(rng, source), source
