"""Data that are legal and thin: one value, one category, no rows, one row, equal numbers. A schema takes them."""

import itertools

import numpy as np
import pytest

from dpverify.claims.claim import PureDP
from dpverify.claims.neighbours import Relation
from dpverify.cli.main import run
from dpverify.errors import UsageError
from dpverify.wild import pairs, replay, schema, try_out

pytestmark = pytest.mark.process

REPLACE, ADD = Relation.REPLACE_ONE, Relation.ADD_OR_REMOVE_ONE
ONE_VALUE = {"kind": "real", "low": 3.0, "high": 3.0}
UNIT_INTERVAL = {"kind": "real", "low": 0.0, "high": 1.0}
ONE_CLASS = {"kind": "category", "values": ["a"]}


def of(container, rows, **columns):
    return {"data": {"as": container, "rows": rows}, "columns": columns}


def total(data, rng, scale):
    return float(np.sum(data)) + rng.laplace(0.0, scale)


def classes(data, rng, scale):
    return {name: data["c"].tolist().count(name) + rng.laplace(0.0, scale) for name in ("a", "b")}


def count(data, rng, scale):
    return len(data) + rng.laplace(0.0, scale)


KINDS = {
    "a column with one value": (of("vector", [1, 6], x=ONE_VALUE), "add-remove", total, 3.0),
    "a whole number": (of("vector", [1, 6], x={**ONE_VALUE, "kind": "integer"}), "add-remove", total, 3.0),
    "a category with one value": (of("columns", [2, 6], c=ONE_CLASS), "add-remove", classes, 1.0),
    "one value beside a column": (of("array", [2, 6], x=ONE_VALUE, y=UNIT_INTERVAL), "replace", total, 1.0),
    "no rows or one": (of("list", [0, 1], x=UNIT_INTERVAL), "add-remove", count, 1.0),
    "no rows": (of("list", [0, 0], x=UNIT_INTERVAL), None, count, 1.0),
    "no rows, of many columns": (
        of("frame", [0, 0], x=UNIT_INTERVAL, c=ONE_CLASS, t={"kind": "text"}),
        None,
        count,
        1.0,
    ),
    "one row": (of("vector", [1, 1], x=UNIT_INTERVAL), None, total, 1.0),
    "one row of a table": (
        of("columns", [1, 1], x=UNIT_INTERVAL, c=ONE_CLASS, i={"kind": "id"}),
        None,
        lambda data, rng, scale: total(data["x"], rng, scale),
        1.0,
    ),
    "one row, with classes": (of("columns", [1, 1], c={"kind": "category", "values": ["a", "b"]}), None, classes, 2.0),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_right_stands_on_thin_data_and_what_is_wrong_falls(kind):
    document, relation, function, scale = KINDS[kind]
    for times, verdict in ((1.0, "NOT_REFUTED"), (0.25, "REFUTED")):
        record = try_out(
            function,
            claim=PureDP(1.0),
            schema=document,
            relation=relation,
            minutes=2.0,
            arguments={"scale": times * scale},
            trials=300,
            out_of_domain="off",
        )
        assert record.verdict == verdict, record.notes


CSV = {
    "equal numbers": "amount,town\n1234567,Rome\n1234567,Rome\n1234567,Rome\n",
    "one row": "amount,town\n2.5,Rome\n",
    "no rows": "amount,town\n",
}


@pytest.mark.parametrize("kind", CSV)
def test_a_sketch_of_thin_data_is_a_schema_that_try_takes(kind, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "thin.csv").write_text(CSV[kind])
    (tmp_path / "counting.py").write_text(
        "def noisy(data, rng, scale):\n    return len(data) + rng.laplace(0.0, scale)\n"
    )
    assert run(["certify", "--sketch", "thin.csv"]) == 0
    (tmp_path / "thin.toml").write_text(capsys.readouterr().out)
    found = schema.read_schema("thin.toml")
    assert found.rows == {"equal numbers": (2, 3), "one row": (0, 1), "no rows": (0, 0)}[kind]
    if kind == "equal numbers":
        assert (found.column("amount").low, found.column("amount").high) == (1234567, 1234567)
        assert found.column("town").values == ("Rome",)
    asked = ["--claim", "pure:1", "--data", "thin.toml", "--no-tape", "--minutes", "1", "--trials", "300"]
    asked += ["--out-of-domain", "off"]
    # rows that are all alike have neighbours under add-or-remove-one, and the count is proved there; no rows have none
    right = 3 if kind == "no rows" else 0
    assert run(["certify", "counting.py:noisy", "--arg", "scale=1.0", *asked]) == right
    assert run(["certify", "counting.py:noisy", "--arg", "scale=0.2", *asked]) == 1


@pytest.mark.parametrize(
    "document",
    [
        of("list", [3, 5], x=ONE_VALUE),  # no two rows differ
        of("list", [3, 3], x=UNIT_INTERVAL),  # no row can be added
    ],
)
def test_pairs_end_where_there_are_none(document):
    found = schema.parse(document)
    relation = REPLACE if document["data"]["rows"] == [3, 5] else ADD
    assert list(itertools.islice(pairs.random_pairs(found, relation, np.random.default_rng(1)), 3)) == []
    word = "replace" if relation is REPLACE else "add-remove"
    with pytest.raises(UsageError, match="no two datasets of this schema"):
        replay(lambda data: 0, claim=PureDP(1.0), schema=document, relation=word)
    with pytest.raises(UsageError, match="no two datasets of this schema"):
        try_out(lambda data: 0, claim=PureDP(1.0), schema=document, relation=word)


@pytest.mark.parametrize("relation", [REPLACE, ADD])
def test_what_is_out_of_a_domain_of_one_number_is_out_of_it(relation):
    found = schema.parse(of("list", [1, 4], x=ONE_VALUE))
    made = pairs.outside(found, relation, np.random.default_rng(1))
    assert len(made) == 4
    assert all(each.second[-1] != (3.0,) for each in made)


def test_draws_stay_within_narrow_bounds():
    found = schema.parse(
        of(
            "list",
            [1, 4],
            x={"kind": "real", "low": 0.12345, "high": 0.12345},
            n={"kind": "integer", "low": 0.5, "high": 1.5},
        )
        | {"data": {"rows": [1, 4]}}
    )
    rng = np.random.default_rng(1)
    rows = [*(pairs.random_record(found, rng) for _ in range(9)), *(pairs.corner(found, rng) for _ in range(9))]
    assert set(rows) == {(0.12345, 1)}
