"""Where blocks of trials run: this process, local processes, a dask or a ray cluster.

One function, `ordered_map`. Results come back in the order of the tasks whatever
the executor, and tasks carry their own random streams, so a record cannot depend on where it was computed.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from dpverify.base import require
from dpverify.base.clusters import over_dask, over_ray
from dpverify.base.errors import ParameterError

Task = TypeVar("Task")
Result = TypeVar("Result")

BACKENDS = ("loky", "dask", "ray")


def ordered_map(
    function: Callable[[Task], Result], tasks: Iterable[Task], *, jobs: int = 1, backend: str = "loky"
) -> Iterator[Result]:
    """Lazily yields function(task) for every task, in order.

    `jobs` = 1 runs here, without joblib. `backend` is "loky" (local processes), "dask" (the active
    `distributed.Client`, or a local one of `jobs` workers) or "ray" (the running cluster, or a local one).
    UsageError when the backend's package is not installed.
    """
    require.integer(at_least=1, jobs=jobs)
    if backend not in BACKENDS:
        raise ParameterError("backend", backend, "one of " + ", ".join(BACKENDS))
    if jobs == 1 and backend == "loky":
        yield from map(function, tasks)
        return
    if backend == "dask":
        yield from over_dask(function, tasks, jobs)
        return
    if backend == "ray":
        yield from over_ray(function, tasks, jobs)
        return
    from joblib import delayed, Parallel, parallel_config

    with parallel_config(backend="loky", inner_max_num_threads=1):
        parallel = Parallel(n_jobs=jobs, return_as="generator")
        yield from parallel(delayed(function)(task) for task in tasks)
