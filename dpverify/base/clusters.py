"""Dask and ray as places for `executors.ordered_map`: few tasks in flight, results in the order of the tasks.

Their own futures are used: joblib's ray backend cannot hand out results before all are there, and a run of
10^9 trials must not queue all its blocks. A cluster that is already running is used; otherwise a local one is
started at the first call and kept until the process ends, since starting takes seconds. That the package is
installed is checked by `executors.check_backend`.
"""

import atexit
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

IN_FLIGHT = 3  # tasks for each worker that are waiting or running


def over_dask(function: Callable[[Task], Result], tasks: Iterable[Task], jobs: int) -> Iterator[Result]:
    """On the active `distributed.Client`, or on `jobs` local processes."""
    from distributed import get_client

    client: Any
    try:
        client = get_client()  # type: ignore[no-untyped-call, unused-ignore]
    except ValueError:
        client = _local_dask(jobs)

    def submit(task: Task) -> Any:
        return client.submit(function, task, pure=False)

    workers = max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
    yield from _in_order(submit, lambda future: future.result(), tasks, IN_FLIGHT * workers)


def over_ray(function: Callable[[Task], Result], tasks: Iterable[Task], jobs: int) -> Iterator[Result]:
    """On the running ray cluster, or on a local one with `jobs` processors."""
    import ray

    cluster: Any = ray  # partly typed library
    if not cluster.is_initialized():
        cluster.init(num_cpus=jobs, include_dashboard=False, log_to_driver=False, logging_level="error")
        atexit.register(cluster.shutdown)
    remote = cluster.remote(_call)
    shared = cluster.put(function)  # sent once, not with every block
    workers = max(1, int(cluster.cluster_resources().get("CPU", 1)))
    yield from _in_order(lambda task: remote.remote(shared, task), cluster.get, tasks, IN_FLIGHT * workers)


def _call(function: Callable[[Task], Result], task: Task) -> Result:
    return function(task)


def _in_order(
    submit: Callable[[Task], Any], result: Callable[[Any], Result], tasks: Iterable[Task], most: int
) -> Iterator[Result]:
    waiting: deque[Any] = deque()
    for task in tasks:
        waiting.append(submit(task))
        if len(waiting) >= most:
            yield result(waiting.popleft())
    while waiting:
        yield result(waiting.popleft())


@cache
def _local_dask(jobs: int) -> Any:
    from distributed import Client, LocalCluster

    cluster_of: Any = LocalCluster  # untyped library
    client_of: Any = Client
    cluster = cluster_of(n_workers=jobs, threads_per_worker=1, dashboard_address=None)
    client = client_of(cluster, set_as_default=False)
    atexit.register(cluster.close)
    atexit.register(client.close)
    return client
