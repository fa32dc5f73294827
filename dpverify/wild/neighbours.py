"""Whether two datasets are neighbours, by looking at them: rows as tuples, in order, NaN equal to NaN.

Replace-one: same length, one row differs. Add-or-remove: one is the other with one row deleted, found by the longest
common prefix and suffix. Arrays, (X, y), dicts of columns, frames (index excluded), lists of records. Types count: 1
and 1.0 are different cells, and so are columns of different types or in another order.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpverify.base.errors import NeighbourError
from dpverify.claims.neighbours import Dataset, Difference, Pair, Relation

Rows = tuple[Any, list[tuple[Any, ...]]]


def rows_of(data: Any) -> Rows | None:
    """(form, rows) of a dataset, each row a tuple of comparable cells; None for what has no rows."""
    if isinstance(data, dict):
        return _side_by_side([(name, _cells(column)) for name, column in data.items()], "columns")
    if isinstance(data, tuple):
        return _side_by_side(list(enumerate(map(_cells, data))), "args")
    if hasattr(data, "columns") and hasattr(data, "iloc"):
        columns = [(name, _cells(data.iloc[:, at])) for at, name in enumerate(data.columns)]
        return _side_by_side(columns, "frame")
    if isinstance(data, list) or hasattr(data, "dtype"):
        return _side_by_side([("", _cells(data))], type(data).__name__)
    return None


def _side_by_side(columns: list[tuple[Any, Any]], form: str) -> Rows | None:
    if any(cells is None for _, cells in columns) or not columns:
        return None
    lengths = {len(cells[1]) for _, cells in columns}
    if len(lengths) != 1:
        return None
    names = [(name, cells[0]) for name, cells in columns]
    return (form, names), list(zip(*(cells[1] for _, cells in columns), strict=True))


def _cells(column: Any) -> tuple[Any, list[Any]] | None:
    """(type, cells) of one column."""
    dtype = getattr(column, "dtype", None)
    if dtype is not None:
        if hasattr(column, "iloc") and dtype.kind == "O":
            return "object", [_cell(each) for each in column.tolist()]
        shape = getattr(column, "shape", ())
        if not shape:
            return None
        if dtype.kind == "O" or not isinstance(column, np.ndarray):
            return str(dtype), [_cell(each) for each in column.tolist()]
        flat = np.ascontiguousarray(column).reshape(shape[0], math.prod(shape[1:]))
        return (str(dtype), shape[1:]), [tuple(map(_cell, row)) for row in flat.tolist()]
    if isinstance(column, list):
        return "list", [_cell(each) for each in column]
    return None


def _cell(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return "nan", "float"
    if isinstance(value, dict):
        return tuple((key, _cell(each)) for key, each in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_cell, value))
    return type(value).__name__, value


def difference(first: Any, second: Any) -> Difference | None:
    """How two datasets differ, counted in rows; None where they have no rows to compare."""
    if isinstance(first, Dataset) and type(first) is type(second):
        return first.differences(second)
    ours, theirs = rows_of(first), rows_of(second)
    if ours is None or theirs is None:
        return None
    if ours[0] != theirs[0]:
        raise NeighbourError(f"the datasets are of different forms: {_form(ours)} and {_form(theirs)}")
    return counted(ours[1], theirs[1])


def counted(first: Sequence[Any], second: Sequence[Any]) -> Difference:
    """Rows replaced in place, or added or removed between the longest common prefix and suffix."""
    if len(first) == len(second):
        return Difference(replaced=sum(a != b for a, b in zip(first, second, strict=True)))
    head, tail = _ends(first, second)
    left, right = len(first) - head - tail, len(second) - head - tail
    both = min(left, right)
    return Difference(replaced=both, added=right - both, removed=left - both)


def gap(first: Sequence[Any], second: Sequence[Any]) -> set[int]:
    """Places in `first` that the other dataset does not have."""
    if len(first) == len(second):
        return {at for at, (a, b) in enumerate(zip(first, second, strict=True)) if _cell(a) != _cell(b)}
    ours, theirs = [_cell(each) for each in first], [_cell(each) for each in second]
    head, tail = _ends(ours, theirs)
    return set(range(head, len(first) - tail))


def _ends(first: Sequence[Any], second: Sequence[Any]) -> tuple[int, int]:
    shorter = min(len(first), len(second))
    head = next((at for at in range(shorter) if first[at] != second[at]), shorter)
    tail = next((at for at in range(shorter - head) if first[-1 - at] != second[-1 - at]), shorter - head)
    return head, tail


def _form(rows: Rows) -> str:
    return f"{rows[0][0]} of " + ", ".join(f"{name or 'cells'} ({kind})" for name, kind in rows[0][1])


def verified(pair: Pair, relation: Relation) -> Pair:
    """The pair under `relation`, compared row by row; NeighbourError where it is none, or cannot be compared."""
    found = difference(pair.first, pair.second)
    name = f"pair {pair.name!r}" if pair.name else "the pair"
    if found is None:
        raise NeighbourError(f"{name}: a {type(pair.first).__name__} has no rows that can be compared")
    if not found.allowed_by(relation):
        raise NeighbourError(f"{name} is not {relation}: {found}")
    return Pair(pair.first, pair.second, relation=relation, name=pair.name, verified=True)
