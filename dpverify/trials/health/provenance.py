"""What may have happened before the first release: lines of the target's own source that draw, or set a seed.

The tape sees what a run draws. It does not see noise that was drawn when a module was imported or an object was made
(on an instance, a class, in a closure, a default value, a cache), nor draws in a branch that no run has met, nor a seed
that makes the noise of a global generator known. All of them stand in the source. It is read and not run: the
definitions that the target's code names, through its own modules (installed packages and this one are left out).

What cannot be read counts as a line that draws: a refutation without statistics rests on knowing all randomness.
"""

import ast
import functools
import linecache
import random
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from dpverify.base.sites import INSTALLED, Site
from dpverify.trials.target import is_reproducible

NOT_OWN = (*INSTALLED, str(Path(__file__).resolve().parents[2]) + "/", "<frozen ")
UNREADABLE: Site = ("source that cannot be read", 0)
DEPTH = 6  # of objects in objects
CONSTRUCTORS = ("__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__")
STREAMS = {"rng", "generator", "gen", "prng", "random_state", "rs"}
MAKERS = ("default_rng", "RandomState", "Random")
DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

_SAMPLERS = {name for kind in (np.random.Generator, np.random.RandomState, random.Random) for name in dir(kind)}
_NO_DRAW = {"bit_generator", "spawn", "seed", "getstate", "setstate", "get_state", "set_state", "f", "power", "bytes"}
DRAWS = {name for name in _SAMPLERS if not name.startswith("_")} - _NO_DRAW | {
    "rvs",
    "ranf",
    "token_bytes",
    "token_hex",
    "token_urlsafe",
    "randbelow",
    "randbits",
    "urandom",
    "getrandom",
    "uuid1",
    "uuid4",
    "SeedSequence",
    "generate_state",
    "random_raw",
    "rand_like",
    "randn_like",
    "normal_",
    "uniform_",
    "exponential_",
}


def unseen_draws(target: Any, seen: Iterable[Site]) -> list[Site]:
    """Lines of the target's own source that draw random numbers, without those of `seen`."""
    lines = set(seen)
    reach = _Reach(_code_of(target))
    own = reach.functions
    found = [] if reach.complete else [UNREADABLE]
    for file, node in reach.nodes:
        for call in _calls(node):
            given = any(each.arg == "random_state" for each in call.keywords)  # drawn from there
            drawn = _draws(call) and _name(call) not in own and not given
            if drawn and not any((file, line) in lines for line in range(call.lineno, _end(call) + 1)):
                found.append((file, call.lineno))
    return list(dict.fromkeys(found))


def drawn_before(target: Any) -> list[Site]:
    """Lines whose draws may be kept from one release to the next.

    Those of imports, constructors, closures and default values, and in a function those from a generator that is no
    parameter of it: what a function draws may be kept in more ways than can be read from its text. Numbers from a seed
    that stands there are known to everybody: they are no noise, and not counted. In a target that need not give the
    same releases for the same stream, a generator of its own is also a place where its draws may go unseen.
    """
    free = not is_reproducible(target)
    reach = _Reach(_code_of(target))
    own, handed = reach.functions, reach.handed
    seeded = {file: reach.seeded(file) for file in {file for file, _ in reach.nodes}}
    found = []
    for file, node in reach.nodes:
        function = _is_function(node)
        lambdas = {id(call) for each in _walk(node) if isinstance(each, ast.Lambda) for call in _calls(each)}
        given = {each.arg for each in _walk(node) if isinstance(each, ast.arg)} - {"self", "cls"}
        for call in _calls(node):
            if free and _name(call) in MAKERS and not (call.args or call.keywords):
                found.append((file, call.lineno))
            if not _draws(call) or _name(call) in own or _is_seeded(call, seeded[file]):
                continue
            name, attribute = _chain(call)
            theirs = name in given or (name == "self" and attribute in handed) or _is_handed(call, given)
            # a function of the target's own is read where it stands
            if not (function or id(call) in lambdas) or not (theirs or reach.is_own(file, name)):
                found.append((file, call.lineno))
    return list(dict.fromkeys(found))


def stored_draws(target: Any) -> list[Site]:
    """Lines of functions that draw into something which outlives the call: an attribute, a global name, a dictionary.

    They say nothing by themselves (the last release may be stored for a reason); where releases draw nothing any more,
    the first one did, and its noise is kept.
    """
    found = []
    for file, node in _Reach(_code_of(target)).nodes:
        if not _is_function(node):
            continue
        stored = {each.id for each in _walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
        outer = {name for each in _walk(node) if isinstance(each, ast.Global | ast.Nonlocal) for name in each.names}
        local = stored - outer
        for each in _walk(node):
            if isinstance(each, ast.Assign | ast.AugAssign | ast.AnnAssign) and each.value is not None:
                targets = each.targets if isinstance(each, ast.Assign) else [each.target]
                kept = any(_outlives(to, local, outer) for to in targets)
                value: ast.AST = each.value
            elif isinstance(each, ast.Call) and _name(each) in ("append", "setdefault", "setattr", "update", "add"):
                kept, value = _chain(each)[0] not in local, each
            else:
                continue
            if kept and any(_draws(call) for call in _calls(value)):
                found.append((file, each.lineno))
    return list(dict.fromkeys(found))


def _is_function(node: ast.AST) -> bool:
    """Whether it is a function that releases may call; constructors have run before."""
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name not in CONSTRUCTORS


def _outlives(target: ast.expr, local: set[str], outer: set[str]) -> bool:
    """Whether what is assigned there is left when the function ends."""
    if isinstance(target, ast.Tuple | ast.List):
        return any(_outlives(each, local, outer) for each in target.elts)
    node: ast.expr = target
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    name = node.id if isinstance(node, ast.Name) else ""
    return name in outer if node is target else name not in local


def _draws(call: ast.Call) -> bool:
    """Whether its name is that of a draw, of numbers of any source, or it reads a device of random numbers."""
    name = _name(call)
    if name == "bytes":
        return isinstance(call.func, ast.Attribute)
    texts = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return name in DRAWS or any(each.startswith("/dev/") and "random" in each for each in texts)


def seed_line(target: Any) -> Site | None:
    """A line that sets the seed or the state of a generator, in the target's source or where its modules are imported.

    Of what cannot be read, UNREADABLE.
    """
    return _seed_line(tuple(dict.fromkeys(_code_of(target))))


@functools.lru_cache(maxsize=64)  # every run on the tape asks
def _seed_line(starts: tuple[FunctionType | type, ...]) -> Site | None:
    reach = _Reach(starts, imported=True)
    renamed: dict[str, dict[str, str]] = {}  # by file: what stands behind the names that its imports give
    for file, node in reach.nodes:
        if file not in renamed:
            aliases = [each for top in _parsed(file) or () for each in _walk(top) if isinstance(each, ast.alias)]
            renamed[file] = {each.asname: each.name for each in aliases if each.asname}
        for call in _calls(node):
            name, given = _name(call), [*call.args, *(each.value for each in call.keywords)]
            name = renamed[file].get(name, name)
            empty = all(isinstance(each, ast.Constant) and each.value is None for each in given)
            if _sets_seed(name) and given and not empty:
                return file, call.lineno
            named = [each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            if name == "getattr" and any(map(_sets_seed, named)):
                return file, call.lineno
        called = {id(call.func) for call in _calls(node)}
        for each in _walk(node):  # handed on under another name
            if isinstance(each, ast.Attribute) and id(each) not in called and _sets_seed(each.attr):
                if getattr(each.value, "attr", getattr(each.value, "id", "")) == "random":
                    return file, each.lineno
    return None if reach.complete else UNREADABLE


def _sets_seed(name: str) -> bool:
    return "seed" in name.lower() or name in ("set_state", "setstate")


@functools.lru_cache(maxsize=2**14)  # of parsed statements, which nobody changes: every question looks through them
def _walk(node: ast.AST) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(node))


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    return (each for each in _walk(node) if isinstance(each, ast.Call))


def _name(call: ast.Call) -> str:
    kind = call.func
    return kind.attr if isinstance(kind, ast.Attribute) else kind.id if isinstance(kind, ast.Name) else ""


def _is_handed(call: ast.Call, given: set[str]) -> bool:
    """Whether the stream is an argument of the call: a parameter under a name that streams have."""
    named = {each.arg: each.value for each in call.keywords}
    streams = [*call.args, *(value for name, value in named.items() if name in STREAMS)]
    of_given = any(isinstance(each, ast.Name) and each.id in given & STREAMS for each in streams)
    return of_given or "random_state" in named


def _is_seeded(node: ast.AST, names: set[str]) -> bool:
    """Whether a chain of calls begins with a generator that is made from constants, or with one of these names."""
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Call):
            given = [*node.args, *(each.value for each in node.keywords)]
            constant = all(isinstance(each, ast.Constant) and each.value is not None for each in given)
            if _name(node) in MAKERS and given and constant:
                return True
            node = node.func
        else:
            node = node.value
    return isinstance(node, ast.Name) and node.id in names


def _chain(call: ast.Call) -> tuple[str, str]:
    """The name that a chain of calls, attributes and items begins with, and the first attribute."""
    node: Any = call
    attribute = ""
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
        attribute = node.attr if isinstance(node, ast.Attribute) else attribute
        node = node.func if isinstance(node, ast.Call) else node.value
    return (node.id if isinstance(node, ast.Name) else ""), attribute


def _base(node: Any) -> str:
    """The name that a chain of calls, attributes and items begins with."""
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _end(node: ast.expr | ast.stmt) -> int:
    return node.lineno if node.end_lineno is None else node.end_lineno


Scope = tuple[str, tuple[ast.stmt, ...]]  # a file, and the body of a module, a class or a function in it


class _Reach:
    """What code names: statements of its file, of its classes and of enclosing functions, and so on.

    A function counts whole. Of a class count the methods with double underscores and the members that something names;
    of a module, and of a function around another one, the statements that bind a name which is named. With `imported`,
    also what runs when these modules are imported, and those that they import.
    """

    def __init__(self, starts: Iterable[FunctionType | type], *, imported: bool = False) -> None:
        self._imported = imported
        self._modules = {}
        for module in reversed(list(sys.modules.values())):  # of two of one file, the first that was imported
            if isinstance(file := getattr(module, "__file__", None), str):
                self._modules[file] = module
        self.nodes: list[tuple[str, ast.AST]] = []
        self.complete = True
        self._scopes: list[tuple[Scope, bool]] = []  # and whether it is that of a class
        self._names: dict[str, set[str]] = {}  # by file
        self._attributes: set[str] = {"release"}
        self._done: set[int] = set()
        for start in starts:
            self._enter(start)
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        if imported and main is not None and self._own(main):
            self._scope(main, _parsed(main) or ())
        self._close()

    @property
    def functions(self) -> set[str]:
        """Names of the functions that are reached."""
        return {each.name for _, node in self.nodes for each in _walk(node) if isinstance(each, ast.FunctionDef)}

    def seeded(self, file: str) -> set[str]:
        """Names in a file that stand for a generator with a constant seed."""
        nodes = [each for home, node in self.nodes if home == file for each in _walk(node)]
        assigned = [each for each in nodes if isinstance(each, ast.Assign) and _is_seeded(each.value, set())]
        made = [each for each in assigned if isinstance(each.value, ast.Call) and _name(each.value) in MAKERS]
        return {to.id for each in made for to in each.targets if isinstance(to, ast.Name)}

    @property
    def handed(self) -> set[str]:
        """Attributes that a constructor sets to one of its parameters: a generator there was handed to it."""
        found: set[str] = set()
        for _, node in self.nodes:
            if not (isinstance(node, ast.FunctionDef) and node.name in CONSTRUCTORS):
                continue
            given = {each.arg for each in _walk(node) if isinstance(each, ast.arg)}
            for each in (each for each in _walk(node) if isinstance(each, ast.Assign)):
                for to in each.targets:
                    pairs: list[tuple[ast.expr, ast.expr]] = [(to, each.value)]
                    if isinstance(to, ast.Tuple) and isinstance(each.value, ast.Tuple):
                        pairs = list(zip(to.elts, each.value.elts, strict=False))
                    for left, right in pairs:
                        if isinstance(left, ast.Attribute) and isinstance(right, ast.Name) and right.id in given:
                            found.add(left.attr)
        return found

    def is_own(self, file: str, name: str) -> bool:
        """Whether a name of a file's module stands for a module, a function or a class that is not installed."""
        home = _file_of(vars(self._modules.get(file, ast)).get(name))
        return home is not None and not home.startswith((*INSTALLED, "<frozen "))

    def _own(self, file: str | None) -> bool:
        """Whether it is the target's: not installed, not this package, no sampler that the tape takes as a whole."""
        if file is None or file.startswith(NOT_OWN):
            return False
        return "__tape_primitive__" not in vars(self._modules.get(file, ast))

    def _enter(self, start: FunctionType | type) -> None:
        """The code of a function, or a class, with the scopes around it."""
        function = isinstance(start, FunctionType)
        file = start.__code__.co_filename if isinstance(start, FunctionType) else _file_of(start)
        if not self._own(file) or file is None:
            return
        body = _parsed(file)
        line = start.__code__.co_firstlineno if isinstance(start, FunctionType) else 0
        chain = None if body is None else _located(body, line) if function else _by_name(body, start.__qualname__)
        if body is None or chain is None:
            self.complete = False
            return
        self._scope(file, body)
        for outer in chain[:-1]:
            self._scope(file, tuple(outer.body), kind=isinstance(outer, ast.ClassDef))
        self._reach(file, chain[-1])

    def _scope(self, file: str, body: tuple[ast.stmt, ...], *, kind: bool = False) -> None:
        if not any(scope[1] is body or scope[1] == body for scope, _ in self._scopes):
            self._scopes.append(((file, body), kind))
            for node in body if self._imported and body is _parsed(file) else ():
                if not isinstance(node, DEFINED):
                    self._reach(file, node)

    def _reach(self, file: str, node: ast.AST) -> None:
        if id(node) in self._done:
            return
        self._done.add(id(node))
        if isinstance(node, ast.ClassDef):
            self._scope(file, tuple(node.body), kind=True)
            parts: list[ast.AST] = [*node.bases, *node.decorator_list, *node.keywords]
        else:
            self.nodes.append((file, node))
            parts = [node]
        local = _locals(node)
        for each in (each for part in parts for each in _walk(part)):
            if self._imported and isinstance(each, ast.Import | ast.ImportFrom):
                self._import(file, each)
            elif isinstance(each, ast.Name) and each.id not in local:
                if not self._elsewhere(file, each.id, None):
                    self._names.setdefault(file, set()).add(each.id)
            elif isinstance(each, ast.Attribute):
                self._attributes.add(each.attr)
                if isinstance(each.value, ast.Name):
                    self._elsewhere(file, each.value.id, each.attr)

    def _elsewhere(self, file: str, name: str, attribute: str | None) -> bool:
        """Follows a name that stands for a function, a class, or (with an attribute) a value of another module."""
        module = self._modules.get(file)
        given = None if module is None else vars(module).get(name)
        if isinstance(given, ModuleType) and attribute:
            inside = vars(given).get(attribute)
            if isinstance(inside, FunctionType | type):
                self._enter(inside)
            elif self._own(home := _file_of(given)) and home is not None and home != file:
                self._scope(home, _parsed(home) or ())
                self._names.setdefault(home, set()).add(attribute)
            return True
        if isinstance(given, FunctionType | type) and _file_of(given) != file:
            self._enter(given)
            return True
        return False

    def _import(self, file: str, node: ast.Import | ast.ImportFrom) -> None:
        """What the imported modules do when they are imported."""
        names = [each.name for each in node.names]
        if isinstance(node, ast.ImportFrom):
            package = getattr(self._modules.get(file), "__package__", None) or ""
            parts = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parts, *([node.module] if node.module else [])])
            names = [base, *(f"{base}.{name}" for name in names)]
        for name in names:
            home = getattr(sys.modules.get(name), "__file__", None)
            if home is not None and home != file and self._own(home):
                self._scope(home, _parsed(home) or ())

    def _close(self) -> None:
        """Statements that bind what is named, until there is nothing new."""
        before = -1
        while before != len(self._done):
            before = len(self._done)
            for (file, body), kind in list(self._scopes):
                named = self._attributes if kind else self._names.get(file, set())
                for node in body:
                    bound = _bound(node)
                    special = kind and any(each.startswith("__") for each in bound)
                    if special or (bound | _changed(body, node)) & named:
                        self._reach(file, node)


def _locals(node: ast.AST) -> set[str]:
    """Parameters of a function and names that it binds."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return set()
    outer = {name for each in _walk(node) if isinstance(each, ast.Global | ast.Nonlocal) for name in each.names}
    stored = {each.id for each in _walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    return (stored | {each.arg for each in _walk(node) if isinstance(each, ast.arg)}) - outer


def _file_of(value: Any) -> str | None:
    if isinstance(value, FunctionType):
        return value.__code__.co_filename
    if isinstance(value, type):
        functions = [each for each in vars(value).values() if isinstance(each, FunctionType)]
        file = getattr(sys.modules.get(value.__module__), "__file__", None)
        return functions[0].__code__.co_filename if file is None and functions else file
    return getattr(value, "__file__", None) if isinstance(value, ModuleType) else None


def _located(body: tuple[ast.stmt, ...], line: int) -> list[Any] | None:
    """The definitions around a function that begins at a line, and itself; of a lambda, its own node."""
    node: Any
    for node in body:
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
        if not first <= line <= _end(node):
            continue
        scope = isinstance(node, DEFINED)
        if scope and line in (first, node.lineno) and not isinstance(node, ast.ClassDef):
            return [node]
        if scope:
            inner = _located(tuple(node.body), line)
            return [node, *inner] if inner is not None else [node]
        blocks = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
        blocks += [each.body for each in getattr(node, "handlers", ())]
        inner = next((found for each in blocks if each and (found := _located(tuple(each), line)) is not None), None)
        return inner if inner is not None else [node]
    return None


def _by_name(body: tuple[ast.stmt, ...], qualname: str) -> list[Any] | None:
    """The definitions that lead to a class."""
    chain: list[Any] = []
    for name in qualname.replace(".<locals>", "").split("."):
        inside = (each for node in body for each in _walk(node))
        node = next((each for each in inside if isinstance(each, DEFINED) and each.name == name), None)
        if node is None:
            return None
        chain.append(node)
        body = tuple(node.body)
    return chain


def _code_of(value: Any, depth: int = 0, seen: set[int] | None = None) -> Iterator[FunctionType | type]:
    """The functions and classes that an object is made of."""
    seen = set() if seen is None else seen
    if id(value) in seen or depth > DEPTH or isinstance(value, ModuleType):
        return
    seen.add(id(value))
    if isinstance(value, functools.partial):
        parts: list[Any] = [value.func, *value.args, *value.keywords.values()]
    elif isinstance(value, MethodType):
        parts = [value.__self__, value.__func__]
    elif isinstance(value, FunctionType):
        yield value
        parts = [cell.cell_contents for cell in value.__closure__ or () if _filled(cell)]
        parts.append(getattr(value, "__wrapped__", None))
    elif isinstance(value, type):
        yield from value.__mro__[:-1]
        parts = []
    elif isinstance(value, list | tuple | dict):
        parts = list(value.values() if isinstance(value, dict) else value)
    else:
        parts = [type(value), *vars(value).values()] if hasattr(value, "__dict__") else [type(value)]
        parts.append(getattr(value, "__wrapped__", None))
    for each in parts:
        yield from _code_of(each, depth + 1, seen)


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:  # not yet bound
        return False
    return True


@functools.lru_cache(maxsize=256)
def _tree(source: str) -> tuple[ast.stmt, ...] | None:
    try:
        return tuple(ast.parse(source).body)
    except (SyntaxError, ValueError):
        return None


def _parsed(file: str) -> tuple[ast.stmt, ...] | None:
    """The top-level statements of a file, or of a notebook's cell; None where there are none to be read."""
    lines = linecache.getlines(file)
    return _tree("".join(lines)) if lines else None


@functools.lru_cache(maxsize=2**14)
def _bound(node: ast.stmt) -> frozenset[str]:
    """Names that a top-level statement binds."""
    if isinstance(node, DEFINED):
        return frozenset({node.name})
    found = set()
    for each in _walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            found.add(each.id)
        elif isinstance(each, ast.alias):
            found.add((each.asname or each.name).split(".")[0])
        elif isinstance(each, ast.FunctionDef | ast.ClassDef):
            found.add(each.name)
        elif isinstance(each, ast.Attribute | ast.Subscript) and isinstance(each.ctx, ast.Store):
            found.add(_base(each))  # a thing that is changed
    return frozenset(found)


@functools.lru_cache(maxsize=2**14)
def _changed(body: tuple[ast.stmt, ...], node: ast.stmt) -> frozenset[str]:
    """Names of things that a statement outside of functions changes by a method, or in functions of the same scope."""
    functions = {each.name: each for each in body if isinstance(each, ast.FunctionDef)}
    found: set[str] = set()
    waiting: list[ast.stmt] = [] if isinstance(node, DEFINED) else [node]
    while waiting:
        part = waiting.pop()
        thrown = {_base(each.value) for each in _walk(part) if isinstance(each, ast.Expr)}  # done for its effect
        inside = set().union(*map(_bound, part.body)) if isinstance(part, ast.FunctionDef) else set()
        found |= (thrown | inside) - _locals(part)
        waiting += [functions.pop(name) for name in map(_name, _calls(part)) if name in functions]
    return frozenset(found)
