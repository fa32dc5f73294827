"""Batches, games and offline learners in `compare`: equal privacy and search, planted bugs, what is not drawn."""

import numpy as np
import pytest

from algorithms.bernstein_vi.learner import central
from algorithms.core.environments import river_swim
from algorithms.experiments import compare_command
from algorithms.experiments import compare_families as families
from algorithms.experiments.compare import BLIND, compare
from algorithms.experiments.compare_terms import REWARDS_ONLY
from algorithms.experiments.figures import write_comparison
from algorithms.nash_vi.markov_games import random_game
from algorithms.sdp_pe.batches import ShuffledBatches
from dpverify.errors import ParameterError
from mechanisms.privatizers.central import Central
from mechanisms.privatizers.offline_tabular import OfflineTabularLaplace

SIZE = {"eps": (1.0,), "users": 24, "runs": 2, "points": 2, "seed": 1, "search_seed": 9}
RIVER, GAME = river_swim(3, 2), random_game(0, 2, 2, 2, 2)


class Stays:
    """Its tables are of the family that asks: action 0, or any joint action."""

    def plan(self, counts):
        if counts.visits.ndim == 5:
            return np.full(counts.visits.shape, 1 / counts.visits[0, 0, 0].size)
        return np.zeros(counts.visits.shape[:-1], dtype=int)


class Moves(Stays):
    """With something to search, and to no use."""

    space = {"nothing": (0.1, 1.0)}  # noqa: RUF012

    def __init__(self, privatizer, users, nothing):
        pass


class HalfTheBits(ShuffledBatches):
    """INCORRECT: draws for half of the standard deviation that its ledger has."""

    def noise(self, layout, users):
        return ShuffledBatches.noise(ShuffledBatches.with_noise(self, 0.5), layout, users)

    def ledger(self, batches):
        return ShuffledBatches(layout=self.layout, eps=self.eps, beta=self.beta, budget=self.budget).ledger(batches)


class HalfTheNoise(OfflineTabularLaplace):
    """INCORRECT: states its noise, and adds half of it."""

    def _noise(self, shape, rng):
        return super()._noise(shape, rng) / 2


def half_bits(layout, users, eps, delta):
    return HalfTheBits(layout=layout, eps=eps, beta=delta, budget="calibrated")


def half_noise(layout, users, eps):
    return HalfTheNoise(layout=layout, eps=eps)


def twice(layout, users, eps):
    return Central.corrected(2 * eps, layout, users, releases=users - 1)


def against(family, privatizer=None, agents=None, **options):
    terms = {"environment": GAME if family == "games" else RIVER, "delta": 1e-2 if family == "batches" else 0.0}
    terms |= {"deployments": 4} if family == "batches" else {}
    mine = agents or {"mine": Moves}
    return compare(
        mine, family=family, privatizer=privatizer or getattr(families, family), **{**SIZE, **terms, **options}
    )


@pytest.mark.parametrize(
    ("family", "ours", "references", "view", "measure"),
    [
        ("batches", ["SDP-PE", "shuffled optimism"], ["batched optimism, exact counts", BLIND], "shuffle", "regret"),
        ("games", ["DP-Nash-VI"], ["Nash-VI, exact counts", BLIND, REWARDS_ONLY], "joint", "Nash gap"),
        ("offline", ["DP-APVI"], ["APVI, exact counts", BLIND, REWARDS_ONLY], "central", "v* - v"),
    ],
)
def test_all_of_a_family_have_the_same_privacy_and_search(family, ours, references, view, measure, tmp_path):
    found = against(family)
    assert (found.objections, found.family, found.measure) == ((), family, measure)
    assert [each.agent for each in found.lines] == ["mine", *ours, *references]
    private = found.lines[: 1 + len(ours)]
    notion = "(eps, delta)-DP" if family == "batches" else "eps-DP"
    for each in private:
        assert each.privacy == found.checks[0]["privacy"]
        assert (each.privacy["view"], each.privacy["notion"], each.privacy["eps"]) == (view, notion, 1.0)
        assert each.search["seeds"] == private[0].search["seeds"]
        assert each.search["runs"] == private[0].search["runs"] > 0
        assert (each.users[-1], each.mean[-1]) == (24, each.regret)
    assert found.at("mine", 1.0).search["points"] == SIZE["points"]
    assert all(each.privacy is None for each in found.lines[len(private) :])
    assert found.data_free == tuple(name for name in references if name in (BLIND, REWARDS_ONLY))
    assert bool(found.refused) == (family == "offline")
    assert all(path.stat().st_size for path in write_comparison(tmp_path, found))


@pytest.mark.parametrize(
    ("family", "privatizer", "said"),
    [("batches", half_bits, "on the tape"), ("games", twice, "ledger has eps 2"), ("offline", half_noise, "tape")],
)
def test_what_spends_more_is_not_drawn(family, privatizer, said):
    found = against(family, privatizer, {"mine": Stays()})
    assert not found.drawn
    assert found.lines == ()
    assert any(said in each for each in found.objections)


def test_known_values_of_what_looks_at_nothing():
    """Uniform actions and the agent that returns them lose the same; datasets of a curve are an eighth to all."""
    game = against("games", agents={"mine": Stays()})
    assert game.at("mine", 1.0).regret == pytest.approx(game.at(BLIND, 1.0).regret, rel=1e-12)
    logged = against("offline", agents={"mine": Stays()})
    assert logged.at("mine", 1.0).users == [3, 6, 12, 24]
    assert len(set(logged.at("mine", 1.0).mean)) == 1  # it looks at nothing
    many = against("offline", agents={"mine": Stays()}, environment=river_swim(), users=2_000, eps=(100.0,))
    assert many.at("DP-APVI", 100.0).regret < 0.5 * min(many.at(name, 100.0).regret for name in many.data_free)


def test_gaussian_noise_offline_is_the_least_at_eps_and_delta():
    mine = families.OfflineTerms(
        environment=RIVER, privatizer=families.offline, delta=1e-2, users=24, runs=2, points=1, seed=1, search_seed=9
    )
    (each,) = mine.baselines
    assert 0.999 < mine.study(each, each.known[0], 1.0).upper <= 1.0


def test_a_family_that_is_none_and_a_privatizer_of_another_one_are_refused():
    with pytest.raises(ParameterError, match="online, batches, games, offline"):
        against("self-play", families.games)
    with pytest.raises(ParameterError, match="deployments"):
        against("online", families.batches, delta=1e-2)
    with pytest.raises(ParameterError, match=r"delta = 0\.0: must be above 0"):
        against("batches", families.batches, delta=0.0)
    for family in ("batches", "games", "offline"):
        with pytest.raises(ParameterError, match="of those of this family: none"):
            against(family, opponents=("PUCB",))
    with pytest.raises(ParameterError, match="of type MarkovGame for this family"):
        against("games", environment=river_swim())


@pytest.mark.parametrize("deployments", [0, 1, 13, 2.0])
def test_deployments_that_the_users_do_not_fill_are_refused(deployments):
    with pytest.raises(ParameterError, match="deployments"):
        against("batches", deployments=deployments)


def test_the_command_says_what_is_not_compared(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_logged.py").write_text(
        "class Left:\n    def plan(self, counts):\n        import numpy as np\n"
        "        return np.zeros(counts.visits.shape[:-1], dtype=int)\n"
    )
    small = ["--agent", "mine_logged.py:Left", "--users", "12", "--runs", "2", "--points", "1"]
    assert compare_command.run_compare([*small, "--family", "offline"]) == 0
    said = capsys.readouterr().out
    assert "NOT COMPARED  DP-VAPVI and lean" in said
    assert "v* - v relative to the optimal policy" in said
    assert "nothing was learnt" in said


class Trusted(Stays):
    """Has what the repository's own learners have: it is run as an agent of counts all the same."""

    steps = act = shown = None

    @property
    def learner(self):
        raise AssertionError("it was asked for the truth")


def test_an_agent_is_an_agent_whatever_it_looks_like():
    assert against("batches", agents={"mine": Trusted()}).drawn


class Meddles(Moves):
    """INCORRECT: takes the noise out of the privatizer that it is handed, but where the checks look."""

    def __init__(self, privatizer, users, nothing):
        if abs(nothing / 0.1**0.5 - 1) > 1e-9:
            object.__setattr__(privatizer.counter.noise, "scale", 1e-9 * privatizer.counter.noise.scale)

    def plan(self, counts):
        return counts.visits.argmax(axis=-1)


def test_what_an_agent_does_to_its_privatizer_is_not_what_its_counts_come_from():
    class Leaves(Meddles):
        def __init__(self, privatizer, users, nothing):
            pass

    mine, same = (against("online", central, {"mine": each}).at("mine", 1.0) for each in (Meddles, Leaves))
    assert mine == same


def test_finished_cells_that_cannot_be_read_or_were_changed_are_computed_again(tmp_path):
    first = against("offline", folder=tmp_path)
    cells = sorted((tmp_path / "cells").iterdir())
    spoilt = ("{", "[]", "{}", cells[3].read_text().replace('"agent"', '"agents"'))
    for cell, text in zip(cells, spoilt, strict=False):
        cell.write_text(text)
    assert against("offline", folder=tmp_path, resume=True) == first
