"""What came into being in a run, in order: the transcript, and how likely each entry was.

    value      o = off + coef * z was needed for the first time: o is in the transcript
    comparison Laplace noise was compared with Laplace noise (`comparisons`): the outcome is in the transcript
    decision   a uniform was compared with a threshold: the outcome is in the transcript
    position   the value of a uniform that had been compared: its relative place in what is left of the interval
    atom       a draw without shift or scale (choice, permutation, bytes): the whole value

A run on the other dataset is forced to the same entries. The log ratio of a transcript is the sum of those of its
entries, see F1 in `trace_result`.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base.sites import Site

Array = npt.NDArray[Any]
SEEDED = "SEEDED"  # code of a reason: the noise is that of a seed which stands in the source


@dataclass(frozen=True)
class Reason:
    """Why something is so: a code, the place in the target's own files ("x.py:114", or ""), a text."""

    code: str
    site: str
    text: str

    def __str__(self) -> str:
        return f"{self.code}{' at ' + self.site if self.site else ''}: {self.text}"


@dataclass
class Draw:
    """One call of a sampler: `count` standard variables of `family`, the first at place `start` of the arena."""

    family: str
    start: int
    count: int
    parameters: tuple[Array, ...]  # each a scalar array or of shape (count,)
    site: Site
    rows: int = 0  # length of the leading axis; 0 for a scalar
    made: bool = False  # of other draws, see `composition`


@dataclass
class TranscriptEntry:
    """One materialisation. `place` are the elements in the arena (empty for atoms), `forced` what the transcript has.

    value: forced = o;  comparison: forced = whether a query (place, off, coef) is above `against`;
    decision: forced = outcomes, log_mass = theirs;  position: forced = relative places;
    atom: value = what was drawn, log_mass its log masses, or None with `key`, the arguments, where no law is known, or
    with `given`, what an instrument knows of it.
    """

    kind: str
    families: tuple[str, ...]  # distinct, in the order of first use
    codes: Array  # family of each element, an index into `families`
    place: Array
    forced: Array
    site: Site
    off: Array
    coef: Array
    z: Array
    log_mass: Array | None = None
    value: Any = None
    key: bytes = b""
    given: Any = None  # of an instrument: what the value was drawn from, see `instruments.calls.Given`
    against: tuple[Array, Array, Array] | None = None  # of a comparison: place, off and coef of its thresholds

    @property
    def count(self) -> int:
        """Elements."""
        return len(self.forced)


@dataclass
class Transcript:
    """The entries of a run and the draws that they came from.

    `uses` are later uses of known variables by the program, `limits` the numbers that it compares noise with, and the
    offset and the factor of that noise.
    """

    entries: list[TranscriptEntry] = field(default_factory=list)
    draws: list[Draw] = field(default_factory=list)
    uses: list[tuple[Site, Array]] = field(default_factory=list)
    limits: list[tuple[Array, Array, Array]] = field(default_factory=list)


def same_kind(entry: TranscriptEntry, other: TranscriptEntry) -> bool:
    """Whether both are the same step: kind, number and families, elementwise."""
    return (
        entry.kind == other.kind
        and entry.count == other.count
        and entry.families == other.families
        and np.array_equal(entry.codes, other.codes)
    )
