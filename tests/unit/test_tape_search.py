"""`worst_pair(..., by="tape")`: the pair whose code shows most, found without any trial."""

import numpy as np
import pytest

from dpverify import Pair, PureDP, ZCDP
from dpverify.base.errors import ParameterError
from dpverify.verdicts.search import rank, worst_pair
from dpverify.verdicts.taped import Taped, TapeReason

SIZE = 6


def weighted(data, *, rng, size):
    """A sum in which a record counts as much as its place: the last one moves it most."""
    return (np.asarray(data) * np.arange(1, SIZE + 1)).sum() + rng.laplace(scale=2.0, size=size)


def pair_at(place, by=1):
    first = [0] * SIZE
    second = [*first]
    second[place] = by
    return Pair(first, second, name=str(place))


def move(pair, rng):
    """One place further."""
    return pair_at(min(SIZE - 1, int(pair.name) + int(rng.integers(2))))


def test_the_pair_that_moves_the_sum_most_is_found():
    pairs = [pair_at(place) for place in (2, 5, 0)]
    assert worst_pair(weighted, claim=PureDP(1.0), pairs=pairs, by="tape").name == "5"
    assert worst_pair(weighted, claim=PureDP(1.0), pairs=pairs[2:], by="tape", move=move, steps=20).name == "5"


def test_equal_arguments_give_equal_pairs():
    found = {
        worst_pair(weighted, claim=ZCDP(1.0), pairs=[pair_at(0)], by="tape", move=move, steps=3, seed=9).name
        for _ in range(3)
    }
    assert len(found) == 1


def leaky(data, *, rng, size):
    return weighted(data, rng=rng, size=size) if data[1] == 0 else np.full(size, 0.5)


def test_outputs_that_differ_rank_first():
    assert worst_pair(leaky, claim=PureDP(1.0), pairs=[pair_at(5), pair_at(1)], by="tape").name == "1"


def test_the_order_of_what_a_trace_says():
    differs = Taped(status="NOT_TRACED", reasons=(TapeReason("OUTPUTS_DIFFER", "", "x"),))
    lost = Taped.lost("TIMEOUT", "x")
    loss, number = (Taped(status="DERIVED", loss=0.5, delta_k=0.5, number=each) for each in (None, 2.0))
    assert sorted([loss, differs, number, lost], key=rank) == [lost, loss, number, differs]


def test_bad_requests_are_refused():
    with pytest.raises(ParameterError, match="by"):
        worst_pair(weighted, claim=PureDP(1.0), pairs=[pair_at(0)], by="magic")
    with pytest.raises(ParameterError, match="pairs"):
        worst_pair(weighted, claim=PureDP(1.0), pairs=[], by="tape")
    best = worst_pair(weighted, claim=PureDP(1.0), pairs=[pair_at(0), pair_at(5)], trials=400, seed=1)
    assert best.name in ("0", "5")
