"""Imports on demand that leave the caller's environment variables as they are."""

import contextlib
import os
from collections.abc import Iterator


@contextlib.contextmanager
def environment_kept() -> Iterator[None]:
    """Inside, libraries may be imported; the environment variables that they set are taken back.

    joblib and scikit-learn set variables of OpenMP when they are imported (KMP_DUPLICATE_LIB_OK, KMP_INIT_AT_FORK). By
    then OpenMP has read them; a library call of ours leaves the process of its caller as it was.
    """
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update({name: value for name, value in before.items() if os.environ.get(name) != value})
