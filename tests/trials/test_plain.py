"""Whatever a child answers, its parent can read it or says that it cannot: no answer breaks a report."""

import json
import math
from dataclasses import fields, replace

import pytest
from in_process import run_suite

from dpverify import Pair, PureDP, Subject
from dpverify.auditing.record import AuditRecord, Rung
from dpverify.execution.isolated import Answer
from dpverify.promises import check_promise, Outcomes, Promise, PromiseCheck
from dpverify.report import html_page, json_file, junit, markdown, sarif
from dpverify.suite.plan import PlanEntry
from dpverify.suite.result import Failure, from_plain, Settings, SuiteResult, to_plain
from dpverify.suite.run import outcome_of

ENTRY = PlanEntry(kind="subject", source="/f.py", local="one", name="f/one", claim="pure:1", trials=800, expected="")
ODD = (
    math.nan,
    None,
    True,
    "text",
    1,
    0.5,
    [],
    [math.nan],
    {},
    {"x": math.nan},
    [[1, math.nan]],
    [[]],
    ["x"],
    "\ud800",
)


def _release(data, *, rng, size):
    return data + rng.laplace(0.0, 1.0, size)


def _errors(rng, size):
    return Outcomes(abs(rng.laplace(0.0, 1.0, size)))


@pytest.fixture(scope="module")
def outcomes():
    subject = Subject(name="f/one", target=_release, claim=PureDP(1.0), pairs=(Pair(0, 1),), trials=800)
    record = run_suite([subject], Settings(seed=3)).records[0]
    rung = Rung(kind="noise", name="x", size=None, lower=1.0, runs=8, refuted=4, power_lower=0.1, power_upper=0.9)
    check = check_promise(Promise(name="f/one", draw=_errors, bound=9.0, failure_probability=0.1), seed=3, trials=500)
    return replace(record, ladder=(rung,)), check, Failure("f/one", "text", output=("a", "b"))


def _reports(outcome):
    result = SuiteResult(
        records=(outcome,) if isinstance(outcome, AuditRecord) else (),
        failures=(outcome,) if isinstance(outcome, Failure) else (),
        promises=(outcome,) if isinstance(outcome, PromiseCheck) else (),
        seed=3,
        family_wise_error=0.05,
        environment={},
    )
    for face in (json_file, html_page, junit, markdown, sarif):
        face.render(result).encode("utf-8")


def test_every_outcome_comes_back_from_json_as_it_was(outcomes):
    for outcome in outcomes:
        assert from_plain(json.loads(json.dumps(to_plain(outcome)))) == outcome


def test_an_answer_with_any_odd_value_is_a_record_that_all_reports_show_or_a_named_failure(outcomes):
    refused, shown = 0, []
    for outcome in outcomes:
        for field in fields(outcome):
            for odd in ODD:
                plain = to_plain(outcome)
                plain["outcome"][field.name] = odd
                found = outcome_of(ENTRY, Answer(json.loads(json.dumps(plain))))
                named = found.name if isinstance(found, PromiseCheck) else found.subject
                assert named == "f/one"
                if isinstance(found, Failure) and found.kind == "protocol":
                    refused += 1
                elif found not in shown:
                    shown.append(found)
    for each in (*shown, Failure("f/one", "text", "protocol")):
        _reports(each)
    assert refused > 300


@pytest.mark.parametrize("name", [each.name for each in fields(AuditRecord) if each.type in ("float", float)])
def test_no_number_of_an_answer_is_nan(outcomes, name):
    plain = to_plain(replace(outcomes[0], **{name: math.nan}))
    found = outcome_of(ENTRY, Answer(plain))
    assert (found.kind, name in found.error) == ("protocol", True)


def test_a_result_file_with_a_wrong_type_is_refused_in_one_line(outcomes, tmp_path):
    from dpverify.errors import UsageError

    document = {"schema": json_file.SCHEMA, "records": [{**to_plain(outcomes[0])["outcome"], "trials": "many"}]}
    document |= {"failures": [], "seed": 1, "family_wise_error": 0.05, "environment": {}, "asked": None}
    path = tmp_path / "o.json"
    path.write_text(json.dumps({**document, "interrupted": ""}))
    with pytest.raises(UsageError, match="trials is 'many': Input should be a valid integer"):
        json_file.load_results(path)
