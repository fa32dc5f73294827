"""What a program asks of its data before it begins, where the schema has the answer for every row.

    np.isfinite(x).all()      True: numbers of a schema have finite ends
    x.dtype.kind in "iuf"     of a column of numbers: float64, int64 or bool
    hasattr(x, "__len__")     as the type of the real value has it
    x.min() < 0               compared in `arithmetic`, by the certain range

Where the schema does not say, the question ends the proof: its answer shows data.
"""

import builtins
import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpverify.proof.arithmetic import aggregate_within, row_node
from dpverify.proof.functions import as_symbol, real_type, rule, RULES
from dpverify.proof.moves import aggregate_of
from dpverify.proof.run import Run
from dpverify.proof.structure import term_of
from dpverify.proof.terms import Aggregate, Public, Rows, Sum, Symbol, Table

DTYPES = {"f": np.dtype(np.float64), "i": np.dtype(np.int64), "b": np.dtype(np.bool_)}


def _is_number(name: str, answer: bool) -> Callable[..., Any]:
    """The rule of isfinite (`answer` True), isnan and isinf: the answer for finite numbers."""

    def asked(run: Run, value: Any, **kwargs: Any) -> Any:
        if any(each is not None for each in kwargs.values()):
            raise run.ends(f"{name} with {', '.join(kwargs)}")
        value = as_symbol(run, value)
        term = term_of(value)
        if isinstance(term, Rows) and term.node.kind == "m":
            return _of_gaps(run, name, value)
        if isinstance(term, Rows):
            low, high = run.domain.bounds(term.node)
            shape = term.node.shape
            known = term.node.kind in "bif" and not term.powers
        elif isinstance(term, Sum | Aggregate):
            found = aggregate_of(run, term)
            low, high, shape, known = found.low, found.high, found.shape, not found.powers
        elif isinstance(run.make_public(value).term, Public):
            return run.symbol(
                Public(value.term.shape, 0.0, 1.0, True, by_row=value.term.by_row, defined=True, truth=True),
                value.guise,
            )
        else:
            known = False
        if not known or not (np.isfinite(low) & np.isfinite(high)).all():
            raise run.ends(f"{name}() of values that have no finite ends", "clip them first")
        certain = np.full(shape, answer)
        if isinstance(term, Rows):
            return run.symbol(Rows(run.domain.constant(certain), (), term.mask, term.scope), value.guise)
        return run.symbol(aggregate_within(certain, certain, whole=True, truth=True))

    return asked


def _of_gaps(run: Run, name: str, value: Symbol) -> Any:
    """Of a column whose values may be missing: NaN where they are, finite elsewhere."""
    if name in ("isnan", "isfinite"):
        wanted = run.domain.constant(int(name == "isnan"))
        missing = row_node(run, "equal", [run.domain.is_missing(value.term.node.extra), wanted])
        return run.symbol(Rows(missing, (), value.term.mask, value.term.scope), value.guise)
    raise run.ends(f"{name}() of a column with missing values", "use fillna with a public number, or dropna")


for _name, _answer in (("isfinite", True), ("isnan", False), ("isinf", False)):
    rule(getattr(np, _name), getattr(math, _name), getattr(cmath, _name))(_is_number(_name, _answer))


@rule(methods=("isna", "isnull"))
def is_missing(run: Run, value: Symbol) -> Any:
    """`series.isna()`: where a value is missing."""
    return RULES[np.isnan](run, _series(run, value))


@rule(methods=("notna", "notnull"))
def is_there(run: Run, value: Symbol) -> Any:
    """`series.notna()`: where a value is there."""
    return RULES[np.isfinite](run, _series(run, value))


def _series(run: Run, value: Symbol) -> Symbol:
    if value.guise != "series" or not isinstance(value.term, Rows) or value.term.scope is not None:
        raise run.ends("missing values of data other than one column", "take a column")
    return value


@rule(np.nan_to_num)
def nan_to_num(run: Run, value: Any, **kwargs: Any) -> Any:
    """np.nan_to_num: finite numbers stay what they are."""
    value = as_symbol(run, value)
    term = term_of(value)
    if kwargs or not isinstance(term, Rows) or term.scope is not None or term.node.kind not in "bif" or term.powers:
        raise run.ends("nan_to_num() of data other than rows", "use np.where or fillna")
    if not all(np.isfinite(each).all() for each in run.domain.bounds(term.node)):
        raise run.ends("nan_to_num() of values that have no finite ends", "clip them first")
    return run.symbol(Rows(term.node, (), term.mask), "array")


@rule(np.atleast_1d)
def at_least_1d(run: Run, value: Any) -> Any:
    """np.atleast_1d: rows are an array already."""
    if isinstance(term_of(value), Rows) and term_of(value).scope is None:
        return Symbol(run, value.term, "array", value.shared)
    raise run.ends("atleast_1d() of data other than rows", "use np.asarray")


@rule(np.isrealobj)
def is_real_object(run: Run, value: Any) -> bool:
    """np.isrealobj: no column is complex."""
    return not is_complex_object(run, value)


@rule(np.iscomplexobj)
def is_complex_object(run: Run, value: Any) -> bool:
    """np.iscomplexobj: no column is complex."""
    if isinstance(term_of(value), Rows | Sum | Aggregate):
        return False
    raise run.ends("the type of this value is asked")


@rule(builtins.hasattr)
def has_attribute(run: Run, value: Any, name: Any) -> bool:
    """hasattr() as the type of the real value answers, of arrays and lists."""
    term = term_of(value)
    if isinstance(name, str) and isinstance(term, Rows | Table) and value.guise in ("array", "list"):
        return hasattr(real_type(run, value), name)
    raise run.ends(f"an attribute of data is looked up by its name {name!r}")


def column_dtype(run: Run, value: Symbol) -> np.dtype[Any]:
    """The dtype of an array, where it is that of a column: of a list of numbers of several types it depends on data."""
    term = value.term
    if value.guise in ("array", "series") and isinstance(term, Rows):
        node = term.node
        parts = node.args if node.op == "stack" else (node,)
        kinds = {each.args[0].kind if each.op == "number" else each.kind for each in parts}
        plain = all((each.args[0] if each.op == "number" else each).op == "column" for each in parts)
        if plain and (len(kinds) == 1 or "f" in kinds) and _is_uniform(run, parts):
            return DTYPES[node.kind]
    raise run.ends("the type of an array of computed values is read", "convert it with astype() when the data come in")


def _is_uniform(run: Run, parts: Any) -> bool:
    """Whether all values of these columns are of one type: those of `category 0|0.5` are not."""
    columns = [run.domain.columns[(each.args[0] if each.op == "number" else each).extra] for each in parts]
    return all(len({type(value) for value in each.values}) <= 1 for each in columns)
