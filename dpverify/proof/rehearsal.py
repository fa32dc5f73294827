"""A proof is rehearsed: the program runs on example data, and every value must be what the proof says of it.

Rules say in our words what functions of Python, NumPy and pandas do. Where the words are wrong (a shape, an axis, a
copy that is a view), so is the proof. So each run of a proof is compared with runs of the same program on datasets of
the schema, operation by operation: shapes, types, values of the rows and their sums, ranges of released values, public
values, and the output. The first difference ends the proof. Two datasets that are neighbours are compared with each
other as well: no value may move by more than the proof allows.

A rehearsal proves nothing: it looks at a few datasets. It only takes proofs away.
"""

import contextlib
import io
import math
import operator
import random
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base.seeding import Stage, stream
from dpverify.proof.arithmetic import NATIVE
from dpverify.proof.ending import ProofEnds
from dpverify.proof.intervals import total
from dpverify.proof.moves import aggregate_of
from dpverify.proof.operations import Anything, Entry, PlainArray, Seen
from dpverify.proof.programs import compile_file, format_part, is_project, PYTHON_COMPARE
from dpverify.proof.rows import Cells, collect_nodes, Domain, Node
from dpverify.proof.run import Run
from dpverify.proof.terms import Aggregate, Noise, Noisy, Public, Rows, shape_of, Sum, Table, Weights
from dpverify.wild import datasets, pairs
from dpverify.wild.schema import Schema
from dpverify.wild.worker import codec, serving

Array = npt.NDArray[np.float64]
Records = tuple[tuple[Any, ...], ...]
CLOSE = 1e-6  # of a value: what floating point may differ by from real arithmetic
IN_PLACE = {name: getattr(operator, f"i{function.__name__.strip('_')}", None) for name, function in NATIVE.items()}
GENERATORS = (np.random.default_rng, np.random.RandomState, random.Random)


# ----------------------------------------------------------------------------------------------------------------------
# The program on example data


class Differs(BaseException):
    """A value of the program is not what the proof says of it."""

    def __init__(self, what: str, line: int = 0) -> None:
        super().__init__(what)
        self.what, self.line = what, line


@dataclass
class Rehearsal:
    """One run on example data, compared with a run on symbols."""

    entries: Sequence[Entry]
    examples: "Examples"
    run: Run  # of the example
    rng: np.random.Generator
    at: int = 0
    inside: int = 0  # loops over rows, calls that call the program for every row
    calls: list["NativeCall"] = field(default_factory=list)  # that have not returned
    forced: bool = False  # a branch on noise went the way of the proof, not its own
    raised: str = ""  # an exception after that, which the noise of a real branch may not raise
    values: list[tuple[Entry, Any]] = field(default_factory=list)  # of what neighbours are compared by

    def expected(self, hook: str, line: int) -> Entry | None:
        """The operation of the proof that this one is; None where nothing is compared."""
        entry = self._next()
        if self.inside or not self.run.running_release:
            return None
        if entry is None or entry.hook != hook or entry.line != line:
            raise Differs("other operations than in the proof", line)
        self.at += 1
        return entry

    def _next(self) -> Entry | None:
        """The next operation of the proof, after the marks of calls that have called the program back."""
        for call in self.calls:
            if not (call.seen or self.inside) and self.at < len(self.entries):
                mark = self.entries[self.at]
                if mark.hook != "callback":
                    break
                self.at += 1
                call.seen, call.over_rows = True, mark.value.over_rows
                self.inside += call.over_rows
        return self.entries[self.at] if self.at < len(self.entries) else None

    def _follows(self, hook: str) -> Entry | None:
        """The next operation of the proof, where it is this mark."""
        following = self._next()
        return following if not self.inside and following is not None and following.hook == hook else None

    def returns(self, call: "NativeCall") -> None:
        """A call of a function that is not the program's is over."""
        self.calls.remove(call)
        self.inside -= call.over_rows
        following = self.entries[self.at] if self.at < len(self.entries) else None
        if not (call.seen or self.inside) and following is not None and following.hook == "callback":
            self.at += following.value.over_rows  # there was no row to call the program for

    def passes(self, hook: str) -> bool:
        """Whether the next operation of the proof is this mark, which is passed by."""
        following = self._follows(hook)
        self.at += following is not None
        return following is not None

    def decided(self, line: int, outcome: bool) -> bool:
        """The outcome of a condition: that of the proof, where the proof has chosen one, which noise may have."""
        following = self._follows("decided")
        if following is None or following.line != line:
            return outcome
        self.at += 1
        self.forced = self.forced or following.value != outcome
        return bool(following.value)

    @property
    def is_of_noise(self) -> bool:
        """Whether the next operation of the proof has no data among its operands: what it raises is by the noise."""
        following = self._next()
        if self.inside or following is None or not following.hook.endswith(" of"):
            return False
        return not _holds_data(following.value)

    def compare(self, hook: str, line: int, value: Any) -> None:
        """Ends the rehearsal where the value of an operation is another one than in the proof."""
        entry = self.expected(hook, line)
        if entry is None:
            return
        why = self.examples.difference(entry.value, value)
        if why and self.forced and _is_nan_of_noise(entry.value, value):
            return
        if why:
            raise Differs(why, line)
        if entry.fresh and isinstance(entry.value, Seen) and isinstance(entry.value.term, Sum | Aggregate):
            self.values.append((entry, np.asarray(value, float)))


def _is_nan_of_noise(said: Any, value: Any) -> bool:
    """Whether a released value is NaN, such as the root of a negative one after a branch that only others take."""
    number = isinstance(said, Seen) and isinstance(said.term, Public) and isinstance(value, float | np.floating)
    return number and math.isnan(value)


def _holds_data(said: Any) -> bool:
    if isinstance(said, list | tuple):
        return any(map(_holds_data, said))
    if isinstance(said, dict):
        return any(map(_holds_data, said.values()))
    return isinstance(said, Seen) and not isinstance(said.term, Public | Noise)


@dataclass(eq=False)
class NativeCall:
    """A call of a function that is not the program's; `seen`: it has called the program back."""

    seen: bool = False
    over_rows: bool = False


class NativeHooks:
    """What the rewritten program calls in a rehearsal: each operation as Python does it, and compared."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self._now = rehearsal
        self.slice = slice

    def _done(self, hook: str, value: Any, *operands: Any) -> Any:
        line = sys._getframe(2).f_lineno
        if operands:
            self._now.compare(f"{hook} of", line, operands)
        self._now.compare(hook, line, value)
        return value

    def binary(self, op: str, a: Any, b: Any) -> Any:
        """`a op b`."""
        return self._done("binary", NATIVE[op](a, b), a, b)

    def unary(self, op: str, value: Any) -> Any:
        """`op value`."""
        if op == "not":
            found = not self._now.decided(sys._getframe(1).f_lineno, bool(value))
        else:
            found = NATIVE[op](value)
        return self._done("unary", found, value)

    def compare(self, sign: str, a: Any, b: Any) -> Any:
        """`a sign b`."""
        found = PYTHON_COMPARE[sign](a, b)
        if np.ndim(found) == 0:
            outcome = self._now.decided(sys._getframe(1).f_lineno, bool(found))
            found = found if outcome == bool(found) else outcome
        return self._done("compare", found, a, b)

    def chain(self, signs: tuple[str, ...], first: Any, *rest: Callable[[], Any]) -> Any:
        """`a < b < c`."""
        line, found = sys._getframe(1).f_lineno, True
        for sign, later in zip(signs, rest, strict=True):
            second = later()
            found = PYTHON_COMPARE[sign](first, second)
            if np.ndim(found) or not self._outcome(found, line):
                break
            first = second
        return self._done("chain", found)

    def _outcome(self, value: Any, line: int) -> bool:
        return self._now.decided(line, bool(value))

    def both(self, first: Any, *rest: Callable[[], Any]) -> Any:
        """`a and b`."""
        return self._logic("both", first, rest, go_on=True)

    def either(self, first: Any, *rest: Callable[[], Any]) -> Any:
        """`a or b`."""
        return self._logic("either", first, rest, go_on=False)

    def _logic(self, hook: str, first: Any, rest: tuple[Callable[[], Any], ...], *, go_on: bool) -> Any:
        line = sys._getframe(2).f_lineno
        for later in rest:
            outcome = self._outcome(first, line)
            if outcome != go_on:
                first = first if bool(first) == outcome else outcome
                break
            first = later()
        self._now.compare(hook, line, first)
        return first

    def choose(self, test: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        """`yes if test else no`."""
        outcome = self._outcome(test, sys._getframe(1).f_lineno)
        return self._done("choose", yes() if outcome else no())

    def call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """`function(*args, **kwargs)`; generators get a seed, so that the same is seen every time."""
        now, given = self._now, args
        if any(function is each for each in GENERATORS) and (not args or args[0] is None) and not kwargs:
            args = (int(now.rng.integers(2**31)),)
        opened = None if now.inside or is_project(now.run, function) else NativeCall()
        if opened is not None and now.run.running_release:
            now.calls.append(opened)
        try:
            found = function(*args, **kwargs)
        finally:
            if opened in now.calls:
                now.returns(opened)
        now.compare("call of", sys._getframe(1).f_lineno, given)
        return self._done("call", found)

    def attribute(self, value: Any, name: str) -> Any:
        """`value.name`."""
        return self._done("attribute", getattr(value, name), value, name)

    def item(self, value: Any, key: Any) -> Any:
        """`value[key]`."""
        return self._done("item", value[key], value, key)

    def text(self, *parts: Any) -> Any:
        """An f-string."""
        shown = [each if isinstance(each, str) else format_part(*each) for each in parts]
        return self._done("text", "".join(shown))

    def comprehension(self, kind: str, source: Any, test: Any, element: Callable[[Any], Any], flat: bool) -> Any:
        """[element(v) for v in source if test(v)] and its like."""
        line, now = sys._getframe(1).f_lineno, self._now
        marker = now.expected("rows", line)
        over_rows = marker is not None and marker.value is True

        def entries() -> Iterator[Any]:
            for each in source:
                now.inside += over_rows
                try:
                    chosen = test is None or now.decided(line, bool(test(each)))
                    # where a released value chooses, the proof makes every entry, and so does this
                    marked = now.passes("all entries")
                    wanted = chosen or marked
                    now.forced = now.forced or (marked and not chosen)
                    value: Any = element(each) if wanted else None
                finally:
                    now.inside -= over_rows
                if chosen:
                    yield from (list(value) if flat else [value])

        made: Any = entries()  # a generator is read later, as that of the proof
        if kind != "generator":
            made = {"list": list, "set": set, "dict": dict}[kind](made)
        now.compare("comprehension", line, made)
        return made

    def unpack(self, value: Any, pattern: Any) -> Any:
        """Parts of a value that is assigned to several names."""
        return self._done("unpack", _parts(value, pattern))

    def truth(self, value: Any) -> bool:
        """The condition of a branch: as in the proof, which runs both sides of what is released."""
        found = bool(value)
        if isinstance(value, Unseen):
            return found
        line = sys._getframe(1).f_lineno
        found = self._outcome(found, line)
        entry = self._now.expected("truth", line)
        if entry is not None and isinstance(entry.value, bool) and entry.value != found:
            raise Differs(f"a condition is {found}, in the proof {entry.value}", line)
        return found

    def loop(self, source: Any, names: tuple[str, ...] = ()) -> "NativeLoop":
        """A `for` statement."""
        entry = self._now.expected("loop", sys._getframe(1).f_lineno)
        return NativeLoop(self._now, source, entry is not None and entry.value is True)

    def contest(self, sign: str, left: Any, right: Any, new: Any, old: Any) -> "NativeContest":
        """`if value > best: best = value`."""
        entry = self._now.expected("contest", sys._getframe(1).f_lineno)
        return NativeContest(sign, left, right, entry is not None and entry.value is True)

    def set_item(self, owner: Any, key: Any, value: Any) -> None:
        """`owner[key] = value`."""
        owner[key] = value
        self._done("set_item", None)

    def set_attribute(self, owner: Any, name: str, value: Any) -> None:
        """`owner.name = value`."""
        setattr(owner, name, value)
        self._done("set_attribute", None)

    def augment(self, op: str, old: Any, value: Any) -> Any:
        """`old op= value`."""
        return self._done("augment", _augmented(op, old, value), old, value)

    def augment_item(self, op: str, owner: Any, key: Any, value: Callable[[], Any]) -> None:
        """`owner[key] op= value`."""
        old = owner[key]
        owner[key] = _augmented(op, old, value())
        self._done("augment_item", None)

    def augment_attribute(self, op: str, owner: Any, name: str, value: Callable[[], Any]) -> None:
        """`owner.name op= value`."""
        old = getattr(owner, name)
        setattr(owner, name, _augmented(op, old, value()))
        self._done("augment_attribute", None)

    def plain(self, value: Any) -> Any:
        """A value that the next statement takes apart by itself."""
        return value

    keep = spread = starred = yields_from = returns_of_generator = yields_and_receives = plain

    def yields(self, value: Any, is_new: bool) -> Any:
        """`yield value`."""
        return value

    def own_name(self, name: str, value: Any) -> Any:
        """A name that Python gives a module."""
        return value

    def unknown_name(self, name: str, value: Callable[[], Any]) -> Any:
        """A name that nothing in the module assigns."""
        return value()

    def logger_of(self, function: Any, name: str) -> Any:
        """`logging.getLogger(__name__)`."""
        return function(name)

    def enter_try(self) -> None:
        """A `try` statement begins, or ends."""

    leave_try = outer_names = unfollowed = reserved_name = enter_try

    def contexts(self) -> "NativeContexts":
        """A `with` statement."""
        return NativeContexts()


def _augmented(op: str, old: Any, value: Any) -> Any:
    return (IN_PLACE[op] or NATIVE[op])(old, value)


def _parts(value: Any, pattern: Any) -> list[Any]:
    count = pattern if isinstance(pattern, int) else len(pattern)
    parts = list(value)
    if len(parts) != count:
        raise ValueError(f"not enough or too many values to unpack (expected {count}, got {len(parts)})")
    if isinstance(pattern, int):
        return parts
    return [
        each
        for part, inner in zip(parts, pattern, strict=True)
        for each in ([part] if inner is None else _parts(part, inner))
    ]


class NativeContexts:
    """The objects of a `with` statement, as Python enters them."""

    def entered(self, value: Any) -> Any:
        """An object whose part begins."""
        return value

    def leave(self) -> None:
        """The statement ends."""


@dataclass
class NativeLoop:
    """A loop as Python runs it."""

    now: Rehearsal
    source: Any
    of_rows: bool
    over_rows = False  # names of the last pass stay known

    def forgotten(self) -> None:
        """Nothing is forgotten."""

    def passes(self) -> Iterator[Any]:
        """The entries."""
        now = self.now
        for each in self.source:
            now.inside += self.of_rows
            try:
                yield each
            finally:
                now.inside -= self.of_rows


@dataclass
class NativeContest:
    """A branch on the largest value so far, as Python runs it."""

    sign: str
    left: Any
    right: Any
    settled: bool  # by the proof, which looks at no comparison
    open = False

    def compare(self) -> Any:
        """The comparison; one that the proof does not make is compared with nothing."""
        found = PYTHON_COMPARE[self.sign](self.left, self.right)
        return Unseen(found) if self.settled else found


@dataclass
class Unseen:
    """The outcome of a comparison that the proof does not make."""

    found: Any

    def __bool__(self) -> bool:
        return bool(self.found)


# ----------------------------------------------------------------------------------------------------------------------
# What the proof says of a value, on one dataset


class Examples:
    """The rows of one dataset as points of the proof's domain."""

    def __init__(self, domain: Domain, records: Records, run: Run) -> None:
        self.domain, self.records, self.symbols = domain, records, run
        self.count = len(records)
        self.pieces: dict[Any, tuple[Array, Array]] = {}
        for at, column in enumerate(domain.columns):
            cells = [row[at] for row in records]
            gaps = np.array([each is None or each != each for each in cells], bool)
            if column.kind == "c":
                points = np.array([_place(column.values, each) for each in cells], float)
            else:
                points = np.array(
                    [column.low if gap else float(each) for each, gap in zip(cells, gaps, strict=True)], float
                )
            self.pieces[at] = points, points
            if column.missing:
                self.pieces[domain.is_missing(at)] = gaps.astype(float), gaps.astype(float)
        self.known: dict[int, Any] = {}
        self.drawn: dict[Any, float] = {}  # standard variables, by their number and law
        self.released: dict[int, tuple[Public, Array]] = {}  # what is public, by its object

    def interval(self, node: Node) -> tuple[Array, Array]:
        """Range of an expression on every row, with shape (rows, *shape)."""
        if id(node) not in self.known:
            cells = Cells(self.domain, self.count, self.pieces)
            self.known[id(node)] = (node, cells.value(node))
        found: tuple[Array, Array] = self.known[id(node)][1]
        return found

    def factor(self, powers: Any) -> float | None:
        """The product of powers of the number of rows; None where other unknowns are in it."""
        if any(unknown is not self.symbols.number_of_rows for unknown, _ in powers):
            return None
        return float(math.prod(float(self.count) ** power for _, power in powers))

    def difference(self, said: Any, value: Any, depth: int = 0) -> str:
        """How a value differs from what the proof says of it; empty where it does not."""
        if isinstance(said, Anything) or isinstance(value, Unseen) or hasattr(value, "__next__"):
            return ""
        if isinstance(said, Seen):
            return self._of_symbol(said, value)
        if isinstance(said, PlainArray):
            if not isinstance(value, np.ndarray) or value.shape != said.shape or value.dtype.kind != said.kind:
                return f"{_shown(value)}, in the proof an array of shape {said.shape}"
            same = said.content is None or np.array_equal(said.content, value, equal_nan=said.kind == "f")
            return "" if same else "an array with other entries than in the proof"
        if isinstance(said, list | tuple | dict):
            return self._of_container(said, value, depth)
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(said, float) and isinstance(value, int | float):
            return "" if said == value or (said != said and value != value) else f"{value!r}, in the proof {said!r}"
        same = type(said) is type(value) and said == value
        return "" if same else f"{_shown(value)}, in the proof {said!r}"

    def _of_container(self, said: Any, value: Any, depth: int) -> str:
        if type(value) is not type(said) or len(value) != len(said):
            return f"{_shown(value)}, in the proof a {type(said).__name__} of {len(said)}"
        if isinstance(said, dict):
            if list(said) != list(value):
                return "a dict with other keys than in the proof"
            said, value = list(said.values()), list(value.values())
        for one, other in zip(said, value, strict=True):
            why = self.difference(one, other, depth + 1)
            if why:
                return why
        return ""

    # ------------------------------------------------------------------------------------------------------------------

    def _of_symbol(self, said: Seen, value: Any) -> str:
        why = _of_guise(said, value)
        if why:
            return why
        term = said.term
        match term:
            case Rows():
                return self._of_rows(term, said.guise, value)
            case Table():
                return self._of_table(term, said.guise, value)
            case Noise() | Noisy():
                by_row = (term.noise if isinstance(term, Noisy) else term).by_row
                why = _of_shape((self.count, *term.shape) if by_row else term.shape, value)
                return why or (
                    "" if by_row or not np.size(value) else self._of_noise(term, None, np.asarray(value, float))
                )
            case Weights():
                return _of_shape(term.shape, value)
            case Public():
                return self._of_public(term, value)
            case Sum() | Aggregate():
                return self._of_data(term, value)
        return ""

    def _of_rows(self, term: Rows, guise: str, value: Any) -> str:
        local = term.scope is not None
        if local and not getattr(term.scope, "local", False):
            return ""
        chosen = np.ones(self.count, bool)
        in_order = term.mask is None or not _holds(term.mask, "reordered")
        if term.mask is not None:
            low, high = self.interval(term.mask)
            if (low != high).any():  # by coins or by released values
                return ""
            chosen = low.reshape(self.count, -1)[:, 0] > 0
        if guise == "set":
            return ""
        kind = term.node.kind
        if kind in "bif":
            self._bind(term, chosen, value)
        if kind in "cm":
            count = int(chosen.sum())
            return "" if local or len(value) == count else f"{len(value)} rows, in the proof {count}"
        shape = term.node.shape if local else (int(chosen.sum()), *term.node.shape)
        try:
            array = np.asarray(value)
        except ValueError:
            return "rows of several lengths"
        why = _of_shape(shape, array)
        if why or not array.size:
            return why
        if array.dtype.kind not in "biuf":
            return f"values of type {array.dtype}, in the proof numbers"
        if isinstance(value, np.ndarray) and (kind == "b") != (array.dtype.kind == "b"):
            return f"values of type {array.dtype}, in the proof {'truth values' if kind == 'b' else 'numbers'}"
        if isinstance(value, np.ndarray) and kind in "if" and array.dtype.itemsize != 8:
            return f"values of type {array.dtype}, which run over"
        factor = self.factor(term.powers)
        if factor is None or not in_order:
            return ""
        low, high = (each[chosen] * factor for each in self.interval(term.node))
        return _of_range(low.reshape(shape), high.reshape(shape), array)

    def _bind(self, term: Rows, chosen: npt.NDArray[np.bool_], value: Any) -> None:
        """From now on a label that is free in its range is what it was here: it stands for one function of the row."""
        node = term.node
        while node.op in ("number", "reshape") and math.prod(node.shape) == math.prod(node.args[0].shape):
            node = node.args[0]
        if node.op != "label" or node.shape or node in self.pieces or not chosen.all():
            return
        points = np.asarray(value, float).reshape(-1)
        if points.shape == (self.count,):
            self.pieces[node] = points, points
            self.known = {}

    def _of_table(self, term: Table, guise: str, value: Any) -> str:
        if guise == "frame":
            if list(value.columns) != list(term.columns):
                return "a frame with other columns than in the proof"
            if term.mask is None and len(value) != self.count:
                return f"{len(value)} rows, in the proof {self.count}"
            for name, node in term.columns.items():
                why = self._of_rows(Rows(node, (), term.mask), "series", value[name].to_numpy())
                if why:
                    return f"column {name}: {why}"
        return ""

    def _of_data(self, term: Any, value: Any) -> str:
        why = _of_shape(term.shape, value)
        if why or not np.size(value):
            return why
        return _of_range(*self._range_of_data(term), np.asarray(value, float))

    def _range_of_data(self, term: Any) -> tuple[Array, Array]:
        """Ends of a function of the dataset."""
        if isinstance(term, Aggregate):
            return term.low, term.high
        factor = self.factor(term.powers)
        if not isinstance(term, Sum) or factor is None or term.offset is None:
            return np.full(shape_of(term), -np.inf), np.full(shape_of(term), np.inf)
        low, high = total(self.interval(term.node), 0)
        return low * factor + term.offset[0], high * factor + term.offset[1]

    def _of_noise(self, term: Noise | Noisy, entry: int | None, value: Array) -> str:
        """A draw is one number from the first time that it is seen on, also where it is added to data.

        `entry`: the value is that entry of the term.
        """
        noise = term.noise if isinstance(term, Noisy) else term
        factor = self.factor(noise.powers)
        zero = np.zeros(noise.shape)
        low, high = self._range_of_data(term.data) if isinstance(term, Noisy) else (zero, zero)
        if factor is None or noise.shift is None or not (noise.scale != 0).all():
            return ""
        names, scale = np.ravel(noise.ids), np.ravel(noise.scale) * factor
        ends = [np.ravel(np.broadcast_to(each, noise.shape)) + noise.shift for each in (low, high)]
        if entry is not None:
            names, scale, ends = names[[entry]], scale[[entry]], [each[[entry]] for each in ends]
        found = np.ravel(value)
        for at, number in enumerate(names.tolist()):
            name = (number, noise.law, noise.parameter)  # as one law or another, a draw is another number
            if name not in self.drawn:
                if ends[0][at] == ends[1][at]:
                    self.drawn[name] = (found[at] - ends[0][at]) / scale[at]
                continue
            added = scale[at] * self.drawn[name]
            slack = CLOSE * (abs(added) + abs(found[at])) + 1e-12
            if not ends[0][at] + added - slack <= found[at] <= ends[1][at] + added + slack:
                return f"{found[at]:.6g}, in the proof data and noise of {ends[0][at] + added:.6g}"
        return ""

    def _of_public(self, term: Public, value: Any) -> str:
        if term.shape is None:
            return ""
        why = _of_shape((self.count, *term.shape) if term.by_row else term.shape, value)
        if why or not np.size(value):
            return why
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            return f"values of type {array.dtype}, in the proof numbers"
        if array.dtype.kind in "iuf" and isinstance(value, np.ndarray) and array.dtype.itemsize != 8:
            return f"values of type {array.dtype}, which run over"
        if term.whole and (array % 1 != 0).any():
            return "a number that is not whole, in the proof a whole one"
        before = self.released.setdefault(id(term), (term, array.copy()))[1]
        if before.shape != array.shape or not np.array_equal(before, array, equal_nan=array.dtype.kind == "f"):
            return "another value than before, in the proof the same one"
        if term.was is not None and not term.by_row:
            why = self._of_noise(term.was[0], term.was[1], np.asarray(array, float))
            if why:
                return why
        factor = self.factor(term.powers) if term.coefficient is not None else None
        if factor is not None and term.coefficient is not None:
            exact = np.asarray(term.coefficient * factor)
            return _of_range(exact, exact, np.asarray(array, float))
        return _of_range(np.asarray(term.low), np.asarray(term.high), np.asarray(array, float))


def _place(values: tuple[Any, ...], cell: Any) -> int:
    return next(at for at, each in enumerate(values) if each == cell and type(each) is type(cell))


def _of_guise(said: Seen, value: Any) -> str:
    """Whether the type is the one that the program is told."""
    if said.labels is not None:
        axes = (value.index, value.columns) if len(said.labels) > 1 and hasattr(value, "columns") else (value.index,)
        if len(axes) != len(said.labels) or any(
            list(each) != list(told) for each, told in zip(axes, said.labels, strict=True)
        ):
            return "other labels than in the proof"
        return ""
    right = {
        "array": lambda: isinstance(value, np.ndarray | np.generic) or np.ndim(value) == 0,
        "list": lambda: isinstance(value, list),
        "series": lambda: type(value).__name__ == "Series",
        "frame": lambda: type(value).__name__ == "DataFrame",
        "number": lambda: not isinstance(value, list | tuple | dict | str | None) and np.ndim(value) == 0,
    }.get(said.guise)
    return "" if right is None or right() else f"{_shown(value)}, in the proof a {said.guise}"


def _of_shape(shape: tuple[int, ...], value: Any) -> str:
    try:
        found = np.shape(value)
    except ValueError:
        return "entries of several lengths"
    return "" if found == tuple(shape) else f"shape {found}, in the proof {tuple(shape)}"


def _of_range(low: Any, high: Any, array: Array) -> str:
    low, high, array = np.asarray(low, float), np.asarray(high, float), np.asarray(array, float)
    ends = [np.abs(np.where(np.isfinite(each), each, 0.0)) for each in (low, high)]
    slack = CLOSE * np.where(np.maximum(*ends) == 0, 1e-9, np.maximum(*ends))
    with np.errstate(invalid="ignore"):
        outside = ~((array >= low - slack) & (array <= high + slack))
    if not outside.any():
        return ""
    at = tuple(int(each) for each in np.argwhere(outside)[0])
    least, most = np.broadcast_to(low, array.shape)[at], np.broadcast_to(high, array.shape)[at]
    told = f"{least:.6g}" if least == most else f"between {least:.6g} and {most:.6g}"
    return f"{array[at]:.6g}, in the proof {told}"


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, int | float | str | bool | None) else f"a {type(value).__name__}"
    return text if len(text) < 40 else text[:36] + " ..."


# ----------------------------------------------------------------------------------------------------------------------
# Neighbours


def moves_too_far(run: Run, first: Rehearsal, second: Rehearsal) -> Differs | None:
    """A value that differs between neighbours by more than the proof allows, before any noise was looked at."""
    for (entry, one), (other, two) in zip(first.values, second.values, strict=False):
        if entry is not other:
            break
        term = entry.value.term
        if one.shape != two.shape or (
            isinstance(term, Sum) and _holds(term.node, "public", "public_axis", "reordered")
        ):
            continue
        found = aggregate_of(run, term)
        factors = first.examples.factor(found.powers), second.examples.factor(found.powers)
        if factors[0] is None or factors[0] != factors[1]:
            continue
        moved = np.abs(one - two) / factors[0]
        slack = CLOSE * (1 + np.abs(one) + np.abs(two))
        sizes = np.maximum(moved - slack, 0.0)
        if (sizes > found.move).any() or sizes.sum() > found.l1 or math.sqrt(float((sizes**2).sum())) > found.l2:
            text = ", ".join(f"{each:.6g}" for each in np.ravel(moved)[:3])
            return Differs(f"it moves by {text} between neighbours, in the proof by less", entry.line)
    return None


def _holds(node: Node, *ops: str) -> bool:
    """Whether one of these operations is in an expression."""
    return any(each.op in ops for each in collect_nodes([node]))


@contextlib.contextmanager
def quiet_process(seed: int) -> Iterator[None]:
    """Nothing is printed, and the generators of the process are as before afterwards."""
    numpy_state, state = np.random.get_state(), random.getstate()  # noqa: NPY002 - of the program, not ours
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        np.random.set_state(numpy_state)  # noqa: NPY002
        random.setstate(state)


# ----------------------------------------------------------------------------------------------------------------------

EXAMPLES = ("ordinary", "ordinary", "lowest", "highest", "few")  # rows of the first of two neighbours
MOST_ROWS = 20_000  # of a dataset that is made for a rehearsal
MANY_ROWS = 1_000  # from which on there is one pair of datasets
ORDINARY = 7  # rows of one, within what the schema allows
MOST_CONSTANTS = 4  # of a program that are values of rows
LONGEST = 100  # rows of a dataset that is longer than the whole numbers in a program
Call = Callable[[Run, Callable[[], tuple[list[Any], dict[str, Any]]]], Any]


@dataclass(frozen=True)
class Example:
    """What two neighbours are like: `kind` as in EXAMPLES, or "all" rows or "one" of them with the value `constant`.

    `rows`: how many there are; None for a few.
    """

    kind: str
    constant: Any = None
    rows: int | None = None


def examples_of(run: Run, schema: Schema) -> list[Example]:
    """The examples of a program: those of every program, and some with values and lengths that it names.

    A rule may be wrong on rare rows only, such as those of age 37. A program that treats them apart names them, mostly.
    """
    found = [Example(each) for each in EXAMPLES]
    named = _constants_of(run)
    columns = [each for each in schema.columns if not each.names]
    within = [(each.low, each.high) for each in columns if each.numeric]
    inside = [
        each
        for each in named
        if any(each in column.values[1:-1] for column in columns)
        or (not isinstance(each, str) and any(low < each < high for low, high in within))
    ]
    for each in inside[:MOST_CONSTANTS]:
        found += [Example("all", each), Example("one", each)]
    lengths = [each for each in named if isinstance(each, int) and ORDINARY <= each < LONGEST]
    if lengths:
        found.append(Example("ordinary", rows=max(lengths) + ORDINARY))
    return found


def _constants_of(run: Run) -> list[Any]:
    """Numbers and texts in the code of the program's files, each once."""
    waiting: list[Any] = [compile_file(file, Path(file).stat().st_mtime_ns) for file in sorted(run.files)]
    found: dict[Any, None] = {}
    while waiting:
        each = waiting.pop()
        if isinstance(each, types.CodeType):
            waiting += each.co_consts
        elif isinstance(each, tuple | frozenset):
            waiting += each
        elif isinstance(each, int | float | str) and not isinstance(each, bool):
            found[each] = None
    return list(found)


def rehearse(run: Run, schema: Schema, call: Call, examples: Sequence[Example]) -> Differs | None:
    """The first difference between a run of a proof and runs of the program on neighbouring datasets; None for none.

    Parameters
    ----------
    run : Run
        A run on symbols that came to its end.
    schema : Schema
        What the data look like.
    call : callable
        (run, give) -> what the program returns; `give` makes its arguments.
    examples : sequence of Example
        What the datasets are like.
    """
    raised: list[str] = []
    for seed, example in enumerate(examples[:1] if run.least_rows > MANY_ROWS else examples, 1):
        first, second = _neighbours(run, schema, example, seed)
        done = []
        for records in (first, second):
            rehearsal = _rehearsed(run, schema, records, seed, call)
            if isinstance(rehearsal, Differs):
                return rehearsal
            done.append(rehearsal)
        found = moves_too_far(run, *done)
        if found is not None:
            return found
        raised += [each.raised for each in done]
    return Differs(raised[0]) if all(raised) else None  # nobody has seen the end of this path


def _neighbours(run: Run, schema: Schema, example: Example, seed: int) -> tuple[Records, Records]:
    """Two datasets that differ in one row, which is a corner of the domain in the second one."""
    rng = stream(seed, Stage.SEARCH)
    fewest, most = (run.rows, run.rows) if run.rows is not None else schema.rows
    wanted = 0 if example.kind == "few" else example.rows or min(ORDINARY, most)
    count = min(max(fewest, wanted), most)
    first, row = pairs.ordinary(schema, count, rng), pairs.corner(schema, rng)
    if example.kind in ("lowest", "highest"):
        same = tuple(each.extremes()[example.kind == "highest"] for each in schema.columns)
        first = (same,) * count
        row = tuple(each.extremes()[example.kind == "lowest"] for each in schema.columns)
    elif example.kind == "all":
        first = tuple(_with_constant(schema, each, example.constant) for each in first)
    elif example.kind == "one":
        row = _with_constant(schema, row, example.constant)
    at = int(rng.integers(count)) if count else 0
    if run.replaces:
        return first, ((*first[:at], row, *first[at + 1 :]) if count else first)
    return (first, (*first[:at], row, *first[at:])) if count < most else (first, (*first[:at], *first[at + 1 :]))


def _with_constant(schema: Schema, row: tuple[Any, ...], constant: Any) -> tuple[Any, ...]:
    """A row that has the constant in every column where it is a value."""
    cells = []
    for column, cell in zip(schema.columns, row, strict=True):
        legal = not isinstance(constant, str) and column.numeric and column.low <= constant <= column.high
        if column.names or not (legal or constant in column.values):
            cells.append(cell)
        else:
            cells.append(column.number(constant) if legal else constant)
    return tuple(cells)


def _rehearsed(run: Run, schema: Schema, records: Records, seed: int, call: Call) -> Any:
    """The rehearsal on one dataset, or how it differs."""
    rng = stream(seed, Stage.SEARCH, 1)
    example = Run(Domain([]), run.relation, run.fewest, run.most, run.rows, plain=rng, rehearses=True)
    example.root = run.root
    now = Rehearsal(run.record.entries, Examples(run.domain, records, run), example, rng)
    example.hooks = NativeHooks(now)
    form, value = serving.given(codec.unpacked(datasets.wire(schema, records)))
    given = ([], value) if form == "keywords" else (list(value) if form == "args" else [value], {})
    try:
        with quiet_process(seed), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            now.compare("output", 0, call(example, lambda: given))
    except Differs as found:
        return found
    except (Exception, ProofEnds) as error:
        if now.forced and now.is_of_noise:
            now.raised = f"an exception ({type(error).__name__}: {error})"[:200]
            return now
        return Differs(f"an exception ({type(error).__name__}: {error})"[:200])
    return now
