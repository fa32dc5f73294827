"""Libraries of private releases for tests, as far as they can be imported here.

diffprivlib 0.6.6 asks scikit-learn for names that releases since 1.9 do not have; only its forests need them. They are
left out.
"""

import importlib
import sys
import types
from typing import Any


def diffprivlib() -> Any:
    """The package with tools and models, forests excepted."""
    forest = "diffprivlib.models.forest"
    if forest not in sys.modules:
        stub = types.ModuleType(forest)
        stub.RandomForestClassifier = stub.DecisionTreeClassifier = type(None)  # type: ignore[attr-defined]
        sys.modules[forest] = stub
    kept = sys.modules.get("diffprivlib")
    if kept is not None and not hasattr(kept, "models"):  # a bare one, made for the adapter
        for name in [name for name in sys.modules if name.partition(".")[0] == "diffprivlib" and name != forest]:
            del sys.modules[name]
    return importlib.import_module("diffprivlib")
