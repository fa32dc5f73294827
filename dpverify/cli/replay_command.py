"""`dpverify replay`: the noise calls of a library on neighbouring pairs, recorded and played back."""

from enum import Enum
from typing import Annotated, Any

import typer

from dpverify.base.text import clean
from dpverify.cli import library_options
from dpverify.cli.library_options import CallShape, Neighbours
from dpverify.cli.options import DEFAULT_SEED, HELP
from dpverify.errors import UsageError


class Library(str, Enum):  # noqa: UP042
    """Whose calls are replayed."""

    auto = "auto"
    diffprivlib = "diffprivlib"
    opendp = "opendp"
    pydp = "pydp"
    opacus = "opacus"
    numpy = "numpy"


def replay(
    target: Annotated[
        str, typer.Argument(metavar="MODULE:OBJECT", help="A function, or a class with fit.", show_default=False)
    ],
    claim: Annotated[str, typer.Option(metavar="CLAIM", help=HELP["claim"], show_default=False)],
    data: library_options.Data = None,
    calls: Annotated[Library, typer.Option(help="The library whose calls must be seen.")] = Library.auto,
    pairs: Annotated[int, typer.Option(metavar="N", help="Ordinary random pairs of each relation.")] = 40,
    confirm: Annotated[int, typer.Option(metavar="N", help="Trials on the worst pair of each finding.")] = 0,
    relation: Annotated[
        Neighbours | None, typer.Option(help="Which datasets are neighbours; default: both are tried.")
    ] = None,
    call: library_options.CallOption = CallShape.auto,
    arg: library_options.Arg = None,
    out: library_options.Out = None,
    public: library_options.Public = None,
    python: library_options.Python = "",
    seed: Annotated[int, typer.Option(metavar="S", help=HELP["seed"])] = DEFAULT_SEED,
    json: Annotated[str | None, typer.Option("--json", metavar="F", help="Write the result as JSON.")] = None,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="For everything.")] = 600.0,
) -> None:
    """Record the noise calls of diffprivlib, OpenDP, PyDP or opacus on one dataset, play them back on its neighbour.

    Noise that the code draws itself from numpy.random or random is followed as well, and what it is worth is said.

    The library's Python must be 3.11 or later, with NumPy and SciPy. Exit code: 0 KEPT on the pairs tried, 1 OVER or
    REFUTED, 2 usage, 3 UNDECIDED, or the target failed.
    """
    from dpverify.base.text import arguments
    from dpverify.cli import isolated_command
    from dpverify.execution.isolated import Limits
    from dpverify.report import files
    from dpverify.report.json_file import strict

    if data is None:
        raise UsageError("--data is missing: what do its data look like? See dpverify replay --help")
    arguments(arg or [])  # refused here, before anything is started
    outputs = files.Outputs(json)
    files.check_writable(outputs)
    files.drop(outputs)  # old ones
    asked: dict[str, Any] = {
        "target": target,
        "claim": claim,
        "data": data,
        "instrument": calls.value,
        "count": pairs,
        "confirm": confirm,
        "relation": None if relation is None else relation.value,
        "call": call.value,
        "arg": list(arg or []),
        "out": list(out or []),
        "public": list(public or []),
        "seed": seed,
    }
    if python:
        asked = {"python": python, "asked": asked, "timeout": timeout}
    name = "dpverify.wild.replaying:replayed_elsewhere" if python else "dpverify.wild.replaying:replayed"
    found = isolated_command.answer(name, asked, Limits(timeout=timeout), missing="replay")
    for line in found["lines"]:
        print(clean(line))
    isolated_command.write_file(outputs.json, strict(found["document"]))
    raise typer.Exit(found["code"])
