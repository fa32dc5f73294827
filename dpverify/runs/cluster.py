"""Tasks on a dask or ray cluster: a worker owns a watched child, so that a crash never takes the worker along.

`run` is called in a process of its own (see `slots`), which holds the cluster's client.
"""

import os
import secrets
import sys
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

from dpverify.base.errors import LostWorker
from dpverify.runs import child
from dpverify.runs.executors import ordered_map
from dpverify.runs.slots import frozen
from dpverify.runs.supervisor import Supervisor
from dpverify.runs.task import Ended, Limits, Outcome, Task


def run(tasks: list[dict[str, Any]], backend: str, jobs: int, limits: dict[str, Any], preload: list[str]) -> None:
    """Runs the tasks, and tells of each outcome as soon as it and all before it are there."""
    os.environ["PYTHONPATH"] = os.pathsep.join(folder for folder in sys.path if folder)  # the workers import us
    work = partial(_watched, Limits(**limits), tuple(preload), secrets.token_hex(8))
    found = ordered_map(work, [Task.of(task) for task in tasks], jobs=jobs, backend=backend, lost=_lost)
    for index, outcome in enumerate(found):
        child.emit({"index": index, "outcome": frozen(outcome)})


def _watched(limits: Limits, preload: Sequence[str], run: str, task: Task) -> Outcome:
    return _supervisor(tuple(preload), run).run(task, limits)


def _lost(error: LostWorker) -> Outcome:
    return Ended("cluster", str(error))


@lru_cache(maxsize=1)
def _supervisor(preload: tuple[str, ...], run: str) -> Supervisor:
    """One for each run: a worker may live longer, and what it has loaded be out of date."""
    return Supervisor(2, preload)
