"""Offline and self-play experiments: numbers that are what they say, files in every format, functions of the seed."""

import csv
import json

import numpy as np
import pytest

from algorithms.experiments import offline
from algorithms.experiments.__main__ import ExperimentName, main
from algorithms.offline.data import appendix_mdp
from algorithms.tabular import backward_induction
from dpverify.errors import ParameterError


@pytest.fixture(scope="module")
def drawn():
    return offline.draw_offline("printed", (5, 60), (25.0,), 2, seed=3)


def test_gaps_are_those_of_policies_in_the_model(drawn):
    model = appendix_mdp(3, offline.HORIZON).model
    best = (backward_induction(model.transitions, model.rewards).values[0] * model.initial).sum()
    free = [f"no data: {name}" for name in offline.references(model, 3)]
    assert [curve.label for curve in drawn] == ["PEVI", "PEVI, same C", "VAPVI", "DP-VAPVI, rho=25", *free]
    for curve in drawn:
        assert curve.gaps.shape == (2, 2)
        assert ((curve.gaps >= -1e-9) & (curve.gaps <= best)).all()
    vapvi = drawn[2].gaps.mean(axis=0)
    assert vapvi[1] < vapvi[0] / 2


def test_all_penalties_are_searched_alike_and_lean_is_in_the_picture(tmp_path, monkeypatch):
    monkeypatch.setattr(offline, "long_grid", lambda: (10,))
    monkeypatch.setattr(offline, "settings_grid", lambda most: (5, most))
    main(ExperimentName.OFFLINE, runs=2, episodes=30, eps=[4.0], seed=3, out=tmp_path, search=2, search_seed=9)
    numbers = json.loads((tmp_path / "offline" / "numbers.json").read_text())
    told = numbers["search"]
    assert set(told["learners"]) == {"PEVI", "VAPVI", "DP-VAPVI", "lean"}
    assert len({(each["runs"], tuple(each["seeds"])) for each in told["learners"].values()}) == 1
    assert {len(each["tried"]) for each in told["learners"].values()} == {2}
    for name, field in (("VAPVI", "penalty"), ("DP-VAPVI", "private"), ("lean", "lean"), ("PEVI", "pevi")):
        assert numbers["constants"][field] == told["learners"][name]["point"]["penalty"]
    scaled, printed = (
        {each["learner"] for each in numbers["curves"] if each["variant"] == variant}
        for variant in ("scaled", "printed")
    )
    assert scaled - printed == {"lean"}  # its claim needs the unit ball
    assert "penalties: 2 points for each, seed 9" in (tmp_path / "offline" / "notes.txt").read_text()
    with pytest.raises(ParameterError, match="another seed"):
        main(ExperimentName.OFFLINE, runs=2, episodes=30, eps=[4.0], seed=9, out=tmp_path, search=2, search_seed=9)


@pytest.mark.parametrize("experiment", [ExperimentName.OFFLINE, ExperimentName.SELFPLAY])
def test_files_are_written(experiment, tmp_path, monkeypatch):
    monkeypatch.setattr(offline, "long_grid", lambda: (10, 100))
    monkeypatch.setattr(offline, "settings_grid", lambda most: (5, most))
    main(experiment, runs=2, episodes=30, eps=[4.0], seed=3, out=tmp_path)
    folder = tmp_path / experiment.value
    stems = {
        "offline": ["figure-1a-printed", "figure-1b-scaled", "figure-1-long-printed"],
        "selfplay": ["regret-jdp", "gap-ldp"],
    }
    for stem in stems[experiment.value]:
        assert (folder / f"{stem}.png").stat().st_size > 1000
        assert (folder / f"{stem}.svg").stat().st_size > 1000
    numbers = json.loads((folder / "numbers.json").read_text())
    assert numbers["constants"]["tuned"] is True
    assert numbers["seed"] == 3
    with (folder / "curves.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert "tuned" in (folder / "notes.txt").read_text()
    if experiment is ExperimentName.OFFLINE:
        assert numbers["search"] == {"points": 0, "constants": "set by hand on seed 99"}
        assert (folder / "notes.txt").read_text().startswith("constants by hand")
    if experiment is ExperimentName.SELFPLAY:
        last = [row for row in rows if row["learner"] == "Nash-VI"][-1]
        assert float(last["regret_mean"]) == pytest.approx(np.mean(numbers["curves"][0]["final_regret"]))
        assert 0 < float(last["regret_mean"]) <= 30 * 4
        assert {curve["learner"] for curve in numbers["curves"]} == {"Nash-VI", "DP-Nash-VI (JDP)", "DP-Nash-VI (LDP)"}
    else:
        private = [row for row in rows if row["rho"] == "4.0"]
        assert len(private) == 2 * 2 * 2 + 2 * 2  # DP-VAPVI in both variants, lean in one
