"""What the tape says of programs that are private and of programs that are not: never fine, where they are not."""

import math

import pytest
from tape_programs import DATA, FALL, NEAR, NotPrivate, Private, programs, TRUE_EPS

from dpverify.claims.claim import PureDP
from dpverify.claims.neighbours import Pair
from dpverify.tape.trace import Trace, trace

PAIR = Pair(DATA, NEAR)
LARGE = {"noise_cancelled_later": 1e8 + 0.1}  # what is left of the noise is 1e-8: a true eps, and a large one


def fine(found: Trace, eps: float) -> bool:
    """Whether a reader would take the trace as support for eps-DP on this pair."""
    if found.status not in ("DERIVED", "CONFORMS"):
        return False
    certified = found.certified()
    stated = found.eps()
    return certified is not None and max(certified.eps, stated if stated is not None else certified.eps) <= eps


@pytest.mark.parametrize("name", programs(Private))
def test_private_programs_are_traced_with_their_eps(name: str) -> None:
    found = trace(programs(Private)[name], pair=PAIR, claim=PureDP(1.0), transcripts=12, timeout=600.0)
    assert found.status == "DERIVED", found.reasons
    want = TRUE_EPS.get(name, 0.1)
    if want is None:
        assert found.eps() is None
        assert found.certified() is not None
    else:
        assert found.eps() == pytest.approx(want, rel=1e-9) or found.certified().eps == pytest.approx(want, rel=1e-9)
    assert all(reason for reason in found.draws)


@pytest.mark.parametrize("name", programs(NotPrivate))
def test_programs_that_are_not_private_are_never_called_fine(name: str) -> None:
    found = trace(programs(NotPrivate)[name], pair=PAIR, claim=PureDP(1.0), transcripts=24, timeout=600.0)
    assert not fine(found, 1.0), (found.status, found.eps(), found.certified())
    if name in LARGE:
        assert found.eps() == pytest.approx(LARGE[name], rel=1e-6)
        return
    assert found.status == ("CONTRADICTED" if name in FALL else "NOT_TRACED"), found.reasons
    if name not in FALL:
        assert found.reasons
        assert found.eps() is None or math.isinf(found.eps())
        assert found.certified() is None


def test_there_are_enough_of_them() -> None:
    assert len(programs(NotPrivate)) >= 70
    assert len(programs(Private)) >= 17
    assert set(programs(NotPrivate)) >= FALL
