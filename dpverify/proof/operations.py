"""What the runs of a proof did, operation by operation: kept for the rehearsal (`rehearsal`)."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpverify.proof.run import KNOWN, Run
from dpverify.proof.terms import Labelled, RowPart, Rows, Running, Symbol

MOST_ENTRIES = 2_000  # of a container or plain array that is compared entry by entry
DEEPEST = 6
MOST_COMPARED = 20_000  # operations of a run


@dataclass(frozen=True)
class Anything:
    """A value of which nothing is compared."""


@dataclass(frozen=True)
class Seen:
    """What a symbol stood for when it was looked at."""

    term: Any
    guise: str
    labels: tuple[list[Any], ...] | None = None


@dataclass(frozen=True)
class PlainArray:
    """An array of the program as it was."""

    content: Any
    shape: tuple[int, ...]
    kind: str


ANYTHING = Anything()


@dataclass
class Entry:
    """One operation of a run: where, and what it gave.

    `fresh`: no noise has been looked at yet, so that the values of neighbours differ by what the row moves.
    `decided`: the proof has chosen an outcome in it, where a rehearsal cannot follow.
    """

    hook: str
    line: int
    value: Any
    fresh: bool = False
    decided: bool = False


# ----------------------------------------------------------------------------------------------------------------------
# What a run of the proof did


@dataclass(eq=False)
class OpenCall:
    """A call of a function that is not the program's and has not returned; it may call the program back.

    `at`: where its mark is among the entries, once it did. `over_rows`: it calls the program for every row.
    """

    at: int | None = None
    over_rows: bool = False


class Record:
    """The operations of a run on symbols, in their order; those within loops over rows are left out."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.entries: list[Entry] = []
        self.calls: list[OpenCall] = []
        self.in_rule = False  # a rule is at work, and no code of the program
        self.looked = False
        self.decisions = 0  # outcomes that the proof has chosen, and that are entries

    def note(self, hook: str, value: Any, line: int | None = None, *, decided: bool = False) -> None:
        """Keeps one operation; at the line of the program that is running, where none is given."""
        if self.is_on():
            if len(self.entries) >= MOST_COMPARED:
                raise self.run.ends(
                    f"more than {MOST_COMPARED:,} operations in one run", "use arrays in place of loops"
                )
            self._mark_callbacks()
            line = self.run.line() if line is None else line
            self.looked = self.looked or bool(self.run.events) or KNOWN in self.run.state
            self.decisions += hook == "decided"
            self.entries.append(Entry(hook, line, snapshot(self.run, value), not self.looked, decided))

    def is_on(self) -> bool:
        """Whether operations are kept now."""
        scope = self.run.scope
        return self.run.running_release and not self.in_rule and (scope is None or bool(scope.lasting))

    @contextlib.contextmanager
    def of_program(self) -> Iterator[None]:
        """Code of the program runs, whatever rule has asked for it."""
        before, self.in_rule = self.in_rule, False
        try:
            yield
        finally:
            self.in_rule = before

    def _mark_callbacks(self) -> None:
        """The calls that are open have called the program back."""
        for each in self.calls:
            if each.at is None:
                each.at = len(self.entries)
                self.entries.append(Entry("callback", 0, each))

    def _close(self, opened: OpenCall) -> None:
        """A call returns: what it did for every row is compared with nothing."""
        self.calls.remove(opened)
        if opened.over_rows and opened.at is not None:
            gone = self.entries[opened.at + 1 :]
            self.decisions -= sum(each.hook == "decided" for each in gone)
            del self.entries[opened.at + 1 :]

    def watched(self, name: str, function: Callable[..., Any], is_own: Callable[[Any], bool]) -> Callable[..., Any]:
        """A hook of the program that keeps what it gives; `is_own`: a function is one of the program."""
        run = self.run

        def hook(*args: Any, **kwargs: Any) -> Any:
            frame = sys._getframe(1)
            line, of_program = frame.f_lineno, frame.f_code.co_filename in run.files
            before, self.in_rule = self.in_rule, False
            if of_program and name not in QUIET and run.scope is not None and run.scope.by_rule and self.calls:
                self._mark_callbacks()
                self.calls[-1].over_rows = True
            opened = OpenCall() if of_program and name == "call" and not is_own(args[0]) and self.is_on() else None
            if opened is not None:
                self.calls.append(opened)
            self.in_rule = not of_program or opened is not None
            open_before = len(run.taken) - self.decisions
            try:
                found = function(*args, **kwargs)
                self.in_rule = False
                if opened is not None:
                    self._close(opened)
                if of_program:  # else a rule calls it, which Python does not
                    decided = len(run.taken) - self.decisions > open_before  # where no rehearsal can follow
                    self._note_hook(name, args, found, line, decided)
            finally:
                self.in_rule = before
                if opened in self.calls:
                    self._close(opened)
            return found

        return hook

    def _note_hook(self, name: str, args: tuple[Any, ...], found: Any, line: int, decided: bool) -> None:
        if name in OPERANDS:
            self.note(f"{name} of", args[OPERANDS[name] :], line)
        if name == "loop":
            self.note("loop", found.over_rows, line)
        elif name == "contest":
            self.note("contest", found.open, line)
        elif name not in QUIET:
            self.note(name, found, line, decided=decided)


OPERANDS = {
    "binary": 1,
    "unary": 1,
    "compare": 1,
    "augment": 1,
    "item": 0,
    "attribute": 0,
    "call": 1,
}  # and the first one that is kept
QUIET = (
    "slice",
    "enter_try",
    "leave_try",
    "unfollowed",
    "outer_names",
    "yields",
    "starred",
    "yields_from",
    "yields_and_receives",
    "returns_of_generator",
    "keep",
    "plain",
    "contexts",
    "reserved_name",
    "own_name",
    "spread",
    "unknown_name",
    "logger_of",
)


def snapshot(run: Run, value: Any, depth: int = 0) -> Any:
    """A value as it is now: arrays and containers may change later."""
    if isinstance(value, np.ndarray) and id(value) in run.promoted:  # data were written into it
        value = run.promoted[id(value)][1]
    if isinstance(value, Symbol):
        return Seen(value.term, value.guise, value.labels if isinstance(value, Labelled) else None)
    if isinstance(value, Running):
        return ANYTHING if value.closed is None else snapshot(run, value.closed)
    if type(value) is list and len(value) == 1 and isinstance(value[0], RowPart):  # a loop over rows has filled it
        return Seen(Rows(value[0].node, value[0].powers, value[0].mask), "list")
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        return value.item()
    if type(value) is np.ndarray and value.dtype.kind in "biuf":
        return PlainArray(value.copy() if value.size <= MOST_ENTRIES else None, value.shape, value.dtype.kind)
    if depth < DEEPEST and type(value) in (list, tuple) and len(value) <= MOST_ENTRIES:
        return type(value)(snapshot(run, each, depth + 1) for each in value)
    if depth < DEEPEST and type(value) is dict and len(value) <= MOST_ENTRIES:
        if all(type(key) in (str, int, bool, float) for key in value):
            return {key: snapshot(run, each, depth + 1) for key, each in value.items()}
    return ANYTHING
