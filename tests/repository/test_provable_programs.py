"""The programs of `benchmarks/provable`: rows are well formed, programs run, and some truths by account."""

import importlib.util
from collections import Counter
from functools import cache

import numpy as np
import pytest

from benchmarks.provable.table import PROGRAMS, ROWS
from dpverify.claims.curves import parse_claim
from dpverify.claims.neighbours import Relation
from dpverify.wild.datasets import built
from dpverify.wild.one_line import data_schema
from dpverify.wild.pairs import ordinary, random_pairs
from dpverify.wild.trying import relations

NAMES = [row.name for row in ROWS]
RIGHT = {row.name: row for row in ROWS if row.right}


@cache
def module(path):
    spec = importlib.util.spec_from_file_location(f"provable_{path.stem}", path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def function(row):
    return getattr(module(row.path), row.function)


def called(row, schema, data):
    return function(row)(*data) if schema.container == "args" else function(row)(data)


def test_names_are_unique_and_there_are_enough():
    assert [name for name, times in Counter(NAMES).items() if times > 1] == []
    assert sum(row.right for row in ROWS) >= 75
    assert sum(not row.right for row in ROWS) >= 75


def test_every_file_of_programs_is_in_the_table():
    assert {path.name for path in PROGRAMS.glob("*.py")} - {"__init__.py"} == {row.file for row in ROWS}


def test_every_wrong_program_names_its_right_twin_and_every_right_one_has_one():
    twins = {row.twin for row in ROWS if not row.right}
    assert twins == set(RIGHT)
    assert all(row.file == RIGHT[row.twin].file for row in ROWS if not row.right)
    assert not any(row.twin for row in RIGHT.values())


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_row(row):
    """Claim, relation and schema parse; a known number is on the right side; the program runs on ordinary data."""
    schema, claim = data_schema(row.data), parse_claim(row.claim)
    assert row.relation in ("replace", "add-remove")
    relation = relations(schema, row.relation)[0]
    assert relation is {"replace": Relation.REPLACE_ONE, "add-remove": Relation.ADD_OR_REMOVE_ONE}[row.relation]
    assert row.reason
    assert row.exact is None or (row.exact <= claim.number * (1 + 1e-9)) is row.right
    rng = np.random.default_rng(NAMES.index(row.name))
    for _ in range(2):
        size = int(rng.integers(schema.rows[0], schema.rows[1] + 1))
        with np.errstate(all="ignore"):
            called(row, schema, built(schema, ordinary(schema, size, rng)))
    pair = next(random_pairs(schema, relation, rng))
    with np.errstate(all="ignore"):
        called(row, schema, built(schema, pair.first))
        called(row, schema, built(schema, pair.second))
