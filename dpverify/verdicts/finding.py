"""What the trials of one audit found, whichever way they were spent: the record's part that is evidence."""

from dataclasses import dataclass

from dpverify.evidence.attack import Attack
from dpverify.evidence.certify import LowerBound


@dataclass(frozen=True, eq=False)
class Finding:
    """A bound, the rule behind it, and the trials it took (`selection` of them certify nothing)."""

    bound: LowerBound
    attack: Attack
    trials: int
    selection: int
    curve: tuple[tuple[float, float], ...]
    course: tuple[tuple[int, float], ...]
    notes: tuple[str, ...] = ()
