"""Any callable as a target, whatever its signature.

f(data, *, rng, size)   is a target already
f(data, *, rng)         `dpverify.loop_trials(f)`
f(data)                 `Unseeded(f)`
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpverify.errors import UsageError

# ----------------------------------------------------------------------------------------------------------------------
# One clear line for a package that is not installed.


def needed(module: str, package: str) -> ModuleType:
    """Import a module of a package that may not be installed.

    Parameters
    ----------
    module : str
        Dotted name of the module.
    package : str
        Name under which pip installs it.

    Returns
    -------
    module
        The module.

    Raises
    ------
    UsageError
        If it cannot be imported; the message says what to install.

    Examples
    --------
    >>> from dpverify.adapters.functions import needed
    >>> needed("numpy.linalg", "numpy").__name__
    'numpy.linalg'
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(f"needs the package {package!r}: pip install {package} ({error})") from error


UNSEEDED = "the releases come from a source that cannot be seeded: another run gives other trials"


# ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Unseeded:
    """An Unseeded makes a target of a function of the data alone, which has a source of randomness of its own.

    One call is one trial, and trials cannot be replayed: the records say so.

    Parameters
    ----------
    function : callable
        `function(data)` returns one release, an array or a number of the same shape each time.
    notes : tuple of str
        Are added to the notes of its records.

    Examples
    --------
    >>> import secrets
    >>> import numpy as np
    >>> from dpverify.adapters.functions import Unseeded
    >>> def response(data):
    ...     return data[0] if secrets.randbelow(4) else 1 - data[0]
    >>> Unseeded(response).release([1], rng=np.random.default_rng(1), size=8).shape
    (8,)
    """

    function: Callable[[Any], Any]
    notes: tuple[str, ...] = (UNSEEDED,)
    reproducible: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The function's name."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> npt.NDArray[Any]:
        """`size` calls, stacked."""
        return np.stack([np.asarray(self.function(data)) for _ in range(size)])
