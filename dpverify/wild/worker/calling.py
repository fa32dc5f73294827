"""How a library's function or class is called for one release: found from its signature.

target   release(data, *, rng, size), called with size 1; a class that has it is made from the arguments, once
rng      a parameter `rng` or `random_state`: a new generator for every release
seed     a second parameter `seed`: a whole number
fit      a class with `fit`: made from the arguments, fitted, and the fitted object is what is released
data     any other function; `random`, `numpy.random` and `torch` are seeded before each release
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import os
import random
import sys
import traceback
import warnings
from typing import Any

from . import encoding

SHAPES = ("auto", "target", "rng", "seed", "fit", "data")
# of the machine, never an answer of a mechanism
RUN_FAILURES = (MemoryError, OSError, ImportError, RecursionError, KeyboardInterrupt, SystemExit, GeneratorExit)


class Refused(ValueError):
    """The target cannot be called as asked; the text says what is missing."""


class RunFailed(Exception):
    """A release failed for a reason that is none of the mechanism's."""


def load(spec: str) -> Any:
    """The object called `module:name` or `file.py:name`; dots reach into it."""
    place, colon, name = spec.rpartition(":")
    if not (colon and place and name):
        raise Refused(f"{spec!r}: must look like MODULE:OBJECT or FILE.py:OBJECT")
    try:
        found: Any = _from_file(place) if place.endswith(".py") else importlib.import_module(place)
    except (Exception, SystemExit) as error:  # whatever foreign code raises on import
        raise Refused(f"{place}: cannot be loaded ({type(error).__name__}: {error})")  # noqa: B904
    for part in name.split("."):
        if not hasattr(found, part):
            raise Refused(f"{spec}: {place} has no {name!r}")
        found = getattr(found, part)
    return found


def _from_file(place: str) -> Any:
    name = os.path.splitext(os.path.basename(place))[0]
    spec = importlib.util.spec_from_file_location(name, place)
    if spec is None or spec.loader is None or not os.path.isfile(place):
        raise FileNotFoundError(f"no file {place}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pickles look their module up
    sys.path.insert(0, os.path.dirname(os.path.abspath(place)))
    spec.loader.exec_module(module)
    return module


def _place(error: BaseException) -> str:
    """FILE:LINE of the last call that is no library's, or of the last one."""
    frames = traceback.extract_tb(error.__traceback__)
    libraries = (os.path.dirname(os.__file__), "<")
    own = [each for each in frames if "-packages" not in each.filename and not each.filename.startswith(libraries)]
    return "".join(f"{os.path.basename(each.filename)}:{each.lineno}" for each in (own or frames)[-1:])


def shape_of(target: Any) -> str:
    """Which of the shapes a target has."""
    if inspect.isclass(target):
        return "fit" if hasattr(target, "fit") else "target" if hasattr(target, "release") else ""
    if hasattr(target, "release"):
        return "target"
    names = list(_parameters(target) or ())
    if "rng" in names and "size" in names:
        return "target"
    if "rng" in names or "random_state" in names:
        return "rng"
    return "seed" if names[1:2] == ["seed"] else "data"


def _parameters(function: Any) -> dict[str, inspect.Parameter] | None:
    """By name; None where the signature is not known."""
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # compiled
        return None


def _read_out(value: Any) -> Any:
    """What a function gives: a coroutine is awaited, a generator is read to its end, as a list."""
    if inspect.isgenerator(value):
        return list(value)
    if not (inspect.iscoroutine(value) or inspect.isasyncgen(value)):
        return value
    import asyncio  # few functions need it, and it takes a while to load

    async def listed(source: Any) -> list[Any]:
        return [each async for each in source]

    return asyncio.run(value if inspect.iscoroutine(value) else listed(value))


class Caller:
    """One target with its arguments: `release` gives a value, `outcome` the fields of what happened.

    Data come as ("one", value), ("args", [values]) or ("keywords", {name: value}).
    """

    def __init__(
        self, target: Any, call: str = "auto", arguments: Any = None, encode: Any = None, name: str = ""
    ) -> None:
        self.target, self.arguments, self.encode = target, dict(arguments or {}), encode
        self.name = name or getattr(target, "__name__", type(target).__name__)
        if call not in SHAPES:
            raise Refused("call {!r}: must be one of {}".format(call, ", ".join(SHAPES)))
        self.call = shape_of(target) if call == "auto" else call
        if self.call == "target" and inspect.isclass(target) and hasattr(target, "release"):
            self.target = target = self._made(target)
        if not self.call or (self.call == "fit") != inspect.isclass(target):
            hint = "write a function f(data) that makes the object and calls it"
            raise Refused(f"{self.name}: a class must have `release` or `fit`; {hint}")
        if self.call != "target" and not callable(target):
            raise Refused(f"{self.name}: a {type(target).__name__} cannot be called")
        self.stream = next((each for each in ("rng", "random_state") if each in (_parameters(target) or ())), "")
        self.notes: list[str] = []  # names of types that were encoded by repr
        self.raised = ""  # where the last exception came from

    def _made(self, target: Any) -> Any:
        """An object of a class with `release`, which the arguments are for."""
        arguments, self.arguments = self.arguments, {}
        try:
            return target(**arguments)
        except Exception as error:  # whatever foreign code raises
            raise Refused(f"{self.name}: cannot be made ({type(error).__name__}: {error})")  # noqa: B904

    def check(self, how: str, value: Any) -> None:
        """Refused where a required parameter would be missing, with an example of how to give it."""
        names = _parameters(self.target)
        if names is None or self.call == "target":
            return
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        open_ = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in names.values())
        unknown = [each for each in self.arguments if each not in names and not open_]
        if unknown:
            known = ", ".join(names) or "none"
            raise Refused(f"{self.name}: has no parameter {', '.join(unknown)}; it has {known}")
        given = set(self.arguments)
        if self.call != "fit":
            if how == "keywords":
                missing = [each for each in value if each not in names and not open_]
                if missing:
                    raise Refused("{}: has no parameter for the column {}".format(self.name, ", ".join(missing)))
                given |= set(value)
            else:
                places = [name for name, each in names.items() if each.kind in kinds and name not in given]
                given |= set(places[: len(value) if how == "args" else 1])
        given |= {"rng", "random_state"} if self.call in ("rng", "fit") else {"seed"} if self.call == "seed" else set()
        lacking = [
            name
            for name, each in names.items()
            if each.default is inspect.Parameter.empty
            and each.kind in (*kinds, inspect.Parameter.KEYWORD_ONLY)
            and name not in given
        ]
        if lacking:
            raise Refused("{}: needs {} as well, e.g. --arg {}=1.0".format(self.name, ", ".join(lacking), lacking[0]))

    def release(self, data: Any, seed: Any) -> Any:
        """One release on data that are this call's own; without a seed it draws from what generators there are."""
        how, value = data
        call, kwargs = self.target, self.arguments
        if self.call == "target":
            release = getattr(call, "release", call)
            import numpy

            return release(value, rng=numpy.random.default_rng(seed), size=1, **kwargs)[0]
        if self.call == "rng":
            kwargs = dict(kwargs, **{self.stream: self._generator(seed)})
        elif self.call == "seed":
            kwargs = dict(kwargs, seed=seed % 2**31)
        elif seed is not None:
            self._seed(seed)
        if self.call == "fit":
            if self.stream:
                kwargs = dict(kwargs, **{self.stream: self._generator(seed)})
            model = call(**kwargs)
            self._called(model.fit, how, value, {})
            return model
        return self._called(call, how, value, kwargs)

    def with_generator(self, data: Any, rng: Any) -> Any:
        """One release of a target, or of a function with a parameter `rng`, which gets this generator itself."""
        if self.call == "target":
            return getattr(self.target, "release", self.target)(data[1], rng=rng, size=1, **self.arguments)[0]
        return self._called(self.target, data[0], data[1], dict(self.arguments, rng=rng))

    def _called(self, function: Any, how: str, value: Any, kwargs: Any) -> Any:
        if how == "keywords":
            return _read_out(function(**dict(kwargs, **value)))
        return _read_out(function(*value, **kwargs) if how == "args" else function(value, **kwargs))

    def _generator(self, seed: int) -> Any:
        try:
            import numpy
        except ImportError:
            return seed if self.stream == "random_state" else random.Random(seed)
        return numpy.random.default_rng(seed) if self.stream == "rng" else numpy.random.RandomState(seed % 2**32)

    def _seed(self, seed: int) -> None:
        random.seed(seed)
        numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
        if numpy is not None:
            numpy.random.seed(seed % 2**32)
        if torch is not None:
            torch.manual_seed(seed % 2**63)

    def guarded(self, data: Any, seed: int) -> tuple[Any, BaseException | None, list[str]]:
        """(value, exception, categories of warnings); RunFailed for a failure of the machine."""
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                value, error = self.release(data, seed), None
            except RUN_FAILURES as failure:
                raise RunFailed(f"{type(failure).__name__}: {failure}")  # noqa: B904
            except Exception as failure:  # an answer of the mechanism
                value, error, self.raised = None, failure, _place(failure)
        return value, error, sorted({each.category.__name__ for each in heard})

    def outcome(self, data: Any, seed: int) -> dict[str, Any]:
        """The fields of one release: of its value, or of its exception, and of its warnings."""
        value, error, heard = self.guarded(data, seed)
        if error is not None:
            found = encoding.raised(error)
        else:
            found, notes = encoding.encoded(value if self.encode is None else self.encode(value))
            if notes:
                self.notes = sorted({*self.notes, *notes})
        for name in heard:
            found["~" + name] = 1.0
        return found


@functools.lru_cache(maxsize=None)  # noqa: UP033 - Python 3.7
def described(error: str) -> type:
    """An exception type of this name, for whoever must be told in another process."""
    return type(error, (Exception,), {})
