"""What stands behind every rule, whatever the rule says: data stay data, and operands are what they seem to be.

A rule that forgets one of its arguments would make a public value of data. So the result of every operation is looked
at: where it is public, each value that went in must be public, too, or have been charged. And a rule stands for the
operation of Python's and NumPy's own types: an operand whose class has operators of its own would do something else.
"""

import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from dpverify.proof.arithmetic import holds_symbols, symbols_in
from dpverify.proof.run import FRESH, Run
from dpverify.proof.terms import (
    Leader,
    Noise,
    Noisy,
    Opaque,
    Order,
    Public,
    Symbol,
    Weights,
)

EXACT = (bool, int, float, complex, str, bytes, type(None), list, tuple, dict, set, frozenset, range, slice)
BASES = (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset)
OPERATORS = tuple(
    f"__{name}__"
    for name in """add radd iadd sub rsub isub mul rmul imul truediv rtruediv itruediv floordiv rfloordiv mod rmod pow
    rpow matmul rmatmul divmod rdivmod and rand or ror xor rxor lshift rlshift rshift rrshift neg pos abs invert round
    trunc floor ceil lt le gt ge contains getitem len iter bool float int index complex array array_ufunc
    array_function array_interface array_struct""".split()
)
CONTAINERS = ("__eq__", "__ne__", "__missing__")  # of subclasses of builtins


def refuse_own_operators(run: Run, *values: Any) -> None:
    """Ends the proof at an operand of a class with operators of its own, beside data or draws."""
    for each in values:
        if _has_own_operators(each):
            raise run.ends(
                f"a value of the class {type(each).__name__}, which has operators of its own, meets data or draws",
                "use a plain number or array",
            )
        if type(each) in (list, tuple, set, frozenset):
            refuse_own_operators(run, *each)
        elif type(each) is dict:
            refuse_own_operators(run, *each.keys(), *each.values())
        elif isinstance(each, np.ndarray) and each.dtype == object:
            refuse_own_operators(run, *each.flat)


def _has_own_operators(value: Any) -> bool:
    kind = type(value)
    if kind in EXACT or isinstance(value, Opaque | types.FunctionType | types.ModuleType | type):
        return False
    root = kind.__module__.partition(".")[0]
    if isinstance(value, np.ndarray):
        return kind is not np.ndarray
    if root in ("numpy", "pandas", "collections", "builtins", "fractions", "itertools", "functools", "dpverify"):
        return False
    base = next((each for each in BASES if isinstance(value, each)), None)
    if base is not None:
        return any(_operator(kind, name) is not _operator(base, name) for name in (*OPERATORS, *CONTAINERS))
    return any(name in vars(each) for each in kind.__mro__[:-1] for name in OPERATORS)


def _operator(kind: type, name: str) -> Any:
    """The method that an operator calls: that of the first class which has it (a metaclass has others)."""
    return next((vars(each)[name] for each in kind.__mro__ if name in vars(each)), None)


def stays_data(run: Run, what: str, given: Iterable[Any], result: Any, events: int) -> None:
    """Ends the proof where an operation has made a public value of data that nobody has charged.

    Parameters
    ----------
    run : Run
        The run.
    what : str
        The operation, for the message.
    given : iterable
        What it was applied to.
    result : object
        What it has made.
    events : int
        How many releases were charged before it; noise that was charged by it (a choice, a comparison with a noisy
        threshold) is public now.
    """
    if not is_plain(result):
        return
    charged = run.events[events:]
    for each in symbols_in(list(given)):
        term = getattr(each, "term", None)
        by_itself = any(event.data is term for event in charged) or (bool(charged) and isinstance(term, CHARGEABLE))
        if not (by_itself or is_looked_at(run, each)):
            raise run.ends(f"{what} of data or of draws has no rule in this form")


CHARGEABLE = (Noise, Noisy, Leader, Order, Weights)


def is_plain(value: Any) -> bool:
    """Whether a value is public: a released one, or one that no symbol is in."""
    if isinstance(value, Symbol):
        return isinstance(value.term, Public)
    if isinstance(value, list | tuple | dict | set | frozenset | np.ndarray):
        return not holds_symbols(value)
    return isinstance(value, bool | int | float | complex | str | bytes | np.generic)


def is_looked_at(run: Run, value: Any) -> bool:
    """Whether a symbol is public by now: released, or a draw that is known."""
    term = getattr(value, "term", None)
    if isinstance(term, Noisy):
        release = term.release.last()
        return release.booked or release.spent
    if isinstance(term, Noise):
        return all(run.state[int(each)] != FRESH for each in np.ravel(term.ids))
    return isinstance(term, Public)
