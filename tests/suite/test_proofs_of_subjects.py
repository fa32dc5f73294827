"""A subject with a schema is proved from its code as well; the proof and the trials are held against each other."""

import json
import math

import numpy as np
import pytest

from dpverify import ApproxDP, Pair, planted, PureDP, Subject, ZCDP
from dpverify import check as checker
from dpverify.auditing.statuses import Grade, Status, Verdict
from dpverify.claims.neighbours import Relation
from dpverify.errors import ParameterError
from dpverify.report import html_page, markdown
from dpverify.report.json_file import render
from dpverify.report.words import evidence_words
from dpverify.suite.result import Failure, Settings, SuiteResult
from dpverify.suite.task import run_subject
from tests.suite import proved_functions as functions

PAIR = Pair(np.array([0.0, 1.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0, 1.0]))
SCHEMA = "vector: real 0..1, rows 4..8"


def subject(target=functions.noisy_sum, claim=None, **changes):
    return Subject(name="sum", target=target, claim=claim or PureDP(1.0), pairs=(PAIR,), schema=SCHEMA, **changes)


def run(each, trials=4_000):
    return run_subject(each, Settings(trials=trials, seed=1), 0.05)


def test_a_proof_needs_no_ledger():
    record = run(subject(accept="proof"))
    assert (record.status, record.grade, record.as_expected) == (Status.CERTIFIED, Grade.PROOF, True)
    assert record.proved_number == 1.0


def test_the_same_seed_gives_the_same_proof():
    first, second = run(subject()), run(subject())
    assert first.proof == second.proof


@pytest.mark.parametrize(
    ("target", "claim", "number"),
    [
        (functions.noisy_sum, ZCDP(0.5), pytest.approx(math.exp(-1.0))),
        (functions.normal_sum, ZCDP(0.5), 0.5),
        (functions.noisy_sum, ApproxDP(1.0, 1e-5), 1.0),
    ],
)
def test_the_number_is_in_the_unit_of_the_claim(target, claim, number):
    record = run(subject(target, claim))
    assert (record.status, record.grade, record.proved_number) == (Status.CERTIFIED, Grade.PROOF, number)


def test_what_is_not_proved_is_open_and_not_as_expected():
    record = run(subject(functions.unknown_steps, accept="proof"))
    assert record.status is not Status.CERTIFIED
    assert record.proof.ended
    assert not record.as_expected


def test_a_planted_bug_is_not_proved():
    record = run(planted(subject(), "half-noise", functions.half_the_noise), trials=40_000)
    assert (record.verdict, record.as_expected) == (Verdict.REFUTED, True)
    assert not record.proof.holds
    assert record.proved_number == 2.0


def test_a_pair_that_shows_more_than_is_proved_is_a_contradiction():
    far = Pair(np.array([0.0, 1.0, 1.0, 1.0]), np.array([9.0, 1.0, 1.0, 1.0]))
    record = run(Subject(name="far", target=functions.plain_sum, claim=PureDP(1.0), pairs=(far,), schema=SCHEMA))
    assert (record.verdict, record.status, record.grade) == (Verdict.INVALID, Status.INVALID, None)
    assert "at most 1 for every pair" in record.invalid
    assert "at least" in record.invalid


def test_the_checker_computes_the_proof_again():
    records = [run(subject()), run(planted(subject(), "half-noise", functions.half_the_noise), trials=40_000)]
    text = render(SuiteResult.of(records, seed=1, family_wise_error=0.1))
    assert checker.check(json.loads(text))[0] == []
    edits = {
        ("proof", "eps"): 0.5,
        ("proof", "holds"): False,
        ("proof", "steps"): [],
        ("proof", "derivation"): {},
        ("proof", "paths"): 2,
        ("proof",): None,
        ("grade",): "code conforms",
        ("status",): "OPEN",
        ("unit",): "user",
        ("view",): "local",
    }
    for path, value in edits.items():
        document = json.loads(text)
        place = document["records"][0]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        assert checker.check(document)[0], path


@pytest.mark.parametrize(("claim", "target"), [(ZCDP(0.4), functions.normal_sum), (PureDP(0.5), functions.noisy_sum)])
@pytest.mark.parametrize("without_paths", [False, True])
def test_a_proof_of_more_than_is_claimed_proves_nothing(claim, target, without_paths):
    """Whoever writes into the file that the claim is proved is refused, with the listed paths or without them."""
    document = json.loads(render(SuiteResult.of([run(subject(target, claim))], seed=1, family_wise_error=0.05)))
    record = document["records"][0]
    assert not record["proof"]["holds"]
    record["proof"].update(holds=True, pair=None, mend="")
    record.update(status="CERTIFIED", grade="proved from the code")
    if without_paths:
        record["proof"].update(eps=0.0, rho=0.0, mu=0.0, paths=0, steps=[])
        record["proof"]["derivation"]["paths"] = []
    assert checker.check(document)[0]


def test_a_name_that_stands_twice_is_refused(tmp_path):
    file = tmp_path / "records.json"
    text = render(SuiteResult.of([run(subject())], seed=1, family_wise_error=0.05))
    file.write_text(text)
    assert checker.main([str(file)]) == 0
    file.write_text(text.replace('"family": "bonferroni"', '"family": "bonferroni", "family": "holm"', 1))
    assert checker.main([str(file)]) == 2


def test_the_faces_say_what_is_proved():
    record = run(subject())
    result = SuiteResult.of([record], seed=1, family_wise_error=0.05)
    assert "Proved from the code for all neighbours of 'vector: real 0..1, rows 4..8': eps <= 1." in evidence_words(
        record
    )
    assert "proof ≤" in html_page.render(result)
    assert "1 from the code itself" in html_page.render(result)
    assert "| proof ≤ |" in markdown.render(result)


def test_a_schema_without_neighbours_is_a_failure():
    claim = PureDP(1.0, relation=Relation.ADD_OR_REMOVE_ONE)
    pair = Pair(np.array([0.0, 1.0]), np.array([1.0]))
    wrong = Subject(
        name="sum", target=functions.noisy_sum, claim=claim, pairs=(pair,), schema="vector: real 0..1, rows 4"
    )
    assert isinstance(run(wrong), Failure)


def test_a_proof_that_is_asked_for_needs_a_schema():
    with pytest.raises(ParameterError, match="what the data look like"):
        Subject(name="sum", target=functions.noisy_sum, claim=PureDP(1.0), pairs=(PAIR,), accept="proof")
