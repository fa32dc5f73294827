"""Programs rebuilt from public reports: wrong twins fall by the fortieth pair by default settings; right ones stand."""

import inspect
import time
import types

import pytest

from benchmarks import public_reports
from benchmarks.public_reports import Report, REPORTS, said_of
from dpverify.claims.curves import parse_claim
from dpverify.wild import pairs, trying
from dpverify.wild.one_line import data_schema
from dpverify.wild.trying import traced_grid

FIRST_PAIRS = 40


def code_of(report: Report, seed: int) -> str:
    """The word of the tape on the first pairs, and how many there were."""
    found = traced_grid(
        getattr(public_reports, report.function),
        claim=parse_claim(report.claim),
        schema=data_schema(report.data),
        relation=report.relation,
        call="auto",
        arguments={},
        name=report.function,
        seed=seed,
        trials=100,
    )
    (block,) = found.values()
    assert block.pairs <= FIRST_PAIRS
    return "REFUTED" if block.refutes else "OPEN"


def test_every_report_has_both_twins_and_a_derivation():
    for report in REPORTS:
        assert "eps" in (inspect.getdoc(getattr(public_reports, report.function)) or "")
    assert sum(report.wrong for report in REPORTS) >= 7
    assert sum(not report.wrong for report in REPORTS) >= 7


def test_no_more_pairs_are_traced_than_are_said():
    assert trying.TRACED_PAIRS == FIRST_PAIRS


def test_the_same_seed_gives_the_same_words_however_busy_the_machine_is(monkeypatch):
    """Clocks that run fifty times as fast change nothing of what is traced."""
    report = next(each for each in REPORTS if each.function == "distinct_of_early_users")
    schema = data_schema(report.data)
    claim = parse_claim(report.claim)

    def traced():
        return traced_grid(
            public_reports.distinct_of_early_users,
            claim=claim,
            schema=schema,
            relation="add-remove",
            call="auto",
            arguments={},
            name="x",
            seed=3,
            trials=100,
        )

    calm = traced()
    fast = types.SimpleNamespace(monotonic=lambda: 50 * time.monotonic())
    monkeypatch.setattr(trying, "time", fast)  # the limit of a trace that hangs is another clock's
    assert traced() == calm


@pytest.mark.parametrize("data", sorted({report.data for report in REPORTS if not report.data.startswith("value")}))
def test_each_two_levels_of_two_factors_of_the_crossed_pairs_meet(data):
    """Of the design itself: what a schema cannot give (no room for a row) is left out of the pairs."""
    from allpairspy import AllPairs

    levels = pairs._levels(data_schema(data))
    rows = [tuple(row) for row in AllPairs([list(each) for each in levels.values()])]
    names = list(levels)
    for one in range(len(names)):
        for two in range(one):
            met = {(row[one], row[two]) for row in rows}
            assert len(met) == len(levels[names[one]]) * len(levels[names[two]])


def test_what_was_crossed_stands_in_the_record():
    told = pairs.covered_levels(data_schema("list: category a|b, rows 2..9"))
    assert told["members"] == ("None", "0", "1", "2", "3")
    assert "first" in told["position"]
    assert pairs.covered_levels(data_schema("value: real 0..1")) == {}


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.function)
def test_wrong_twins_fall_and_right_ones_stand(report, seed):
    said = said_of(report, seed)
    assert said.startswith("REFUTED") if report.wrong else said.startswith("OPEN"), said


@pytest.mark.parametrize("function", ["tree_of_three_levels", "distinct_of_early_users"])
def test_what_was_missed_falls_by_the_code_on_the_first_pairs(function):
    report = next(each for each in REPORTS if each.function == function)
    assert code_of(report, 2) == "REFUTED"
