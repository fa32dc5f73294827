"""What a program may change: nothing that outlives its call, and in a loop over rows nothing but what it adds up."""

import contextlib
import functools
import sys
from collections.abc import Collection, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from dpverify.proof.ending import OutsideOfTheCall
from dpverify.proof.memory import Memory, Unreadable
from dpverify.proof.rewriting import PROOF
from dpverify.proof.run import Run

PLAIN = (bool, int, float, complex, str, bytes, type(None), Fraction, np.generic)


def state_in_loop(run: Run, frame: Any, names: Collection[str]) -> Memory:
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
    found = Memory(run)
    _look(run, found, "the settings of NumPy", repr(np.geterr()))
    each = frame
    while each is not None:
        if each.f_code.co_filename in run.files and each.f_locals is not each.f_globals:
            for name, value in list(each.f_locals.items()):
                # no name of a program begins like those that the rewriting makes
                if not name.startswith(PROOF) and (each is not frame or name not in names):
                    _look(run, found, f"{id(each)}:{name}", value)
        each = each.f_back
    _look_at_modules(run, found)
    return found


def check_state_in_loop(run: Run, before: Memory, after: Memory) -> None:
    """Ends the proof where a pass over one row has changed anything that the loop does not add up."""
    for name in () if before.is_same(after) else sorted(before.names.keys() | after.names.keys()):
        if not before.is_kept(after, name, same_objects=True):
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


# ----------------------------------------------------------------------------------------------------------------------


def state_of(run: Run, kept: list[Any]) -> Memory:
    """Values that outlive a call: names, attributes and default values of modules, and the object and its arguments."""
    enumerates = run.plain is not None and not run.rehearses
    found = Memory(run) if enumerates else Memory(run, _is_cached)
    _look(run, found, "the object or an argument", kept)
    _look_at_modules(run, found)
    return found


def check_state(run: Run, kept: list[Any], before: Memory) -> None:
    """Ends the proof where the call has changed what outlives it."""
    after = state_of(run, kept)
    for name in () if before.is_same(after) else sorted(before.names.keys() | after.names.keys()):
        if not before.is_kept(after, name, same_objects=False):
            short = name.rpartition(":")[2]
            raise run.ends(
                f"the release changes {short}, which outlives it",
                "keep state out of the release",
                kind=OutsideOfTheCall,
            )


def _look_at_modules(run: Run, found: Memory) -> None:
    for file, module in run.loaded.items():
        for name, value in list(vars(module).items()):
            if name not in ("__builtins__", PROOF):
                _look(run, found, f"{file}:{name}", value)


def _look(run: Run, found: Memory, name: str, value: Any) -> None:
    """Looks at what a name reaches; what cannot be compared later ends the proof."""
    try:
        found.add(name, value)
    except Unreadable as error:
        short = name.rpartition(":")[2]
        raise run.ends(
            f"{short} reaches {error}, of which it is not known whether it changes",
            "keep it out of what the program reaches, or use plain numbers, lists and dicts",
        ) from None


def _is_cached(owner: Any, name: str, value: Any) -> bool:
    """Whether an attribute is a number or text that a cached property has computed: of no data, which are symbols."""
    return isinstance(getattr(type(owner), name, None), functools.cached_property) and isinstance(value, PLAIN)
