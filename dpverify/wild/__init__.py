"""dpverify in the wild: a front door to code that somebody else wrote, and replay of what it asks of its library.

try_out    trials on many neighbouring pairs made from a schema
replay     the library's own noise calls on a pair, recorded and played back
Elsewhere  the library in its own interpreter
encode     any output as flat fields
"""

from importlib import import_module

TYPE_CHECKING = False  # that of `typing`, which a file in the current folder could hide
if TYPE_CHECKING:
    from typing import Any

    from dpverify.wild.interpreter import Elsewhere as Elsewhere
    from dpverify.wild.replaying import replay as replay
    from dpverify.wild.trying import try_out as try_out
    from dpverify.wild.worker.encoding import encode as encode

_HOMES = {
    "Elsewhere": "dpverify.wild.interpreter",
    "encode": "dpverify.wild.worker.encoding",
    "replay": "dpverify.wild.replaying",
    "try_out": "dpverify.wild.trying",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> "Any":
    if name not in _HOMES:
        raise AttributeError(f"module 'dpverify.wild' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
