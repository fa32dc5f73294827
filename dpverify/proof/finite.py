"""Programs with finitely many datasets and finite draws: every pair of neighbours, by enumeration of their laws.

The laws are those of the tape's enumeration (`tape.enumeration`): intervals of probability for every outcome on every
dataset that the schema allows. A claim holds for all neighbours iff it does for each ordered pair.
"""

import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dpverify.claims.neighbours import Relation
from dpverify.errors import DpverifyError
from dpverify.proof.ending import ProofEnds
from dpverify.tape.enumeration import eps_between, law_of
from dpverify.tape.finite import Enumerated, PathLimits
from dpverify.trials.target import loop_trials
from dpverify.wild import datasets
from dpverify.wild.schema import Column, Schema
from dpverify.wild.worker import codec, serving

MOST_DATASETS = 2**11
MOST_VALUES = 64  # of a column
PATHS = 2**10  # of all datasets together
SECONDS = 600.0  # the enumeration wants a limit; paths are counted, and end long before
Rows = tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class FiniteProof:
    """The largest loss over all ordered pairs of neighbours, rounded up, and the pair that has it."""

    eps: float
    eps_at_delta: float
    pair: tuple[Rows, Rows]
    pairs: int
    datasets: int


@dataclass(frozen=True)
class TooManyPaths:
    """Nothing is enumerated: all datasets together have more than `most` paths of draws."""

    most: int = PATHS


class PlainRuns(Protocol):
    """Releases on plain data: each as the number of its output; `ended` once one of them was not followed."""

    ended: bool

    def __call__(self, data: Any, *, rng: np.random.Generator) -> float:
        """One release."""


def finite_proof(
    runs: PlainRuns, schema: Schema, relation: Relation, delta: float
) -> FiniteProof | TooManyPaths | None:
    """The exact cost over all neighbours; None where datasets or draws are not finite, or the datasets too many."""
    rows = _all_rows(schema)
    if rows is None or schema.unit is not None:
        return None
    fewest, most = schema.rows
    total = sum(len(rows) ** count for count in range(fewest, most + 1)) if most <= 12 else MOST_DATASETS + 1
    if total > MOST_DATASETS:
        return None
    target = loop_trials(runs)
    until = time.monotonic() + SECONDS
    laws: dict[Rows, Enumerated] = {}
    left, waiting = PATHS, total
    for count in range(fewest, most + 1):
        for data in itertools.product(rows, repeat=count):
            try:
                given = serving.given(codec.unpacked(datasets.wire(schema, data)))
                found = law_of(target, given, PathLimits(left, until, "ideal"), 7)
            except (DpverifyError, ProofEnds):
                return None
            left -= found.paths
            waiting -= 1
            many = found.bad is not None and found.bad.code == "TOO_MANY"
            if not runs.ended and (many or (found.bad is None and found.paths * waiting > left)):
                return TooManyPaths()
            if runs.ended or found.bad is not None:
                return None
            laws[data] = found
    worst: tuple[float, float, tuple[Rows, Rows]] | None = None
    pairs = 0
    for first, second in _neighbours(laws, rows, relation, most):
        pairs += 1
        eps = eps_between(laws[first], laws[second], 0.0)
        at_delta = eps_between(laws[first], laws[second], delta) if delta else eps
        if worst is None or (eps, at_delta) > worst[:2]:
            pair = (first, second)
        else:
            pair = worst[2]
        worst = (max(eps, worst[0] if worst else 0.0), max(at_delta, worst[1] if worst else 0.0), pair)
    return None if worst is None else FiniteProof(*worst, pairs, len(laws))


def _all_rows(schema: Schema) -> list[tuple[Any, ...]] | None:
    """All rows of a finite schema; None where it is not finite."""
    columns = [_values(each) for each in schema.columns]
    if any(each is None for each in columns):
        return None
    if math.prod(len(each) for each in columns if each is not None) > MOST_DATASETS:
        return None
    return list(itertools.product(*(each for each in columns if each is not None)))


def _values(column: Column) -> list[Any] | None:
    if column.missing or column.open or column.names:
        return None
    if column.kind == "integer":
        low, high = math.ceil(column.low), math.floor(column.high)
        return list(range(low, high + 1)) if high - low < MOST_VALUES else None
    return list(column.values) if not column.numeric and column.values else None


def _neighbours(
    laws: dict[Rows, Enumerated], rows: list[tuple[Any, ...]], relation: Relation, most: int
) -> Iterator[tuple[Rows, Rows]]:
    """Every pair once; losses are those of both orders."""
    for data in laws:
        if relation is Relation.REPLACE_ONE:
            for at in range(len(data)):
                for row in rows:
                    other = (*data[:at], row, *data[at + 1 :])
                    if row != data[at] and repr(other) > repr(data):
                        yield data, other
        elif len(data) < most:
            for at in range(len(data) + 1):
                for row in rows:
                    yield data, (*data[:at], row, *data[at:])
