"""One command in a watched child: the parent runs no foreign code, and says in one line why there is no answer."""

import sys
from pathlib import Path
from typing import Any

import typer

from dpverify.base import require
from dpverify.base.text import clean
from dpverify.cli.options import CERTIFIED
from dpverify.errors import EXIT_FAILED, EXIT_OK, EXIT_UNEXPECTED, RunError, UsageError
from dpverify.execution.interruption import Halt, heeded
from dpverify.execution.isolated import Call, Ended, isolated, Limits, Outcome, start_server
from dpverify.report import files
from dpverify.report.files import Outputs
from dpverify.report.json_file import strict

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
