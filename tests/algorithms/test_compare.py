"""An agent beside the repository's, at equal privacy: what is drawn, what is refused, and what is told of it."""

import csv
import json
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats

from algorithms.bernstein_vi.learner import central, local
from algorithms.beyond.gaussian_counts import GaussianMessages, GaussianTrees
from algorithms.core.counting import ExactSource, TreeCounts
from algorithms.core.environments import chain, river_swim
from algorithms.core.model_files import load_environment, write_environment
from algorithms.experiments import compare_command
from algorithms.experiments import compare_terms as comparing
from algorithms.experiments.compare import BASELINE, BLIND, compare, EXACT, table
from algorithms.experiments.figures import write_comparison
from algorithms.study import Study
from audits.planted.draws import Reused
from dpverify.errors import ParameterError

SIZE = {
    "environment": river_swim(3, 2),
    "eps": (1.0,),
    "users": 12,
    "runs": 2,
    "points": 2,
    "seed": 1,
    "search_seed": 9,
}


class Often:
    """Goes where it has been paid."""

    space: ClassVar = {"often": (0.01, 1.0)}

    def __init__(self, privatizer, users, often):
        self.least = often * privatizer.error

    def plan(self, counts):
        return (counts.rewards[..., 1] > counts.rewards[..., 0] - self.least).astype(int)


class Counting(Often):
    """The same without a space, and it has seen enough."""

    space: ClassVar = {}

    def __init__(self, privatizer, users):
        super().__init__(privatizer, users, 0.0)


def against(agent=Often, privatizer=central, **options):
    return compare({"mine": agent}, privatizer=privatizer, **{**SIZE, **options})


@pytest.mark.parametrize(
    ("privatizer", "delta", "view"),
    [
        (central, 0.0, "joint"),
        (local, 0.0, "local"),
        (GaussianTrees.central, 1e-3, "joint"),
        (GaussianMessages.local, 1e-3, "local"),
    ],
)
def test_all_agents_have_the_same_privacy_and_the_same_search(privatizer, delta, view):
    found = against(privatizer=privatizer, delta=delta)
    assert (found.drawn, found.objections) == (True, ())
    (check,) = found.checks
    assert check["privacy"]["view"] == view
    assert check["upper"] <= 1 + 1e-9
    assert check["tape"]["word"] == "CONFORMS"
    assert check["witness"]["unit"] == ("eps at delta 0.001" if delta else "eps")
    assert check["witness"]["read"] == ("code" if delta else "object")
    assert 0.9999 < check["witness"]["lower"] <= check["upper"]
    mine, theirs, *references = found.lines
    assert (mine.agent, theirs.agent) == ("mine", BASELINE)
    assert mine.privacy == theirs.privacy == check["privacy"]
    assert mine.search["runs"] == theirs.search["runs"] > 0
    assert mine.search["seeds"] == theirs.search["seeds"]
    assert [each.privacy for each in references] == [None, None]
    if privatizer is central:  # what is found does not depend on the number of processes
        assert against(privatizer=privatizer, delta=delta, jobs=2) == found


def test_several_agents_and_eps_are_one_by_one_and_all_together_the_same(tmp_path, monkeypatch):
    """Which others are compared and what was kept changes no line; the checks are those of the other tests."""
    monkeypatch.setattr(comparing, "evidence", lambda *given: {"objections": []})
    several = {"agents": {"mine": Often, "counting": Counting}, "privatizer": central, **SIZE}
    found = compare(**{**several, "eps": (1.0, 3.0), "folder": tmp_path})
    assert [(each.agent, each.privacy and each.privacy["eps"]) for each in found.lines] == [
        *((name, eps) for name in ("mine", "counting", BASELINE) for eps in (1.0, 3.0)),
        (EXACT, None),
        (BLIND, None),
    ]
    assert found.at("mine", 3.0) == against(eps=(3.0,)).at("mine", 3.0)
    assert found.at("mine", 1.0).search["seeds"] == found.at(BASELINE, 3.0).search["seeds"]
    assert found.at("counting", 1.0).search == {}
    for each in found.lines:
        assert (each.users[-1], each.mean[-1], each.half_widths[-1]) == (12, each.regret, each.half_width)
    rows = table(found)
    assert [row[0] for row in rows] == ["mine", "counting", BASELINE, EXACT, BLIND]
    assert {len(row) for row in rows} == {5}  # agent, privacy, what was tuned, two eps
    assert [row[2] for row in rows] == [
        "often: 2 points (0 by hand), 2 runs",
        "nothing",
        "bonus, error: 2 points (2 by hand), 2 runs",
        "bonus: by hand",
        "nothing",
    ]
    written = write_comparison(tmp_path, found)
    assert [path.name for path in written] == [
        *("comparison.png", "comparison.svg", "comparison-final.png", "comparison-final.svg", "comparison.csv")
    ]

    again = {**several, "eps": (1.0, 3.0), "folder": tmp_path, "resume": True}
    monkeypatch.setattr(Study, "regret", None)  # what is kept is not computed
    monkeypatch.setattr(comparing, "evidence", None)
    assert compare(**again) == found
    with pytest.raises(TypeError):  # of another seed nothing is kept
        compare(**{**again, "seed": 2})


def test_intervals_are_students_and_differences_are_paired(monkeypatch):
    """By hand: scipy's interval of the numbers of the seeds, and of their differences; a basis from itself is 0."""
    monkeypatch.setattr(comparing, "evidence", lambda *given: {"objections": []})
    found = compare({"mine": Often, "same": Often}, privatizer=central, **{**SIZE, "runs": 5, "users": 40})
    for row in found.rows:
        mine, basis = (np.array(found.at(name, 1.0).final) for name in (row["agent"], BASELINE))
        assert len(mine) == row["seeds"] == 5
        assert row["mean"] == pytest.approx(sum(mine) / 5, rel=1e-12)
        for values, low, high in ((mine, "low", "high"), (mine - basis, "difference_low", "difference_high")):
            reach = stats.t.ppf(0.975, 4) * values.std(ddof=1) / 5**0.5
            assert row[high] - row[low] == pytest.approx(2 * reach, rel=1e-9, abs=1e-12)
            assert row[high] + row[low] == pytest.approx(2 * values.mean(), rel=1e-9, abs=1e-12)
        assert row["basis"] == BASELINE
    assert (found.difference("same", 1.0), found.difference(BASELINE, 1.0)) == (
        found.difference("mine", 1.0),
        (0.0, 0.0),
    )
    assert replace(found, basis="mine").difference("same", 1.0) == (0.0, 0.0)
    assert found.at(BLIND, 1.0).half_width == 0
    assert found.to_dict()["rows"] == found.rows


@dataclass(frozen=True)
class Quieter(TreeCounts):
    """INCORRECT: says what its counter says, and adds a part of its noise."""

    def stream(self, runs, *, rng):
        half = Quieter(self.layout, self.counter.with_noise(0.5), self.error)
        return TreeCounts.stream(half, runs, rng=rng)


def lying(layout, users, eps):
    honest = central(layout, users, eps)
    return Quieter(honest.layout, honest.counter, honest.error)


def twice(layout, users, eps):
    return central(layout, users, 2 * eps)


@pytest.mark.parametrize(
    ("privatizer", "said"), [(lying, "the code does not match its ledger"), (twice, "ledger has eps 2")]
)
def test_what_spends_more_is_not_drawn(privatizer, said):
    found = against(privatizer=privatizer)
    assert not found.drawn
    assert found.refuted
    assert found.lines == ()
    assert any(said in each for each in found.objections)


class Wearing(TreeCounts):
    """From the ninth user on the counts are exact: no run of a few users shows it."""

    def stream(self, size, *, rng):
        noisy, exact = super().stream(size, rng=rng), ExactSource(self.layout).stream(size, rng=rng)

        class Feed:
            users = 0

            def feed(self, own):
                self.users += 1
                found = [each.feed(own) for each in (noisy, exact)]
                return found[self.users > 8]

        return Feed()


def wearing(layout, users, eps, delta=0.0):
    honest = GaussianTrees.central(layout, users, eps, delta) if delta else central(layout, users, eps)
    return Wearing(honest.layout, honest.counter, honest.error)


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_noise_that_ends_after_a_few_users_is_not_drawn(delta):
    """The run of all users shows it."""
    found = against(privatizer=wearing, delta=delta)
    assert not found.drawn
    assert found.lines == ()


@dataclass(frozen=True)
class UsedAgain(TreeCounts):
    """The noise of a node is used again `LATER` steps later; law, number of draws and few users are as stated."""

    LATER: ClassVar = 60

    def stream(self, size, *, rng):
        inner, kept, again = self.counter.stream(size, rng=rng), [], Reused(self.LATER, "rotation")
        draw = inner.counter.noise.draw

        class Noise:
            def draw(self, steps, shape, *, rng):
                kept.append(draw(steps, shape, rng=rng))
                return again("laplace", kept[-1], 0)

        inner.counter = SimpleNamespace(releases=inner.counter.releases, noise=Noise())
        return inner


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_a_tree_whose_noise_is_used_again_is_not_drawn(delta):
    def again(layout, users, eps, delta=0.0):
        honest = GaussianTrees.central(layout, users, eps, delta) if delta else central(layout, users, eps)
        return UsedAgain(honest.layout, honest.counter, honest.error)

    found = against(privatizer=again, delta=delta, users=150)
    assert found.checks[0]["tape"]["word"] == "CONFORMS"  # of few users
    assert not found.drawn
    assert found.refuted
    assert any("is used twice" in each for each in found.objections)


def test_pucb_is_set_beside_at_equal_privacy_data_and_tuning():
    """Which opponents stand beside changes no other line; none of PUCB's points is set by hand, as of the caller's."""
    found, without = against(opponents=("PUCB",)), against()
    assert [each.agent for each in found.lines] == ["mine", BASELINE, "PUCB", EXACT, BLIND]
    assert [each for each in found.lines if each.agent != "PUCB"] == list(without.lines)
    mine, pucb = found.at("mine", 1.0), found.at("PUCB", 1.0)
    assert pucb.privacy == mine.privacy
    for told in ("points", "by_hand", "seeds", "runs"):
        assert pucb.search[told] == mine.search[told]
    assert table(found)[2][2] == "bonus, error: 2 points (0 by hand), 2 runs"


def test_pucb_learns_from_exact_counts():
    """Nearly no noise, on a chain whose uniform players lose most of its value."""
    options = {"eps": (1e6,), "users": 300, "environment": chain(3), "points": 4, "opponents": ("PUCB",)}
    found = against(Counting, **options)
    assert found.at("PUCB", 1e6).regret < 0.3 * found.at(BLIND, 1e6).regret


@pytest.mark.parametrize("opponents", [("PUCB", "PUCB"), ("LDP-OBI",)])
def test_opponents_that_are_none_are_refused(opponents):
    with pytest.raises(ParameterError, match="each once, of those of this family: PUCB"):
        against(opponents=opponents)


def test_the_csv_is_the_same_with_two_workers(tmp_path):
    environment = load_environment(write_environment(tmp_path / "mdp.npz", river_swim(3, 2)))
    for jobs in (1, 2):
        found = against(Counting, environment=environment, eps=(1.0, 3.0), points=1, jobs=jobs)
        write_comparison(tmp_path / str(jobs), found)
    one, two = ((tmp_path / jobs / "comparison.csv").read_bytes() for jobs in "12")
    assert one == two
    rows = list(csv.DictReader(one.decode().splitlines()))
    assert [(each["agent"], each["eps"]) for each in rows[:4]] == [
        *(("mine", "1.0"), ("mine", "3.0"), (BASELINE, "1.0"), (BASELINE, "3.0"))
    ]


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_rl.py").write_text(
        "class Left:\n    def plan(self, counts):\n        import numpy as np\n"
        "        return np.zeros(counts.visits.shape[:-1], dtype=int)\n\n\nleft = Left()\n"
        "from algorithms.bernstein_vi.learner import central\n\n\ndef twice(layout, users, eps):\n"
        "    return central(layout, users, 2 * eps)\n\n\n"
        "def unwilling(privatizer, users):\n    raise ValueError('no such table')\n\n\n"
        "class Leaves(Left):\n    def plan(self, counts):\n        raise SystemExit(0)\n\n\n"
        "class Listed(Left):\n    space = ['often']\n\n\n"
        "class Single(Left):\n    space = {'often': 5}\n\n"
        "    def __init__(self, privatizer, users, often):\n        pass\n\n\n"
        "class Below(Left):\n    space = {'often': (-1, 1)}\n\n"
        "    def __init__(self, privatizer, users, often):\n        pass\n"
    )
    small = ["--users", "12", "--runs", "2", "--points", "1", "--json", "found.json"]
    assert compare_command.run_compare(["--agent", "mine_rl.py:left", *small]) == 0
    said = capsys.readouterr().out
    assert "eps-DP with eps 1" in said
    assert "uniform actions" in said
    document = json.loads((tmp_path / "found.json").read_text())
    assert {"relative_to", "checks", "lines", "objections"} <= set(document)
    assert {"privacy", "search", "seed", "point", "final"} <= set(document["lines"][0])
    assert {"view", "notion", "eps", "delta", "unit"} == set(document["lines"][0]["privacy"])
    assert "relative to the optimal policy" in said
    assert "its 95% interval (Student's t)" in said
    assert compare_command.run_compare(["--agent", "mine_rl.py:left", "--env", "deepsea:2", *small]) == 0
    assert "left: deepsea:2, 12 users" in capsys.readouterr().out
    assert compare_command.run_compare(["--agent", "mine_rl.py:left", "--privatizer", "mine_rl.py:twice", *small]) == 1
    assert "NOT DRAWN" in capsys.readouterr().out
    for wrong, code, words in (
        (["--agent", "mine_rl.py:none", *small], 2, "has no 'none'"),
        (
            ["--agent", "mine_rl.py:left", "--env", "mine_rl.py:left", *small],
            2,
            "an algorithms.core.environments.Environment",
        ),
        (["--agent", "mine_rl.py:left", "--eps", "nan", *small], 2, "eps"),
        (["--agent", "mine_rl.py:left", "--eps", "1", "--eps", "1", *small], 2, "each once"),
        (["--agent", "mine_rl.py:left", "--agent", "mine_rl.py:left", *small], 2, "each once"),
        (["--agent", "mine_rl.py:left", "--resume", *small], 2, "--out DIR"),
        (["--agent", "mine_rl.py:left", "--jobs", "0", *small], 2, "jobs"),
        (["--agent", "mine_rl.py:left", "--users", "two"], 2, "--users"),
        (["--agent", "mine_rl.py:twice", *small], 2, "called with (privatizer, users)"),
        (["--agent", "mine_rl.py:unwilling", *small], 3, "ValueError: no such table ("),
        (["--agent", "mine_rl.py:unwilling", *small], 3, "/mine_rl.py:16)"),
        (["--agent", "mine_rl.py:left", "--deployments", "3", *small], 2, "with --family batches"),
        (["--agent", "mine_rl.py:left", "--horizon", "3", *small], 2, "an H of its own"),
        (["--agent", "mine_rl.py:left", "--opponent", "pucc", *small], 2, "of those of this family: PUCB"),
        (["--agent", "mine_rl.py:left", "--env", "deepsea:3", "--horizon", "3", *small], 2, "an H of its own"),
        (["--agent", "mine_rl.py:left", "--env", "deepsea:deep", *small], 2, "deepsea:N with a whole number"),
        (["--agent", "mine_rl.py:left", "--env", "chain:1", *small], 2, "states = 1"),
        (["--agent", "mine_rl.py:left", "--env", "random:-1", *small], 2, "random:N with a whole number"),
        (["--agent", "mine_rl.py:Leaves", *small], 3, "SystemExit"),  # its 0 is not ours
        (["--agent", "mine_rl.py:Listed", *small], 2, "{parameter: (low, high)}"),
        (["--agent", "mine_rl.py:Below", *small], 2, "Below.often low"),
        (["--agent", "mine_rl.py:Single", *small], 2, "(low, high)"),
        (["--agent", "mine_rl.py:left", "--out", "/proc/none", *small], 2, "a folder to write to"),
        (["--agent", "mine_rl.py:left", "--delta", "1e-3", *small], 2, "called with (layout, users, eps, delta)"),
        (["--agent", "mine_rl.py:left", "--delta", "1", *small], 2, "delta"),
        (["--agent", "mine_rl.py:left", *small[:-1], "nowhere/found.json"], 2, "a folder that exists"),
        (["--agent", "mine_rl.py:left", *small[:-1], "/dev/full"], 3, "/dev/full: could not be written"),
    ):
        assert compare_command.run_compare(wrong) == code
        said = capsys.readouterr().err
        assert words in said
        assert len(said.strip().splitlines()) == 1
