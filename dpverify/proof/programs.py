"""Runs a rewritten program: the hooks that every operation goes through, and the modules of the user's project."""

import builtins
import contextlib
import copy
import dataclasses
import functools
import importlib.util
import inspect
import itertools
import math
import operator
import random
import sys
import types
import warnings
from collections import Counter, defaultdict, OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpverify.proof import frames, validation
from dpverify.proof.arithmetic import (
    apply,
    as_node,
    COMPARE,
    DICT_VIEWS,
    holds_symbols,
    is_by_row,
    is_number,
    NATIVE,
    number_node,
    row_node,
    same_rows,
    symbols_in,
    truth_node,
)
from dpverify.proof.contests import compare_with_infinity, Contest, release_leader, release_pick
from dpverify.proof.ending import OutsideOfTheCall, ProofEnds
from dpverify.proof.functions import (
    chosen_of,
    entry_of_order,
    is_filled_by_rows,
    is_instance,
    METHODS,
    printed,
    release_order,
    rows_of_list,
    RULES,
    Transposed,
    where,
    where_node,
)
from dpverify.proof.leaks import refuse_own_operators, stays_data
from dpverify.proof.memory import attributes_of, reaches_data
from dpverify.proof.moves import aggregate_of, certain_range
from dpverify.proof.noise import draw_from, make_source, scipy_draw, softmax, source_of
from dpverify.proof.operations import Record
from dpverify.proof.plain import call_plainly, check_class, check_identity, check_order, is_known
from dpverify.proof.rewriting import PROOF, rewrite
from dpverify.proof.rows import MOST_LABELS, Node
from dpverify.proof.run import is_whole, JOINED, OneByOne, Run, unexplored, WHOLE
from dpverify.proof.state import check_state_in_loop, nothing_changes, state_in_loop
from dpverify.proof.structure import (
    count_of,
    item,
    set_item,
    split,
    stack,
    term_of,
    total_of_rows,
    Written,
)
from dpverify.proof.surroundings import (
    check_attribute,
    check_call,
    check_clocks,
    check_import,
    check_operand,
    check_subject,
    check_text,
    logger_of,
    outside,
    own_name,
    spread,
    unknown_name,
)
from dpverify.proof.terms import (
    Aggregate,
    Draw,
    Labelled,
    Leader,
    Noise,
    Noisy,
    Opaque,
    Order,
    Public,
    RowPart,
    Rows,
    Running,
    Scope,
    Source,
    Sum,
    Symbol,
    Table,
)
from dpverify.proof.thresholds import compare_with_bar

SIGNS = {sign: name for name, sign in COMPARE.items()}
PYTHON_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}
SEEDS = (np.random.seed, random.seed, np.random.set_state, np.random.get_state, random.setstate, random.getstate)


# ----------------------------------------------------------------------------------------------------------------------
# Loops over rows


class Forgotten:
    """A name that a loop over rows has assigned: its last value is that of one row."""

    def __repr__(self) -> str:
        return "<a value of the last row>"


FORGOTTEN = Forgotten()


def outer_names(run: Run) -> None:
    """A function that assigns names of an outer function or of the module: not in a loop over rows."""
    if isinstance(run.scope, Scope) and not run.scope.lasting:
        raise run.ends("a loop over rows calls a function that assigns names outside of it", "collect sums with +=")


def yields(run: Run, value: Any, is_new: bool) -> Any:
    """`yield value`: not in a loop over rows. `is_new`: its expression makes a list or array that nobody else has.

    Where the generator is the output, whoever gets it may do more than read: throw an exception into it, and change
    what it gave before it goes on. So it yields outside of `try` and `with`, and only what cannot change, or what the
    program has no other name for.
    """
    outer_names(run)
    if run.gives:
        if run.tries:
            raise run.ends("a generator that is released yields within try or with", "move the yield out of it")
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple | set) else ()
        run.made_anew = value if is_new and not any(map(_may_change, parts)) else None
    return value


def starred(run: Run, value: Any) -> Any:
    """`*value` of a list or of arguments."""
    value = settle(run, value)
    return list(entries_of(run, value)) if _is_array(value) else spread(run, value)


def yields_from(run: Run, value: Any) -> Any:
    """`yield from value`: its entries are read when the generator is."""
    value = settle(run, value)
    lend(run, value)
    if _is_array(value):
        value.shared.append(None)
    return spread(run, value)


def yields_and_receives(run: Run, value: Any) -> Any:
    """`x = yield value`: what is sent decides how the program goes on, so that the generator may not be released."""
    if run.gives:
        raise run.ends("a generator that is released uses what is sent into it", "use yield as a statement")
    return yields(run, value, False)


def returns_of_generator(run: Run, value: Any) -> Any:
    """`return value` of a generator: whoever reads it to its end gets this value, too."""
    if run.gives and value is not None:
        raise run.ends("a generator that is released returns a value beside what it yields", "yield it")
    return value


def _may_change(value: Any) -> bool:
    """Whether somebody who has the value may change it."""
    if isinstance(value, tuple):
        return any(map(_may_change, value))
    if isinstance(value, Symbol):
        return value.guise != "number"
    return not (value is None or isinstance(value, bool | int | float | complex | str | bytes | range | np.generic))


class Loop:
    """A `for` statement: plain over plain values, several passes over the paths of its body over rows."""

    def __init__(self, run: Run, source: Any, names: tuple[str, ...] = ()) -> None:
        self.run = run
        self.source = source
        self.names = names  # that the loop assigns
        use_once(run, source)
        if id(source) in run.one_by_one and run.one_by_one[id(source)].calls:
            raise run.ends("a loop over map() or filter() of rows", "call the function in the loop")
        term = term_of(source)
        self.over_rows = isinstance(term, Rows | Table) and term.scope is None and (source.guise != "frame")

    def forgotten(self) -> Forgotten:
        """The value of names that the body has assigned."""
        return FORGOTTEN

    def passes(self) -> Iterator[Any]:
        """Values of the loop's variable."""
        run = self.run
        if not self.over_rows:
            # `yield from` would close a generator that the loop leaves early
            for each in entries_of(run, self.source):  # noqa: UP028
                yield each
            return
        if run.scope is not None:
            raise run.ends("a loop over rows within a loop over rows")
        if run.rows == 0 or (run.rows is None and run.most == 0):
            return
        waiting: list[list[bool]] = [[]]
        first: Scope | None = None
        while waiting or (first is not None and first.pending):
            checking = not waiting
            # the first pass is run once more at the end: what it reads of its own sums shows then
            outcomes = waiting.pop() if waiting or first is None else first.taken
            scope = Scope(self.source.term.mask, outcomes=outcomes, checking=checking, loop=self)
            run.scope = scope
            draws, events = len(run.state), len(run.events)
            finished = False
            frame = sys._getframe(1)
            before = state_in_loop(run, frame, self.names)
            try:
                yield one_row(run, self.source, scope)
                finished = True
                check_state_in_loop(run, before, state_in_loop(run, frame, self.names))
            finally:
                run.scope = None
                if not finished and run.ended is None and sys.exc_info()[0] is GeneratorExit:
                    run.ends("a loop over rows is left early: at which row shows data")
            if len(run.state) > draws or len(run.events) > events:
                raise run.ends(
                    "noise is drawn in a loop over the rows", "draw it after the loop, or for all rows at once"
                )
            if first is None:
                first = scope
            if checking:
                if [_what(each) for each in scope.pending] != [_what(each) for each in first.pending]:
                    raise run.ends("a loop over rows reads what it adds to", "collect sums with += only")
                return
            self._settle(scope)
            waiting += unexplored(scope.taken, len(scope.outcomes))
            if len(waiting) > 64:
                raise run.ends("a loop over rows has too many branches")

    def _settle(self, scope: Scope) -> None:
        """Gives everything that this pass added the mask of its path."""
        run = self.run
        mask = path_mask(run, scope)
        for running, value in scope.pending:
            if isinstance(running, Running):
                running.added.append((mask, value))
            else:
                running.mask = mask


def _what(pending: tuple[Any, Any]) -> tuple[str, int]:
    target, value = pending
    node = value.node if isinstance(target, Running) else target.node
    return type(target).__name__, id(node)


def path_mask(run: Run, scope: Scope) -> Node | None:
    """The rows on which a pass takes its branches."""
    mask = scope.mask
    for node, outcome in scope.conditions:
        own = node if outcome else row_node(run, "logical_not", [node])
        mask = own if mask is None else row_node(run, "logical_and", [mask, own])
    return mask


def one_row(run: Run, source: Symbol, scope: Scope) -> Symbol:
    """The value of one row within a loop."""
    term = source.term
    if isinstance(term, Table):
        return run.symbol(Table(term.columns, scope.mask, scope), source.guise)
    assert isinstance(term, Rows)
    found = run.symbol(Rows(term.node, term.powers, scope.mask, scope), "array" if term.node.shape else "number")
    found.shared.append(None)  # it is a view of the rows
    return found


def close_sum(run: Run, running: Running) -> Any:
    """The number that a loop has added to, once the loop has ended."""
    if run.scope is not None:
        raise run.ends("a number that a loop over rows adds to is read within the loop")
    if running.closed is not None:
        return running.closed
    found = running.start
    for mask, value in running.added:
        total = total_of_rows(run, Rows(value.node, value.powers, mask))
        found = (
            binary(run, "add", found, run.symbol(total))
            if not (isinstance(found, int | float) and found == 0)
            else run.symbol(total)
        )
    running.closed = found
    return found


def settle(run: Run, value: Any) -> Any:
    """A value as it can be used: running sums are closed; what a loop over rows left behind ends the proof."""
    if isinstance(value, Running):
        return close_sum(run, value)
    if isinstance(value, Symbol) and isinstance(value.term, Order | Leader):
        return run.make_public(value)
    if value is FORGOTTEN:
        raise run.ends(
            "a value of the last row is used in the next pass, or after the loop", "collect with total += value"
        )
    if isinstance(value, RowPart):
        raise run.ends("an entry of a list that a loop over rows has filled is read")
    if isinstance(value, np.ndarray) and run.promoted:
        return resolve_array(run, value)
    return value


def _resolve_deeply(run: Run, value: Any, depth: int) -> Any:
    """A value with the arrays into which data were written replaced by their symbols, in lists and dicts, too."""
    if isinstance(value, np.ndarray):
        return resolve_array(run, value)
    if depth > 6:
        return value
    if isinstance(value, type({}.values()) | type({}.items())) or hasattr(value, "__next__"):
        value = list(value)
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        found = [_resolve_deeply(run, each, depth + 1) for each in value]
        return type(value)(found) if any(a is not b for a, b in zip(found, value, strict=True)) else value
    if isinstance(value, dict):
        parts = {key: _resolve_deeply(run, each, depth + 1) for key, each in value.items()}
        return parts if any(parts[key] is not value[key] for key in value) else value
    return value


def resolve_array(run: Run, value: Any) -> Any:
    """The symbol that stands for an array into which data were written."""
    found = run.promoted.get(id(value))
    if found is not None:
        return settle(run, found[1])
    base = value.base
    if base is not None and id(base) in run.promoted:
        raise run.ends("a view of an array into which data were written", "copy it")
    return value


def lend(run: Run, value: Any) -> None:
    """Somebody reads an array later, entry by entry or by another name: no data may be written into it any more."""
    while isinstance(value, np.ndarray):
        run.lent[id(value)] = value
        value = value.base


def entries_of(run: Run, source: Any) -> Iterator[Any]:
    """What a loop over a value that is no row goes through."""
    source = settle(run, source)
    lend(run, source)
    if id(source) in run.kept_iterators:
        raise run.ends("an iterator of the module is used up", "keep state out of the release", kind=OutsideOfTheCall)
    if not isinstance(source, Symbol):
        spread(run, source)
        check_order(run, source)
        if is_filled_by_rows(source):
            raise run.ends("a loop over a list that a loop over rows has filled", "use a comprehension")
        if isinstance(source, dict) and run.scope is None:
            return iter(list(source))
        return iter(source)
    if isinstance(source, Labelled) and len(source.labels) > 1:
        raise run.ends("a loop over a frame goes through its columns")
    drawn = isinstance(source.term, Noise) and not source.term.by_row  # each entry is a draw of its own
    if isinstance(source.term, Noisy) and len(source.term.shape) == 1 and not source.term.noise.by_row:
        return _read_one_by_one(source, [run.make_public(each) for each in split(run, source)])
    term = source.term if drawn else run.make_public(source).term
    if isinstance(term, Table):
        if source.guise == "row":  # of a frame: a series
            raise run.ends("a loop over the values of one row", "name the columns")
        if source.guise == "frame" or (term.scope is not None and all(isinstance(each, str) for each in term.columns)):
            return iter(list(term.columns))
        if term.scope is not None:
            raise run.ends("a loop over the values of one row", "give them names: for a, b in zip(...)")
        raise run.ends("a loop over rows within an expression")
    if isinstance(term, Public) and (term.shape is None or term.by_row):
        raise run.ends("a loop over released values whose number is not known")
    if isinstance(term, Rows) and term.scope is None:
        raise run.ends("a loop over rows in this form", "use a comprehension over the rows")
    shape = term.node.shape if isinstance(term, Rows) else term.shape
    if not shape:
        raise run.ends("a loop over one number")
    if len(shape) == 1:
        return _read_one_by_one(source, split(run, source))
    return _read_one_by_one(source, [item(run, source, at) for at in range(shape[0])])


def _read_one_by_one(source: Symbol, entries: list[Any]) -> Iterator[Any]:
    """Entries of an array, to which nothing may be written until they are all read: Python would see it."""
    source.shared.append(None)
    try:
        yield from entries
    finally:
        source.shared.pop()


# ----------------------------------------------------------------------------------------------------------------------
# Operators


def binary(run: Run, op: str, a: Any, b: Any) -> Any:
    """`a op b`."""
    a, b, events = settle(run, a), settle(run, b), len(run.events)
    found = _binary(run, op, a, b)
    stays_data(run, f"the operation {op}", (a, b), found, events)
    return found


def _binary(run: Run, op: str, a: Any, b: Any) -> Any:
    _check_operands(run, a, b)
    if op == "remainder" and isinstance(a, str | bytes):
        check_text(run, b)
    if op == "matmul" and (isinstance(a, Symbol | Transposed) or isinstance(b, Symbol | Transposed)):
        return RULES[np.matmul](run, a, b)
    if isinstance(a, Labelled) or isinstance(b, Labelled):
        return frames.label_alike(run, functools.partial(binary, run, op), a, b)
    if isinstance(a, Symbol) or isinstance(b, Symbol):
        if isinstance(a, str) or isinstance(b, str):
            for each in (a, b):
                if isinstance(each, Symbol) and not isinstance(run.make_public(each).term, Public):
                    raise run.ends("data are put into a text")
            return run.public(None)
        for each in (a, b):
            if isinstance(each, Symbol) and each.guise == "list":
                raise run.ends("a list of rows is extended or repeated")
        for each, other in ((a, b), (b, a)):
            if op == "multiply" and isinstance(each, list | tuple) and _is_one_number(other):
                raise run.ends("a list is repeated as often as data or a released value say")
        if isinstance(a, list | tuple) and not isinstance(
            getattr(b, "term", None), Rows | Sum | Aggregate | Noise | Noisy | Public
        ):
            raise run.ends("a list is combined with data")
        return numbers(run, op, a, b)
    if isinstance(a, Transposed) or isinstance(b, Transposed):
        raise run.ends("a transposed array of rows outside of a matrix product")
    if op == "multiply" and any(isinstance(each, list | tuple) for each in (a, b)) and holds_symbols((a, b)):
        raise run.ends("a list that holds data or noise is repeated", "draw fresh noise for each entry")
    if holds_symbols((a, b)) and any(isinstance(each, str | bytes) for each in (a, b)):
        raise run.ends("data are put into a text")
    return NATIVE[op](a, b)


def _is_one_number(value: Any) -> bool:
    term = term_of(value)
    return value.guise == "number" or (not isinstance(term, Rows | Table) and getattr(term, "shape", None) == ())


def numbers(run: Run, op: str, a: Any, b: Any) -> Any:
    """An operation of numbers; Python's truth values count as 0 and 1."""
    truths = [_is_truth_of_row(each) for each in (a, b)]
    if op in ARITHMETIC and any(truths) and all(map(_is_truth_value, (a, b))):
        raise run.ends("two truth values are combined: Python adds them up, NumPy joins them by `or`", "use int()")
    values = [as_python_number(run, each) for each in (a, b)]
    return apply(run, op, *values)


ARITHMETIC = ("add", "subtract", "multiply", "power", "floor_divide", "remainder")


def _is_truth_value(value: Any) -> bool:
    released = isinstance(term_of(value), Public) and value.term.truth
    return _is_truth_of_row(value) or released or isinstance(value, bool | np.bool_)


def _is_truth_of_row(value: Any) -> bool:
    """Whether a value is the truth value of one row, which may be Python's or NumPy's."""
    term = term_of(value)
    one = isinstance(term, Rows) and (value.guise == "number" or (term.scope is not None and not term.node.shape))
    return one and term.node.kind == "b"


def as_python_number(run: Run, value: Any) -> Any:
    """A truth value of a Python row as a whole number (NumPy's truth values add up as `or`)."""
    if _is_truth_of_row(value):
        term = value.term
        return run.symbol(Rows(number_node(run, term.node, "i"), term.powers, term.mask, term.scope), "number")
    return value


def unary(run: Run, op: str, value: Any) -> Any:
    """`op value`."""
    value = settle(run, value)
    _check_operands(run, value)
    if op == "not":
        if isinstance(value, Symbol):
            if isinstance(value.term, Rows) and value.term.scope is not None:
                return run.symbol(
                    Rows(
                        row_node(run, "logical_not", [truth_node(run, value.term.node)]),
                        (),
                        value.term.mask,
                        value.term.scope,
                    ),
                    "number",
                )
            return not truth(run, value)
        return not _truth_of_plain(run, value)
    if isinstance(value, Labelled):
        return frames.label_alike(run, functools.partial(unary, run, op), value)
    if isinstance(value, Symbol):
        if _is_truth_of_row(value):
            raise run.ends(f"{op} of a truth value: Python takes it as a number, NumPy does not", "use not, or int()")
        return apply(run, "logical_not" if op == "invert" and not isinstance(value.term, Rows) else op, value)
    return NATIVE[op](value)


def compare(run: Run, sign: str, a: Any, b: Any) -> Any:
    """`a sign b`."""
    a, b, events = settle(run, a), settle(run, b), len(run.events)
    if isinstance(a, str) or isinstance(b, str):
        check_clocks(run, a, b, beside=True)
    found = _compare(run, sign, a, b)
    if sign not in ("is", "is not") and not isinstance(found, bool):  # a constant says nothing
        stays_data(run, f"the comparison {sign}", (a, b), found, events)
    return found


def _compare(run: Run, sign: str, a: Any, b: Any) -> Any:
    _check_operands(run, a, b)
    if sign in ("is", "is not"):
        return _identical(run, sign, a, b)
    if sign in ("in", "not in"):
        return contains(run, a, b, negated=sign == "not in")
    if isinstance(a, Labelled) or isinstance(b, Labelled):
        return frames.label_alike(run, functools.partial(compare, run, sign), a, b)
    if not isinstance(a, Symbol) and not isinstance(b, Symbol):
        for each in (a, b):
            if isinstance(each, list | dict) and any(
                isinstance(part, Running | RowPart) for part in (each.values() if isinstance(each, dict) else each)
            ):
                raise run.ends("a container that a loop over rows fills is compared")
        if holds_symbols((a, b)):
            if any(isinstance(each, list | tuple | dict) for each in (a, b)):
                raise run.ends("containers that hold data are compared")
        return PYTHON_COMPARE[sign](a, b)
    for own, other in ((a, b), (b, a)):
        term = term_of(own)
        if isinstance(term, Rows) and term.node.kind == "c":
            return _compared_category(run, sign, own, other)
        if isinstance(other, str) or other is None:
            if isinstance(term, Rows | Sum | Aggregate) or (
                isinstance(run.make_public(own).term, Public) and term_of(own).shape is not None
            ):
                return sign == "!="
            return run.public((), low=0.0, high=1.0, whole=True, defined=True, truth=True)
    known = compare_with_infinity(sign, a, b)
    if known is not None:
        return known
    beside_bar = compare_with_bar(run, SIGNS[sign], a, b)
    return numbers(run, SIGNS[sign], a, b) if beside_bar is None else beside_bar


def _identical(run: Run, sign: str, a: Any, b: Any) -> Any:
    """`a is b`: only whether a value is None can be said of one that is not known."""
    if not isinstance(a, Symbol) and not isinstance(b, Symbol):
        check_identity(run, a, b)
        return PYTHON_COMPARE[sign](a, b)
    own, other = (a, b) if isinstance(a, Symbol) else (b, a)
    if other is not None:
        raise run.ends("the identity of data or of a released value is asked", "compare with ==")
    if isinstance(own.term, Public) and own.term.shape is None:
        return run.decide() == (sign == "is")
    return sign == "is not"


def _check_operands(run: Run, *values: Any) -> None:
    """Values that an operation meets: beside unknown ones only plain ones, and no unknown ones within `try`, where
    an exception that they raise would not be followed.
    """
    check_operand(run, *values)
    if not holds_symbols(values):
        return
    if run.tries:
        raise run.ends("data or released values are used within try or with", "move them out of it")
    refuse_own_operators(run, *values)


def enter_try(run: Run) -> None:
    """A `try` or `with` statement begins."""
    run.tries += 1


def leave_try(run: Run) -> None:
    """A `try` or `with` statement ends."""
    run.tries -= 1


class Contexts:
    """The objects of a `with` statement: what runs under one that may catch exceptions runs as under `try`."""

    def __init__(self, run: Run) -> None:
        self._run, self._tries = run, 0

    def entered(self, value: Any) -> Any:
        """An object whose part begins."""
        if not _only_silences(value):
            self._tries += 1
            self._run.tries += 1
        return value

    def leave(self) -> None:
        """The statement ends."""
        self._run.tries -= self._tries


def _only_silences(value: Any) -> bool:
    """Whether a context does nothing but leave out warnings: it catches, raises and records nothing."""
    if type(value) is warnings.catch_warnings:
        return not value._record  # type: ignore[attr-defined]
    if type(value) is not np.errstate:
        return False
    kept = [each for _, each in attributes_of(value)]
    settings = [each for part in kept for each in (part.values() if isinstance(part, dict) else [part])]
    return not any(each in ("raise", "call", "print", "log") for each in settings if isinstance(each, str))


def reserved_name(run: Run) -> Any:
    """The program has a name that begins like those of the rewriting."""
    raise run.ends(f"a name begins with {PROOF}, as names of the proof do", "use another name")


def _compared_category(run: Run, sign: str, own: Symbol, other: Any) -> Any:
    term = own.term
    assert isinstance(term, Rows)
    if sign not in ("==", "!=") or isinstance(other, Symbol):
        raise run.ends("texts of rows are compared otherwise than with one public text")
    node = term.node
    if node.op != "column":
        raise run.ends("a text that was made of rows is compared")
    values = run.domain.columns[node.extra].values
    if isinstance(other, np.ndarray):
        raise run.ends("texts of rows are compared with an array")

    def is_it(each: Any) -> bool:
        alike = type(each) is type(other) or (isinstance(each, str) and isinstance(other, str))
        return alike and bool(each == other)

    place = next((at for at, each in enumerate(values) if is_it(each)), -1)
    number = run.domain.node("number", [node], shape=(), kind="i")
    one = run.domain.node("compare", [number, run.domain.constant(place)], shape=(), kind="b", extra=sign)
    return run.symbol(Rows(one, (), term.mask, term.scope), own.guise)


def contains(run: Run, a: Any, b: Any, *, negated: bool) -> Any:
    """`a in b`."""
    if isinstance(b, Symbol):
        named = isinstance(b.term, Table) and all(isinstance(each, str) for each in b.term.columns)
        if named and (b.guise == "frame" or b.term.scope is not None) and not isinstance(a, Symbol):
            return (a in b.term.columns) != negated
        raise run.ends("a value is looked for among data")
    if not isinstance(a, Symbol):
        if holds_symbols(list(b) if type(b) is dict else b):  # a dict is asked for its keys
            raise run.ends("a value is looked for among data")
        return PYTHON_COMPARE["not in" if negated else "in"](a, b)
    if isinstance(a.term, Rows):
        found = RULES[np.isin](run, a, b)
        return (
            unary(run, "not", found)
            if negated and a.term.scope is not None
            else (apply(run, "logical_not", found) if negated else found)
        )
    if isinstance(run.make_public(a).term, Public):
        return run.public((), low=0.0, high=1.0, whole=True, defined=True, truth=True)
    raise run.ends("data are looked for in a container")


def chain(run: Run, signs: tuple[str, ...], first: Any, *rest: Callable[[], Any]) -> Any:
    """`a < b < c`."""
    found: Any = True
    left = first
    for sign, later in zip(signs, rest, strict=True):
        right = _on_some_rows(run, later) if isinstance(found, Symbol) and run.scope is not None else later()
        one = compare(run, sign, left, right)
        found = one if found is True else _and(run, found, one)
        if not isinstance(found, Symbol) and not isinstance(found, np.ndarray) and not found:
            return found
        left = right
    return found


def _and(run: Run, first: Any, second: Any) -> Any:
    if not isinstance(first, Symbol) and not isinstance(second, Symbol):
        return first and second
    if any(
        isinstance(each, Symbol) and isinstance(each.term, Rows) and each.term.scope is None for each in (first, second)
    ):
        raise run.ends("the truth of all rows is taken", "use & between comparisons of arrays")
    return apply(run, "logical_and", first, second)


def both(run: Run, first: Any, *rest: Callable[[], Any]) -> Any:
    """`a and b`."""
    return _logic(run, "logical_and", first, rest, go_on=True)


def either(run: Run, first: Any, *rest: Callable[[], Any]) -> Any:
    """`a or b`."""
    return _logic(run, "logical_or", first, rest, go_on=False)


def _logic(run: Run, op: str, first: Any, rest: tuple[Callable[[], Any], ...], *, go_on: bool) -> Any:
    found = settle(run, first)
    for later in rest:
        if not isinstance(found, Symbol):
            if _truth_of_plain(run, found) != go_on:
                return found
            found = settle(run, later())
            continue
        term = found.term
        if isinstance(term, Rows) and term.scope is not None:
            other = _on_some_rows(run, later)
            if not isinstance(other, Symbol) and not isinstance(other, bool):
                raise run.ends("`and` or `or` of values of a row that are no comparisons")
            if term.node.kind != "b" or (
                isinstance(other, Symbol) and isinstance(other.term, Rows) and other.term.node.kind != "b"
            ):
                raise run.ends("`and` or `or` of values of a row that are no comparisons")
            found = apply(run, op, found, other)
        else:
            outcome = truth(run, found)
            if outcome != go_on:
                return outcome if isinstance(term, Public) and term.whole else found
            found = settle(run, later())
    return found


def branch_on_data(run: Run, term: Any) -> ProofEnds:
    """A branch on data."""
    if isinstance(term, Rows | Table) and term.scope is None:
        return run.ends("the truth of all rows is taken", "use np.where or a comprehension")
    return run.ends("a branch depends on the data", "use np.clip, np.where or noise before the comparison")


def truth(run: Run, value: Any) -> bool:
    """The truth of a condition: of a row both ways, of a released value both ways."""
    value = settle(run, value)
    run.branches += 1
    if run.branches > MOST_BRANCHES:
        raise run.ends(f"more than {MOST_BRANCHES:,} branches in one run")
    if not isinstance(value, Symbol):
        return _truth_of_plain(run, value)
    term = run.make_public(value).term
    if isinstance(term, Public):
        if any(unknown is run.number_of_rows for unknown, _ in term.powers):
            raise run.needs_rows("used in a condition")
        if term.shape == () and term.defined and term.low == term.high:
            return bool(term.low)
        if term.shape == () and (term.low > 0 or term.high < 0):  # NaN is true as well
            return True
        if term.shape == ():
            return run.decide()
        if term.shape is None:
            return run.decide()
        raise run.ends("the truth of an array of released values")
    if isinstance(term, Rows) and term.scope is not None and term.scope is run.scope:
        return _branch_of_row(run, term)
    if isinstance(term, Rows | Table) and value.guise in ("list", "records") and term.scope is term.mask is None:
        if (run.rows or run.fewest) > 0:
            return True
    if isinstance(term, Sum | Aggregate) and term.shape == ():
        low, high = certain_range(run, term)
        if low > 0 or high < 0:
            return True
        if low == high == 0:
            return False
    raise branch_on_data(run, term)


def _truth_of_plain(run: Run, value: Any) -> bool:
    """The truth of a value that is no symbol."""
    if is_filled_by_rows(value):
        raise run.ends("whether a list of chosen rows is empty shows data")
    check_operand(run, value)
    return isinstance(value, Source) or bool(value)


def _branch_of_row(run: Run, term: Rows) -> bool:
    scope = term.scope
    if not isinstance(scope, Scope):
        raise run.ends("a branch depends on the data")
    node = truth_node(run, term.node)
    low, high = run.domain.bounds(node)
    if float(low) == float(high):
        return bool(low)
    for known, outcome in scope.conditions:
        if known is node:
            return outcome
    at = len(scope.conditions)
    if at > 12:
        raise run.ends("too many branches on one row")
    outcome = scope.outcomes[at] if at < len(scope.outcomes) else False
    scope.conditions.append((node, outcome))
    return outcome


def choose(run: Run, test: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """`yes if test else no`: for a row both, and where() of them."""
    test = settle(run, test)
    term = term_of(test)
    if isinstance(term, Rows) and term.scope is not None:
        node = truth_node(run, term.node)
        low, high = run.domain.bounds(node)
        if float(low) == float(high):
            return yes() if low else no()
        first = _on_some_rows(run, functools.partial(_assuming, run, node, True, yes))
        second = _on_some_rows(run, functools.partial(_assuming, run, node, False, no))
        if isinstance(first, str) or isinstance(second, str) or first is None or second is None:
            raise run.ends("a text is chosen for each row")
        condition = run.symbol(Rows(node, (), term.mask, term.scope), "number")
        return where(run, condition, as_python_number(run, first), as_python_number(run, second))
    return yes() if truth(run, test) else no()


def _on_some_rows(run: Run, part: Callable[[], Any]) -> Any:
    """A part of an expression that is evaluated where a condition on the row holds: all it may do is give a value."""
    draws, kept = len(run.state), _kept_changes(run)
    with nothing_changes(run):
        found = settle(run, part())
    if len(run.state) > draws:
        raise run.ends("noise is drawn where a condition on a row holds")
    if _kept_changes(run) != kept:
        raise run.ends("an object is changed where a condition on a row holds", "use an if statement")
    return found


def _kept_changes(run: Run) -> int:
    """How much this pass of a loop over rows has added to objects outside of it."""
    return len(run.scope.pending) if isinstance(run.scope, Scope) else 0


def _assuming(run: Run, node: Node, outcome: bool, value: Callable[[], Any]) -> Any:
    """A value that is used for the rows only on which a condition goes so."""
    run.assumed.append((node, outcome))
    try:
        return settle(run, value())
    finally:
        run.assumed.pop()


def comprehension(run: Run, kind: str, source: Any, test: Any, element: Callable[[Any], Any], flat: bool) -> Any:
    """[element(v) for v in source if test(v)] and its like."""
    source = settle(run, source)
    use_once(run, source)
    if isinstance(source, list) and len(source) == 1 and isinstance(source[0], RowPart):
        source = rows_of_list(run, source)
    term = term_of(source)
    over_rows = isinstance(term, Rows | Table) and term.scope is None and source.guise != "frame"
    if run.record is not None:
        run.record.note("rows", over_rows)
    if over_rows:
        found = _of_rows(run, kind, source, test, element, flat)
        return read_once(run, found, calls=True) if kind == "generator" else found
    return _of_values(run, kind, source, test, element, flat)


def _of_values(run: Run, kind: str, source: Any, test: Any, element: Callable[[Any], Any], flat: bool) -> Any:
    unknown = False
    lend(run, source)

    def found() -> Iterator[Any]:
        nonlocal unknown
        for each in entries_of(run, source):
            if test is not None:
                condition = settle(run, test(each))
                if isinstance(condition, Symbol) and isinstance(term_of(condition), Public | Noise | Noisy):
                    if run.record is not None:  # Python makes entries only where a released condition holds
                        run.record.note("all entries", None)
                    run.make_public(condition)
                    state, events = len(run.state), len(run.events)
                    value = element(each)
                    public = len(run.state) == state and release_all(run, value)
                    if not public or len(run.events) != events:
                        raise run.ends(
                            "data or noise in an entry that is there where a released value says so",
                            "release all and choose afterwards",
                        )
                    unknown = True
                    continue
                if not truth(run, condition):
                    continue
            yield from _entries_of_element(run, element(each), flat)

    lasting = isinstance(source, range | tuple | str | Symbol)
    if kind == "generator" and (
        not lasting or (test is not None and not isinstance(source, Symbol))
    ):  # as Python does: what the source holds when it is read
        return _lazily(run, source, test, element, flat)
    if kind == "generator":
        results = list(found()) if test is not None or holds_symbols(source) or isinstance(source, Symbol) else found()
        return run.public(None) if unknown else results
    values = list(found())
    if unknown:
        for each in values:
            if not release_all(run, each):
                raise run.ends("data in a collection whose length is released")
        return run.public(None)
    if kind == "set":
        return set(values)
    if kind == "dict":
        if any(holds_symbols(key) for key, _ in values):
            if all(release_all(run, key) and release_all(run, value) for key, value in values):
                return run.public(None)
            raise run.ends("a key of a dict depends on data")
        return dict(values)
    return values


def _lazily(run: Run, source: Any, test: Any, element: Callable[[Any], Any], flat: bool) -> Iterator[Any]:
    """A generator over a container that may change before it is read."""
    for each in entries_of(run, source):
        with contextlib.nullcontext() if run.record is None else run.record.of_program():
            chosen = test is None or truth(run, test(each))
            value = element(each) if chosen else None
        if chosen:
            yield from _entries_of_element(run, value, flat)


def _entries_of_element(run: Run, value: Any, flat: bool) -> Iterator[Any]:
    """What one element gives: its entries where the comprehension has an inner loop, else itself."""
    return entries_of(run, value) if flat else iter((value,))


def release_all(run: Run, value: Any) -> bool:
    """Whether a value is public; noise and noisy values are released for it."""
    if isinstance(value, Symbol):
        run.make_public(value)
        return isinstance(value.term, Public)
    if isinstance(value, list | tuple | set | DICT_VIEWS):
        return all(release_all(run, each) for each in value)
    if isinstance(value, dict):
        return all(release_all(run, each) for each in value.values())
    if isinstance(value, slice):
        return all(release_all(run, each) for each in (value.start, value.stop, value.step))
    return not isinstance(value, Opaque) and type(value).__module__ not in run.modules


def _of_rows(run: Run, kind: str, source: Symbol, test: Any, element: Callable[[Any], Any], flat: bool) -> Any:
    if run.scope is not None:
        raise run.ends("a loop over rows within a loop over rows")
    if kind in ("set", "dict"):
        raise run.ends("a set or dict with the rows as keys shows which ones occur", "loop over public keys")
    scope = Scope(source.term.mask, by_rule=run.record is not None and run.record.in_rule)
    run.scope = scope
    draws, events = len(run.state), len(run.events)
    try:
        row = one_row(run, source, scope)
        mask = source.term.mask
        condition = None if test is None else _value_on_paths(run, scope, row, test)
        value = _value_on_paths(run, scope, row, element)
    finally:
        run.scope = None
    if len(run.state) > draws or len(run.events) > events:
        raise run.ends("noise is drawn for each row within a comprehension", "draw noise of size len(rows) at once")
    if scope.pending:
        raise run.ends("a comprehension over rows changes an object outside of it", "use a loop with +=")
    if condition is not None:
        if isinstance(condition, Symbol):
            if not isinstance(condition.term, Rows):
                raise run.ends("rows are chosen by a value that is no comparison of the row")
            own = truth_node(run, condition.term.node)
            mask = own if mask is None else row_node(run, "logical_and", [mask, own])
        elif not condition:
            return []
    if isinstance(value, tuple | list) or value is None or isinstance(value, str | dict):
        if isinstance(value, list | tuple) and flat:
            raise run.ends("a comprehension over rows and more")
        if isinstance(value, list | tuple) and holds_symbols(value):
            value = stack(run, value)
        else:
            raise run.ends("a comprehension over rows makes objects that are no numbers")
    if isinstance(value, Symbol) and isinstance(value.term, Table):
        return run.symbol(Table(value.term.columns, mask), "records")
    term = value.term if isinstance(value, Symbol) else Rows(run.domain.constant(value))
    if isinstance(term, Public):
        term = Rows(as_node(run, term))
    if not isinstance(term, Rows):
        raise run.ends("a comprehension over rows makes values that depend on all rows")
    if flat:
        raise run.ends("a comprehension over rows and more")
    return run.symbol(Rows(term.node, term.powers, mask), "list")


def _value_on_paths(run: Run, scope: Scope, row: Symbol, element: Callable[[Any], Any]) -> Any:
    """A function of the row, perhaps with branches: where() over its paths."""
    waiting: list[list[bool]] = [[]]
    results: list[tuple[list[tuple[Node, bool]], Any]] = []
    while waiting:
        scope.outcomes, scope.conditions = waiting.pop(), []
        with nothing_changes(run):
            value = settle(run, element(row))
        results.append((list(scope.conditions), value))
        waiting += unexplored(scope.taken, len(scope.outcomes))
        if len(results) > 64:
            raise run.ends("a function of a row has too many branches")
    found = results[0][1]
    for conditions, value in results[1:]:
        scope.conditions = conditions
        mask = path_mask(run, Scope(None, conditions))
        if mask is None:
            raise run.ends("paths of a row that cannot be told apart")
        condition = run.symbol(Rows(mask, (), row.term.mask, scope), "number")
        for each in (found, value):
            if isinstance(each, str | tuple | list | dict) or each is None:
                raise run.ends("branches on a row that make objects that are no numbers")
        found = where(run, condition, as_python_number(run, value), as_python_number(run, found))
    scope.conditions = []
    return found


# ----------------------------------------------------------------------------------------------------------------------
# Attributes, places, containers


@dataclass(eq=False, repr=False)
class Method(Opaque):
    """A method of a symbol, before it is called."""

    symbol: Symbol
    name: str

    @property
    def run(self) -> Run:
        """The run of the symbol."""
        found: Run = self.symbol.run
        return found


def attribute(run: Run, value: Any, name: str) -> Any:
    """`value.name`."""
    found = _attribute(run, value, name)
    if isinstance(value, Symbol):
        share_memory(value, found)
    return found


def _attribute(run: Run, value: Any, name: str) -> Any:
    value = settle(run, value)
    if isinstance(value, Source) and name == "bit_generator":
        raise run.ends("the state of a generator is read", "use the generator itself")
    if isinstance(value, Transposed) and name == "T":
        return value.symbol
    if not isinstance(value, Symbol):
        check_attribute(run, value, name)
        if isinstance(value, np.ndarray) and name not in ("shape", "size", "ndim", "dtype", "T", "real"):
            lend(run, value)
        return getattr(value, name)
    _check_operands(run, value)
    if name.startswith("__"):
        raise run.ends(f"attribute {name} of data or of a released value is read")
    term = value.term
    if isinstance(term, Table) and name in term.columns:
        if frames.is_attribute_of_pandas(name):
            raise run.ends(f"{name} is an attribute of pandas, not the column", f"write [{name!r}]")
        if value.guise == "frame":
            return item(run, value, name)
    if name in ("shape", "size", "ndim", "empty"):
        return _extent(run, value, name)
    if isinstance(value, Labelled):
        if name == "index":
            return frames.index_of(value)
        return value.array if name == "values" else Method(value, name)
    if name == "T":
        return METHODS["transpose"](run, value)
    if name in ("values",) and value.guise in ("series", "frame"):
        return METHODS["to_numpy"](run, value)
    if name == "real":
        return value
    if name == "dtype":
        return validation.column_dtype(run, value)
    if name == "columns" and isinstance(term, Table):
        return list(term.columns)
    if name == "loc" and value.guise in ("series", "frame"):
        return Located(value)
    if name in METHODS or name in ROW_METHODS:
        return Method(value, name)
    term = run.make_public(value).term
    if isinstance(term, Public):
        return Method(value, name)
    raise run.ends(f"attribute {name} of data")


@dataclass(eq=False, repr=False)
class Located(Opaque):
    """`frame.loc`."""

    symbol: Symbol

    @property
    def run(self) -> Run:
        """The run of the symbol."""
        found: Run = self.symbol.run
        return found


def _extent(run: Run, value: Symbol, name: str) -> Any:
    term = value.term
    inner: tuple[int, ...]
    if isinstance(term, Table):
        rows, inner = count_of(run, term), (len(term.columns),)
    elif isinstance(term, Rows) and term.scope is None:
        rows, inner = count_of(run, term), term.node.shape
    elif is_by_row(term) and not isinstance(term, Public):
        if not run.replaces:
            raise run.ends("one draw for each row shows how many rows there are")
        rows, inner = run.count_of_rows(), term.shape
    else:
        shape = term.node.shape if isinstance(term, Rows) else term.shape
        if shape is None or (isinstance(term, Public) and term.by_row):
            raise run.ends("the shape of released values that is not known")
        if name == "shape":
            return shape
        return len(shape) if name == "ndim" else math.prod(shape) == 0 if name == "empty" else math.prod(shape)
    if name == "ndim":
        return 1 + len(inner)
    if name == "shape":
        return (rows, *inner)
    if name == "empty":
        return compare(run, "==", rows, 0)
    return binary(run, "multiply", rows, math.prod(inner)) if math.prod(inner) != 1 else rows


def get_item(run: Run, value: Any, key: Any) -> Any:
    """`value[key]`."""
    events = len(run.events)
    found = _get_item(run, value, key)
    given = (key,) if not isinstance(value, Symbol) else (value, key)
    stays_data(run, "an entry", given, found, events)
    if isinstance(value, Symbol) and not isinstance(key, Symbol | list | np.ndarray):
        share_memory(value, found)
    return found


def _get_item(run: Run, value: Any, key: Any) -> Any:
    if isinstance(value, Symbol) and isinstance(value.term, Order):
        return entry_of_order(run, value, settle(run, key))
    value, key = settle(run, value), settle(run, key)
    _check_operands(run, value, key)
    if isinstance(key, str | slice):
        check_clocks(run, value, key, beside=True)
    if isinstance(value, dict) and type(value) is not dict and holds_symbols(key):
        raise run.ends("a dict with a default is read at a key that is not known")
    if isinstance(value, Located):
        if isinstance(key, tuple) and len(key) == 2 and isinstance(key[1], str):
            return item(run, item(run, value.symbol, key[0]), key[1])
        if not (isinstance(key, Symbol) and isinstance(key.term, Rows)):
            raise run.ends("rows are taken by their labels", "choose them by a comparison")
        return item(run, value.symbol, key)
    if isinstance(value, Labelled):
        return frames.label_item(run, value, key)
    if isinstance(value, Symbol):
        return item(run, value, key)
    if isinstance(value, Transposed):
        raise run.ends("entries of a transposed array of rows")
    if not holds_symbols(key):
        found = value[key]
        return settle(run, found) if not isinstance(found, Running) or run.scope is None else found
    return _at_unknown_place(run, value, key)


def _at_unknown_place(run: Run, value: Any, key: Any) -> Any:
    if isinstance(key, Symbol) and isinstance(key.term, Rows):
        return _table_lookup(run, value, key)
    for each in symbols_in(key):
        if not isinstance(each, Symbol) or not isinstance(run.make_public(each).term, Public):
            raise run.ends("an entry is taken at a place that depends on the data")
        if any(unknown is run.number_of_rows for unknown, _ in each.term.powers):
            raise run.needs_rows("a place of an entry")
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        if all(not holds_symbols(each) for each in value) and isinstance(key, Symbol):
            return chosen_of(run, list(value))
        if isinstance(value, list | tuple) and holds_symbols(value):
            return item(run, stack(run, list(value)), key)
        return run.public(None)
    array = np.asarray(value)
    if array.dtype.kind in "biuf" and array.ndim == 1 and isinstance(key, Symbol) and key.term.shape == ():
        defined, finite = is_number(array)
        low, high, whole = float(array.min()), float(array.max()), array.dtype.kind in "biu"
        truth = array.dtype.kind == "b"
        return run.public((), low=low, high=high, whole=whole, defined=defined, finite=finite, truth=truth)
    return run.public(None)


def _table_lookup(run: Run, value: Any, key: Symbol) -> Any:
    """A public table at a whole number of each row."""
    term = key.term
    assert isinstance(term, Rows)
    node = term.node
    if isinstance(value, dict):
        if node.op != "column" or not run.domain.columns[node.extra].values:
            raise run.ends("a dict is read at a value of a row")
        names = run.domain.columns[node.extra].values
        if not all(each in value for each in names):
            raise run.ends("a key of a row that the dict may not have raises an error")
        if node.kind != "c":
            raise run.ends("a dict is read at a number of a row")
        table = np.asarray([value[each] for each in names])
    else:
        table = np.asarray(value)
    if (
        table.dtype.kind not in "biuf"
        or table.ndim != 1
        or (node.kind not in "bi" and not isinstance(value, dict))
        or node.shape
        or term.powers
    ):
        raise run.ends("a table is read at values of rows in this form")
    low, high = (float(each) for each in run.domain.bounds(node))
    if low < 0 or high >= len(table):
        raise run.ends("a table is read at a place of a row that it may not have")
    kind = "f" if table.dtype.kind == "f" else "i"
    entries = table.astype(float)
    made = run.domain.node(
        "lookup", [node], shape=(), kind=kind, extra=entries, key=("lookup", entries.tobytes(), kind)
    )
    return run.symbol(Rows(made, (), term.mask, term.scope), key.guise)


def put_item(run: Run, owner: Any, key: Any, value: Any) -> None:
    """`owner[key] = value`."""
    owner, key, value = settle(run, owner), settle(run, key), settle(run, value)
    _writes(run)
    check_operand(run, owner)
    spread(run, value)
    if isinstance(owner, list) and any(isinstance(each, RowPart) for each in owner):
        raise run.ends("an entry of a list that a loop over rows has filled is set", "use a comprehension")
    check_slot(run, owner, value)
    if isinstance(owner, Labelled):
        raise run.ends("an entry of a series over categories is set", "write to its to_numpy().copy()")
    if isinstance(owner, Symbol):
        if isinstance(owner.term, Table) and isinstance(key, str) and owner.guise == "frame":
            _set_column(run, owner, key, value)
            return
        set_item(run, owner, key, value)
        return
    if isinstance(owner, np.ndarray) and (holds_symbols(value) or holds_symbols(key)):
        if owner.base is not None:
            raise run.ends("data are written into a view of an array", "write into the array itself")
        if id(owner) in run.lent:
            raise run.ends("data are written into an array that somebody reads later", "write into a copy")
        symbol = _as_data(run, owner)
        run.promoted[id(owner)] = (owner, symbol)
        if owner.dtype == float:
            run.of_floats[id(symbol)] = symbol
        set_item(run, symbol, key, value)
        return
    if holds_symbols(key):
        if isinstance(owner, dict) and release_all(run, key):
            raise run.ends("a dict gets a key that is a released value", "use a list of pairs")
        raise run.ends("a container gets a key that depends on data")
    owner[key] = value


def check_slot(run: Run, owner: Any, value: Any) -> None:
    """Arrays of whole numbers cut off what is written into them: only whole numbers are, of 64 bits."""
    if isinstance(owner, np.ndarray):
        whole = owner.dtype != float
        if whole and owner.dtype != np.int64 and holds_symbols(value):
            raise run.ends(f"data are written into an array of {owner.dtype}", "make it with np.zeros(...)")
    elif isinstance(owner, Symbol) and isinstance(owner.term, Rows | Sum | Aggregate | Noise | Public):
        whole = id(owner) not in run.of_floats and _may_be_whole(owner.term)
    else:
        return
    if whole and holds_symbols((owner, value)) and not _is_whole_value(value):
        raise run.ends("an array of whole numbers cuts off what is written into it", "write into array.astype(float)")


def _may_be_whole(term: Any) -> bool:
    if isinstance(term, Noise):
        return term.law in WHOLE
    if isinstance(term, Public):
        return term.whole
    return term.node.kind in "bic" if isinstance(term, Rows) else is_whole(term)


def _is_whole_value(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_whole_value, value))
    if not isinstance(value, Symbol):
        return np.asarray(value).dtype.kind in "biu"
    term = value.term
    return isinstance(term, Rows | Sum | Aggregate | Noise | Public) and _may_be_whole(term)


def _as_data(run: Run, owner: Any) -> Symbol:
    """A plain array as a sum that no row moves; as a public value where not all of its entries are finite."""
    node = run.domain.constant(np.zeros(owner.shape, int))
    values = owner.astype(float)
    if not np.isfinite(values).all():  # nothing but released values can be written to it
        return run.symbol(Public(owner.shape), "array")
    symbol = run.symbol(Sum(node, (), (values, values)), "array")
    run.written[id(symbol)] = Written(symbol, symbol.term, owner.ravel().tolist())
    return symbol


def _set_column(run: Run, owner: Symbol, key: str, value: Any) -> None:
    term = owner.term
    assert isinstance(term, Table)
    given = term_of(value)
    if (
        isinstance(given, Rows)
        and given.scope is None
        and given.mask is term.mask
        and not given.powers
        and not given.node.shape
    ):
        owner.term = Table({**term.columns, key: given.node}, term.mask)
        return
    if isinstance(given, int | float):
        owner.term = Table({**term.columns, key: run.domain.constant(given)}, term.mask)
        return
    raise run.ends(f"column {key!r} is set to values that are no rows")


def _writes(run: Run) -> None:
    """Writing within a loop over rows ends the proof."""
    if run.scope is not None:
        raise run.ends("an object is written to in a loop over the rows", "collect sums with += only")


def augment(run: Run, op: str, old: Any, value: Any) -> Any:
    """`old op= value`: in place for arrays; collected in a loop over rows."""
    value = settle(run, value)
    scope = run.scope
    if isinstance(scope, Scope) and not scope.lasting:
        inside = isinstance(old, Symbol) and isinstance(old.term, Rows) and old.term.scope is scope
        if not inside:
            return _collect(run, scope, op, old, value)
    old = settle(run, old)
    if isinstance(old, list) and op == "add":
        if isinstance(value, Symbol):
            raise run.ends("a list is extended by data")
        spread(run, value)
        old += value
        return old
    if isinstance(old, np.ndarray | dict | set) and not isinstance(value, Symbol):
        return IN_PLACE[op](old, value)
    if isinstance(old, np.ndarray) and isinstance(value, Symbol):
        if not isinstance(
            run.make_public(value).term,
            Sum | Aggregate | Public,
        ):
            raise run.ends("rows are added into an array in place")
        if old.base is not None:
            raise run.ends("data are written into a view of an array")
        if id(old) in run.lent:
            raise run.ends("data are written into an array that somebody reads later", "write into a copy")
        check_slot(run, old, value)
        symbol = _as_data(run, old)
        run.promoted[id(old)] = (old, symbol)
        if old.dtype == float:
            run.of_floats[id(symbol)] = symbol
        symbol.term = binary(run, op, symbol, value).term
        return old
    if isinstance(old, Symbol) and old.guise in ("array", "series", "frame"):
        if len(old.shared) > 1:
            raise run.ends("an array that shares memory with another one is changed in place", "write a = a + b")
        found = binary(run, op, old, value)
        if isinstance(found, Symbol):
            before = old.term.node.shape if isinstance(old.term, Rows) else getattr(old.term, "shape", None)
            after = found.term.node.shape if isinstance(found.term, Rows) else getattr(found.term, "shape", None)
            if before != after:
                raise run.ends("an array is changed in place to another shape")
            old.term = found.term
            return old
        return found
    return binary(run, op, old, value)


IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.iadd,
    "subtract": operator.isub,
    "multiply": operator.imul,
    "divide": operator.itruediv,
    "floor_divide": operator.ifloordiv,
    "remainder": operator.imod,
    "power": operator.ipow,
    "matmul": operator.imatmul,
    "bitwise_and": operator.iand,
    "bitwise_or": operator.ior,
    "bitwise_xor": operator.ixor,
    "left_shift": operator.ilshift,
    "right_shift": operator.irshift,
}


def _collect(run: Run, scope: Scope, op: str, old: Any, value: Any) -> Running:
    if op not in ("add", "subtract"):
        raise run.ends(f"a number outside of a loop over rows is changed by {op} in it", "collect sums with +=")
    running = _running_of(run, scope, old)
    term = term_of(value)
    if isinstance(term, Rows):
        if term.scope is not scope:
            raise run.ends("the value of one row is used after the loop over the rows")
        rows = term
    elif isinstance(value, int | float | np.number | np.ndarray):
        rows = Rows(run.domain.constant(value))
    else:
        raise run.ends("a loop over rows adds values that are no function of the row")
    node = number_node(run, rows.node, "i")
    if op == "subtract":
        node = row_node(run, "negative", [node])
    scope.pending.append((running, Rows(node, rows.powers)))
    return running


def _running_of(run: Run, scope: Scope, old: Any) -> Running:
    """The sum that a loop over rows adds to.

    `+=` makes a new number, so a number that an earlier loop has made stays what it was for all others who hold it; an
    array is changed in place, so all names of it have one sum.
    """
    if isinstance(old, np.ndarray) and id(old) in run.promoted:
        old = run.promoted[id(old)][1]
    if isinstance(old, Running) and old.loop is scope.loop:
        return old
    if isinstance(old, Running):
        run.scope = None
        try:
            old = close_sum(run, old)
        finally:
            run.scope = scope
        if np.ndim(old) if not isinstance(old, Symbol) else old.guise != "number":
            raise run.ends("two loops over rows add to one array", "use an array for each of them")
    if isinstance(old, Symbol) and old.guise != "number":
        raise run.ends("a loop over rows adds to an array that depends on data", "start from np.zeros")
    if not isinstance(old, np.ndarray):
        return Running(run, scope.loop, start_of_sum(run, old))
    if old.base is not None or id(old) in run.lent:
        raise run.ends("a loop over rows adds to an array that other code or another array shares")
    running = Running(run, scope.loop, old.copy())
    run.promoted[id(old)] = (old, running)
    return running


def start_of_sum(run: Run, value: Any) -> Any:
    """What a running sum starts from: a plain number or a public one."""
    if value is FORGOTTEN or isinstance(value, str | list | dict | set):
        raise run.ends("a loop over rows changes an object outside of it")
    if isinstance(value, Symbol) and not isinstance(value.term, Sum | Aggregate | Public):
        raise run.ends("a loop over rows adds to a value that is no sum")
    return value


def augment_item(run: Run, op: str, owner: Any, key: Any, value: Callable[[], Any]) -> None:
    """`owner[key] op= value`: what is there is read before the value is computed."""
    owner, key = settle(run, owner), settle(run, key)
    scope = run.scope
    if isinstance(scope, Scope):
        if isinstance(owner, dict | list) and not holds_symbols(key):
            if isinstance(owner[key], RowPart):
                raise run.ends("an entry of a list that a loop over rows fills is changed", "use a comprehension")
            owner[key] = _collect(run, scope, op, owner[key], settle(run, value()))
            return
        if type(owner) in (dict, list) and isinstance(key, Symbol) and not scope.lasting:
            _collect_by_label(run, scope, op, owner, key, settle(run, value()))
            return
        raise run.ends("an entry at a place that depends on the row is changed", "loop over public labels instead")
    if isinstance(owner, Labelled):
        raise run.ends("an entry of a series over categories is set", "write to its to_numpy().copy()")
    if isinstance(owner, Symbol):
        new = binary(run, op, item(run, owner, key), value())
        check_slot(run, owner, new)
        set_item(run, owner, key, new)
        return
    put_item(run, owner, key, augment(run, op, get_item(run, owner, key), value()))


def _collect_by_label(run: Run, scope: Scope, op: str, owner: Any, key: Symbol, value: Any) -> None:
    """`owner[label of the row] += value`: each entry gets the values of the rows that have its label.

    sum over rows of e_label(x) g(x): a row adds to one entry only, whichever labels are there. Every label that a row
    may have must be a key (a place) of the owner, so that no row raises an error and no key comes with a row.
    """
    term = key.term
    if not isinstance(term, Rows) or term.scope is not scope or term.powers or term.node.shape:
        raise run.ends("an entry at a place that depends on the row is changed", "loop over public labels instead")
    node = term.node
    if node.kind == "c":
        labels: list[Any] = list(run.domain.columns[node.extra].values) if node.op == "column" else []
        places = list(range(len(labels)))
    else:
        low, high = (float(each) for each in run.domain.bounds(node))
        few = node.kind == "i" and math.isfinite(low) and math.isfinite(high) and high - low < MOST_LABELS
        labels = places = list(range(math.ceil(low), math.floor(high) + 1)) if few else []
    known = all(0 <= each < len(owner) if isinstance(owner, list) else each in owner for each in labels)
    if not labels or not known:
        raise run.ends("an entry is changed whose key a row may have and the container may not", "give it all labels")
    if node.kind == "c" and isinstance(owner, list):
        raise run.ends("a list is changed at a text")
    given = value if isinstance(value, Symbol) else run.symbol(Rows(run.domain.constant(value), (), term.mask, scope))
    if not isinstance(given.term, Rows) or given.term.scope is not scope or given.term.node.shape:
        raise run.ends("a loop over rows adds values that are no function of the row")
    number = run.domain.node("number", [node], shape=(), kind="i") if node.kind == "c" else node
    added = number_node(run, given.term.node, "i")
    for label, place in zip(labels, places, strict=True):
        own = run.domain.node("compare", [number, run.domain.constant(place)], shape=(), kind="b", extra="==")
        part = where_node(run, own, added, run.domain.constant(0))
        entry = run.symbol(Rows(part, given.term.powers, given.term.mask, scope))
        owner[label] = _collect(run, scope, op, owner[label], entry)


def augment_attribute(run: Run, op: str, owner: Any, name: str, value: Callable[[], Any]) -> None:
    """`owner.name op= value`: what is there is read before the value is computed."""
    set_attribute(run, owner, name, augment(run, op, attribute(run, owner, name), value()))


def set_attribute(run: Run, owner: Any, name: str, value: Any) -> None:
    """`owner.name = value`."""
    owner = settle(run, owner)
    _writes(run)
    if isinstance(owner, Symbol | Source):
        raise run.ends(f"attribute {name} of data is set")
    if run.running_release and type(owner).__module__ not in run.modules:
        raise run.ends(f"attribute {name} of an object that is not the program's own is set", kind=OutsideOfTheCall)
    setattr(owner, name, value)


def unpack(run: Run, value: Any, pattern: Any) -> Any:
    """Parts of a value that is assigned to several names."""
    count = pattern if isinstance(pattern, int) else len(pattern)
    value = settle(run, value)
    use_once(run, value)
    if isinstance(value, Symbol) and isinstance(value.term, Table) and value.term.scope is not None:
        raise run.ends("a record of a row is unpacked")
    parts = list(entries_of(run, value))
    if len(parts) != count:
        raise ValueError(f"not enough or too many values to unpack (expected {count}, got {len(parts)})")
    if isinstance(pattern, int):
        return parts
    found: list[Any] = []
    for part, inner in zip(parts, pattern, strict=True):
        found += [part] if inner is None else list(unpack(run, part, inner))
    return found


def format_part(value: Any, conversion: int, spec: str) -> str:
    """A value in an f-string; `conversion` is the character of !r, !s or !a."""
    shown_as: dict[int, Callable[[Any], Any]] = {114: repr, 115: str, 97: ascii}
    return format(shown_as.get(conversion, lambda given: given)(value), spec)


def text(run: Run, *parts: Any) -> Any:
    """An f-string."""
    shown: list[str] = []
    unknown = False
    for each in parts:
        if isinstance(each, str):
            shown.append(each)
            continue
        value, conversion, spec = each
        value = settle(run, value)
        if holds_symbols(value):
            if not release_all(run, value):
                raise run.ends("data are put into a text", exposed=False)
            unknown = True
            continue
        if isinstance(spec, Symbol):
            unknown = True
            continue
        check_text(run, value)
        if spec.endswith("n") and run.running_release:
            raise outside(run, f"the format {spec!r}")
        shown.append(format_part(value, conversion, spec))
    return run.public(None) if unknown else "".join(shown)


def unfollowed(run: Run) -> Any:
    """A name is assigned in a part of an expression that may not be evaluated."""
    raise run.ends("a name is assigned within an expression", "assign it in a statement of its own")


def keep(run: Run, value: Any) -> Any:
    """An iterator gets a name: not one over rows, which would be read when other names have changed."""
    if id(value) in run.one_by_one:
        raise run.ends("an iterator over rows is kept", "make it a list")
    return value


def plain(run: Run, value: Any) -> Any:
    """A value that the next statement takes apart by itself."""
    value = settle(run, value)
    lend(run, value)
    check_subject(run, value)
    if holds_symbols(value):
        raise run.ends("data or released values are taken apart by a statement that is not followed")
    return value


# ----------------------------------------------------------------------------------------------------------------------
# Calls

ROW_METHODS = (
    "apply",
    "map",
    "between",
    "eq",
    "ne",
    "gt",
    "ge",
    "lt",
    "le",
    "count",
    "fillna",
    "get",
    "keys",
    "values",
    "items",
    "mul",
    "add",
    "sub",
    "div",
    "value_counts",
    "groupby",
    "query",
    "assign",
    "sort",
    "append",
    "fill",
    "dropna",
    "sample",
    "head",
    "tail",
    "iterrows",
    "itertuples",
)


MOST_BRANCHES = 100_000  # of one run
SHAPES_ONLY = tuple(  # functions that say nothing of the entries of their first argument
    "len isinstance type hasattr callable shape ndim size zeros_like ones_like isrealobj iscomplexobj".split()
)


def call(run: Run, function: Any, *args: Any, **kwargs: Any) -> Any:
    """`function(*args, **kwargs)`; whatever its rule says, what it makes of data is data."""
    events = len(run.events)
    if run.plain is None:
        use_once(run, *args)
    lazy = run.plain is None and any(function is each for each in LAZY)
    for each in args if lazy else ():
        if _is_array(each):  # its entries are read when the iterator is
            each.shared.append(None)
    result = _call(run, function, *args, **kwargs)
    if lazy and function is not itertools.chain:
        return read_once(run, result, calls=function is builtins.map or function is builtins.filter)
    if run.plain is not None or is_project(run, function):
        return result
    name = function.name if isinstance(function, Method | Draw) else getattr(function, "__name__", "")
    owner = [function.symbol] if isinstance(function, Method) else []
    own_memory = isinstance(function, np.ufunc | Draw) or (name in MAKE_ARRAYS and kwargs.get("copy", True) is True)
    first, *others = [*owner, *args] or [None]
    if not isinstance(result, Symbol) or not _is_array(result):
        pass
    elif any(result is each for each in (*others, *kwargs.values())):  # out=: two names of one array
        result.shared.append(None)
    elif result is first:
        result = Symbol(run, result.term, result.guise, None if own_memory else result.shared)  # another object
    if not own_memory:
        share_memory([*owner, *args, *kwargs.values()], result)
    given = [*args[name in SHAPES_ONLY :], *kwargs.values()]
    stays_data(run, f"{name}()", given if name in SHAPES_ONLY else [*given, *owner], result, events)
    return result


ITERATORS = (builtins.map, builtins.filter, builtins.zip, builtins.enumerate, builtins.iter, builtins.reversed)
LAZY = (*ITERATORS, itertools.chain)  # what they give is read later


def read_once(run: Run, value: Any, *, calls: bool) -> Any:
    """Rows that come one by one: who stops early leaves the rest to the next reader, so there is one reader."""
    if not isinstance(value, Symbol):
        return value
    found = Symbol(run, value.term, value.guise)
    run.one_by_one[id(found)] = OneByOne(found, calls)
    return found


def use_once(run: Run, *values: Any) -> None:
    """Notes that what comes one by one is read."""
    for each in values:
        found = run.one_by_one.get(id(each))
        if found is not None and found.read:
            raise run.ends("an iterator over rows is read twice", "make it a list")
        if found is not None:
            found.read = True


MAKE_ARRAYS = frozenset(  # functions whose result never is a view of what they are given
    """abs absolute all any append apply_along_axis argsort array astype bincount bool clip concatenate convolve copy
    corrcoef cov cumprod cumsum deepcopy diff digitize divide dot einsum exp fillna float full_like histogram
    histogram2d hstack int isin isna list log map matmul maximum minimum multiply nan_to_num ones_like outer pad
    power repeat rint roll round sort sorted sqrt square stack sum take tile tolist tuple unique vstack where
    column_stack zeros_like flatten mean
    median std var prod norm add subtract cut crosstab value_counts size count""".split()
)


def share_memory(given: Any, result: Any) -> None:
    """A result that may be a view of an array: neither may be changed in place from now on."""
    made = [each for each in symbols_in(result) if _is_array(each)]
    owners = [each for each in symbols_in(given) if _is_array(each)] if made else []
    for each in made:
        for owner in owners:
            if each is not owner and each.shared is not owner.shared and _is_of_rows(each) == _is_of_rows(owner):
                owner.shared.append(None)
                each.shared.append(None)


def _is_array(value: Any) -> bool:
    if not isinstance(value, Symbol):
        return False
    unknown = isinstance(value.term, Public) and value.term.shape is None
    return unknown or value.guise in ("array", "series", "frame")


def _is_of_rows(value: Symbol) -> bool:
    return isinstance(value.term, Rows | Table)


def _call(run: Run, function: Any, *args: Any, **kwargs: Any) -> Any:
    function = settle(run, function)
    args = tuple(settle(run, each) for each in args)
    kwargs = {name: settle(run, each) for name, each in kwargs.items()}
    if any(id(each) in run.kept_iterators for each in (*args, getattr(function, "__self__", None))):
        raise run.ends("an iterator of the module is used up", "keep state out of the release", kind=OutsideOfTheCall)
    if run.plain is not None:
        if is_project(run, function):
            return function(*args, **kwargs)
        check_call(run, function, args, kwargs)
        return call_plainly(run, function, args, kwargs)
    if (function is builtins.sum or function is math.fsum) and args and isinstance(args[0], types.GeneratorType):
        args = (list(args[0]), *args[1:])  # a sum reads all of it
    _check_operands(run, args, kwargs, function.symbol if isinstance(function, Method) else function)
    if isinstance(function, type) and function.__name__ == "suppress":
        raise run.ends("exceptions are suppressed: which values raise them is not followed")
    if isinstance(function, Method):
        return call_method(run, function, args, kwargs)
    if isinstance(function, Draw):
        refuse_own_operators(run, *args, *kwargs.values())
        return function(*args, **kwargs)
    if isinstance(function, Symbol):
        raise run.ends("data are called as a function")
    made = make_source(run, function, args, kwargs) if callable(function) and _hashable(function) else None
    if made is not None:
        return made
    if _hashable(function) and function in SEEDS:
        raise run.ends("the stream of random numbers is set", "draw without a seed", kind=OutsideOfTheCall)
    source = source_of(run, function)
    if source is not None:
        refuse_own_operators(run, *args, *kwargs.values())
        if source[1] in ("seed", "set_state", "setstate", "getstate", "get_state"):
            raise run.ends("the stream of random numbers is set", "draw without a seed", kind=OutsideOfTheCall)
        return getattr(source[0], source[1])(*args, **kwargs)
    drawn = scipy_draw(run, function, args, dict(kwargs))
    if drawn is not NotImplemented:
        refuse_own_operators(run, *args, *kwargs.values())
        return drawn
    module = getattr(function, "__module__", None) or ""
    symbolic = holds_symbols((args, kwargs)) or any(isinstance(each, Transposed) for each in args)
    if isinstance(function, functools.partial):
        if holds_symbols((function.args, function.keywords)) or is_project(run, function.func) or symbolic:
            return call(run, function.func, *function.args, *args, **{**function.keywords, **kwargs})
    if is_project(run, function):
        if any(id(each) in run.one_by_one for each in (*args, *kwargs.values())):
            raise run.ends("an iterator over rows is handed to a function of the program", "make it a list")
        return function(*args, **kwargs)
    check_call(run, function, args, kwargs)
    if (function is builtins.print or module.partition(".")[0] == "logging") and reaches_data(run, (args, kwargs)):
        if function is builtins.print:
            return printed(run, *args, **kwargs)
        raise run.ends("data or released values are logged", "return them")
    for each in (*args, *kwargs.values(), getattr(function, "__self__", None)):
        for part in each if isinstance(each, list | tuple) else (each,):
            lend(run, part)
    if getattr(function, "__module__", None) == "dpverify.proof.proving":
        raise run.ends("the module proves something where it is imported", "put it behind if __name__ == '__main__'")
    if run.promoted:  # code that is not rewritten must not see what such an array held before
        args = tuple(_resolve_deeply(run, each, 0) for each in args)
        kwargs = {name: _resolve_deeply(run, each, 0) for name, each in kwargs.items()}
        symbolic = holds_symbols((args, kwargs)) or any(isinstance(each, Transposed) for each in args)
    if function in (builtins.isinstance, builtins.type, builtins.hasattr) and args and isinstance(args[0], Source):
        if function is builtins.hasattr:
            return hasattr(args[0].kind, args[1])
        return args[0].kind if function is builtins.type else is_instance(run, args[0], args[1])
    if any(is_filled_by_rows(each) for each in args):
        args = tuple(rows_of_list(run, each) if is_filled_by_rows(each) else each for each in args)
        symbolic = True
    if function in (builtins.map, builtins.filter) and len(args) == 2:
        return _map(run, function, *args)
    if function in (builtins.enumerate, builtins.zip, itertools.chain) and symbolic:
        return _iterate(run, function, args, kwargs)
    owner = getattr(function, "__self__", None)
    if isinstance(run.scope, Scope) and not run.scope.lasting:
        kept = owner is not None and not isinstance(
            owner, types.ModuleType | str | int | float | tuple | type | list | dict | set
        )
        if function is builtins.next or kept:
            raise run.ends("an object outside of a loop over rows is used in it", "collect sums with +=")
    if isinstance(owner, list | dict | set) and not isinstance(owner, types.ModuleType):
        return _call_of_container(run, owner, function, args, kwargs)
    if function is dataclasses.asdict and not kwargs and len(args) == 1 and is_project(run, type(args[0])):
        return fields_of(run, args[0])
    if not symbolic:
        in_loop = isinstance(run.scope, Scope) and not run.scope.lasting
        if in_loop and not is_known(function, owner):
            name = getattr(function, "__name__", type(function).__name__)
            raise run.ends(f"{name}() is called in a loop over rows", "call it outside of the loop")
        if function in (builtins.open, builtins.input, builtins.eval, builtins.exec, builtins.globals, builtins.vars):
            raise run.ends(f"{function.__name__}() is called")
        if isinstance(owner, np.ndarray) and run.promoted and isinstance(resolve_array(run, owner), Symbol):
            raise run.ends("a method of an array into which data were written since")
        if any(isinstance(each, Source) for each in (*args, *kwargs.values())):
            raise run.ends("a generator of random numbers is handed to code that the proof does not read")
        return function(*args, **kwargs)
    if any(is_by_row(term_of(each)) for each in symbols_in((*args, *kwargs.values()))):
        found = _of_draws_by_row(run, function, args, kwargs)
        if found is not NotImplemented:
            return found
    if any(isinstance(each, Labelled) for each in (*args, *kwargs.values())):
        found = frames.call_with_labels(run, function, args, kwargs) if _hashable(function) else NotImplemented
        if found is not NotImplemented:
            return found
    elif _hashable(function) and function in RULES:
        args, named = _given_by_place(function, args)
        if holds_symbols([each for key, each in {**named, **kwargs}.items() if key in BY_NAME and key not in ARRAYS]):
            raise run.ends("an option of a function depends on data", "use a public one")
        return RULES[function](run, *args, **named, **kwargs)
    of_pandas = frames.function_of_pandas(function)
    if of_pandas is not None and any(isinstance(term_of(each), Rows) for each in (*args, *kwargs.values())):
        return of_pandas(run, *args, **kwargs)
    name = getattr(function, "__name__", type(function).__name__)
    if name in ("softmax",) and module.startswith("scipy"):
        return softmax(run, *args, **kwargs)
    if isinstance(function, type) and issubclass(function, tuple) and hasattr(function, "_fields"):
        return function(*args, **kwargs)
    if function in (builtins.dict,):
        return dict(*args, **kwargs)
    if isinstance(function, type) and issubclass(function, BaseException):
        return function(*(run.make_public(each) and "..." if isinstance(each, Symbol) else each for each in args))
    if all(release_all(run, each) for each in (*args, *kwargs.values())):
        return _of_public_values(run, function, name, args, kwargs)
    raise run.ends(f"{name}() of data has no rule")


ENTRY_BY_ENTRY = frozenset("abs round around rint clip where array asarray len shape size ndim isinstance type".split())


def _of_draws_by_row(run: Run, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of values with one draw for each row: entry by entry its own rule, else of released values."""
    name = getattr(function, "__name__", "")
    if isinstance(function, np.ufunc) or name in ENTRY_BY_ENTRY or isinstance(function, type):
        return NotImplemented
    if name in ("sum", "mean") and len(args) == 1 and not kwargs:
        return NotImplemented
    if not all(release_all(run, each) for each in (*args, *kwargs.values())):
        raise run.ends(f"{name}() of draws for each row together with data")
    return _of_public_values(run, function, name, args, kwargs)


def fields_of(run: Run, value: Any) -> Any:
    """`dataclasses.asdict`: the fields of an object by name, copied; those of objects within it as well."""
    value = settle(run, value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: fields_of(run, getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, Labelled):
        raise run.ends("a series over categories within an object is copied")
    if isinstance(value, Symbol):
        return RULES[copy.deepcopy](run, value)
    if type(value) in (list, tuple):
        return type(value)(fields_of(run, each) for each in value)
    if type(value) is dict:
        return {fields_of(run, key): fields_of(run, each) for key, each in value.items()}
    if value is None or type(value) in (bool, int, float, complex, str, bytes):
        return value
    raise run.ends(f"an object with a field of type {type(value).__name__} is made a dict")


BY_NAME = ("out", "axis", "dtype", "where", "keepdims", "order", "overwrite_input", "sorter", "initial")


ARRAYS = ("out", "where", "initial")  # options that are arrays


def _given_by_place(function: Any, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Options that stand without their name, by the names that the function itself has for them."""
    if isinstance(function, np.ufunc):
        return args[: function.nin], dict(zip(["out"], args[function.nin :], strict=False))
    names = _names_of(function)
    first = next((at for at, name in enumerate(names) if at and name in BY_NAME), len(names))
    return args[:first] if names else args, dict(zip(names[first:], args[first:], strict=False))


@functools.lru_cache(maxsize=512)
def _names_of(function: Any) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return ()
    return tuple(each.name for each in parameters if each.kind is not each.KEYWORD_ONLY)


WRITERS = frozenset(  # functions that change what they are given
    """copyto put place putmask fill_diagonal shuffle fill itemset partition sort resize setfield setflags byteswap
    put_along_axis at append extend insert update pop""".split()
)
READERS = frozenset(  # methods of an array that leave it as it is
    "choose clip compress dot item repeat reshape round searchsorted take".split()
)


def _of_public_values(run: Run, function: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of released values only is released, whatever it computes."""
    if any(_is_project_callable(run, each) for each in (*args, *kwargs.values())):
        raise run.ends(f"{name}() calls back into the program")
    if any(isinstance(each, Symbol) and any(u is run.number_of_rows for u, _ in each.term.powers) for each in args):
        raise run.needs_rows(f"used in {name}()")
    if function in (np.append, np.insert, np.delete):
        raise run.ends(f"{name}() has no rule", "use np.concatenate, or index what stays")
    reads = not isinstance(getattr(function, "__self__", None), np.ndarray) or name in READERS
    if (
        name in WRITERS
        or name.startswith("__")
        or not reads
        or (isinstance(function, np.ufunc) and len(args) > function.nin)
    ):
        raise run.ends(f"{name}() may write into an array", "write its result into a new one")
    options = [each for each in kwargs if each == "out" or each.startswith(("overwrite", "inplace"))]
    if options or "out" in _names_of(function)[: len(args)]:
        raise run.ends(f"{name}() with {options[0] if options else 'out'}=")
    module = getattr(function, "__module__", None) or type(getattr(function, "__self__", None)).__module__ or ""
    if module.split(".")[0] not in (
        "numpy",
        "scipy",
        "builtins",
        "math",
        "statistics",
        "pandas",
        "cvxpy",
        "sklearn",
        "operator",
        "itertools",
        "json",
        "decimal",
        "fractions",
    ):
        raise run.ends(f"{name}() of {module or 'an unknown module'} has no rule")
    return run.public(None)


def _is_project_callable(run: Run, value: Any) -> bool:
    return callable(value) and not isinstance(value, type | Symbol) and is_project(run, value)


def _hashable(function: Any) -> bool:
    try:
        hash(function)
    except TypeError:
        return False
    return True


def is_project(run: Run, function: Any) -> bool:
    """Whether a function or class is one of the rewritten modules."""
    target = (getattr(function, "__wrapped__", None) and function) or function
    if isinstance(target, types.MethodType):
        target = target.__func__
    if isinstance(target, types.FunctionType):
        return target.__code__.co_filename in run.files
    if isinstance(target, type):
        return target.__module__ in run.modules
    return type(target).__module__ in run.modules


def _map(run: Run, function: Any, given: Any, values: Any) -> Any:
    if function is builtins.map:
        return comprehension(run, "generator", values, None, lambda each: call(run, given, each), False)
    test = (lambda each: each) if given is None else (lambda each: call(run, given, each))
    return comprehension(run, "generator", values, test, lambda each: each, False)


def _iterate(run: Run, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    for each in args:
        term = term_of(each)
        if isinstance(term, Rows | Table) and term.scope is None:
            if function is builtins.zip and all(isinstance(term_of(part), Rows) for part in args):
                return _zipped_rows(run, args)
            raise run.ends(f"{function.__name__}() over rows", "use a comprehension over the rows")
    parts: list[Any] = []
    for each in args:
        parts.append(list(entries_of(run, each)) if isinstance(each, Symbol) else each)
    return function(*parts, **kwargs)


def _zipped_rows(run: Run, args: tuple[Any, ...]) -> Any:
    _, mask, _ = same_rows(run, [each.term for each in args])
    if any(each.term.powers for each in args):
        raise run.needs_rows("a factor of rows in zip()")
    return run.symbol(Table({at: each.term.node for at, each in enumerate(args)}, mask), "records")


def _call_of_container(run: Run, owner: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A method of a list, dict or set of the program."""
    name = function.__name__
    scope = run.scope
    if name != "append" and isinstance(owner, list) and any(isinstance(each, RowPart) for each in owner):
        raise run.ends(f"{name}() of a list that a loop over rows has filled", "use a comprehension")
    if isinstance(scope, Scope) and name not in ("get", "keys", "values", "items", "index", "count", "copy"):
        if isinstance(owner, list) and name == "append":
            if any(not isinstance(each, RowPart) for each in owner):
                raise run.ends("a loop over rows appends to a list that has entries", "begin with an empty list")
            term = term_of(args[0])
            if not isinstance(term, Rows):
                if not isinstance(args[0], int | float):
                    raise run.ends("a loop over rows appends objects that are no numbers")
                term = Rows(run.domain.constant(args[0]), (), None, scope)
            part = RowPart(run, term.node, term.powers, None)
            scope.pending.append((part, None))
            if not scope.checking:
                owner.append(part)
            return None
        raise run.ends(f"an object outside of a loop over rows is changed by {name}() in it")
    if holds_symbols(args) and name in ("index", "count", "remove", "get", "pop", "setdefault", "add", "discard"):
        key = args[0]
        if isinstance(key, Symbol):
            if isinstance(key.term, Rows) and isinstance(owner, dict) and name == "get":
                raise run.ends("a dict is read at a value of a row")
            if isinstance(run.make_public(key).term, Public) and name == "get":
                if holds_symbols((owner, *args[1:])):
                    raise run.ends("a dict of data, or with a default of data, is read at a released key")
                return run.public(None)
            raise run.ends(f"{name}() of a container with data", "use np.argmax(values)" if name == "index" else "")
    if name in ("index", "count", "remove", "sort") and holds_symbols(owner):
        raise run.ends(f"{name}() of a list that holds data or released values")
    return function(*args, **kwargs)


def call_method(run: Run, method: Method, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A method of a symbol."""
    symbol, name = method.symbol, method.name
    if any(is_by_row(term_of(each)) for each in symbols_in((symbol, *args, *kwargs.values()))):
        whole = name in ("sum", "mean") and not args and not kwargs
        if not (whole or name in ("round", "clip", "copy", "astype")):
            if not all(release_all(run, each) for each in (symbol, *args, *kwargs.values())):
                raise run.ends(f"{name}() of draws for each row together with data")
            return run.public(None)
    if isinstance(symbol, Labelled):
        found = frames.label_method(run, symbol, name, args, kwargs)
        if found is not NotImplemented:
            return found
        if "inplace" in kwargs or not isinstance(run.make_public(symbol).term, Public):
            raise run.ends(f"{name}() of a series over categories has no rule")
    elif any(isinstance(each, Labelled) for each in (*args, *kwargs.values())):
        raise run.ends(f"a series over categories is handed to {name}()")
    elif name in frames.METHODS and isinstance(symbol.term, Rows | Table):
        return frames.METHODS[name](run, symbol, *args, **kwargs)
    elif name in METHODS:
        return METHODS[name](run, symbol, *args, **kwargs)
    if isinstance(symbol.term, Public) and all(release_all(run, each) for each in (*args, *kwargs.values())):
        if name in WRITERS:
            if len(symbol.shared) > 1:
                raise run.ends(f"{name}() of an array that shares memory with another one", "copy it first")
            symbol.term = Public(symbol.term.shape)
            return None
        return run.public(None)
    raise run.ends(f"{name}() of data has no rule")


def read_out(run: Run, output: Any) -> Any:
    """The list of what a generator gives, where it is the output; any other output as it is."""
    if type(output) is not types.GeneratorType:
        return output
    run.gives = True
    entries = []
    for each in output:
        if run.plain is None and _may_change(each) and each is not run.made_anew:
            raise run.ends("a generator that is released gives a list or array that it keeps", "yield value + 0.0")
        entries.append(each)
    return entries


def release_output(run: Run, value: Any, depth: int = 0) -> None:
    """Walks what leaves the program: noisy values are released, data end the proof."""
    value = settle(run, value)
    if depth > 12:
        raise run.ends("an output that is nested too deeply")
    if isinstance(value, Symbol):
        run.make_public(value)
        if not isinstance(value.term, Public):
            raise _data_leave(run, value.term)
        return
    kind = type(value)
    if value is None or kind in (bool, int, float, complex, str, bytes, range):
        return
    if kind in NUMBERS_OF_NUMPY or kind is np.ndarray or isinstance(value, np.dtype):
        for each in _objects_of_numpy(run, value):
            release_output(run, each, depth + 1)
        return
    of_names = isinstance(value, tuple) and hasattr(kind, "_fields")
    if kind not in CONTAINERS and not (of_names or (is_project(run, kind) and not isinstance(value, BUILT_IN))):
        raise run.ends(f"an output of type {kind.__name__} is not followed", "return plain values")
    if kind not in CONTAINERS:
        if is_project(run, kind):
            check_class(run, kind)
        if reaches_data(run, kind):
            raise run.ends(f"an output of type {kind.__name__}, whose class holds data", "return plain values")
    if kind is defaultdict and reaches_data(run, value.default_factory):
        raise run.ends("what an output gives for missing keys holds data", "return dict() of it")
    entries: Any = value.items() if isinstance(value, dict) else value if isinstance(value, BUILT_IN) else ()
    for each in entries:
        release_output(run, each, depth + 1)
    for _, each in attributes_of(value):  # whatever its class says of them
        if not isinstance(each, Source):
            release_output(run, each, depth + 1)


def _objects_of_numpy(run: Run, value: Any) -> list[Any]:
    """Objects in an array, and beside the numbers of a type."""
    kind = value if isinstance(value, np.dtype) else value.dtype
    if kind.fields is not None or kind.subdtype is not None:
        if kind.hasobject or any(part[0].metadata for part in (kind.fields or {}).values()):
            raise run.ends("an output of records of objects is not followed")
    return [*([kind.metadata.copy()] if kind.metadata else []), *(value.flat if kind.kind == "O" else [])]


NUMBERS_OF_NUMPY = frozenset(each for each in (*np.sctypeDict.values(), np.str_, np.bytes_))
CONTAINERS = (list, tuple, dict, set, frozenset, OrderedDict, Counter, defaultdict)
BUILT_IN = (
    *(bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset),
    *(np.generic, np.ndarray),
)


def _data_leave(run: Run, term: Any) -> ProofEnds:
    if isinstance(term, Sum | Aggregate):
        found = aggregate_of(run, term)
        if found.move.size == 0 or float(np.max(found.move)) == 0:
            return run.ends("a value that does not depend on the rows is released in a form that is not followed")
    lost = [run.drawn_at[each] for each, state in enumerate(run.state) if state != JOINED and each in run.drawn_at]
    if run.running_release and lost:
        return run.ends(
            f"the noise drawn at line {lost[0]} does not reach what is returned in a form that the proof follows",
            "add it as it is drawn, noisy = value + noise, and compute from `noisy`",
        )
    return run.ends(
        "a value that depends on the rows leaves the program without noise", "add noise to it", exposed=True
    )


# ----------------------------------------------------------------------------------------------------------------------
# Modules


class Hooks:
    """What a rewritten module finds under the name `_proof`."""

    def __init__(self, run: Run) -> None:
        self.slice = slice
        own = functools.partial(is_project, run)
        run.record = Record(run) if run.plain is None else None
        for name, function in (
            ("binary", binary),
            ("unary", unary),
            ("compare", compare),
            ("chain", chain),
            ("both", both),
            ("either", either),
            ("choose", choose),
            ("call", call),
            ("attribute", attribute),
            ("item", get_item),
            ("text", text),
            ("comprehension", comprehension),
            ("unpack", unpack),
            ("truth", truth),
            ("plain", plain),
            ("keep", keep),
            ("unfollowed", unfollowed),
            ("loop", Loop),
            ("set_item", put_item),
            ("set_attribute", set_attribute),
            ("augment", augment),
            ("augment_item", augment_item),
            ("draw", draw_from),
            ("contexts", Contexts),
            ("reserved_name", reserved_name),
            ("own_name", own_name),
            ("spread", spread),
            ("unknown_name", unknown_name),
            ("logger_of", logger_of),
            ("enter_try", enter_try),
            ("leave_try", leave_try),
            ("release_output", release_output),
            ("stack", stack),
            ("release_order", release_order),
            ("release_pick", release_pick),
            ("release_leader", release_leader),
            ("contest", Contest),
            ("outer_names", outer_names),
            ("yields", yields),
            ("starred", starred),
            ("yields_from", yields_from),
            ("yields_and_receives", yields_and_receives),
            ("returns_of_generator", returns_of_generator),
            ("augment_attribute", augment_attribute),
        ):
            of_run = functools.partial(function, run)
            setattr(self, name, of_run if run.record is None else run.record.watched(name, of_run, own))


def load(run: Run, file: Path, name: str) -> types.ModuleType:
    """A fresh copy of a module with its operations handed to the proof; `sys.modules` stays as it is."""
    run.hooks = run.hooks or Hooks(run)
    known: types.ModuleType | None = run.loaded.get(str(file))
    if known is not None:
        return known
    module = types.ModuleType(name)
    module.__file__ = str(file)
    module.__package__ = name.rpartition(".")[0]
    run.loaded[str(file)] = module
    run.files.add(str(file))
    run.modules.add(name)
    code = compile_file(str(file), file.stat().st_mtime_ns)
    space = module.__dict__
    space[PROOF] = run.hooks
    space["__builtins__"] = {**vars(builtins), "__import__": functools.partial(_import, run, file.parent)}
    exec(code, space)
    return module


@functools.lru_cache(maxsize=256)
def compile_file(file: str, changed: int) -> types.CodeType:
    """The rewritten code of a file."""
    del changed
    return compile(rewrite(Path(file).read_text(encoding="utf-8"), file), file, "exec")


def _import(
    run: Run, folder: Path, name: str, space: Any = None, local: Any = None, names: Any = (), level: int = 0
) -> Any:
    """Modules of the user's project are copied and rewritten, too; all others are those of the process."""
    parts = name.split(".") if name else []
    base = folder
    for _ in range(max(0, level - 1)):
        base = base.parent
    file = _project_file(run, base if level else folder, parts)
    if file is None and not level:
        file = _project_file(run, run.root, parts) if run.root is not None else None
    if file is not None and (level or parts[0] not in sys.stdlib_module_names):
        module = load(run, file, name or file.stem)
        return module
    if level:
        raise run.ends(f"a relative import of {name!r} is not found")
    if run.running_release and run.tries:
        raise outside(run, "an import within try or with")
    found = builtins.__import__(name, space, local, names, 0)
    check_import(run, found, names)
    return found


def _project_file(run: Run, folder: Path, parts: list[str]) -> Path | None:
    if not parts or not folder or parts[0] == __name__.partition(".")[0]:
        return None  # this library is no part of a program, whether or not a checkout of it lies beside
    path = folder.joinpath(*parts)
    for each in (path.with_suffix(".py"), path / "__init__.py"):
        if each.is_file() and (importlib.util.find_spec(parts[0]) is None or is_below(each, run.root)):
            return None if Path(__file__).parents[1] in each.parents else each
    return None


def is_below(file: Path, root: Path | None) -> bool:
    """Whether a file belongs to the user's project; this library does not, wherever it is installed."""
    library = Path(__file__).parents[1] in file.parents or "site-packages" in file.parts
    return root is not None and root in file.parents and not library


def source_file(function: Any) -> Path | None:
    """The file that a function was written in."""
    try:
        name = inspect.getsourcefile(function)
    except TypeError:
        return None
    return Path(name).resolve() if name and Path(name).is_file() else None
