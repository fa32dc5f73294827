"""Adversarial programs, written from the specification alone: none is called fine."""

import math

import pytest
from tape_adversaries import Adversary, DATA, NEAR, programs, Statement, TRUE_DELTA

from dpverify.claims.claim import PureDP
from dpverify.claims.neighbours import Pair
from dpverify.tape.trace import Trace, trace

PAIR = Pair(DATA, NEAR)
LARGE = {"rounded_away"}  # private with an eps of 100,000, which may be derived


def stated(found: Trace) -> float:
    """The smallest eps for which a reader would take the trace as support (inf: none)."""
    if found.status not in ("DERIVED", "CONFORMS"):
        return math.inf
    eps, certified = found.eps(), found.certified()
    return min([value for value in (eps, certified.eps if certified else None) if value is not None], default=math.inf)


@pytest.mark.parametrize("name", programs(Adversary))
def test_an_adversary_is_never_called_fine(name: str) -> None:
    found = trace(programs(Adversary)[name], pair=PAIR, claim=PureDP(1.0), transcripts=24, timeout=600.0)
    assert stated(found) > 1.0, (found.status, found.eps(), found.certified())
    assert found.status in ("NOT_TRACED", "CONTRADICTED") or name in LARGE
    assert found.reasons or name in LARGE


@pytest.mark.parametrize("name", programs(Statement))
def test_a_leak_of_small_probability_gets_true_statements_only(name: str) -> None:
    found = trace(programs(Statement)[name], pair=PAIR, transcripts=64, timeout=600.0)
    if found.status not in ("DERIVED", "CONFORMS"):
        return
    assert found.eps() is None or math.isinf(found.eps())  # no pure eps is true
    certified = found.certified()
    assert certified is None or certified.delta_total >= TRUE_DELTA[name](certified.eps)


def test_there_are_enough_of_them() -> None:
    assert len(programs(Adversary)) + len(programs(Statement)) >= 50
