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
    """The mechanism `kind` of diffprivlib with these settings; `data` is the value to randomise.

    With `vary` the data is that setting instead, as for mechanisms that choose by `utility`.
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
    """The module `diffprivlib.mechanisms`.

    `import diffprivlib` also imports its learning models, and release 0.6.6 fails there with recent versions of
    scikit-learn. The mechanisms do not need the models: they are then imported without them.
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
