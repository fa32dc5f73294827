"""What is in the memory that a program can reach: objects, what each of them holds, and how two looks at them compare.

Each object is looked at once, whatever holds it, as deep as it goes. What it holds is read from its memory, not by its
own methods. A type whose memory is not known is no object that can be compared: `Unreadable`.
"""

import abc
import array
import collections
import contextvars
import datetime
import decimal
import fractions
import functools
import gc
import io
import itertools
import logging
import operator
import pathlib
import random
import re
import struct
import sys
import threading
import types
import typing
import uuid
import weakref
import zoneinfo
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from dpverify.proof.run import Run
from dpverify.proof.terms import Opaque, RowPart, Running, Source, Symbol

MOST_OBJECTS = 100_000  # that are looked at
MOST_ENTRIES = 1_000_000  # of containers, in all
DEEPEST = 100  # tuples within tuples
ADDED_UP = ("added up",)  # a number that a loop over rows adds to: it may have been any number before
APPENDED = ("appended",)  # an entry that a loop over rows has appended to a list
SLOT = types.MemberDescriptorType
MADE_BY_PROGRAMS = 1 << 9  # a flag of classes that are no constants of a compiled module
MANAGED_DICT, MANAGED_WEAKREF = 1 << 4, 1 << 3  # flags of a type whose objects keep these outside of their memory
POINTER = struct.calcsize("P")


class Unreadable(Exception):
    """What is reached cannot be compared; the text says what it is."""


class Memory:
    """What can be reached from some names, at one moment.

    Parameters
    ----------
    run : Run
        The run.
    leave_out : callable
        (owner, name, value): an attribute of an object that is not looked at.
    """

    def __init__(self, run: Run, leave_out: Callable[[Any, str, Any], bool] = lambda owner, name, value: False) -> None:
        self.run = run
        self.names: dict[str, Any] = {}
        self._leave_out = leave_out
        self._objects: dict[int, Any] = {}  # kept alive, so that no other object gets its place
        self._found: dict[int, tuple[Any, ...]] = {}  # what they hold
        self._attributes: dict[type, bool] = {}  # whether objects of a class have any
        self._waiting: list[Any] = []
        self._bases: dict[type, type | None] = {}
        self._entries = 0
        self.holds_data = False  # or noise, or released values

    def add(self, name: str, value: Any) -> None:
        """Looks at a value under a name."""
        self.names[name] = self._mark(value)
        while self._waiting:
            each = self._waiting.pop()
            found = self._content(each)
            self._entries += len(found)
            if len(self._objects) > MOST_OBJECTS or self._entries > MOST_ENTRIES:
                raise Unreadable("more objects than are looked at")
            self._found[id(each)] = found

    @property
    def objects(self) -> dict[int, Any]:
        """Everything that was looked at, by its place."""
        return self._objects

    def is_same(self, later: "Memory") -> bool:
        """Whether nothing at all is another one at a later moment."""
        return self.names == later.names and self._found == later._found

    def is_kept(self, later: "Memory", name: str, *, same_objects: bool) -> bool:
        """Whether what a name reaches is the same at a later moment; `same_objects`: not only equal ones."""
        if (name in self.names) != (name in later.names):
            return False
        waiting = [(self.names[name], later.names[name])]
        seen: set[tuple[_At, _At]] = set()
        while waiting:
            before, after = waiting.pop()
            if after == ADDED_UP or before is after:
                continue
            if type(before) is not type(after):
                return False
            if isinstance(before, _At):
                if (before, after) in seen:
                    continue
                if same_objects and before != after:
                    return False
                seen.add((before, after))
                waiting.append((self._found[before[0]], later._found[after[0]]))
            elif isinstance(before, tuple):
                if len(before) != len(after):
                    return False
                waiting += zip(before, after, strict=True)
            elif before != after:
                return False
        return True

    # ------------------------------------------------------------------------------------------------------------------

    def _mark(self, value: Any, depth: int = 0) -> Any:
        """A value as what can be compared: a plain one by itself, another one by its place among the objects."""
        kind = type(value)
        if kind in AS_THEY_ARE:
            return (kind, value)
        if kind in AS_TEXT:
            return (kind, repr(value))
        self.holds_data = self.holds_data or isinstance(value, Opaque) or id(value) in self.run.promoted
        if isinstance(value, Running):
            return ADDED_UP
        if isinstance(value, RowPart):
            return APPENDED
        if isinstance(value, Symbol):
            return ("symbol", id(value if self.run.scope is not None else value.term))
        if kind is tuple or kind is frozenset:
            if depth > DEEPEST:
                raise Unreadable("a value that is nested too deeply")
            self._entries += len(value)
            return (kind, tuple(self._mark(each, depth + 1) for each in value))
        if id(value) not in self._objects:
            self._objects[id(value)] = value
            self._waiting.append(value)
        return _At((id(value),))

    def _marks(self, values: Any) -> tuple[Any, ...]:
        return tuple(self._mark(each) for each in values)

    def _content(self, value: Any) -> tuple[Any, ...]:
        """What an object holds."""
        kind = type(value)
        if hasattr(kind, "__next__"):
            self.run.kept_iterators.add(id(value))
        if isinstance(value, Source):
            return ("source", value.seeded)
        if isinstance(value, types.ModuleType):  # those of the program are looked at by themselves
            own = any(value is each for each in self.run.loaded.values())
            return ("module", id(value), () if own else _shallow(vars(value)))
        if isinstance(value, type | types.FunctionType) and is_of_library(self.run, value):
            return ("this", id(value))
        if isinstance(value, type):
            return (
                "class",
                id(value),
                *self._named(list(vars(value).items())),
                self._marks(value.__mro__[1:]),
                self._mark(kind),
            )
        if kind not in self._bases:
            self._bases[kind] = self._base_of(kind)
        base = self._bases[kind]
        if base is None or (kind not in READERS and _is_own_name_of(self.run, kind, value)):
            return ("this", id(value))
        parts, held = READERS[base](value)
        if kind in BY_VALUE:
            return (kind.__name__, *parts, *(each for each in self._marks(held) if each is not APPENDED))
        if isinstance(value, np.ndarray) and id(value) in self.run.promoted:
            return ("data", id(value))
        if kind is np.ndarray:
            return ("array", *parts, *self._marks(held))
        if kind not in self._attributes:
            self._attributes[kind] = bool(list(_places_of(kind)))
        kept = [
            (name, each)
            for name, each in (attributes_of(value) if self._attributes[kind] else ())
            if not (self._leave_out(value, name, each) or (name in OF_PANDAS and isinstance(value, PANDAS)))
        ]
        return (id(value), *parts, *self._marks(held), self._named(kept), self._mark(kind))

    def _base_of(self, kind: type) -> type | None:
        """The known class that an object of this class is of, beside its attributes; None: it stays as it is."""
        if issubclass(kind, Opaque) or (_is_fixed(kind) and is_of_library(self.run, kind)):
            return None
        base = next(each for each in kind.__mro__ if each in READERS)
        if kind is not base and _hidden_memory(kind, base):
            raise Unreadable(f"an object of type {kind.__name__}")
        return base

    def _named(self, values: Any) -> tuple[Any, ...]:
        return tuple((self._mark(name), self._mark(each)) for name, each in values)


class _At(tuple[int]):
    """The place of an object."""

    __slots__ = ()


def attributes_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Attributes that an object keeps in its `__dict__` and its slots, whatever its class says of them."""
    for name, descriptor in _places_of(type(value)):
        if name == "__dict__":
            yield from list(descriptor.__get__(value).items())
            continue
        try:
            yield name, descriptor.__get__(value)
        except AttributeError:
            continue


def _places_of(kind: type) -> Iterator[tuple[str, Any]]:
    """Where objects of a class keep their attributes."""
    if kind is types.FunctionType:
        yield "__dict__", vars(kind)["__dict__"]
        return
    for each in kind.__mro__:
        for name, descriptor in list(vars(each).items()):
            if name == "__dict__" and isinstance(descriptor, SLOT | types.GetSetDescriptorType):
                yield name, descriptor
            elif isinstance(descriptor, SLOT) and "__slots__" in vars(each):
                yield name, descriptor


def _hidden_memory(kind: type, base: type) -> int:
    """How many bytes objects of a class have beyond those of a base and beyond their attributes."""
    found = kind.__basicsize__ - base.__basicsize__
    for each in kind.__mro__[: kind.__mro__.index(base)]:
        if "__slots__" in vars(each):
            found -= POINTER * sum(isinstance(part, SLOT) for part in vars(each).values())
    if kind.__dictoffset__ != base.__dictoffset__ and not kind.__flags__ & MANAGED_DICT:
        found -= POINTER
    if kind.__weakrefoffset__ != base.__weakrefoffset__ and not kind.__flags__ & MANAGED_WEAKREF:
        found -= POINTER
    return found


def is_of_library(run: Run, value: Any) -> bool:
    """Whether a class or function is the one that a module of the process, not of the program, has under its name."""
    if isinstance(value, type) and not value.__flags__ & MADE_BY_PROGRAMS:
        return True
    if value.__module__ in run.modules:
        return False
    found: Any = sys.modules.get(value.__module__)
    for part in value.__qualname__.split("."):
        found = vars(found).get(part) if isinstance(found, types.ModuleType | type) else None
    return found is value


def reaches_data(run: Run, value: Any) -> bool:
    """Whether a value holds data, noise or released values, however deep in it; what cannot be read may hold them."""
    found = Memory(run)
    try:
        found.add("", value)
    except Unreadable:
        return True
    return found.holds_data


def _is_own_name_of(run: Run, kind: type, value: Any) -> bool:
    """Whether an object of a library stands in the module of its class, as `scipy.stats.norm` does."""
    if not is_of_library(run, kind):
        return False
    return any(each is value for each in vars(sys.modules[kind.__module__]).values())


def _is_fixed(kind: type) -> bool:
    return kind.__module__.startswith(OURS) or any(each in FIXED for each in kind.__mro__)


def _shallow(names: dict[str, Any]) -> tuple[Any, ...]:
    return tuple((name, id(each)) for name, each in list(names.items()) if not issubclass(type(each), types.ModuleType))


# ----------------------------------------------------------------------------------------------------------------------
# What objects of known types hold: what can be compared, and other objects

Parts = tuple[tuple[Any, ...], list[Any]]


def _of_function(value: Any) -> Parts:
    cells = [_of_cell(each) for each in value.__closure__ or ()]
    if value.__code__.co_filename == functools.__file__:  # singledispatch remembers what it has found
        cells = [each for each in cells if not isinstance(each, weakref.WeakKeyDictionary)]
    return (), [value.__code__, value.__defaults__, value.__kwdefaults__, *cells]


def _of_cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _of_builtin(value: Any) -> Parts:
    owner = value.__self__
    return (value.__name__,), [] if isinstance(owner, types.ModuleType) else [owner]


def _of_array(value: Any) -> Parts:
    shape = (value.shape, value.strides, value.dtype.str)
    return (*shape, value.tobytes() if value.dtype != object else b""), list(value.flat) * (value.dtype == object)


def _of_frame(value: Any) -> Parts:
    columns = [value.iloc[:, at].to_numpy() for at in range(value.shape[1])]
    return (), [value.index.to_numpy(), value.columns.to_numpy(), value.attrs, *columns]


def _of_series(value: Any) -> Parts:
    return (), [value.index.to_numpy(), value.to_numpy(), value.name, value.attrs]


def _referents(value: Any) -> Parts:
    return (), list(gc.get_referents(value))


def _of_generator(value: Any) -> Parts:
    frame = value.gi_frame
    return (-1 if frame is None else frame.f_lasti,), [] if frame is None else list(frame.f_locals.values())


EMPTY: tuple[Any, ...] = ([], (), {}, set(), "", b"", range(0), {}.values(), {}.items())
ITERATORS: tuple[Any, ...] = (
    *(type(iter(each)) for each in EMPTY),
    type(iter(range(2**70))),
    type(iter(lambda: 0, 0)),
    type(reversed([])),
    type(reversed({})),
    *(map, filter, zip, enumerate, reversed),
    *(each for each in vars(itertools).values() if isinstance(each, type)),
)
READERS: dict[type, Callable[[Any], Parts]] = {
    object: lambda value: ((), []),
    **{
        kind: (lambda own: lambda value: ((own.__repr__(value),), []))(kind)
        for kind in (bool, int, float, complex, str, bytes, bytearray)
    },
    list: lambda value: ((), list(list.__iter__(value))),
    tuple: lambda value: ((), list(tuple.__iter__(value))),
    set: lambda value: ((), list(set.__iter__(value))),
    frozenset: lambda value: ((), list(frozenset.__iter__(value))),
    dict: lambda value: ((), [*itertools.chain(*dict.items(value))]),
    collections.OrderedDict: lambda value: ((), [*itertools.chain(*collections.OrderedDict.items(value))]),
    collections.defaultdict: lambda value: ((), [value.default_factory, *itertools.chain(*dict.items(value))]),
    collections.deque: lambda value: ((value.maxlen,), list(collections.deque.__iter__(value))),
    array.array: lambda value: ((value.typecode, value.tobytes()), []),
    memoryview: lambda value: ((value.tobytes(),), [value.obj]),
    types.MappingProxyType: _referents,
    type({}.keys()): _referents,
    type({}.values()): _referents,
    type({}.items()): _referents,
    slice: lambda value: ((), [value.start, value.stop, value.step]),
    types.CellType: lambda value: ((), [_of_cell(value)]),
    types.FunctionType: _of_function,
    types.MethodType: lambda value: ((), [value.__self__, value.__func__]),
    types.BuiltinFunctionType: _of_builtin,
    types.MethodWrapperType: lambda value: ((value.__name__,), [value.__self__]),
    types.GeneratorType: _of_generator,
    types.SimpleNamespace: lambda value: ((), []),
    staticmethod: lambda value: ((), [value.__func__]),
    classmethod: lambda value: ((), [value.__func__]),
    property: lambda value: ((), [value.fget, value.fset, value.fdel]),
    super: _referents,
    weakref.ref: lambda value: ((), [value()]),
    BaseException: lambda value: ((), [value.args, value.__cause__, value.__context__]),
    functools.partial: lambda value: ((), [value.func, value.args, value.keywords]),
    type(functools.lru_cache(lambda: None)): lambda value: ((repr(value.cache_info()),), gc.get_referents(value)),
    type(functools.cmp_to_key(lambda a, b: 0)): _referents,
    operator.itemgetter: _referents,
    operator.attrgetter: _referents,
    operator.methodcaller: _referents,
    io.StringIO: lambda value: ((value.getvalue(), value.tell()), []),
    io.BytesIO: lambda value: ((value.getvalue(), value.tell()), []),
    type(np.random.Generator(np.random.PCG64(0)).laplace): lambda value: ((value.__name__,), [value.__self__]),
    contextvars.ContextVar: lambda value: ((value.name,), [value.get(None)]),
    decimal.Context: lambda value: ((repr(value),), []),
    np.generic: lambda value: ((value.dtype.str, value.tobytes()), []),
    np.ndarray: _of_array,
    pd.DataFrame: _of_frame,
    pd.Series: _of_series,
    pd.Index: lambda value: ((), [value.to_numpy(), *value.names]),
    **{kind: lambda value: ((repr(value),), gc.get_referents(value)) for kind in ITERATORS},
}
AS_THEY_ARE = frozenset((type(None), bool, int, str, bytes, type(...), type(NotImplemented), types.CodeType))
AS_TEXT = frozenset((float, complex, range, fractions.Fraction, decimal.Decimal))
BY_VALUE = frozenset((list, set, dict))  # equal ones are alike where it does not matter which object it is
FIXED = frozenset(  # objects that stay what they are, or whose state no loop over rows can read
    (
        np.dtype,
        np.ufunc,
        np.random.Generator,
        np.random.RandomState,
        np.random.BitGenerator,
        np.random.SeedSequence,
        random.Random,
        re.Pattern,
        re.Match,
        datetime.date,
        datetime.time,
        datetime.timedelta,
        datetime.tzinfo,
        zoneinfo.ZoneInfo,
        pathlib.PurePath,
        uuid.UUID,
        struct.Struct,
        logging.Logger,
        logging.Handler,
        io.TextIOWrapper,
        io.BufferedIOBase,
        io.RawIOBase,
        type(threading.Lock()),
        type(threading.RLock()),
        threading.local,
        types.WrapperDescriptorType,
        types.MethodDescriptorType,
        types.ClassMethodDescriptorType,
        types.GetSetDescriptorType,
        types.MemberDescriptorType,
        types.GenericAlias,
        types.UnionType,
        typing.TypeVar,
        typing.ParamSpec,
        type(np.sum),  # a function of NumPy that other libraries may take over
        type(vars(abc.ABC)["_abc_impl"]),
        type(vars(collections.namedtuple("_", "a"))["a"]),
    )
)
PANDAS = (pd.DataFrame, pd.Series, pd.Index)
OF_PANDAS = frozenset(  # attributes in which they keep what is read of them otherwise
    """_mgr _item_cache _attrs _flags _name _names _index _cache _data _id _references _no_setting_name _is_copy
    _cacher _range _levels _codes _sortorder _freq _hidden_attrs _accessors""".split()
)
OURS = ("dpverify.proof.", "dpverify.tape.")
