"""Functions of one row as expressions that can be bounded on every part of the row's domain.

A row is a tuple of columns with public bounds. An expression (`Node`) is evaluated on *cells*: the domain is cut at
every threshold that a column is compared with, and interval arithmetic is done in each cell. A comparison or a label
that cuts no column becomes an axis of its own, whose values are free in every cell: rows can be at most that, so every
bound over cells is a bound over rows.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.proof import intervals
from dpverify.proof.ending import ProofEnds
from dpverify.proof.intervals import Interval

Array = npt.NDArray[Any]
MOST_CELLS = 128  # beyond, a bound is taken with fewer axes: coarser, never smaller
MOST_LABELS = 128  # values of a label that has an axis of its own
MOST_NUMBERS = 4_000_000  # floats of one table of pairs of cells


@dataclass(eq=False)
class Node:
    """One operation of an expression; equal expressions of a domain are one object.

    Parameters
    ----------
    op : str
        Name of the operation.
    args : tuple of Node
        What it is applied to.
    shape : tuple of int
        Shape of the value for one row.
    kind : str
        "b" truth values, "i" whole numbers, "f" numbers, "c" categories that are no numbers, "m" numbers or NaN.
    extra : object
        Public parameters of the operation.
    norms : dict
        Bounds of norms of the value, by order (1, 2 or inf).
    """

    op: str
    args: tuple["Node", ...]
    shape: tuple[int, ...]
    kind: str
    extra: Any = None
    norms: dict[float, float] = field(default_factory=dict)
    at_least_norm: tuple["Node", float, float] | None = None  # (v, order, s): the value is at least s |v|
    over_norm: tuple["Node", float, float] | None = None  # (v, order, c): 0 <= value, and value times |v| is at most c
    bounds_cache: Interval | None = None
    public: Any = None  # the released value that this node stands for


@dataclass(frozen=True)
class ColumnFacts:
    """What the schema says of one column: its kind, ends of its numbers, or its values."""

    name: str
    kind: str
    low: float
    high: float
    values: tuple[Any, ...] = ()
    missing: bool = False


class Domain:
    """All rows that a schema allows, and the expressions over them that a program has made."""

    def __init__(self, columns: Sequence[ColumnFacts]) -> None:
        self.columns = tuple(columns)
        self._known: dict[Any, Node] = {}
        self._kept: list[Any] = []

    def node(
        self,
        op: str,
        args: Sequence[Node] = (),
        *,
        shape: tuple[int, ...],
        kind: str,
        extra: Any = None,
        key: Any = None,
    ) -> Node:
        """The node of this operation: the one that exists, or a new one."""
        name = (op, tuple(id(each) for each in args), shape, kind, extra if key is None else key)
        if name not in self._known:
            self._known[name] = Node(op, tuple(args), tuple(shape), kind, extra)
        return self._known[name]

    def column(self, at: int) -> Node:
        """A column of the row; kind "m" where its value may be missing: then no arithmetic takes it."""
        if self.columns[at].missing:
            return self.node("gaps", shape=(), kind="m", extra=at)
        return self.present(at)

    def is_missing(self, at: int) -> Node:
        """1 where the value of a column is missing, else 0: as free as any label of the row."""
        return self.node("label", shape=(), kind="i", extra=(0, 1), key=("missing", at))

    def present(self, at: int) -> Node:
        """A column of the row where its value is there."""
        return self.node("column", shape=(), kind=self.columns[at].kind, extra=at)

    def constant(self, value: Any) -> Node:
        """Public numbers."""
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise ProofEnds(f"a value of type {type(value).__name__} is combined with rows")
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise ProofEnds("NaN is combined with rows")
        kind = "b" if array.dtype.kind == "b" else "f" if array.dtype.kind == "f" else "i"
        numbers = array.astype(float)
        if kind == "i" and array.size and (np.abs(numbers) > 2**53).any():
            raise ProofEnds("whole numbers beyond 2^53 are combined with rows")
        return self.node(
            "constant", shape=array.shape, kind=kind, extra=numbers, key=(numbers.tobytes(), array.shape, kind)
        )

    # ------------------------------------------------------------------------------------------------------------------

    def public_axis(self, name: Any) -> Node:
        """A truth value that is the same for a row and for the row that replaces it: its place, or its coin."""
        return self.node("public_axis", shape=(), kind="b", key=("public axis", name))

    def among_places(self, chosen: Sequence[bool]) -> Node:
        """Whether a row's place, of as many as there are rows, is a chosen one: the same for the row's replacement."""
        table = np.asarray(chosen, float)
        place = self.node("place", shape=(), kind="i", extra=len(table))
        return self.node("public_axis", [place], shape=(), kind="b", extra=table, key=("among places", table.tobytes()))

    def bounds(self, node: Node) -> Interval:
        """Least and largest value over all rows, elementwise."""
        if node.bounds_cache is None:
            cells = cells_of(self, [node])
            low, high = cells.value(node)
            node.bounds_cache = low.min(axis=0), high.max(axis=0)
        return node.bounds_cache


# ----------------------------------------------------------------------------------------------------------------------
# Cells


@dataclass
class Cells:
    """Parts of the domain, one after the other: for each axis its interval in every part."""

    domain: Domain
    count: int
    pieces: dict[Any, Interval]  # by number of a column, or by node
    coarse: bool = False
    memo: dict[int, Interval] = field(default_factory=dict)

    def value(self, node: Node) -> Interval:
        """Interval of a node in every cell, with shape (cells, *node.shape)."""
        found = self.memo.get(id(node))
        if found is None:
            found = self._computed(node)
            self.memo[id(node)] = found
        return found

    def _computed(self, node: Node) -> Interval:
        low, high = EVALUATE[node.op](self, node)
        shape = (self.count, *node.shape)
        low, high = np.broadcast_to(low, shape), np.broadcast_to(high, shape)
        piece = self.pieces.get(node)
        if piece is not None:
            undecided = low < high
            wide = (self.count,) + (1,) * len(node.shape)
            low = np.where(undecided, np.maximum(low, piece[0].reshape(wide)), low)
            high = np.where(undecided, np.minimum(high, piece[1].reshape(wide)), high)
            empty = low > high  # a cell in which no row is: any point will do
            low = np.where(empty, high, low)
        for bound in node.norms.values():
            low, high = np.maximum(low, -bound), np.minimum(high, bound)
        return low, high


def cells_of(domain: Domain, nodes: Iterable[Node]) -> Cells:
    """Cells cut at all thresholds of these expressions; with fewer axes where there would be too many."""
    reached = collect_nodes(nodes)
    axes: dict[Any, list[tuple[float, float]]] = {}
    cuts: dict[int, set[float]] = {}
    for node in reached:
        if node.op == "column":
            cuts.setdefault(node.extra, set())
        elif node.op == "public_axis" and not node.args:
            axes[node] = [(0, 0), (1, 1)]
        elif node.op == "place":
            axes[node] = [(at, at) for at in _unlike_places(node, reached)]
        elif node.op == "compare":
            at, thresholds = _cut(domain, node)
            if at is not None:
                cuts.setdefault(at, set()).update(thresholds)
            else:
                axes.update(_free_axis(domain, node))
    for column, points in cuts.items():
        axes[column] = _pieces(domain.columns[column], points)
    size = math.prod(len(each) for each in axes.values())
    coarse = size > MOST_CELLS
    while math.prod(len(each) for each in axes.values()) > MOST_CELLS:
        widest = max(axes, key=lambda each: len(axes[each]))
        axes[widest] = [(min(a for a, _ in axes[widest]), max(b for _, b in axes[widest]))]
    names = list(axes)
    rows = list(itertools.product(*(axes[name] for name in names)))
    count = max(1, len(rows))
    pieces: dict[Any, Interval] = {}
    for place, name in enumerate(names):
        pieces[name] = (
            np.array([row[place][0] for row in rows], float),
            np.array([row[place][1] for row in rows], float),
        )
    return Cells(domain, count, pieces, coarse)


def _unlike_places(place: Node, reached: list[Node]) -> list[int]:
    """One place of each kind: places that are in the same parts are alike for all expressions that were reached."""
    tables = [node.extra for node in reached if node.op == "public_axis" and place in node.args]
    return list({tuple(table[at] for table in tables): at for at in range(place.extra)}.values())


def collect_nodes(nodes: Iterable[Node]) -> list[Node]:
    """These expressions and all that they are made of, each once."""
    seen: dict[int, Node] = {}
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen[id(node)] = node
            waiting += node.args
    return list(seen.values())


def _cut(domain: Domain, compare: Node) -> tuple[int | None, list[float]]:
    """The column that a comparison cuts, and where; None where it cuts none."""
    left, right = compare.args
    if right.op != "constant":
        return None, []
    thresholds = [float(each) for each in np.ravel(right.extra)]
    while left.op != "column":
        chosen = _entry_of_stack(left)
        if chosen is not None:
            left = chosen
        elif (left.op == "reshape" and math.prod(left.shape) == 1) or (
            left.op == "number" and left.args[0].kind != "b"
        ):
            left = left.args[0]
        elif left.op in ("minimum", "maximum", "add") and left.args[1].op == "constant" and left.args[1].shape == ():
            limit = float(left.args[1].extra)
            if left.op == "add":
                moved = [intervals.sum_of(each, -limit) for each in thresholds]
                if any(low != high for low, high in moved):
                    return None, []
                thresholds = [float(low) for low, _ in moved]
            elif left.op == "minimum":
                thresholds = [each for each in thresholds if each < limit]
                thresholds += [limit]
            else:
                thresholds = [each for each in thresholds if each > limit]
                thresholds += [limit]
            left = left.args[0]
        else:
            return None, []
    return left.extra, thresholds


def _entry_of_stack(node: Node) -> Node | None:
    """The expression that one entry of a stack of numbers is."""
    if node.op != "reshape" or math.prod(node.shape) != 1 or node.args[0].op != "stack":
        return None
    parts = node.args[0].args
    if any(each.shape != () for each in parts):
        return None
    return parts[int(np.ravel(node.extra[0](np.arange(len(parts))))[0])]


def _free_axis(domain: Domain, compare: Node) -> dict[Any, list[tuple[float, float]]]:
    """An axis for a label that is compared with whole numbers, or for the truth of the comparison itself."""
    label, right = compare.args
    while (label.op == "reshape" and math.prod(label.shape) == 1) or (
        label.op == "number" and label.args[0].kind == "i"
    ):
        label = label.args[0]
    if label.kind == "i" and label.shape == () and right.op == "constant":
        low, high = _coarse(domain, label)
        if math.isfinite(low) and math.isfinite(high) and high - low < MOST_LABELS:
            return {label: [(each, each) for each in range(math.ceil(low), math.floor(high) + 1)]}
    return {compare: [(0, 0), (1, 1)]} if compare.shape == () else {}


def _coarse(domain: Domain, node: Node) -> tuple[float, float]:
    """Ends of a scalar expression over the uncut domain."""
    pieces: dict[Any, Interval] = {}
    for each in collect_nodes([node]):
        if each.op == "column":
            parts = _pieces(domain.columns[each.extra], set())
            pieces[each.extra] = (np.array([min(a for a, _ in parts)]), np.array([max(b for _, b in parts)]))
    low, high = Cells(domain, 1, pieces).value(node)
    return float(np.min(low)), float(np.max(high))


def _pieces(column: ColumnFacts, thresholds: set[float]) -> list[tuple[float, float]]:
    """A column's domain cut at thresholds: each threshold by itself, and what lies between two of them."""
    if column.values:
        if column.kind == "c":
            return [(float(at), float(at)) for at in range(len(column.values))]
        return [(float(each), float(each)) for each in column.values]
    low, high = column.low, column.high
    if column.kind == "i":
        starts = {math.ceil(low)}
        for each in _finite(thresholds):
            starts |= {math.floor(each) + 1} | ({int(each)} if each == math.floor(each) else set())
        starts = {each for each in starts if low <= each <= high}
        ordered = sorted(starts)
        return [
            (float(start), float(following - 1))
            for start, following in zip(ordered, [*ordered[1:], high + 1], strict=True)
        ]
    points = sorted(each for each in _finite(thresholds) if low <= each <= high)
    found: list[tuple[float, float]] = []
    start = low
    for point in points:
        below = float(np.nextafter(point, -np.inf))
        if start <= below:
            found.append((start, below))
        found.append((point, point))
        start = float(np.nextafter(point, np.inf))
    if start <= high:
        found.append((start, high))
    return found


def _finite(thresholds: Iterable[float]) -> list[float]:
    return [each for each in thresholds if math.isfinite(each)]


# ----------------------------------------------------------------------------------------------------------------------
# Evaluation of an operation in all cells at once


def _args(cells: Cells, node: Node) -> list[Interval]:
    """Intervals of the arguments, broadcast against each other behind the axis of cells."""
    found = []
    for each in node.args:
        low, high = cells.value(each)
        gap = (1,) * (len(node.shape) - len(each.shape))
        found.append((low.reshape(cells.count, *gap, *each.shape), high.reshape(cells.count, *gap, *each.shape)))
    return found


def _gaps(cells: Cells, node: Node) -> Interval:
    raise ProofEnds("a value may be missing", "use fillna with a public number, or dropna")


def _column(cells: Cells, node: Node) -> Interval:
    return cells.pieces[node.extra]


def _constant(cells: Cells, node: Node) -> Interval:
    return node.extra[None], node.extra[None]


def _public(cells: Cells, node: Node) -> Interval:
    low, high = node.extra
    return np.full((1, *node.shape), low), np.full((1, *node.shape), high)


def _square(cells: Cells, node: Node) -> Interval:
    ((low, high),) = _args(cells, node)
    ends = [intervals.product_of(each, each) for each in (low, high)]
    least = np.minimum(ends[0][0], ends[1][0])
    return np.where((low <= 0) & (high >= 0), 0.0, least), np.maximum(ends[0][1], ends[1][1])


def _absolute(cells: Cells, node: Node) -> Interval:
    ((low, high),) = _args(cells, node)
    inside = (low <= 0) & (high >= 0)
    return np.where(inside, 0.0, np.minimum(np.abs(low), np.abs(high))), np.maximum(np.abs(low), np.abs(high))


def _compare(cells: Cells, node: Node) -> Interval:
    (a_low, a_high), (b_low, b_high) = _args(cells, node)
    match node.extra:
        case "<":
            surely, never = a_high < b_low, a_low >= b_high
        case "<=":
            surely, never = a_high <= b_low, a_low > b_high
        case ">":
            surely, never = a_low > b_high, a_high <= b_low
        case ">=":
            surely, never = a_low >= b_high, a_high < b_low
        case "==" | "!=":
            surely = (a_low == a_high) & (b_low == b_high) & (a_low == b_low)
            never = (a_high < b_low) | (a_low > b_high)
            if node.extra == "!=":
                surely, never = never, surely
        case _:
            raise AssertionError(node.extra)
    return np.where(surely, 1.0, 0.0), np.where(never, 0.0, 1.0)


def _where(cells: Cells, node: Node) -> Interval:
    (c_low, c_high), a, b = _args(cells, node)
    both = intervals.hull(a, b)
    low = np.where(c_low == 1, a[0], np.where(c_high == 0, b[0], both[0]))
    return low, np.where(c_low == 1, a[1], np.where(c_high == 0, b[1], both[1]))


def _matmul(cells: Cells, node: Node) -> Interval:
    """Product of a vector of the row with a public matrix."""
    low, high = cells.value(node.args[0])
    matrix = node.extra
    up, down = np.maximum(matrix, 0), np.minimum(matrix, 0)
    found = low @ up + high @ down, high @ up + low @ down
    whole = all((each == np.rint(each)).all() and (np.abs(each) < 2**40).all() for each in (low, high, matrix))
    if whole:
        return found
    slack = (np.maximum(np.abs(low), np.abs(high)) @ np.abs(matrix)) * (2.3e-16 * (matrix.shape[0] + 2))
    return found[0] - slack, found[1] + slack


def _norm(cells: Cells, node: Node) -> Interval:
    order = node.extra
    low, high = cells.value(node.args[0])
    inside = (low <= 0) & (high >= 0)
    least = np.where(inside, 0.0, np.minimum(np.abs(low), np.abs(high)))
    most = np.maximum(np.abs(low), np.abs(high))
    axes = tuple(range(1, low.ndim))
    if order == math.inf:
        return least.max(axis=axes, initial=0.0), most.max(axis=axes, initial=0.0)
    width = max(1, math.prod(node.args[0].shape))
    slack = 2.3e-16 * (width + 4)
    if order == 1:
        return least.sum(axis=axes) * (1 - slack), most.sum(axis=axes) * (1 + slack)
    return np.sqrt((least**2).sum(axis=axes)) * (1 - slack), np.sqrt((most**2).sum(axis=axes)) * (1 + slack)


def _reduced(function: Callable[..., Array]) -> Callable[[Cells, Node], Interval]:
    def evaluate(cells: Cells, node: Node) -> Interval:
        low, high = cells.value(node.args[0])
        return function(low, axis=node.extra + 1), function(high, axis=node.extra + 1)

    return evaluate


def _sum_axis(cells: Cells, node: Node) -> Interval:
    return intervals.total(cells.value(node.args[0]), node.extra + 1)


def _cumulative(cells: Cells, node: Node) -> Interval:
    low, high = cells.value(node.args[0])
    axis = node.extra + 1
    parts: list[Interval] = []
    so_far: Interval = (np.zeros(np.delete(low.shape, axis)), np.zeros(np.delete(low.shape, axis)))
    for at in range(low.shape[axis]):
        so_far = intervals.add(so_far, (np.take(low, at, axis), np.take(high, at, axis)))
        parts.append(so_far)
    return np.stack([a for a, _ in parts], axis), np.stack([b for _, b in parts], axis)


def _label(cells: Cells, node: Node) -> Interval:
    """A whole number that is free within its range."""
    low, high = node.extra
    return np.full((1, *node.shape), float(low)), np.full((1, *node.shape), float(high))


def _lookup(cells: Cells, node: Node) -> Interval:
    """Entry of a public table at a whole number, or at the place of a category."""
    table = node.extra
    low, high = cells.value(node.args[0])
    first, last = np.ceil(low).astype(int), np.floor(high).astype(int)
    least, most = np.empty(first.shape), np.empty(first.shape)
    for at in np.ndindex(first.shape):
        part = table[first[at] : last[at] + 1]
        least[at], most[at] = part.min(), part.max()
    return least, most


def _moved(cells: Cells, node: Node) -> Interval:
    """Entries in other places: reshaping, indexing, broadcasting; `extra` is the function of one value."""
    low, high = cells.value(node.args[0])
    rearranged = node.extra[0]
    low, high = np.asarray(low), np.asarray(high)
    return np.stack([rearranged(each) for each in low]), np.stack([rearranged(each) for each in high])


def _stack(cells: Cells, node: Node) -> Interval:
    parts = [cells.value(each) for each in node.args]
    axis = node.extra + 1
    return np.stack([low for low, _ in parts], axis), np.stack([high for _, high in parts], axis)


def _joined(cells: Cells, node: Node) -> Interval:
    parts = [cells.value(each) for each in node.args]
    axis = node.extra + 1
    return np.concatenate([low for low, _ in parts], axis), np.concatenate([high for _, high in parts], axis)


def _binary(rule: Callable[[Interval, Interval], Interval]) -> Callable[[Cells, Node], Interval]:
    def evaluate(cells: Cells, node: Node) -> Interval:
        x, y = _args(cells, node)
        return rule(x, y)

    return evaluate


def _monotone(function: Callable[[Array], Array], *, exact: bool = False) -> Callable[[Cells, Node], Interval]:
    def evaluate(cells: Cells, node: Node) -> Interval:
        ((low, high),) = _args(cells, node)
        return intervals.increasing(function, (low, high), 0 if exact else 4)

    return evaluate


def _modulo(cells: Cells, node: Node) -> Interval:
    (low, high), (divisor, _) = _args(cells, node)
    same = np.floor(low / divisor) == np.floor(high / divisor)
    with np.errstate(all="ignore"):
        ends = np.mod(low, divisor), np.mod(high, divisor)
    return np.where(same, ends[0], 0.0), np.where(same, ends[1], divisor)


EVALUATE: dict[str, Callable[[Cells, Node], Interval]] = {
    "reordered": lambda cells, node: (np.ones(1), np.ones(1)),
    "public_axis": lambda cells, node: _lookup(cells, node) if node.args else (np.zeros(1), np.ones(1)),
    "place": lambda cells, node: (np.zeros(1), np.full(1, node.extra - 1.0)),
    "column": _column,
    "gaps": _gaps,
    "constant": _constant,
    "public": _public,
    "add": _binary(intervals.add),
    "subtract": _binary(intervals.subtract),
    "multiply": _binary(intervals.multiply),
    "divide": _binary(intervals.divide),
    "minimum": _binary(lambda x, y: (np.minimum(x[0], y[0]), np.minimum(x[1], y[1]))),
    "maximum": _binary(lambda x, y: (np.maximum(x[0], y[0]), np.maximum(x[1], y[1]))),
    "square": _square,
    "absolute": _absolute,
    "negative": lambda cells, node: (-cells.value(node.args[0])[1], -cells.value(node.args[0])[0]),
    "sqrt": _monotone(np.sqrt),
    "exp": _monotone(np.exp),
    "log": _monotone(np.log),
    "log1p": _monotone(np.log1p),
    "log2": _monotone(np.log2),
    "log10": _monotone(np.log10),
    "expm1": _monotone(np.expm1),
    "tanh": _monotone(np.tanh),
    "arctan": _monotone(np.arctan),
    "floor": _monotone(np.floor, exact=True),
    "ceil": _monotone(np.ceil, exact=True),
    "trunc": _monotone(np.trunc, exact=True),
    "rint": _monotone(np.rint, exact=True),
    "sign": _monotone(np.sign, exact=True),
    "modulo": _modulo,
    "compare": _compare,
    "not": lambda cells, node: (1 - cells.value(node.args[0])[1], 1 - cells.value(node.args[0])[0]),
    "and": _binary(lambda x, y: (np.minimum(x[0], y[0]), np.minimum(x[1], y[1]))),
    "or": _binary(lambda x, y: (np.maximum(x[0], y[0]), np.maximum(x[1], y[1]))),
    "where": _where,
    "matmul": _matmul,
    "norm": _norm,
    "sum_axis": _sum_axis,
    "max_axis": _reduced(np.max),
    "min_axis": _reduced(np.min),
    "cumulative": _cumulative,
    "label": _label,
    "lookup": _lookup,
    "reshape": _moved,
    "stack": _stack,
    "join": _joined,
    "number": lambda cells, node: cells.value(node.args[0]),  # truth values or whole numbers as another kind
}
