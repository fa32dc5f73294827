"""Methods of pandas' frames and series, and of lists of records."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpverify.proof.arithmetic import apply, moved_node, number_node, row_node
from dpverify.proof.functions import indicators, refuse_keywords, RULES, where_node
from dpverify.proof.rewriting import COMPARISONS
from dpverify.proof.rows import Node
from dpverify.proof.run import Run
from dpverify.proof.structure import count_of, item, total_of_rows
from dpverify.proof.terms import Rows, Symbol, Table

METHODS: dict[str, Callable[..., Any]] = {}


def method(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a rule for methods of rows and tables."""

    def register(given: Callable[..., Any]) -> Callable[..., Any]:
        for each in names:
            METHODS[each] = given
        return given

    return register


@method("count")
def count(run: Run, value: Symbol, *args: Any) -> Any:
    """Number of rows: no value is missing."""
    if value.guise == "list" and len(args) == 1 and isinstance(value.term, Rows):
        equal = run.hooks.compare("==", Symbol(run, value.term, "array"), args[0])
        if not isinstance(equal, Symbol):
            return 0
        return run.symbol(total_of_rows(run, equal.term))
    term = value.term
    nodes = [term.node] if isinstance(term, Rows) else list(term.columns.values())
    if args or any(each.kind == "m" for each in nodes):
        raise run.ends("count() with arguments or of values that may be missing")
    return count_of(run, value.term)


@method("get")
def get(run: Run, value: Symbol, key: Any, default: Any = None) -> Any:
    """`record.get(key)` and `frame.get(key)`: the column is there."""
    term = value.term
    if isinstance(term, Table) and key in term.columns:
        return item(run, value, key)
    return default


@method("keys")
def keys(run: Run, value: Symbol) -> Any:
    """Names of the columns."""
    if not isinstance(value.term, Table):
        raise run.ends("the index of a series is read")
    return list(value.term.columns)


@method("between")
def between(run: Run, value: Symbol, left: Any, right: Any, inclusive: str = "both") -> Any:
    """Whether each value lies between two public ones."""
    low = "greater_equal" if inclusive in ("both", "left") else "greater"
    high = "less_equal" if inclusive in ("both", "right") else "less"
    return apply(run, "logical_and", apply(run, low, value, left), apply(run, high, value, right))


def _comparison(sign: str) -> Callable[..., Any]:
    def compared(run: Run, value: Symbol, other: Any) -> Any:
        return run.hooks.compare(sign, value, other)

    return compared


for _name, _sign in (("eq", "=="), ("ne", "!="), ("gt", ">"), ("ge", ">="), ("lt", "<"), ("le", "<=")):
    METHODS[_name] = _comparison(_sign)
for _name, _op in (("mul", "multiply"), ("add", "add"), ("sub", "subtract"), ("div", "divide")):
    METHODS[_name] = lambda run, value, other, op=_op: apply(run, op, value, other)


@method("fillna")
def filled(run: Run, frame: Symbol, value: Any = None, **kwargs: Any) -> Any:
    """Values that are missing become a public number: each row has its own value or that number."""
    refuse_keywords(run, "fillna", kwargs)
    term = frame.term
    nodes = [term.node] if isinstance(term, Rows) else list(term.columns.values())
    if not any(each.kind == "m" for each in nodes):
        return run.symbol(term, frame.guise)
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise run.ends("missing values are filled with other than one public number")
    fill = run.domain.constant(float(value))

    def whole(node: Node) -> Node:
        if node.op != "gaps":
            return node
        missing = apply_to_node(run, "equal", run.domain.is_missing(node.extra), 1)
        return where_node(run, missing, fill, run.domain.present(node.extra))

    if isinstance(term, Rows):
        return run.symbol(Rows(whole(term.node), term.powers, term.mask, term.scope), frame.guise)
    columns = {name: whole(node) for name, node in term.columns.items()}
    return run.symbol(Table(columns, term.mask, term.scope), frame.guise)


def apply_to_node(run: Run, op: str, node: Node, other: float) -> Node:
    """A function of a row and a public number."""
    return row_node(run, op, [node, run.domain.constant(other)])


@method("dropna")
def dropped(run: Run, value: Symbol, **kwargs: Any) -> Any:
    """The rows of a series whose value is there; all of them where none may be missing."""
    refuse_keywords(run, "dropna", kwargs, "subset")
    term = value.term
    nodes = [term.node] if isinstance(term, Rows) else list(term.columns.values())
    if not any(each.kind == "m" for each in nodes):
        return run.symbol(term, value.guise)
    if not isinstance(term, Rows) or term.node.op != "gaps" or term.scope is not None or kwargs:
        raise run.ends("rows with missing values are dropped from a frame", "drop them from one column")
    there = apply_to_node(run, "equal", run.domain.is_missing(term.node.extra), 0)
    mask = there if term.mask is None else row_node(run, "logical_and", [term.mask, there])
    return run.symbol(Rows(run.domain.present(term.node.extra), term.powers, mask), value.guise)


@method("apply", "map")
def mapped(run: Run, value: Symbol, function: Any, **kwargs: Any) -> Any:
    """A function of the program for each row, or a dict read at a category."""
    refuse_keywords(run, "apply", kwargs, "axis")
    term = value.term
    if isinstance(function, dict):
        return run.hooks.item(function, value)
    if isinstance(term, Table) and kwargs.get("axis") not in (1, "columns"):
        raise run.ends("a function of whole columns is applied")
    source = Symbol(run, term, "records" if isinstance(term, Table) else "list")
    found = run.hooks.comprehension("list", source, None, lambda each: run.hooks.call(function, each), False)
    return Symbol(run, found.term, "series")


@method("assign")
def assign(run: Run, value: Symbol, **columns: Any) -> Any:
    """A frame with more columns."""
    if not isinstance(value.term, Table):
        raise run.ends("assign of a series")
    found = run.symbol(Table(dict(value.term.columns), value.term.mask), value.guise)
    for name, each in columns.items():
        run.hooks.set_item(found, name, run.hooks.call(each, found) if callable(each) else each)
    return found


@method("query")
def query(run: Run, value: Symbol, text: str) -> Any:
    """Rows that a condition on columns chooses, written as a text."""
    import ast

    if not isinstance(value.term, Table) or "@" in text:
        raise run.ends("a query with variables of the program", "write a mask: frame[frame.age > 30]")
    try:
        tree = ast.parse(text.replace("&", " and ").replace("|", " or "), mode="eval").body
    except SyntaxError:
        raise run.ends("a query that cannot be read") from None
    return item(run, value, _condition(run, value, tree))


def _condition(run: Run, frame: Symbol, tree: Any) -> Any:
    import ast

    match tree:
        case ast.BoolOp(op=op, values=values):
            parts = [_condition(run, frame, each) for each in values]
            found = parts[0]
            for each in parts[1:]:
                found = apply(run, "logical_and" if isinstance(op, ast.And) else "logical_or", found, each)
            return found
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return apply(run, "logical_not", _condition(run, frame, operand))
        case ast.Compare(left=left, ops=signs, comparators=rest):
            found = None
            for sign, right in zip(signs, rest, strict=True):
                one = run.hooks.compare(
                    COMPARISONS[type(sign)], _condition(run, frame, left), _condition(run, frame, right)
                )
                found, left = one if found is None else apply(run, "logical_and", found, one), right
            return found
        case ast.Name(id=name):
            return item(run, frame, name)
        case ast.Constant(value=value):
            return value
    raise run.ends("a query that is no comparison of columns with numbers")


# ----------------------------------------------------------------------------------------------------------------------
# Groups with public categories


class Counts:
    """`value_counts()` or a grouped sum before it is reindexed: which categories occur shows data."""

    def __init__(self, run: Run, label: Node, mask: Node | None, value: Node | None) -> None:
        self.run = run
        self.label = label
        self.mask = mask
        self.value = value

    def reindex(self, index: Any, fill_value: Any = None, **kwargs: Any) -> Any:
        """Counts or sums for each of several public categories; 0 where none occurs."""
        run = self.run
        refuse_keywords(run, "reindex", kwargs)
        if fill_value != 0:
            raise run.ends("reindex without fill_value=0: categories that do not occur are NaN", "give fill_value=0")
        return Series(run, list(index), self._sums(list(index)))

    def get(self, key: Any, default: Any = None) -> Any:
        """The count of one public category."""
        if default != 0:
            raise self.run.ends("get() of counts without default 0", "give a default of 0")
        return item(self.run, self._sums([key]), 0)

    def _sums(self, categories: list[Any]) -> Symbol:
        run = self.run
        values = run.domain.columns[self.label.extra].values if self.label.op == "column" else ()
        label = number_node(run, self.label, "i")
        if self.label.kind == "c":
            places = [values.index(each) if each in values else -1 for each in categories]
            label = run.domain.node("number", [self.label], shape=(), kind="i")
        else:
            places = categories
        shown = number_node(run, indicators(run, label, places), "i")
        if self.value is not None:
            weight = moved_node(run, number_node(run, self.value, "i"), lambda each: np.asarray(each).reshape(1))
            shown = where_node(run, indicators(run, label, places), weight, run.domain.constant(0))
            shown.norms[1] = float(np.max(np.abs(run.domain.bounds(weight))))
        return run.symbol(total_of_rows(run, Rows(shown, (), self.mask)))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self.run.ends(
            "which categories occur, and in which order, shows data", "use .reindex(public_values, fill_value=0)"
        )

    def __iter__(self) -> Any:
        return self.__getattr__("items")

    def __getitem__(self, key: Any) -> Any:
        return self.__getattr__("items")


class Series:
    """A series over public categories: entries of one sum, in a public order."""

    def __init__(self, run: Run, index: list[Any], values: Symbol) -> None:
        self.run = run
        self.index = index
        self.symbol = values

    def items(self) -> list[tuple[Any, Any]]:
        """Pairs of category and entry."""
        return [(each, item(self.run, self.symbol, at)) for at, each in enumerate(self.index)]

    def __iter__(self) -> Any:
        return iter([each for _, each in self.items()])

    @property
    def values(self) -> Symbol:
        """The entries as an array."""
        return self.symbol

    def to_numpy(self) -> Symbol:
        """The entries as an array."""
        return self.symbol

    def tolist(self) -> list[Any]:
        """The entries as a list."""
        return list(self)

    def sum(self) -> Any:
        """Sum of the entries."""
        return RULES[np.sum](self.run, self.symbol)

    def to_dict(self) -> dict[Any, Any]:
        """The entries by category."""
        return dict(self.items())

    def __getitem__(self, key: Any) -> Any:
        if key in self.index:
            return item(self.run, self.symbol, self.index.index(key))
        raise KeyError(key)

    def __len__(self) -> int:
        return len(self.index)


@method("value_counts")
def value_counts(run: Run, value: Symbol, **kwargs: Any) -> Any:
    """Counts of each category, before they are reindexed."""
    refuse_keywords(run, "value_counts", kwargs)
    term = value.term
    if not isinstance(term, Rows) or term.node.kind not in "ci" or term.powers:
        raise run.ends("value_counts of values that are no categories")
    return Counts(run, term.node, term.mask, None)


@method("groupby")
def groupby(run: Run, value: Symbol, by: Any, **kwargs: Any) -> Any:
    """Groups by one column of public categories."""
    refuse_keywords(run, "groupby", kwargs, "observed", "sort")
    term = value.term
    if not isinstance(term, Table) or not isinstance(by, str) or by not in term.columns:
        raise run.ends("groupby of other than one column of the schema")
    return Groups(run, term, by)


class Groups:
    """`frame.groupby(column)`, perhaps with one column chosen."""

    def __init__(self, run: Run, table: Table, by: str, column: str = "") -> None:
        self.run = run
        self.table = table
        self.by = by
        self.column = column

    def __getitem__(self, column: str) -> "Groups":
        if column not in self.table.columns:
            raise self.run.ends(f"column {column!r} is not in the schema")
        return Groups(self.run, self.table, self.by, column)

    def size(self) -> Counts:
        """Number of rows of each group."""
        return Counts(self.run, self.table.columns[self.by], self.table.mask, None)

    def count(self) -> Counts:
        """Number of rows of each group: no value is missing."""
        if any(each.kind == "m" for each in self.table.columns.values()):
            raise self.run.ends("count() of values that may be missing", "use size()")
        return self.size()

    def sum(self) -> Counts:
        """Sum of the chosen column for each group."""
        if not self.column:
            raise self.run.ends("the sums of all columns of groups", "choose one column")
        return Counts(self.run, self.table.columns[self.by], self.table.mask, self.table.columns[self.column])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self.table.columns:
            return self[name]
        raise self.run.ends(f"{name} of groups", "use sums and counts of each group")
