"""Schemas, pairs made from them, neighbours verified, and outputs as rows of numbers."""

import math

import numpy as np
import pandas
import pytest

from dpverify.claims.neighbours import Difference, Relation, sequence_difference
from dpverify.errors import NeighbourError, UsageError
from dpverify.wild import datasets, pairs, schema
from dpverify.wild.datasets import Candidate
from dpverify.wild.fields import Codebook
from dpverify.wild.one_line import data_schema
from dpverify.wild.refutation import shrunk
from dpverify.wild.worker import codec

REPLACE, ADD = Relation.REPLACE_ONE, Relation.ADD_OR_REMOVE_ONE
REAL = {"kind": "real", "low": 0.0, "high": 4.0}
CLASS = {"kind": "category", "values": ["a", "bc"]}
DOCUMENT = {
    "data": {"as": "columns", "rows": [3, 20]},
    "columns": {
        "x": {**REAL, "missing": True},
        "w": {"kind": "weight", "low": 0.0, "high": 5.0},
        "y": CLASS,
        "id": {"kind": "id"},
        "n": {"kind": "integer", "low": 0, "high": 9},
    },
}


def changed(**parts):
    return {**DOCUMENT, **parts}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (changed(date={}), "unknown key 'date'"),
        (changed(data={"as": "tensor"}), "as = 'tensor': must be one of columns"),
        (changed(data={"rows": [5, 3]}), "rows"),
        (changed(data={"features": ["x"]}), 'only where as = "args"'),
        (changed(columns={}), "needs a table"),
        (changed(columns={"x": {"kind": "real", "low": 0.0}}), r"\[columns.x\]: needs high"),
        (changed(columns={"x": {"kind": "real", "low": 2, "high": 1}}), "low must not be above high"),
        (changed(columns={"x": {"kind": "integer", "low": 0.2, "high": 0.8}}), "no whole number between"),
        (changed(data={"rows": [-1, 0]}), "rows"),
        (changed(columns={"x": {**REAL, "high": math.inf}}), "high = inf"),
        (changed(columns={"x": {**REAL, "values": [1]}}), "only for categories"),
        (changed(columns={"x": {**REAL, "missing": 1}}), "missing = 1"),
        (changed(columns={"x": {"kind": "category", "values": []}}), "at least one"),
        (changed(columns={"x": {"kind": "category", "values": ["a", "a"]}}), "different values"),
        (changed(columns={"x": {"kind": "number"}}), "kind = 'number'"),
        (changed(data={"as": "array"}), "columns of numbers"),
        (changed(data={"as": "vector"}), "one column"),
        (changed(public={"size": "yes"}), "true or false"),
        (changed(columns={"x": {**REAL, "all_present": True}}), "only for categories"),
        (changed(data={"rows": [2, 9]}, columns={"y": {**CLASS, "all_present": True}}), r"needs rows = \[3, "),
    ],
)
def test_errors_of_a_schema_name_column_and_key(document, words):
    with pytest.raises(UsageError, match=words):
        schema.parse(document)


def test_files_that_are_no_schema(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        schema.read_schema(tmp_path / "none.toml")
    (tmp_path / "x.toml").write_text("[data\n")
    with pytest.raises(UsageError, match="no TOML"):
        schema.read_schema(tmp_path / "x.toml")


def test_a_sketch_is_a_schema(tmp_path):
    (tmp_path / "people.csv").write_text("age,city,code\n31,Rome,a1\n,Oslo,b2\n54,Rome,c3\n")
    text = schema.sketch(tmp_path / "people.csv")
    assert "OBSERVED" in text
    (tmp_path / "s.toml").write_text(text)
    found = schema.read_schema(tmp_path / "s.toml")
    age, city = found.column("age"), found.column("city")
    assert (age.kind, age.low, age.high, age.missing) == ("integer", 31, 54, True)
    assert city.values == ("Oslo", "Rome")


@pytest.mark.parametrize("relation", [REPLACE, ADD])
def test_pairs_of_the_grid_are_neighbours_and_different(relation):
    found = schema.parse(DOCUMENT)
    rng = np.random.default_rng(1)
    made = pairs.grid(found, relation, rng)
    assert 14 <= len(made) <= 25 + pairs.CROSSED
    stream = pairs.random_pairs(found, relation, rng)
    for each in [*made, *(next(stream) for _ in range(30)), *pairs.outside(found, relation, rng)]:
        assert each.relation is relation
        assert each.first != each.second
        assert 3 <= len(each.first) <= 20
        assert 3 <= len(each.second) <= 20
    names = " ".join(each.name for each in made)
    for word in ("all high", "all low", "missing", "a class of its own", "w = 5", "a copy of another", "the fewest"):
        assert word in names


@pytest.mark.parametrize("relation", [REPLACE, ADD])
def test_every_dataset_has_all_values_where_the_schema_promises_so(relation):
    """Without the promise there are pairs that lack one: a classifier refuses them."""

    def lacking(document):
        found = schema.parse(document)
        rng = np.random.default_rng(3)
        stream = pairs.random_pairs(found, relation, rng)
        made = [
            *pairs.grid(found, relation, rng),
            *(next(stream) for _ in range(40)),
            *pairs.outside(found, relation, rng),
        ]
        smaller = []
        for each in made[:6]:
            shrunk(found, each, lambda candidate: smaller.append(candidate) or True)
        at = [each.name for each in found.columns].index("y")
        every = [records for each in (*made, *smaller) for records in (each.first, each.second)]
        return len(made), sum({record[at] for record in records} < {"a", "bc"} for records in every)

    free, promised = (
        {**DOCUMENT, "columns": {**DOCUMENT["columns"], "y": each}} for each in (CLASS, {**CLASS, "all_present": True})
    )
    assert lacking(free)[1] > 0
    kept, lacks = lacking(promised)
    assert lacks == 0
    assert kept > 50


def test_pairs_out_of_the_domain_are_apart():
    found = schema.parse({"columns": {"x": REAL, "y": CLASS}})
    made = pairs.outside(found, REPLACE, np.random.default_rng(1))
    assert {each.domain for each in made} == {"out"}
    assert len(made) == 5  # far below, far above, inf, nan, a new class
    inside = pairs.grid(found, REPLACE, np.random.default_rng(1))
    assert all(0 <= record[0] <= 4 for each in inside for record in (*each.first, *each.second))


def test_a_local_view_pairs_single_records():
    found = schema.parse({"data": {"as": "value"}, "columns": {"item": {"kind": "category", "values": [0, 1, 2]}}})
    made = pairs.grid(found, REPLACE, np.random.default_rng(1))
    assert len(made) == 3
    assert pairs.grid(found, ADD, np.random.default_rng(1)) == []
    assert codec.unpacked(datasets.wire(found, made[0].first)) == ("one", 0)


@pytest.mark.parametrize("container", ["columns", "keywords", "frame", "args", "records"])
def test_literals_of_a_script_are_the_data(container):
    document = {"data": {"as": container}, "columns": {"x": {**REAL, "missing": True}, "y": CLASS}}
    found = schema.parse(document)
    records = ((0.5, "a"), (None, "bc"), (4.0, "a"))
    made = eval(datasets.literal(found, records), {"np": np, "pd": pandas})
    built = datasets.built(found, records)
    assert repr(tuple(built) if container == "args" else built) == repr(made)


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ([1, 2, 3], [1, 2, 3], Difference()),
        ([1, 2, 3], [1, 2, 4], Difference(replaced=1)),
        ([1, 2, 3], [3, 1, 2], Difference(replaced=3)),
        ([1, 2, 3], [2, 3], Difference(removed=1)),
        ([1, 3], [1, 2, 3], Difference(added=1)),
        ([1, 1], [1, 1, 1], Difference(added=1)),
        ([1, 2, 3], [1, 4], Difference(replaced=1, removed=1)),
    ],
)
def test_differences_are_counted_in_rows(first, second, found):
    assert sequence_difference(first, second) == found


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (((1.0,), (math.nan,)), ((1.0,), (math.nan,)), "is not replace-one"),  # NaN is NaN: the same datasets
        (((1,), (2,)), ((1.0,), (2.0,)), "2 replaced"),  # types count
        (((1.0,), (2.0,)), ((1.0,),), "is not replace-one"),
    ],
)
def test_what_is_no_pair_of_neighbours_is_refused(first, second, words):
    with pytest.raises(NeighbourError, match=words):
        Candidate("a pair", REPLACE, first, second)


def test_a_codebook_drops_nothing():
    sample = [{"a": 1.0, "t": "x", "c": 0.0}, {"a": 2.0, "t": "y", "c": 0.0}, {"a": math.nan, "c": 0.0, "t": "x"}] * 5
    book = Codebook.of(sample)
    base = book.rows(sample[:1])[0]
    assert base[-1] == 0
    for odd in (
        {"a": 1.0, "t": "x", "c": 1.0},
        {"a": 1.0, "t": "new", "c": 0.0},
        {"a": 1.0, "t": "x"},
        {"a": 1.0, "t": "x", "c": 0.0, "d": 0.0},
        {"a": "None", "t": "x", "c": 0.0},
        {"a": 1.0, "t": 3.0, "c": 0.0},
    ):
        assert book.rows([odd])[0, -1] == 1, odd
    lengths = [{"n#": 1.0, "n[0]": 1.0}, {"n#": 2.0, "n[0]": 1.0, "n[1]": 5.0}] * 3
    rows = Codebook.of(lengths).rows(lengths)
    assert len(np.unique(np.nan_to_num(rows, nan=-1.0), axis=0)) == 2
    assert not (rows[:, -1]).any()


@pytest.mark.parametrize(
    ("line", "values", "flags"),
    [
        ("list: category a|b|c open, rows 3", ("a", "b", "c"), ("open",)),
        ("list: category a|b missing open, rows 3", ("a", "b"), ("missing", "open")),
        ("list: category a|b all_present, rows 3", ("a", "b"), ("all_present",)),
        ("list: category New York|Rome, rows 3", ("New York", "Rome"), ()),
        ("list: category open|shut, rows 3", ("open", "shut"), ()),
        ("value: category True|False", (True, False), ()),
        ("value: category 0|1", (0, 1), ()),
        ("value: category .5|1|2.5", (0.5, 1, 2.5), ()),
    ],
)
def test_values_and_flags_of_a_category_in_one_line(line, values, flags):
    (column,) = data_schema(line).columns
    assert column.values == values
    assert list(map(type, column.values)) == list(map(type, values))
    assert {flag for flag in ("missing", "open", "all_present") if getattr(column, flag)} == set(flags)


@pytest.mark.parametrize("values", ["a|1", "True|1", "True|yes", "1|2|three"])
def test_values_of_several_kinds_are_refused(values):
    with pytest.raises(UsageError, match="of several kinds"):
        data_schema(f"value: category {values}")
