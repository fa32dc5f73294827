"""What is proved: a function of the data, a class that has `release`, or an object of such a class.

The proof works on fresh copies of modules, so a class is made anew there, and an object is rebuilt: an object of the
fresh class with the same attributes.
"""

import enum
import functools
import inspect
import random
import sys
import sysconfig
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpverify.proof.ending import Ending, ProofEnds
from dpverify.proof.plain import slots_of
from dpverify.proof.programs import is_below, load, source_file
from dpverify.proof.rewriting import PROOF
from dpverify.proof.run import Run
from dpverify.proof.state import PLAIN
from dpverify.proof.terms import Draw, Opaque, Source

OWN = "dpverify.proof."
LIBRARIES = tuple(sysconfig.get_path(each) for each in ("stdlib", "platstdlib", "purelib", "platlib"))
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
    if inspect.isclass(target) or (callable(target) and not hasattr(target, "release")):
        return target
    return type(target)


def callable_in(run: Run, module: types.ModuleType, target: Any, arguments: Mapping[str, Any]) -> "Callable_":
    """What takes the data, in a fresh module, with what has to be the same after the call.

    Parameters
    ----------
    run : Run
        The run that the fresh module belongs to.
    module : module
        A fresh copy of the module that `written_as(target)` was written in.
    target : callable, class or object
        What is proved.
    arguments : mapping
        Arguments of the function, or of the constructor of a class.

    Returns
    -------
    Callable_
        The function, or `release` of a fresh object, its arguments, and what has to be the same after the call.
    """
    found = find(module, written_as(target))
    copies = Copies(run)
    given = {name: copies.of(each) for name, each in arguments.items()}
    if is_class(target):
        made = found(**given)
        called = Callable_(made.release, {}, [made, given])
    elif hasattr(target, "release") and not inspect.isclass(target):
        made = copies.of(target)
        called = Callable_(made.release, given, [made, given])
    else:
        called = Callable_(found, given, [given])
    if run.plain is None:
        check_memory(run, written_as(target))
    return called


@dataclass(frozen=True)
class Callable_:
    """A function of the data in a fresh module.

    Parameters
    ----------
    function : callable
        The function or bound method.
    arguments : dict
        Its other arguments, which were given.
    kept : list
        Objects whose state has to be the same after the call.
    """

    function: Any
    arguments: dict[str, Any]
    kept: list[Any]


def check_memory(run: Run, written: Any) -> None:
    """Ends the proof where modules of the program are not in memory what their files say.

    Of all names that the code may read: numbers, texts and lists of them, attributes of classes, default values, and
    where functions were written are compared. Somebody has set them since the import, or it does not always set them
    alike.
    """
    check_name(run, written)
    names = names_read(run, written)
    for file, fresh in list(run.loaded.items()):
        module = next((sys.modules[name] for name in (fresh.__name__, "__main__") if _is_of(name, file)), None)
        if module is not None:
            _compare(run, fresh.__name__, vars(fresh), vars(module), file, names)


def names_read(run: Run, written: Any) -> set[str]:
    """Names that a function or class may read: those in its code, in the code of what has one of these names, ..."""
    codes: dict[str, list[Any]] = {}
    for fresh in list(run.loaded.values()):
        for name, value in vars(fresh).items():
            codes.setdefault(name, []).extend(_codes_of(value, set()))
    names = {part for each in (written, *getattr(written, "__mro__", ())) for part in each.__qualname__.split(".")}
    done: set[str] = set()
    while names - done:
        for name in names - done:
            done.add(name)
            for code in codes.get(name, ()):
                names |= set(code.__qualname__.split(".")) if isinstance(code, type) else _names_in(code)
    return names


def _codes_of(value: Any, seen: set[int]) -> list[Any]:
    """The code of a function and of what it holds; a class, its bases, its own class and all their methods."""
    home = type(value).__module__
    home = home if isinstance(home, str) else ""  # a class may have an attribute of this name
    if id(value) in seen or home.startswith(OWN):  # a generator of the proof, its hooks
        return []
    seen.add(id(value))
    parts: list[Any] = []
    if isinstance(value, type):
        parts = [type(value), *(each for kind in value.__mro__[:-1] for each in vars(kind).values())]
        return [*value.__mro__[:-1], *(code for each in parts for code in _codes_of(each, seen))]
    elif isinstance(value, property):
        parts = [value.fget, value.fset, value.fdel]
    elif isinstance(value, functools.partial):
        parts = [value.func, *value.args, *value.keywords.values()]
    elif isinstance(value, staticmethod | classmethod | functools.cached_property):
        parts = [value.__func__ if hasattr(value, "__func__") else value.func]
    elif isinstance(value, list | tuple | set | frozenset):
        parts = list(value)
    elif isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, types.FunctionType):
        parts = [each.cell_contents for each in value.__closure__ or () if _is_filled(each)]
        parts += [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values(), *vars(value).values()]
        return [value.__code__, *(code for each in parts for code in _codes_of(each, seen))]
    elif not isinstance(value, types.ModuleType) and home != "builtins":
        held = [getattr(value, name, None) for name in slots_of(type(value))]
        parts = [type(value), *held, *getattr(value, "__dict__", {}).values()]
    return [code for each in parts for code in _codes_of(each, seen)]


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - an empty one raises
    except ValueError:
        return False
    return True


def _names_in(code: types.CodeType) -> set[str]:
    found = set(code.co_names)
    for each in code.co_consts:
        if isinstance(each, str):
            found.add(each)
        elif isinstance(each, tuple):
            found |= {part for part in each if isinstance(part, str)}
        elif isinstance(each, types.CodeType):
            found |= _names_in(each)
    return found


def check_name(run: Run, written: Any) -> None:
    """Ends the proof where a function or class is not the one that its module has under its name."""
    parts = getattr(written, "__qualname__", "").split(".")
    space = getattr(written, "__globals__", None) or vars(sys.modules.get(written.__module__, types))
    found = space.get(parts[0])
    for part in parts[1:]:
        found = getattr(found, part, None)
    if found is not written:
        raise run.ends(f"{'.'.join(parts)} is not what its module has under this name", "hand over that one")


def _is_of(name: str, file: str) -> bool:
    known = getattr(sys.modules.get(name), "__file__", None)
    return known is not None and Path(known).resolve() == Path(file)


def _compare(
    run: Run, owner: str, fresh: Mapping[str, Any], live: Mapping[str, Any], file: str, names: set[str]
) -> None:
    in_class = not isinstance(fresh, dict)
    listed = fresh.keys() | live.keys()
    for name in sorted(listed & (names | {each for each in listed if in_class and each.startswith("__")})):
        # names of pytest, such as @py_builtins, are no identifiers: no program reads them
        new, old = fresh.get(name), live.get(name)
        called = in_class and any(isinstance(each, types.FunctionType) for each in (new, old))  # `__init__`
        if (name.startswith(("__", PROOF)) and not called) or not name.isidentifier():
            continue
        if isinstance(new, Source) and new.seeded:  # which ends the proof where it draws
            continue
        if isinstance(new, Opaque) and isinstance(old, PLAIN):  # a draw of the import: the proof is for any value of it
            continue
        if isinstance(new, type) and isinstance(old, type) and _written_in(new, owner):
            _compare(run, f"{owner}.{name}", vars(new), vars(old), file, names)
        elif _form(new) != _form(old) or not _same_place(new, old, file):
            raise another_in_memory(run, f"{owner}.{name}")


def another_in_memory(run: Run, name: str) -> ProofEnds:
    """What ends the proof where somebody has set an object since the import."""
    return run.ends(
        f"{name} is another one in memory than in a fresh copy of its file",
        "import it anew, and set nothing from outside",
    )


def _written_in(kind: type, owner: str) -> bool:
    return f"{kind.__module__}.{kind.__qualname__}".startswith(owner)


def _form(value: Any, depth: int = 0) -> Any:
    """Plain values in a form that can be compared; None for anything else."""
    if value is None or isinstance(value, PLAIN):
        return (type(value).__name__, repr(value))
    if isinstance(value, enum.Enum):
        return ("member", type(value).__qualname__, value.name)
    if isinstance(value, list | tuple | set | frozenset) and depth < 6:
        parts = [_form(each, depth + 1) for each in value]
        return (type(value).__name__, *(sorted(parts, key=repr) if isinstance(value, set | frozenset) else parts))
    if isinstance(value, dict) and depth < 6:
        return (type(value).__name__, *((_form(key, depth + 1), _form(each, depth + 1)) for key, each in value.items()))
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return ("array", value.shape, value.dtype.str, value.tobytes())
    if isinstance(value, Source | np.random.Generator | np.random.RandomState | random.Random):
        return ("generator", isinstance(value, np.random.Generator) and _is_seeded(value.bit_generator))
    if isinstance(value, Draw):
        return ("draw", value.name, _form(value.source))
    if isinstance(getattr(value, "__self__", None), np.random.Generator | np.random.RandomState | random.Random):
        return ("draw", value.__name__, _form(value.__self__))
    if isinstance(value, types.FunctionType):
        kept = (value.__defaults__, value.__kwdefaults__, {k: v for k, v in vars(value).items() if k[0] != "_"})
        own = depth < 6 and not value.__code__.co_filename.startswith(LIBRARIES)  # theirs may hold a cache
        cells = [each.cell_contents for each in value.__closure__ or () if own and _is_filled(each)]
        place = value.__qualname__, value.__code__.co_firstlineno
        return ("function", *place, *(_form(each, depth + 1) for each in (*cells, *kept)))
    if isinstance(value, functools.partial):
        return ("partial", *(_form(each, depth + 1) for each in (value.func, value.args, value.keywords)))
    plain = not isinstance(value, type | types.ModuleType)
    if plain and (slots := slots_of(type(value))):
        held = {name: getattr(value, name, None) for name in slots}
        return ("object", type(value).__qualname__, _form({**getattr(value, "__dict__", {}), **held}, depth + 1))
    if plain and isinstance(getattr(value, "__dict__", None), dict):
        return ("object", type(value).__qualname__, _form(dict(vars(value)), depth + 1) if depth < 6 else None)
    return ("other", type(value).__qualname__)


def _is_seeded(bits: np.random.BitGenerator) -> bool:
    """Whether a generator was given a seed, or a state that is not that of its seed.

    Entropy of the system has 128 bits, of which the upper half is 0 by chance once in 2^64. The increment of PCG64 is
    made from the seed and stays what it is, however much is drawn.
    """
    seed = bits.seed_seq
    if not isinstance(seed, np.random.SeedSequence) or not isinstance(seed.entropy, int):
        return True
    anew = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key, pool_size=seed.pool_size)
    set_since = type(bits) is np.random.PCG64 and bits.state["state"]["inc"] != type(bits)(anew).state["state"]["inc"]
    return seed.entropy.bit_length() <= 64 or set_since


def _same_place(new: Any, old: Any, file: str) -> bool:
    """Whether both are functions of the same line, or none is a function of this file."""
    code = getattr(new, "__code__", None)
    if not isinstance(new, types.FunctionType) or code is None or Path(code.co_filename) != Path(file):
        return True
    own = getattr(old, "__code__", None)
    return own is not None and Path(own.co_filename).resolve() == Path(file) and own in _codes_of_file(file)


@functools.lru_cache(maxsize=64)
def _compiled(text: str, file: str) -> frozenset[types.CodeType]:
    """All code of a source text."""
    waiting = [compile(text, file, "exec", dont_inherit=True)]
    found = set()
    while waiting:
        code = waiting.pop()
        found.add(code)
        waiting += [each for each in code.co_consts if isinstance(each, types.CodeType)]
    return frozenset(found)


def _codes_of_file(file: str) -> frozenset[types.CodeType]:
    """The code that the file has now: a function of an older text, or whose code was set, is another one."""
    return _compiled(Path(file).read_text(encoding="utf-8"), file)


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


class Copies:
    """Values made again with fresh objects in place of those whose classes are the program's own.

    An object is made by its constructor, so that what the constructor does beside setting attributes is done, too: its
    arguments are the attributes of the same names. What then has other attributes than the object that was handed
    over cannot be made again. One object stays one object, however often it is held.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._made: dict[int, Any] = {}
        self._kept: list[Any] = []

    def of(self, value: Any, depth: int = 0) -> Any:
        """The copy of a value; `ProofEnds` for generators, which others may have read, and what cannot be made."""
        if depth > DEEPEST:
            raise self._run.ends("an argument or object holds objects in more than 12 levels")
        if id(value) not in self._made:
            self._kept.append(value)  # its number stays its own
            self._made[id(value)] = self._copy(value, depth)
        return self._made[id(value)]

    def _copy(self, value: Any, depth: int) -> Any:
        run = self._run
        if isinstance(value, enum.Enum):
            own = _fresh_class(run, type(value))
            return value if own is None else own[value.name]
        if isinstance(value, PLAIN):
            return value
        known = _of_module(run, value)
        if known is not None:
            return known
        if type(value) is np.ndarray and value.dtype.kind in "biufcSU" and value.base is None and value.flags.writeable:
            return value.copy()
        if type(value) in (list, tuple, set, frozenset):
            return type(value)(self.of(each, depth + 1) for each in value)
        if type(value) is dict:
            return {self.of(key, depth + 1): self.of(each, depth + 1) for key, each in value.items()}
        if isinstance(value, type):
            own = _fresh_class(run, value)
            return value if own is None else own
        if isinstance(value, types.FunctionType) and not value.__closure__:
            return _fresh_function(run, value)
        fresh = _fresh_class(run, type(value))
        if fresh is not None:
            return self._made_by_its_class(value, fresh, depth)
        if type(value).__module__.partition(".")[0] == "dpverify" and _is_frozen(type(value)):
            return value  # claims, ledgers, sensitivities: they never change
        raise run.ends(
            f"an argument or object holds a {type(value).__name__}, which cannot be made again",
            "hand over the class, or a function",
        )

    def _made_by_its_class(self, value: Any, fresh: Any, depth: int) -> Any:
        run, name = self._run, type(value).__name__
        try:
            held = dict(vars(value))
            parameters = list(inspect.signature(type(value)).parameters.values())
        except (TypeError, ValueError):
            raise run.ends(f"an object of {name} cannot be made again", "hand over the class, or a function") from None
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        asked = [each for each in parameters if each.name in held or each.default is each.empty]
        if any(each.kind not in named or each.name not in held for each in asked):
            raise run.ends(
                f"an object of {name} does not keep the arguments that it was made of", "hand over the class"
            )
        made = fresh(**{each.name: self.of(held[each.name], depth + 1) for each in asked})
        own = vars(made)
        for attribute, each in held.items():
            if isinstance(getattr(type(value), attribute, None), functools.cached_property):
                continue
            copy = self.of(each, depth + 1)
            if attribute not in own or not _is_alike(own[attribute], copy):
                raise run.ends(f"{attribute} of an object of {name} was set after it was made", "hand over the class")
        if own.keys() - held.keys():
            raise run.ends(f"an object of {name} has lost attributes since it was made", "hand over the class")
        return made


def _of_module(run: Run, value: Any) -> Any:
    """The fresh object in place of one that a module holds under a name; None for others."""
    for file, fresh in list(run.loaded.items()):
        live = next((sys.modules[name] for name in (fresh.__name__, "__main__") if _is_of(name, file)), None)
        for name, each in vars(live).items() if live is not None else ():
            if each is value and name in vars(fresh):
                own = vars(fresh)[name]
                if _form(own) != _form(value):
                    raise another_in_memory(run, f"{fresh.__name__}.{name}")
                return own
    return None


def _is_alike(first: Any, second: Any) -> bool:
    """Whether two values are one object or plain values that are equal."""
    form = _form(first)
    return first is second or (form is not None and form == _form(second))


def _is_frozen(kind: type) -> bool:
    parameters = getattr(kind, "__dataclass_params__", None)
    return parameters is not None and bool(parameters.frozen)


def _fresh_class(run: Run, written: type) -> Any:
    """The class in a fresh copy of its module; None where it is not the program's own."""
    file = source_file(written)
    if file is None or not is_below(file, run.root):
        return None
    check_name(run, written)
    try:
        return find(load(run, file, written.__module__), written)
    except Unfound as error:
        raise run.ends(error.ending.reason) from error


def _fresh_function(run: Run, function: Callable[..., Any]) -> Any:
    file = source_file(function)
    if file is None or not is_below(Path(file), run.root):
        return function
    check_name(run, function)
    try:
        return find(load(run, file, function.__module__), function)
    except Unfound as error:
        raise run.ends(error.ending.reason) from error
