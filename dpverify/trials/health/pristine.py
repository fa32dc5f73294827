"""A copy of a target from before its first call: what it would do in a process that has seen no data yet.

The copy is a pickle by value of what is no importable function or class (cloudpickle: closures, lambdas, attributes).
State in a module's globals or in a class is shared by all copies and remains unseen.
"""

import io
import pickle
from typing import Any

import cloudpickle

LARGEST = 1 << 26  # bytes; a larger target is not copied


class _Full(Exception):
    """The target is larger than LARGEST."""


class _Limited(io.BytesIO):
    def write(self, data: Any) -> int:
        if self.tell() + memoryview(data).nbytes > LARGEST:
            raise _Full
        return super().write(data)


def pickled(target: Any) -> bytes | None:
    """The target as it is now; None where it cannot be copied, or is too large to be."""
    held = _Limited()
    try:
        cloudpickle.Pickler(held, protocol=pickle.HIGHEST_PROTOCOL).dump(target)
    except Exception:  # whatever foreign objects raise when they are pickled
        return None
    return held.getvalue()


def unpickled(pack: bytes | None) -> Any | None:
    """A target of its own, as it was; None where there is none."""
    if pack is None:
        return None
    try:
        return pickle.loads(pack)
    except Exception:
        return None
