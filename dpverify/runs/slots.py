"""Many tasks in a few watched children at a time, here or on a cluster.

Here, a slot is a thread that hands one task after another to a child. On dask and ray the tasks go through
`executors.ordered_map`; there a worker owns the child (`cluster`), and the client of the cluster lives in a
watched process too: ray ends the process that holds it, with an exit code of its own, when the cluster dies.

Results come as they are ready. Whoever reads them is the only one who does anything with them.
"""

import queue
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from dpverify.base.errors import DpverifyError
from dpverify.runs.child import described
from dpverify.runs.interruption import Halt
from dpverify.runs.supervisor import Supervisor
from dpverify.runs.task import Answer, Ended, Limits, Outcome, Task

Event = dict[str, Any]
ENGINE = "dpverify.runs.cluster:run"
SLACK = 120.0  # seconds for a cluster to start, on top of what two attempts may take


class _Queue:
    """Tasks that nobody has begun."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._waiting: dict[str, deque[tuple[int, Task]]] = {}
        for index, task in enumerate(tasks):
            self._waiting.setdefault(task.group, deque()).append((index, task))
        self._busy: dict[int, str] = {}  # slot -> group that it works on
        self._lock = threading.Lock()

    def next(self, slot: int) -> tuple[int, Task] | None:
        """A task of the slot's own group if there is one, else of a group that no other slot has, else any.

        Loading a group's code can take longer than its tasks.
        """
        with self._lock:
            if not self._waiting:
                return None
            others = {group for each, group in self._busy.items() if each != slot}
            group = self._busy.get(slot, "")
            if group not in self._waiting:
                first = next(iter(self._waiting))
                group = next((each for each in self._waiting if each not in others), first)
            found = self._waiting[group].popleft()
            if not self._waiting[group]:
                del self._waiting[group]
            self._busy[slot] = group
            return found


def side_by_side(
    tasks: Sequence[Task], supervisor: Supervisor, limits: Limits, *, slots: int, halt: Halt
) -> Iterator[tuple[int, Event | Outcome]]:
    """(index, what a task says on its way or its outcome), as they come; every task has one outcome.

    Once `halt` is set the outcomes that are missing are Ended("interrupted").
    """
    shared = _Queue(tasks)
    said: queue.SimpleQueue[tuple[int, Event | Outcome]] = queue.SimpleQueue()

    def work(slot: int) -> None:
        while (found := shared.next(slot)) is not None:
            index, task = found
            said.put(
                (index, _outcome(task, supervisor, limits, halt, lambda event, index=index: said.put((index, event))))
            )

    threads = [
        threading.Thread(target=work, args=(slot,), name=f"dpverify-slot-{slot}", daemon=True)
        for slot in range(min(slots, len(tasks)))
    ]
    for thread in threads:
        thread.start()
    missing = len(tasks)
    try:
        while missing:
            index, what = said.get()
            missing -= not isinstance(what, dict)
            yield index, what
    finally:  # the reader went away: what still runs need not
        if missing:
            halt.set()
        for thread in threads:
            thread.join()


def on_cluster(
    tasks: Sequence[Task],
    limits: Limits,
    *,
    backend: str,
    jobs: int,
    preload: Sequence[str],
    halt: Halt,
) -> Iterator[tuple[int, Event | Outcome]]:
    """As `side_by_side`, in the workers of a dask or ray cluster. Should its client die, it is tried once more."""
    left = dict(enumerate(tasks))
    ended: Outcome = Answer()
    for _ in range(2):
        places = list(left)
        engine = Task(
            ENGINE,
            {
                "tasks": [asdict(left[place]) for place in places],
                "backend": backend,
                "jobs": jobs,
                "limits": asdict(limits),
                "preload": list(preload),
            },
            patient=True,
        )
        watch = Limits(timeout=2 * limits.timeout + SLACK)
        for _, what in side_by_side([engine], Supervisor(0, preload), watch, slots=1, halt=halt):
            if not isinstance(what, dict):
                ended = what
            elif (place := places[what["index"]]) in left:
                del left[place]
                yield place, thawed(what["outcome"])
        if not left or halt.is_set():
            break
    for place in left:
        if halt.is_set():
            yield place, Ended("interrupted", "the run was interrupted")
        else:
            yield place, Ended("cluster", f"the {backend} cluster is gone: {_told(ended)}", ended.output, attempts=2)


def frozen(outcome: Outcome) -> dict[str, Any]:
    """An outcome as plain values."""
    return {"made": type(outcome).__name__, **asdict(outcome)}


def thawed(plain: dict[str, Any]) -> Outcome:
    """Inverse of `frozen`, also after a trip through JSON."""
    kind = {"Answer": Answer, "Ended": Ended}[plain["made"]]
    fields = {name: value for name, value in plain.items() if name != "made"}
    found: Outcome = kind(**{**fields, "output": tuple(plain["output"])})
    return found


def _outcome(task: Task, supervisor: Supervisor, limits: Limits, halt: Halt, listener: Any) -> Outcome:
    if halt.is_set():
        return Ended("interrupted", "the run was interrupted")
    try:
        return supervisor.run(task, limits, halt, listener)
    except DpverifyError as error:
        return Ended("protocol", str(error))
    except Exception as error:  # a bug of ours must not take its task's outcome away
        return Answer(error=described(error))


def _told(outcome: Outcome) -> str:
    if isinstance(outcome, Ended):
        return outcome.text
    return f"{outcome.error['type']}: {outcome.error['text']}" if outcome.error else "it stopped early"
