"""What a proof rests on: the code, its author's ledger, or its author's theorem; nobody can claim a better one."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dpverify import audit, certify, Pair, PureDP, Subject
from dpverify import check as checker
from dpverify.auditing.certificate import digest_of
from dpverify.auditing.ladder import with_twins
from dpverify.auditing.statuses import Accept, Grade, Status, weakest
from dpverify.base.seeding import derive
from dpverify.errors import ParameterError
from dpverify.ledger.events import KaryResponse, LaplaceNoise, Ledger, PureStep, Sensitivity
from dpverify.report import json_file
from dpverify.report.html_page import certificate_json, render_certificate
from dpverify.suite.result import SuiteResult

PAIR = Pair(0.0, 1.0)
MOVES = Sensitivity(replace=1.0)


def conforming(data, *, rng, size):
    return data + rng.laplace(size=size)


def enumerated(data, *, rng, size):
    return (rng.random(size) < 0.75) == (data > 0)


def unseen(data, *, rng, size):
    """True to its ledger, by a generator that the tape cannot follow."""
    return data + np.random.Generator(rng.bit_generator).laplace(size=size)


def theorem(data, *, rng, size):
    """Two noises of which only the sum is private as its author says: no draw shows the step."""
    return np.tanh(data + rng.normal(size=size) + rng.laplace(size=size))


def untraced_theorem(data, *, rng, size):
    return unseen(data, rng=rng, size=size)


LAPLACE = LaplaceNoise(scale=1.0, sensitivity=MOVES)
STEP = PureStep(eps=1.0, uses=MOVES)
GRADED = [
    (conforming, LAPLACE, Grade.CODE),
    (enumerated, KaryResponse(eps=float(np.log(3)), k=2, reports=MOVES), Grade.CODE),
    (unseen, LAPLACE, Grade.LEDGER),
    (theorem, STEP, Grade.THEOREM),
    (untraced_theorem, STEP, Grade.THEOREM),
]
CLAIM = PureDP(1.2)


@pytest.fixture(scope="module")
def made():
    found = {}
    for target, event, _ in GRADED:
        subject = Subject(name="s", target=target, claim=CLAIM, pairs=(PAIR,), ledger=Ledger(event))
        found[target.__name__] = certify(subject, claim=CLAIM, trials=4_000, seed=5)
    return found


@pytest.mark.parametrize(("target", "event", "grade"), GRADED)
def test_a_certificate_says_what_its_proof_rests_on(made, target, event, grade):
    found = made[target.__name__]
    word = "CERTIFIED" if grade is Grade.CODE else "ACCOUNTED"
    assert (found.status, found.exit_code, found.grade) == (word, 0 if grade is Grade.CODE else 3, grade)
    assert found.headline == f"{word} ({grade})"
    document = json.loads(certificate_json(found))
    assert document["grade"] == document["records"][0]["grade"] == grade
    assert f">{word} ({grade})<" in render_certificate(found).replace("&#39;", "'")
    assert checker.check(document)[0] == []


@pytest.mark.parametrize(("target", "event", "grade"), GRADED)
def test_a_better_grade_is_refused(made, target, event, grade):
    """By the checker, whichever places were changed and with a digest that is right again."""
    for other in {*Grade, None} - {grade}:
        for places in (("record",), ("certificate",), ("record", "certificate")):
            document = json.loads(certificate_json(made[target.__name__]))
            for place in places:
                (document if place == "certificate" else document["records"][0])["grade"] = other
            document["digest"] = digest_of(document)
            assert checker.check(document)[0], (other, places)


def test_the_word_and_the_exit_code_follow_what_was_seen_of_the_code(made):
    for target, _, grade in GRADED:
        good = grade is Grade.CODE
        for accept, code in ((Accept.LEDGER, 0), (Accept.CONFORMS, 0 if good else 3), (Accept.PROOF, 3)):
            found = replace(made[target.__name__], accept=accept)
            assert (found.certified, found.exit_code) == (good, code)
            assert str(found.status) == ("CERTIFIED" if good else "ACCOUNTED")
            assert bool(found.unseen) is not good
            assert found.exit_code_allowing(open_claims=True) == 0
            assert checker.check(json.loads(certificate_json(found)))[0] == []


def test_a_subject_may_ask_for_more_than_its_ledger(made):
    for target, _, grade in GRADED:
        for accept in Accept:
            record = replace(made[target.__name__].records[0], accept=str(accept))
            assert record.as_expected is (
                accept is Accept.LEDGER or (accept is Accept.CONFORMS and grade is Grade.CODE)
            )


@pytest.mark.parametrize("accept", ["PROOF", "LEDGER", "anything", None])
def test_a_subject_asks_for_a_level_that_a_suite_can_reach(accept):
    with pytest.raises(ParameterError, match="accept"):
        Subject(name="s", target=unseen, claim=CLAIM, pairs=(PAIR,), accept=accept)


def test_several_records_have_the_weakest_grade():
    assert weakest([Grade.CODE, Grade.CODE]) is Grade.CODE
    assert weakest([Grade.CODE, Grade.THEOREM, Grade.LEDGER]) is Grade.THEOREM
    assert weakest([Grade.CODE, None]) is None
    assert weakest([]) is None


@pytest.mark.parametrize(
    ("target", "missed", "status"),
    [
        (unseen, True, Status.OPEN),
        (untraced_theorem, True, Status.OPEN),
        (unseen, False, Status.ACCOUNTED),
        (conforming, True, Status.CERTIFIED),
    ],
)
def test_a_proof_that_nobody_compared_is_open_where_its_planted_bug_is_missed(made, target, missed, status):
    record = replace(made[target.__name__].records[0], subject="a/b", expected="NOT_REFUTED")
    eps = 0.1 if not missed else 3.0
    bug = audit(conforming, claim=PureDP(eps), pair=PAIR, trials=4_000, seed=1)
    twin = replace(bug, subject="a/b!bug", planted=True, expected="REFUTED")
    other = replace(record, subject="a/c")
    first, _, last = with_twins([record, twin, other])
    assert (first.status, first.missed_twins) == (status, ("bug",) if missed else ())
    assert (first.grade is None) == (status is Status.OPEN)
    assert last.status is (Status.CERTIFIED if target is conforming else Status.ACCOUNTED)
    assert with_twins([record], failed=["a/b!bug"])[0].missed_twins == ("bug",)


def test_a_suite_that_hides_a_missed_bug_is_rejected(made):
    own = [replace(made["unseen"].records[0], subject=name, seed=derive(5, f"{name}#0")) for name in ("a/b", "a/b!bug")]
    told = [replace(own[0], expected="NOT_REFUTED"), replace(own[1], planted=True, expected="REFUTED")]
    result = SuiteResult.of(told, seed=5, family_wise_error=0.05)
    assert result.records[0].status is Status.OPEN
    document = json.loads(json_file.render(result))
    assert checker.check(document)[0] == []
    document["records"][0].update(missed_twins=[], status="ACCOUNTED", grade="author's ledger")
    assert any("missed twins of a/b" in each for each in checker.check(document)[0])
