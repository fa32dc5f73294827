"""`dpverify replay`: the noise calls of a library on neighbouring pairs, recorded and played back."""

import json as plain_json
import subprocess
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from dpverify.base.errors import RunError, UsageError
from dpverify.base.text import clean
from dpverify.faces.commands.try_ import (
    Arg,
    Call,
    CallOption,
    checked,
    ClaimText,
    Out,
    Public,
    Python,
    RelationOption,
    SchemaFile,
    Target,
)
from dpverify.faces.options import DEFAULT_SEED, HELP, Outputs

INSIDE = """
import json, sys
sys.path[:0] = [""]
sys.path.append(sys.argv[1])
from dpverify.wild.asked import replayed
from dpverify.base.errors import DpverifyError
asked = json.loads(sys.stdin.read())
try:
    answer = replayed(**asked)
except DpverifyError as error:
    answer = {"error": str(error), "usage": error.exit_code == 2}
open(sys.argv[2], "w").write(json.dumps(answer))
"""


class Library(str, Enum):  # noqa: UP042
    """Whose calls are replayed."""

    auto = "auto"
    diffprivlib = "diffprivlib"
    opendp = "opendp"
    pydp = "pydp"
    opacus = "opacus"
    numpy = "numpy"


def replay(
    target: Target = None,
    claim: ClaimText = None,
    schema: SchemaFile = None,
    calls: Annotated[Library, typer.Option(help="The library whose calls must be seen.")] = Library.auto,
    pairs: Annotated[int, typer.Option(metavar="N", help="Ordinary random pairs of each relation.")] = 40,
    confirm: Annotated[int, typer.Option(metavar="N", help="Trials on the worst pair of each finding.")] = 0,
    relation: RelationOption = None,
    call: CallOption = Call.auto,
    arg: Arg = None,
    out: Out = None,
    public: Public = None,
    python: Python = "",
    seed: Annotated[int, typer.Option(metavar="S", help=HELP["seed"])] = DEFAULT_SEED,
    json: Annotated[str | None, typer.Option("--json", metavar="F", help="Write the result as JSON.")] = None,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="For everything.")] = 600.0,
) -> None:
    """Record the noise calls of diffprivlib, OpenDP, PyDP or opacus on one dataset, play them back on its neighbour.

    The library's Python must be 3.11 or later, with NumPy and SciPy. Exit code: 0 KEPT on the pairs tried, 1 OVER or
    REFUTED, 2 usage, 3 UNDECIDED, or the target failed.
    """
    from dpverify.faces import watched_run
    from dpverify.faces.report.as_json import strict
    from dpverify.runs.task import Limits
    from dpverify.wild.asked import arguments

    for name, value in (("TARGET", target), ("--claim", claim), ("--schema", schema)):
        if value is None:
            raise UsageError(f"{name} is missing; see dpverify replay --help")
    arguments(arg or [])  # refused here, before anything is started
    outputs = Outputs(json)
    checked(outputs)
    asked: dict[str, Any] = {
        "target": target, "claim": claim, "schema": schema, "instrument": calls.value, "count": pairs,
        "confirm": confirm, "relation": None if relation is None else relation.value, "call": call.value,
        "arg": list(arg or []), "out": list(out or []), "public": list(public or []), "seed": seed,
    }  # fmt: skip
    if python:
        asked = {"python": python, "asked": asked, "timeout": timeout}
    name = "dpverify.faces.commands.replay:elsewhere" if python else "dpverify.wild.asked:replayed"
    found = watched_run.answer(name, asked, Limits(timeout=timeout), missing="replay")
    for line in found["lines"]:
        print(clean(line))
    watched_run.write(outputs.json, strict(found["document"]))
    raise typer.Exit(found["code"])


def elsewhere(*, python: str, asked: dict[str, Any], timeout: float) -> dict[str, Any]:
    """The same in another interpreter, which finds dpverify after everything of its own."""
    import tempfile

    home = str(Path(__file__).parents[2])
    with tempfile.TemporaryDirectory(prefix="dpverify-") as folder:
        file = Path(folder, "answer.json")
        try:
            done = subprocess.run([python, "-c", INSIDE, home, str(file)], input=plain_json.dumps(asked), text=True,
                                  stdout=sys.stderr, stderr=subprocess.PIPE, timeout=timeout, check=False)  # fmt: skip
        except OSError as error:
            raise UsageError(f"{python}: cannot be started ({error.strerror or error})") from None
        except subprocess.TimeoutExpired:
            raise RunError(f"{python}: no answer within {timeout:g} s") from None
        if not file.exists():
            last = " ".join((done.stderr or "").strip().splitlines()[-1:])
            raise RunError(f"{python}: ended with exit code {done.returncode} ({clean(last)})")
        found: dict[str, Any] = plain_json.loads(file.read_text())
    if "error" in found:
        raise (UsageError if found["usage"] else RunError)(found["error"])
    return found
