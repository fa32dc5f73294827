"""Where blocks of trials run: this process, local processes, a dask or a ray cluster.

One function, `ordered_map`, over joblib's interface. Results come back in the order of the tasks whatever
the executor, and tasks carry their own random streams, so a record cannot depend on where it was computed.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from dpverify.base import require
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
    """
    require.integer(at_least=1, jobs=jobs)
    if backend not in BACKENDS:
        raise ParameterError("backend", backend, "one of " + ", ".join(BACKENDS))
    if jobs == 1 and backend == "loky":
        yield from map(function, tasks)
        return
    from joblib import delayed, Parallel

    with _configured(backend, jobs):
        parallel = Parallel(n_jobs=jobs, return_as="generator")
        yield from parallel(delayed(function)(task) for task in tasks)


def _configured(backend: str, jobs: int) -> Any:
    from joblib import parallel_config

    if backend == "loky":
        return parallel_config(backend="loky", inner_max_num_threads=1)
    try:
        if backend == "dask":
            return _dask(jobs)
        from ray.util.joblib import register_ray
    except ImportError as error:
        raise UsageError(f"backend {backend!r}: needs the package {backend!r} ({error})") from error
    register_ray()  # type: ignore[no-untyped-call, unused-ignore]
    return parallel_config(backend="ray", n_jobs=jobs)


def _dask(jobs: int) -> Any:
    import contextlib

    from distributed import Client, get_client, LocalCluster
    from joblib import parallel_config

    @contextlib.contextmanager
    def session() -> Iterator[None]:
        try:
            get_client()
        except ValueError:  # no cluster is active: make a local one for this call
            cluster_of: Any = LocalCluster  # untyped library
            own: AbstractContextManager[Any] = cluster_of(n_workers=jobs, threads_per_worker=1, dashboard_address=None)
        else:
            own = nullcontext()
        client_of: Any = Client
        with own as cluster, client_of(cluster) if cluster is not None else nullcontext():
            with parallel_config(backend="dask"):
                yield

    return session()
