"""The tape in records, suites and certificates: what it may change, what it must leave alone, and how it fails."""

import json
import os
import random
import time
from dataclasses import replace

import numpy as np
import pytest
from in_process import run_suite

from dpverify import ApproxDP, GaussianDP, Pair, PureDP, Subject, ZCDP
from dpverify.auditing import tracing
from dpverify.auditing.statuses import Status, Verdict
from dpverify.auditing.tape_record import read_events, Taped, TapeReason, together, written
from dpverify.auditing.tracing import taped_pair
from dpverify.errors import ParameterError
from dpverify.ledger.events import DiscreteLaplaceNoise, GaussianNoise, LaplaceNoise, Ledger, Sensitivity
from dpverify.suite.result import from_plain, Settings, to_plain

pytestmark = pytest.mark.process

PAIR = Pair(0.0, 1.0)
CALLS = {"count": 0}


def noisy(data, *, rng, size):
    return data + rng.laplace(0.0, 1.0, size)


def half(data, *, rng, size):
    return data + rng.laplace(0.0, 0.5, size)


def counting(data, *, rng, size):
    """Leaves something behind in its module: harmless to its releases, and to be seen by nobody."""
    CALLS["count"] += size
    return data + rng.laplace(0.0, 1.0, size)


def ledger_of(scale):
    return Ledger(LaplaceNoise(what="query", scale=scale, sensitivity=Sensitivity(replace=1, add_remove=1)))


def subject(target, **changes):
    given = {"name": "one", "claim": PureDP(1.0), "pairs": (PAIR,), "trials": 2_000, "score": "histogram"}
    return Subject(target=target, **{**given, **changes})


def one(target, settings=None, **changes):
    result = run_suite([subject(target, **changes)], settings or Settings(seed=3))
    return result.records[0], result


def without_tape(record):
    plain = record.to_dict()
    return {name: plain[name] for name in plain if name not in ("seconds", "tape")}


# --- what it leaves alone


@pytest.mark.parametrize("target", [noisy, counting])
def test_trials_are_bit_equal_with_and_without_the_tape(target):
    state = random.getstate(), np.random.get_state()[1].tobytes()  # noqa: NPY002
    CALLS["count"] = 0
    traced, _ = one(target)
    used = CALLS["count"]
    CALLS["count"] = 0
    plain, _ = one(target, Settings(seed=3, tape=False))
    assert CALLS["count"] == used
    assert traced.tape is not None
    assert traced.tape.traced
    assert plain.tape is None
    assert without_tape(traced) == without_tape(plain)
    assert state == (random.getstate(), np.random.get_state()[1].tobytes())  # noqa: NPY002


def test_equal_seeds_give_equal_tapes_for_any_number_of_workers():
    subjects = [subject(noisy), subject(half, name="two")]
    first, second = (run_suite(subjects, Settings(seed=5, jobs=jobs)) for jobs in (1, 2))
    assert [record.tape for record in first.records] == [record.tape for record in second.records]
    assert len({record.tape.seed for record in first.records}) == 2


# --- how it fails


def on_tape(rng):
    return type(rng) is not np.random.Generator


def crashes(data, *, rng, size):
    if on_tape(rng):
        os.kill(os.getpid(), 11)
    return noisy(data, rng=rng, size=size)


def leaves(data, *, rng, size):
    if on_tape(rng):
        os._exit(0)
    return noisy(data, rng=rng, size=size)


def hangs(data, *, rng, size):
    if on_tape(rng):
        time.sleep(1000)
    return noisy(data, rng=rng, size=size)


def spins(data, *, rng, size):
    while on_tape(rng):
        pass
    return noisy(data, rng=rng, size=size)


def raises(data, *, rng, size):
    if on_tape(rng):
        raise KeyboardInterrupt
    return noisy(data, rng=rng, size=size)


@pytest.mark.parametrize(
    ("target", "code", "said"),
    [
        (crashes, "CRASH", "SIGSEGV"),
        (leaves, "CRASH", "exit code 0"),
        (hangs, "TIMEOUT", "no answer within 1 s"),
        (spins, "TIMEOUT", "processor time"),
        (raises, "ERROR", "KeyboardInterrupt"),
    ],
)
def test_a_trace_that_fails_is_not_traced_and_no_failure_of_the_audit(target, code, said, monkeypatch):
    monkeypatch.setattr(tracing, "WALL", 1.0 if target is hangs else 60.0)
    monkeypatch.setattr(tracing, "LEAST", 0.5)
    record, result = one(target, ledger=ledger_of(1.0))
    assert record.tape.status == "NOT_TRACED"
    assert record.tape.reasons[0].code == code
    assert said in record.tape.reasons[0].text
    assert (record.verdict, record.accounted, record.status) == (Verdict.NOT_REFUTED, True, Status.ACCOUNTED)
    assert result.exit_code == 0


def test_not_traced_is_no_answer_where_a_trace_is_required():
    for target, code in ((crashes, 3), (noisy, 0)):
        _, result = one(target, Settings(seed=3, require_tape=True))
        assert (result.exit_code, len(result.untraced)) == (code, int(code == 3))
    record, result = one(
        lambda data, *, rng, size: np.full(size, data), Settings(seed=3, require_tape=True), expected="REFUTED"
    )
    assert record.verdict is Verdict.REFUTED
    assert result.exit_code == 0
    with pytest.raises(ParameterError, match="require_tape"):
        Settings(seed=1, tape=False, require_tape=True)


# --- what it changes


def test_one_transcript_refutes_what_few_trials_cannot():
    record, result = one(half, trials=40)
    assert record.verdict is Verdict.REFUTED
    assert 1.99 < record.eps_lower <= 2.0
    assert record.eps_lower == record.number_lower == record.tape.lower
    assert record.trials == 40
    assert record.audited[1] < 1 < record.eps_lower
    assert record.trials_lower == record.audited[1]
    assert result.exit_code == 1  # nobody expected it
    assert one(half, Settings(seed=3, tape=False), trials=40)[0].verdict is not Verdict.REFUTED


def test_a_claim_with_delta_falls_by_outputs_that_differ_at_an_error_that_is_named():
    def beside(data, *, rng, size):
        return np.stack([data + rng.laplace(0.0, 1.0, size), np.full(size, data)], axis=1)

    record, _ = one(beside, claim=ApproxDP(1.0, 0.01), trials=40, expected="REFUTED")
    assert (record.tape.refutes, record.tape.error) == (True, 1e-9)
    assert record.verdict is Verdict.REFUTED
    assert record.eps_lower == np.inf


def test_a_ledger_that_the_code_contradicts_accounts_for_nothing():
    record, result = one(noisy, ledger=ledger_of(2.0))  # says 0.5, adds half of that noise; the claim of 1 is true
    assert record.tape.ledger == "CONTRADICTED"
    assert "test_taped.py" in record.tape.reasons[0].site
    assert (record.verdict, record.accounted, record.status) == (Verdict.NOT_REFUTED, None, Status.OPEN)
    assert record.ledger_contradicted
    assert not record.as_expected
    assert result.exit_code == 1
    assert one(noisy, Settings(seed=3, tape=False), ledger=ledger_of(2.0))[0].status is Status.ACCOUNTED


def test_a_contradiction_on_one_pair_is_one_of_the_subject():
    near = Pair(1.0, 1.0625)
    record, _ = one(noisy, ledger=ledger_of(2.0), pairs=(near, PAIR))
    assert record.tape.pairs == 2
    assert (record.tape.ledger, record.accounted) == ("CONTRADICTED", None)
    record, _ = one(half, trials=40, pairs=(near, PAIR))
    assert record.verdict is Verdict.REFUTED


GAUSS = Ledger(GaussianNoise(what="sum", sigma=2.0, sensitivity=Sensitivity(replace=1)))


@pytest.mark.parametrize(
    ("claim", "number"),
    [(PureDP(9.0), np.inf), (ApproxDP(5.0, 1e-3), None), (ZCDP(0.2), 0.125), (GaussianDP(0.6), 0.5)],
)
def test_the_code_s_end_is_in_the_claim_s_own_unit(claim, number):
    def gauss(data, *, rng, size):
        return data + rng.normal(0.0, 2.0, size)

    found = taped_pair(gauss, claim=claim, pair=PAIR, ledger=GAUSS, seed=1, trials=1000)
    assert found.status == "CONFORMS"
    if number is None:
        assert 0 < found.number < 5.0
        assert found.number == found.eps
    else:
        assert found.number == pytest.approx(number, rel=1e-12)
    assert (found.refutes, found.lower is not None) == (False, claim.notion == "pure")


# --- what travels


@pytest.fixture(scope="module")
def records():
    good, _ = one(noisy, ledger=ledger_of(1.0))
    fallen, _ = one(half, trials=40, expected="REFUTED")
    lost = one(crashes)[0]
    return {"good": good, "fallen": fallen, "lost": lost}


def test_records_survive_the_trip_and_strange_words_do_not(records):
    for record in records.values():
        assert from_plain(json.loads(json.dumps(to_plain(record)))) == record
    plain = json.loads(json.dumps(to_plain(records["good"])))
    for field, wrong in (("status", "FINE"), ("ledger", "yes"), ("eps", "1"), ("transcripts", 1.5), ("events", [1])):
        broken = json.loads(json.dumps(plain))
        broken["outcome"]["tape"][field] = wrong
        with pytest.raises((ValueError, TypeError, KeyError)):
            from_plain(broken)


def test_derived_ledgers_can_be_read_again():
    moves = Sensitivity(replace=1.0, add_remove=1.0)
    ledger = Ledger.of(
        (LaplaceNoise(what="code", scale=2.0, sensitivity=moves), 3),
        (GaussianNoise(what="code", sigma=1.5, sensitivity=moves), 2),
        (DiscreteLaplaceNoise(what="code", scale=1.0, sensitivity=moves), 1),
    )
    events = written(ledger)
    assert read_events(events) == ledger
    assert str(events[0]) == "LaplaceNoise(scale=2.0, sensitivity=Sensitivity(replace=Shift(1.0, 3)))"
    with pytest.raises(ValueError, match="Rumour"):
        read_events([replace(events[0], event="Rumour")])


def test_several_pairs_say_the_worst_word_and_numbers_only_where_all_have_them():
    fine = Taped(status="CONFORMS", ledger="CONFORMS", eps=1.0, number=1.0, events=(), loss=0.5, delta_k=0.3)
    less = replace(fine, eps=0.5, number=0.5, loss=0.7)
    lost = Taped(status="NOT_TRACED", reasons=(TapeReason("FOREIGN", "", "x"),))
    unlike = replace(fine, status="CONTRADICTED", ledger="CONTRADICTED")
    fallen = Taped(status="CONTRADICTED", refutes=True, lower=2.0, reasons=(TapeReason("WITNESS", "", "x"),))
    assert together([fine]) == fine
    both = together([less, fine])
    assert (both.status, both.number, both.loss, both.pairs) == ("CONFORMS", 1.0, 0.7, 2)
    for others, status, ledger in (
        ((lost,), "NOT_TRACED", ""),
        ((lost, unlike), "CONTRADICTED", "CONTRADICTED"),
        ((lost, unlike, fallen), "CONTRADICTED", "CONTRADICTED"),
    ):
        found = together([fine, *others])
        assert (found.status, found.ledger) == (status, ledger)
        assert (found.number, found.events, found.delta_k) == (None, None, None)
        assert found.refutes == (fallen in others)


def test_the_two_passes_of_a_certificate_stop_where_the_first_refutes():
    stopped = taped_pair(half, claim=PureDP(1.0), pair=PAIR, seed=1, trials=1000, transcripts=tracing.FULL)
    assert (stopped.refutes, stopped.transcripts) == (True, tracing.FIRST)
    full = taped_pair(noisy, claim=PureDP(1.0), pair=PAIR, seed=1, trials=1000, transcripts=tracing.FULL)
    assert full.transcripts == tracing.FULL
