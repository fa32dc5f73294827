"""What consistent counts bring: runs give the stored numbers again, the page says them, and differences are paired."""

import json
from pathlib import Path

import numpy as np
import pytest

from algorithms.experiments.consistency import (
    as_markdown,
    BASIS,
    consistency,
    draw_consistency,
    make_models,
    NUMBERS,
    RHOS,
    summarise,
    WAYS,
)
from algorithms.experiments.intervals import mean_and_half_width
from dpverify.errors import ParameterError

ROOT = Path(__file__).parents[2]
STORED = json.loads((ROOT / "docs/images/figures/consistency.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs/figures.md").read_text(encoding="utf-8").partition("## What consistent counts bring\n")[2]


def record(way, counts):
    return {"model": "m", "rho": 1.0, "way": way, "counts": counts, "transitions": counts, "gap": counts}


def test_the_page_says_how_the_runs_were_made():
    assert f"--seeds {STORED['settings']['seeds']} " in PAGE
    assert f"{STORED['settings']['users']} users" in PAGE


def test_all_settings_and_ways_are_stored_on_the_same_seeds():
    expected = {
        (name, rho, way)
        for name, model in make_models().items()
        for rho in RHOS
        for way in (WAYS if (model.transitions == 0).any() else WAYS[:-1])
    }
    assert {(each["model"], each["rho"], each["way"]) for each in STORED["runs"]} == expected
    assert STORED["settings"]["seeds"] >= 20
    lengths = {len(each[number]) for each in STORED["runs"] for number in NUMBERS}
    assert lengths == {STORED["settings"]["seeds"]}


def test_what_the_paragraph_says_is_what_the_intervals_say():
    flows, known, total = [], [], {}
    for row in summarise(STORED["runs"]):
        apart = {number: row[f"{number}, difference"] for number in NUMBERS}
        if row["way"].startswith("flow"):
            assert all(apart[number][0] + apart[number][1] < 0 for number in ("counts", "transitions"))
            (known if row["way"].endswith("known") else flows).append(row)
        elif row["way"] == "none":
            assert apart["counts"][0] - apart["counts"][1] > 0
            assert abs(apart["gap"][0]) <= apart["gap"][1]
        total[row["model"], row["rho"], row["way"]] = row
    told = {(row["model"], row["rho"]) for row in flows if abs(row["gap, difference"][0]) > row["gap, difference"][1]}
    assert told == {("random", 0.1)}
    assert all(row["gap, difference"][0] + row["gap, difference"][1] < 0 for row in known)

    def fall(row, number):
        return 1 - row[number][0] / total[row["model"], row["rho"], BASIS][number][0]

    for model, number, least, most in (
        ("riverswim", "counts", 0.49, 0.53),
        ("random", "counts", 0.275, 0.30),
        ("riverswim", "transitions", 0.215, 0.25),
        ("random", "transitions", 0.045, 0.08),
    ):
        assert all(least <= fall(row, number) <= most for row in flows if row["model"] == model), (model, number)
    assert [round(fall(row, "gap"), 2) for row in known] == [0.43, 0.65]
    helped = [row for row in flows if (row["model"], row["rho"]) in told]
    assert {round(fall(row, "gap"), 2) for row in helped} == {0.18}
    cut = [row for row in total.values() if row["way"] == "none"]
    assert {round(-fall(row, "counts"), 2) for row in cut} <= {0.03, 0.04}


@pytest.mark.parametrize("name", ["riverswim", "random"])
def test_runs_give_the_stored_numbers_again(name):
    stored = {each["way"]: each for each in STORED["runs"] if (each["model"], each["rho"]) == (name, 1.0)}
    for each in draw_consistency(name, 1.0, range(1, 4)):
        for number in ("counts", "transitions"):  # a policy hangs on ties that another solver breaks otherwise
            assert each[number] == pytest.approx(stored[each["way"]][number][:3], abs=2e-3)
        if each["way"] in ("none", "cells"):
            assert each["gap"] == pytest.approx(stored[each["way"]]["gap"][:3], abs=1e-5)


def test_intervals_are_students_and_differences_are_paired():
    assert mean_and_half_width(np.array([1.0, 2.0, 3.0])) == pytest.approx((2.0, 4.302653 / 3**0.5), rel=1e-6)
    basis, other = summarise([record(BASIS, [1.0, 5.0, 9.0]), record("none", [0.5, 4.5, 8.5])])
    assert basis["gap, difference"] is None
    assert other["gap, difference"] == pytest.approx((-0.5, 0.0))  # the same in every seed
    assert other["gap"][1] == pytest.approx(basis["gap"][1])


def test_the_command_writes_what_it_prints(tmp_path, capsys):
    consistency(seeds=2, out=tmp_path / "new")
    found = json.loads((tmp_path / "new" / "consistency.json").read_text(encoding="utf-8"))
    assert found["settings"]["seeds"] == 2
    for each, stored in zip(found["runs"], STORED["runs"], strict=True):
        assert each["counts"] == pytest.approx(stored["counts"][:2], abs=2e-3)
    assert capsys.readouterr().out.splitlines()[:-1] == as_markdown(summarise(found["runs"]))
    with pytest.raises(ParameterError, match="seeds"):
        consistency(seeds=1, out=tmp_path)
