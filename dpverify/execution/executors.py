"""Where blocks of trials run: this process, or the workers of a joblib backend.

One function, `ordered_map`. Results come back in the order of the tasks whatever the backend, and tasks carry their own
random streams, so a record cannot depend on where it was computed. loky is joblib's default: processes of this machine.
Any other name (`dask`, `ray`, ...) is handed to joblib as it is: who uses it has registered it, see docs/ci.md.
"""

import pickle
import sys
import traceback
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, TypeVar

from dpverify.base import require
from dpverify.base.imports import environment_kept
from dpverify.errors import LostWorker, ParameterError, RunError, UsageError

Task = TypeVar("Task")
Result = TypeVar("Result")

LOKY = "loky"
ONE_THREAD = {  # the workers are the parallelism
    f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM", "NUMEXPR")
}


def ordered_map(
    function: Callable[[Task], Result], tasks: Iterable[Task], *, jobs: int = 1, backend: str = LOKY
) -> Iterator[Result]:
    """Lazily yields function(task) for every task, in order.

    Parameters
    ----------
    function : callable
        What cannot be sent to another process (with objects of foreign libraries, often) runs here.
    tasks : iterable
        Drawn while workers are free: twice as many as there are workers are waiting or running.
    jobs : int
        Workers; 1 on loky runs here, without joblib.
    backend : str
        A name that `joblib.parallel_config` knows.

    Raises
    ------
    UsageError
        Where joblib does not know the backend, or cannot use it.
    LostWorker
        Where a worker or its cluster died; never what a task itself may raise.
    """
    require.integer(at_least=1, jobs=jobs)
    check_backend(backend)
    work = None if (jobs, backend) == (1, LOKY) else _pickled(function)
    if work is None:
        yield from map(function, tasks)
        return
    with environment_kept():
        import joblib

    settings: dict[str, Any] = {"inner_max_num_threads": 1} if backend == LOKY else {}
    with joblib.parallel_config(backend=backend, n_jobs=jobs, **settings):
        lazy = getattr(joblib.parallel.get_active_backend()[0], "supports_return_generator", False)
        parallel = joblib.Parallel(return_as="generator" if lazy else "list", batch_size=1)
    calls = (joblib.delayed(_in_worker)(list(sys.path), work, task) for task in tasks)
    results = _results(parallel, calls, backend)
    try:
        for value, raised, remote in results:
            if raised is not None:
                raise raised from _Remote(remote)
            yield value
    finally:  # the reader went away, or a task failed: what has not started need not, and joblib need not say so
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            results.close()


def _results(parallel: Any, calls: Iterable[Any], backend: str) -> Generator[Any, None, None]:
    """What the workers hand back: of tasks, also what they raise, so that whatever is raised here is the pool's own."""
    try:
        yield from parallel(calls)  # whose generator, closed early, starts nothing more
    except Exception as failure:
        gone = f"a worker of {backend} was lost ({type(failure).__name__}: {_first_line(failure)})"
        raise LostWorker(gone) from failure


def check_backend(backend: Any) -> None:
    """ParameterError for what is no name, UsageError for one that joblib does not know or cannot use."""
    if not isinstance(backend, str) or not backend:
        raise ParameterError("backend", backend, "a name for joblib.parallel_config, such as loky")
    if backend != LOKY:
        with environment_kept():
            import joblib

        try:
            with joblib.parallel_config(backend=backend):
                pass
        except Exception as error:  # whatever a backend of somebody else's raises
            raise UsageError(f"backend {backend!r}: {_first_line(error)}") from error


def usable_processors() -> int:
    """How many processors this process may use: affinity and the quotas of containers (cgroups) count."""
    with environment_kept():
        import joblib

    return max(1, int(joblib.cpu_count()))


def _pickled(value: Any) -> bytes | None:
    """The value as bytes; None where it cannot travel."""
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(value))
    except Exception:  # whatever a foreign object raises when it is pickled
        return None


class _Remote(Exception):
    """The traceback of another process, as text."""


def _in_worker(path: list[str], function: bytes, task: Any) -> tuple[Any, Exception | None, str]:
    """Runs in a worker, which may be older than the folders from which the task's modules came."""
    sys.path.extend(folder for folder in path if folder not in sys.path)
    try:
        return pickle.loads(function)(task), None, ""
    except Exception as error:
        return None, error if _returns(error) else RunError(f"{type(error).__name__}: {error}"), traceback.format_exc()
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
