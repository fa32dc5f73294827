"""A ledger as rows of words, for people: which noise, on what, how far it moves, how often."""

from collections import Counter
from dataclasses import dataclass, fields
from typing import Any

from dpverify.base.rounding import as_fraction
from dpverify.claims.neighbours import Relation
from dpverify.ledger.compound_events import AboveThreshold
from dpverify.ledger.events import (
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Disjoint,
    Event,
    FiniteLaws,
    GaussianNoise,
    KaryResponse,
    LaplaceNoise,
    Ledger,
    OneOf,
    PureStep,
    Sensitivity,
    Shift,
)

COLUMNS = ("times", "event", "quantity", "parameters", "moves by")
Row = tuple[str, ...]
MOST_LETTERS = 70  # of one parameter
FLAGS = {"directed": "in one direction", "fresh": "fresh threshold"}


def rows(ledger: Ledger, relation: Relation) -> tuple[Row, ...]:
    """One row of `COLUMNS` for each different event, in the order of first use.

    >>> from dpverify.ledger.events import LaplaceNoise
    >>> noise = LaplaceNoise(what="count", scale=2.0, sensitivity=Sensitivity(replace=Shift(1, 2)))
    >>> rows(Ledger(noise) * 3, Relation.REPLACE_ONE)
    (('3', 'LaplaceNoise', 'count', 'scale = 2', '2 coordinates by 1'),)
    """
    counted: Counter[Row] = Counter()
    for event, times in ledger.counted:
        for row in _rows(event, relation):
            counted[row] += times
    return tuple((f"{times:,}", *row) for row, times in counted.items())


def _rows(event: Event, relation: Relation) -> list[Row]:
    if isinstance(event, OneOf):
        inner = [row[1:] for branch in event.branches for row in rows(branch, relation)]
        kind = "patterns"
        if isinstance(event, Disjoint):
            kind = "disjoint groups" + (f", {event.assigned}" if event.assigned else "")
        return [(f"{row[0]} (in one of {len(event.branches)} {kind})", *row[1:]) for row in dict.fromkeys(inner)]
    moves = "-"
    words = []
    for field in fields(event):
        value = getattr(event, field.name)
        if isinstance(value, Sensitivity):
            moves = _moves(value, relation)
        elif isinstance(event, FiniteLaws) and field.name == "pairs":
            words.append(f"{len(value)} pairs of laws on {max((len(p) for p, _ in value), default=0)} outputs")
        elif value is None or isinstance(value, bool):
            words += [FLAGS.get(field.name, field.name)] if value else []
        elif field.name not in ("what", "relation"):
            words.append(f"{field.name} = {_word(value)}")
    return [(type(event).__name__, event.what or "-", ", ".join(words) or "-", moves)]


def _moves(sensitivity: Sensitivity, relation: Relation) -> str:
    shifts = sensitivity.replace if relation is Relation.REPLACE_ONE else sensitivity.add_remove
    if shifts is None:
        return f"not stated under {relation}"
    return ", ".join(_shift(shift) for shift in shifts if shift.count) or "nothing"


def _shift(shift: Shift) -> str:
    way = f" {shift.direction.value}" if shift.direction else ""
    size = _word(shift.size)
    return f"{size}{way}" if shift.count == 1 else f"{shift.count:,} coordinates{way} by {size}"


def _word(value: Any) -> str:
    if isinstance(value, Ledger):
        return "; ".join(f"{times:,} x {type(event).__name__}" for event, times in value.counted) or "nothing"
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        return f"{len(value)} x {len(value[0])} numbers"
    word = f"{value:g}" if isinstance(value, float) else str(value)
    return word if len(word) <= MOST_LETTERS else word[: MOST_LETTERS - 3] + "..."


# ----------------------------------------------------------------------------------------------------------------------
# The events of a ledger as plain numbers, exact: from these an account that is a closed form can be computed again.
#
# Numbers are fractions in writing ("1/10" is not the float 0.1): what was charged is what stands there.


CLOSED = (
    *(LaplaceNoise, DiscreteLaplaceNoise, GaussianNoise, DiscreteGaussianNoise),
    *(KaryResponse, PureStep, AboveThreshold),
)
SIZES = ("scale", "sigma", "eps", "threshold_scale")


@dataclass(frozen=True)
class Comparisons:
    """What an `AboveThreshold` says beside the scale of its threshold."""

    query_scale: str
    value_scale: str | None
    count: int
    monotone: bool
    fresh: bool


@dataclass(frozen=True)
class Charged:
    """`times` uses of an event with one parameter, `size` (scale, sigma or eps); `shifts` lists (how far, how many)."""

    event: str
    times: int
    size: str
    shifts: tuple[tuple[str, int], ...]
    comparisons: Comparisons | None = None


def charged(ledger: Ledger, relation: Relation) -> tuple[Charged, ...] | None:
    """The ledger under this relation; None where it has an event that is more than one kind of noise on shifts."""
    found = []
    for event, times in ledger.counted:
        if not isinstance(event, CLOSED):
            return None
        values = {each.name: getattr(event, each.name) for each in fields(event)}
        moves = next(value for value in values.values() if isinstance(value, Sensitivity))
        size = as_fraction(next(values[name] for name in SIZES if name in values))
        shifts = tuple((str(as_fraction(shift.size)), int(shift.count)) for shift in moves.under(relation))
        compared = _comparisons(event) if isinstance(event, AboveThreshold) else None
        found.append(Charged(type(event).__name__, times, str(size), shifts, compared))
    return tuple(found)


def _comparisons(event: AboveThreshold) -> Comparisons:
    values = None if event.value_scale is None else str(as_fraction(event.value_scale))
    return Comparisons(str(as_fraction(event.query_scale)), values, int(event.count), event.monotone, event.fresh)
