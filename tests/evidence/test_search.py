"""The pair search: finds the pair that leaks, keeps to the relation, spends streams and trials of its own."""

import numpy as np
import pytest

from algorithms.beyond.pair_search import worst_pair
from dpverify import Pair, PureDP, Records
from dpverify.auditing.pipeline import audit
from dpverify.base.seeding import Stage
from dpverify.claims.neighbours import Difference
from dpverify.errors import NeighbourError, ParameterError
from dpverify.trials import collect


def vector_pairs(length):
    """Answers that start in the middle of [0, 2] and move to a bound: one, the rest against it, halves, all."""
    one, left = np.zeros(length), np.zeros(length)
    one[0], left[: (length + 1) // 2] = 1.0, 1.0
    for name, sign in {"one up": one, "rest up": 1 - 2 * one, "halves": 2 * left - 1, "all up": 0 * one + 1}.items():
        yield Pair(np.ones(length), 1 + sign, name=name)
    yield Pair(2 - left, 1 + left, name="crossed halves")


def stream_pairs(length):
    """Streams that differ in one record, on a quiet and a loud background."""
    for name, other in (("quiet", 1), ("loud", 0)):
        for place in (0, length - 1):
            rows = [1 - other] * length
            yield Pair(Records(rows), Records([*rows[:place], other, *rows[place + 1 :]]), name=f"{name}, {place}")


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
    pairs = list(vector_pairs(4))
    found = worst_pair(target, claim=claim, pairs=pairs, trials=8000, seed=3)
    assert 6000 < target.released < 10_000
    # only where the entry before the last is at its bound on both datasets is there anything to see; half
    # patterns reach it on one dataset, which shows as an enormous difference of scales
    assert 2 in (found.first[-2], found.second[-2])
    record = audit(target, claim=claim, pair=found, trials=4000, seed=1)
    assert record.verdict == "REFUTED"


def test_streams_differ_in_one_record_and_the_loud_one_is_found():
    pairs = list(stream_pairs(6))
    assert all(pair.first.differences(pair.second) == Difference(replaced=1) for pair in pairs)
    found = worst_pair(Stream(), claim=PureDP(0.5), pairs=pairs, trials=6000, seed=1)
    assert found.name.startswith("loud")
    assert found.verified


def test_no_certifying_stream_is_touched(monkeypatch):
    used = []
    plain = collect.stream
    monkeypatch.setattr(collect, "stream", lambda seed, stage, *key: used.append(stage) or plain(seed, stage, *key))
    worst_pair(Counted(), claim=PureDP(1.0), pairs=vector_pairs(3), trials=2000, seed=0)
    assert set(used) == {Stage.SEARCH, Stage.SHAPE}
    experiment = collect.Experiment.of(Counted(), Pair(np.zeros(3), np.ones(3)), 0)
    with pytest.raises(ParameterError, match="stage"):
        collect.select(experiment, 10, stage=Stage.ESTIMATE)


def test_pairs_that_are_no_neighbours_are_refused():
    two = Pair(Records([0, 0]), Records([1, 1]))
    with pytest.raises(NeighbourError):
        worst_pair(Stream(), claim=PureDP(1.0), pairs=[two], trials=1000)
    with pytest.raises(ParameterError, match="pairs"):
        worst_pair(Stream(), claim=PureDP(1.0), pairs=[], trials=1000)
