"""The pair search: finds the pair that leaks, keeps to the relation, spends streams and trials of its own."""

import numpy as np
import pytest

from dpverify import Pair, PureDP, Records, Relation
from dpverify.base.errors import NeighbourError, ParameterError
from dpverify.base.seeding import Stage
from dpverify.claims.neighbours import Difference
from dpverify.evidence.search import worst_pair
from dpverify.trials import collect, patterns
from dpverify.verdicts.audit import audit


class Counted:
    """Noise on the answers, scale 1/2 on the last entry where the entry before is at its bound; 1e9 elsewhere."""

    def __init__(self):
        self.released = 0

    def release(self, data, *, rng, size):
        self.released += size
        scale = 0.5 if data[-2] == 2 else 1e9
        return data[-1] + rng.laplace(0.0, scale, size)


class Stream:
    """A counter that adds far too little noise, and only when everybody is loud."""

    def release(self, data, *, rng, size):
        rows = np.array(data.rows, float)
        return rows.sum() + rng.laplace(0.0, 10.0, size) + rows.all() * 50.0


def test_the_leaking_pattern_is_found_and_audited():
    target, claim = Counted(), PureDP(1.0)
    pairs = list(patterns.vector_pairs(4))
    found = worst_pair(target, claim=claim, pairs=pairs, trials=8000, seed=3)
    assert 6000 < target.released < 10_000
    # only where the entry before the last is at its bound on both datasets is there anything to see; half
    # patterns reach it on one dataset, which shows as an enormous difference of scales
    assert 2 in (found.first[-2], found.second[-2])
    record = audit(target, claim=claim, pair=found, trials=4000, seed=1)
    assert record.verdict == "REFUTED"


def test_streams_differ_in_one_record_and_the_loud_one_is_found():
    pairs = list(patterns.stream_pairs(6))
    assert len(pairs) == 9
    assert all(pair.first.differences(pair.second) == Difference(replaced=1) for pair in pairs)
    found = worst_pair(Stream(), claim=PureDP(0.5), pairs=pairs, trials=6000, seed=1)
    assert found.name.startswith("loud")
    assert found.verified


def test_local_search_leaves_the_patterns_behind():
    # start: nothing leaks; one change of the background reaches the bound
    quiet = Pair(Records([0, 0, 0]), Records([0, 0, 1]), name="quiet")

    class Background:
        def release(self, data, *, rng, size):
            return data.rows[2] * (data.rows[0] == 1) * 3.0 + rng.laplace(0.0, 1.0, size)

    found = worst_pair(Background(), claim=PureDP(1.0), pairs=[quiet], trials=8000, seed=2, move=patterns.stream_move)
    assert found.first.rows[0] == found.second.rows[0] == 1
    assert found.first.differences(found.second) == Difference(replaced=1)
    assert found.name == "quiet moved"


def test_no_certifying_stream_is_touched(monkeypatch):
    used = []
    plain = collect.stream
    monkeypatch.setattr(collect, "stream", lambda seed, stage, *key: used.append(stage) or plain(seed, stage, *key))
    worst_pair(Counted(), claim=PureDP(1.0), pairs=patterns.vector_pairs(3), trials=2000, seed=0)
    assert set(used) == {Stage.SEARCH, Stage.SHAPE}
    experiment = collect.Experiment.of(Counted(), Pair(np.zeros(3), np.ones(3)), 0)
    with pytest.raises(ParameterError, match="stage"):
        collect.select(experiment, 10, stage=Stage.ESTIMATE)


def test_equal_seeds_find_equal_pairs():
    again = [
        worst_pair(
            Counted(), claim=PureDP(1.0), pairs=patterns.vector_pairs(3), trials=2000, seed=9, move=patterns.vector_move
        )
        for _ in range(2)
    ]
    np.testing.assert_array_equal(again[0].first, again[1].first)
    np.testing.assert_array_equal(again[0].second, again[1].second)


def test_moves_stay_in_range():
    rng = np.random.default_rng(0)
    pair = Pair(np.ones(4), np.full(4, 2.0), name="start")
    for _ in range(200):
        pair = patterns.vector_move(pair, rng)
        assert np.abs(pair.first - pair.second).max() <= 1
        assert min(pair.first.min(), pair.second.min()) >= 0
        assert max(pair.first.max(), pair.second.max()) <= 2


def test_histograms_differ_by_one_user():
    added = list(patterns.histogram_pairs(3, Relation.ADD_OR_REMOVE_ONE))
    moved = list(patterns.histogram_pairs(3, Relation.REPLACE_ONE))
    assert [int(np.abs(pair.second - pair.first).sum()) for pair in added] == [1] * 4
    assert [int((pair.second - pair.first).sum()) for pair in moved] == [0] * 4
    assert [int(np.abs(pair.second - pair.first).sum()) for pair in moved] == [2] * 4


def test_pairs_that_are_no_neighbours_are_refused():
    two = Pair(Records([0, 0]), Records([1, 1]))
    with pytest.raises(NeighbourError):
        worst_pair(Stream(), claim=PureDP(1.0), pairs=[two], trials=1000)
    with pytest.raises(ParameterError, match="pairs"):
        worst_pair(Stream(), claim=PureDP(1.0), pairs=[], trials=1000)
    with pytest.raises(ParameterError, match="low"):
        list(patterns.vector_pairs(2, low=1.0, high=1.0))
