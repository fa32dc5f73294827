"""docs/figures.md: tables are those of the stored runs, its sentences hold by the intervals, runs give them again."""

import json
import shutil
from itertools import product

import numpy as np
import pytest
import typer

from algorithms.bernstein_vi.learner import central
from algorithms.beyond.gaussian_counts import GaussianTrees
from algorithms.core.counting import layout_of
from algorithms.core.environments import river_swim
from algorithms.experiments import offline, page, selfplay
from algorithms.experiments.constants import constants_at, PLAIN
from algorithms.experiments.curves import CurveSettings, draw_curve
from algorithms.experiments.intervals import as_told, half_widths, mean_and_half_width
from algorithms.experiments.optimism import draw_optimism
from algorithms.experiments.store import digest_of_numbers
from algorithms.offline.data import appendix_mdp
from algorithms.pucb.regret_promises import uniform_gap
from dpverify.errors import UsageError
from mechanisms.privatizers.linear_noise import LinearNoise
from mechanisms.privatizers.offline_linear import OfflineLinear

TEXT = (page.DOCS / "figures.md").read_text(encoding="utf-8")
RUNS = {name: page.load(name) for name in page.TABLES if name not in page.COMPUTED}
PROBLEMS = ("offline", "offline-2")
SHARP, LAST = 1_000, 1_000_000  # K of the offline tables


def section(name):
    """Of the page, up to the table."""
    return TEXT.partition(f"<!-- table {name} -->")[0].rpartition("\n## ")[2]


def is_below(values, others):
    """The interval of the paired difference is below 0."""
    mean, half = mean_and_half_width(np.asarray(values) - np.asarray(others))
    return bool(mean + half < 0)


def regret(learner, eps):
    return page.curve(RUNS["riverswim"], learner=learner, eps=eps)["final_regret"]


def gap(problem, learner, rho, users, variant="scaled"):
    return page.curve(RUNS[problem], learner=learner, rho=rho, users=users, variant=variant)["gap"]


def output(learner, eps):
    return page.curve(RUNS["selfplay"], learner=learner, eps=eps)["output_gap"]


def test_the_tables_are_those_of_the_stored_runs():
    assert page.with_tables(TEXT) == TEXT
    for name in page.TABLES:
        assert f"<!-- table {name} -->" in TEXT, name


def test_every_run_has_twenty_seeds_and_says_how_it_was_made():
    for name in ("riverswim", "bandit", *PROBLEMS, "selfplay"):
        stored = RUNS[name]
        numbers = {key for each in stored["curves"] for key in each if key in ("final_regret", "gap", "output_gap")}
        assert numbers
        for each in stored["curves"]:
            assert all(len(each[key]) >= 20 for key in numbers & each.keys()), (name, each["learner"])
        assert stored["command"].startswith(f"python -m algorithms.experiments {name.partition('-')[0]} --runs 20 ")
        assert f"`{stored['command']}`" in TEXT
    for name in ("riverswim", "bandit"):
        (users,) = {each["episodes"] for each in RUNS[name]["curves"]}
        assert f"Regret after {users:,} users." in section(name)
    assert f"after {RUNS['selfplay']['episodes']:,} episodes" in section("selfplay")
    for name in ("riverswim", *PROBLEMS):
        search = RUNS[name]["search"]
        assert search["points"] >= 40
        assert len({(each["runs"], len(each["tried"])) for each in search["learners"].values()}) == 1
        assert f"--seed {search['seed']} " not in RUNS[name]["command"]  # nothing is tuned on the figure's users
    for name in ("bandit", "selfplay"):
        assert RUNS[name]["search"] == {"points": 0, "constants": "set by hand on seed 99"}


@pytest.mark.parametrize("name", RUNS)
def test_nobody_has_changed_a_number_by_hand(name):
    """A digest that fits is no proof of a run: those that take seconds are made again below."""
    stored = RUNS[name]
    assert stored["digest"] == digest_of_numbers(stored)
    assert digest_of_numbers({**stored, "command": ""}) != stored["digest"]


def test_learners_are_compared_at_the_privacy_that_the_page_says():
    views = {learner: told.rpartition("(")[2].rstrip(")") for learner, told, _ in page.RIVERSWIM}
    for name in ("riverswim", "bandit"):
        for each in RUNS[name]["curves"]:
            privacy, eps = each["privacy"], each["eps"]
            assert (privacy is None) == (eps is None) == (each["learner"] in PLAIN)
            if privacy is not None:
                assert (privacy["eps"], privacy["delta"]) == (eps, RUNS[name]["constants"]["delta"])
                assert privacy["view"] == views[each["learner"]]


def test_no_seed_of_a_figure_is_one_of_its_search():
    for name in ("riverswim", *PROBLEMS):
        drawn = {RUNS[each].get("seed", 1) for each in RUNS if each != "rlsvi"}
        used = {seed for each in RUNS[name]["search"]["learners"].values() for seed in each["seeds"]}
        assert len(used) == 63
        assert not used & {*drawn, *range(100)}


def test_riverswim():
    ours, paid = "UCBVI-JDP-gaussian", "UCBVI-JDP-gaussian-known-bonus"
    for eps in (1.0, 3.0):
        assert is_below(regret("shuffled-optimism", eps), regret(ours, eps))
        assert is_below(regret("shuffled-optimism", eps), regret("SDP-PE", eps))
        assert all(is_below(regret(each, eps), regret("UCBVI-LDP-gaussian", eps)) for each in (ours, "SDP-PE"))
        mean, half = mean_and_half_width(np.array(regret(paid, eps)) - np.array(regret(ours, eps)))
        assert abs(mean) < half
    assert is_below(regret(ours, 3.0), regret("SDP-PE", 3.0))
    assert not is_below(regret(ours, 1.0), regret("SDP-PE", 1.0))


def test_bandit():
    private, plain = (page.curve(RUNS["bandit"], learner=each)["final_regret"] for each in ("SDP-PE", "PE"))
    mean, half = mean_and_half_width(np.array(private) - np.array(plain))
    assert abs(mean) < half


@pytest.mark.parametrize("problem", PROBLEMS)
def test_offline(problem):
    rhos = (0.1, 1.0, 5.0, 25.0)
    uniform = gap(problem, "no data: uniform actions", None, SHARP)
    constant = gap(problem, "no data: best constant action", None, SHARP)
    for rho in rhos:
        for users in (SHARP, LAST):
            assert is_below(gap(problem, "lean", rho, users), gap(problem, "DP-VAPVI", rho, users))
        for learner in ("lean", "DP-VAPVI"):
            assert is_below(10 * np.array(gap(problem, learner, rho, LAST)), gap(problem, learner, rho, SHARP))
            assert is_below(5 * np.array(constant), gap(problem, learner, rho, SHARP))
    better = [rho for rho in rhos if is_below(gap(problem, "DP-VAPVI", rho, SHARP), uniform)]
    assert better == [5.0, 25.0]
    assert is_below(uniform, gap(problem, "DP-VAPVI", 0.1, SHARP)) is (problem == "offline")
    for learner in ("lean", "DP-VAPVI"):
        assert is_below(gap(problem, learner, 1.0, LAST), gap(problem, learner, 25.0, LAST)) is (problem == "offline-2")
        assert np.mean(gap(problem, learner, 1.0, LAST)) - np.mean(gap(problem, "VAPVI", None, LAST)) < 0.05


def test_features_as_printed_spend_more():
    statistics = OfflineLinear(
        noise=LinearNoise.as_printed(1.0, offline.HORIZON, offline.DIMENSION),
        features=appendix_mdp(1, offline.HORIZON).features,
        values=np.zeros((offline.HORIZON, 2)),
        split=False,
        unit_ball=False,
    )
    spent = sum(each.sensitivity.replace[0].size ** 2 / 2 for each in statistics.ledger.events)  # at rho = 1
    assert f"up to {spent:.0f} times its rho" in TEXT.replace("\n", " ")


def test_selfplay():
    views = ("DP-Nash-VI (JDP)", "DP-Nash-VI (LDP)")
    for view in views:
        assert is_below(output(view, 100.0), output(view, 10.0))
        assert is_below(output(view, 10.0), output(view, 1.0))
    for eps in selfplay.EPS:
        assert is_below(output(views[0], eps), output(views[1], eps))
    for eps, view in product(selfplay.EPS, views):
        assert is_below(output("Nash-VI", None), output(view, eps))
    for each in RUNS["selfplay"]["curves"]:
        mean, half = mean_and_half_width(each["output_gap"])
        assert mean + half < min(RUNS["selfplay"]["without_data"].values())


def test_who_learns_nothing_on_riverswim():
    (users,) = {each["episodes"] for each in RUNS["riverswim"]["curves"]}
    assert "Who learns nothing ends near 9,000." in TEXT
    assert uniform_gap(river_swim().model) * users == pytest.approx(9_000, rel=0.05)


def test_optimism():
    for each in RUNS["optimism"]["runs"]:
        assert each["plans"] == 1_000
        if not each["learner"].endswith("bonus, learned r") or each["learner"].startswith("learned"):
            assert each["below"] == 0, each
    unpaid = [each for each in RUNS["optimism"]["runs"] if each["learner"] == "known bonus, learned r"]
    assert {each["E"] for each in unpaid if each["below"] > 200} == {0.0, 4.0, 40.0}


def test_noise_of_a_node():
    layout = layout_of(river_swim().model)
    pure = central(layout, 20_000, 1.0).counter.noise.scale * 2**0.5
    approximate = GaussianTrees.central(layout, 20_000, 1.0, 1e-3).counter.noise.sigma
    assert f"standard deviation {pure:.0f} under eps-JDP and {approximate:.1f} under" in TEXT.replace("\n", " ")


def test_the_bandit_gives_the_stored_numbers_again():
    for stored in RUNS["bandit"]["curves"]:
        settings = CurveSettings(
            *(stored[key] for key in ("environment", "learner", "eps", "runs", "episodes", "seed"))
        )
        curve = draw_curve(settings)
        assert curve.regret[:, -1] == pytest.approx(stored["final_regret"], rel=1e-6)
        assert list(curve.deployments) == stored["deployments"]


def test_riverswim_gives_the_stored_numbers_again():
    for learner, eps, runs in (("batched-optimism", None, 2), ("shuffled-optimism", 3.0, 20)):
        stored = page.curve(RUNS["riverswim"], learner=learner, eps=eps)
        chosen = constants_at(learner, RUNS["riverswim"]["search"]["learners"][learner]["point"])
        settings = CurveSettings("riverswim", learner, eps, runs, stored["episodes"], stored["seed"], chosen=chosen)
        curve = draw_curve(settings)
        assert curve.regret[:, -1] == pytest.approx(stored["final_regret"][:runs], rel=1e-6)
        assert list(curve.deployments) == stored["deployments"][:runs]


@pytest.mark.parametrize("problem", PROBLEMS)
def test_offline_runs_give_the_stored_numbers_again(problem):
    stored = RUNS[problem]
    told = {key: value for key, value in stored["constants"].items() if key != "tuned"}
    grid = offline.settings_grid(SHARP)
    drawn = offline.draw_offline("scaled", grid, (25.0,), 20, stored["seed"], offline.OfflineConstants(**told))
    for each in drawn:
        expected = np.array(gap(problem, each.learner, each.rho, SHARP))
        assert np.mean(np.isclose(each.gaps[:, -1], expected, atol=2e-5)) >= 0.9  # ties may be broken otherwise


def test_selfplay_and_optimism_give_the_stored_numbers_again():
    drawn = selfplay.draw_selfplay("Nash-VI", None, 5_000, 20, 1)
    assert drawn.output_gap == pytest.approx(output("Nash-VI", None), abs=2e-5)
    stored = RUNS["optimism"]["runs"]
    for each, kept in zip(draw_optimism(1_000, 1), stored, strict=True):
        assert (each["learner"], each["E"], each["visits"]) == (kept["learner"], kept["E"], kept["visits"])
        assert each["below"] == pytest.approx(kept["below"], abs=3)


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """The page and its runs in another place."""
    shutil.copytree(page.STORED, tmp_path / "images" / "figures")
    (tmp_path / "figures.md").write_text(TEXT, encoding="utf-8")
    monkeypatch.setattr(page, "DOCS", tmp_path)
    monkeypatch.setattr(page, "STORED", tmp_path / "images" / "figures")
    monkeypatch.setattr(page.users_needed, "rows", lambda: [("theorem", "instance", "privacy", "1")])
    return tmp_path


def test_other_runs_make_another_page(copy, capsys):
    """New numbers are taken from a folder of experiments; `--check` says so and writes nothing."""
    numbers = json.loads((page.STORED / "bandit.json").read_text(encoding="utf-8"))
    for each in numbers["curves"]:
        each["final_regret"] = [1.0, 2.0, 3.0]
    made = copy / "out" / "bandit"
    made.mkdir(parents=True)
    (made / "numbers.json").write_text(json.dumps(numbers), encoding="utf-8")
    page.page(runs=copy / "out")
    written = (copy / "figures.md").read_text(encoding="utf-8")
    assert "| PE, no privacy | 2 ± 2 |" in written
    assert "(+0 ± 0)" in written
    with pytest.raises(typer.Exit) as same:
        page.page(check=True)
    (copy / "figures.md").write_text(written.replace("2 ± 2", "3 ± 2"), encoding="utf-8")
    with pytest.raises(typer.Exit) as other:
        page.page(check=True)
    assert (same.value.exit_code, other.value.exit_code) == (0, 1)
    assert "3 ± 2" in (copy / "figures.md").read_text(encoding="utf-8")
    assert "other tables than the stored runs" in capsys.readouterr().out


def test_a_table_that_is_not_known_is_named():
    with pytest.raises(UsageError, match="table rivers: no such table"):
        page.with_tables("<!-- table rivers -->\n<!-- end -->")


def test_cells():
    assert as_told([1.0, 2.0, 3.0]) == "2.00 ± 2.48"
    assert as_told([1.0, 2.0, 3.0], [2.0, 3.0, 4.0], 1) == "2.0 ± 2.5 (-1.0 ± 0.0)"
    assert half_widths(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])) == pytest.approx([4.302653 / 3**0.5, 0.0])
    assert list(half_widths(np.array([[1.0, 5.0]]))) == [0.0, 0.0]
