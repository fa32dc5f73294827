"""Arrays of terms: stacking, indexing, reshaping, writing, and sums over rows or entries."""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpverify.proof import intervals
from dpverify.proof.arithmetic import (
    aggregate_within,
    apply,
    as_node,
    holds_symbols,
    is_by_row,
    is_number,
    key_of,
    moved_node,
    number_node,
    refuse_infinite,
    refuse_no_number,
    row_node,
    same_rows,
    strip_shape,
    symbols_in,
    truth_node,
    up,
)
from dpverify.proof.moves import aggregate_of, distance_of_values
from dpverify.proof.rows import MOST_LABELS, Node
from dpverify.proof.run import Run
from dpverify.proof.terms import (
    Aggregate,
    Noise,
    Noisy,
    Public,
    Release,
    Rows,
    Sum,
    Symbol,
    Table,
    Weights,
)


def term_of(value: Any) -> Any:
    """The term of a symbol, or the plain value."""
    return value.term if isinstance(value, Symbol) else value


def mask_rows(run: Run, rows: Rows) -> Node:
    """The function of a row with 0 where the row is not chosen, as numbers."""
    node = number_node(run, rows.node, "i")
    if rows.mask is None:
        return node
    mask = rows.mask
    if node.shape:
        mask = moved_node(run, mask, lambda each: np.asarray(each).reshape((1,) * len(node.shape)))
    found = run.domain.node("where", [mask, node, run.domain.constant(0)], shape=node.shape, kind=node.kind)
    found.norms.update(node.norms)
    return found


def plain_rows(run: Run, value: Any) -> Rows:
    """Rows of a symbol of which all rows are meant."""
    term = term_of(value)
    if not isinstance(term, Rows):
        raise run.ends("rows are expected here")
    return term


def total_of_rows(run: Run, rows: Rows) -> Sum:
    """Sum over the rows."""
    _whole_dataset(run, rows)
    refuse_infinite(run, rows.node)
    return Sum(mask_rows(run, rows), rows.powers)


def _whole_dataset(run: Run, rows: Rows) -> None:
    if rows.scope is not None:
        raise run.ends("a sum over the value of one row")


def count_of(run: Run, rows: Rows | Table) -> Any:
    """Number of rows: public under replace-one where all rows are meant; else a sum of ones."""
    if (rows.mask is None or rows.mask.op == "reordered") and run.replaces:
        return run.count_of_rows()
    if rows.mask is None:
        return run.symbol(Sum(run.domain.constant(1)))
    if rows.mask.op == "public_axis" and id(rows.mask) in run.places:
        return run.places[id(rows.mask)]
    if rows.mask.op == "public_axis" and run.replaces and run.rows is None:
        raise run.needs_rows("the number of rows of a part")
    return run.symbol(Sum(number_node(run, rows.mask, "i")))


def mean_of_rows(run: Run, rows: Rows) -> Any:
    """Mean over all rows.

    Notes
    -----
    Replace-one: S/n moves as S does, divided by n. Add-or-remove-one, n the smaller number of rows:
    (S + g)/(n + 1) - S/n = (g - S/n)/(n + 1), and S/n lies in the convex hull of the values, so every norm of the
    move is at most the largest distance of two values of a row divided by n + 1. Each of both has coins of its own.
    """
    if rows.mask is not None and rows.mask.op == "public_axis" and run.replaces:
        count = run.places.get(id(rows.mask))
        if count is None and run.rows is None:
            raise run.needs_rows("the number of rows of a part")
        if count:
            return apply(run, "divide", run.symbol(total_of_rows(run, rows)), count)
    if rows.mask is not None and rows.mask.op != "reordered":
        raise run.ends(
            "the mean of chosen rows has no bounded sensitivity",
            "release a noisy sum and a noisy count, and divide those",
        )
    if run.fewest < 1:
        raise run.ends("the mean of no rows is NaN", "allow at least one row in the schema")
    total = total_of_rows(run, rows)
    if run.replaces:
        return apply(run, "divide", run.symbol(total), run.count_of_rows())
    if total.powers:
        raise run.ends("the mean of rows that are multiples of a released value")
    move, *norms = distance_of_values(run, total.node)
    size = run.fewest + 1
    low, high = run.domain.bounds(total.node)
    l1, l2, spread = (float(intervals.quotient_of(each, size)[1]) for each in norms)
    return run.symbol(Aggregate(low, high, intervals.quotient_of(move, size)[1], l1, l2, spread))


def spread_of_rows(run: Run, rows: Rows, name: str, ddof: int) -> Any:
    """Variance or standard deviation over all rows.

    Notes
    -----
    With R the width of the range of a value. Replace-one: the variance with ddof 0 moves by at most R^2 (n-1)/n^2, with
    ddof 1 by R^2/n; the deviation by R sqrt(n-1)/n and R/sqrt(n), since it is the seminorm |C x|/sqrt(n) of the centred
    values and |C e_i| = sqrt(1 - 1/n). Add-or-remove-one, ddof 0, n the smaller number: var' = n/(n+1) var +
    n (g-m)^2/(n+1)^2 with var <= R^2/4 gives R^2 n/(n+1)^2, and R sqrt(n)/(n+1) for the deviation.
    """
    if rows.mask is not None:
        raise run.ends(f"the {name} of chosen rows", "release noisy sums and a noisy count")
    if rows.powers or rows.node.shape:
        raise run.ends(f"the {name} of arrays or of multiples of released values")
    node = number_node(run, rows.node, "f")
    refuse_infinite(run, node)
    low, high = run.domain.bounds(node)
    width = float(high - low)
    fewest = run.least_rows
    if fewest < 1 + ddof:
        raise run.ends(f"the {name} of too few rows is NaN", "allow more rows in the schema")
    if ddof not in (0, 1) or (ddof and not run.replaces):
        raise run.ends(f"the {name} with ddof={ddof} under {run.relation}")
    if run.replaces and run.rows is None and run.fewest != run.most:
        raise run.needs_rows(f"used in a {name}")
    most_variance = width**2 / 4 * (fewest / (fewest - ddof))
    if run.replaces:
        n = fewest
        variance = width**2 * ((n - 1) / n**2 if ddof == 0 else 1 / n)
        deviation = width * (math.sqrt(n - 1) / n if ddof == 0 else 1 / math.sqrt(n))
    else:  # n/(n+1)^2 falls with n from n = 1 on
        n = fewest
        variance, deviation = width**2 * n / (n + 1) ** 2, width * math.sqrt(n) / (n + 1)
    top, move = (most_variance, variance) if name == "variance" else (math.sqrt(most_variance), deviation)
    move = math.nextafter(move * (1 + 1e-15), math.inf)
    move_array, top = np.asarray(move), math.nextafter(top * (1 + 1e-15), math.inf)
    return run.symbol(Aggregate(np.zeros(()), np.asarray(top), move_array, move, move, 0.0))


def ranged_of_rows(run: Run, rows: Rows, name: str) -> Any:
    """A function of all rows whose value lies between the least and the largest value of a row."""
    if rows.mask is not None:
        raise run.ends(f"the {name} of chosen rows, which may be none")
    if run.least_rows < 1:
        raise run.ends(f"the {name} of no rows", "allow at least one row in the schema")
    if rows.powers:
        raise run.ends(f"the {name} of rows that are multiples of an unknown")
    node = number_node(run, rows.node, "i")
    refuse_infinite(run, node)
    low, high = run.domain.bounds(node)
    whole = node.kind == "i" and name in ("maximum", "minimum")
    return run.symbol(aggregate_within(low, high, whole=whole, truth=whole and rows.node.kind == "b"))


# ----------------------------------------------------------------------------------------------------------------------
# Stacking


def stack(run: Run, values: Sequence[Any]) -> Any:
    """A list of values as one array; a plain array where nothing is unknown."""
    if not holds_symbols(values):
        return np.asarray(values)
    parts = [stack(run, each) if isinstance(each, list | tuple) else each for each in values]
    terms = [term_of(each) for each in parts]
    if any(isinstance(each, Table) for each in terms):
        raise run.ends("tables are put into an array")
    if any(is_by_row(each) for each in terms):
        raise run.ends("draws for each row are put into another array")
    if any(isinstance(each, Rows) for each in terms):
        return _stacked_rows(run, terms)
    shapes = {tuple(np.shape(each)) if not hasattr(each, "shape") else each.shape for each in terms}
    if len(shapes) > 1 or None in shapes:
        raise run.ends("values of different shapes are put into one array")
    (shape,) = shapes
    if any(isinstance(each, Noisy) for each in terms):
        joined = _stacked_noisy(run, terms)
        if joined is not None:
            return joined
        terms = [term_of(run.make_public(each)) if isinstance(each, Symbol) else each for each in parts]
    if any(isinstance(each, Noise) for each in terms):
        found = _stacked_noise(run, [each for each in terms if isinstance(each, Noise)])
        if found is not None and all(isinstance(each, Noise) for each in terms):
            return run.symbol(found, "array")
        terms = [term_of(run.make_public(each)) if isinstance(each, Symbol) else each for each in parts]
    if any(isinstance(each, Weights) for each in terms):
        if not all(isinstance(each, Weights) and each.form == terms[0].form for each in terms):
            raise run.ends("weights of a choice and other values are put into one array")
        if any(each.shift != terms[0].shift for each in terms):
            raise run.ends("weights of a choice have different shifts")
        scores = term_of(stack(run, [run.symbol(each.scores) for each in terms]))
        if terms[0].form == "share":
            parts_of = {each.key[2] if each.key[0] == "part" else None for each in terms}
            whole = terms[0].key[2] if terms[0].key[0] == "part" else ("none",)
            own = ("stack", tuple(each.key[1] if each.key[0] == "part" else None for each in terms))
            complete = len(parts_of) == 1 and whole == own
            return run.symbol(Weights(scores, "share", whole if complete else ("some",)), "array")
        key = ("stack", tuple(each.key for each in terms))
        return run.symbol(Weights(scores, terms[0].form, key, terms[0].shift), "array")
    if any(isinstance(each, Sum | Aggregate) for each in terms):
        return run.symbol(_stacked_data(run, terms, shape), "array")
    ranges = [(each.low, each.high) if isinstance(each, Public) else (np.min(each), np.max(each)) for each in terms]
    facts = [is_number(each) for each in terms]
    return run.symbol(
        Public(
            (len(terms), *shape),
            float(min(low for low, _ in ranges)),
            float(max(high for _, high in ranges)),
            defined=all(defined for defined, _ in facts),
            finite=all(finite for _, finite in facts),
            truth=any(isinstance(each, Public) and each.truth for each in terms),
        ),
        "array",
    )


def _stacked_rows(run: Run, terms: list[Any]) -> Symbol:
    powers, mask, scope = same_rows(run, terms)
    if scope is None:
        raise run.ends("rows of several columns are put into a list", "use np.column_stack or keep them apart")
    if any((each.powers if isinstance(each, Rows) else ()) != powers for each in terms):
        raise run.ends("multiples of different unknowns are put into one array")
    return run.symbol(Rows(stacked_node(run, [as_node(run, each) for each in terms]), powers, mask, scope), "array")


def stacked_node(run: Run, nodes: list[Node]) -> Node:
    """Functions of a row as the entries of one array: of truth values, if all of them are."""
    if not all(each.kind == "b" for each in nodes):
        nodes = [number_node(run, each, "i") for each in nodes]
    kind = next((each for each in "bi" if all(node.kind == each for node in nodes)), "f")
    return run.domain.node("stack", nodes, shape=(len(nodes), *nodes[0].shape), kind=kind, extra=0)


def _stacked_noise(run: Run, terms: list[Noise]) -> Noise | None:
    first = terms[0]
    same = all((each.law, each.powers, each.by_row) == (first.law, first.powers, first.by_row) for each in terms)
    if not same or any(each.parameter != first.parameter for each in terms):
        return None
    shift = first.shift if all(each.shift == first.shift for each in terms) else None
    return Noise(
        first.law,
        np.stack([each.ids for each in terms]),
        np.stack([each.scale for each in terms]),
        first.powers,
        first.parameter,
        first.by_row,
        shift,
    )


def _stacked_noisy(run: Run, terms: list[Any]) -> Symbol | None:
    """Several noisy values as one array that can still be released as a whole; None where they are of several kinds."""
    if not all(isinstance(each, Noisy) for each in terms) or any(each.noise.by_row for each in terms):
        return None
    releases = [each.release.last() for each in terms]
    fresh = all(not each.booked and not each.spent for each in releases)
    if len({id(each) for each in releases}) < len(releases) or not fresh:
        return None
    noise = _stacked_noise(run, [each.noise for each in terms])
    if noise is None or len({each.data.powers for each in terms}) > 1:
        return None
    original = all(each.data is release.data for each, release in zip(terms, releases, strict=True))
    data = _stacked_data(run, [each.data for each in terms], terms[0].data.shape)
    if not original:
        return None
    release = Release(data=data, noise=noise, chosen=any(each.chosen for each in releases))
    for each in releases:
        each.merged = release
    return run.symbol(Noisy(data, noise, release), "array")


def _stacked_data(run: Run, terms: list[Any], shape: tuple[int, ...]) -> Any:
    powers = {each.powers for each in terms if isinstance(each, Sum | Aggregate)}
    if len(powers) > 1:
        if any(unknown is run.number_of_rows for each in powers for unknown, _ in each):
            raise run.needs_rows("a factor of some entries of an array only")
        raise run.ends("multiples of different released values are put into one array")
    (common,) = powers
    for each in terms:
        if not isinstance(each, Sum | Aggregate):
            refuse_no_number(run, each)
    if all(isinstance(each, Sum) or not isinstance(each, Aggregate) for each in terms):
        nodes, offsets = [], []
        for each in terms:
            if isinstance(each, Sum):
                nodes.append(number_node(run, each.node, "i"))
                offsets.append(each.offset)
            else:
                nodes.append(run.domain.constant(np.zeros(shape, int)))
                offsets.append(_public_interval(each))
        kind = "i" if all(each.kind == "i" for each in nodes) else "f"
        node = run.domain.node("stack", nodes, shape=(len(nodes), *shape), kind=kind, extra=0)
        if any(each is None for each in offsets):
            return Sum(node, common, None)
        lows = np.stack([np.broadcast_to(each[0], shape) for each in offsets if each is not None])
        highs = np.stack([np.broadcast_to(each[1], shape) for each in offsets if each is not None])
        return Sum(node, common, (lows, highs))
    parts = [
        aggregate_of(run, each) if isinstance(each, Sum | Aggregate) else _unmoving_aggregate(each, shape)
        for each in terms
    ]
    l2 = math.sqrt(sum(each.l2**2 for each in parts))
    move = np.stack([np.broadcast_to(each.move, shape) for each in parts])
    total = up(sum(each.l1 for each in parts))
    return Aggregate(
        np.stack([np.broadcast_to(each.low, shape) for each in parts]),
        np.stack([np.broadcast_to(each.high, shape) for each in parts]),
        move,
        total,
        up(l2 * (1 + 1e-15)),
        min(total, up(2 * float(move.max(initial=0.0)))),
        common,
        all(each.whole for each in parts),
        truth=any(each.truth for each in parts),
    )


def _public_interval(value: Any) -> tuple[Any, Any] | None:
    if isinstance(value, Public):
        return (np.asarray(value.low), np.asarray(value.high)) if math.isfinite(value.low + value.high) else None
    return np.asarray(value, float), np.asarray(value, float)


def _unmoving_aggregate(value: Any, shape: tuple[int, ...]) -> Aggregate:
    found = _public_interval(value) or (np.asarray(-np.inf), np.asarray(np.inf))
    low, high = (np.broadcast_to(each, shape) for each in found)
    whole = not isinstance(value, Public) and bool(np.all(np.asarray(value) % 1 == 0))
    return Aggregate(low, high, np.zeros(shape), 0.0, 0.0, 0.0, (), whole)


# ----------------------------------------------------------------------------------------------------------------------
# Moving entries


def rearrange(run: Run, symbol: Symbol, function: Callable[[Any], Any], *, view: bool = True) -> Symbol:
    """The array with entries in other places; `view`: NumPy gives a view, which shares what is written."""
    term = symbol.term
    if is_by_row(term):
        raise run.ends("an array with one draw for each row is put in another shape or order")
    shared = symbol.shared if view else None
    places = np.arange(math.prod(_shape(run, term))).reshape(_shape(run, term))
    try:
        taken = np.asarray(function(places))
    except (IndexError, ValueError, TypeError) as error:
        raise run.ends(f"an array is indexed or reshaped: {error}") from None
    found: Any
    match term:
        case Rows():
            found = Rows(moved_node(run, term.node, function), term.powers, term.mask, term.scope)
        case Sum():
            offset = term.offset
            if offset is not None:
                low, high = (np.broadcast_to(each, term.shape).reshape(-1)[taken] for each in offset)
                offset = (low, high)
            found = Sum(moved_node(run, term.node, function), term.powers, offset)
        case Aggregate():
            flat = {
                name: np.broadcast_to(getattr(term, name), term.shape).reshape(-1)[taken]
                for name in ("low", "high", "move")
            }
            found = _some_entries(term, flat, taken)
        case Noise():
            found = Noise(
                term.law,
                term.ids.reshape(-1)[taken],
                term.scale.reshape(-1)[taken],
                term.powers,
                term.parameter,
                term.by_row,
                term.shift,
            )
        case Public():
            found = Public(taken.shape, term.low, term.high, term.whole, by_row=term.by_row, **term.facts)
            if taken.shape == () and term.shape == () and term.coefficient is not None:
                found.coefficient, found.powers = term.coefficient, term.powers
        case Weights():
            scores = term_of(rearrange(run, run.symbol(term.scores), function))
            same = taken.shape == term.shape and bool((taken == places).all())
            key = term.key if same else key_of(scores) if term.form == "weight" else ("some",)
            found = Weights(scores, term.form, key, term.shift)
        case _:
            raise run.ends("an array of this kind is rearranged")
    guise = symbol.guise if isinstance(term, Rows) else ("array" if taken.shape else "number")
    return Symbol(run, found, guise, shared if taken.shape else None)


def _some_entries(term: Aggregate, flat: dict[str, Any], taken: Any) -> Aggregate:
    names = taken.ravel()
    once = len(set(names.tolist())) == len(names)
    sizes = flat["move"].ravel()
    l1, l2 = float(sizes.sum()), math.sqrt(float((sizes**2).sum()))
    if sizes.size > 1:
        l1, l2 = up(l1), up(l2)
    if once:
        l1, l2 = min(l1, term.l1), min(l2, term.l2)
    spread = min(term.spread, l1) if names.size > 1 else 0.0
    return Aggregate(flat["low"], flat["high"], flat["move"], l1, l2, spread, term.powers, term.whole, truth=term.truth)


def _shape(run: Run, term: Any) -> tuple[int, ...]:
    if isinstance(term, Rows):
        return term.node.shape
    if isinstance(term, Table) or term.shape is None:
        raise run.ends("a value of unknown shape is indexed")
    shape: tuple[int, ...] = term.shape
    return shape


def map_linearly(run: Run, term: Any, op: str, shape: tuple[int, ...], extra: Any, key: Any, matrix: Any) -> Any:
    """A public linear map of a sum or of rows: the map of the function of a row.

    `matrix` has shape (entries of the result, entries of the value); it bounds what becomes of an `Aggregate`.
    """
    if isinstance(term, Rows | Sum):
        refuse_infinite(run, term.node)
        node = number_node(run, term.node, "i")
        whole = bool((matrix == np.rint(matrix)).all()) if matrix is not None else True
        made = run.domain.node(op, [node], shape=shape, kind=node.kind if whole else "f", extra=extra, key=key)
        if isinstance(term, Rows):
            return Rows(made, term.powers, term.mask, term.scope)
        offset = term.offset
        if offset is not None and (np.any(offset[0]) or np.any(offset[1])):
            low, high = (np.broadcast_to(each, term.shape).ravel() for each in offset)
            up_part, down = np.maximum(matrix, 0), np.minimum(matrix, 0)
            offset = ((up_part @ low + down @ high).reshape(shape), (up_part @ high + down @ low).reshape(shape))
        else:
            offset = offset and (np.zeros(shape), np.zeros(shape))
        return Sum(made, term.powers, offset)
    size = np.abs(matrix)
    low, high, move = (np.broadcast_to(each, term.shape).ravel() for each in (term.low, term.high, term.move))
    up_part, down = np.maximum(matrix, 0), np.minimum(matrix, 0)
    with np.errstate(all="ignore"):
        moved = (size @ move) * (1 + 1e-14)
        ends = up_part @ low + down @ high, up_part @ high + down @ low
    l1 = min(float(moved.sum()), float(size.sum(axis=0).max(initial=0.0)) * term.l1 * (1 + 1e-14))
    l2 = min(math.sqrt(float((moved**2).sum())), math.sqrt(float((size**2).sum())) * term.l2 * (1 + 1e-14))
    spread = 2 * float(moved.max(initial=0.0)) if moved.size > 1 else 0.0
    ends = tuple(np.where(np.isnan(each), bad, each) for each, bad in zip(ends, (-np.inf, np.inf), strict=True))  # type: ignore[assignment]
    return Aggregate(
        ends[0].reshape(shape),
        ends[1].reshape(shape),
        moved.reshape(shape),
        l1,
        l2,
        spread,
        term.powers,
        term.whole and bool((matrix == np.rint(matrix)).all()),
    )


def sum_entries(run: Run, symbol: Symbol, axis: int | None, *, guise: str = "") -> Any:
    """Sum over the entries of an array, or along an axis of it (of one row's value, for rows)."""
    term = symbol.term
    if isinstance(term, Noise):
        if term.law == "normal" and term.shape:
            raise run.ends("draws of normal noise are summed up", "draw one number with the larger scale")
        run.make_public(symbol)
        term = symbol.term
    if isinstance(term, Noisy):
        term = run.make_public(symbol).term
    if isinstance(term, Weights):
        if term.form == "weight" and axis in (None, 0) and len(term.shape) == 1:
            return run.symbol(Weights(term.scores, "total", term.key, term.shift))
        if term.form == "share":
            return 1.0 if axis in (None, 0) else run.public()
        raise run.ends("the weights of a choice are summed up in parts")
    shape = _shape(run, term)
    if axis is None:
        flat = rearrange(run, symbol, np.ravel)
        return symbol if not shape else sum_entries(run, flat, 0, guise=guise)
    axis = axis % len(shape) if shape else 0
    left = tuple(each for at, each in enumerate(shape) if at != axis)
    if isinstance(term, Public):
        count = shape[axis]
        return run.symbol(
            Public(left, term.low * count, term.high * count, term.whole, by_row=term.by_row, **term.facts)
        )
    matrix = _axis_matrix(shape, axis)
    found = map_linearly(run, term, "sum_axis", left, axis, ("sum", axis), matrix)
    if isinstance(found, Rows) and left == ():  # the sum of all |v_i| is the 1-norm of v
        sizes = strip_shape(found.node.args[0])
        if sizes.op == "absolute":
            found.node.at_least_norm = (strip_shape(sizes.args[0]), 1.0, 1.0)
    return run.symbol(found, guise or (symbol.guise if isinstance(term, Rows) else ""))


def _axis_matrix(shape: tuple[int, ...], axis: int) -> Any:
    size = math.prod(shape)
    if size > 2_000:
        return np.ones((1, 1)) if size == 0 else _sparse_axis(shape, axis)
    unit = np.eye(size).reshape(size, *shape)
    return unit.sum(axis=axis + 1).reshape(size, -1).T


def _sparse_axis(shape: tuple[int, ...], axis: int) -> Any:
    from scipy import sparse

    places = np.arange(math.prod(shape)).reshape(shape)
    left = math.prod(shape) // shape[axis]
    target = np.broadcast_to(
        np.expand_dims(np.arange(left).reshape([each for at, each in enumerate(shape) if at != axis]), axis), shape
    )
    return sparse.csr_matrix(
        (np.ones(places.size), (target.ravel(), places.ravel())), shape=(left, places.size)
    ).toarray()


def cumulate(run: Run, symbol: Symbol, axis: int) -> Any:
    """Running sums along an axis."""
    term = run.make_public(symbol).term
    shape = _shape(run, term)
    if isinstance(term, Public):
        return run.symbol(Public(shape, whole=term.whole, **term.facts))
    size = math.prod(shape)
    matrix = np.cumsum(np.eye(size).reshape(size, *shape), axis=axis + 1).reshape(size, size).T
    return run.symbol(map_linearly(run, term, "cumulative", shape, axis, ("cumulative", axis), matrix))


def times_matrix(run: Run, symbol: Symbol, matrix: Any, *, left: bool) -> Any:
    """Public matrix times data (`left`), or data times a public matrix."""
    term = run.make_public(symbol).term
    matrix = np.asarray(matrix, float)
    shape = _shape(run, term)
    if isinstance(term, Public):
        empty = np.zeros(shape)
        known = term.facts if np.isfinite(matrix).all() else {}
        return run.symbol(Public((matrix @ empty if left else empty @ matrix).shape, **known))
    refuse_no_number(run, matrix)
    if isinstance(term, Weights):
        raise run.ends("a matrix times the weights of a choice")
    if len(shape) != 1:
        raise run.ends("a matrix product of arrays of several axes")
    used = matrix if not left else matrix.T
    if used.shape[0] != shape[0]:
        raise run.ends("a matrix product of shapes that do not fit")
    one = used.ndim == 1
    table = used.reshape(shape[0], -1)
    found = map_linearly(
        run, term, "matmul", (table.shape[1],), table, ("matmul", table.tobytes(), table.shape), table.T
    )
    symbol = run.symbol(found, symbol.guise if isinstance(term, Rows) else "array")
    return rearrange(run, symbol, lambda each: each.reshape(())) if one else symbol


def extreme_entry(run: Run, symbol: Symbol, name: str, axis: int | None) -> Any:
    """Largest or smallest entry of an array (of one row's value, for rows)."""
    term = run.make_public(symbol).term
    shape = _shape(run, term)
    if not shape:
        return symbol
    if axis is None:
        symbol, axis = rearrange(run, symbol, np.ravel), 0
        term, shape = symbol.term, _shape(run, symbol.term)
    axis = axis % len(shape)
    left = tuple(each for at, each in enumerate(shape) if at != axis)
    if isinstance(term, Public):
        return run.symbol(Public(left, term.low, term.high, term.whole, by_row=term.by_row, **term.facts))
    if isinstance(term, Rows):
        op = "max_axis" if name == "maximum" else "min_axis"
        node = number_node(run, term.node, "i")
        made = run.domain.node(op, [node], shape=left, kind=node.kind, extra=axis)
        made = truth_node(run, made) if term.node.kind == "b" else made
        return run.symbol(Rows(made, term.powers, term.mask, term.scope), symbol.guise)
    if isinstance(term, Weights):
        raise run.ends("the largest weight of a choice")
    data = aggregate_of(run, term)
    function = np.max if name == "maximum" else np.min
    low, high = (function(np.broadcast_to(each, shape), axis=axis) for each in (data.low, data.high))
    move = np.max(np.broadcast_to(data.move, shape), axis=axis)
    total = min(float(move.sum()), data.l1)
    l2 = min(math.sqrt(float((move**2).sum())), data.l2) if move.size > 1 else float(move.max(initial=0.0))
    found = Aggregate(
        low,
        high,
        move,
        total,
        l2,
        up(2 * float(move.max(initial=0))) if left else 0.0,
        data.powers,
        data.whole,
        truth=data.truth,
    )
    if name == "maximum" and not left and len(shape) == 1:
        found.maximum_of = key_of(term)
    return run.symbol(found)


# ----------------------------------------------------------------------------------------------------------------------
# Reading and writing places


def item(run: Run, symbol: Symbol, key: Any) -> Any:
    """`symbol[key]`."""
    term = symbol.term
    if isinstance(term, Table):
        return _item_of_table(run, symbol, key)
    if isinstance(term, Public) and term.shape is None:
        return run.public(None)
    if isinstance(term, Rows) and (term.scope is None) and not getattr(term.scope, "local", False):
        return _item_of_rows(run, symbol, key)
    if is_by_row(term):  # the first axis is that of the rows
        if any(not isinstance(each, Symbol) or not isinstance(each.term, Public) for each in symbols_in(key)):
            raise run.ends("an entry is taken at a place that depends on the data")
        run.make_public(symbol)
        return run.public(None)
    if isinstance(term, Noisy):
        term = run.make_public(symbol).term
    if holds_symbols(key):
        return _unknown_place(run, symbol, key)
    return rearrange(run, symbol, lambda each: each[tuple(key) if isinstance(key, tuple) else key])


def _unknown_place(run: Run, symbol: Symbol, key: Any) -> Any:
    keys = key if isinstance(key, tuple) else (key,)
    for each in symbols_in(key):
        if not isinstance(each, Symbol) or not isinstance(run.make_public(each).term, Public):
            raise run.ends("an array is indexed by a value that depends on rows")
    if not all(isinstance(each, Symbol) for each in keys):
        raise run.ends("an array is indexed by a released value")
    term = symbol.term
    if isinstance(term, Noise):
        term = run.make_public(symbol).term
    if isinstance(term, Public):
        return (
            run.symbol(Public((), term.low, term.high, term.whole, **term.facts))
            if len(term.shape or ()) == 1 and len(keys) == 1 and term_of(keys[0]).shape == ()
            else run.public(None)
        )
    if isinstance(term, Sum | Aggregate) and len(term.shape) == 1 and len(keys) == 1 and term_of(keys[0]).shape == ():
        data = aggregate_of(run, term)
        most = float(np.max(data.move))
        return run.symbol(
            Aggregate(
                np.asarray(np.min(data.low)),
                np.asarray(np.max(data.high)),
                np.asarray(most),
                most,
                most,
                0.0,
                data.powers,
                data.whole,
                truth=data.truth,
            )
        )
    raise run.ends("an array is indexed by a released value")


def _item_of_rows(run: Run, symbol: Symbol, key: Any) -> Any:
    term = symbol.term
    assert isinstance(term, Rows)
    if isinstance(key, Symbol) and isinstance(key.term, Rows):
        if symbol.guise == "list":
            raise run.ends("a list is indexed by a mask")
        return run.symbol(Rows(term.node, term.powers, both_masks(run, term.mask, key.term), None), symbol.guise)
    if isinstance(key, slice) and key == slice(None):
        return Symbol(run, term, symbol.guise, symbol.shared)
    if isinstance(key, tuple) and key and (key[0] is Ellipsis or (isinstance(key[0], slice) and key[0] == slice(None))):
        rest = key[1:]
        return rearrange(run, symbol, lambda each: each[rest if key[0] is not Ellipsis else key])
    if isinstance(key, tuple) and key and isinstance(key[0], Symbol) and isinstance(key[0].term, Rows):
        return _item_of_rows(run, _item_of_rows(run, symbol, key[0]), (slice(None), *key[1:]))
    if key is Ellipsis:
        return symbol
    if isinstance(key, slice):
        return _places(run, symbol, key)
    raise run.ends("rows are taken by their place", "use all rows, or choose them by a comparison")


def _places(run: Run, symbol: Symbol, key: slice) -> Symbol:
    """Rows by their places, under replace-one: a mask that is the same for a row and for its replacement."""
    term = symbol.term
    assert isinstance(term, Rows)
    if not run.replaces or term.mask is not None or holds_symbols(key):
        raise run.ends("rows are taken by their place", "use all rows, or choose them by a comparison")
    if key.step is not None and key.step < 0:
        raise run.ends("rows are turned round", "use all rows, or choose them by a comparison")
    name = (key.start, key.stop, key.step)
    rows = run.rows if run.rows is not None else run.fewest if run.fewest == run.most else None
    if rows is not None and 0 < rows <= MOST_LABELS:
        inside = range(*key.indices(rows))
        mask = run.domain.among_places([at in inside for at in range(rows)])
        run.places[id(mask)] = len(inside)
        return run.symbol(Rows(term.node, term.powers, mask), symbol.guise)
    mask = run.domain.public_axis(("place", name))
    run.slices[mask] = name
    if run.rows is not None:
        run.places[id(mask)] = len(range(*key.indices(run.rows)))
    else:
        # the length is linear in the number of rows between these numbers, so equal there is equal for all
        ends = [abs(int(each)) for each in (key.start, key.stop) if each is not None]
        turns = [each for each in (*ends, sum(ends)) if run.fewest < each < run.most]
        counts = {len(range(*key.indices(each))) for each in (run.fewest, *turns, int(min(run.most, 10**9)))}
        if len(counts) == 1 and key.step in (None, 1):
            run.places[id(mask)] = counts.pop()
    return run.symbol(Rows(term.node, term.powers, mask), symbol.guise)


def both_masks(run: Run, mask: Node | None, chosen: Rows) -> Node:
    """The mask of rows that were chosen and are chosen once more."""
    if chosen.node.kind != "b" or chosen.node.shape:
        raise run.ends("rows are chosen by numbers, which are their places or labels", "choose them by a comparison")
    if mask is None:
        if chosen.mask is not None:
            raise run.ends("a mask of chosen rows is used for all rows")
        return chosen.node
    if chosen.mask is not mask:
        raise run.ends("a mask of other rows is used")
    return row_node(run, "logical_and", [mask, chosen.node])


def _item_of_table(run: Run, symbol: Symbol, key: Any) -> Any:
    term = symbol.term
    assert isinstance(term, Table)
    if isinstance(key, Symbol) and isinstance(key.term, Rows) and term.scope is None and symbol.guise == "frame":
        mask = both_masks(run, term.mask, key.term)
        return run.symbol(Table(term.columns, mask), symbol.guise)
    if isinstance(key, list) and symbol.guise == "frame":
        if not all(isinstance(each, str) and each in term.columns for each in key):
            raise run.ends(f"columns {key!r} are not in the schema")
        return run.symbol(Table({each: term.columns[each] for each in key}, term.mask), symbol.guise)
    if isinstance(key, str | int) and (symbol.guise == "frame" or term.scope is not None):
        if key not in term.columns:
            raise run.ends(f"column {key!r} is not in the schema")
        guise = "series" if symbol.guise == "frame" else "number"
        return run.symbol(Rows(term.columns[key], (), term.mask, term.scope), guise)
    raise run.ends("rows are taken by their place", "use all rows, or choose them by a comparison")


@dataclass(eq=False)
class Written:
    """An array that was written to entry by entry, as long as it has this term: what each entry is.

    The term of the whole says of each entry how far it moves; here an entry that was released stays a released value.
    """

    symbol: Symbol
    term: Any
    entries: list[Any]


def set_item(run: Run, symbol: Symbol, key: Any, value: Any) -> None:
    """`symbol[key] = value`."""
    term = symbol.term
    if isinstance(term, Rows) and isinstance(key, Symbol) and isinstance(key.term, Rows):
        if key.term.node.kind != "b":
            raise run.ends("rows are chosen by numbers, which are their places or labels", "choose by a comparison")
        if len(symbol.shared) > 1:
            raise run.ends("rows that share memory with others are written to", "use np.where")
        if isinstance(value, Symbol) and isinstance(value.term, Rows) and value.term.scope is None:
            raise run.ends("rows are written to chosen rows: their number may be another one", "use np.where")
        symbol.term = run.hooks.call(np.where, key, value, run.symbol(term, symbol.guise)).term
        return
    if len(symbol.shared) > 1:
        raise run.ends("an array that shares memory with another one is written to", "copy it first")
    if isinstance(term, Rows | Table) or getattr(term, "shape", None) is None:
        raise run.ends("data are written to")
    if holds_symbols(key):
        released = _set_where(run, symbol, key, value)
        if released is None:
            raise run.ends(
                "an array is written to at a place that is not known", "np.where or np.maximum makes a new array"
            )
        symbol.term = released
        run.written.pop(id(symbol), None)
        return
    written = run.written.get(id(symbol))
    parts = written.entries if written is not None and written.term is term else split(run, symbol)
    shape = _shape(run, term)
    places = np.arange(math.prod(shape)).reshape(shape)
    taken = np.asarray(places[key])
    flat = [each for each in parts]
    given = split(run, spread_to(run, value, taken.shape))
    for at, new in zip(taken.ravel(), given, strict=True):
        flat[int(at)] = new
    whole = stack(run, flat)
    symbol.term = (
        term_of(rearrange(run, whole, lambda each: each.reshape(shape))) if isinstance(whole, Symbol) else Public(shape)
    )
    run.written[id(symbol)] = Written(symbol, symbol.term, flat)


def _set_where(run: Run, symbol: Symbol, key: Any, value: Any) -> Public | None:
    """`noisy[noisy < 0] = 0`: released values at released places of a released array; None for all others."""
    if type(value) not in (int, float) or not math.isfinite(value) or not isinstance(key, Symbol):
        return None
    if not all(isinstance(each.term, Noisy | Public) for each in (key, symbol)):
        return None
    mask, term = run.make_public(key).term, run.make_public(symbol).term
    if not isinstance(mask, Public) or not mask.truth or not isinstance(term, Public):
        return None
    if term.shape is None or mask.shape != term.shape or mask.by_row or term.by_row:
        return None
    return Public(term.shape, defined=term.defined, finite=term.finite)  # an array of integers cuts .5 to 0: no range


def spread_to(run: Run, value: Any, shape: tuple[int, ...]) -> Any:
    """A value broadcast to a shape."""
    if isinstance(value, list | tuple):
        value = stack(run, value)
    if not isinstance(value, Symbol):
        return np.broadcast_to(value, shape)
    if isinstance(value.term, Noisy):
        run.make_public(value)
    return rearrange(run, value, lambda each: np.broadcast_to(each, shape), view=False)


def split(run: Run, value: Any) -> list[Any]:
    """Entries of an array, in their order."""
    if not isinstance(value, Symbol):
        return [each.item() for each in np.ravel(value)]
    term = value.term
    if isinstance(term, Noisy):
        run.make_public(value)
    count = math.prod(_shape(run, value.term))
    found = [rearrange(run, value, functools.partial(_entry, at)) for at in range(count)]
    if isinstance(term, Noisy) and not term.noise.by_row:
        for at, each in enumerate(found):
            each.term.was = (term, at)
    return found


def _entry(at: int, value: Any) -> Any:
    return np.asarray(value.reshape(-1)[at])
