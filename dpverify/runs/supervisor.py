"""Watched children: a time limit, a memory limit, and an explicit end for whatever happens to them.

    outcome = Supervisor().run(Task("module:function", {...}), Limits(timeout=60))

Each task has a process of its own: a copy of a template, which has done what many tasks begin with, or a new one.
A child that died by itself is replaced - by a new one, should its template be the reason - and its task tried once
more; a task that ran into a limit is not, it would again.
"""

import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from dpverify.base.errors import RunError
from dpverify.runs.fork_server import fork_server
from dpverify.runs.interruption import Halt
from dpverify.runs.process import ChildProcess
from dpverify.runs.task import Ended, Limits, Listener, Outcome, Start, Task

PATIENCE = 30.0  # seconds in which a template makes a copy, which takes it milliseconds: it may have been stopped
AGAIN = ("exit", "signal", "protocol")


@dataclass
class _Template:
    """A child that has made a start, and how many tasks need it now. None where it cannot be copied."""

    child: ChildProcess | None = None
    made: bool = False
    seconds: float = 0.0
    users: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)  # one makes it, the others wait

    @property
    def ready(self) -> bool:
        return self.made and (self.child is None or self.child.alive)

    def close(self) -> None:
        if self.child is not None:
            self.child.close()


class Supervisor:
    """Runs tasks. At most `room` templates wait for their next one; those that are made fastest go first."""

    def __init__(self, room: int = 16, preload: Sequence[str] = ()) -> None:
        self._room, self._preload = room, preload
        self._templates: dict[str, _Template] = {}
        self._lock = threading.Lock()
        weakref.finalize(self, _end, self._templates)
        self.born = time.time_ns()  # nanoseconds: whatever the children have loaded was loaded after this

    def run(self, task: Task, limits: Limits, halt: Halt | None = None, listener: Listener | None = None) -> Outcome:
        """The outcome of a task; one whose child died is tried once more."""
        outcome = self._once(task, limits, halt, listener)
        if isinstance(outcome, Ended) and outcome.kind in AGAIN and not (halt and halt.is_set()):
            outcome = replace(self._once(replace(task, start=None), limits, halt, listener), attempts=2)
        return outcome

    def _once(self, task: Task, limits: Limits, halt: Halt | None, listener: Listener | None) -> Outcome:
        if task.start is None:
            return self._new().run(task, limits, halt, listener)
        with self._template(task.start) as template:
            with template.lock:
                problem = None if template.ready else self._make(template, task.start, limits, halt)
            if problem is not None:
                return problem
            if template.child is None or template.child.forks is None:
                return self._new().run(task, limits, halt, listener)
            try:
                copy = ChildProcess(template.child.forks, copy=True)
            except RunError as error:
                return Ended("protocol", str(error))
            if not copy.begun(PATIENCE):
                copy.close()
                template.close()
                return Ended("protocol", "the process that has loaded its file does not answer")
            return copy.run(task, limits, halt, listener)

    def _make(self, template: _Template, start: Start, limits: Limits, halt: Halt | None) -> Outcome | None:
        """What went wrong; None where nothing did."""
        template.close()
        template.made, child = False, self._new()
        outcome = child.begin(start, limits, halt)
        if isinstance(outcome, Ended) or outcome.error is not None:
            return outcome
        template.made, template.seconds = True, outcome.seconds
        template.child = child if child.forks is not None else None
        return None

    def _new(self) -> ChildProcess:
        for attempt in (1, 2):  # a fork server that has just died is replaced
            try:
                home = fork_server(self._preload)
                self.born = min(self.born, home.born)
                return ChildProcess(home)
            except RunError:
                if attempt == 2:
                    raise
        raise AssertionError

    @contextmanager
    def _template(self, start: Start) -> Iterator[_Template]:
        with self._lock:
            template = self._templates.setdefault(start.key, _Template())
            template.users += 1
        try:
            yield template
        finally:
            with self._lock:
                template.users -= 1
                gone = self._surplus()
            for each in gone:
                each.close()

    def _surplus(self) -> list[_Template]:
        """Takes out those for which there is no room."""
        idle = sorted((each.seconds, key) for key, each in self._templates.items() if not each.users)
        over = max(0, len(self._templates) - self._room)
        return [self._templates.pop(key) for _, key in idle[:over]]

    def close(self) -> None:
        """Ends all that wait."""
        with self._lock:
            _end(self._templates)


def _end(templates: dict[str, _Template]) -> None:
    while templates:
        templates.popitem()[1].close()
