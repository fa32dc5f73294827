"""Numerical libraries on one thread: sums in one order whatever the machine, and no fight with the workers."""

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """A context in which BLAS and OpenMP use one thread."""
    limits: AbstractContextManager[Any] = _libraries(len(sys.modules)).limit(limits=1)
    return limits


@lru_cache(maxsize=1)
def _libraries(modules: int) -> Any:
    """The libraries that are loaded, looked for again only where more modules are: a search takes 10 ms."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
