"""Outputs that are no arrays, on pairs that are given: keys, an index, a mask and None can leak, and are not lost."""

import numpy as np
import pandas as pd
import pytest

from dpverify import audit, certify, Pair, PureDP, Relation
from dpverify.wild.local import shaped

PAIR = Pair([0.0, 1.0], [1.0, 1.0], relation=Relation.REPLACE_ONE, name="zero or one")


def noisy(data, rng):
    return sum(data) + rng.laplace(scale=1.0)


def key(data, *, rng):
    return {"a" if 0.0 in data else "b": noisy(data, rng)}


def order(data, *, rng):
    found = {"a": noisy(data, rng), "b": 1.0}
    return found if 0.0 in data else dict(reversed(found.items()))


def name(data, *, rng):
    return pd.Series([noisy(data, rng)], name="a" if 0.0 in data else "b")


def none(data, *, rng):
    return {"sum": noisy(data, rng), "rest": None if 0.0 in data else float("nan")}


def index(data, *, rng):
    return pd.Series([noisy(data, rng)], index=["a" if 0.0 in data else "b"])


def column(data, *, rng):
    return pd.DataFrame({"a" if 0.0 in data else "b": [noisy(data, rng)]})


def mask(data, *, rng):
    return np.ma.array([noisy(data, rng), 0.0], mask=[False, 0.0 in data])


def attrs(data, *, rng):
    found = pd.Series([noisy(data, rng)])
    found.attrs["zero"] = 0.0 in data
    return found


def range_index(data, *, rng):
    first = int(0.0 in data)
    return pd.Series([noisy(data, rng)], index=pd.RangeIndex(first, first + 1))


def categories(data, *, rng):
    sex = pd.Categorical([1], categories=[1, 2] if 0.0 in data else [1, 3])
    return pd.DataFrame({"sum": [noisy(data, rng)], "sex": sex})


def in_a_list(data, *, rng):
    return [index(data, rng=rng)]


@pytest.mark.parametrize(
    "leaky",
    [key, order, name, none, index, column, mask, attrs, range_index, categories, in_a_list],
    ids=lambda each: each.__name__,
)
def test_a_leak_beside_the_numbers_is_refuted(leaky):
    record = audit(shaped(leaky), claim=PureDP(1.0), pair=PAIR, trials=2_000)
    assert record.verdict == "REFUTED"


def honest(data, *, rng):
    return {"sum": noisy(data, rng), "none": None, "names": [1, 2]}


def honest_series(data, *, rng):
    return pd.Series([noisy(data, rng)], index=["a"])


@pytest.mark.parametrize("target", [honest, honest_series], ids=lambda each: each.__name__)
def test_an_honest_twin_stands(target):
    record = audit(shaped(target), claim=PureDP(1.2), pair=PAIR, trials=2_000)
    assert record.verdict == "NOT_REFUTED"


def test_the_tape_reads_a_dict():
    found = certify(shaped(honest), claim=PureDP(1.0), pairs=[PAIR], trials=500)
    (record,) = found.records
    assert record.tape.status == "DERIVED"
    assert record.tape.number == pytest.approx(1.0)
    assert certify(shaped(key), claim=PureDP(1.0), pairs=[PAIR], trials=500).status == "REFUTED"
