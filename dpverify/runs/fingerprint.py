"""A digest of the code that an object would run, as it is loaded here and now: for blocks kept between runs.

A pickle names classes and functions; what they do is in their bytecode, and in the values that it reaches:
globals, defaults, closures, attributes of classes, also those that were set after the import. Files are part of
it for modules that are reached only when the code runs. What cannot be told apart makes digests unequal more
often than need be, never less: that costs the blocks done before.
"""

import functools
import hashlib
import io
import os
import pickle
import sys
import time
import types
from collections.abc import Iterable
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from dpverify.runs import provenance
from dpverify.runs.facts import code_files, digest_of_file, installed_roots, standard_roots
from dpverify.runs.watch import HERE

DEEPEST = 200
CODE: Any = (FunctionType, classmethod, staticmethod, property)
BUILT_IN = (
    types.BuiltinFunctionType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)


def fingerprint(*parts: Any) -> str:
    """SHA-256 of the values, of the code behind them, and of the files behind that code."""
    walk = _Walk()
    with provenance.aside():
        for part in parts:
            walk.add(part)
        walk.add(_loaded_files())
        walk.add(provenance.seen_first())
    return walk.total.hexdigest()


def prepare() -> None:
    """Looks at what is loaded now, so that processes forked from this one need not; it began before they did."""
    with provenance.aside():
        _started()
        _loaded_files()


class _Walk:
    def __init__(self) -> None:
        self.total = hashlib.sha256()
        self.seen: dict[int, int] = {}
        self.alive: list[Any] = []  # an id is one object's only while that lives
        self.depth = 0

    def add(self, value: Any) -> None:
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            self.say(type(value).__name__, repr(value))
            return
        if id(value) in self.seen:
            self.say("again", str(self.seen[id(value)]))
            return
        self.seen[id(value)] = len(self.seen)
        self.alive.append(value)
        self.say(type(value).__module__, type(value).__qualname__)
        self.depth += 1
        if self.depth < DEEPEST:
            self.inside(value)
        else:
            self.pickled(value)
        self.depth -= 1

    def say(self, *words: str) -> None:
        self.total.update("\0".join(words).encode("utf-8", "surrogateescape") + b"\n")

    def inside(self, value: Any) -> None:
        if isinstance(value, list | tuple):
            for each in value:
                self.add(each)
        elif isinstance(value, dict):
            for key, each in list(value.items()):
                self.add(key)
                self.add(each)
        elif isinstance(value, set | frozenset):
            self.say(*sorted(map(repr, value)))
        elif isinstance(value, CodeType):
            self.code(value)
        elif isinstance(value, FunctionType):
            self.function(value)
        elif isinstance(value, MethodType):
            self.add(value.__func__)
            self.add(value.__self__)
        elif isinstance(value, staticmethod | classmethod):
            self.add(value.__func__)
        elif isinstance(value, property):
            for each in (value.fget, value.fset, value.fdel):
                self.add(each)
        elif isinstance(value, functools.cached_property):
            self.add(value.func)
        elif isinstance(value, functools._lru_cache_wrapper):
            self.add(value.__wrapped__)
        elif isinstance(value, type):
            self.kind(value)
        elif isinstance(value, ModuleType):
            self.say(value.__name__)
        elif isinstance(value, BUILT_IN):
            self.say(value.__qualname__)
        else:
            self.instance(value)

    def code(self, value: CodeType) -> None:
        self.total.update(value.co_code)
        for each in (value.co_names, value.co_consts, value.co_varnames, value.co_freevars):
            self.add(each)

    def function(self, value: FunctionType) -> None:
        self.add(value.__code__)
        for each in (value.__defaults__, value.__kwdefaults__, value.__dict__):
            self.add(each)
        for cell in value.__closure__ or ():
            try:
                self.add(cell.cell_contents)
            except ValueError:  # empty
                self.say("empty")
        if _is_project(value.__globals__.get("__file__")):
            for name in _names(value.__code__):
                if name in value.__globals__:
                    self.add(name)
                    self.reached(value.__globals__[name], value.__code__)

    def reached(self, value: Any, code: CodeType) -> None:
        """A global, and where it is a module of the project those of its names that the code mentions."""
        self.add(value)
        if isinstance(value, ModuleType) and _is_project(getattr(value, "__file__", None)):
            for name in _names(code):
                if name in vars(value):
                    self.add(name)
                    self.add(vars(value)[name])

    def kind(self, value: type) -> None:
        self.say(value.__module__, value.__qualname__)
        if _is_project(getattr(sys.modules.get(value.__module__), "__file__", None)):
            for name, each in sorted(vars(value).items()):
                if not (name.startswith("__") and not isinstance(each, CODE)) and name != "_abc_impl":
                    self.add(name)
                    self.add(each)
            for base in value.__bases__:
                self.add(base)

    def instance(self, value: Any) -> None:
        self.add(type(value))
        state = getattr(value, "__dict__", None)
        if isinstance(state, dict) and _is_project(getattr(sys.modules.get(type(value).__module__), "__file__", None)):
            self.add(state)
        else:
            self.pickled(value)

    def pickled(self, value: Any) -> None:
        """The state that pickle sees; code that it would only name is walked through."""
        written = io.BytesIO()
        try:
            _Pickler(written, self).dump(value)
            self.total.update(written.getvalue())
        except Exception:  # a lock, an open file: what it holds by name, and it never equals anything
            self.say(type(value).__qualname__, os.urandom(16).hex())


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, walk: _Walk) -> None:
        super().__init__(file, protocol=5)
        self.walk = walk

    def persistent_id(self, value: Any) -> str | None:
        if not isinstance(value, FunctionType | MethodType | ModuleType | type | functools._lru_cache_wrapper):
            return None
        self.walk.add(value)
        return "walked"


def _names(code: CodeType) -> Iterable[str]:
    """Names that the code, and the code inside it, looks up."""
    found = dict.fromkeys(code.co_names)
    for each in code.co_consts:
        if isinstance(each, CodeType):
            found.update(dict.fromkeys(_names(each)))
    return found


@functools.cache
def _outside() -> tuple[str, ...]:
    return tuple(f"{root}/" for root in (*installed_roots(), *standard_roots()))


def _is_project(file: Any) -> bool:
    """Written here rather than installed: those files are few, and change."""
    return file is None or (isinstance(file, str) and not file.startswith((*_outside(), HERE + "/")))


def _loaded_files() -> list[tuple[str, str]]:
    """Files of all loaded modules: of the project by content, of what is installed by inode and time of its change.

    Content that changes without that time is for those who set clocks. A file of the project that has changed since
    this process began may not be what was loaded: it never equals anything.
    """
    found = [("dpverify", provenance.ours()["dpverify"])]
    for place in {_behind(name, module) for name, module in list(sys.modules.items())} - {HERE, ""}:
        if not _is_project(place):
            found.append((place, _stamps(place)))
            continue
        changed = Path(place).stat().st_ctime if os.path.exists(place) else 0.0
        found.append((place, digest_of_file(place) if changed < _started() else os.urandom(16).hex()))
    return sorted(found)


_looked_at: dict[str, tuple[Any, str]] = {}  # by name, a module and what is behind it: there are thousands


def _behind(name: str, module: Any) -> str:
    """Its file in the project, or the installed package that it belongs to; empty where there is none."""
    if name not in _looked_at or _looked_at[name][0] is not module:
        place: Any = getattr(module, "__file__", None)
        behind = "" if not isinstance(place, str) else place if _is_project(place) else _unit(place)
        _looked_at[name] = module, behind
    return _looked_at[name][1]


def _unit(place: str) -> str:
    root = next((each for each in _outside() if place.startswith(each)), None)
    return root + place[len(root) :].partition("/")[0] if root else HERE


@functools.cache
def _stamps(unit: str) -> str:
    total = hashlib.sha256()
    for file in code_files(unit):
        try:
            found = os.stat(file)
        except OSError:
            continue
        total.update(f"{file} {found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}\n".encode())
    return total.hexdigest()


@functools.cache
def _started() -> float:
    """When this process began, in seconds, up to a tick (10 ms) early: it loads nothing before that."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        running = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        return time.time() - running
    except (OSError, AttributeError, ValueError, IndexError):
        return provenance.LOADED / 1e9 - 5.0
