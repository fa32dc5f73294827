"""What functions of NumPy, Python, math and pandas do to symbols: a table from the function itself to its rule.

A function that is not in the table may be called with public values only: its result is then any public value.
"""

import builtins
import collections
import contextlib
import copy
import dataclasses
import functools
import io
import itertools
import logging
import math
import operator
import statistics
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dpverify.proof import intervals
from dpverify.proof.arithmetic import (
    aggregate_within,
    align_with_rows,
    apply,
    as_node,
    check_axes,
    COMPARE,
    DICT_VIEWS,
    holds_symbols,
    is_by_row,
    is_number,
    LOGIC,
    moved_node,
    number_node,
    refuse_infinite,
    refuse_no_number,
    row_node,
    same_rows,
    strip_shape,
    truth_node,
    weights_of,
)
from dpverify.proof.laws import round_draw
from dpverify.proof.moves import aggregate_of
from dpverify.proof.rows import MOST_LABELS, Node
from dpverify.proof.run import Event, Run, WHOLE
from dpverify.proof.structure import (
    count_of,
    cumulate,
    extreme_entry,
    mean_of_rows,
    plain_rows,
    ranged_of_rows,
    rearrange,
    split,
    spread_of_rows,
    stack,
    stacked_node,
    sum_entries,
    term_of,
    times_matrix,
    total_of_rows,
)
from dpverify.proof.terms import (
    Aggregate,
    Distinct,
    Noise,
    Noisy,
    Opaque,
    Order,
    Public,
    RowPart,
    Rows,
    Source,
    Sum,
    Symbol,
    Table,
    times,
    Weights,
)

Rule = Callable[..., Any]
RULES: dict[Any, Rule] = {}
METHODS: dict[str, Rule] = {}


def rule(*functions: Any, methods: tuple[str, ...] = ()) -> Callable[[Rule], Rule]:
    """Registers a rule for functions and for methods of symbols."""

    def register(given: Rule) -> Rule:
        for each in functions:
            RULES[each] = given
        for name in methods:
            METHODS[name] = given
        return given

    return register


def refuse_keywords(run: Run, name: str, given: dict[str, Any], *known: str) -> None:
    """The proof ends at a keyword that a rule does not know, unless it says nothing."""
    for keyword, value in given.items():
        if keyword not in known and value is not None and value is not np._NoValue:
            raise run.ends(f"{name} with {keyword}=")


def as_symbol(run: Run, value: Any) -> Any:
    """Lists with symbols as one array."""
    return stack(run, value) if isinstance(value, list | tuple) and holds_symbols(value) else value


# ----------------------------------------------------------------------------------------------------------------------
# Entry by entry

_UFUNCS = {
    "add": "add",
    "subtract": "subtract",
    "multiply": "multiply",
    "divide": "divide",
    "true_divide": "divide",
    "floor_divide": "floor_divide",
    "remainder": "remainder",
    "mod": "remainder",
    "power": "power",
    "float_power": "power",
    "maximum": "maximum",
    "minimum": "minimum",
    "negative": "negative",
    "positive": "positive",
    "absolute": "absolute",
    "abs": "absolute",
    "fabs": "absolute",
    "square": "square",
    "sign": "sign",
    "logical_and": "logical_and",
    "logical_or": "logical_or",
    "logical_not": "logical_not",
    "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "invert": "invert",
    "bitwise_xor": "bitwise_xor",
    **{each: each for each in COMPARE},
    "sqrt": "sqrt",
    "log": "log",
    "log1p": "log1p",
    "log2": "log2",
    "log10": "log10",
    "expm1": "expm1",
    "tanh": "tanh",
    "arctan": "arctan",
    "cos": "cos",
    "sin": "sin",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "rint": "rint",
}


def _elementwise(op: str) -> Rule:
    def applied(run: Run, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        refuse_keywords(run, op, kwargs)
        if len(args) != (2 if op in OF_TWO else 1):  # a third one is out=, or the base of a logarithm
            raise run.ends(f"{op} with {len(args)} arguments")
        found = apply(run, op, *args)
        return write_out(run, out, found)

    return applied


OF_TWO = frozenset(each for each in _UFUNCS.values() if getattr(np, each).nin == 2)


def write_out(run: Run, out: Any, found: Any) -> Any:
    """The result of a function with `out=`."""
    if out is None:
        return found
    out = out[0] if isinstance(out, tuple) else out
    if not isinstance(out, Symbol) or len(out.shared) > 1:
        raise run.ends("a result is written with out= into an array that others see", "assign the result")
    out.term = term_of(found)
    return out


for _name, _op in _UFUNCS.items():
    RULES[getattr(np, _name)] = _elementwise(_op)
for _function, _op in (
    (builtins.abs, "absolute"),
    (math.sqrt, "sqrt"),
    (math.log, "log"),
    (math.log1p, "log1p"),
    (math.log2, "log2"),
    (math.log10, "log10"),
    (math.expm1, "expm1"),
    (math.tanh, "tanh"),
    (math.atan, "arctan"),
    (math.cos, "cos"),
    (math.sin, "sin"),
    (math.fabs, "absolute"),
    (math.pow, "power"),
):
    RULES[_function] = _elementwise(_op)
for _function, _op in (
    (operator.add, "add"),
    (operator.mul, "multiply"),
    (operator.sub, "subtract"),
    (operator.truediv, "divide"),
):
    RULES[_function] = functools.partial(lambda op, run, a, b: run.hooks.binary(op, a, b), _op)
RULES[operator.neg] = lambda run, value: run.hooks.unary("negative", value)


@rule(math.copysign, np.copysign)
def copy_sign(run: Run, size: Any, value: Any) -> Any:
    """|size| with the sign of a value that is not 0 (a draw of a continuous law)."""
    for each in (size, value):
        if not isinstance(term_of(each), Noise) and isinstance(
            run.make_public(each).term if isinstance(each, Symbol) else None, Rows | Sum | Aggregate | Table | Weights
        ):
            raise run.ends("copysign of data")
    return apply(
        run,
        "multiply",
        apply(run, "absolute", size) if isinstance(size, Symbol) else np.abs(size),
        apply(run, "sign", value) if isinstance(value, Symbol) else np.copysign(1.0, value),
    )


@rule(np.exp, math.exp)
def exponential(run: Run, value: Any, **kwargs: Any) -> Any:
    """exp of data is a weight of a choice; of anything else the function."""
    refuse_keywords(run, "exp", kwargs)
    value = as_symbol(run, value)
    term = term_of(value)
    if isinstance(term, Sum | Aggregate):
        return run.symbol(weights_of(run, term))
    return apply(run, "exp", value)


@rule(np.clip, methods=("clip",))
def clip(
    run: Run,
    value: Any,
    low: Any = None,
    high: Any = None,
    out: Any = None,
    *,
    a_min: Any = None,
    a_max: Any = None,
    lower: Any = None,
    upper: Any = None,
    min: Any = None,
    max: Any = None,
    **kwargs: Any,
) -> Any:
    """minimum(maximum(value, low), high)."""
    refuse_keywords(run, "clip", kwargs)
    low = next((each for each in (low, a_min, lower, min) if each is not None), None)
    high = next((each for each in (high, a_max, upper, max) if each is not None), None)
    found = value
    if isinstance(value, Symbol) and value.guise in ("series", "frame"):
        low, high = ordered_ends(run, low, high)
    if low is not None:
        found = apply(run, "maximum", found, low)
    if high is not None:
        found = apply(run, "minimum", found, high)
    return write_out(run, out, _copy_if_same(run, value, found))


def ordered_ends(run: Run, low: Any, high: Any) -> tuple[Any, Any]:
    """Ends of `clip` as pandas takes them: it turns two numbers in the wrong order round, NumPy does not."""
    if low is None or high is None:
        return low, high
    most = term_of(low).high if isinstance(term_of(low), Public) else low
    least = term_of(high).low if isinstance(term_of(high), Public) else high
    if any(not isinstance(each, int | float | np.integer | np.floating) for each in (most, least)):
        raise run.ends("clip of a series with ends that are no numbers")
    if float(most) <= float(least):
        return low, high
    if most is low and least is high:
        return high, low
    raise run.ends("the ends of clip, which pandas turns round where the lower one is above the upper one")


@rule(np.where)
def where(run: Run, condition: Any, yes: Any = None, no: Any = None) -> Any:
    """yes where the condition holds, no elsewhere."""
    if yes is None or no is None:
        raise run.ends("the places where a condition holds", "use np.where with three arguments")
    values = [as_symbol(run, each) for each in (condition, yes, no)]
    check_axes(run, [term_of(each) for each in values])
    for each in values:
        if isinstance(term_of(each), Noise | Noisy):
            run.make_public(each)
    terms = [term_of(each) for each in values]
    if isinstance(terms[0], Rows) or any(isinstance(each, Rows) for each in terms[1:]):
        return _where_of_rows(run, terms, values)
    if any(isinstance(each, Sum | Aggregate | Weights) for each in terms):
        if isinstance(terms[0], Public):
            raise run.ends(
                "data are chosen entry by entry by a released value", "add noise to both and choose afterwards"
            )
        parts = [aggregate_of(run, each) if isinstance(each, Sum | Aggregate) else each for each in terms[1:]]
        if any(isinstance(each, Weights) for each in terms):
            raise run.ends("np.where of the weights of a choice")
        for each in parts:
            if not isinstance(each, Aggregate):
                refuse_no_number(run, each)
        ranges = [(each.low, each.high) if isinstance(each, Aggregate) else _range(each) for each in parts]
        truth = all(is_of_truth_values(each) for each in parts)
        low, high = intervals.hull(*ranges)
        if isinstance(terms[0], Sum | Aggregate) or any(np.shape(each) for each in (low,)):
            shape = np.broadcast_shapes(np.shape(low), terms[0].shape if hasattr(terms[0], "shape") else ())
            low, high = np.broadcast_to(low, shape), np.broadcast_to(high, shape)
        return run.symbol(aggregate_within(low, high, truth=truth))
    low, high = intervals.hull(*(_range(each) for each in terms[1:]))
    shapes: list[Any] = [each.shape if isinstance(each, Public) else np.shape(each) for each in terms]
    if any(each is None for each in shapes):
        return run.public(None)
    by_row = any(isinstance(each, Public) and each.by_row for each in terms)
    defined, finite = (all(facts) for facts in zip(*(is_number(each) for each in terms[1:]), strict=True))
    ends, shape = (float(np.min(low)), float(np.max(high))), np.broadcast_shapes(*shapes)
    truth = all(is_of_truth_values(each) for each in terms[1:])
    return run.symbol(Public(shape, *ends, by_row=by_row, defined=defined, finite=finite, truth=truth))


def _range(value: Any) -> tuple[Any, Any]:
    if isinstance(value, Public):
        return np.asarray(value.low), np.asarray(value.high)
    array = np.asarray(value, float)
    return array, array


def _where_of_rows(run: Run, terms: list[Any], values: list[Any]) -> Any:
    _, mask, scope = same_rows(run, terms)
    if scope is None:
        terms = align_with_rows(run, terms)
    powers = {
        each.powers for each in terms[1:] if isinstance(each, Rows) and (each.powers or each.node.op != "constant")
    }
    if len(powers) > 1 or (isinstance(terms[0], Rows) and terms[0].powers):
        raise run.needs_rows("a factor in np.where")
    common = next(iter(powers), ())
    if common and not all(isinstance(each, Rows) or not np.any(each) for each in terms[1:]):
        raise run.needs_rows("a factor in np.where")
    nodes = [as_node(run, each) for each in terms]
    condition = truth_node(run, nodes[0])
    nodes = [number_node(run, each, "i") if not (nodes[1].kind == nodes[2].kind == "b") else each for each in nodes[1:]]
    node = where_node(run, condition, *nodes)
    guise = next((each.guise for each in values if isinstance(each, Symbol) and isinstance(each.term, Rows)), "array")
    return run.symbol(Rows(node, common, mask, scope), "array" if guise == "series" else guise)  # as NumPy has it


def where_node(run: Run, condition: Node, yes: Node, no: Node) -> Node:
    """where() of functions of a row, with the norm facts of a guarded clip."""
    if "c" in (yes.kind, no.kind):
        raise run.ends("texts are chosen for each row")
    shape = np.broadcast_shapes(condition.shape, yes.shape, no.shape)
    kind = "b" if yes.kind == no.kind == "b" else "i" if yes.kind in "bi" and no.kind in "bi" else "f"
    node = run.domain.node("where", [condition, yes, no], shape=shape, kind=kind)
    _guarded_norm(run, node, condition, yes, no)
    return node


def _guarded_norm(run: Run, node: Node, condition: Node, yes: Node, no: Node) -> None:
    """Norms of rows that are scaled where they are too long.

    where(|v| > c, c/|v|, 1) is at most c/|v|, and so is where(|v| <= c, 1, c/|v|). where(s > c, w, v) with s at least
    f |v| has the norm of w or is v with |v| <= c/f.
    """
    if condition.op != "compare" or condition.args[1].op != "constant" or condition.args[0].at_least_norm is None:
        return
    if math.prod(condition.shape) != 1:  # each entry would be chosen by itself
        return
    vector, order, factor = condition.args[0].at_least_norm
    if condition.args[1].extra.size != 1 or condition.extra not in ("<", "<=", ">", ">="):
        return
    limit = float(condition.args[1].extra.flat[0])
    scaled, one = (yes, no) if condition.extra in (">", ">=") else (no, yes)
    if strip_shape(one) is vector and order in scaled.norms and limit > 0:  # v itself where s |v| is at most the limit
        node.norms[order] = max(scaled.norms[order], float(intervals.quotient_of(limit, factor)[1]))
    if condition.args[0].op != "norm" or factor != 1:
        return
    if scaled.over_norm is None or scaled.over_norm[:2] != (vector, order) or one.op != "constant":
        return
    if one.extra.size == 1 and 0 <= float(one.extra.flat[0]) <= 1:
        node.over_norm = (vector, order, max(scaled.over_norm[2], limit))


# ----------------------------------------------------------------------------------------------------------------------
# Reductions


def _axes(run: Run, term: Any, axis: Any) -> tuple[bool, Any]:
    """Whether the axis of the rows is reduced, and which axis of a row's value (False: none, None: all)."""
    depth = len(term.node.shape) + 1
    if axis is None:
        return True, None
    if isinstance(axis, tuple):
        if len({each % depth for each in axis}) == depth:
            return True, None
        raise run.ends("a reduction over several axes")
    if axis in ("index", "columns"):
        axis = 0 if axis == "index" else 1
    axis = axis % depth
    return (True, False) if axis == 0 else (False, axis - 1)


def _reduction(name: str, of_rows: Callable[[Run, Rows], Any], of_entries: Callable[[Run, Symbol, Any], Any]) -> Rule:
    def reduced(
        run: Run,
        value: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        *,
        keepdims: bool = False,
        **kwargs: Any,
    ) -> Any:
        refuse_keywords(run, name, kwargs, "skipna", "numeric_only")
        if dtype not in (None, float, np.float64):  # every row is converted first
            raise run.ends(f"{name} with dtype=", "convert the rows before, with astype()")
        value = as_symbol(run, value)
        term = term_of(value)
        if isinstance(term, Table):
            raise run.ends(f"{name} of a whole table", "take its columns one by one")
        if isinstance(term, Rows) and (term.scope is None):
            over_rows, inner = _axes(run, term, axis)
            found = value
            if inner is not False:
                found = of_entries(run, found, inner)
                if keepdims and not over_rows:
                    found = rearrange(run, found, lambda each: np.expand_dims(each, inner))
            if over_rows:
                found = of_rows(run, plain_rows(run, found))
                if keepdims:
                    found = rearrange(run, found, lambda each: each[None]) if isinstance(found, Symbol) else found
            return write_out(run, out, found)
        found = of_entries(run, value, axis)
        if keepdims and isinstance(found, Symbol):
            shape = term.shape if not isinstance(term, Rows) else term.node.shape
            place = range(len(shape)) if axis is None else axis
            found = rearrange(run, found, lambda each: np.expand_dims(each, tuple(place) if axis is None else place))
        return write_out(run, out, found)

    return reduced


def _mean_of_entries(run: Run, value: Symbol, axis: Any) -> Any:
    run.make_public(value)
    shape = value.term.node.shape if isinstance(value.term, Rows) else value.term.shape
    if shape is None or (isinstance(value.term, Public) and value.term.by_row):
        return run.public((), **value.term.facts) if run.least_rows > 0 else run.public()
    count = math.prod(shape) if axis is None else shape[axis]
    total = sum_entries(run, value, axis)
    return apply(run, "divide", total, count)


def _sum_of_entries(run: Run, value: Symbol, axis: Any) -> Any:
    if isinstance(term_of(value), Noise | Noisy):
        run.make_public(value)
    if isinstance(value.term, Public) and (value.term.by_row or value.term.shape is None):
        return run.public((), **value.term.facts) if axis in (None, 0) else run.public(None)
    return sum_entries(run, value, axis)


def _extreme(name: str) -> Callable[[Run, Symbol, Any], Any]:
    return lambda run, value, axis: extreme_entry(run, value, name, axis)


sum_rule = rule(np.sum, np.nansum, methods=("sum",))(
    _reduction("sum", lambda run, rows: run.symbol(total_of_rows(run, rows)), _sum_of_entries)
)
mean_rule = rule(np.mean, np.nanmean, methods=("mean",))(_reduction("mean", mean_of_rows, _mean_of_entries))
rule(np.max, np.amax, np.nanmax, methods=("max",))(
    _reduction("max", lambda run, rows: ranged_of_rows(run, rows, "maximum"), _extreme("maximum"))
)
rule(np.min, np.amin, np.nanmin, methods=("min",))(
    _reduction("min", lambda run, rows: ranged_of_rows(run, rows, "minimum"), _extreme("minimum"))
)


@rule(np.count_nonzero)
def count_nonzero(run: Run, value: Any, axis: Any = None, **kwargs: Any) -> Any:
    """np.count_nonzero: the sum of what is not 0."""
    return sum_rule(run, apply(run, "not_equal", as_symbol(run, value), 0), axis, **kwargs)


def _truth_of_all(op: str) -> Callable[[Run, Rows], Any]:
    """Of all rows: certain where the schema says it of every row."""

    def reduced(run: Run, rows: Rows) -> Any:
        if rows.node.shape:
            raise run.ends("any() or all() of arrays with several columns", "take one column")
        low, high = (float(each) for each in run.domain.bounds(truth_node(run, rows.node)))
        if rows.mask is not None or run.least_rows < 1:  # none: all(), not any()
            low, high = (0.0, high) if op == "any" else (low, 1.0)
        return run.symbol(aggregate_within(low, high, whole=True, truth=True))

    return reduced


def _truth_of_entries(op: str) -> Callable[[Run, Symbol, Any], Any]:
    def reduced(run: Run, value: Symbol, axis: Any) -> Any:
        term = value.term
        if isinstance(term, Rows):
            truth = run.symbol(Rows(truth_node(run, term.node), (), term.mask, term.scope), value.guise)
            extreme = extreme_entry(run, truth, "maximum" if op == "any" else "minimum", axis)
            node = extreme.term.node
            return run.symbol(Rows(truth_node(run, node), (), term.mask, term.scope), value.guise)
        if isinstance(run.make_public(value).term, Public):
            known = {"low": 0.0, "high": 1.0, "defined": True, "truth": True}
            return run.public((), **known) if axis is None else run.public(None)
        if axis is not None:
            raise run.ends("any() or all() along an axis of sums", "take one column")
        return run.symbol(aggregate_within(0.0, 1.0, whole=True, truth=True))

    return reduced


rule(np.any, methods=("any",))(_reduction("any", _truth_of_all("any"), _truth_of_entries("any")))
rule(np.all, methods=("all",))(_reduction("all", _truth_of_all("all"), _truth_of_entries("all")))


def _deviation(name: str, numpy_ddof: int, pandas_ddof: int) -> Rule:
    def reduced(run: Run, value: Any, axis: Any = None, *, ddof: int | None = None, **kwargs: Any) -> Any:
        refuse_keywords(run, name, kwargs)
        value = as_symbol(run, value)
        if ddof is None:
            ddof = pandas_ddof if value.guise == "series" else numpy_ddof
        if isinstance(value.term, Rows) and value.term.scope is None:
            over_rows, inner = _axes(run, value.term, axis)
            if not over_rows or (inner is None and value.term.node.shape):
                raise run.ends(f"the {name} within a row")
            return spread_of_rows(run, value.term, name, ddof)
        if isinstance(run.make_public(value).term, Public):
            return run.public((), low=0.0, **(value.term.facts if ddof == 0 else {}))
        raise run.ends(f"the {name} of sums")

    return reduced


rule(np.var, methods=("var",))(_deviation("variance", 0, 1))
rule(np.std, methods=("std",))(_deviation("deviation", 0, 1))


def _deviation_of_list(name: str, ddof: int) -> Rule:
    reduced = _deviation(name, ddof, ddof)
    return lambda run, values: reduced(run, values)  # a mean that is handed over is another function


rule(statistics.pvariance)(_deviation_of_list("variance", 0))
rule(statistics.variance)(_deviation_of_list("variance", 1))
rule(statistics.pstdev)(_deviation_of_list("deviation", 0))
rule(statistics.stdev)(_deviation_of_list("deviation", 1))


@rule(np.median, np.percentile, np.quantile, statistics.median, methods=("median", "quantile"))
def between(run: Run, value: Any, q: Any = None, axis: Any = None, **kwargs: Any) -> Any:
    """Median or quantile: between the least and the largest row."""
    refuse_keywords(run, "a quantile", kwargs, "method", "interpolation")
    value = as_symbol(run, value)
    if isinstance(value.term, Rows) and value.term.scope is None:
        if value.term.node.shape or np.ndim(q):
            raise run.ends("quantiles of arrays")
        return ranged_of_rows(run, value.term, "median")
    if isinstance(run.make_public(value).term, Public):
        return run.public()
    raise run.ends("a quantile of sums")


@rule(statistics.fmean)
def mean_of_list(run: Run, value: Any) -> Any:
    """statistics.fmean."""
    return mean_rule(run, value)


@rule(statistics.mean)
def mean_of_kind(run: Run, value: Any) -> Any:
    """statistics.mean: of NumPy's whole numbers it is a whole number."""
    if not isinstance(value, Symbol) or value.guise != "list":
        raise run.ends("statistics.mean() of numbers of NumPy", "use np.mean()")
    return mean_rule(run, value)


@rule(np.average)
def average(run: Run, value: Any, axis: Any = None, weights: Any = None, **kwargs: Any) -> Any:
    """Mean, or a mean with public weights of the entries."""
    refuse_keywords(run, "average", kwargs)
    if weights is None:
        return mean_rule(run, value, axis)
    if holds_symbols(weights) and isinstance(term_of(weights), Rows):
        raise run.ends("a mean weighted by the rows", "release a noisy weighted sum and a noisy sum of weights")
    raise run.ends("np.average with weights")


@rule(np.cumsum, methods=("cumsum",))
def cumulative(run: Run, value: Any, axis: Any = None, **kwargs: Any) -> Any:
    """Running sums over entries; over rows their place would matter."""
    refuse_keywords(run, "cumsum", kwargs)
    value = as_symbol(run, value)
    if isinstance(value.term, Rows) and value.term.scope is None:
        over_rows, inner = _axes(run, value.term, axis)
        if over_rows:
            raise run.ends("running sums over the rows")
        return cumulate(run, value, inner)
    run.make_public(value)
    if axis is None and len(value.term.shape) != 1:
        value = rearrange(run, value, np.ravel)
    return cumulate(run, value, 0 if axis is None else axis % len(value.term.shape))


@rule(np.diff)
def differences(run: Run, value: Any, n: int = 1, **kwargs: Any) -> Any:
    """Differences of entries that follow each other."""
    refuse_keywords(run, "diff", kwargs)
    value = as_symbol(run, value)
    if isinstance(value.term, Rows) or n != 1:
        raise run.ends("differences of rows")
    run.make_public(value)
    return apply(
        run, "subtract", rearrange(run, value, lambda each: each[1:]), rearrange(run, value, lambda each: each[:-1])
    )


@rule(builtins.sum, math.fsum)
def sum_of_iterable(run: Run, values: Any, start: Any = 0) -> Any:
    """Python's sum: of rows, of the entries of a list, or of an array along its first axis."""
    if isinstance(values, Symbol):
        if isinstance(values.term, Table):
            raise run.ends("the sum of a table")
        if isinstance(values.term, Rows) and values.term.scope is None:
            found = run.symbol(total_of_rows(run, values.term))
        else:
            run.make_public(values)
            found = _sum_of_entries(run, values, 0)
    else:
        found = None
        parts = list(values)
        for each in parts:
            if isinstance(term_of(each), Weights):
                found = _sum_of_entries(run, stack(run, parts), 0)
                break
        else:
            found = start
            for each in parts:
                if (
                    isinstance(found, int)
                    and found is not False
                    and found == 0
                    and isinstance(each, Symbol)
                    and each.guise != "list"
                ):
                    found = as_whole_number(run, each)  # 0 + truth values are whole numbers
                else:
                    found = run.hooks.binary("add", found, each)
            return found
    return found if isinstance(start, int) and start == 0 else apply(run, "add", found, start)


def as_whole_number(run: Run, value: Symbol) -> Symbol:
    """Truth values of rows as 0 and 1; any other value as it is."""
    term = value.term
    if isinstance(term, Rows) and term.node.kind == "b":
        return run.symbol(Rows(number_node(run, term.node, "i"), term.powers, term.mask, term.scope), value.guise)
    return value


@rule(builtins.len)
def length(run: Run, value: Any) -> Any:
    """len()."""
    if not isinstance(value, Symbol):
        if is_filled_by_rows(value):
            return length(run, rows_of_list(run, value))
        return len(value)
    term = value.term
    if isinstance(term, Distinct):
        return _count_distinct(run, term.rows)
    if isinstance(term, Rows | Table):
        if term.scope is not None:
            if isinstance(term, Rows) and term.node.shape:
                return term.node.shape[0]
            raise run.ends("the length of one row")
        return count_of(run, term)
    if is_by_row(term):
        if not run.replaces:
            raise run.ends("one draw for each row shows how many rows there are")
        return run.count_of_rows()
    if term.shape is None:
        return run.public((), low=0.0, whole=True, defined=True, finite=True)
    if not term.shape:
        raise run.ends("the length of a number")
    return term.shape[0]


def _count_distinct(run: Run, rows: Rows) -> Symbol:
    """The number of distinct values moves by at most 1.

    Notes
    -----
    A row more or less adds or takes at most one value. A row that is replaced takes at most one value away, and brings
    at most one. Nothing is said of how often values occur: that moves by 2.
    """
    fewest = 1.0 if rows.mask is None and run.least_rows > 0 else 0.0
    most = float(run.rows if run.rows is not None else run.most)
    one = np.ones(())
    return run.symbol(Aggregate(np.asarray(fewest), np.asarray(most), one, 1.0, 1.0, 0.0, whole=True))


def is_filled_by_rows(value: Any) -> bool:
    """Whether a value is a list to which a loop over rows has appended, or has its entries."""
    return isinstance(value, list | tuple | set | frozenset) and any(isinstance(each, RowPart) for each in value)


def rows_of_list(run: Run, value: list[Any]) -> Symbol:
    """A list that a loop over rows has filled, as rows."""
    if run.scope is not None and not run.scope.lasting:
        raise run.ends("a list that a loop over rows fills is read in it")
    if len(value) != 1 or not isinstance(value[0], RowPart):
        raise run.ends("a list that a loop over rows filled on several ways", "use a comprehension")
    part = value[0]
    return run.symbol(Rows(part.node, part.powers, part.mask), "list")


# ----------------------------------------------------------------------------------------------------------------------
# Counting by label


def label_node(run: Run, value: Any) -> tuple[Node, Node | None]:
    """Whole numbers of the rows and the mask of the rows."""
    rows = plain_rows(run, value)
    if rows.powers or rows.node.shape or rows.node.kind not in "bi" or rows.scope is not None:
        raise run.ends("labels that are not whole numbers of the rows")
    return number_node(run, rows.node, "i"), rows.mask


MOST_CELLS_OF_COUNTS = 1_000  # bins, labels or places whose rows are counted


def refuse_many_cells(run: Run, count: float) -> None:
    """Ends the proof where rows are counted in more cells than a proof looks at."""
    if count > MOST_CELLS_OF_COUNTS:
        raise run.ends(f"rows are counted in more than {MOST_CELLS_OF_COUNTS:,} cells", "use fewer bins or labels")


def indicators(run: Run, label: Node, values: Any) -> Node:
    """Truth values "the label is v" for each of several values."""
    refuse_many_cells(run, len(values))
    column = moved_node(run, label, lambda each: np.asarray(each).reshape(1))
    return run.domain.node(
        "compare", [column, run.domain.constant(np.asarray(values))], shape=(len(values),), kind="b", extra="=="
    )


@rule(np.bincount)
def bincount(run: Run, value: Any, weights: Any = None, minlength: int = 0) -> Any:
    """Counts of whole numbers below `minlength`, which must bound them: else the length depends on data."""
    label, mask = label_node(run, value)
    low, high = (float(each) for each in run.domain.bounds(label))
    if low < 0 or high >= minlength:
        raise run.ends(
            "np.bincount of numbers that may be negative or reach minlength: the length depends on the rows",
            f"give minlength={int(high) + 1}" if math.isfinite(high) else "",
        )
    refuse_many_cells(run, minlength)
    shown = number_node(run, indicators(run, label, np.arange(minlength)), "i")
    if weights is not None:
        rows = plain_rows(run, weights)
        if rows.mask is not mask or rows.powers or rows.node.shape:
            raise run.ends("np.bincount with weights of other rows")
        weight = moved_node(run, number_node(run, rows.node, "i"), lambda each: np.asarray(each).reshape(1))
        shown = where_node(run, indicators(run, label, np.arange(minlength)), weight, run.domain.constant(0))
        shown.norms[1] = float(np.max(np.abs(run.domain.bounds(weight))))
    return run.symbol(total_of_rows(run, Rows(shown, (), mask)))


@rule(np.histogram)
def histogram(run: Run, value: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """Counts in bins whose edges are public."""
    if density or weights is not None:
        raise run.ends("np.histogram with density or weights")
    rows = plain_rows(run, value)
    if holds_symbols((bins, range)) or isinstance(bins, str):
        raise run.ends("bins that are not public")
    if np.ndim(bins) == 0 and range is None:
        raise run.ends("the edges of the bins depend on the rows", "give range=(low, high)")
    refuse_many_cells(run, bins if np.ndim(bins) == 0 else len(bins) - 1)
    edges = np.histogram_bin_edges(np.empty(0), bins=bins, range=range)
    if rows.powers or rows.node.shape:
        raise run.ends("np.histogram of arrays or of multiples of an unknown")
    inside = in_bins(run, rows.node, edges)
    return run.symbol(total_of_rows(run, Rows(number_node(run, inside, "i"), (), rows.mask))), edges


def in_bins(run: Run, node: Node, edges: Any) -> Node:
    """Truth values "the row is in the bin" for each of several bins: closed below, the last one at both ends."""
    column = moved_node(run, number_node(run, node, "i"), lambda each: np.asarray(each).reshape(1))
    first = row_node(run, "greater_equal", [column, run.domain.constant(edges[:-1])])
    below = row_node(run, "less", [column, run.domain.constant(edges[1:])])
    last = row_node(run, "less_equal", [column, run.domain.constant(edges[1:])])
    final = np.arange(len(edges) - 1) == len(edges) - 2
    end = where_node(run, run.domain.constant(final), last, below)
    return row_node(run, "logical_and", [first, end])


@rule(np.histogram2d)
def histogram_of_pairs(
    run: Run, x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """Counts in a grid whose edges are public: a row is in one cell of it at most."""
    if density or weights is not None:
        raise run.ends("np.histogram2d with density or weights")
    if holds_symbols((bins, range)) or isinstance(bins, str):
        raise run.ends("bins that are not public")
    if range is None and not (isinstance(bins, list | tuple) and len(bins) == 2 and all(np.ndim(e) == 1 for e in bins)):
        raise run.ends(
            "the edges of the bins depend on the rows", "give range=((low, high), (low, high)) or both edges"
        )
    if range is not None and any(each is None for each in range):
        raise run.ends("the edges of the bins depend on the rows", "give range=((low, high), (low, high))")
    rows = [plain_rows(run, each) for each in (x, y)]
    _, mask, scope = same_rows(run, list(rows))
    if scope is not None or any(each.powers or each.node.shape for each in rows):
        raise run.ends("np.histogram2d of arrays or of multiples of an unknown")
    sides = list(bins) if isinstance(bins, list | tuple | np.ndarray) and len(bins) == 2 else [bins, bins]
    refuse_many_cells(run, math.prod(each if np.ndim(each) == 0 else len(each) - 1 for each in sides))
    _, *edges = np.histogram2d(np.empty(0), np.empty(0), bins=bins, range=range)
    first, second = (in_bins(run, each.node, ends) for each, ends in zip(rows, edges, strict=True))
    parts = [moved_node(run, first, lambda each: each[:, None]), moved_node(run, second, lambda each: each[None, :])]
    inside = number_node(run, row_node(run, "logical_and", parts), "i")
    return run.symbol(total_of_rows(run, Rows(number_node(run, inside, "f"), (), mask))), edges[0], edges[1]


@rule(np.searchsorted)
def place_among(run: Run, values: Any, wanted: Any, *args: Any, **kwargs: Any) -> Any:
    """Places among released values, of released values."""
    for each in (values, wanted):
        if isinstance(term_of(each), Rows | Table):
            raise run.ends("a place among the rows, or of a row", "use np.digitize with public edges")
    return run.public(None)


@rule(np.digitize)
def digitize(run: Run, value: Any, bins: Any, right: bool = False) -> Any:
    """Number of the bin of each row: how many edges it has reached."""
    if not isinstance(term_of(value), Rows):
        if isinstance(term_of(bins), Rows):
            raise run.ends("a place among the rows")
        return run.public(None)
    rows = plain_rows(run, value)
    edges = np.asarray(bins, float)
    if edges.ndim != 1 or (np.diff(edges) < 0).any() or rows.powers or rows.node.shape:
        raise run.ends("bins that do not increase")
    column = moved_node(run, number_node(run, rows.node, "i"), lambda each: np.asarray(each).reshape(1))
    reached = row_node(run, "greater" if right else "greater_equal", [column, run.domain.constant(edges)])
    node = run.domain.node("sum_axis", [number_node(run, reached, "i")], shape=(), kind="i", extra=0)
    return run.symbol(Rows(node, (), rows.mask, rows.scope), "array" if rows.scope is None else value.guise)


@rule(np.isin, methods=("isin",))
def is_in(run: Run, value: Any, values: Any, **kwargs: Any) -> Any:
    """Whether a row's value is one of several public ones."""
    refuse_keywords(run, "isin", kwargs)
    if not isinstance(values, list | tuple | set | frozenset | dict | range | np.ndarray | DICT_VIEWS):
        raise run.ends(f"values of rows are looked for in a {type(values).__name__}", "use a list or a set")
    if (values.size if isinstance(values, np.ndarray) else len(values)) > MOST_LABELS:
        raise run.ends(f"values of rows are looked for among more than {MOST_LABELS}", "compare them with both ends")
    found: Any = None
    for each in np.ravel(values).tolist() if isinstance(values, np.ndarray) else list(values):
        if isinstance(each, list | tuple | np.ndarray):
            raise run.ends("values of rows are looked for among lists", "use numbers or texts")
        one = run.hooks.compare("==", value, each)
        found = one if found is None else apply(run, "logical_or", found, one)
    if found is None:
        raise run.ends("isin of no values")
    return found


# ----------------------------------------------------------------------------------------------------------------------
# Arrays


@rule(np.vstack)
def rows_of_matrix(run: Run, values: Any) -> Any:
    """Arrays of one axis as the rows of a matrix."""
    found = array(run, list(values))
    if isinstance(found, Symbol) and (isinstance(found.term, Rows) or len(found.term.shape or ()) != 2):
        raise run.ends("np.vstack of what are no arrays of one axis", "use np.array")
    return found


@rule(np.hstack)
def side_by_side(run: Run, values: Any) -> Any:
    """Numbers as one array, or arrays of one axis one after the other."""
    parts = list(values)
    shapes = {
        term_of(each).shape if isinstance(each, Symbol) else np.shape(each)
        for each in parts
        if not isinstance(term_of(each), Rows | Table)
    }
    return array(run, parts) if shapes == {()} else RULES[np.concatenate](run, parts)


@rule(np.array)
def new_array(run: Run, value: Any, dtype: Any = None, *, copy: Any = True, **kwargs: Any) -> Any:
    """np.array: as np.asarray, with memory of its own."""
    found = array(run, value, dtype, **kwargs)
    return Symbol(run, found.term, found.guise) if copy is True and isinstance(found, Symbol) else found


@rule(np.asarray, np.asanyarray, np.ascontiguousarray, np.stack)
def array(run: Run, value: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """An array of a list of values, or of rows."""
    refuse_keywords(run, "np.array", kwargs, "copy", "axis", "ndmin")
    if kwargs.get("axis") or kwargs.get("ndmin"):
        raise run.ends("np.stack along another axis")
    if isinstance(value, list) and not isinstance(value, Symbol):
        if is_filled_by_rows(value):
            value = rows_of_list(run, value)
    found = stack(run, value) if isinstance(value, list | tuple) else value
    if isinstance(found, Symbol):
        guise = "array" if not isinstance(found.term, Table) else found.guise
        found = Symbol(run, found.term, guise, found.shared)  # it may share memory, or not
        return cast(run, found, dtype) if dtype is not None else found
    return np.asarray(found, dtype)


@rule(np.concatenate)
def concatenate(run: Run, values: Any, axis: int = 0) -> Any:
    """Arrays one after the other."""
    parts = [stack(run, each) if isinstance(each, list | tuple) else each for each in values]
    if any(isinstance(term_of(each), Rows) for each in parts) or axis != 0:
        raise run.ends("rows are put one after the other")
    entries: list[Any] = []
    for each in parts:
        entries += split(run, each)
    return stack(run, entries)


@rule(np.column_stack)
def column_stack(run: Run, values: Any) -> Any:
    """Columns of rows as one array."""
    terms = [plain_rows(run, each) for each in values]
    powers, mask, scope = same_rows(run, list(terms))
    if any(each.powers != powers or each.node.shape for each in terms):
        raise run.ends("np.column_stack of arrays")
    return run.symbol(Rows(stacked_node(run, [each.node for each in terms]), powers, mask, scope), "array")


@rule(np.reshape, methods=("reshape",))
def reshape(run: Run, value: Any, *shape: Any, **kwargs: Any) -> Any:
    """Entries in another shape."""
    refuse_keywords(run, "reshape", kwargs)
    wanted = shape[0] if len(shape) == 1 else shape
    if isinstance(term_of(value), Rows) and term_of(value).scope is None:
        wanted = wanted if isinstance(wanted, tuple | list) else (wanted,)
        first = wanted[0]
        if first != -1 and not (isinstance(first, Symbol) or first == run.rows):
            raise run.ends("rows are reshaped")
        rest = tuple(wanted[1:])
        if -1 in rest or math.prod(rest) != math.prod(value.term.node.shape):
            raise run.ends("rows are reshaped")
        return rearrange(run, value, lambda each: each.reshape(rest))
    return rearrange(run, value, lambda each: each.reshape(wanted))


@rule(np.ravel, methods=("ravel", "flatten"))
def ravel(run: Run, value: Any) -> Any:
    """All entries one after the other."""
    value = as_symbol(run, value)
    if isinstance(term_of(value), Rows) and value.term.node.shape:
        raise run.ends("an array of rows is flattened")
    return rearrange(run, value, np.ravel) if not isinstance(value.term, Rows) else value


@rule(np.transpose, methods=("transpose",))
def transpose(run: Run, value: Any, axes: Any = None) -> Any:
    """Axes in the other order."""
    if isinstance(term_of(value), Rows) and term_of(value).scope is None:
        if not value.term.node.shape:
            return value
        return Transposed(value)
    return rearrange(run, value, lambda each: np.transpose(each, axes))


class Transposed(Opaque):
    """X.T of rows X: only in a matrix product."""

    def __init__(self, symbol: Symbol) -> None:
        self.run = symbol.run
        self.symbol = symbol


@rule(np.squeeze, methods=("squeeze",))
def squeeze(run: Run, value: Any, axis: Any = None) -> Any:
    """Without axes of length 1; of rows where there are two at least, and where their values have no such axis."""
    term = term_of(value)
    if isinstance(term, Rows) and term.scope is None:
        if term.mask is not None or run.least_rows < 2 or 1 in term.node.shape or axis is not None:
            raise run.ends("squeeze() of rows that may be one", "use reshape")
        return Symbol(run, term, "array", value.shared)
    return rearrange(run, value, lambda each: np.squeeze(each, axis=axis))


@rule(np.expand_dims)
def expand_dims(run: Run, value: Any, axis: int) -> Any:
    """With one more axis."""
    if isinstance(term_of(value), Rows) and value.term.scope is None:
        depth = len(value.term.node.shape) + 2
        if axis % depth == 0:
            raise run.ends("an axis before that of the rows")
        return rearrange(run, value, lambda each: np.expand_dims(each, axis % depth - 1))
    return rearrange(run, value, lambda each: np.expand_dims(each, axis))


@rule(np.broadcast_to, np.tile, np.repeat, np.flip, np.roll)
def repeated(run: Run, value: Any, *args: Any, **kwargs: Any) -> Any:
    """Entries repeated or in another order."""
    raise run.ends("an array is repeated or turned round")


@rule(copy.deepcopy)
def copied_deeply(run: Run, value: Any) -> Any:
    """copy.deepcopy(): of lists and dicts with what they hold; an object that is held twice is copied once."""
    made: dict[int, Any] = {}

    def of(each: Any) -> Any:
        if id(each) not in made:
            if type(each) is list:
                made[id(each)] = found = []
                found += [of(entry) for entry in each]
            elif type(each) is dict:
                made[id(each)] = {key: of(entry) for key, entry in each.items()}
            elif isinstance(each, Symbol) or not holds_symbols(each):
                made[id(each)] = copied(run, each) if isinstance(each, Symbol) else copy.deepcopy(each)
            else:
                raise run.ends("an object that holds data is copied")
        return made[id(each)]

    return of(value)


@rule(np.copy, copy.copy, methods=("copy", "__copy__"))
def copied(run: Run, value: Any, *args: Any, **kwargs: Any) -> Any:
    """A copy of its own memory."""
    if isinstance(value, Symbol):
        run.make_public(value)
        return run.symbol(value.term, value.guise)
    if isinstance(value, list):
        return list(value)
    if isinstance(value, dict):
        return dict(value)
    raise run.ends("an object that holds data is copied")


@rule(np.sort, methods=("sort_values",))
def sort(run: Run, value: Any, **kwargs: Any) -> Any:
    """Entries of an aggregate in order: 1-Lipschitz in every norm; each entry moves by at most the largest move."""
    refuse_keywords(run, "sort", kwargs)
    value = as_symbol(run, value)
    term = term_of(value)
    if isinstance(term, Rows):
        raise run.ends("rows are sorted", "use a rule on counts, e.g. a histogram")
    if isinstance(run.make_public(value).term, Public):
        return run.symbol(Public(value.term.shape, value.term.low, value.term.high, **value.term.facts), "array")
    data = aggregate_of(run, term)
    if len(data.shape) != 1:
        raise run.ends("an array of several axes is sorted")
    most = np.full(data.shape, float(np.max(data.move, initial=0.0)))
    low, high = np.sort(data.low), np.sort(data.high)
    return run.symbol(
        Aggregate(low, high, most, data.l1, data.l2, data.spread, data.powers, data.whole, truth=data.truth), "array"
    )


@rule(np.argmax, np.argmin, methods=("argmax", "argmin", "idxmax", "idxmin"))
def extreme_place(run: Run, value: Any, axis: Any = None, *, least: bool = False, **kwargs: Any) -> Any:
    """The place of the largest (least) entry: a label of a row, or a choice by noise."""
    refuse_keywords(run, "argmax", kwargs)
    value = as_symbol(run, value)
    term = term_of(value)
    if isinstance(term, Rows):
        return _label_of_rows(run, value, axis, least=least)
    if isinstance(term, Noisy) and axis in (None, 0) and len(term.shape) == 1:
        return chosen_place(run, value, least=least)
    term = run.make_public(value).term
    if isinstance(term, Public):
        return (
            run.public((), low=0.0, high=float(max(0, (term.shape or (1,))[0] - 1)), whole=True, defined=True)
            if axis is None and term.shape and len(term.shape) == 1
            else run.public(None)
        )
    raise run.ends("the place of the largest value shows data", "add noise to the values first")


RULES[np.argmin] = functools.partial(extreme_place, least=True)
METHODS["argmin"] = METHODS["idxmin"] = functools.partial(extreme_place, least=True)


def _label_of_rows(run: Run, value: Symbol, axis: Any, *, least: bool) -> Any:
    term = value.term
    assert isinstance(term, Rows)
    depth = len(term.node.shape) + (1 if term.scope is None else 0)
    if (
        (axis is None and term.scope is None)
        or len(term.node.shape) != 1
        or (axis is not None and axis % depth != depth - 1)
    ):
        raise run.ends("the place of the largest row shows data")
    count = term.node.shape[0]
    node = run.domain.node(
        "label", [term.node], shape=(), kind="i", extra=(0, count - 1), key=("label", count, id(value), least)
    )
    return run.symbol(Rows(node, (), term.mask, term.scope), value.guise)


def chosen_place(run: Run, value: Symbol, *, least: bool) -> Symbol:
    """The place of the largest (least) noisy value: a choice, which costs the range of the move over the scale.

    Notes
    -----
    Given the noise of all others, place i wins iff its own noise is at least a threshold, which moves by at most
    max_j m_j - m_i; the chance of being above a threshold changes by at most e^(r/b) where the threshold moves by r,
    for Laplace, Gumbel, exponential and discrete Laplace noise of scale at least b. One-sided noise (Gumbel,
    exponential) has this bound for its upper tail only, so it must be added where the largest, or subtracted where the
    least is taken.
    """
    term = value.term
    assert isinstance(term, Noisy)
    release = term.release.last()
    event = None if release.chosen else _event_of_choice(run, term, least=least)  # one choice by a draw, else all of it
    release.chosen = True
    if event is None:
        run.make_public(value)
    else:
        run.events.append(event)
    return run.public((), low=0.0, high=float(term.shape[0] - 1), whole=True, defined=True)


def _event_of_choice(run: Run, term: Noisy, *, least: bool) -> Event | None:
    """The event of a choice by these noisy values; None where they must be released for it."""
    release = term.release.last()
    if release.booked or release.spent:
        return None
    noise = term.noise
    scale = noise.scale
    upward = bool((scale < 0).all()) if least else bool((scale > 0).all())
    sided = noise.law in ("gumbel", "exponential")
    if noise.law not in ("laplace", "discrete laplace", "gumbel", "exponential") or (sided and not upward):
        return None
    line = run.drawn_at[int(np.ravel(noise.ids)[0])]
    size = np.abs(scale)
    if noise.law == "discrete laplace":
        data = term.data
        whole = data.whole if isinstance(data, Aggregate) else data.node.kind in "bi" and not data.powers
        if not whole or not (size == 1).all() or noise.powers:
            raise run.ends("integer noise is added to values that are not whole numbers times its step")
        size = np.full(size.shape, noise.parameter)
    powers = times(term.data.powers, noise.powers, -1)
    # places by Gumbel noise of one scale are softmax choices one after the other, each with noise of its own
    again = any(each.release is release for each in run.events)
    joint = again and not (noise.law == "gumbel" and bool((size == size.flat[0]).all()))
    return Event("choice", term.data, size, powers, line, noise.law, release, noise.powers, joint=joint)


@rule(np.argsort, methods=("argsort",))
def order_of_entries(run: Run, value: Any, *args: Any, **kwargs: Any) -> Any:
    """The places of noisy values from the least on; of other values only where they are released."""
    value = as_symbol(run, value)
    if isinstance(term_of(value), Noisy) and len(value.term.shape) == 1 and not args and not kwargs:
        return run.symbol(Order(value, least=True), "array")
    term = run.make_public(value).term
    if isinstance(term, Public):
        return run.public(None)
    raise run.ends("the order of values shows data", "add noise to the values first")


def entry_of_order(run: Run, symbol: Symbol, key: Any) -> Any:
    """`order[key]`: the first places, or those at the other end; all of it else."""
    term = symbol.term
    count = term.symbol.term.shape[0]
    if term.charged == 0 and isinstance(key, slice) and (key.start, key.stop, key.step) == (None, None, -1):
        return run.symbol(Order(term.symbol, least=not term.least), "array")
    if type(key) is int and 0 <= key < count:
        _show_places(run, term, key + 1)
        return run.public((), low=0.0, high=float(count - 1), whole=True, defined=True)
    if isinstance(key, slice) and key.start is None and key.step in (None, 1) and type(key.stop) is int:
        if 0 <= key.stop <= count:
            _show_places(run, term, key.stop)
            return run.public((key.stop,), low=0.0, high=float(count - 1), whole=True, defined=True)
    return run.hooks.item(run.make_public(symbol), key)


def _show_places(run: Run, order: Order, wanted: int) -> None:
    """The first k places of noisy values in their order: k choices.

    Notes
    -----
    Where a neighbour moves the scores by m, shift the noise of each of the first k values by max m - m_i: they keep
    their order, and all others stay below them. The density of Laplace, Gumbel and exponential noise changes by at most
    e^(r/b) where it is shifted upwards by r, so the chance of these places changes by at most k (range of m)/b.
    """
    noisy = order.symbol.term
    wanted = min(wanted, noisy.shape[0] - 1)
    while order.charged < wanted:
        known = isinstance(noisy, Noisy) and noisy.release.last().chosen and not order.charged
        event = _event_of_choice(run, noisy, least=order.least) if isinstance(noisy, Noisy) and not known else None
        if isinstance(noisy, Noisy):
            noisy.release.last().chosen = True
        if event is None or event.text == "discrete laplace":  # the order of ties is not known
            run.make_public(order.symbol)
            return
        order.charged += 1
        run.events.append(event)


def release_order(run: Run, symbol: Symbol) -> Public:
    """All places of noisy values in their order."""
    count = symbol.term.symbol.term.shape[0]
    _show_places(run, symbol.term, count)
    return Public((count,), 0.0, float(count - 1), True, defined=True)


# ----------------------------------------------------------------------------------------------------------------------
# Linear algebra


@rule(np.inner)
def inner_product(run: Run, first: Any, second: Any) -> Any:
    """The product of two arrays of one axis; of matrices it is another one than `@`."""
    for each in (first, second):
        if not isinstance(each, Symbol) and np.ndim(each) > 1:
            raise run.ends("np.inner of matrices", "use @ and a transpose")
    return product(run, first, second)


@rule(np.dot, np.matmul, operator.matmul, methods=("dot",))
def product(run: Run, first: Any, second: Any, **kwargs: Any) -> Any:
    """Matrix products: public matrices with data or rows, and sums over rows."""
    refuse_keywords(run, "a matrix product", kwargs)
    first, second = as_symbol(run, first), as_symbol(run, second)
    if all(is_of_truth_values(each) for each in (first, second)):
        raise run.ends(
            "a matrix product of truth values, which NumPy joins by `and` and `or`", "convert one with astype(int)"
        )
    if isinstance(first, Transposed):
        return _over_rows(run, first.symbol, second)
    if isinstance(second, Transposed):
        raise run.ends("a matrix of all pairs of rows")
    a, b = term_of(first), term_of(second)
    if isinstance(a, Rows) and isinstance(b, Rows) and a.scope is None and b.scope is None:
        if a.node.shape or b.node.shape:
            if a.node.shape and b.node.shape:
                raise run.ends("a matrix product of rows with rows")
            if b.node.shape and not a.node.shape:
                return sum_rule(
                    run,
                    apply(run, "multiply", rearrange(run, first, lambda each: np.asarray(each).reshape(1)), second),
                    axis=0,
                )
            raise run.ends("a matrix product of rows with rows")
        return sum_rule(run, apply(run, "multiply", first, second))
    if isinstance(a, Rows) and not isinstance(second, Symbol):
        if a.scope is None and not a.node.shape:
            raise run.ends("rows are weighted by their place")
        return times_matrix(run, first, second, left=False)
    if isinstance(b, Rows) and not isinstance(first, Symbol):
        if b.scope is None:
            raise run.ends("rows are weighted by their place")
        return times_matrix(run, second, first, left=True)
    if isinstance(first, Symbol) and isinstance(second, Symbol):
        parts = [run.make_public(each).term for each in (first, second)]
        if all(isinstance(each, Public) for each in parts):
            return run.public(None)
        raise run.ends("a matrix product of data with data")
    if isinstance(first, Symbol):
        return times_matrix(run, first, second, left=False)
    return times_matrix(run, second, first, left=True)


def is_of_truth_values(value: Any) -> bool:
    """Whether NumPy has a value as truth values, and not as numbers."""
    if isinstance(value, Transposed):
        value = value.symbol
    term = term_of(value)
    if isinstance(term, Rows):
        return term.node.kind == "b"
    if isinstance(term, Opaque | Sum | Weights | Noise | Noisy):
        return False
    return term.truth if isinstance(term, Aggregate | Public) else np.asarray(term).dtype.kind == "b"


def _over_rows(run: Run, first: Symbol, second: Any) -> Any:
    """X.T @ y and X.T @ Y: sums of products over the rows."""
    if not isinstance(term_of(second), Rows):
        raise run.ends("rows are weighted by their place")
    width = first.term.node.shape[0]
    inner = second.term.node.shape
    if len(inner) == 1:
        left = rearrange(run, first, lambda each: each.reshape(width, 1))
        right = rearrange(run, second, lambda each: each.reshape(1, inner[0]))
    else:
        left, right = first, rearrange(run, second, lambda each: np.asarray(each).reshape(1))
    found = apply(run, "multiply", left, right)
    _product_norms(found.term.node, first.term.node, second.term.node)
    return sum_rule(run, found, axis=0)


def _product_norms(node: Node, first: Node, second: Node) -> None:
    """|x y^T|_F = |x| |y|: norms of an outer product, or of a vector times a number."""
    if 2 in first.norms:
        other = second.norms.get(2) if second.shape else None
        if other is not None:
            node.norms[2] = float(np.nextafter(first.norms[2] * other, np.inf))


@rule(np.linalg.norm)
def norm(run: Run, value: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Norm of each row's vector, or of one vector."""
    value = as_symbol(run, value)
    order = 2 if ord is None else ord
    if order not in (1, 2, np.inf):
        raise run.ends(f"the norm of order {ord}")
    term = term_of(value)
    if isinstance(term, Noise | Noisy):
        term = run.make_public(value).term
    if isinstance(term, Public):
        return run.public((), low=0.0, **term.facts)
    if not isinstance(term, Rows):
        raise run.ends("the norm of a value that depends on all rows")
    if term.powers or len(term.node.shape) != 1:
        raise run.ends("the norm of rows that are no vectors")
    whole = term.scope is None
    if whole and (axis is None or axis % 2 != 1):
        raise run.ends("the norm over all rows", "give axis=1 for the norm of each row")
    source = number_node(run, term.node, "f")
    node = run.domain.node("norm", [source], shape=(), kind="f", extra=float(order))
    node.at_least_norm = (_identity(term.node), float(order), 1.0)
    found = run.symbol(Rows(node, (), term.mask, term.scope), value.guise if whole else "number")
    return rearrange(run, found, lambda each: np.asarray(each).reshape(1)) if keepdims else found


def _identity(node: Node) -> Node:
    return strip_shape(node)


# ----------------------------------------------------------------------------------------------------------------------
# Types


def cast(run: Run, value: Symbol, dtype: Any) -> Any:
    """`astype`: truth values and whole numbers as numbers; numbers cut off to whole ones."""
    term = value.term
    name = np.dtype(dtype).name if dtype not in ("category",) else "category"
    term = run.make_public(value).term
    if isinstance(term, Public):
        low, high = {"float64": (term.low, term.high), "int64": (term.low, term.high), "bool": (0.0, 1.0)}.get(
            name, (-math.inf, math.inf)
        )
        if name == "int64":  # cut off towards 0
            low, high = (math.trunc(each) if math.isfinite(each) else each for each in (low, high))
        whole = (term.whole and name == "float64") or name in ("int64", "bool")
        facts = term.facts | {"truth": name == "bool"} if name in ("float64", "int64", "bool") else {}
        return run.symbol(Public(term.shape, low, high, whole, by_row=term.by_row, **facts), value.guise)
    if name not in ("float64", "int64", "bool"):
        raise run.ends(f"data are cast to {name}", "use float or int")
    if isinstance(term, Rows):
        if term.powers:
            raise run.needs_rows("a factor of rows that are cast")
        if name == "bool":
            return run.symbol(Rows(truth_node(run, term.node), (), term.mask, term.scope), value.guise)
        node = number_node(run, term.node, "i")
        if node.kind == "c":
            raise run.ends("texts are cast to numbers")
        if name == "float64" and node.kind == "i":
            node = run.domain.node("number", [node], shape=node.shape, kind="f")
        elif name == "int64" and node.kind == "f":
            refuse_infinite(run, node)
            node = run.domain.node("trunc", [node], shape=node.shape, kind="i")
        return run.symbol(Rows(node, (), term.mask, term.scope), value.guise)
    if isinstance(term, Weights):
        return value
    data = aggregate_of(run, term)
    if data.truth and name != "bool":
        return run.symbol(dataclasses.replace(data, truth=False), value.guise)
    if name == "float64":
        return value
    if name == "bool":
        return run.symbol(aggregate_within(np.zeros(data.shape), np.ones(data.shape), whole=True, truth=True))
    return value if data.whole else apply(run, "trunc", value)


@rule(methods=("astype",))
def astype(run: Run, value: Symbol, dtype: Any, **kwargs: Any) -> Any:
    """Method `astype`."""
    refuse_keywords(run, "astype", kwargs, "copy")
    found = cast(run, value, dtype)
    found = Symbol(run, found.term, found.guise) if found is value else found
    if np.dtype(dtype) == float and found.guise == "array":
        run.of_floats[id(found)] = found
    return found


@rule(methods=("item",))
def as_item(run: Run, value: Any) -> Any:
    """The number of an array with one entry."""
    return _as_number(run, value)


@rule(builtins.float, np.float64)
def as_float(run: Run, value: Any) -> Any:
    """float()."""
    return _of_many_bits(run, _as_number(run, value))


def _of_many_bits(run: Run, value: Any) -> Any:
    """A truth value of all rows, or a released one, as a number; any other value as it is."""
    if isinstance(term_of(value), Aggregate | Public) and value.term.truth:
        return run.symbol(dataclasses.replace(value.term, truth=False), value.guise)
    return value


@rule(
    builtins.int, np.int64, math.floor, math.ceil, math.trunc, builtins.round, np.round, np.around, methods=("round",)
)
def as_int(run: Run, value: Any, decimals: Any = None, **kwargs: Any) -> Any:
    """int() and its like: rounding."""
    refuse_keywords(run, "rounding", kwargs)
    term = term_of(value)
    if isinstance(term, Rows) and term.node.kind == "b":
        return run.symbol(Rows(number_node(run, term.node, "i"), term.powers, term.mask, term.scope), value.guise)
    return _round(run, _of_many_bits(run, value), decimals, "trunc")


def _copy_if_same(run: Run, value: Any, found: Any) -> Any:
    """NumPy's functions return a new array also where nothing changes."""
    return Symbol(run, found.term, found.guise) if found is value and found.guise != "number" else found


RULES[math.floor] = lambda run, value: _round(run, value, None, "floor")
RULES[math.ceil] = lambda run, value: _round(run, value, None, "ceil")
for _each in (builtins.round, np.round, np.around):
    RULES[_each] = lambda run, value, decimals=None, ndigits=None: _round(
        run, value, decimals if ndigits is None else ndigits, "rint"
    )
METHODS["round"] = RULES[builtins.round]


def _round(run: Run, value: Any, decimals: Any, op: str) -> Any:
    return _copy_if_same(run, value, _round_value(run, value, decimals, op))


def _round_value(run: Run, value: Any, decimals: Any, op: str) -> Any:
    value = as_symbol(run, value)
    term = term_of(value)
    rounded = round_draw(term, op) if isinstance(term, Noise) and not decimals else None
    if rounded is not None:
        return value if rounded is term else run.symbol(rounded, value.guise)
    if isinstance(term, Noisy) and term.noise.law in WHOLE and not isinstance(term.data, Rows) and not decimals:
        whole = aggregate_of(run, term.data).whole and not term.noise.powers and not np.any(term.noise.scale % 1)
        if whole:  # whole numbers, so that nothing is rounded
            return value
    term = run.make_public(value).term
    if isinstance(term, Public):
        if term.shape is None:
            return run.public(None)
        if decimals is not None and (not isinstance(decimals, int) or decimals < 0):
            return run.symbol(Public(term.shape, by_row=term.by_row, **term.facts), value.guise)
        low, high = (
            math.floor(term.low) if math.isfinite(term.low) else term.low,
            math.ceil(term.high) if math.isfinite(term.high) else term.high,
        )
        return run.symbol(Public(term.shape, low, high, not decimals, by_row=term.by_row, **term.facts), value.guise)
    if decimals:
        raise run.ends("data are rounded to decimals before noise", "round what is released")
    if isinstance(term, Sum) and is_whole(term):
        return value
    if isinstance(term, Rows) and term.node.kind == "i":
        return value
    found = apply(run, op, value)
    if isinstance(found.term, Rows):
        node = found.term.node
        made = run.domain.node("number", [node], shape=node.shape, kind="i")
        return run.symbol(Rows(made, (), found.term.mask, found.term.scope), found.guise)
    return found


def is_whole(data: Sum) -> bool:
    """Whether a sum is a whole number: one of whole numbers of the rows, plus known whole numbers."""
    if data.node.kind not in "bi" or data.powers or data.offset is None:
        return False
    low, high = data.offset
    return bool(np.array_equal(low, high) and np.array_equal(low, np.rint(low)))


def _as_number(run: Run, value: Any) -> Any:
    term = term_of(value)
    if isinstance(term, Rows) and term.scope is None:
        raise run.ends("all rows are made one number")
    if isinstance(term, Sum | Aggregate | Noise | Noisy | Public) and term.shape:
        if math.prod(term.shape) != 1 or is_by_row(term):
            raise run.ends("an array is made one number")
        value = rearrange(run, value, lambda each: each.reshape(()))
        term = value.term
    if isinstance(term, Noise) and term.shape == ():
        return value
    if isinstance(term, Noisy):
        return value if term.shape == () else run.make_public(value)
    if isinstance(term, Rows) and term.node.kind == "c":
        raise run.ends("a text of a row is made a number")
    return value


@rule(builtins.bool)
def as_bool(run: Run, value: Any) -> Any:
    """bool()."""
    return apply(run, "not_equal", value, 0)


# ----------------------------------------------------------------------------------------------------------------------
# Python's own functions


@rule(builtins.max, builtins.min)
def extreme_of(run: Run, *args: Any, largest: bool = True, **kwargs: Any) -> Any:
    """max() and min(): of several values, of a list, or of items by a key."""
    key = kwargs.pop("key", None)
    default = kwargs.pop("default", None)
    values = args[0] if len(args) == 1 else args
    name = "maximum" if largest else "minimum"
    if key is not None:
        return _item_by_key(run, values, key, largest=largest)
    if isinstance(values, Symbol):
        if isinstance(values.term, Rows) and values.term.scope is None and default is not None:
            raise run.ends("the largest of rows that may be none")
        return METHODS["max" if largest else "min"](run, values)
    parts = list(values)
    if len(parts) > 1 and all(
        isinstance(term_of(each), Sum | Aggregate) and term_of(each).shape == () for each in parts
    ):
        return METHODS["max" if largest else "min"](run, stack(run, parts))
    if not parts:
        return default if default is not None else max(parts)
    found = parts[0]
    for each in parts[1:]:
        if isinstance(found, Symbol) or isinstance(each, Symbol):
            found = apply(run, name, found, each)
        else:
            found = max(found, each) if largest else min(found, each)
    return found


RULES[builtins.min] = functools.partial(extreme_of, largest=False)


def _item_by_key(run: Run, values: Any, key: Any, *, largest: bool) -> Any:
    if isinstance(values, Symbol):
        if isinstance(term_of(values), Rows | Table):
            raise run.ends("the row with the largest key shows data")
        values = split(run, values)
    items = list(values)
    keys = [run.hooks.call(key, each) for each in items]
    if not holds_symbols(keys):
        places = range(len(items))
        return items[(max if largest else min)(places, key=lambda at: keys[at])]
    if holds_symbols(items):
        raise run.ends("data are chosen by a noisy key")
    extreme_place(run, keys, least=not largest)
    return chosen_of(run, items)


def chosen_of(run: Run, items: list[Any]) -> Symbol:
    """One of several public values."""
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in items)
    if numbers and items:
        whole = all(isinstance(each, int) for each in items)
        defined, finite = is_number(items)
        return run.public(
            (), low=float(min(items)), high=float(max(items)), whole=whole, defined=defined, finite=finite
        )
    return run.public(None)


@rule(builtins.sorted, builtins.reversed)
def in_order(run: Run, values: Any, **kwargs: Any) -> Any:
    """sorted() of released values is released; of rows it shows their order."""
    if isinstance(values, Symbol) and isinstance(run.make_public(values).term, Public):
        return run.symbol(
            Public(values.term.shape, values.term.low, values.term.high, **values.term.facts), values.guise
        )
    if isinstance(values, Symbol):
        raise run.ends("rows or data are put in order", "release a histogram or use a rule on counts")
    key = kwargs.get("key")
    items = list(values)
    keys = items if key is None else [run.hooks.call(key, each) for each in items]
    for each in _leaves(keys):
        if isinstance(each, Symbol) and not isinstance(run.make_public(each).term, Public):
            raise run.ends("values are put in order by data", "add noise to them first")
    for each in _leaves(items):
        if isinstance(each, Symbol) and not isinstance(run.make_public(each).term, Public):
            raise run.ends("data are put in order")
    return run.public(None)


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [leaf for each in value for leaf in _leaves(each)]
    return [value]


@rule(builtins.isinstance)
def is_instance(run: Run, value: Any, kinds: Any) -> bool:
    """isinstance() as it would be for the real value."""
    real = real_type(run, value)
    return issubclass(real, kinds)


def real_type(run: Run, value: Any) -> type:
    """The type that the real value has."""
    if isinstance(value, Source):
        return value.kind
    if isinstance(value, Opaque) and not isinstance(value, Symbol):
        raise run.ends("the type of an object of pandas is asked")
    if not isinstance(value, Symbol):
        return type(value)
    if value.guise == "array":
        return np.ndarray
    if value.guise == "list":
        return list
    if value.guise in ("series", "frame"):
        import pandas as pd

        found: type = pd.Series if value.guise == "series" else pd.DataFrame
        return found
    if isinstance(value.term, Table):
        return dict if value.term.scope is not None else list
    raise run.ends("the type of a number is asked")


@rule(builtins.type)
def type_of(run: Run, value: Any, *args: Any) -> Any:
    """type() as it would be for the real value, where that is known; of a released value anything."""
    if isinstance(value, Symbol) and not args and isinstance(value.term, Rows | Table):
        return real_type(run, value)
    return inspected(run, value, *args)


@rule(
    builtins.getattr,
    builtins.id,
    builtins.hash,
    builtins.repr,
    builtins.str,
    builtins.format,
    builtins.dir,
    builtins.vars,
)
def inspected(run: Run, value: Any, *args: Any) -> Any:
    """Functions that look at a value itself."""
    if isinstance(value, Symbol) and isinstance(run.make_public(value).term, Public):
        return run.public(None)
    if args and isinstance(args[0], str) and isinstance(value, Symbol):
        raise run.ends(f"an attribute of data is looked up by its name {args[0]!r}")
    raise run.ends("data are looked at as an object")


@rule(builtins.range)
def ranged(run: Run, *args: Any) -> Any:
    """range() of a number that is not known."""
    for each in args:
        if isinstance(each, Symbol):
            term = run.make_public(each).term
            if isinstance(term, Public) and any(unknown is run.number_of_rows for unknown, _ in term.powers):
                raise run.needs_rows("the length of a loop")
    raise run.ends("the length of a loop depends on data or on released values")


@rule(builtins.list, builtins.tuple, builtins.iter)
def as_list(run: Run, value: Any) -> Any:
    """list() of rows or of an array."""
    if not isinstance(value, Symbol):
        return list(value)
    if isinstance(value.term, Rows | Table) and value.term.scope is None:
        return Symbol(run, value.term, "list" if isinstance(value.term, Rows) else value.guise)
    if isinstance(value.term, Public) and (value.term.shape is None or value.term.by_row):
        return run.symbol(value.term, value.guise)
    return split(run, value)


METHODS["tolist"] = METHODS["to_list"] = as_list


@rule(methods=("to_numpy", "to_list_", "__array__"))
def to_numpy(run: Run, value: Symbol, *, dtype: Any = None, **kwargs: Any) -> Any:
    """A series or frame as an array."""
    refuse_keywords(run, "to_numpy", kwargs)
    if dtype not in (None, float, np.float64):
        raise run.ends("to_numpy with dtype=", "convert the rows before, with astype()")
    if isinstance(value.term, Table):
        return frame_values(run, value)
    return Symbol(run, value.term, "array", value.shared)


def frame_values(run: Run, value: Symbol) -> Symbol:
    """All columns of a frame as one array."""
    term = value.term
    assert isinstance(term, Table)
    if any(each.kind == "c" for each in term.columns.values()):
        raise run.ends("a frame with texts is made an array")
    return run.symbol(Rows(stacked_node(run, list(term.columns.values())), (), term.mask), "array")


@rule(builtins.enumerate, builtins.zip, builtins.map, builtins.filter, itertools.chain)
def iterators(run: Run, *args: Any, **kwargs: Any) -> Any:
    """Iterators over lists that hold symbols, entry by entry."""
    raise run.ends("an iterator over rows in this form", "use a comprehension over the rows")


@rule(collections.Counter, builtins.set, builtins.frozenset, np.unique, methods=("unique",))
def distinct(run: Run, value: Any, *args: Any, **kwargs: Any) -> Any:
    """Distinct values of rows: which ones occur shows data; how many there are may be asked."""
    term = term_of(value)
    if isinstance(term, Rows) and term.scope is None and not (term.node.shape or term.powers or args or kwargs):
        return run.symbol(Distinct(term), "set")
    raise run.ends("the distinct values of rows are taken", "count the values of a public list")


@rule(methods=("nunique", "mode"))
def most_frequent(run: Run, value: Any, *args: Any, **kwargs: Any) -> Any:
    """How many values occur (of a series), or which ones occur most."""
    raise run.ends("the distinct values of rows are taken", "count the values of a public list")


@rule(builtins.any)
def any_of(run: Run, values: Any) -> Any:
    """any(): a truth value of Python."""
    return _truth_of(run, values, "any")


@rule(builtins.all)
def all_of(run: Run, values: Any) -> Any:
    """all(): a truth value of Python."""
    return _truth_of(run, values, "all")


def _truth_of(run: Run, values: Any, name: str) -> Any:
    value = as_symbol(run, values if isinstance(values, Symbol | list | tuple) else list(values))
    if not isinstance(value, Symbol):
        return any(value) if name == "any" else all(value)
    found = METHODS[name](run, value)
    return run.symbol(found.term, "number") if isinstance(found.term, Rows) else found


@rule(builtins.print)
def printed(run: Run, *args: Any, **kwargs: Any) -> None:
    """print() shows its values."""
    if run.scope is not None and not getattr(run.scope, "lasting", False):
        raise run.ends("a loop over rows prints")
    if kwargs.get("file") is not None or not isinstance(sys.stdout, Silence):
        raise run.ends("data or released values are printed where the program may read them", "return them")
    run.hooks.release_output([*args, *kwargs.values()])


class Silence(io.TextIOBase):
    """Where a program prints while it is proved."""

    def writable(self) -> bool:
        """It can be written to."""
        return True

    def write(self, text: str) -> int:
        """Nothing is kept of it."""
        return len(text)


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """What a program prints and logs in this time is not shown."""
    before = logging.root.manager.disable
    try:
        with contextlib.redirect_stdout(Silence()), contextlib.redirect_stderr(Silence()):
            logging.disable(logging.CRITICAL)
            yield
    finally:
        logging.disable(before)


for _name in LOGIC:
    METHODS.setdefault(_name, RULES[getattr(np, _name)])
