"""Every program of the benchmark that is proved is traced and tried at what is proved: a contradiction fails.

The pair is the one that the proof names, else the first of the schema. A run of trials refutes a true claim with
probability at most ALPHA, so all of them together, at fixed seeds, with at most 2 in 1000.
"""

import math
import zlib
from numbers import Number

import numpy as np
import pytest
from scipy import stats

from benchmarks.provable.__main__ import function_of
from benchmarks.provable.table import Row, ROWS
from dpverify import Pair, trace
from dpverify.claims.claim import Claim, PureDP, ZCDP
from dpverify.errors import UsageError
from dpverify.proof import moves, Proof, prove, proving
from dpverify.wild import datasets
from dpverify.wild.local import on_wire
from dpverify.wild.one_line import data_schema
from dpverify.wild.pairs import grid
from dpverify.wild.schema import limit_rows, MOST_PUBLIC
from dpverify.wild.worker import codec, serving

ALPHA = 1e-5
RELEASES = 1_000
RIGHT = {row.name: row for row in ROWS if row.right}


def _numbers(value) -> list[float]:
    """An output as numbers: a text is one of its own, an object its content."""
    if isinstance(value, Number):
        return [complex(value).real, complex(value).imag] if isinstance(value, complex) else [float(value)]
    if isinstance(value, np.ndarray | list | tuple):
        return [number for each in list(value) for number in _numbers(each)]
    if isinstance(value, dict):
        return [number for pair in value.items() for each in pair for number in _numbers(each)]
    if hasattr(value, "to_dict"):
        return _numbers(value.to_dict())
    if getattr(value, "__dict__", None):
        return _numbers(vars(value))
    return [float(zlib.crc32(repr(value).encode()))]


def _pair(row: Row, proof: Proof) -> Pair:
    schema = limit_rows(data_schema(row.data, most=MOST_PUBLIC))
    named = proof.pair
    if named is None or not all(schema.rows[0] <= len(each) <= schema.rows[1] for each in named):
        first = grid(schema, proof.relation, np.random.default_rng(5))[0]
        named = (first.first, first.second)
    wires = [datasets.wire(schema, tuple(tuple(each) for each in rows)) for rows in named]
    return Pair(*wires, relation=proof.relation, mixed=True)


def refuted_by(row: Row, proof: Proof) -> set[str]:
    """Which of "tape" and "trials" contradict the smallest numbers that are proved."""
    function, pair = function_of(row), _pair(row, proof)
    pure = math.isfinite(proof.eps)
    claim: Claim = PureDP(proof.eps, relation=proof.relation) if pure else ZCDP(proof.rho, relation=proof.relation)
    plain = on_wire(function, call="auto", arguments={}, name=row.name)
    seen = trace(plain, pair=pair, claim=claim, transcripts=64, seed=5)
    found = {"tape"} if seen.status == "CONTRADICTED" else set()
    outputs = [np.array([_one(function, data) for _ in range(RELEASES)]) for data in (pair.first, pair.second)]
    return found | {"trials"} if pure and _is_told_apart(*outputs, proof.eps) else found


def _one(function, data: bytes) -> float:
    form, given = serving.given(codec.unpacked(data))
    return math.fsum(_numbers(function(*given) if form == "args" else function(given)))


def _is_told_apart(first: np.ndarray, second: np.ndarray, eps: float) -> bool:
    """An event {sum >= t} or {sum <= t}, chosen on one half, whose chances differ on the other by more than e^eps."""
    half = len(first) // 2
    cuts = np.quantile(np.concatenate([first[:half], second[:half]]), [0.1, 0.3, 0.5, 0.7, 0.9])
    events = [(a, b, sign * t, sign) for a, b in ((first, second), (second, first)) for t in cuts for sign in (1, -1)]

    def counts(event, part):
        a, b, t, sign = event
        return int(np.sum(sign * a[part] >= t)), int(np.sum(sign * b[part] >= t))

    best = max(events, key=lambda each: np.subtract(*np.log(np.add(counts(each, slice(0, half)), 1))))
    chances = [
        stats.binomtest(count, len(first) - half).proportion_ci(1 - ALPHA, method="exact")
        for count in counts(best, slice(half, None))
    ]
    return bool(chances[0].low > math.exp(eps) * chances[1].high)


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_proved_is_not_refuted(name: str) -> None:
    row = RIGHT[name]
    try:
        proof = prove(function_of(row), data=row.data, relation=row.relation, claim=row.claim)
    except UsageError:
        return  # there is nothing to be proved
    if proof.holds and proof.rho > 0:
        assert refuted_by(row, proof) == set()


def test_a_rule_that_makes_moves_smaller_is_seen_by_the_rehearsal_the_tape_and_by_trials(monkeypatch) -> None:
    right, row = moves.Pairs.moves, RIGHT["clipped_mean"]
    for factor, who in ((0.5, "tape"), (0.05, "trials")):
        monkeypatch.setattr(moves.Pairs, "moves", lambda *given, by=factor: tuple(by * each for each in right(*given)))
        proof = prove(function_of(row), data=row.data, relation=row.relation, claim=row.claim)
        assert "moves by" in str(proof.ended)  # the rehearsal sees it first
        with monkeypatch.context() as patch:
            patch.setattr(proving, "rehearse", lambda *given: None)
            proof = prove(function_of(row), data=row.data, relation=row.relation, claim=row.claim)
        assert proof.holds
        assert who in refuted_by(row, proof)
