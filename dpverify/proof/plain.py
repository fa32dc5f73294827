"""Calls of a program that runs on one plain dataset, with its draws on the tape: only functions of known values.

A law is enumerated from what the program does with its data and its draws. So a call may read nothing else: no clock,
file, memory that was not written, order of a set of texts, nor a generator that the tape does not lead.
"""

import abc
import dataclasses
import enum
import functools
import itertools
import math
import operator
import random
import secrets
import statistics
import types
import typing
from typing import Any

import numpy as np

from dpverify.proof.ending import OutsideOfTheCall
from dpverify.proof.noise import make_source
from dpverify.proof.run import Run
from dpverify.proof.terms import Draw, Source
from dpverify.tape.opaque import Opaque

GENERATORS = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)
TAPE = "dpverify.tape"
SYSTEM = (secrets.randbelow, secrets.choice, secrets.randbits)

# The order of a set of texts is another one in every process.
OF_SETS = (len, sorted, min, max, any, all, bool, isinstance, set, frozenset)
BUILTINS: tuple[Any, ...] = (
    *OF_SETS,
    abs,
    bytes,
    callable,
    chr,
    complex,
    dict,
    divmod,
    enumerate,
    filter,
    float,
    format,
    getattr,
    hasattr,
    int,
    iter,
    list,
    map,
    next,
    ord,
    pow,
    range,
    reversed,
    round,
    slice,
    str,
    sum,
    tuple,
    type,
    zip,
    functools.reduce,
    functools.partial,
    dataclasses.asdict,
    dataclasses.astuple,
    dataclasses.replace,
    math.fsum,
    random.SystemRandom,  # it has no seed: whatever it is made with, its draws are those of the tape
)
MODULES = (math, operator, itertools, statistics)
NUMPY = frozenset(
    """abs absolute all any append apply_along_axis arange argmax argmin argpartition argsort array array_equal
    array_split asarray average bincount block broadcast_to ceil choose clip column_stack concatenate copy corrcoef
    count_nonzero cov cumprod cumsum delete diag diff digitize divide dot dstack einsum equal expand_dims eye fabs
    fix flatnonzero flip floor full full_like geomspace greater greater_equal histogram histogram2d hstack identity
    inner insert interp invert isclose isfinite isin isnan kron less less_equal linspace logspace matmul max maximum
    mean median meshgrid min minimum mod moveaxis multiply nan_to_num nonzero norm not_equal ones ones_like outer pad
    partition percentile power prod quantile ravel repeat reshape roll round searchsorted sign sort split sqrt square
    squeeze stack std subtract sum swapaxes take take_along_axis tensordot tile trace transpose tril triu unique
    unravel_index var vdot vstack where zeros zeros_like rint trunc solve inv pinv""".split()
)
NO_CONTENT = (object, tuple, int, str, typing.Generic, typing.Protocol, abc.ABC, enum.Enum, enum.Flag, enum.ReprEnum)
SLOT = types.MemberDescriptorType
PLAIN = (str, int, float, complex, bytes, list, tuple, dict, range, set, frozenset, np.generic)
WRITES_FILES = ("tofile", "dump", "dumps", "setflags", "byteswap", "view", "resize")


def call_plainly(run: Run, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`function(*args, **kwargs)` where the function depends on nothing but its arguments and the tape."""
    if isinstance(function, Draw):  # of a generator with a seed
        return function(*args, **kwargs)
    source = make_source(run, function, args, kwargs) if function.__hash__ is not None else None
    if source is not None and source.seeded:
        return source
    if any(each is operator.is_ or each is operator.is_not for each in (function, *args, *kwargs.values())):
        raise run.ends("the identity of values is asked", "compare with ==")
    owner = getattr(function, "__self__", None)
    for each in (owner, *args, *kwargs.values()):
        led = isinstance(each, random.SystemRandom) or type(each).__module__.startswith(TAPE)
        if isinstance(each, Source) or (isinstance(each, GENERATORS) and not led):
            raise run.ends("a generator of random numbers that was made elsewhere is used", kind=OutsideOfTheCall)
    if not run.running_release and _draws(function, owner):
        raise run.ends("a number is drawn while the module is loaded: it is the same in all releases")
    if run.running_release and not is_known(function, owner):
        name = getattr(function, "__name__", type(function).__name__)
        raise run.ends(f"{name}() may read what is outside of the program", kind=OutsideOfTheCall)
    if not any(function is each for each in OF_SETS) and any(
        isinstance(each, set | frozenset) for each in (*args, *kwargs.values())
    ):
        raise run.ends("the order of a set is used", "sort it")
    return function(*args, **kwargs)


def check_identity(run: Run, a: Any, b: Any) -> None:
    """Ends an enumeration at `a is b` of values that a caller may share or copy, such as equal texts and numbers."""
    if run.plain is None or run.rehearses:
        return
    for each in (a, b):
        single = each is None or each is ... or each is NotImplemented or type(each) in (bool, object)
        if single or isinstance(
            each, type | types.FunctionType | types.BuiltinFunctionType | types.ModuleType | enum.Enum
        ):
            return
        if type(each).__module__ in run.modules:
            return
    raise run.ends("the identity of values is asked", "compare with ==")


def _draws(function: Any, owner: Any) -> bool:
    if isinstance(owner, random.SystemRandom) or any(function is each for each in SYSTEM):
        return True
    of_tape = (getattr(function, "__module__", None) or "").startswith(TAPE) and function.__name__ == "draw"
    return of_tape or type(owner).__module__.startswith(TAPE)


def is_known(function: Any, owner: Any) -> bool:
    """Whether a function depends on nothing but its arguments and the tape."""
    if any(function is each for each in (*BUILTINS, *SYSTEM)):
        return True
    if isinstance(function, type) and issubclass(function, BaseException | np.generic):
        return True
    module = getattr(function, "__module__", None) or ""
    name = getattr(function, "__name__", "")
    if module.startswith(TAPE) or type(owner).__module__.startswith(TAPE) or type(function).__module__.startswith(TAPE):
        return True
    if isinstance(owner, random.SystemRandom):
        return True
    if isinstance(owner, type) and owner in (dict, bytes, int, float, str):
        return name in ("fromkeys", "fromhex", "from_bytes", "maketrans")
    if isinstance(owner, np.ndarray):
        return type(owner) is np.ndarray and name not in WRITES_FILES
    if isinstance(owner, PLAIN):
        return not (isinstance(owner, set) and name == "pop")
    if isinstance(function, np.ufunc):
        return True
    if module.split(".")[0] == "numpy":
        return name in NUMPY
    if isinstance(function, type) and function.__module__ in ("collections", "fractions", "decimal", "itertools"):
        return True
    return any(getattr(each, name, None) is function for each in MODULES)


def check_order(run: Run, value: Any) -> None:
    """The entries of a set come in an order that no program should use."""
    if run.plain is not None and isinstance(value, set | frozenset):
        raise run.ends("the order of a set is used", "sort it")


def check_class(run: Run, kind: type) -> None:
    """Ends the proof at the class of an output that is made within the program, or that keeps more than attributes."""
    homes = [module for module in run.loaded.values() if module.__name__ == kind.__module__]
    found: Any = homes[0] if homes else None
    for part in kind.__qualname__.split("."):
        found = getattr(found, part, None)
    if found is not kind:
        raise run.ends("an output of a class that is made within the program is not followed")
    if any(each.__module__ not in run.modules and each not in NO_CONTENT for each in kind.__mro__):
        raise run.ends("an output of a class that is derived from one of a library is not followed")


def slots_of(kind: type) -> list[str]:
    """Names of the slots of a class and its bases, whatever `__slots__` says by now."""
    return [name for each in kind.__mro__ for name, value in vars(each).items() if type(value) is SLOT]


def _is_plain_container(kind: type) -> bool:
    return kind in (list, tuple, dict, set, frozenset) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))


def name_output(run: Run, value: Any, depth: int = 0, seen: dict[int, int] | None = None) -> Any:
    """An output as something that can be a key: equal only where nobody can tell the outputs apart.

    `seen`: the objects that were met so far, whose contents can be changed: one that is there twice is named so.
    """
    if depth > 12:
        raise run.ends("an output that is nested too deeply")
    seen = {} if seen is None else seen
    again = seen.get(id(value))
    if again is not None:
        return "again", again
    kind = type(value)
    if kind.__module__ in run.modules:
        check_class(run, kind)
    if kind.__module__.startswith(TAPE) or isinstance(value, Opaque):
        raise run.ends("a uniform number leaves the program")
    if value is None or kind in (bool, int, str, bytes):
        return kind.__name__, value
    if isinstance(value, int | float | complex | str | bytes) and not isinstance(value, np.generic):
        if kind not in (float, complex):
            raise run.ends(f"an output of type {kind.__name__} is not followed", "return a plain value")
    if isinstance(value, list | tuple | dict | set | frozenset) and not _is_plain_container(kind):
        raise run.ends(f"an output of type {kind.__name__} is not followed", "return a plain value")
    if kind in (float, complex) or isinstance(value, np.generic):
        return kind.__name__, np.asarray(value).dtype.str, np.asarray(value).tobytes()
    if kind not in (tuple, frozenset):
        seen[id(value)] = len(seen)
    if kind is np.ndarray and value.dtype.kind in "biufcSU":
        memory = value
        while isinstance(memory.base, np.ndarray):
            memory = memory.base
        place = seen.setdefault(id(memory), len(seen))
        return "array", place, value.shape, value.strides, value.dtype.str, value.tobytes()
    if kind is np.ndarray and value.dtype == object:
        return "objects", value.shape, tuple(name_output(run, each, depth + 1, seen) for each in value.flat)
    if isinstance(value, dict) and not getattr(value, "__dict__", None):
        parts = [
            (name_output(run, key, depth + 1, seen), name_output(run, each, depth + 1, seen))
            for key, each in value.items()
        ]
        return kind.__name__, tuple(parts)
    if kind in (set, frozenset):
        return kind.__name__, tuple(
            name_output(run, each, depth + 1, seen) for each in value
        )  # in the order that is seen
    if isinstance(value, list | tuple) and not getattr(value, "__dict__", None):
        return kind.__name__, tuple(name_output(run, each, depth + 1, seen) for each in value)
    if kind.__module__ in run.modules and hasattr(value, "__dict__") and not hasattr(kind, "__slots__"):
        own = list(vars(value).items())
        return kind.__qualname__, tuple((name, name_output(run, each, depth + 1, seen)) for name, each in own)
    raise run.ends(f"an output of type {kind.__name__} is not followed")
