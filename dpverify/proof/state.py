"""What a program may change: nothing that outlives its call, and in a loop over rows nothing but what the loop adds up.

Values are turned into something that can be compared later: numbers and texts by what they are, containers and objects
of the program by what they hold, all else by which object it is.
"""

import contextlib
import functools
import sys
import types
from collections.abc import Collection, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from dpverify.proof.ending import OutsideOfTheCall
from dpverify.proof.run import Run
from dpverify.proof.terms import RowPart, Running, Source, Symbol

PLAIN = (bool, int, float, complex, str, bytes, type(None), Fraction, np.generic)
MOST_KEPT = 10_000  # entries of a collection of another library that are compared
ADDED_UP = ("added up",)  # a number that a loop over rows adds to: it may have been any number before


def state_in_loop(run: Run, frame: Any, names: Collection[str]) -> dict[str, Any]:
    """What a pass of a loop over rows may not change: all names of the functions that run, and of their modules.

    Parameters
    ----------
    run : Run
        The run.
    frame : frame
        Where the loop stands.
    names : collection of str
        Names of this frame that the loop assigns: they are forgotten after it.
    """
    found: dict[str, Any] = {"the settings of NumPy": repr(np.geterr())}
    each = frame
    while each is not None:
        if each.f_code.co_filename in run.files:
            for name, value in list(each.f_locals.items()):
                if not name.startswith("_proof") and (each is not frame or name not in names):
                    found[f"{id(each)}:{name}"] = _frozen(run, value, 0)
        each = each.f_back
    return found | state_of(run, [])


def check_state_in_loop(run: Run, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Ends the proof where a pass over one row has changed anything that the loop does not add up."""
    for name in sorted(before.keys() | after.keys()):
        if not _is_alike(before.get(name), after.get(name)):
            raise run.ends(
                f"a loop over rows changes {name.rpartition(':')[2]} in a way that is not followed",
                "collect sums with += and lists with append",
            )


@contextlib.contextmanager
def nothing_changes(run: Run) -> Iterator[None]:
    """A part of the program that is evaluated for one row: all it may do is give a value."""
    frame = sys._getframe(2)  # of the statement that is entered
    before = state_in_loop(run, frame, ())
    yield
    check_state_in_loop(run, before, state_in_loop(run, frame, ()))


def _is_alike(before: Any, after: Any) -> bool:
    if after == ADDED_UP:
        return True
    if isinstance(before, tuple) and isinstance(after, tuple) and len(before) == len(after):
        return all(_is_alike(one, other) for one, other in zip(before, after, strict=True))
    return bool(before == after)


# ----------------------------------------------------------------------------------------------------------------------


def state_of(run: Run, kept: list[Any]) -> dict[str, Any]:
    """Values that outlive a call: names, attributes and default values of modules, and the object and its arguments."""
    found: dict[str, Any] = {"the object or an argument": _frozen(run, kept, 0)}
    for file, module in run.loaded.items():
        for name, value in vars(module).items():
            if not name.startswith("__") and name != "_proof":
                found[f"{file}:{name}"] = _frozen(run, value, 0)
    return found


def check_state(run: Run, kept: list[Any], before: dict[str, Any]) -> None:
    """Ends the proof where the call has changed what outlives it."""
    after = state_of(run, kept)
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            short = name.rpartition(":")[2]
            raise run.ends(
                f"the release changes {short}, which outlives it",
                "keep state out of the release",
                kind=OutsideOfTheCall,
            )


def _frozen(run: Run, value: Any, depth: int) -> Any:
    """A value as something that can be compared later; a container with attributes by both."""
    found = _frozen_content(run, value, depth)
    if isinstance(value, list | tuple | dict | set | frozenset | np.ndarray) and getattr(value, "__dict__", None):
        return (found, _frozen(run, vars(value), depth + 1))
    return found


def _frozen_content(run: Run, value: Any, depth: int) -> Any:
    """A value without the attributes of a container; objects of the program by theirs."""
    if depth > 6:
        return id(value)
    if isinstance(value, Symbol):
        return ("symbol", id(value if run.scope is not None else value.term))
    if isinstance(value, Running):
        return ADDED_UP
    if isinstance(value, Source):
        return ("source", value.seeded)
    if value is None or isinstance(value, bool | int | float | str | bytes | complex):
        return (type(value).__name__, repr(value))
    if isinstance(value, np.ndarray) and id(value) in run.promoted:
        return ("data", id(value))
    if hasattr(value, "__next__"):
        run.kept_iterators.add(id(value))
    if isinstance(value, np.ndarray):
        return ("array", value.shape, value.dtype.str, value.tobytes() if value.dtype != object else repr(value))
    if isinstance(value, list | tuple | set | frozenset):
        entries = [each for each in value if not isinstance(each, RowPart)]  # what a loop over rows has appended
        return (type(value).__name__, len(entries), tuple(_frozen(run, each, depth + 1) for each in entries))
    if isinstance(value, dict):
        return ("dict", tuple((repr(key), _frozen(run, each, depth + 1)) for key, each in value.items()))
    if isinstance(value, types.FunctionType):
        if not (value.__closure__ or value.__defaults__ or value.__kwdefaults__ or value.__dict__):
            return ("function", id(value))
        cells = tuple(_frozen(run, _content(each), depth + 1) for each in value.__closure__ or ())
        own = tuple(
            (key, _frozen(run, each, depth + 1)) for key, each in vars(value).items() if not key.startswith("__")
        )
        kept = (value.__defaults__, value.__kwdefaults__)
        if value.__code__.co_filename not in run.files:
            return ("function", id(value))
        return ("function", id(value), _frozen(run, list(kept), depth + 1), cells, own)
    if isinstance(value, type):
        if value.__module__ not in run.modules:
            return id(value)
        names = [(key, each) for key, each in vars(value).items() if not key.startswith("__")]
        return ("class", tuple((key, _frozen(run, each, depth + 1)) for key, each in names))
    if isinstance(value, types.ModuleType):
        return id(value)
    if type(value).__module__ in run.modules:
        held = sorted(getattr(value, "__dict__", {}).items())
        left = [
            (key, each)
            for key, each in held
            if (run.plain is not None and not run.rehearses) or not _is_cached(value, key, each)
        ]
        return ("object", id(value), tuple((key, _frozen(run, each, depth + 1)) for key, each in left))
    if isinstance(value, functools.partial):
        parts = (value.func, value.args, value.keywords, vars(value))
        return ("partial", id(value), tuple(_frozen(run, each, depth + 1) for each in parts))
    if hasattr(value, "__next__"):
        return ("iterator", repr(value))
    if isinstance(value, Collection):
        return ("collection", id(value), tuple(_frozen(run, each, depth + 1) for each in list(value)[:MOST_KEPT]))
    if hasattr(value, "cache_info"):
        return ("cache", repr(value.cache_info()))
    content: Any = getattr(value, "__dict__", None)
    if isinstance(content, dict) and depth < 3 and not type(value).__module__.startswith("dpverify."):
        return ("other", id(value), tuple((key, _frozen(run, each, depth + 1)) for key, each in content.items()))
    return ("other", id(value))


def _is_cached(owner: Any, name: str, value: Any) -> bool:
    """Whether an attribute is a number or text that a cached property has computed: of no data, which are symbols."""
    return isinstance(getattr(type(owner), name, None), functools.cached_property) and isinstance(value, PLAIN)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None
