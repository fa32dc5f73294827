"""Arithmetic on terms, entry by entry.

Rows stay functions of a row. Sums stay sums under linear maps (A sum g(x_i) = sum A g(x_i)). All else about data
becomes an `Aggregate` with the move that a rule proves for it. Noise joins data once; a noisy value that is used
otherwise than linearly has been released.
"""

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpverify.proof import intervals
from dpverify.proof.ending import ProofEnds
from dpverify.proof.laws import are_fresh, compose_draws, function_of_draw, multiply_draws, sum_law
from dpverify.proof.moves import aggregate_of
from dpverify.proof.relative import are_disjoint, move_by_public, part_of
from dpverify.proof.rows import Node
from dpverify.proof.run import Event, FRESH, is_whole, JOINED, KNOWN, RELEASED, Run, WHOLE
from dpverify.proof.terms import (
    Aggregate,
    Noise,
    Noisy,
    Opaque,
    Powers,
    Public,
    Release,
    Rows,
    shape_of,
    Sum,
    Symbol,
    Table,
    Term,
    times,
    Unknown,
    Weights,
)

COMPARE = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!="}
ORDER = ("less", "less_equal", "greater", "greater_equal")
LOGIC = {"logical_and": "and", "logical_or": "or"}
# one argument: name, and whether the result is a whole number
SMOOTH = ("sqrt", "exp", "log", "log1p", "log2", "log10", "expm1", "tanh", "arctan")
COINS = ("uniform", "shifted uniform", "uniform integers", "exponential", "geometric", "gamma", "symmetric gamma")
ROUND = ("floor", "ceil", "trunc", "rint")
FEW_BITS = ("absolute", "square", "sign", "power", "floor_divide", "remainder", *SMOOTH, *ROUND)  # of truth values
NATIVE: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "power": operator.pow,
    "matmul": operator.matmul,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "left_shift": operator.lshift,
    "right_shift": operator.rshift,
    "negative": operator.neg,
    "positive": operator.pos,
    "invert": operator.invert,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}


DICT_VIEWS: Any = type({}.keys()) | type({}.values()) | type({}.items())


def holds_symbols(value: Any, depth: int = 0) -> bool:
    """Whether a symbol is in a value: an entry of a list, tuple or dict, or of an array of objects."""
    return any(True for _ in symbols_in(value, depth))


def symbols_in(value: Any, depth: int = 0) -> Iterator[Any]:
    """Symbols in nested containers, and what else of the proof is in them."""
    if isinstance(value, Opaque):
        yield value
    elif depth > 6:
        return
    elif isinstance(value, list | tuple | set | frozenset | DICT_VIEWS):
        for each in value:
            yield from symbols_in(each, depth + 1)
    elif isinstance(value, dict):
        yield from symbols_in([*value.keys(), *value.values()], depth)
    elif isinstance(value, slice):
        yield from symbols_in([value.start, value.stop, value.step], depth)
    elif isinstance(value, np.ndarray) and value.dtype == object:
        yield from symbols_in(list(value.flat), depth)


def apply(run: Run, op: str, *operands: Any, guise: str = "") -> Any:
    """`op` (the name of a NumPy function of numbers) on values of which at least one is a symbol."""
    values = [run.stack(each) if isinstance(each, list | tuple) else each for each in operands]
    terms = [each.term if isinstance(each, Symbol) else each for each in values]
    for each in terms:
        if isinstance(each, np.ndarray | np.generic) and each.dtype.kind in "iuf" and each.dtype.itemsize < 8:
            raise run.ends(f"numbers of {each.dtype} run over", "use int or float")
    if any(isinstance(each, Table) for each in terms):
        raise run.ends(f"{op} of a whole table", "take its columns one by one")
    check_axes(run, terms)
    if any(isinstance(each, Noise | Noisy) for each in terms):
        found = _with_noise(run, op, values)
        if found is not None:
            return found
        terms = [run.make_public(each).term if isinstance(each, Symbol) else each for each in values]
    guise = guise or _guise(values)
    if any(isinstance(each, Rows) for each in terms):
        return _of_rows(run, op, terms, guise)
    if any(isinstance(each, Sum | Aggregate | Weights) for each in terms):
        return run.symbol(_of_data(run, op, terms))
    return _of_public(run, op, terms, guise)


def is_by_row(term: Any) -> bool:
    """Whether a value has one draw for each row: its first axis is that of the rows, which its shape leaves out."""
    return bool(getattr(term.noise if isinstance(term, Noisy) else term, "by_row", False))


def check_axes(run: Run, terms: list[Any]) -> None:
    """Ends the proof where NumPy would lay the axis of the rows along another axis than the rule does.

    (n,) and (n, k), or (n,) and (k,), go together entry by entry of their last axes, so values with one entry for each
    row go together only with such of as many axes, and with others of fewer.
    """
    if not any(is_by_row(each) for each in terms):
        return
    own: set[int] = set()
    others = [0]
    for each in terms:
        if isinstance(each, Rows):
            if each.scope is not None and not getattr(each.scope, "local", False):
                raise run.ends("one row is combined with one draw for each row")
            own.add(len(each.node.shape))
        elif is_by_row(each):
            own.add(len(each.shape))
        else:
            shape = each.shape if hasattr(each, "shape") else np.shape(each)
            others.append(len(shape or ()))
    if len(own) > 1 or max(others) > min(own):
        raise run.ends("draws for each row are combined with an array of other axes", "draw noise of the rows' shape")


def _guise(values: list[Any]) -> str:
    guises = {each.guise for each in values if isinstance(each, Symbol)}
    for each in ("series", "array"):
        if each in guises:
            return each
    if "list" in guises or any(isinstance(each, np.ndarray) and each.shape for each in values):
        return "array"
    return "number"


# ----------------------------------------------------------------------------------------------------------------------
# Public values


def _as_interval(value: Any) -> intervals.Interval:
    if isinstance(value, Public):
        return np.asarray(value.low, float), np.asarray(value.high, float)
    array = np.asarray(value, float)
    if not array.size:
        return np.asarray(0.0), np.asarray(0.0)
    return np.asarray(array.min()), np.asarray(array.max())


def _of_public(run: Run, op: str, terms: list[Any], guise: str) -> Any:
    shapes = [each.shape if isinstance(each, Public) else np.shape(each) for each in terms]
    by_row = any(isinstance(each, Public) and each.by_row for each in terms)
    if any(each is None for each in shapes):
        return run.public(None)
    shape = np.broadcast_shapes(*(each for each in shapes if each is not None))
    known = _monomial(run, op, terms) if shape == () else None
    if known is None and any(_is_number_of_rows(run, each) for each in terms):
        raise run.needs_rows(f"used in {op}")
    ranges = [_as_interval(each) for each in terms]
    low, high = _public_range(op, ranges)
    defined, finite = _number_facts(op, terms, ranges)
    truth = op in COMPARE or op in LOGIC or op == "logical_not" or all(map(_may_be_truth, terms))
    whole = (
        op in ROUND
        or op in COMPARE
        or (
            op in ("add", "subtract", "multiply", "negative", "absolute", "maximum", "minimum")
            and all(map(_is_whole, terms))
        )
    )
    public = Public(shape, low, high, whole, by_row=by_row, defined=defined, finite=finite, truth=truth)
    if known is not None:
        public.coefficient, public.powers = known
    if op in ("add", "subtract") and isinstance(terms[0], Public):
        move_by_public(terms[0], terms[1], 1 if op == "add" else -1, public)
    elif op == "add":
        move_by_public(terms[1], terms[0], 1, public)
    return run.symbol(public, "number" if shape == () and not by_row else guise if guise != "number" else "array")


def _number_facts(op: str, terms: list[Any], ranges: list[intervals.Interval]) -> tuple[bool, bool]:
    """Whether the result of an operation on public values is never NaN, and whether it is never infinite."""
    if op in COMPARE or op in LOGIC or op == "logical_not":
        return True, True
    facts = [is_number(each) for each in terms]
    few_bits = op in FEW_BITS and _may_be_truth(terms[0]) and (op == "power" or all(map(_may_be_truth, terms)))
    if few_bits or not all(defined for defined, _ in facts):
        return False, False
    finite = [each for _, each in facts]
    low, high = (float(each) for each in ranges[0])
    least, most = (float(each) for each in ranges[-1])  # of the second operand, where there are two
    apart = [low > 0 or high < 0, least > 0 or most < 0]  # from 0
    match op:
        case "add" | "subtract":
            return finite.count(False) <= 1, all(finite)
        case "multiply":
            return (finite[0] or apart[1]) and (finite[1] or apart[0]), all(finite)
        case "divide":
            return any(apart) and any(finite), finite[0] and apart[1]
        case "floor_divide" | "remainder":
            return all(finite) and apart[1], all(finite) and apart[1]
        case "power":
            natural = least >= 0 and not isinstance(terms[1], Public) and not np.any(np.asarray(terms[1]) % 1)
            known = all(finite) and (natural or low > 0 or (low >= 0 and least >= 0))
            return known, known
        case "maximum":
            return True, any(finite) and all(f or float(h) < math.inf for f, (_, h) in zip(finite, ranges, strict=True))
        case "minimum":
            return True, any(finite) and all(
                f or float(b) > -math.inf for f, (b, _) in zip(finite, ranges, strict=True)
            )
        case "negative" | "absolute" | "square" | "sign" | "positive":
            return True, finite[0]
        case "sqrt":
            return low >= 0, low >= 0 and finite[0]
        case "log" | "log2" | "log10":
            return low >= 0, low > 0 and finite[0]
        case "log1p":
            return low >= -1, low > -1 and finite[0]
        case "exp" | "expm1":
            return True, high <= 700
        case "tanh" | "arctan":
            return True, True
        case "cos" | "sin":
            return finite[0], finite[0]
        case _ if op in ROUND:
            return True, finite[0]
        case "bitwise_and" | "bitwise_or" | "bitwise_xor" | "invert":
            whole = all(map(_is_whole, terms))
            return whole, whole
    return False, False


def is_number(value: Any) -> tuple[bool, bool]:
    """Whether a public value is never NaN, and whether it is never infinite."""
    if isinstance(value, Public):
        return value.defined, value.finite
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or (array.dtype.kind != "b" and array.dtype.itemsize < 8):
        return False, False
    return not bool(np.isnan(array).any()), not bool(np.isinf(array).any())


def refuse_no_number(run: Run, value: Any, *, infinite: bool = False) -> None:
    """Ends the proof at a public value that may be NaN, or infinite unless that is allowed, where it meets data.

    NaN is in no range, and every comparison with it is false; infinity times 0 and infinity minus infinity are NaN.
    """
    defined, finite = is_number(value)
    released = "a released value" if isinstance(value, Public) else "a number"
    if not defined:
        raise run.ends(
            f"{released} that may be NaN or of few bits meets data",
            "bound what it is computed from, e.g. sqrt(max(v, 0))",
        )
    if not (finite or infinite):
        raise run.ends(
            f"{released} that may be infinite meets data", "bound it, or use it in comparisons, min and max only"
        )


def _is_whole(value: Any) -> bool:
    return value.whole if isinstance(value, Public) else np.asarray(value).dtype.kind in "biu"


def _is_number_of_rows(run: Run, value: Any) -> bool:
    return isinstance(value, Public) and any(unknown is run.number_of_rows for unknown, _ in value.powers)


def _monomial(run: Run, op: str, terms: list[Any]) -> tuple[float, Powers] | None:
    """A product or quotient of positive public numbers as a multiple of its unknowns."""
    if op not in ("multiply", "divide", "sqrt", "power", "positive"):
        return None
    parts = []
    for each in terms:
        if isinstance(each, Public):
            if not (each.defined and each.finite) or (each.coefficient is None and (each.by_row or not each.low > 0)):
                return None
            parts.append(multiple(run, each))
        else:
            if not 0 < float(each) < math.inf:
                return None
            parts.append((float(each), ()))
    if op == "positive":
        return parts[0]
    if op == "multiply":
        return parts[0][0] * parts[1][0], times(parts[0][1], parts[1][1])
    if op == "divide" and parts[1][0] != 0 and not _may_be_zero(run, parts[1][1]):
        return parts[0][0] / parts[1][0], times(parts[0][1], parts[1][1], -1)
    if op == "power" and not parts[1][1] and parts[1][0] in (1.0, 2.0):
        power = int(parts[1][0])
        return parts[0][0] ** power, tuple((unknown, each * power) for unknown, each in parts[0][1])
    return None


def _public_range(op: str, ranges: list[intervals.Interval]) -> tuple[float, float]:
    match op:
        case "add":
            low, high = intervals.add(*ranges)
        case "subtract":
            low, high = intervals.subtract(*ranges)
        case "multiply":
            low, high = intervals.multiply(*ranges)
        case "divide":
            low, high = intervals.divide(*ranges)
        case "maximum" | "minimum":
            function = np.maximum if op == "maximum" else np.minimum
            low, high = function(ranges[0][0], ranges[1][0]), function(ranges[0][1], ranges[1][1])
        case "negative":
            low, high = -ranges[0][1], -ranges[0][0]
        case "absolute" | "square":
            ends = np.abs(ranges[0][0]), np.abs(ranges[0][1])
            inside = ranges[0][0] <= 0 <= ranges[0][1]
            low, high = (np.asarray(0.0) if inside else np.minimum(*ends)), np.maximum(*ends)
            if op == "square":
                low, high = low * low, high * high
        case "power" if ranges[1][0] == ranges[1][1] >= 0 and float(ranges[0][0]) >= 0:
            low, high = intervals.increasing(lambda base: base ** ranges[1][0], ranges[0])
            low = np.maximum(low, 0.0)
        case "exp":
            low, high = intervals.increasing(np.exp, ranges[0])
            low = np.maximum(low, 0.0)
        case "sqrt" | "floor" | "ceil" | "rint" | "trunc" if float(ranges[0][0]) >= 0:
            low, high = intervals.increasing(getattr(np, op), ranges[0])
            low = np.maximum(low, 0.0)
        case "floor" | "ceil" | "rint" | "trunc":
            low, high = getattr(np, op)(ranges[0][0]), getattr(np, op)(ranges[0][1])
        case _ if op in COMPARE or op in LOGIC or op == "logical_not":
            return 0.0, 1.0
        case "positive":
            low, high = ranges[0]
        case _:
            return -math.inf, math.inf
    return float(low), float(high)


def multiple(run: Run, value: Any) -> tuple[float, Powers]:
    """A positive public number as a multiple of unknowns: of itself, where it is not known and above 0."""
    term = value.term if isinstance(value, Symbol) else value
    if not isinstance(term, Public):
        return float(term), ()
    refuse_no_number(run, term)
    if term.coefficient is not None:
        return term.coefficient, term.powers
    if term.shape != () or not term.low >= 0:
        raise run.ends(
            "a scale is computed from noisy values and may be negative", "bound it from below, e.g. by max(value, 1e-3)"
        )
    unknown = Unknown(f"value of line {run.line()}", term.low, term.high)
    term.coefficient, term.powers = 1.0, ((unknown, 1),)
    return 1.0, term.powers


# ----------------------------------------------------------------------------------------------------------------------
# Rows


def as_node(run: Run, term: Any) -> Node:
    """The expression of one row for a term that is combined with rows."""
    if isinstance(term, Rows):
        return term.node
    if isinstance(term, Public):
        if term.shape is None or term.by_row:
            raise run.ends("a released value of unknown shape is combined with rows")
        if _is_number_of_rows(run, term):
            raise run.needs_rows("combined with rows")
        refuse_no_number(run, term, infinite=True)
        node = run.domain.node(
            "public",
            shape=term.shape,
            kind="b" if term.truth else "f",
            extra=(max(0.0, term.low), min(1.0, term.high)) if term.truth else (term.low, term.high),
            key=("public", id(term)),
        )
        node.public = term
        return node
    if isinstance(term, Sum | Aggregate | Weights):
        raise run.ends("rows are combined with a value that depends on all rows", "release that value with noise first")
    if isinstance(term, str):
        raise run.ends("rows are combined with a text")
    return run.domain.constant(term)


def same_rows(run: Run, terms: list[Any]) -> tuple[Powers, Node | None, Any]:
    """Powers, mask and scope that all row terms have in common."""
    rows = [each for each in terms if isinstance(each, Rows)]
    first = rows[0]
    for each in rows[1:]:
        if each.mask is not first.mask or each.scope is not first.scope:
            raise run.ends("values of different sets of rows are combined", "use one mask for both")
    if first.scope is not None and first.scope is not run.scope and not getattr(first.scope, "lasting", False):
        raise run.ends("the value of one row is used after the loop over the rows")
    return first.powers, first.mask, first.scope


def _of_rows(run: Run, op: str, terms: list[Any], guise: str) -> Symbol:
    powers, mask, scope = same_rows(run, terms)
    if scope is None:
        terms = align_with_rows(run, terms)
    if any(isinstance(each, Public) and each.by_row for each in terms):
        raise run.ends("one released value for each row is combined with the rows again")
    found = [each.powers if isinstance(each, Rows) else () for each in terms]
    nodes = None
    if op in ("multiply", "divide") and len(terms) == 2:
        scaled = _row_multiple(run, op, terms, found)
        if scaled is not None:
            nodes, powers = scaled
    elif any(each != powers for each in found if each) or (powers and any(not each for each in found)):
        zero = [each for each, has in zip(terms, found, strict=True) if not has]
        if op not in ("add", "subtract", "negative", "absolute") or any(not _is_zero(each) for each in zero):
            if any(unknown is run.number_of_rows for each in found for unknown, _ in each):
                raise run.needs_rows(f"used in {op} of rows")
            raise run.ends(f"{op} of rows that are multiples of different released values")
    elif powers and op not in ("add", "subtract", "negative", "absolute", "positive"):
        if any(unknown is run.number_of_rows for unknown, _ in powers):
            raise run.needs_rows(f"used in {op} of rows")
        raise run.ends(f"{op} of rows that are multiples of a released value")
    if nodes is None:
        nodes = [as_node(run, each) for each in terms]
    if op == "divide" and scope is not None and scope is run.scope:
        nodes = [nodes[0], _assumed_divisor(run, nodes[1])]
    node = row_node(run, op, nodes)
    return run.symbol(Rows(node, powers, mask, scope), guise)


def _assumed_divisor(run: Run, divisor: Node) -> Node:
    """max(s, c) for a divisor s of a value that is used only on the rows with s > c > 0: there it is s itself."""
    for node, outcome in run.assumed:
        if node.op != "compare" or node.args[0] is not divisor or node.args[1].op != "constant":
            continue
        above = node.extra in (">", ">=") if outcome else node.extra in ("<", "<=")
        if above and node.args[1].extra.shape == () and float(node.args[1].extra) > 0 and divisor.shape == ():
            return row_node(run, "maximum", [divisor, node.args[1]])
    return divisor


def align_with_rows(run: Run, terms: list[Any]) -> list[Any]:
    """Terms as NumPy broadcasts them, whose first axis is that of the rows."""
    depths = {len(each.node.shape) for each in terms if isinstance(each, Rows)}
    if len(depths) > 1:
        raise run.ends("arrays of rows of different shapes are combined", "use keepdims=True or [:, None]")
    (depth,) = depths
    found = []
    for each in terms:
        if isinstance(each, Rows):
            found.append(each)
            continue
        shape = each.shape if isinstance(each, Public) else np.shape(each)
        if shape is None or len(shape) > depth + 1 or (len(shape) == depth + 1 and shape[0] != 1):
            raise run.ends("rows are combined with an array for each place")
        if len(shape) == depth + 1:
            each = (
                Public(shape[1:], each.low, each.high, each.whole, **each.facts)
                if isinstance(each, Public)
                else np.asarray(each)[0]
            )
        found.append(each)
    return found


def _is_zero(value: Any) -> bool:
    return not isinstance(value, Rows | Public) and not np.any(value)


def _row_multiple(run: Run, op: str, terms: list[Any], powers: list[Powers]) -> tuple[list[Node], Powers] | None:
    """Rows times or divided by a positive public unknown: the unknown stays outside of the function of the row."""
    factors: list[Node] = []
    total: Powers = ()
    for at, each in enumerate(terms):
        sign = -1 if op == "divide" and at else 1
        if isinstance(each, Public) and each.shape == () and (each.coefficient is not None or each.low > 0):
            coefficient, own = multiple(run, each)
            if sign < 0 and _may_be_zero(run, own):
                raise run.ends("rows are divided by a released value that may be 0", "bound it from below")
            factors.append(run.domain.constant(coefficient))
            total = times(total, own, sign)
        else:
            factors.append(as_node(run, each))
            total = times(total, powers[at], sign)
    return factors, total


def row_node(run: Run, op: str, nodes: list[Node]) -> Node:
    """An operation on functions of a row, with the facts that follow for it."""
    domain = run.domain
    kinds = [each.kind for each in nodes]
    if "c" in kinds and op not in ("equal", "not_equal"):
        raise run.ends(f"{op} of a column of texts")
    try:
        shape = np.broadcast_shapes(*(each.shape for each in nodes))
    except ValueError:
        raise run.ends("arrays of different shapes are combined") from None
    make = domain.node
    if op in COMPARE:
        return _compare(run, op, nodes, shape)
    if op in LOGIC:
        return make(LOGIC[op], [truth_node(run, each) for each in nodes], shape=shape, kind="b")
    if op == "logical_not":
        return make("not", [truth_node(run, nodes[0])], shape=shape, kind="b")
    if op in ("bitwise_and", "bitwise_or", "invert", "bitwise_xor"):
        if any(each != "b" for each in kinds):
            raise run.ends("bits of whole numbers are combined")
        if op == "bitwise_xor":
            return _compare(run, "not_equal", [number_node(run, each, "i") for each in nodes], shape)
        return row_node(
            run, {"bitwise_and": "logical_and", "bitwise_or": "logical_or", "invert": "logical_not"}[op], nodes
        )
    if op == "positive":
        return nodes[0]
    if op in ("add", "multiply", "maximum", "minimum") and kinds == ["b", "b"]:
        # NumPy's truth values: + is or, * is and
        return make("or" if op in ("add", "maximum") else "and", nodes, shape=shape, kind="b")
    if op in ("subtract", "negative") and all(each == "b" for each in kinds):
        raise run.ends("truth values are subtracted")
    if (op == "power" and kinds[0] == "b") or (all(each == "b" for each in kinds) and op in FEW_BITS):
        raise run.ends(f"{op} of truth values: NumPy computes with few bits", "convert them first, with astype(int)")
    if op in ("add", "subtract", "multiply", "divide", "power", "floor_divide", "remainder", *ROUND):
        refuse_infinite(run, *nodes)
    nodes = [number_node(run, each, "i") for each in nodes]
    kinds = [each.kind for each in nodes]
    whole = "i" if all(each == "i" for each in kinds) else "f"
    if op == "power":
        return _power(run, nodes, shape, whole)
    if op == "floor_divide":
        return _check_range(run, make("floor", [row_node(run, "divide", nodes)], shape=shape, kind=whole))
    if op == "remainder":
        if nodes[1].op != "constant" or not (nodes[1].extra > 0).all():
            raise run.ends("a remainder by a number that is not a positive constant")
        return make("modulo", nodes, shape=shape, kind=whole)
    if op == "divide":
        return _quotient(run, nodes, shape)
    if op == "multiply":
        if nodes[0] is nodes[1]:
            return _check_range(run, make("square", nodes[:1], shape=shape, kind=whole))
        node = make("multiply", nodes, shape=shape, kind=whole)
        _norm_facts_of_product(run, node, nodes)
        return _check_range(run, node)
    if op in ("add", "subtract"):
        node = make(op, nodes, shape=shape, kind=whole)
        if op == "add":
            _keep_at_least(run, node, nodes)
            node.at_least_norm = node.at_least_norm or _sum_of_sizes(node)
        return _check_range(run, node)
    if op in ("maximum", "minimum"):
        if nodes[0].op == "constant" and nodes[1].op != "constant":
            nodes = nodes[::-1]
        node = make(op, nodes, shape=shape, kind=whole)
        if op == "maximum":
            node.at_least_norm = next((each.at_least_norm for each in nodes if each.at_least_norm), None)
        else:
            node.over_norm = next((each.over_norm for each in nodes if each.over_norm), None)
            if node.over_norm is not None and any(run.domain.bounds(each)[0].min(initial=0) < 0 for each in nodes):
                node.over_norm = None
        return node
    if op == "negative":
        node = make("negative", nodes, shape=shape, kind=whole)
        node.norms.update(nodes[0].norms)
        return node
    if op in ("absolute", "square", "sign"):
        return _check_range(run, make(op, nodes, shape=shape, kind=whole))
    if op in ROUND:
        return nodes[0] if nodes[0].kind == "i" else _check_range(run, make(op, nodes, shape=shape, kind="f"))
    if op in SMOOTH:
        low = run.domain.bounds(nodes[0])[0]
        least = {"sqrt": 0.0, "log": 5e-324, "log2": 5e-324, "log10": 5e-324, "log1p": -1 + 1e-16}.get(op, -math.inf)
        if low.min(initial=math.inf) < least:
            raise run.ends(f"{op} of values that may be below its domain", "clip them first")
        return _check_range(run, make(op, nodes, shape=shape, kind="f"))
    raise run.ends(f"{op} of rows")


def refuse_infinite(run: Run, *nodes: Node) -> None:
    """Ends the proof at functions of a row that may be infinite: their sums and products may be NaN for some rows.

    A released value without bounds is finite. All else whose bounds are infinite is infinite for a row, or overflows.
    """
    seen: set[int] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if id(node) in seen or node.kind == "c":
            continue
        seen.add(id(node))
        if all(np.isfinite(each).all() for each in run.domain.bounds(node)):
            continue
        if node.op == "public":
            infinite = node.public is None or not node.public.finite
        else:
            unbounded = [each for each in node.args if not all(np.isfinite(e).all() for e in run.domain.bounds(each))]
            infinite = not unbounded
            waiting += unbounded
        if infinite:
            raise run.ends("a value of a row may be infinite", "clip it first, or compare with infinity only")


def _check_range(run: Run, node: Node) -> Node:
    """The node; the proof ends where its numbers may overflow or where integers may wrap."""
    low, high = run.domain.bounds(node)
    most = max(float(np.max(np.abs(low), initial=0)), float(np.max(np.abs(high), initial=0)))
    if node.kind == "i" and most >= 2**53:
        raise run.ends("whole numbers may become larger than their type holds")
    if math.isnan(most):
        raise run.ends("a value may be NaN")
    return node


def number_node(run: Run, node: Node, kind: str) -> Node:
    """Truth values as whole numbers, whole numbers as floats."""
    if node.kind == "m":
        raise run.ends("a value may be missing", "use fillna with a public number, or dropna")
    if node.kind == "b" or (kind == "f" and node.kind == "i"):
        return run.domain.node("number", [node], shape=node.shape, kind=kind)
    return node


def truth_node(run: Run, node: Node) -> Node:
    """Values as truth values: whether they are not 0."""
    if node.kind == "b":
        return node
    if node.op == "number" and node.args[0].kind == "b":
        return node.args[0]
    return _compare(run, "not_equal", [node, run.domain.constant(0)], node.shape)


def _compare(run: Run, op: str, nodes: list[Node], shape: tuple[int, ...]) -> Node:
    if nodes[0].kind == "c" or nodes[1].kind == "c":
        raise run.ends("a column of texts is compared with numbers")
    nodes = [number_node(run, each, "i") for each in nodes]
    if nodes[0].op == "constant" and nodes[1].op != "constant":
        nodes, op = (
            nodes[::-1],
            {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}.get(
                op, op
            ),
        )
    left, right = nodes
    if left.op == "number" and left.args[0].kind == "b" and right.op == "constant" and right.shape == ():
        truths = [NATIVE[op](each, float(right.extra)) for each in (0.0, 1.0)]
        if truths[0] != truths[1]:
            return left.args[0] if truths[1] else row_node(run, "logical_not", [left.args[0]])
    return run.domain.node("compare", nodes, shape=shape, kind="b", extra=COMPARE[op])


def _power(run: Run, nodes: list[Node], shape: tuple[int, ...], whole: str) -> Node:
    if nodes[1].op != "constant" or nodes[1].extra.shape != ():
        raise run.ends("a power that is not one number")
    power = float(nodes[1].extra)
    if power == 1:
        return nodes[0]
    if power == 2:
        return _check_range(run, run.domain.node("square", nodes[:1], shape=shape, kind=whole))
    if power == 0.5:
        return row_node(run, "sqrt", nodes[:1])
    if power.is_integer() and 2 < power <= 8:
        lower = _power(run, [nodes[0], run.domain.constant(power - 1)], shape, whole)
        node = run.domain.node("multiply", [lower, nodes[0]], shape=shape, kind=whole)
        return _check_range(run, node)
    raise run.ends(f"power {power:g} of rows")


def _quotient(run: Run, nodes: list[Node], shape: tuple[int, ...]) -> Node:
    top, bottom = nodes
    low, high = run.domain.bounds(bottom)
    node = run.domain.node("divide", nodes, shape=shape, kind="f")
    zero = bool(((low <= 0) & (high >= 0)).any())
    if zero:
        numerator = run.domain.bounds(top)
        if bottom.at_least_norm is None or not (numerator[0] > 0).all() or not (low >= 0).all():
            raise run.ends(
                "rows are divided by values that may be 0", "bound the divisor, e.g. by np.maximum(norm, 1e-12)"
            )
    if bottom.at_least_norm is not None:
        vector, order, factor = bottom.at_least_norm
        if strip_shape(top) is vector and not zero and math.prod(bottom.shape) == 1:
            node.norms[order] = float(intervals.quotient_of(1.0, factor)[1])
        elif top.op == "constant" and (top.extra > 0).all() and top.extra.size == 1:
            node.over_norm = (vector, order, float(intervals.quotient_of(float(top.extra.flat[0]), factor)[1]))
    if (
        top.at_least_norm is not None
        and bottom.op == "constant"
        and bottom.extra.size == 1
        and float(bottom.extra.flat[0]) > 0
    ):
        vector, order, factor = top.at_least_norm
        node.at_least_norm = (vector, order, float(intervals.quotient_of(factor, float(bottom.extra.flat[0]))[0]))
    if bottom.op == "constant" and bottom.extra.size == 1 and top.norms:
        size = abs(float(bottom.extra.flat[0]))
        node.norms.update({order: float(intervals.quotient_of(bound, size)[1]) for order, bound in top.norms.items()})
    return node


def strip_shape(node: Node) -> Node:
    """The expression whose entries these are, in whatever shape."""
    while node.op in ("reshape", "number") and math.prod(node.shape) == math.prod(node.args[0].shape):
        if node.op == "reshape" and not node.extra[1]:
            break
        node = node.args[0]
    return node


def _norm_facts_of_product(run: Run, node: Node, nodes: list[Node]) -> None:
    for factor, vector in (nodes, nodes[::-1]):
        over = factor.over_norm or strip_shape(factor).over_norm
        if over is not None and over[0] is strip_shape(vector) and math.prod(factor.shape) == 1:
            if np.isfinite(run.domain.bounds(factor)[1]).all():
                node.norms[over[1]] = over[2]
        if factor.op == "constant" and factor.extra.size == 1:
            size = float(factor.extra.flat[0])
            for order, bound in vector.norms.items():
                node.norms[order] = float(intervals.product_of(bound, abs(size))[1])
            if vector.at_least_norm is not None and size > 0:
                inner, order, least = vector.at_least_norm
                node.at_least_norm = (inner, order, float(intervals.product_of(least, size)[0]))
            if vector.over_norm is not None and size > 0:
                inner, order, most = vector.over_norm
                node.over_norm = (inner, order, float(intervals.product_of(most, size)[1]))


def _sum_of_sizes(node: Node) -> tuple[Node, float, float] | None:
    """|v_1| + ... + |v_d|, written as a chain of sums over all entries of v, is the 1-norm of v."""
    vector: Node | None = None
    seen: set[int] = set()
    waiting = [node]
    for _ in range(1024):
        if not waiting:
            break
        each = waiting.pop()
        if each.op == "add":
            waiting += each.args
            continue
        each = strip_shape(each)
        entry = each.args[0] if each.op == "absolute" else each
        entry = entry.args[0] if entry.op == "number" else entry
        if each.op != "absolute" or entry.op != "reshape" or entry.shape != ():
            return None
        source = entry.args[0]
        if vector is not None and source is not vector:
            return None
        vector = source
        seen.add(int(np.ravel(entry.extra[0](np.arange(math.prod(source.shape))))[0]))
    if waiting or node.shape != () or vector is None or len(seen) < math.prod(vector.shape):
        return None
    return strip_shape(vector), 1.0, 1.0


def _keep_at_least(run: Run, node: Node, nodes: list[Node]) -> None:
    for one, other in (nodes, nodes[::-1]):
        if one.at_least_norm is not None and other.op == "constant" and (other.extra >= 0).all():
            node.at_least_norm = one.at_least_norm


# ----------------------------------------------------------------------------------------------------------------------
# Data: sums and other functions of the dataset


def _of_data(run: Run, op: str, terms: list[Any]) -> Any:
    if any(isinstance(each, Weights) for each in terms):
        found = _of_weights(run, op, terms)
        if found is not None:
            return found
        raise run.ends(f"{op} of the weights of a choice")
    if any(isinstance(each, Public) and each.by_row for each in terms):
        raise run.ends("one released value for each row is combined with data")
    if all(_may_be_truth(each) for each in terms):
        if op in FEW_BITS:
            raise run.ends(f"{op} of truth values: NumPy computes with few bits", "convert them first, with int()")
        found = _of_numbers(run, op, terms)
        return replace(aggregate_of(run, found), truth=True)
    return _of_numbers(run, op, terms)


def _may_be_truth(value: Any) -> bool:
    if isinstance(value, Aggregate | Public):
        return value.truth
    return not isinstance(value, Sum) and np.asarray(value).dtype.kind == "b"


def _of_numbers(run: Run, op: str, terms: list[Any]) -> Any:
    if op in ("add", "subtract") and len(terms) == 2:
        return _add_data(run, op, terms)
    if op == "negative":
        return _times_constant(run, terms[0], -1.0)
    if op == "positive":
        return terms[0]
    if op in ("multiply", "divide") and not isinstance(terms[1], Sum | Aggregate):
        return _times_public(run, op, terms[0], terms[1])
    if op == "multiply" and not isinstance(terms[0], Sum | Aggregate):
        return _times_public(run, op, terms[1], terms[0])
    return _nonlinear(run, op, terms)


def _array(run: Run, value: Any) -> Any:
    if isinstance(value, str | bytes | None):
        raise run.ends("data are combined with a value that is no number")
    try:
        return np.asarray(value, float)
    except (TypeError, ValueError):
        raise run.ends("data are combined with a value that is no number") from None


def _spread_out(run: Run, data: Any, shape: tuple[int, ...]) -> Any:
    """Data broadcast to a shape, before any norm of it is taken."""
    if data.shape == shape:
        return data
    if isinstance(data, Sum):
        return Sum(moved_node(run, data.node, lambda each: np.broadcast_to(each, shape)), data.powers, data.offset)
    move = np.broadcast_to(data.move, shape)
    copies = math.prod(shape) / max(1, math.prod(data.shape))
    return Aggregate(
        np.broadcast_to(data.low, shape),
        np.broadcast_to(data.high, shape),
        move,
        data.l1 * copies,
        float(np.nextafter(data.l2 * math.sqrt(copies), math.inf)),
        data.spread if data.shape else 0.0,
        data.powers,
        data.whole,
        truth=data.truth,
    )


def moved_node(run: Run, node: Node, function: Callable[[Any], Any]) -> Node:
    """A node whose entries stand elsewhere: `function` reshapes, indexes or broadcasts the array of one row's value."""
    places = np.arange(math.prod(node.shape)).reshape(node.shape)
    taken = np.asarray(function(places))
    names = taken.ravel()
    kept = taken.size == places.size and bool((np.sort(names) == np.arange(places.size)).all())
    key = ("moved", taken.shape, taken.tobytes())

    def rearranged(value: Any) -> Any:
        return np.asarray(value).reshape(-1)[taken]

    found = run.domain.node("reshape", [node], shape=taken.shape, kind=node.kind, extra=(rearranged, kept), key=key)
    if kept:
        found.norms.update(node.norms)
        found.at_least_norm, found.over_norm = node.at_least_norm, node.over_norm
    elif len(set(names.tolist())) == len(names):  # some of the entries: norms do not grow
        found.norms.update(node.norms)
    elif math.prod(node.shape) == 1:
        found.at_least_norm = None
    return found


def _add_data(run: Run, op: str, terms: list[Any]) -> Any:
    first, second = terms
    if not isinstance(second, Sum | Aggregate):
        shape = np.broadcast_shapes(first.shape, shape_of(second) if isinstance(second, Public) else np.shape(second))
        return _moved_by_public(run, _spread_out(run, first, shape), second, 1 if op == "add" else -1)
    if not isinstance(first, Sum | Aggregate):
        second = _times_constant(run, second, -1.0) if op == "subtract" else second
        shape = np.broadcast_shapes(second.shape, shape_of(first) if isinstance(first, Public) else np.shape(first))
        return _moved_by_public(run, _spread_out(run, second, shape), first, 1)
    if op == "subtract" and isinstance(second, Aggregate) and second.maximum_of is not None:
        if second.shape == ():
            return _shift_scores(run, first, second)
    shape = np.broadcast_shapes(first.shape, second.shape)
    first, second = _spread_out(run, first, shape), _spread_out(run, second, shape)
    if first.powers != second.powers:
        raise _different_powers(run, first, second, op)
    if isinstance(first, Sum) and isinstance(second, Sum):
        node = row_node(run, op, [number_node(run, first.node, "i"), number_node(run, second.node, "i")])
        known = first.offset is not None and second.offset is not None
        rule = intervals.add if op == "add" else intervals.subtract
        return Sum(node, first.powers, rule(first.offset, second.offset) if known else None)  # type: ignore[arg-type]
    a, b = aggregate_of(run, first), aggregate_of(run, second)
    rule = intervals.add if op == "add" else intervals.subtract
    low, high = rule((a.low, a.high), (b.low, b.high))
    if run.replaces and shape == () and are_disjoint(run.slices, a.parts, b.parts):
        # the row that is replaced is in one part: one of both stays what it is (N14)
        one = np.maximum(a.move, b.move)
        most = float(one)
        return Aggregate(low, high, one, most, most, 0.0, a.powers, a.whole and b.whole, parts=a.parts | b.parts)
    return Aggregate(
        low,
        high,
        intervals.sum_of(a.move, b.move)[1],
        up(a.l1 + b.l1),
        up(a.l2 + b.l2),
        up(a.spread + b.spread),
        a.powers,
        a.whole and b.whole,
    )


def _different_powers(run: Run, first: Any, second: Any, op: str) -> ProofEnds:
    if any(unknown is run.number_of_rows for each in (first, second) for unknown, _ in each.powers):
        return run.needs_rows(f"used in {op} of sums")
    return run.ends(f"{op} of sums that are multiples of different released values")


def key_of(data: Any) -> Any:
    """What tells scores apart: the function of a row with what is added to its sum, or the aggregate itself."""
    if isinstance(data, Sum) and data.offset is not None and (data.offset[0] == data.offset[1]).all():
        return ("sum", data.node, data.powers, np.broadcast_to(data.offset[0], data.shape).tobytes())
    return ("aggregate", data)  # with what is added to a sum not known, it is that object only


def _shift_scores(run: Run, data: Any, maximum: Aggregate) -> Aggregate:
    """Scores minus one number for all of them: as scores of a choice they are the scores, whatever the number is."""
    found = aggregate_of(run, data)
    if found.powers != maximum.powers:
        raise _different_powers(run, data, maximum, "subtract")
    low, high = intervals.subtract((found.low, found.high), (maximum.low, maximum.high))
    if maximum.maximum_of == key_of(data):
        high = np.minimum(high, 0.0)
    move = intervals.sum_of(found.move, maximum.move)[1]
    total = float(move.sum())
    result = Aggregate(low, high, move, up(total), up(total), up(2 * float(move.max(initial=0.0))), found.powers)
    result.maximum_of = ("shifted", data, _shift_key(maximum))
    return result


def _shift_key(shift: Aggregate) -> Any:
    """What tells shifts apart: the scores whose largest one it is, where these are known by what they are."""
    known = shift.maximum_of
    if known is not None and known[0] == "sum":
        return ("largest of", known)
    return ("aggregate", shift)


def up(value: float) -> float:
    """The next float: a sum that is rounded upwards."""
    return value if value == 0 or float(value).is_integer() else math.nextafter(value, math.inf)


def _moved_by_public(run: Run, data: Any, public: Any, sign: int) -> Any:
    if isinstance(public, Public):
        if _is_number_of_rows(run, public):
            raise run.needs_rows("added to a sum")
        refuse_no_number(run, public)
        shift = (np.asarray(public.low), np.asarray(public.high))
        whole = public.whole
    else:
        shift = (_array(run, public),) * 2
        refuse_no_number(run, shift[0])
        whole = bool((shift[0] == np.rint(shift[0])).all())
    shift = shift if sign > 0 else (-shift[1], -shift[0])
    known = bool(np.isfinite(shift[0]).all() and np.isfinite(shift[1]).all())
    if isinstance(data, Sum):
        offset = intervals.add(data.offset, shift) if known and data.offset is not None else None
        return Sum(data.node, data.powers, offset)
    low, high = intervals.add((data.low, data.high), shift)
    return Aggregate(low, high, data.move, data.l1, data.l2, data.spread, data.powers, data.whole and whole)


def _times_public(run: Run, op: str, data: Any, public: Any) -> Any:
    """Data times (or divided by) a public number or array."""
    sign = -1 if op == "divide" else 1
    if isinstance(public, Public):
        if public.shape != ():
            raise run.ends("data are multiplied with released values of which only the range is known")
        if public.coefficient is None and not public.low > 0:
            raise run.ends("data are multiplied with a released value that may be negative or 0", "add the noise first")
        coefficient, powers = multiple(run, public)
        if op == "divide" and _may_be_zero(run, powers):
            raise run.ends("data are divided by a released value that may be 0", "bound it from below")
        scaled = _times_constant(run, data, coefficient, divide=op == "divide")
        if isinstance(scaled, Sum):
            return Sum(scaled.node, times(scaled.powers, powers, sign), None if _offset(scaled) else scaled.offset)
        infinite = np.full(scaled.shape, np.inf)
        return Aggregate(
            -infinite, infinite, scaled.move, scaled.l1, scaled.l2, scaled.spread, times(scaled.powers, powers, sign)
        )
    return _times_constant(run, data, _array(run, public), divide=op == "divide")


def _may_be_zero(run: Run, powers: Powers) -> bool:
    """Whether a multiple of released values may be 0."""
    return any(power > 0 and not unknown.low > 0 and unknown is not run.number_of_rows for unknown, power in powers)


def _offset(data: Sum) -> bool:
    return data.offset is None or bool(np.any(data.offset[0]) or np.any(data.offset[1]))


def _times_constant(run: Run, data: Any, factor: Any, *, divide: bool = False) -> Any:
    factor = np.asarray(factor, float)
    if not np.isfinite(factor).all() or (divide and (factor == 0).any()):
        raise run.ends("data are multiplied with a number that is not finite, or divided by 0")
    shape = np.broadcast_shapes(data.shape, factor.shape)
    data = _spread_out(run, data, shape)
    rule = intervals.divide if divide else intervals.multiply
    whole_factor = not divide and bool((factor == np.rint(factor)).all())
    if isinstance(data, Sum):
        node = number_node(run, data.node, "i")
        constant = run.domain.constant(
            factor.astype(int) if whole_factor and np.abs(factor).max(initial=0) < 2**52 else factor
        )
        if factor.ndim == 0 and float(factor) == -1:
            made = row_node(run, "negative", [node])
        elif factor.ndim == 0 and float(factor) == 1:
            made = node
        else:
            made = row_node(run, "divide" if divide else "multiply", [node, constant])
        offset = None if data.offset is None else rule(data.offset, (factor, factor))
        return Sum(made, data.powers, offset)
    low, high = rule((data.low, data.high), (factor, factor))
    size = np.abs(factor)
    most = float(size.max()) if not divide else float(size.min())
    scaling = intervals.quotient_of if divide else intervals.product_of
    even = factor.size <= 1
    move = scaling(data.move, size)[1]
    spread = float(scaling(data.spread, most)[1]) if even else up(2 * float(move.max(initial=0.0)))
    found = Aggregate(
        low,
        high,
        move,
        float(scaling(data.l1, most)[1]),
        float(scaling(data.l2, most)[1]),
        spread,
        data.powers,
        data.whole and whole_factor,
    )
    if factor.ndim == 0 and data.maximum_of is not None and data.maximum_of[0] == "shifted":
        # c (s - m) is c s with the shift c m
        _, scores, shift = data.maximum_of
        scaled = _times_constant(run, scores, factor, divide=divide)
        found.maximum_of = ("shifted", scaled, ("multiple", shift, float(factor), divide))
    return found


def aggregate_within(low: Any, high: Any, *, whole: bool = False, truth: bool = False) -> Aggregate:
    """Any function of the dataset with this range: it moves by at most the width of the range."""
    low, high = np.asarray(low, float), np.asarray(high, float)
    move = intervals.subtract((high, high), (low, low))[1]
    sizes = move.ravel()
    l1 = float(np.sum(sizes))
    return Aggregate(
        low,
        high,
        move,
        l1 if sizes.size <= 1 else up(l1),
        float(sizes[0]) if sizes.size == 1 else up(math.sqrt(float(np.sum(sizes**2)))),
        0.0 if sizes.size <= 1 else up(2 * float(sizes.max())),
        whole=whole,
        truth=truth,
    )


def _with_moves(low: Any, high: Any, move: Any, *, powers: Powers = (), whole: bool = False) -> Aggregate:
    """A function of the dataset by its range and the moves of its entries; the range bounds the moves as well."""
    found = aggregate_within(low, high, whole=whole)
    if not powers:
        move = np.minimum(np.broadcast_to(move, found.move.shape), found.move)
    sizes = np.ravel(move)
    several = sizes.size > 1
    total = float(sizes.sum())
    return Aggregate(
        found.low,
        found.high,
        np.asarray(move),
        up(total) if several else total,
        up(math.sqrt(float((sizes**2).sum()))) if several else total,
        up(2 * float(sizes.max(initial=0.0))) if several else 0.0,
        powers,
        whole,
    )


def _nonlinear(run: Run, op: str, terms: list[Any]) -> Any:
    """A function that is not linear: a Lipschitz constant of it, or the width of its range."""
    if any(_is_number_of_rows(run, each) for each in terms):
        raise run.needs_rows(f"used in {op} of a sum")
    parts = [aggregate_of(run, each) if isinstance(each, Sum | Aggregate) else each for each in terms]
    data = [each for each in parts if isinstance(each, Aggregate)]
    for each in parts:
        if not isinstance(each, Aggregate):
            value = each if isinstance(each, Public) else _array(run, each)
            refuse_no_number(run, value, infinite=op in COMPARE or _is_no_limit(op, value))
    ranges = [(each.low, each.high) if isinstance(each, Aggregate) else _as_array_interval(run, each) for each in parts]
    if op in COMPARE or op in LOGIC or op == "logical_not":
        found = aggregate_within(*_truth_range(op, ranges), whole=True, truth=True)
        (only, *others) = [each for each in terms if isinstance(each, Sum | Aggregate)]
        found.parts = frozenset() if others else part_of(only.node) if isinstance(only, Sum) else only.parts
        return found
    if any(each.powers for each in data) and not (op == "absolute" or op in ("maximum", "minimum")):
        raise _different_powers(run, data[0], data[-1], op)
    if len(data) == 1 and op in ("absolute", "maximum", "minimum", *ROUND, *SMOOTH, "square"):
        return _lipschitz(run, op, data[0], ranges)
    if len(data) == 2 and op in ("maximum", "minimum") and not any(each.powers for each in data):
        shape = np.broadcast_shapes(data[0].shape, data[1].shape)
        low, high = _public_range_arrays(op, ranges)
        return _with_moves(low, high, np.maximum(*(np.broadcast_to(each.move, shape) for each in data)))
    if op in ("multiply", "divide") and not all(np.isfinite(end).all() for each in ranges for end in each):
        raise run.ends(f"{op} of values without bounds", "clip them first")
    if op == "multiply" and len(data) == 2:
        low, high = intervals.multiply(*ranges)
        sizes = [np.maximum(np.abs(each.low), np.abs(each.high)) for each in data]
        move = sizes[0] * data[1].move + sizes[1] * data[0].move
        return _with_moves(low, high, np.nextafter(np.nextafter(move, np.inf), np.inf))
    if op == "divide":
        return _divide_data(run, parts, ranges)
    raise run.ends(f"{op} of a value that depends on all rows")


def _is_no_limit(op: str, value: Any) -> bool:
    """Whether the largest (least) of a number and of this value is finite, also where this value is infinite."""
    if op not in ("maximum", "minimum"):
        return False
    low, high = _as_interval(value)
    return bool(high < math.inf) if op == "maximum" else bool(low > -math.inf)


def _truth_range(op: str, ranges: list[intervals.Interval]) -> intervals.Interval:
    """Range of a comparison or of a combination of truth values, entry by entry: certain where the ranges say so."""
    if op in ORDER:
        (low, high), (least, most) = ranges if op in ("less", "less_equal") else ranges[::-1]
        strict = op in ("less", "greater")
        always, never = (high < least, low >= most) if strict else (high <= least, low > most)
    elif op in COMPARE:
        (low, high), (least, most) = ranges
        same, apart = (low == high) & (least == most) & (low == least), (high < least) | (low > most)
        always, never = (same, apart) if op == "equal" else (apart, same)
    else:
        true = [(low > 0) | (high < 0) for low, high in ranges]
        false = [(low == 0) & (high == 0) for low, high in ranges]
        if op == "logical_not":
            always, never = false[0], true[0]
        elif op == "logical_and":
            always, never = true[0] & true[1], false[0] | false[1]
        else:
            always, never = true[0] | true[1], false[0] & false[1]
    return np.where(always, 1.0, 0.0), np.where(never, 0.0, 1.0)


def _as_array_interval(run: Run, value: Any) -> intervals.Interval:
    if isinstance(value, Public):
        return np.asarray(value.low, float), np.asarray(value.high, float)
    return (_array(run, value),) * 2


def _public_range_arrays(op: str, ranges: list[intervals.Interval]) -> intervals.Interval:
    function = np.maximum if op == "maximum" else np.minimum
    return function(ranges[0][0], ranges[1][0]), function(ranges[0][1], ranges[1][1])


def _lipschitz(run: Run, op: str, data: Aggregate, ranges: list[intervals.Interval]) -> Aggregate:
    low, high, move = data.low, data.high, data.move
    if op in ("absolute", "maximum", "minimum"):
        if op == "absolute":
            inside = (low <= 0) & (high >= 0)
            low, high = (
                np.where(inside, 0.0, np.minimum(np.abs(low), np.abs(high))),
                np.maximum(np.abs(low), np.abs(high)),
            )
        else:
            low, high = _public_range_arrays(op, ranges)
        shape = np.shape(low)
        if data.powers or shape == data.shape:
            found = _with_moves(low, high, np.broadcast_to(move, shape), powers=data.powers)
            if shape == data.shape:
                found.l1, found.l2 = min(found.l1, data.l1), min(found.l2, data.l2)
            others = [each for each in ranges if each[0] is not data.low]
            found.whole = data.whole and all(bool((a == b).all()) and not np.any(a % 1) for a, b in others)
            return found
        return _with_moves(low, high, np.broadcast_to(move, shape))
    if op in ROUND:
        if data.whole:
            return data
        function = getattr(np, op)
        moved = np.ceil(move)
        if op == "rint":  # halves go to even numbers: 0.5 to 0, 1.5 to 2
            moved = np.where((move == moved) & (moved % 2 == 1), moved + 1, moved)
        return _with_moves(function(low), function(high), moved, whole=True)
    finite = np.isfinite(low) & np.isfinite(high)
    if op == "square":
        if not finite.all():
            raise run.ends("the square of a value without bounds", "clip it first")
        size = np.maximum(np.abs(low), np.abs(high))
        inside = (low <= 0) & (high >= 0)
        ends = np.minimum(np.abs(low), np.abs(high)) ** 2
        return _with_moves(np.where(inside, 0.0, ends), size**2, np.nextafter(2 * size * move, np.inf))
    function = getattr(np, op)
    least = {"sqrt": 0.0, "log1p": -1 + 1e-16}.get(op, 5e-324 if op.startswith("log") else -math.inf)
    if (low < least).any():
        raise run.ends(f"{op} of a value that may be below its domain", "clip it first")
    with np.errstate(all="ignore"):
        if op in ("exp", "expm1"):
            if not np.isfinite(high).all():
                raise run.ends(f"{op} of a value without an upper bound", "clip it first")
            new = function(high) - function(high - move)
        elif op in ("tanh", "arctan"):
            new = move
        else:
            new = function(low + move) - function(low)
        low, high = intervals.increasing(function, (low, high))
    return _with_moves(low, high, np.nextafter(new * (1 + 1e-14), np.inf))


def _divide_data(run: Run, parts: list[Any], ranges: list[intervals.Interval]) -> Aggregate:
    (_, (b_low, b_high)) = ranges
    if ((b_low <= 0) & (b_high >= 0)).any():
        raise run.ends(
            "a value is divided by another one that depends on rows and may be 0",
            "release a noisy sum and a noisy count, and divide those",
        )
    low, high = intervals.divide(*ranges)
    least = np.minimum(np.abs(b_low), np.abs(b_high))
    size = np.maximum(np.abs(ranges[0][0]), np.abs(ranges[0][1]))
    moves = [each.move if isinstance(each, Aggregate) else 0.0 for each in parts]
    move = (moves[0] + size * moves[1] / least) / least
    return _with_moves(low, high, np.nextafter(move * (1 + 1e-14), np.inf))


# ----------------------------------------------------------------------------------------------------------------------
# Weights of a choice


def weights_of(run: Run, data: Any) -> Weights:
    """exp(scores): numbers above 0, which needs scores between -700 and 700."""
    found = aggregate_of(run, data)
    if found.truth:
        raise run.ends("exp of truth values: NumPy computes with few bits", "convert them first, with int()")
    if not ((found.low > -700).all() and (found.high < 700).all()):
        raise run.ends(
            "exp(scores) may be 0 or infinite in floating point", "subtract the largest score, or allow fewer rows"
        )
    if isinstance(data, Aggregate) and isinstance(data.maximum_of, tuple) and data.maximum_of[0] == "shifted":
        _, scores, shift = data.maximum_of
        return Weights(scores, "weight", key_of(scores), shift)
    return Weights(data, "weight", key_of(data))


def _of_weights(run: Run, op: str, terms: list[Any]) -> Term | None:
    first, second = terms[0], terms[1] if len(terms) > 1 else None
    if op == "divide" and isinstance(first, Weights) and first.form == "weight":
        if isinstance(second, Weights) and second.form == "total" and first.shift == second.shift:
            if first.key == second.key:
                return Weights(first.scores, "share", second.key)
            if second.key[0] == "stack" and first.key in second.key[1]:
                return Weights(first.scores, "share", ("part", first.key, second.key))
        if not isinstance(second, Weights | Sum | Aggregate | Public) and np.ndim(second) == 0 and float(second) > 0:  # type: ignore[arg-type]
            return first
    return None


# ----------------------------------------------------------------------------------------------------------------------
# Noise


def _with_noise(run: Run, op: str, values: list[Any]) -> Any:
    """The result where noise or a noisy value stays one; None where both operands have to be public."""
    terms = [each.term if isinstance(each, Symbol) else each for each in values]
    if op in COMPARE and len(terms) == 2:
        return _coins(run, op, values)
    if op == "negative":
        return _scale_noise_or_noisy(run, values[0], -1.0, ())
    if op == "positive":
        return run.symbol(values[0].term, values[0].guise)
    if len(terms) == 1:
        made = function_of_draw(run, op, terms[0]) if isinstance(terms[0], Noise) else None
        return made and run.symbol(made, values[0].guise)
    if len(terms) != 2:
        return None
    if op == "remainder" and isinstance(terms[0], Noisy):
        return _remainder_of_noisy(run, terms[0], terms[1])
    noise = [isinstance(each, Noise) for each in terms]
    noisy = [isinstance(each, Noisy) for each in terms]
    data = [isinstance(each, Sum | Aggregate | Rows) for each in terms]
    if op in ("add", "subtract"):
        sign = 1.0 if op == "add" else -1.0
        if noise[1] and data[0]:
            return _join_noise(run, terms[0], _scale_noise(terms[1], sign), values[0])
        if noise[0] and data[1]:
            moved = apply(run, "negative", values[1]).term if sign < 0 else terms[1]
            return _join_noise(run, moved, terms[0], values[1])
        if all(noise):
            return _sum_of_noise(run, values, sign)
        if (noisy[0] and data[1]) or (noisy[1] and data[0]):
            return _more_data(run, values, sign)
        if any(noisy) and any(noise):
            return _complete_two_sided(run, values, sign)
        if all(noisy):
            return None
        other = terms[1] if noise[0] or noisy[0] else terms[0]
        own = values[0] if noise[0] or noisy[0] else values[1]
        if not all(is_number(other)):
            return None
        if isinstance(other, Public) or not isinstance(other, Symbol):
            if isinstance(own.term, Noise) and own.term.law not in (*RELEASED, "gumbel", "logistic"):
                return _shift_uniform(run, own, other, sign if noise[1] else 1.0, 1.0 if noise[1] else sign)
            if noise[0] or noise[1]:
                return _shift_noise(run, own, other, sign if noise[1] else 1.0)
            if noisy[0] and sign < 0:
                negated = apply(run, "negative", run.symbol(other)).term if isinstance(other, Public) else -other
                return _shift_noisy(run, own, negated, 1.0)
            return _shift_noisy(run, own, other, sign if noisy[1] else 1.0)
    if op == "multiply" or (op == "divide" and (noise[0] or noisy[0])):
        at = 0 if noise[0] or noisy[0] else 1
        other = terms[1 - at]
        coefficient: Any
        if isinstance(other, Public):
            if other.shape != () or (other.coefficient is None and not other.low > 0) or not all(is_number(other)):
                return None
            coefficient, powers = multiple(run, other)
            if op == "divide" and _may_be_zero(run, powers):
                return None
        elif isinstance(other, Noise) and op == "multiply" and isinstance(terms[at], Noise):
            return multiply_draws(run, terms[at], other)
        elif isinstance(other, Noise | Noisy | Sum | Aggregate | Rows | Weights | Table):
            if isinstance(other, Sum | Aggregate | Rows | Weights | Table):
                raise run.ends("data are multiplied with noise: its scale depends on them", "use a public scale")
            return None
        else:
            coefficient, powers = np.asarray(other, float), ()
        if op == "divide":
            if np.any(np.asarray(coefficient) == 0):
                return None
            coefficient, powers = 1.0 / np.asarray(coefficient), times((), powers, -1)
        if not np.all(coefficient) or not np.isfinite(coefficient).all():
            return None
        return _scale_noise_or_noisy(run, values[at], coefficient, powers)
    return None


def _coins(run: Run, op: str, values: list[Any]) -> Symbol | None:
    """One uniform draw for each row compared with a public number: a coin of each row, whatever the row is."""
    for own, other in (values, values[::-1]):
        term, rate = (each.term if isinstance(each, Symbol) else each for each in (own, other))
        if isinstance(term, Noise) and term.law == "uniform" and op in ORDER and not term.by_row:
            if isinstance(rate, Sum | Aggregate) or (isinstance(rate, Rows) and rate.scope is not None):
                return _toss_coin(run, term, rate)
        if not isinstance(term, Noise) or not term.by_row or term.shape or term.law != "uniform":
            continue
        if (isinstance(rate, Public) and (rate.by_row or rate.shape != ())) or isinstance(rate, Sum | Aggregate | Rows):
            continue
        if any(run.state[int(each)] != FRESH for each in np.ravel(term.ids)) or np.ndim(rate):
            continue
        run.take(term, KNOWN)
        node = run.domain.public_axis(("coin", int(term.ids), op, own is values[0], repr(rate)))
        return run.symbol(Rows(node), "array")
    return None


def _toss_coin(run: Run, uniform: Noise, chance: Any) -> Symbol:
    """A fresh uniform number of [0, 1) against a chance that depends on data: a coin is released.

    Its loss is in `moves.coin_losses`.
    """
    local = isinstance(chance, Rows) and getattr(chance.scope, "local", False)
    if isinstance(chance, Rows) and not local:
        raise run.ends("a coin is tossed for one row of many", "draw a number for each row at once")
    if uniform.shape or shape_of(chance) or uniform.powers or float(uniform.scale) != 1:
        raise run.ends("a uniform number is compared with data in this form", "compare one number of [0, 1) with one")
    run.take(uniform, JOINED)  # whoever sees the number or another comparison of it knows more than the coin
    run.events.append(Event("coin", chance, np.asarray(1.0), chance.powers, run.line(), "coin"))
    return run.public((), low=0.0, high=1.0, whole=True, defined=True, truth=True)


def _scale_noise(noise: Noise, factor: Any, powers: Powers = ()) -> Noise:
    shape = np.broadcast_shapes(noise.scale.shape, np.shape(factor))
    factors = set(np.ravel(factor).tolist())
    shift = 0.0 if noise.shift == 0 else None
    if noise.shift is not None and len(factors) == 1 and not powers and not noise.powers:
        shift = noise.shift * factors.pop()
    return Noise(
        noise.law,
        np.broadcast_to(noise.ids, shape),
        np.broadcast_to(noise.scale, shape) * factor,
        times(noise.powers, powers),
        noise.parameter,
        noise.by_row,
        shift,
    )


def _scale_noise_or_noisy(run: Run, symbol: Symbol, factor: Any, powers: Powers) -> Any:
    term = symbol.term
    guise = symbol.guise if np.ndim(factor) == 0 else "array"
    if isinstance(term, Noise):
        return run.symbol(_scale_noise(term, factor, powers), guise)
    assert isinstance(term, Noisy)
    if powers or np.ndim(factor):
        run.make_public(symbol)
        return apply(run, "multiply", symbol, 1.0 if powers else factor)
    data = term.data
    if isinstance(data, Rows):
        moved: Any = Rows(
            row_node(run, "multiply", [number_node(run, data.node, "i"), run.domain.constant(factor)]),
            data.powers,
            data.mask,
            data.scope,
        )
    else:
        moved = _times_constant(run, data, factor)
    return run.symbol(Noisy(moved, _scale_noise(term.noise, factor), term.release), guise)


def _shift_noise(run: Run, symbol: Symbol, other: Any, sign: float) -> Any:
    """Noise plus a public number is noise: what it is added to moves alike."""
    term = symbol.term
    assert isinstance(term, Noise)
    shape = np.broadcast_shapes(term.shape, shape_of(other) if isinstance(other, Public) else np.shape(other))
    whole = (isinstance(other, Public) and other.whole) or (
        not isinstance(other, Public) and bool(np.all(np.asarray(other) % 1 == 0))
    )
    if term.law in WHOLE and not whole:
        raise run.ends("integer noise and numbers that are not whole are added")
    found = _scale_noise(term, np.full(shape, sign))
    found.shift = 0.0 if found.shift == 0 and not isinstance(other, Public) and not np.any(other) else None
    return run.symbol(found, "array" if shape else "number")


def _shift_uniform(run: Run, symbol: Symbol, other: Any, sign: float, other_sign: float) -> Symbol | None:
    """A uniform draw plus one public number, which is kept; None for other draws: they are public coins then."""
    term = symbol.term
    known = term.law in ("uniform", "shifted uniform", "uniform integers") and term.shift is not None
    if not known or term.by_row or term.powers or isinstance(other, Public) or np.ndim(other):
        return None
    whole = term.law == "uniform integers"
    if whole and float(other) % 1 != 0:
        return None
    shift = term.shift * sign + other_sign * float(other)
    law = term.law if whole else "shifted uniform"
    return run.symbol(replace(_scale_noise(term, sign), law=law, shift=shift), symbol.guise)


def _remainder_of_noisy(run: Run, noisy: Noisy, modulus: Any) -> Symbol | None:
    """Whole data plus a uniform one of m (or of a multiple of m) whole numbers in a row, modulo m: a one-time pad.

    The result is uniform on 0..m-1 whatever the data are. The noisy value itself is spent: nothing else may be
    computed from it, nor from the draw, which would show the data.
    """
    noise, release = noisy.noise, noisy.release.last()
    if isinstance(modulus, Symbol | Public) or np.ndim(modulus) or noise.law != "uniform integers" or noise.by_row:
        return None
    m = float(modulus)
    fits = m >= 1 and m % 1 == 0 and noise.parameter % m == 0 and not noise.powers and (np.abs(noise.scale) == 1).all()
    if not fits or isinstance(noisy.data, Rows) or not is_whole(noisy.data) or release.booked or release.spent:
        return None
    release.spent = True
    return run.public(noisy.shape, low=0.0, high=m, defined=True)


def _shift_noisy(run: Run, symbol: Symbol, other: Any, sign: float) -> Any:
    term = symbol.term
    assert isinstance(term, Noisy)
    shape = np.broadcast_shapes(term.shape, shape_of(other) if isinstance(other, Public) else np.shape(other))
    if shape != term.shape or term.noise.by_row:
        run.make_public(symbol)
        return apply(run, "add", symbol, other if not isinstance(other, Public) else run.symbol(other))
    base = term if sign > 0 else _scale_noise_or_noisy(run, symbol, -1.0, ()).term
    data = _add_data(run, "add", [base.data, other])
    found = Noisy(data, base.noise, term.release)
    so_far = Fraction(0) if base.data is term.release.data else base.beside
    if so_far is not None and sign > 0 and isinstance(other, int | float) and math.isfinite(other):
        found.beside = so_far + Fraction(other)
    return run.symbol(found, symbol.guise)


def _join_noise(run: Run, data: Any, noise: Noise, like: Any) -> Any:
    """Data plus fresh noise: a noisy value, which is released when it is looked at."""
    guise = like.guise if isinstance(like, Symbol) else "array"
    if isinstance(data, Rows):
        return _join_noise_to_rows(run, data, noise, guise)
    if noise.by_row:
        raise run.ends("one draw for each row is added to one value")
    if data.shape == () and noise.shape == (1,):
        shape: tuple[int, ...] = (1,)
    else:
        shape = np.broadcast_shapes(data.shape, noise.shape)
    data = _spread_out(run, data, shape)
    noise = _scale_noise(noise, np.ones(shape))
    run.take(noise, JOINED)
    release = Release(data=data, noise=noise)
    return run.symbol(Noisy(data, noise, release), "array" if shape else "number")


def _join_noise_to_rows(run: Run, data: Rows, noise: Noise, guise: str) -> Any:
    if getattr(data.scope, "local", False) and not noise.by_row:
        total = Sum(data.node, data.powers)
        return _join_noise(run, total, noise, None)
    if not noise.by_row and data.scope is None:
        if all(run.state[int(each)] != JOINED for each in np.ravel(noise.ids)):
            run.take(noise, KNOWN)
        raise run.ends(
            "noise is added to rows: their number of draws is not that of the rows",
            "add noise to each row or to the sum",
        )
    if not run.replaces:
        raise run.ends("one noisy value for each row shows how many rows there are")
    if not noise.by_row:
        raise run.ends("noise is drawn in a loop over the rows")
    if data.mask is not None:
        raise run.ends("one noisy value for each chosen row shows how many were chosen")
    shape = np.broadcast_shapes(data.node.shape, noise.shape)
    node = (
        moved_node(run, data.node, lambda each: np.broadcast_to(each, shape)) if shape != data.node.shape else data.node
    )
    if shape != noise.shape:
        raise run.ends("one draw is added to several values of a row")
    run.take(noise, JOINED)
    rows = Rows(node, data.powers, None, data.scope)
    return run.symbol(Noisy(rows, noise, Release(data=rows, noise=noise)), guise)


def _more_data(run: Run, values: list[Any], sign: float) -> Any:
    """(data + noise) + more data: one release of the sum, if the first was not looked at."""
    first, second = values
    if sign < 0:
        second = apply(run, "negative", second)
    noisy, data = (first, second) if isinstance(first.term, Noisy) else (second, first)
    term = noisy.term
    release = term.release.last()
    used = release.booked or release.spent or release.chosen or release.data is not term.data
    if used or isinstance(data.term, Rows) or isinstance(term.data, Rows):
        run.make_public(noisy)
        return apply(run, "add", noisy, data)
    shape = np.broadcast_shapes(term.shape, data.term.shape)
    if shape != term.shape:
        run.make_public(noisy)
        return apply(run, "add", noisy, data)
    total = _add_data(run, "add", [term.data, data.term])
    release.spent = True
    return run.symbol(Noisy(total, term.noise, Release(data=total, noise=term.noise)), noisy.guise)


def _sum_of_noise(run: Run, values: list[Any], sign: float) -> Any:
    """Two draws: a known composition, or one of them as a public number."""
    first, second = (each.term for each in values)
    second = _scale_noise(second, sign)
    apart = not set(run.variables_of(first)) & set(run.variables_of(second))
    law = sum_law(first, second)
    same_shape = first.shape == second.shape and first.powers == second.powers and first.by_row == second.by_row
    if law is None and first.law == second.law == "normal" and same_shape:
        law = "normal", np.hypot(first.scale, second.scale) * (1 - 1e-15), 0.0
    if law is not None and are_fresh(run, first, second):
        shift = 0.0 if first.shift == 0 and second.shift == 0 else None
        return compose_draws(run, (first, second), law, first.powers, shift=shift)
    for name in ("laplace", "normal", "discrete laplace"):  # the other one is made public
        for own, other, value, factor in ((first, second, values[0], 1.0), (second, first, values[1], sign)):
            if own.law == name and apart and own.by_row == other.by_row:
                run.take(other, KNOWN)
                del value, factor
                return _shift_noise(
                    run,
                    run.symbol(own),
                    Public(
                        other.shape,
                        whole=other.law in WHOLE and not np.any(other.scale % 1),
                        defined=True,
                        finite=True,
                    ),
                    1.0,
                )
    raise run.ends(f"{first.law} and {second.law} noise are added")


def _complete_two_sided(run: Run, values: list[Any], sign: float) -> Symbol | None:
    """Data plus a draw, plus another one: data plus one draw of the law of the sum (see `sum_law`).

    A first draw that bounds no loss by itself is a public coin where the second one does. None where neither holds:
    the noisy value is released then, and the noise is a public coin.
    """
    first, second = (each.term for each in values)
    if isinstance(first, Noise):
        noisy = second if sign > 0 else _scale_noise_or_noisy(run, values[1], -1.0, ()).term
        other, at = first, 1
    else:
        noisy, other, at = first, _scale_noise(second, sign), 0
    own, release = noisy.noise, noisy.release.last()
    original = values[at].term
    used = release.booked or release.spent or release.chosen
    if used or release.data is not original.data or own.by_row or other.by_row:
        return None
    law = sum_law(own, other)
    if law is not None and are_fresh(run, other):
        run.take(other, JOINED)
        noise = run.draw(law[0], own.shape, law[1], own.powers, parameter=law[2])
        run.take(noise, JOINED)
        for name, origin in zip(np.ravel(noise.ids), np.ravel(own.ids), strict=True):
            run.drawn_at[int(name)] = run.drawn_at[int(origin)]
        release.spent = True
        return run.symbol(Noisy(noisy.data, noise, Release(data=noisy.data, noise=noise)), values[at].guise)
    if own.law in COINS and other.law in RELEASED and own.shape == other.shape and not isinstance(noisy.data, Rows):
        for variable in run.variables_of(own):
            run.state[variable] = KNOWN
        coin = run.make_public(run.symbol(own)).term
        release.spent = True
        found: Symbol = _join_noise(run, _add_data(run, "add", [noisy.data, coin]), other, values[at])
        return found
    return None
