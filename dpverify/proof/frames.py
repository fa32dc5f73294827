"""Methods of pandas' frames and series, and of lists of records."""

import builtins
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpverify.proof.arithmetic import apply, holds_symbols, moved_node, number_node, row_node, same_rows
from dpverify.proof.functions import (
    chosen_of,
    indicators,
    refuse_keywords,
    RULES,
    where_node,
)
from dpverify.proof.functions import (
    METHODS as FUNCTION_METHODS,
)
from dpverify.proof.rewriting import COMPARISONS
from dpverify.proof.rows import Node
from dpverify.proof.run import Run
from dpverify.proof.structure import count_of, item, rearrange, split, total_of_rows
from dpverify.proof.terms import Aggregate, Labelled, Noise, Noisy, Opaque, Public, Rows, Sum, Symbol, Table, Weights

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
    if isinstance(value.term, Table):
        raise run.ends("count() of a frame is one for each column", "use len(frame)")
    return count_of(run, value.term)


@method("get")
def get(run: Run, value: Symbol, key: Any, default: Any = None) -> Any:
    """`record.get(key)` and `frame.get(key)`: the column is there."""
    term = value.term
    if isinstance(term, Table) and key in term.columns:
        return item(run, value, key)
    if not isinstance(term, Table):
        raise run.ends("get() of one column", "use the column itself")
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
    METHODS[_name] = functools.partial(lambda op, run, value, other: apply(run, op, value, other), _op)


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
    source = Symbol(run, term, "row" if isinstance(term, Table) else "list")
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
    import io
    import tokenize

    if not isinstance(value.term, Table) or "@" in text:
        raise run.ends("a query with variables of the program", "write a mask: frame[frame.age > 30]")
    try:
        words = tokenize.generate_tokens(io.StringIO(text).readline)
        joined = [{"&": "and", "|": "or"}.get(each.string, each.string) for each in words]
        tree = ast.parse(" ".join(each for each in joined if each.strip()), mode="eval").body
    except (SyntaxError, tokenize.TokenError):
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


class Grouped(Opaque):
    """An object of pandas whose labels show data, until they are reindexed by public ones."""

    run: Run

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


class Counts(Grouped):
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
        _check_filled(run, fill_value)
        labels = public_labels(run, index)
        return Labelled(run, self._sums(labels).term, (labels,))

    def get(self, key: Any, default: Any = None) -> Any:
        """The count of one public category."""
        if isinstance(default, bool) or not isinstance(default, int | float) or default != 0:
            raise self.run.ends("get() of counts without default 0", "give a default of 0")
        return item(self.run, self._sums(public_labels(self.run, [key])), 0)

    def _sums(self, categories: list[Any]) -> Symbol:
        """Sums over the rows of each of several distinct categories: a row is in one of them at most."""
        run = self.run
        found = has_label(run, self.label, categories)
        shown = number_node(run, found, "i")
        if self.value is not None:
            weight = moved_node(run, number_node(run, self.value, "i"), lambda each: np.asarray(each).reshape(1))
            shown = where_node(run, found, weight, run.domain.constant(0))
            shown.norms[1] = float(np.max(np.abs(run.domain.bounds(weight))))
        return run.symbol(total_of_rows(run, Rows(shown, (), self.mask)))


def _check_filled(run: Run, fill_value: Any) -> None:
    if isinstance(fill_value, Opaque) or fill_value != 0:
        raise run.ends("reindex without fill_value=0: categories that do not occur are NaN", "give fill_value=0")


def public_labels(run: Run, index: Any) -> list[Any]:
    """Public labels, all of them different."""
    if holds_symbols(index) or isinstance(index, str):
        raise run.ends("labels that are not public")
    labels = list(index)
    if not all(isinstance(each, str | int | float | np.generic) for each in labels):
        raise run.ends("labels that are no texts or numbers")
    if len(set(labels)) < len(labels) or any(each != each for each in labels):
        raise run.ends("a label is there twice", "give each label once")
    return labels


def has_label(run: Run, label: Node, categories: list[Any]) -> Node:
    """Truth values "the row's category is c" for each of several public ones, of which the row has one at most."""
    if label.kind != "c":
        return indicators(run, number_node(run, label, "i"), categories)
    values = run.domain.columns[label.extra].values if label.op == "column" else ()
    if not values:
        raise run.ends("a text that was made of rows is counted")
    places = [values.index(each) if each in values else -1 for each in categories]
    return indicators(run, run.domain.node("number", [label], shape=(), kind="i"), places)


class CrossCounts(Grouped):
    """`pd.crosstab(a, b)` before it is reindexed: which categories occur shows data."""

    def __init__(self, run: Run, labels: tuple[Node, Node], mask: Node | None) -> None:
        self.run = run
        self.labels = labels
        self.mask = mask

    def reindex(self, *, index: Any, columns: Any, fill_value: Any = None, **kwargs: Any) -> Any:
        """Counts of each pair of public categories; 0 where none occurs. A row is in one cell at most."""
        run = self.run
        refuse_keywords(run, "reindex", kwargs)
        _check_filled(run, fill_value)
        labels = (public_labels(run, index), public_labels(run, columns))
        rows, columns = (has_label(run, *each) for each in zip(self.labels, labels, strict=True))
        shown = row_node(
            run,
            "logical_and",
            [moved_node(run, rows, lambda each: each[:, None]), moved_node(run, columns, lambda each: each[None, :])],
        )
        total = total_of_rows(run, Rows(number_node(run, shown, "i"), (), self.mask))
        return Labelled(run, total, labels)


def crosstab(run: Run, index: Any, columns: Any, **kwargs: Any) -> Any:
    """`pd.crosstab` of two columns of the same rows: counts of pairs of their categories."""
    refuse_keywords(run, "crosstab", kwargs)
    for each in (index, columns):
        if not isinstance(each, Symbol) or not isinstance(each.term, Rows) or each.guise != "series":
            raise run.ends("crosstab of other than two columns")
        if each.term.powers or each.term.node.shape or each.term.node.kind not in "ci" or each.term.scope is not None:
            raise run.ends("crosstab of values that are no categories")
    _, mask, _ = same_rows(run, [index.term, columns.term])
    return CrossCounts(run, (index.term.node, columns.term.node), mask)


class Bands(Grouped):
    """`pd.cut(...)`: for each row which of several public bands it is in, or none."""

    def __init__(self, run: Run, inside: Node, labels: list[Any], mask: Node | None) -> None:
        self.run = run
        self.inside = inside
        self.labels = labels
        self.mask = mask

    def value_counts(self) -> "BandCounts":
        """Counts of all bands, also of those without rows; those with most rows come first."""
        return BandCounts(self.run, self)


class BandCounts(Grouped):
    """Counts of bands in the order of their sizes, which shows data until they are put in the order of the bands."""

    def __init__(self, run: Run, bands: Bands) -> None:
        self.run = run
        self.bands = bands

    def sort_index(self) -> Labelled:
        """Counts in the order of the bands: a categorical column has all of its bands in its counts."""
        run, bands = self.run, self.bands
        total = total_of_rows(run, Rows(number_node(run, bands.inside, "i"), (), bands.mask))
        return Labelled(run, total, (list(bands.labels),))

    def reindex(self, index: Any) -> Labelled:
        """Counts in an order of the bands that the program says."""
        run, bands = self.run, self.bands
        labels = public_labels(run, index)
        if not all(each in bands.labels for each in labels):
            raise run.ends("counts of a band that is not there are NaN")
        places = [bands.labels.index(each) for each in labels]
        counts = rearrange(run, Symbol(run, self.sort_index().term, "array"), lambda each: each[places])
        return Labelled(run, counts.term, (labels,))


def cut(run: Run, value: Any, bins: Any, right: bool = True, labels: Any = None, include_lowest: bool = False) -> Any:
    """`pd.cut` at public edges: bands that share no value, each open at one end; the lowest may be closed.

    With a number of bands instead of edges the edges are the least and largest row.
    """
    term = value.term if isinstance(value, Symbol) else None
    if (
        not isinstance(term, Rows)
        or term.scope is not None
        or term.powers
        or term.node.shape
        or value.guise != "series"
    ):
        raise run.ends("pd.cut of other than one column")
    if holds_symbols((bins, labels)) or np.ndim(bins) != 1:
        raise run.ends("the edges of the bands depend on the rows", "give a list of public edges")
    edges = np.asarray(bins)
    if edges.dtype.kind not in "iuf" or len(edges) < 2 or not (np.diff(edges.astype(float)) > 0).all():
        raise run.ends("edges of bands that do not increase")
    if labels is None or isinstance(labels, bool):
        raise run.ends("bands without labels", "give a label for each band")
    named = public_labels(run, labels)
    if len(named) != len(edges) - 1:
        raise run.ends("bands and labels of different numbers")
    column = moved_node(run, number_node(run, term.node, "i"), lambda each: np.asarray(each).reshape(1))
    low, high = (run.domain.constant(each) for each in (edges[:-1], edges[1:]))
    above = row_node(run, "greater" if right else "greater_equal", [column, low])
    if right and include_lowest:
        first = run.domain.constant(np.arange(len(named)) == 0)
        above = where_node(run, first, row_node(run, "greater_equal", [column, low]), above)
    elif include_lowest:
        raise run.ends("pd.cut with include_lowest= and right=False")
    inside = row_node(run, "logical_and", [above, row_node(run, "less_equal" if right else "less", [column, high])])
    return Bands(run, inside, named, term.mask)


PANDAS: dict[str, Callable[..., Any]] = {"cut": cut, "crosstab": crosstab}


def function_of_pandas(function: Any) -> Callable[..., Any] | None:
    """The rule of a function of pandas."""
    module, name = getattr(function, "__module__", None) or "", getattr(function, "__name__", "")
    return PANDAS.get(name) if module.split(".")[0] == "pandas" and not isinstance(function, type) else None


def is_attribute_of_pandas(name: str) -> bool:
    """Whether a frame, or a row of one, has an attribute of this name, whatever its columns are called."""
    import pandas as pd

    return hasattr(pd.DataFrame, name) or hasattr(pd.Series, name)


# ----------------------------------------------------------------------------------------------------------------------
# Series and frames over public labels

SAME_LABELS: dict[str, Any] = {"round": np.round, "clip": np.clip, "abs": np.abs}
WHOLE = (np.sum, builtins.sum, builtins.list, builtins.tuple, np.max, np.min, np.mean)
AS_ARRAY = (builtins.len, np.array, np.asarray)
NUMBERS = int | float | np.generic


def plain_array(run: Run, value: Any) -> Any:
    """The entries of a labelled value as an array of its own; any other value as it is."""
    return Symbol(run, value.term, "array") if isinstance(value, Labelled) else value


def label_alike(run: Run, function: Callable[..., Any], *values: Any, **kwargs: Any) -> Any:
    """An operation entry by entry on values with public labels.

    pandas aligns labelled values by their labels, so all of them must have the same labels in one order; everything
    else must be one number or an array of the very shape, which pandas takes by place. Then it is NumPy's operation.
    """
    labelled = [each for each in values if isinstance(each, Labelled)]
    labels = labelled[0].labels
    shape = tuple(map(len, labels))
    for each in values:
        if isinstance(each, Labelled):
            if _typed(each.labels) != _typed(labels):
                raise run.ends("series or frames of different labels are combined", "reindex both alike")
            continue
        term = each.term if isinstance(each, Symbol) else each
        if isinstance(each, Symbol) and each.guise in ("series", "frame", "list", "records"):
            raise run.ends("a series over categories is combined with rows or with another series")
        if isinstance(term, list | tuple):
            raise run.ends("a series over categories is combined with a list", "use an array")
        if not isinstance(term, Public | Sum | Aggregate | Noise | Noisy | Weights | NUMBERS | np.ndarray):
            raise run.ends(f"a series over categories is combined with a value of type {type(term).__name__}")
        own = np.shape(term) if isinstance(term, NUMBERS | np.ndarray) else term.shape
        if own not in ((), shape):
            raise run.ends("a series or frame is combined with an array of another shape")
    found = function(*(plain_array(run, each) for each in values), **kwargs)
    if not isinstance(found, Symbol) or found.term.shape != shape:
        raise run.ends("an operation of a series over categories makes another shape")
    return Labelled(run, found.term, labels)


def _typed(labels: tuple[list[Any], ...]) -> list[list[tuple[type, Any]]]:
    return [[(type(each), each) for each in axis] for axis in labels]


def call_with_labels(run: Run, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of labelled values: entry by entry, of the array, or of released values; else the proof ends."""
    if any(isinstance(each, Labelled) for each in kwargs.values()):
        raise run.ends("a series over categories is handed on by its name")
    one_axis = all(len(each.labels) == 1 for each in args if isinstance(each, Labelled))
    if function in AS_ARRAY:  # the array shares its memory with the series
        return RULES[function](run, *(each.array if isinstance(each, Labelled) else each for each in args), **kwargs)
    if function in WHOLE and one_axis and len(args) == 1:
        return RULES[function](run, *(plain_array(run, each) for each in args), **kwargs)
    if function in (np.round, np.around, builtins.round, np.clip, builtins.abs) or (
        isinstance(function, np.ufunc) and function in RULES
    ):
        if any(isinstance(each, Labelled) for each in args[1:]) and function is np.clip:
            raise run.ends("np.clip with a series as its ends")
        if kwargs:
            raise run.ends("a function of a series over categories with keywords")
        return label_alike(run, functools.partial(clip_series if function is np.clip else RULES[function], run), *args)
    return NotImplemented


def clip_series(run: Run, value: Symbol, *args: Any, **kwargs: Any) -> Any:
    """`clip` of the entries of a series, as pandas does it."""
    return RULES[np.clip](run, Symbol(run, value.term, "series"), *args, **kwargs)


def label_method(run: Run, value: Labelled, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A method of a labelled value; NotImplemented where there is no rule."""
    plain = plain_array(run, value)
    if name in ("to_numpy",):
        refuse_keywords(run, name, kwargs)
        return value.array if not args else NotImplemented
    if name == "copy":
        return Labelled(run, run.make_public(value).term, value.labels)
    if name in SAME_LABELS:
        if any(isinstance(each, Labelled) for each in (*args, *kwargs.values())):
            raise run.ends(f"{name} of a series with a series as its ends")
        function = clip_series if name == "clip" else RULES[SAME_LABELS[name]]
        return label_alike(run, lambda given: function(run, given, *args, **kwargs), value)
    if name == "astype":
        return label_alike(run, lambda given: FUNCTION_METHODS["astype"](run, given, *args, **kwargs), value)
    if name in ("add", "sub", "mul", "div") and len(args) == 1 and not kwargs:
        op = {"add": "add", "sub": "subtract", "mul": "multiply", "div": "divide"}[name]
        return label_alike(run, functools.partial(apply, run, op), value, args[0])
    if len(value.labels) != 1:
        return NotImplemented
    (labels,) = value.labels
    if name in ("sum", "max", "min", "mean") and not args and not kwargs:
        return FUNCTION_METHODS[name](run, plain)
    if name in ("tolist", "to_list") and not args and not kwargs:
        return split(run, plain)
    if name in ("items", "to_dict") and not args and not kwargs:
        pairs = list(zip(labels, split(run, plain), strict=True))
        return pairs if name == "items" else dict(pairs)
    if name in ("idxmax", "idxmin") and not args and not kwargs:
        FUNCTION_METHODS[name.replace("idx", "arg")](run, plain)
        return chosen_of(run, labels)
    if name == "cumsum" and not args and not kwargs:
        return label_alike(run, functools.partial(RULES[np.cumsum], run), value)
    return NotImplemented


def index_of(value: Labelled) -> Any:
    """`series.index`: public labels as pandas holds them."""
    import pandas as pd

    return pd.Index(value.labels[0])


def label_item(run: Run, value: Labelled, key: Any) -> Any:
    """`series[label]`: the entry of a public label."""
    if len(value.labels) == 1 and isinstance(key, str | int) and not isinstance(key, bool):
        (labels,) = value.labels
        places = [at for at, each in enumerate(labels) if type(each) is type(key) and each == key]
        if len(places) == 1:
            return item(run, plain_array(run, value), places[0])
    if isinstance(key, Labelled) and all(isinstance(run.make_public(each).term, Public) for each in (value, key)):
        return run.public(None)
    raise run.ends("a series over categories is read otherwise than at one of its labels")


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
    return Groups(value, by)


class Groups(Opaque):
    """`frame.groupby(column)`, perhaps with one column chosen."""

    def __init__(self, frame: Symbol, by: str, column: str = "") -> None:
        self.run = frame.run
        self.frame = frame
        self._grouped = frame.term
        self.by = by
        self.column = column

    @property
    def table(self) -> Table:
        """The rows, which pandas reads when it is asked for sums or counts."""
        if self.frame.term is not self._grouped:
            raise self.run.ends("a frame is changed after it was grouped", "group it after the change")
        found: Table = self._grouped
        return found

    def __getitem__(self, column: str) -> "Groups":
        if column not in self.table.columns:
            raise self.run.ends(f"column {column!r} is not in the schema")
        return Groups(self.frame, self.by, column)

    def size(self) -> Counts:
        """Number of rows of each group."""
        return Counts(self.run, self.table.columns[self.by], self.table.mask, None)

    def count(self) -> Counts:
        """Number of rows of each group: no value is missing."""
        counted = [self.column] if self.column else list(self.table.columns)
        if any(self.table.columns[each].kind == "m" for each in counted):
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
