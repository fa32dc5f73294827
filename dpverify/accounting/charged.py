"""The events of a ledger as plain numbers, exact: from these an account that is a closed form can be computed again.

Numbers are fractions in writing ("1/10" is not the float 0.1): what was charged is what stands there.
"""

from dataclasses import dataclass, fields
from typing import Any

from dpverify.accounting.ledger import (
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    GaussianNoise,
    KaryResponse,
    LaplaceNoise,
    Ledger,
    PureStep,
    Sensitivity,
)
from dpverify.base.rounding import as_fraction
from dpverify.claims.neighbours import Relation

NOISE = (LaplaceNoise, DiscreteLaplaceNoise, GaussianNoise, DiscreteGaussianNoise, KaryResponse, PureStep)


@dataclass(frozen=True)
class Charged:
    """`times` uses of an event with one parameter, `size` (scale, sigma or eps); `shifts` lists (how far, how many)."""

    event: str
    times: int
    size: str
    shifts: tuple[tuple[str, int], ...]

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> "Charged":
        """Inverse of `asdict`, also after a trip through JSON."""
        shifts = tuple((size, count) for size, count in plain["shifts"])
        return cls(plain["event"], plain["times"], plain["size"], shifts)


def charged(ledger: Ledger, relation: Relation) -> tuple[Charged, ...] | None:
    """The ledger under this relation; None where it has an event that is more than one kind of noise on shifts."""
    found = []
    for event, times in ledger.counted:
        if not isinstance(event, NOISE):
            return None
        values = {each.name: getattr(event, each.name) for each in fields(event)}
        moves = next(value for value in values.values() if isinstance(value, Sensitivity))
        size = as_fraction(next(values[name] for name in ("scale", "sigma", "eps") if name in values))
        shifts = tuple((str(as_fraction(shift.size)), int(shift.count)) for shift in moves.under(relation))
        found.append(Charged(type(event).__name__, times, str(size), shifts))
    return tuple(found)
