"""Programs rebuilt from public reports: wrong twins fall by the fortieth pair by default settings; right ones stand."""

import inspect
import random
import time
from collections import Counter

import numpy as np
import pytest

from benchmarks import public_reports
from benchmarks.public_reports import Report, REPORTS, said_of
from dpverify.claims.curves import parse_claim
from dpverify.claims.neighbours import Relation
from dpverify.wild import climbing, pair_audit, pairs, try_out, trying
from dpverify.wild.local import Here
from dpverify.wild.one_line import data_schema
from dpverify.wild.trying import searched_pairs, traced_grid

FIRST_PAIRS = 40


def pairs_of(target, data: str, relation: str, seed: int):
    return searched_pairs(Here(target), data_schema(data), relation, seed)


def code_of(report: Report, seed: int) -> str:
    """The word of the tape on the first pairs, and how many there were."""
    target = getattr(public_reports, report.function)
    found = traced_grid(
        target,
        claim=parse_claim(report.claim),
        schema=data_schema(report.data),
        inside=pairs_of(target, report.data, report.relation, seed),
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


class Fast:
    """The clocks of a machine on which everything takes fifty times as long."""

    def monotonic(self):
        return 50 * time.monotonic()

    def perf_counter(self):
        return 50 * time.perf_counter()

    process_time = staticmethod(time.process_time)


def noisy_first(values, rng):
    """The first of the values is released with half the noise."""
    return sum(values) + rng.laplace(scale=1.0), values[0] + rng.laplace(scale=0.5)


def test_the_same_seed_gives_the_same_words_however_busy_the_machine_is(monkeypatch):
    """Clocks that run fifty times as fast change nothing of what is searched, traced and tried."""
    report = next(each for each in REPORTS if each.function == "distinct_of_early_users")
    schema = data_schema("list: integer 0..1, rows 2")

    def everything():
        found = pairs_of(public_reports.distinct_of_early_users, report.data, "add-remove", 3)
        traced = traced_grid(
            public_reports.distinct_of_early_users,
            claim=parse_claim(report.claim),
            schema=data_schema(report.data),
            inside=found,
            call="auto",
            arguments={},
            name="x",
            seed=3,
            trials=100,
        )
        words = [found, traced]
        for claim in ("pure:1", "pure:3"):
            record = try_out(
                noisy_first, claim=parse_claim(claim), schema=schema, relation="replace", trials=120, seed=3
            )
            told = record.to_dict()
            words.append({name: value for name, value in told.items() if name not in ("seconds", "predicted_seconds")})
        return words

    calm = everything()
    words = [each["verdict"] for each in calm[2:]]
    assert words[0] == "REFUTED" != words[1]
    monkeypatch.setattr(trying, "time", Fast())  # the limit of a trace that hangs is another clock's
    monkeypatch.setattr(pair_audit, "time", Fast())
    monkeypatch.setattr(pair_audit.timed, "__defaults__", (Fast().perf_counter,))
    assert everything() == calm


def test_minutes_are_heeded_where_they_are_given():
    record = try_out(
        noisy_first,
        claim=parse_claim("pure:6"),
        schema=data_schema("list: integer 0..1, rows 3..5"),
        relation="replace",
        trials=10**6,
        minutes=0.03,
    )
    assert record.seconds < 20
    assert record.matrix[0].trials < 10**6


# Pairs that no grid has: the climb finds them, and finds them again.


def weighed(values) -> float:
    """A sum in which a value between a nine on its left and a zero on its right counts six times."""
    total = 0.0
    for at, value in enumerate(values):
        marked = 0 < at < len(values) - 1 and values[at - 1] == 9 and values[at + 1] == 0
        total += (6 if marked else 1) * value / 9
    return total


def noisy_weighed(values, rng):
    """Noise for a movement of 1; the worst pair, with a nine and a zero beside what changes, moves by 6."""
    return weighed(values) + rng.laplace(scale=1.0)


def moves(pair) -> float:
    one, two = ([each[0] for each in records] for records in (pair.first, pair.second))
    return abs(weighed(one) - weighed(two))


RARE = "list: integer 0..9, rows 6..12"


@pytest.mark.parametrize("seed", [3, 4, 5, 6])
def test_the_climb_finds_a_pair_that_is_not_in_the_grid(seed):
    grid = pairs.grid(data_schema(RARE), Relation.REPLACE_ONE, trying._search_stream(seed, 0, Relation.REPLACE_ONE))
    (found,) = pairs_of(noisy_weighed, RARE, "replace", seed).values()
    worst = max(found[:FIRST_PAIRS], key=moves)
    assert worst.name.startswith("found by paired runs: ")
    assert moves(worst) > 1.1 * max(map(moves, grid))
    assert set(map(repr, grid)) <= set(map(repr, found))


def test_the_same_seed_finds_the_same_pairs():
    one, two, other = (pairs_of(noisy_weighed, RARE, "replace", seed) for seed in (1, 1, 2))
    assert one == two
    assert one != other


@pytest.mark.parametrize("relation", ["replace", "add-remove"])
@pytest.mark.parametrize(
    "data",
    [
        "records: who unit 4, item category a|b|c|d, x real 0..1 missing, rows 4..20",
        "records: name id, group category a|b all_present, x integer 0..9, rows 3..6",
    ],
)
def test_each_step_of_the_climb_stays_within_the_schema(data, relation):
    schema, rng = data_schema(data), np.random.default_rng(5)
    (one,) = trying.relations(schema, relation)
    unit, made = schema.unit, 0
    for each in pairs.grid(schema, one, rng):
        for _ in range(20):
            found = climbing.change_pair(schema, each, rng)  # a Candidate is looked at when it is made: neighbours
            if found is None:
                continue
            made += 1
            each = found
            for records in (found.first, found.second):
                assert schema.rows[0] <= len(records) <= schema.rows[1]
                assert all(row[at] in schema.columns[at].values for row in records for at in pairs._classes_of(schema))
                if unit is not None:
                    assert max(Counter(row[unit] for row in records).values(), default=0) <= schema.columns[unit].most
                elif schema.columns[0].names:
                    assert len({row[0] for row in records}) == len(records)
            assert pairs.complete(schema, found)
    assert made > 100


def test_noise_that_no_seed_leads_is_not_searched():
    system = random.SystemRandom()
    schema = data_schema(RARE)
    grid = pairs.grid(schema, Relation.REPLACE_ONE, np.random.default_rng(1))
    found = climbing.search_from(Here(lambda data: data[0] + system.random()), schema, grid, np.random.default_rng(1))
    assert found == grid


def test_texts_fields_and_numbers_are_measured():
    """Equal outputs are at distance 0; twice the movement is twice as far; what always differs counts most."""
    noise = np.random.default_rng(1).laplace(size=8).tolist()
    outputs = [[{"x": each + moved} for each in noise] for moved in (0.0, 1.0, 2.0)]
    assert climbing.distance(outputs[0], outputs[0]) == 0
    near, far = (climbing.distance(outputs[0], each) for each in outputs[1:])
    assert far == pytest.approx(2 * near)
    words = [[{"w": "a" if at < count else "b"} for at in range(8)] for count in (8, 6, 0)]
    assert 0 < climbing.distance(words[0], words[1]) < climbing.distance(words[0], words[2])
    assert climbing.distance([{}] * 8, words[0]) == climbing.distance(words[0], words[2])


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
    assert said.startswith("REFUTED" if report.wrong else ("OPEN", "CERTIFIED")), said


@pytest.mark.parametrize("function", ["tree_of_three_levels", "distinct_of_early_users"])
def test_what_was_missed_falls_by_the_code_on_the_first_pairs(function):
    report = next(each for each in REPORTS if each.function == function)
    assert code_of(report, 2) == "REFUTED"
