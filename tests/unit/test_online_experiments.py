"""The experiments: the same curves whatever the workers, resumed where they stopped, written in every format."""

import csv
import json

import numpy as np
import pytest

from algorithms.experiments import __main__ as command
from algorithms.experiments import store
from algorithms.experiments.__main__ import Budget, Experiment, main, plan
from algorithms.experiments.curves import draw, Settings
from algorithms.experiments.figures import write_numbers
from dpverify.base.errors import ParameterError
from dpverify.runs.executors import ordered_map

SMALL = {"runs": 2, "episodes": 60, "seed": 3}


def run(folder, **changed):
    main(
        Experiment.RIVERSWIM,
        **{**SMALL, "eps": [1.0, 4.0], "out": folder, "jobs": 1, "budget": Budget.JOURNAL, **changed},
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    run(folder)
    return folder / "riverswim"


def test_pictures_and_numbers_are_written(written):
    names = {path.name for path in written.iterdir()}
    for stem in ("figure-6-regret-eps1", "figure-6-regret-eps4", "figure-6a-final-regret", "figure-8-switches"):
        assert {f"{stem}.png", f"{stem}.svg"} <= names
    with (written / "summary.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 + 3 * 2
    numbers = json.loads((written / "numbers.json").read_text())
    assert numbers["constants"]["tuned"] is True
    for row, curve in zip(rows, numbers["curves"], strict=True):
        assert float(row["final_regret_mean"]) == pytest.approx(np.mean(curve["final_regret"]))
        assert float(row["final_regret_std"]) == pytest.approx(np.std(curve["final_regret"], ddof=1))
        assert 0 <= float(row["final_regret_mean"]) <= 60


def test_two_workers_give_the_same_numbers():
    settings = plan("riverswim", 2, 30, (1.0,), 3, "journal")
    for one, two in zip(ordered_map(draw, settings), ordered_map(draw, settings, jobs=2), strict=True):
        for mine, other in zip(one, two, strict=True):
            np.testing.assert_array_equal(mine, other)


def test_finished_curves_are_not_drawn_again(written, monkeypatch):
    def forbidden(settings):
        raise AssertionError("drawn again")

    before = (written / "curves.csv").read_text()
    monkeypatch.setattr(store, "draw", forbidden)
    monkeypatch.setattr(command, "write_all", lambda folder, curves: write_numbers(folder, curves))
    run(written.parent)
    assert (written / "curves.csv").read_text() == before
    with pytest.raises(AssertionError, match="drawn again"):
        run(written.parent, seed=4)


def test_keys_tell_settings_apart():
    settings = plan("riverswim", 2, 60, (1.0, 4.0), 3, "calibrated") + plan("bandit", 2, 60, (1.0,), 3, "journal")
    assert len({each.key for each in settings}) == len(settings)
    other = Settings("riverswim", "PE", None, 2, 61, 3)
    assert other.key not in {each.key for each in settings}


def test_regret_is_cumulative_and_users_are_shared_by_all_learners():
    for learner, eps in (("UCBVI", None), ("PE", None), ("UCBVI-LDP", 2.0), ("SDP-PE", 2.0)):
        curve = draw(Settings("bandit", learner, eps, 2, 60, 3, "journal"))
        assert curve.regret.shape == (2, 60)
        assert np.all(np.diff(curve.regret, axis=1) >= -1e-12)
        assert list(curve.episodes) == list(range(1, 61))
        per_stage = 3 if learner in ("PE", "SDP-PE") else 60  # H = 1: one crude and two fine mixtures
        assert np.all(curve.deployments <= per_stage * 6)


@pytest.mark.parametrize("bad", [{"runs": 0}, {"eps": [-1.0]}, {"eps": [float("nan")]}, {"episodes": 0}])
def test_impossible_requests_are_refused(tmp_path, bad):
    with pytest.raises(ParameterError):
        run(tmp_path, **bad)
