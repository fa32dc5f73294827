"""Pools of workers for `executors.ordered_map`: local processes, a dask and a ray cluster.

Each pool takes one call at a time and says how many of them may be outstanding: a run of 10^9 trials must not
queue all its blocks. The futures of the libraries themselves are used: joblib's generators dispatch as fast as
workers finish, however slowly results are taken, and its ray backend cannot hand out results before all are there.
A cluster that is already running is used; otherwise a local one is started at the first call and kept until the
process ends, since starting takes seconds. That the package is installed is checked by `executors.check_backend`.
"""

import atexit
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from dpverify.base.errors import RunError

IN_FLIGHT = 3  # calls for each worker of a cluster that are outstanding; each carries its own copy of the work
LOCAL = 32  # calls for each local worker: they share the work, and a suite's long audits must not hold up the others
LOOK = 5  # seconds after which a cluster that has no result yet is looked at
PATIENCE = 60  # seconds without any worker after which none is waited for: one that died may be replaced
IDLE = 300  # seconds after which a local worker without work ends
ONE_THREAD = {  # the workers are the parallelism
    f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM", "NUMEXPR")
}


@dataclass(frozen=True)
class Pool:
    """`submit(function, argument)` gives a handle, `result(handle)` waits, `cancel(handle)` gives up on it.

    At most `window` handles are to be kept at a time.
    """

    submit: Callable[[Callable[[Any], Any], Any], Any]
    result: Callable[[Any], Any]
    cancel: Callable[[Any], Any]
    window: int


def usable_processors() -> int:
    """How many processors this process may use: affinity and the quotas of containers (cgroups) count."""
    from joblib.externals.loky import cpu_count

    return max(1, int(cpu_count()))


def local_pool(jobs: int) -> Pool:
    """`jobs` processes of this machine, kept for later calls."""
    from joblib.externals.loky import get_reusable_executor

    executor = get_reusable_executor(max_workers=jobs, timeout=IDLE, env=ONE_THREAD)
    return Pool(executor.submit, lambda future: future.result(), lambda future: future.cancel(), LOCAL * jobs)


def dask_pool(jobs: int) -> Pool:
    """The active `distributed.Client`, or `jobs` local processes."""
    from distributed import get_client

    client: Any
    try:
        client = get_client()  # type: ignore[no-untyped-call, unused-ignore]
    except ValueError:
        client = _local_dask(jobs)

    def submit(function: Callable[[Any], Any], argument: Any) -> Any:
        return client.submit(function, argument, pure=False)

    def workers() -> int:
        return len(client.scheduler_info(n_workers=-1)["workers"])

    def result(future: Any) -> Any:
        empty = 0
        while True:
            try:
                return future.result(timeout=LOOK)
            except TimeoutError:  # it takes long, or nobody is left who could
                if client.status != "running":
                    raise RunError("the scheduler is gone") from None
                empty = 0 if workers() else empty + 1
                if empty * LOOK >= PATIENCE:
                    raise RunError("no worker is left") from None

    return Pool(submit, result, lambda future: future.cancel(), IN_FLIGHT * max(1, workers()))


def ray_pool(jobs: int) -> Pool:
    """The running ray cluster, or a local one with `jobs` processors."""
    import ray

    cluster: Any = ray  # partly typed library
    if not cluster.is_initialized():
        cluster.init(num_cpus=jobs, include_dashboard=False, log_to_driver=False, logging_level="error")
        atexit.register(cluster.shutdown)
    remote = cluster.remote(max_retries=1)(_call)
    workers = max(1, int(cluster.cluster_resources().get("CPU", 1)))

    def result(handle: Any) -> Any:
        empty = 0
        while True:
            try:
                return cluster.get(handle, timeout=LOOK)
            except cluster.exceptions.GetTimeoutError:
                empty = 0 if any(node["Alive"] for node in cluster.nodes()) else empty + 1
                if empty * LOOK >= PATIENCE:
                    raise RunError("no node is left") from None

    return Pool(remote.remote, result, cluster.cancel, IN_FLIGHT * workers)


def _call(function: Callable[[Any], Any], argument: Any) -> Any:
    return function(argument)


@cache
def _local_dask(jobs: int) -> Any:
    from dask import config
    from distributed import Client, LocalCluster

    settings: Any = config
    cluster_of: Any = LocalCluster  # untyped library
    client_of: Any = Client
    # one that kills a worker kills the next one too: twice is enough to know it
    settings.set({"distributed.scheduler.allowed-failures": 1})
    cluster = cluster_of(n_workers=jobs, threads_per_worker=1, dashboard_address=None)
    client = client_of(cluster, set_as_default=False)
    atexit.register(cluster.close)
    atexit.register(client.close)
    return client
