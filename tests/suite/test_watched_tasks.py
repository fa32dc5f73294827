"""What travels between the watched children and the command line; and what a result that lacks something is."""

import json
import time
from dataclasses import replace

import pytest
from hypothesis import given, strategies
from in_process import run_suite

from dpverify import Pair, PureDP, Subject
from dpverify.cli import console, main
from dpverify.execution.isolated import Answer, Ended
from dpverify.report import json_file
from dpverify.suite import discovery, task
from dpverify.suite.plan import Manifest, PlanEntry
from dpverify.suite.result import Failure, from_plain, Settings, SuiteResult, to_plain
from dpverify.suite.run import outcome_of


class Counted:
    """x + Laplace(1) in blocks of 400 trials; counts the trials that it releases."""

    trials_per_block = 400
    released = 0

    def release(self, data, *, rng, size):
        type(self).released += size
        return data + rng.laplace(0.0, 1.0, size)


SUBJECT = Subject(name="f/long", target=Counted(), claim=PureDP(1.0), pairs=(Pair(0, 1),), trials=8000)
ENTRY = PlanEntry(kind="subject", source="/f.py", local="long", name="f/long", claim="pure:1", trials=8000, expected="")


@pytest.fixture(scope="module")
def result():
    return run_suite([SUBJECT, replace(SUBJECT, name="f/other")], Settings(seed=3, trials=2000))


def test_trials_are_told_on_the_way(monkeypatch):
    monkeypatch.setattr(task, "load_file", lambda file: discovery.Loaded({"long": SUBJECT}, {}))
    monkeypatch.setattr(task, "OFTEN", 0.0)
    told = []
    monkeypatch.setattr(task, "emit", told.append)
    settings = {"seed": 3, "significance": 0.05, "trials": None, "jobs": 1, "backend": "loky", "tape": False}
    task.run_entry(file="f", kind="subject", local="long", name="f/long", level=0.05, settings=settings)
    assert 0 < sum(event["trials"] for event in told) <= SUBJECT.trials


def test_outcomes_travel_as_plain_values(result):
    failure = Failure("a", "b", "exit", "", ("x",), "f.py", 3)
    for outcome in (*result.records, failure):
        assert from_plain(json.loads(json.dumps(to_plain(outcome)))) == outcome


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, "cannot be read"), ({}, "cannot be read"), ({"kind": "AuditRecord", "outcome": {}}, "cannot be read")],
)
def test_an_answer_that_is_no_outcome_is_a_failure(value, said):
    found = outcome_of(ENTRY, Answer(value))
    assert isinstance(found, Failure)
    assert said in found.error
    assert found.kind == "protocol"


def test_an_answer_about_another_subject_is_a_failure(result):
    found = outcome_of(ENTRY, Answer(to_plain(result.records[1])))
    assert isinstance(found, Failure)
    assert "'f/other'" in found.error


def test_how_a_process_ended_is_in_the_failure():
    told = ("Fatal Python error", '  File "/somewhere/else.py", line 7 in release')
    found = outcome_of(ENTRY, Ended("signal", "killed by SIGSEGV", told))
    assert (found.file, found.line, found.output) == ("/somewhere/else.py", 7, told)


@given(strategies.sets(strategies.sampled_from(["f/long", "f/other", "f/more"])), strategies.booleans())
def test_exit_0_needs_an_outcome_of_all_that_was_asked(result, names, interrupted):
    asked = tuple(sorted({"f/long", "f/other", *names}))
    found = replace(result, asked=asked, interrupted="interrupted" if interrupted else "")
    assert (found.exit_code == 0) is (asked == ("f/long", "f/other") and not interrupted)
    assert found.missing == (("f/more",) if "f/more" in asked else ())
    fewer = replace(found, records=found.records[:1])
    assert fewer.exit_code == 3
    assert "f/other" in fewer.missing


def test_what_was_asked_and_interrupted_survives_a_file(result, tmp_path):
    early = replace(result, asked=("f/long", "f/other", "f/more"), interrupted="interrupted by SIGINT")
    file = tmp_path / "r.json"
    file.write_text(json_file.render(early))
    assert json_file.load_results(file) == early
    assert main.run(["report", str(file), "-q"]) == 3 == early.exit_code


def test_nothing_asked_is_never_0():
    empty = SuiteResult(records=(), failures=(), seed=1, family_wise_error=0.05, environment={}, asked=())
    assert empty.exit_code == 3


def agenda(count):
    return Manifest(tuple(replace(ENTRY, name=f"f/{index}") for index in range(count)))


def test_a_forecast_says_what_it_rests_on():
    def forecast(seconds, known, jobs=2):
        before = {("subject", f"f/{index}"): seconds for index in range(known)}
        return console.Lines(agenda(10), {}, before, jobs).forecast()

    assert forecast(60.0, 10) == "takes about 5 min, by the times of the last run (10 of 10 known)"
    assert forecast(60.0, 10, jobs=1).startswith("takes about 10 min")
    assert forecast(60.0, 5).startswith("takes about 5 min")
    assert forecast(60.0, 5).endswith("(5 of 10 known)")
    assert forecast(60.0, 4) == ""  # fewer than half: no basis
    assert forecast(0.01, 10) == ""  # too short to be worth a word
    assert forecast(7200.0, 1, jobs=4) == ""


def test_without_a_terminal_there_is_a_line_now_and_then(capsys, monkeypatch):
    monkeypatch.setattr(console, "FIRST", 0.01)
    monkeypatch.setattr(console, "EVERY", 0.01)
    limit, said = time.monotonic() + 60, ""
    with console.progress_shown(agenda(4), Settings(seed=1), {}, quiet=False):
        while said.count("0 of 4 done") < 2 and time.monotonic() < limit:
            said += capsys.readouterr().err
    assert said.count("0 of 4 done") >= 2
