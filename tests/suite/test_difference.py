"""What `dpverify diff` calls worse; --last-failed, -x and init; which code a result is about."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from dpverify import audit, Pair, PureDP
from dpverify.auditing.statuses import Verdict
from dpverify.cli import audit_run, main
from dpverify.execution import sources
from dpverify.promises import check_promise, Outcomes, Promise
from dpverify.report import json_file
from dpverify.suite.difference import compared
from dpverify.suite.plan import Manifest, PlanEntry
from dpverify.suite.result import Failure, SuiteResult


def coin(data, *, rng, size):
    return (rng.random(size) < 0.75) == data


@pytest.fixture(scope="module")
def record():
    made = audit(coin, claim=PureDP(1.2), pair=Pair(False, True), trials=400, seed=1)
    return replace(made, subject="coin")


def result(*outcomes):
    return SuiteResult.of(outcomes, seed=1, family_wise_error=0.05)


def broken(record):
    return replace(record, verdict=Verdict.REFUTED, number_lower=2.0, eps_lower=2.0)


def test_nothing_changed(record):
    assert compared(result(record), result(replace(record, seconds=9.0))) == []


@pytest.mark.parametrize(
    ("old", "new", "worse", "said"),
    [
        (lambda r: r, broken, True, "OPEN, now REFUTED"),
        (broken, lambda r: r, False, "REFUTED, now OPEN"),
        (lambda r: replace(r, accounted=True), lambda r: r, True, "ACCOUNTED, now OPEN"),
        (lambda r: r, lambda r: replace(r, accounted=True), False, "OPEN, now ACCOUNTED"),
        (lambda r: r, lambda r: replace(r, number_lower=r.number_lower + 0.1), False, "lower bound"),
        (lambda r: r, lambda r: Failure("coin", "it crashed"), True, "now FAILED"),
        (lambda r: r, lambda r: replace(r, source_digest="other"), False, "sources"),
        (lambda r: r, lambda r: replace(r, claim="pure:3", claimed=3.0), False, "another claim"),
        (
            lambda r: replace(broken(r), planted=True, expected="REFUTED"),
            lambda r: replace(r, planted=True, expected="REFUTED"),
            True,
            "REFUTED, now OPEN",
        ),
    ],
)
def test_what_is_worse(record, old, new, worse, said):
    changes = compared(result(old(record)), result(new(record)))
    assert any(said in change.text for change in changes)
    assert any(change.worse for change in changes) is worse


def test_what_came_and_went(record):
    assert [change.worse for change in compared(result(record), result())] == [True]
    assert [change.worse for change in compared(result(), result(record))] == [False]
    assert [change.worse for change in compared(result(), result(broken(record)))] == [True]


def test_promises_that_are_no_longer_kept():
    def draw(*, rng, size):
        return Outcomes(rng.random(size))

    checks = [
        check_promise(Promise(name="p", draw=draw, bound=bound, failure_probability=0.5, trials=2_000), seed=1)
        for bound in (0.9, 0.1)
    ]
    assert [change.worse for change in compared(result(checks[0]), result(checks[1]))] == [True]
    assert not any(change.worse for change in compared(result(checks[1]), result(checks[0])))


def test_diff_on_the_command_line(record, tmp_path, capsys):
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(json_file.render(result(record)), encoding="utf-8")
    new.write_text(json_file.render(result(broken(record))), encoding="utf-8")
    assert main.run(["diff", str(old), str(new)]) == 1
    assert "WORSE coin: OPEN, now REFUTED" in capsys.readouterr().out
    assert main.run(["diff", str(new), str(old)]) == 0
    assert main.run(["diff", str(old), str(tmp_path / "none.json")]) == 2


def entry(name):
    return PlanEntry(
        kind="subject", source="f", local=name, name=name, claim="pure:1", trials=1, expected="NOT_REFUTED", pairs=2
    )


def test_last_failed_remembers_what_is_not_as_expected(record, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole = Manifest((entry("a"), entry("b"), entry("c")), ())
    audit_run.remember([Path("audits")], whole, {("subject", "a"): record, ("subject", "b"): broken(record)})
    assert audit_run.known([Path("audits")]) == {("subject", "b"), ("subject", "c")}  # c was not reached
    part = whole.only(audit_run.known([Path("audits")]))
    assert [each.name for each in part.entries] == ["b", "c"]
    assert part.statements == whole.statements == 6  # the shares of the whole: equal records
    audit_run.remember([Path("audits")], part, {("subject", "b"): record, ("subject", "c"): Failure("c", "x")})
    assert audit_run.known([Path("audits")]) == {("subject", "c")}
    assert audit_run.known([Path("other")]) == set()


AUDIT = """
from dpverify import Pair, PureDP, Subject

def raising(data, *, rng, size):
    return helper(data)

def helper(data):
    raise KeyError("no such thing")

def coin(data, *, rng, size):
    return (rng.random(size) < 0.75) == data

pairs = (Pair(False, True),)
subjects = [Subject(name="a-false", target=coin, claim=PureDP(0.2), pairs=pairs, trials=400)] + [
    Subject(name=f"true-{i}", target=coin, claim=PureDP(2.0), pairs=pairs, trials=400) for i in range(3)
]
"""


def test_a_run_that_stops_at_the_first_and_goes_on_with_what_failed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "audits").mkdir()
    (tmp_path / "audits" / "audit_x.py").write_text(AUDIT, encoding="utf-8")
    assert (
        main.run(["audit", "audits", "--jobs", "1", "--no-tape", "-x", "--json", "out.json", "--durations", "2"]) == 1
    )
    first = json_file.load_results(Path("out.json"))
    assert "(-x)" in first.interrupted
    assert first.missing
    assert "slowest" in capsys.readouterr().out
    Path("audits/audit_x.py").write_text(AUDIT.replace("PureDP(0.2)", "PureDP(2.0)"), encoding="utf-8")
    assert main.run(["audit", "audits", "--jobs", "1", "--no-tape", "--lf", "--json", "out.json"]) == 0
    again = json_file.load_results(Path("out.json"))
    assert {record.subject for record in again.records} >= set(first.missing)
    assert again.identity["dpverify"]


def test_init_runs_green_at_once_and_catches_its_bug(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main.run(["init"]) == 0
    assert main.run(["init"]) == 2  # nothing that exists is changed
    assert main.run(["audit", "audits", "--jobs", "1", "--json", "out.json"]) == 0
    found = json_file.load_results(Path("out.json"))
    assert [(record.planted, str(record.status)) for record in found.records] == [
        (False, "CERTIFIED"),
        (True, "REFUTED"),
    ]


def test_the_commit_and_what_is_not_committed(tmp_path, monkeypatch):
    sources._identity.cache_clear()
    assert sources._git(str(tmp_path), "rev-parse", "HEAD") is None

    def git(*words):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "a.py").write_text("x = 1", encoding="utf-8")
    git("add", "a.py")
    git("-c", "user.name=n", "-c", "user.email=e@e", "commit", "-qm", "m")
    monkeypatch.chdir(tmp_path)
    states = []
    for name, text in (("out.html", "a report"), ("b.py", "y = 1"), ("a.py", "x = 2")):
        states.append(sources.identity()["dirty"])
        (tmp_path / name).write_text(text, encoding="utf-8")
        sources._identity.cache_clear()
    assert states == [False, False, True]  # a report is no code
    assert len(str(sources.identity()["commit"])) == 40
