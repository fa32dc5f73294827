"""Numerical libraries on one thread: sums in one order whatever the machine, and no fight with the workers."""

from contextlib import AbstractContextManager
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """A context in which BLAS and OpenMP use one thread."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(limits=1)
    return limits
