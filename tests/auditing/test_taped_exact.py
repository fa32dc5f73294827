"""Laws that were enumerated, in records: what they may change, and what is not believed."""

import json
import math
import time
from dataclasses import asdict, replace

import numpy as np
import pytest
from in_process import run_suite

from dpverify import ApproxDP, certify, Pair, PureDP, Subject
from dpverify.auditing import tracing
from dpverify.auditing.statuses import Status, Verdict
from dpverify.auditing.tape_record import Taped, together
from dpverify.auditing.tracing import taped_pair
from dpverify.base.plain_values import decoded
from dpverify.ledger.events import Ledger, PureStep, Sensitivity
from dpverify.report import words
from dpverify.suite.result import from_plain, Settings, to_plain

pytestmark = pytest.mark.process

BIT = Pair(0, 1)
LN3 = math.log(3)


def response(data, *, rng, size):
    return (rng.random(size) < 0.75) == bool(data)


def one_by_one(data, *, rng, size):
    return np.array([(rng.random() < 0.75) == bool(data) for _ in range(size)])


def leaks(data, *, rng, size):
    """Says what it should hide once in 1,024 releases: ten transcripts do not see it."""
    return np.where(rng.integers(0, 1024, size) == 0, data, 0)


def geometric(data, *, rng, size):
    return data + rng.geometric(0.5, size) - rng.geometric(0.5, size)


def slow(data, *, rng, size):
    time.sleep(30 if size > 1 else 0)
    return response(data, rng=rng, size=size)


def spins(data, *, rng, size):
    return np.array([sum(rng.random(20) < 0.5) % 2 == data for _ in range(size)])  # 2^20 paths


def block(target, claim, **changes):
    return taped_pair(target, claim=claim, pair=BIT, seed=3, trials=1000, **changes)


@pytest.mark.parametrize("target", [response, one_by_one])
@pytest.mark.parametrize(
    ("claim", "status", "number"),
    [
        (PureDP(1.2), "EXACT", LN3),
        (PureDP(np.log(3)), "EXACT", LN3),  # of another type, and above the truth by less than a rounding
        (PureDP(1.098612288), "EXACT", LN3),  # a decimal for it
        (PureDP(1.0986), "CONTRADICTED", LN3),
        (ApproxDP(0.4, 0.4), "EXACT", math.log(1.4)),
        (ApproxDP(0.3, 0.4), "CONTRADICTED", math.log(1.4)),
    ],
)
def test_a_finite_law_is_the_code_s_end(target, claim, status, number):
    found = block(target, claim)
    assert (found.status, found.refutes, found.paths) == (status, status == "CONTRADICTED", 4)
    assert found.number == found.eps == pytest.approx(number, rel=1e-9)
    assert found.number * (1 - 2e-9) < found.lower < found.number
    assert decoded(Taped, json.loads(json.dumps(asdict(found)))) == found


def test_an_outcome_that_transcripts_miss_is_enumerated():
    found = block(leaks, PureDP(5.0))
    assert (found.refutes, found.lower, found.error) == (True, math.inf, 0.0)
    assert "0 against 0.000976" in found.witness


def test_what_cannot_be_enumerated_keeps_the_word_of_its_transcripts(monkeypatch):
    monkeypatch.setattr(tracing, "WALL", 5.0)
    monkeypatch.setattr(tracing, "LAW", 0.5)
    assert block(geometric, PureDP(2.0)).paths is None  # its tails are open
    for target in (slow, spins):  # the test of fit hangs; too many paths
        found = block(target, PureDP(1.0))
        assert (found.status, found.paths) == ("NOT_TRACED", None)
        assert found.reasons


def test_a_law_that_ordinary_releases_do_not_fit_is_none(monkeypatch):
    calls = []

    def alternates(data, *, rng, size):
        calls.append(size)
        return response(data if size < 100 else 1 - data, rng=rng, size=size)

    assert block(alternates, PureDP(1.2)).paths is None


def subject(target, claim, **changes):
    return Subject(name="one", target=target, claim=claim, pairs=(BIT,), trials=2000, score="histogram", **changes)


@pytest.fixture(scope="module")
def records():
    asked = {
        "true": subject(response, PureDP(1.2)),
        "false": subject(leaks, PureDP(5.0), expected="REFUTED"),
        "with a ledger": subject(
            response, PureDP(1.2), ledger=Ledger(PureStep(what="coin", eps=1.1, uses=Sensitivity(replace=1)))
        ),
    }
    return {name: run_suite([each], Settings(seed=3)).records[0] for name, each in asked.items()}


def test_an_exact_law_refutes_and_never_proves(records):
    found = {name: (record.verdict, record.status) for name, record in records.items()}
    assert found == {
        "true": (Verdict.NOT_REFUTED, Status.OPEN),  # of all neighbours it is not known that this is the worst pair
        "false": (Verdict.REFUTED, Status.REFUTED),
        "with a ledger": (Verdict.NOT_REFUTED, Status.CERTIFIED),
    }
    assert not records["false"].refuted_by_trials
    assert words.cell(records["true"]) == "1.099 exact"
    assert words.cell(records["false"]) == "inf refutes"
    assert "(4 paths, exact)" in words.beside(records["true"])
    assert "exactly, on this pair" in words.tape_sentence(records["true"].tape, "eps")
    assert "1 in" not in words.tape_sentence(records["false"].tape, "eps")
    for record in records.values():
        assert from_plain(json.loads(json.dumps(to_plain(record)))) == record


def test_pairs_of_both_kinds_are_told_together():
    law = Taped(status="EXACT", lower=0.99, eps=1.0, number=1.0, paths=4)
    runs = Taped(status="DERIVED", eps=0.5, number=0.5, loss=0.5, delta_k=0.3, transcripts=10)
    both = together([law, runs])
    assert (both.status, both.number, both.delta_k, both.transcripts, both.paths) == ("DERIVED", 1.0, 0.3, 10, None)
    alone = together([law, replace(law, number=2.0, eps=2.0, paths=6)])
    assert (alone.status, alone.number, alone.delta_k, alone.transcripts, alone.paths) == ("EXACT", 2.0, None, 0, 10)
    lost = together([law, Taped.lost("CRASH", "it died")])
    assert (lost.status, lost.number, lost.paths) == ("NOT_TRACED", None, None)


def test_a_certificate_shows_it_and_requires_no_transcript():
    found = certify(response, claim=PureDP(1.2), pairs=[BIT], trials=2000, seed=1)
    assert (found.records[0].tape.status, found.status, found.exit_code) == (
        "EXACT",
        "OPEN",
        3,
    )  # there is no ledger, so nothing is proved
    assert found.objections == ("no account: nothing proves the claim from above",)
    assert any("not enumerated" in each for each in found.not_proved)
    fallen = certify(leaks, claim=PureDP(5.0), pairs=[BIT], trials=2000, seed=1)
    assert (fallen.exit_code, fallen.records[0].trials) == (1, 0)
