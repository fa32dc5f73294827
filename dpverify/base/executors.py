"""Where blocks of trials run: this process, local processes, a dask or a ray cluster.

One function, `ordered_map`. Results come back in the order of the tasks whatever
the executor, and tasks carry their own random streams, so a record cannot depend on where it was computed.
"""

import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from typing import Any, TypeVar

from dpverify.base import require
from dpverify.base.clusters import over_dask, over_ray
from dpverify.base.errors import ParameterError, UsageError

Task = TypeVar("Task")
Result = TypeVar("Result")

BACKENDS = ("loky", "dask", "ray")


def ordered_map(
    function: Callable[[Task], Result], tasks: Iterable[Task], *, jobs: int = 1, backend: str = "loky"
) -> Iterator[Result]:
    """Lazily yields function(task) for every task, in order.

    `jobs` = 1 runs here, without joblib. `backend` is "loky" (local processes), "dask" (the active
    `distributed.Client`, or a local one of `jobs` workers) or "ray" (the running cluster, or a local one).
    What cannot be sent to another process (objects of foreign libraries, often) runs here, in its turn.
    UsageError when the backend's package is not installed.
    """
    require.integer(at_least=1, jobs=jobs)
    check_backend(backend)
    if jobs == 1 and backend == "loky":
        yield from map(function, tasks)
        return
    work = _pickled(function)
    listed = list(tasks)
    sent = [None if work is None else _pickled(task) for task in listed]
    results = _MAPS[backend](_elsewhere, [(sys.path, work, task) for task in sent if task is not None], jobs)
    for task, parcel in zip(listed, sent, strict=True):
        yield function(task) if parcel is None else next(results)


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


def _elsewhere(call: tuple[list[str], bytes, bytes]) -> Any:
    """Runs in a worker, which may be older than the folders from which the task's modules came."""
    path, function, task = call
    sys.path.extend(folder for folder in path if folder not in sys.path)
    return pickle.loads(function)(pickle.loads(task))


def _over_processes(function: Callable[[Any], Any], calls: list[Any], jobs: int) -> Iterator[Any]:
    from joblib import delayed, Parallel, parallel_config

    if not calls:
        return
    with parallel_config(backend="loky", inner_max_num_threads=1):
        yield from Parallel(n_jobs=jobs, return_as="generator")(delayed(function)(call) for call in calls)


_MAPS: dict[str, Callable[[Callable[[Any], Any], list[Any], int], Iterator[Any]]] = {
    "loky": _over_processes,
    "dask": over_dask,
    "ray": over_ray,
}
