"""diffprivlib mechanisms as targets.

    target = Mechanism("Laplace", epsilon=1.0, sensitivity=1.0)

Each block of trials makes its own mechanism with a seed from `rng`, so records repeat. `randomise` takes one
value a call, so this is a Python loop: 10^5 trials take seconds.
"""

import importlib.util
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.adapters.functions import needed
from dpverify.errors import UsageError


class Mechanism:
    """A Mechanism releases one of diffprivlib's mechanisms; the data are the value to randomise.

    Each block of trials makes its own mechanism with a seed from `rng`, so records repeat. One call makes one value:
    10^5 trials take seconds.

    Parameters
    ----------
    kind : str
        Name of the mechanism's class, such as "Laplace".
    vary : str
        A setting that the data are instead, as "utility" of mechanisms that choose by it; "" for none.
    **settings : settings of the mechanism
        Such as `epsilon` and `sensitivity`.

    Raises
    ------
    UsageError
        If diffprivlib has no such mechanism, or is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from dpverify.adapters.diffprivlib import Mechanism
    >>> target = Mechanism("Laplace", epsilon=1.0, sensitivity=1.0)
    >>> target.release(3.0, rng=np.random.default_rng(1), size=4).shape
    (4,)
    """

    def __init__(self, kind: str, *, vary: str = "", **settings: Any) -> None:
        self.kind, self.settings, self.vary = kind, settings, vary
        self.name = kind
        make = getattr(mechanisms(), kind, None)
        if make is None:
            raise UsageError(f"diffprivlib has no mechanism {kind!r}")
        if not vary:
            make(**settings)  # bad settings are refused here, and not in the middle of a run

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> npt.NDArray[Any]:
        """`size` calls of `randomise`."""
        varied = {self.vary: data} if self.vary else {}
        make = getattr(mechanisms(), self.kind)
        mechanism = make(**self.settings, **varied, random_state=int(rng.integers(2**31)))
        values = () if self.vary else (data,)
        return np.array([mechanism.randomise(*values) for _ in range(size)])


def mechanisms() -> ModuleType:
    """Import the module `diffprivlib.mechanisms`.

    `import diffprivlib` also imports its learning models, and release 0.6.6 fails there with recent versions of
    scikit-learn. The mechanisms do not need the models: they are then imported without them.

    Returns
    -------
    module
        The module.

    Raises
    ------
    UsageError
        If diffprivlib is not installed.

    Examples
    --------
    >>> from dpverify.adapters.diffprivlib import mechanisms
    >>> mechanisms().Laplace.__name__
    'Laplace'
    """
    try:
        return import_module("diffprivlib.mechanisms")
    except ImportError:
        spec = importlib.util.find_spec("diffprivlib")
        if spec is None:
            return needed("diffprivlib.mechanisms", "diffprivlib")
    for name in [name for name in sys.modules if name.partition(".")[0] == "diffprivlib"]:
        del sys.modules[name]
    bare = ModuleType("diffprivlib")
    bare.__path__ = list(spec.submodule_search_locations or [])
    sys.modules["diffprivlib"] = bare
    return needed("diffprivlib.mechanisms", "diffprivlib")
