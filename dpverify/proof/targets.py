"""What is proved: a function of the data, a class that has `release`, or an object of such a class.

The proof works on fresh copies of modules, so a class is made anew there, and an object is rebuilt: an object of the
fresh class with the same attributes.
"""

import enum
import inspect
import types
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dpverify.proof.ending import Ending
from dpverify.proof.programs import is_below, load, source_file
from dpverify.proof.run import Run

PLAIN = (bool, int, float, complex, str, bytes, type(None), Fraction, np.generic)
DEEPEST = 12  # of attributes within attributes


class Unfound(Exception):
    """The target is not in the fresh copy of its module."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(str(ending))
        self.ending = ending


def is_class(target: Any) -> bool:
    """Whether the target is a class with `release`, which is made anew for every run."""
    return inspect.isclass(target) and hasattr(target, "release")


def written_as(target: Any) -> Any:
    """The function or class whose source says what the target does."""
    if inspect.isfunction(target):
        return inspect.unwrap(target)
    if inspect.isclass(target) or (callable(target) and not hasattr(target, "release")):
        return target
    return type(target)


def callable_in(run: Run, module: types.ModuleType, target: Any, arguments: dict[str, Any]) -> tuple[Any, Any]:
    """What takes the data, in a fresh module: a function, or `release` of a fresh object; and that object.

    Parameters
    ----------
    run : Run
        The run that the fresh module belongs to.
    module : module
        A fresh copy of the module that `written_as(target)` was written in.
    target : callable, class or object
        What is proved.
    arguments : dict
        Arguments of the constructor of a class.

    Returns
    -------
    tuple of (callable, object or None)
        The function or bound method, and the object whose state has to be the same after the call.
    """
    found = find(module, written_as(target))
    if is_class(target):
        made = found(**arguments)
        return made.release, made
    if hasattr(target, "release") and not inspect.isclass(target):
        made = rebuild(run, target)
        return made.release, made
    return found, None


def find(module: types.ModuleType, written: Any) -> Any:
    """The function or class of a fresh module with the same name."""
    if inspect.ismethod(written):
        raise Unfound(Ending("a bound method is proved by its class", "hand over the class"))
    name = getattr(written, "__qualname__", getattr(written, "__name__", ""))
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise Unfound(
                Ending(f"{name} is not found in a fresh copy of {module.__name__}: it is made while the module runs")
            )
        found = getattr(found, part)
    return found


def rebuild(run: Run, value: Any, depth: int = 0) -> Any:
    """A value with fresh objects in place of those whose classes are the program's own.

    Raises
    ------
    ProofEnds
        For generators, which have been used before, and for what cannot be made again.
    """
    if depth > DEEPEST:
        raise run.ends("the object holds objects in more than 12 levels")
    if isinstance(value, enum.Enum):
        own = _fresh_class(run, type(value))
        return value if own is None else own[value.name]
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufcSU":
        return value.copy()
    if type(value) in (list, tuple, set, frozenset):
        return type(value)(rebuild(run, each, depth + 1) for each in value)
    if type(value) is dict:
        return {rebuild(run, key, depth + 1): rebuild(run, each, depth + 1) for key, each in value.items()}
    if isinstance(value, type):
        own = _fresh_class(run, value)
        return value if own is None else own
    if isinstance(value, types.FunctionType) and not value.__closure__:
        return _fresh_function(run, value)
    fresh = _fresh_class(run, type(value))
    slots = any(vars(each).get("__slots__") for each in type(value).__mro__)
    if fresh is not None and getattr(type(value), "__new__", None) is object.__new__ and not slots:
        made = object.__new__(fresh)
        for name, each in vars(value).items():
            object.__setattr__(made, name, rebuild(run, each, depth + 1))
        return made
    if type(value).__module__.partition(".")[0] == "dpverify" and getattr(type(value), "__dataclass_params__", None):
        if type(value).__dataclass_params__.frozen:
            return value  # claims, ledgers, sensitivities: they never change
    raise run.ends(
        f"the object holds a {type(value).__name__}, which cannot be made again", "hand over the class, or a function"
    )


def _fresh_class(run: Run, written: type) -> Any:
    """The class in a fresh copy of its module; None where it is not the program's own."""
    file = source_file(written)
    if file is None or not is_below(file, run.root):
        return None
    try:
        return find(load(run, file, written.__module__), written)
    except Unfound as error:
        raise run.ends(error.ending.reason) from error


def _fresh_function(run: Run, function: Callable[..., Any]) -> Any:
    file = source_file(function)
    if file is None or not is_below(Path(file), run.root):
        return function
    try:
        return find(load(run, file, function.__module__), function)
    except Unfound as error:
        raise run.ends(error.ending.reason) from error
