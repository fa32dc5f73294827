"""One command in a watched child: the parent runs no foreign code, and says in one line why there is no answer."""

import difflib
import importlib.util
import inspect
import os
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import typer

from dpverify.base import require, search_path
from dpverify.base.text import clean
from dpverify.cli.options import CERTIFIED
from dpverify.errors import EXIT_FAILED, EXIT_OK, EXIT_UNEXPECTED, RunError, UsageError
from dpverify.execution.interruption import Halt, heeded
from dpverify.execution.isolated import Call, Ended, isolated, Limits, Outcome, start_server
from dpverify.report import files
from dpverify.report.files import Outputs
from dpverify.report.json_file import strict

# ----------------------------------------------------------------------------------------------------------------------
# MODULE:OBJECT -> the object, with one clear line for everything that can be wrong about it.


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
    """As `load_object`; a class, or a function without `rng`, is called without arguments to make the subject."""
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


def named_subject(spec: str, call: str, arg: list[str], python: str) -> Any:
    """A subject, or a library's function or class as one (`wild.local`), here or in an interpreter of its own."""
    from dpverify.base.text import arguments

    given = arguments(arg)
    if python:
        from dpverify.wild.interpreter import Elsewhere

        return Elsewhere(python, spec, call=call, arguments=given)
    from dpverify.wild.local import is_shaped, shaped

    found = load_object(spec)
    if call != "auto" or given or is_shaped(found):
        return shaped(found, call=call, arguments=given, name=spec.rpartition(":")[2])
    return subject_of(found, spec)


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


# ----------------------------------------------------------------------------------------------------------------------


SLOW = 20.0  # seconds that loading a file, and the call in which a limit is reached, may take


def answer(function: str, arguments: dict[str, Any], limits: Limits, *, missing: str, patient: bool = False) -> Any:
    """What `module:function` returns there, plain values; `missing` names what there is none of otherwise.

    `patient`: the limit begins anew with each event that the function emits. Raises UsageError or RunError, and
    typer.Exit after a line on stderr for a run that a signal ended.
    """
    start_server(CERTIFIED)
    halt = Halt()
    with heeded(halt) as heard:
        try:
            outcome = isolated(Call(function, arguments, patient), limits, halt=halt)
        finally:
            halt.close()
        if heard.number:
            print(f"dpverify: interrupted by {heard.name}; no {missing}", file=sys.stderr)
            raise typer.Exit(heard.exit_code)
    return _value(outcome, missing)


def _value(outcome: Outcome, missing: str) -> Any:
    if isinstance(outcome, Ended):
        file, line = outcome.place
        where = f" ({file}:{line})" if file else ""
        raise RunError(f"{outcome.text}{where}; no {missing}")
    error = outcome.error
    if error is None:
        return outcome.value
    if error["expected"]:
        raise (UsageError if error["usage"] else RunError)(error["text"])
    where = f" ({Path(error['file']).name}:{error['line']})" if error["file"] else ""
    raise RunError(f"{error['type']}: {error['text']}{where}; no {missing}")


def write_file(name: str | None, text: str) -> None:
    """The whole file or, where that cannot be done, RunError and what was there before; nothing for None."""
    if name is None:
        return
    try:
        files.replace(Path(name), text)
    except OSError as error:
        raise RunError(f"{name}: could not be written ({error.strerror})") from error


def show(function: str, arguments: dict[str, Any], outputs: Outputs, *, missing: str, seconds: float) -> int:
    """Prints the lines that the answer has, writes its document, and gives its exit code: the worst of all pairs'.

    The function stops itself after its own time for each pair, and emits an event before it; a single call of foreign
    code may not end, so a pair is given `seconds` and `SLOW` more, and is then ended from outside.
    """
    require.positive(timeout=seconds)
    files.check_writable(outputs)
    files.drop(outputs)
    found = answer(function, arguments, Limits(timeout=seconds + SLOW), missing=missing, patient=True)
    for line in found["lines"]:
        print(clean(line))
    write_file(outputs.json, strict(found["document"]))
    return next((code for code in (EXIT_UNEXPECTED, EXIT_FAILED) if code in found["codes"]), EXIT_OK)
