"""Records in the container that a library takes: on the wire, as Python, as text of a script.

Records are tuples in the order of the schema's columns; None is a missing value.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpverify.claims.neighbours import (
    changed_units,
    common_ends,
    refuse_more_rows,
    Relation,
    sequence_difference,
    Unit,
    unit_difference,
)
from dpverify.errors import NeighbourError, UsageError
from dpverify.wild.schema import Column, Schema
from dpverify.wild.worker import codec

# ----------------------------------------------------------------------------------------------------------------------
# Whether two datasets are neighbours, by looking at them: rows as tuples, in order, NaN equal to NaN.
#
# Replace-one: same length, one row differs. Add-or-remove: one is the other with one row deleted, found by the longest
# common prefix and suffix. Where the schema has a unit, all rows of one user in place of one row. Types count: 1 and
# 1.0 are different cells.


def _comparable(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return "nan", "float"
    if isinstance(value, dict):
        return tuple((key, _comparable(each)) for key, each in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_comparable, value))
    return type(value).__name__, value


def gap(first: Sequence[Any], second: Sequence[Any], unit: int | None = None) -> set[int]:
    """Places in `first` that the other dataset does not have; all of a user whose rows differ."""
    if unit is not None:
        changed = changed_units(_units(first, unit), _units(second, unit))
        return {at for at, row in enumerate(first) if row[unit] in changed}
    if len(first) == len(second):
        return {at for at, (a, b) in enumerate(zip(first, second, strict=True)) if _comparable(a) != _comparable(b)}
    ours, theirs = [_comparable(each) for each in first], [_comparable(each) for each in second]
    head, tail = common_ends(ours, theirs)
    return set(range(head, len(first) - tail))


def _units(records: Sequence[Any], unit: int) -> list[tuple[Any, Any]]:
    return [(row[unit], _comparable(row)) for row in records]


# ----------------------------------------------------------------------------------------------------------------------


Record = tuple[Any, ...]
Records = tuple[Record, ...]


def wire(schema: Schema, records: Records) -> bytes:
    """A dataset as the worker takes it: how it is handed over, and the value."""
    how, value = _handed(*_without_hidden(schema, records))
    return codec.packed((how, value))


def built(schema: Schema, records: Records) -> Any:
    """A dataset in this interpreter: what a function of one argument is called with."""
    return codec.restored(_handed(*_without_hidden(schema, records))[1])


def _without_hidden(schema: Schema, records: Records) -> tuple[Schema, Records]:
    """What the code gets: a unit's column may say whose row it is to us alone."""
    kept = [at for at, each in enumerate(schema.columns) if not each.hidden]
    if len(kept) == len(schema.columns):
        return schema, records
    columns = tuple(schema.columns[at] for at in kept)
    return replace(schema, columns=columns), tuple(tuple(row[at] for at in kept) for row in records)


def _handed(schema: Schema, records: Records) -> tuple[str, Any]:
    """(how, value with the tags of `worker.codec`)."""
    names = [each.name for each in schema.columns]
    if schema.container in ("columns", "keywords"):
        columns = [[each.name, _array(each, cells(schema, records, each.name))] for each in schema.columns]
        return "keywords" if schema.container == "keywords" else "one", ("dict", columns)
    if schema.container == "frame":
        return "one", (
            "frame",
            [[each.name, _series(each, cells(schema, records, each.name))] for each in schema.columns],
            None,
        )
    if schema.container == "array":
        return "one", _matrix(schema, records, names)
    if schema.container == "vector":
        return "one", _array(schema.columns[0], cells(schema, records, names[0]))
    if schema.container == "list":
        return "one", [_missing(schema.columns[0], each) for each in cells(schema, records, names[0])]
    if schema.container == "args":
        found = [_matrix(schema, records, list(schema.features))]
        if schema.label:
            found.append(_array(schema.column(schema.label), cells(schema, records, schema.label)))
        return "args", found
    dicts = [
        (
            "dict",
            [[name, _missing(column, cell)] for name, column, cell in zip(names, schema.columns, record, strict=True)],
        )
        for record in records
    ]
    if schema.container == "records":
        return "one", dicts
    return "one", dicts[0] if len(names) > 1 else records[0][0]  # a value


def call_in_words(schema: Schema) -> str:
    """What a function of several arguments is called with; nothing for one argument, which is what the line says."""
    if schema.container != "args":
        return ""
    width = len(schema.features)
    label = ", y: array of shape (n,)" if schema.label else ""
    hint = "; `keywords:` gives each column by its name, shape (n,)" if width == 1 else ""
    return f"the function is called with X: array of shape (n, {width}){label}{hint}"


def cells(schema: Schema, records: Records, name: str) -> list[Any]:
    """One column of the records."""
    at = [each.name for each in schema.columns].index(name)
    return [record[at] for record in records]


def _missing(column: Column, cell: Any) -> Any:
    return math.nan if cell is None and column.numeric else cell


def _dtype_of(column: Column, values: Sequence[Any]) -> str:
    """NumPy's type of these cells; "O" where they have none in common."""
    kinds = {type(each) for each in values}
    known = {type(each) for each in column.values} if not (column.numeric or column.names) else set()
    if column.missing and not column.numeric:
        return "<f8" if known and known <= {int, float} else "O"  # the same for datasets with and without a gap
    if column.whole or (known and known <= {int}):
        whole = kinds <= {int} and not column.missing
        return "<i8" if whole else "<f8" if kinds <= {int, float, type(None)} else "O"
    if column.numeric or (known and known <= {int, float}):
        return "<f8"
    if known == {bool}:
        return "|b1" if kinds <= {bool} else "O"
    if known <= {str} and kinds <= {str}:
        longest = max([len(each) for each in values] + [len(each) for each in column.values if isinstance(each, str)])
        return f"<U{max(1, longest)}"
    return "O"


def _array(column: Column, values: list[Any]) -> Any:
    dtype = _dtype_of(column, values)
    if dtype == "O":
        return ("objects", [len(values)], values)
    numbers = [math.nan if each is None else each for each in values]
    return ("array", dtype, [len(values)], np.array(numbers, dtype=dtype).tobytes())


def _matrix(schema: Schema, records: Records, names: list[str]) -> Any:
    columns = [[math.nan if each is None else float(each) for each in cells(schema, records, name)] for name in names]
    found = np.array(columns, dtype="<f8").reshape(len(names), len(records)).T
    return ("array", "<f8", [len(records), len(names)], np.ascontiguousarray(found).tobytes())


def _series(column: Column, values: list[Any]) -> Any:
    dtype = _dtype_of(column, values)
    if dtype[0] in "<|" and dtype[1] in "ifb":
        return _array(column, values)
    return list(values)  # pandas knows best


# as text of a script


def literal(schema: Schema, records: Records) -> str:
    """An expression that makes the dataset; `np` and `pd` stand for NumPy and pandas."""
    schema, records = _without_hidden(schema, records)
    names = [each.name for each in schema.columns]
    if schema.container in ("columns", "keywords"):
        inside = ", ".join(
            f"{each.name!r}: {_text_array(each, cells(schema, records, each.name))}" for each in schema.columns
        )
        return "{" + inside + "}"
    if schema.container == "frame":
        inside = ", ".join(
            f"{each.name!r}: {_text_series(each, cells(schema, records, each.name))}" for each in schema.columns
        )
        return "pd.DataFrame({" + inside + "})"
    if schema.container == "array":
        return _text_matrix(schema, records, names)
    if schema.container == "vector":
        return _text_array(schema.columns[0], cells(schema, records, names[0]))
    if schema.container == "list":
        return _text([_missing(schema.columns[0], each) for each in cells(schema, records, names[0])])
    if schema.container == "args":
        found = [_text_matrix(schema, records, list(schema.features))]
        if schema.label:
            found.append(_text_array(schema.column(schema.label), cells(schema, records, schema.label)))
        return "(" + ", ".join(found) + ",)"
    dicts = [dict(zip(names, map(_missing, schema.columns, record), strict=True)) for record in records]
    if schema.container == "records":
        return _text(dicts)
    return _text(dicts[0] if len(names) > 1 else records[0][0])


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_text(each)}" for key, each in value.items()) + "}"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


def _text_array(column: Column, values: list[Any]) -> str:
    dtype = _dtype_of(column, values)
    numbers = values if dtype == "O" else [math.nan if each is None else each for each in values]
    kind = {"<i8": "int", "<f8": "float", "|b1": "bool", "O": "object"}.get(dtype, "str")
    return f"np.array({_text(numbers)}, dtype={kind})"


def _text_series(column: Column, values: list[Any]) -> str:
    tagged = _series(column, values)
    return _text_array(column, values) if isinstance(tagged, tuple) else _text(values)


def _text_matrix(schema: Schema, records: Records, names: list[str]) -> str:
    at = [[each.name for each in schema.columns].index(name) for name in names]
    rows = [[math.nan if record[place] is None else float(record[place]) for place in at] for record in records]
    return f"np.array({_text(rows)}, dtype=float).reshape(-1, {len(names)})"


def shown_dataset(schema: Schema, records: Records, other: Records) -> list[str]:
    """Records of the first dataset, one a line; those that are not in the other dataset at their place are marked."""
    marked = gap(records, other, schema.unit)
    lines = []
    for at, record in enumerate(records):
        inside = ", ".join(f"{column.name}={_cell(each)}" for column, each in zip(schema.columns, record, strict=True))
        lines.append(("> " if at in marked else "  ") + inside)
    return lines or ["  (no records)"]


def _cell(value: Any) -> str:
    return "missing" if value is None else f"{value:g}" if isinstance(value, float) else repr(value)


# ----------------------------------------------------------------------------------------------------------------------
# A pair of neighbouring datasets as records, before they have a form.


def said(relation: Relation, unit: int | None) -> str:
    """`add-or-remove-one`, `add-or-remove-one user`."""
    return str(relation) if unit is None else f"{relation} {Unit.USER}"


@dataclass(frozen=True)
class Candidate:
    """Two datasets as records, neighbours under `relation`; `domain` is "in" or "out".

    `unit`: the column that says whose row it is, where all rows of a user are changed together.
    """

    name: str
    relation: Relation
    first: Records
    second: Records
    domain: str = "in"
    unit: int | None = None

    def __post_init__(self) -> None:
        ours, theirs = ([tuple(map(_comparable, record)) for record in each] for each in (self.first, self.second))
        found = (
            sequence_difference(ours, theirs)
            if self.unit is None
            else unit_difference(_units(self.first, self.unit), _units(self.second, self.unit))
        )
        if not found.allowed_by(self.relation) or ours == theirs:
            raise NeighbourError(f"pair {self.name!r} is not {self.said}: {found}")

    @property
    def said(self) -> str:
        """The relation in words, with the unit where that is no record."""
        return said(self.relation, self.unit)

    def swapped(self, first: Records, second: Records) -> "Candidate":
        """The same with other records."""
        return replace(self, first=first, second=second)

    def placed(self, row: int) -> "Candidate":
        """The same with the last record of the longer dataset, which is the changed one, as row `row` (from 0)."""
        if row == len(self.second) - 1:
            return self
        where = "the first" if row == 0 else f"row {row + 1}"
        name = self.name.replace("the last becomes", f"{where} becomes").replace("added:", f"added as {where}:")
        rest = self.second[:-1]
        first = (*rest[:row], self.first[-1], *rest[row:]) if len(self.first) == len(self.second) else self.first
        return replace(self, name=name, first=first, second=(*rest[:row], self.second[-1], *rest[row:]))


def written(pairs: dict[Relation, list[Candidate]]) -> dict[str, list[Any]]:
    """Pairs as plain values, for another process; see `read`."""
    return {
        str(relation): [[each.name, list(map(list, each.first)), list(map(list, each.second))] for each in found]
        for relation, found in pairs.items()
    }


def read(plain: dict[str, list[Any]], schema: Schema) -> dict[Relation, list[Candidate]]:
    """What `written` has written: pairs in the schema's domain."""
    return {
        Relation(relation): [
            Candidate(name, Relation(relation), tuple(map(tuple, first)), tuple(map(tuple, second)), "in", schema.unit)
            for name, first, second in found
        ]
        for relation, found in plain.items()
    }


def of_schema(schema: Schema, candidate: Candidate) -> Candidate:
    """A pair from somebody else, with the schema's unit; UsageError where a unit has too many rows."""
    if schema.unit is None:
        return candidate
    width = len(schema.columns)
    if any(len(row) != width for each in (candidate.first, candidate.second) for row in each):
        raise UsageError(
            f"pair {candidate.name!r}: each row must have the {width} columns of the schema, with the "
            f"unit {schema.columns[schema.unit].name!r} among them"
        )
    for each in (candidate.first, candidate.second):
        refuse_more_rows((row[schema.unit] for row in each), schema.columns[schema.unit].most)
    return replace(candidate, unit=schema.unit)
