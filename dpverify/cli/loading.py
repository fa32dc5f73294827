"""MODULE:OBJECT -> the object, with one clear line for everything that can be wrong about it."""

import difflib
import importlib.util
import inspect
import os
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from dpverify.base import search_path
from dpverify.errors import UsageError


def load_object(spec: str) -> Any:
    """The object called `module:name` or `file.py:name`; dots in the name reach into it.

    The current folder is searched before installed packages. Raises UsageError naming what is missing.
    """
    place, colon, name = spec.rpartition(":")
    if not (colon and place and name):
        raise UsageError(f"{spec!r}: must look like MODULE:OBJECT or FILE.py:OBJECT")
    found: Any = _module(place)
    for part in name.split("."):
        if not hasattr(found, part):
            near = difflib.get_close_matches(part, [each for each in dir(found) if each[0] != "_"], n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise UsageError(f"{spec}: {place} has no {name!r}{hint}")
        found = getattr(found, part)
    return found


def load_subject(spec: str) -> Any:
    """As `load`; a class, or a function without `rng`, is called without arguments to make the subject."""
    return subject_of(load_object(spec), spec)


def subject_of(found: Any, spec: str) -> Any:
    """What was loaded as a subject, made where it has to be."""
    maker = isinstance(found, type) or (callable(found) and not hasattr(found, "release") and not _is_release(found))
    if not maker:
        return found
    try:
        made = found()
    except Exception as error:
        raise UsageError(f"{spec}: cannot be made without arguments ({type(error).__name__}: {error})") from error
    if not hasattr(made, "release") and not callable(made):
        raise UsageError(f"{spec}: made a {type(made).__name__}, which has no release(data, *, rng, size)")
    return made


def _is_release(function: Any) -> bool:
    try:
        return {"rng", "size"} <= set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return False


def _module(place: str) -> ModuleType:
    search_path.add(os.getcwd())
    try:
        return _from_file(Path(place)) if place.endswith(".py") else import_module(place)
    except (Exception, SystemExit) as error:  # whatever foreign code raises on import
        raise UsageError(f"{place}: cannot be loaded ({type(error).__name__}: {error})") from error


def _from_file(file: Path) -> ModuleType:
    if not file.is_file():
        raise FileNotFoundError(f"no file {file}")
    name = file.stem
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickles look their module up
    spec.loader.exec_module(module)
    return module
