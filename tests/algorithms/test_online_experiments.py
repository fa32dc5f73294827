"""The experiments: the same curves whatever the workers, resumed where they stopped, written in every format."""

import json

import numpy as np
import pytest

from algorithms.bernstein_vi.learner import BernsteinVI
from algorithms.beyond.gaussian_counts import GaussianTrees
from algorithms.core.counting import layout_of
from algorithms.core.environments import river_swim
from algorithms.core.online import regret_per_episode, run_online
from algorithms.core.users import TapeUsers
from algorithms.experiments import __main__ as command
from algorithms.experiments import store, tuning
from algorithms.experiments.__main__ import ExperimentName, main, plan, SearchBudget
from algorithms.experiments.constants import Optimistic
from algorithms.experiments.curves import CurveSettings, draw_curve, draw_online
from algorithms.experiments.figures import write_numbers
from dpverify.base.seeding import derive, Stage, stream
from dpverify.errors import ParameterError
from dpverify.execution.executors import ordered_map

SMALL = {"runs": 2, "episodes": 60, "seed": 3}


def run(folder, **changed):
    main(
        ExperimentName.RIVERSWIM,
        **{**SMALL, "eps": [1.0, 4.0], "out": folder, "jobs": 1, "budget": SearchBudget.JOURNAL, **changed},
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    run(folder)
    return folder / "riverswim"


@pytest.mark.process
def test_two_workers_give_the_same_numbers():
    settings = plan("riverswim", 2, 30, (1.0,), 3, "journal")
    for one, two in zip(ordered_map(draw_curve, settings), ordered_map(draw_curve, settings, jobs=2), strict=True):
        for mine, other in zip(one, two, strict=True):
            np.testing.assert_array_equal(mine, other)


def test_finished_curves_are_not_drawn_again(written, monkeypatch):
    def forbidden(settings):
        raise AssertionError("drawn again")

    before = (written / "curves.csv").read_text()
    monkeypatch.setattr(store, "draw_curve", forbidden)
    monkeypatch.setattr(command, "write_all", lambda folder, curves, search, told: write_numbers(folder, curves))
    run(written.parent)
    assert (written / "curves.csv").read_text() == before
    with pytest.raises(AssertionError, match="drawn again"):
        run(written.parent, seed=4)


def test_regret_is_cumulative_and_users_are_shared_by_all_learners():
    for learner, eps in (
        ("UCBVI", None),
        ("PE", None),
        ("UCBVI-LDP-gaussian", 2.0),
        ("SDP-PE", 2.0),
        ("shuffled-optimism", 2.0),
    ):
        curve = draw_curve(CurveSettings("bandit", learner, eps, 2, 60, 3, "journal"))
        assert curve.regret.shape == (2, 60)
        assert np.all(np.diff(curve.regret, axis=1) >= -1e-12)
        assert list(curve.episodes) == list(range(1, 61))
        per_stage = 3 if learner in ("PE", "SDP-PE") else 60  # H = 1: one crude and two fine mixtures
        assert np.all(curve.deployments <= per_stage * 6)


def test_a_row_does_not_depend_on_those_beside_it_and_is_the_learner_alone():
    """Side by side and alone, bit for bit; and equal to `BernsteinVI` itself on the same noise."""
    rows = [
        CurveSettings("riverswim", name, eps, 2, 40, 3, chosen=Optimistic(0.01, error))
        for name, eps, error in (("UCBVI-JDP-gaussian", 8.0, 0.01), ("UCBVI-LDP", 50.0, 0.002))
    ]
    for one, other in zip(draw_online(rows), map(draw_curve, rows), strict=True):
        np.testing.assert_array_equal(one.regret, other.regret)
    settings = rows[0]
    environment, layout = river_swim(), layout_of(river_swim().model)
    source = GaussianTrees.central(layout, 40, 8.0, 1e-3, error_scale=0.01)
    users = TapeUsers(environment, environment.tapes(3, 2, 40))
    learner = BernsteinVI(layout=layout, episodes=40, error=source.error, bonus_scale=0.01)
    noise = stream(derive(3, settings.key), Stage.EXPERIMENT)
    done = run_online(users, learner, source, runs=2, rng=noise)
    expected = np.cumsum(regret_per_episode(done.policies, environment.model).T, axis=1)
    np.testing.assert_allclose(draw_curve(settings).regret, expected, rtol=1e-9)


def test_a_search_is_resumed_and_its_points_are_drawn(tmp_path, monkeypatch):
    options = {"eps": [1.0], "learner": ["shuffled-optimism", "UCBVI"], "search": 4, "budget": SearchBudget.CALIBRATED}
    run(tmp_path, **options)
    numbers = json.loads((tmp_path / "riverswim" / "numbers.json").read_text())
    learners = numbers["search"]["learners"]
    assert {each["runs"] for each in learners.values()} == {8}
    for curve in numbers["curves"]:
        point = learners[curve["learner"]]["point"]
        assert {key: curve["constants"][key] for key in point} == point

    def forbidden(*given):
        raise AssertionError("searched again")

    monkeypatch.setattr(tuning, "draw_curve", forbidden)
    monkeypatch.setattr(command, "write_all", lambda folder, curves, *told: write_numbers(folder, curves, *told))
    run(tmp_path, **options)
    with pytest.raises(ParameterError, match="search"):
        main(ExperimentName.BANDIT, **{**SMALL, "eps": [1.0], "out": tmp_path, "search": 4})
