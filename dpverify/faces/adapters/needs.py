"""One clear line for a package that is not installed."""

from importlib import import_module
from types import ModuleType

from dpverify.base.errors import UsageError


def needed(module: str, package: str) -> ModuleType:
    """The module; UsageError that says what to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(f"needs the package {package!r}: pip install {package} ({error})") from error


UNSEEDED = "the releases come from a source that cannot be seeded: another run gives other trials"
