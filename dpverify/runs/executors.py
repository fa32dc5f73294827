"""Where blocks of trials run: this process, local processes, a dask or a ray cluster.

One function, `ordered_map`. Results come back in the order of the tasks whatever
the executor, and tasks carry their own random streams, so a record cannot depend on where it was computed.
"""

import pickle
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from typing import Any, TypeVar

from dpverify.base import require
from dpverify.base.errors import LostWorker, ParameterError, RunError, UsageError
from dpverify.runs.pools import dask_pool, local_pool, Pool, ray_pool

Task = TypeVar("Task")
Result = TypeVar("Result")

BACKENDS = ("loky", "dask", "ray")


def ordered_map(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    *,
    jobs: int = 1,
    backend: str = "loky",
    lost: Callable[[LostWorker], Result] | None = None,
) -> Iterator[Result]:
    """Lazily yields function(task) for every task, in order.

    A task is drawn from `tasks` when there is room for it: at most `Pool.window` are waiting, running or not yet
    asked for, however many there are in all.
    `jobs` = 1 runs here, without joblib. `backend` is "loky" (local processes), "dask" (the active
    `distributed.Client`, or a local one of `jobs` workers) or "ray" (the running cluster, or a local one).
    What cannot be sent to another process (objects of foreign libraries, often) runs here, in its turn.
    UsageError when the backend's package is not installed. LostWorker where a worker or the cluster died - never what
    a task itself may raise - or, with `lost`, the result that it makes of that.
    """
    require.integer(at_least=1, jobs=jobs)
    here = (jobs, backend) == (1, "loky")
    if not here:
        check_backend(backend)
    work = None if here else _pickled(function)
    if work is None:
        yield from map(function, tasks)
        return
    pool = _POOLS[backend](jobs)
    waiting: deque[tuple[Task, Any]] = deque()

    def next_result() -> Result:
        task, handle = waiting.popleft()
        if handle is None:
            return function(task)
        try:
            value, error, told = pool.result(handle)
        except Exception as failure:  # tasks hand back what they raise: this is the pool's own
            gone = LostWorker(f"a worker of {backend} was lost ({type(failure).__name__}: {_first_line(failure)})")
            if lost is None:
                raise gone from failure
            return lost(gone)
        if error is not None:
            raise error from _Elsewhere(told)
        result: Result = value
        return result

    try:
        for task in tasks:
            parcel = _pickled(task)
            waiting.append((task, None if parcel is None else pool.submit(_elsewhere, (sys.path, work, parcel))))
            if len(waiting) >= pool.window:
                yield next_result()
        while waiting:
            yield next_result()
    finally:  # the reader went away, or a task failed: what has not started need not
        for _, handle in waiting:
            if handle is not None:
                pool.cancel(handle)


def check_backend(backend: str) -> None:
    """ParameterError for an unknown backend, UsageError for one whose package is not installed."""
    if backend not in BACKENDS:
        raise ParameterError("backend", backend, "one of " + ", ".join(BACKENDS))
    package = {"loky": "joblib", "dask": "distributed", "ray": "ray"}[backend]
    if find_spec(package) is None:
        raise UsageError(f"backend {backend!r}: needs the package {package!r}, which is not installed")


def _pickled(value: Any) -> bytes | None:
    """The value as bytes; None where it cannot travel."""
    from joblib.externals.loky.backend.reduction import dumps

    try:
        return bytes(dumps(value))
    except Exception:  # whatever a foreign object raises when it is pickled
        return None


class _Elsewhere(Exception):
    """The traceback of another process, as text."""


def _elsewhere(call: tuple[list[str], bytes, bytes]) -> tuple[Any, Exception | None, str]:
    """Runs in a worker, which may be older than the folders from which the task's modules came.

    What the task raises is handed back as a value, so that whatever a pool raises is the pool's own.
    """
    path, function, task = call
    sys.path.extend(folder for folder in path if folder not in sys.path)
    try:
        return pickle.loads(function)(pickle.loads(task)), None, ""
    except Exception as error:
        told = traceback.format_exc()
        return None, error if _returns(error) else RunError(f"{type(error).__name__}: {error}"), told
    except BaseException as error:  # SystemExit must neither end the worker nor whoever asks for the result
        return None, RunError(f"{type(error).__name__}: {error}"), traceback.format_exc()


def _returns(error: Exception) -> bool:
    """True where the exception survives the way home as what it is."""
    try:
        return type(pickle.loads(pickle.dumps(error))) is type(error)
    except Exception:
        return False


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), "no reason given")


_POOLS: dict[str, Callable[[int], Pool]] = {"loky": local_pool, "dask": dask_pool, "ray": ray_pool}
