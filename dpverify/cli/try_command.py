"""`dpverify try`: trials on many pairs of a function that somebody else wrote, in an interpreter of its own."""

from enum import Enum
from typing import Annotated, Any

import typer

from dpverify.base.text import clean
from dpverify.cli.options import DEFAULT_SEED, DEFAULT_SIGNIFICANCE, HELP
from dpverify.errors import EXIT_OK, UsageError
from dpverify.report.files import Outputs


class Neighbours(str, Enum):  # noqa: UP042 - typer shows the values of a plain str enum
    """Which datasets are neighbours."""

    replace_one = "replace"
    add_remove = "add-remove"
    both = "both"


class CallShape(str, Enum):  # noqa: UP042
    """How one release is asked for."""

    auto = "auto"
    data = "data"
    rng = "rng"
    seed = "seed"
    fit = "fit"
    target = "target"


class Outside(str, Enum):  # noqa: UP042
    """What becomes of data that the schema excludes."""

    report = "report"
    judge = "judge"
    off = "off"


class Seen(str, Enum):  # noqa: UP042
    """What the adversary sees."""

    central = "central"
    local = "local"


Target = Annotated[
    str | None,
    typer.Argument(metavar="TARGET", help="MODULE:OBJECT or FILE.py:OBJECT: a function, or a class with fit.",
                   show_default=False),
]  # fmt: skip
ClaimText = Annotated[str | None, typer.Option("--claim", metavar="CLAIM", help=HELP["claim"])]
SchemaFile = Annotated[str | None, typer.Option("--schema", metavar="F", help="What data look like, as TOML.")]
RelationOption = Annotated[
    Neighbours | None, typer.Option(help="Which datasets are neighbours; default: both are tried.")
]
CallOption = Annotated[CallShape, typer.Option(help="How it is called; auto reads the signature.")]
Arg = Annotated[list[str] | None, typer.Option("--arg", metavar="NAME=VALUE", help="An argument, as Python writes it.")]
Out = Annotated[list[str] | None, typer.Option("--out", metavar="FIELD", help="Look at this field only; repeatable.")]
Public = Annotated[list[str] | None, typer.Option("--public", metavar="FIELD", help="This field is public.")]
OutsideOption = Annotated[Outside, typer.Option(help="Pairs with data that the schema excludes.")]
Python = Annotated[str, typer.Option(metavar="INTERPRETER", help="The library's own Python, 3.7 or later.")]
Minutes = Annotated[float, typer.Option(metavar="M", help="Time for everything.")]
Repro = Annotated[str | None, typer.Option(metavar="FOLDER", help="Write a script without dpverify a refuted pair.")]
Encode = Annotated[str, typer.Option(metavar="MODULE:FUNCTION", help="output -> dict of numbers and texts.")]
Wait = Annotated[float, typer.Option("--timeout", metavar="SECONDS", help="For one release.")]


def try_(
    target: Target = None,
    claim: ClaimText = None,
    schema: SchemaFile = None,
    relation: RelationOption = None,
    view: Annotated[Seen, typer.Option(help="local: one record is a dataset.")] = Seen.central,
    call: CallOption = CallShape.auto,
    arg: Arg = None,
    out: Out = None,
    public: Public = None,
    out_of_domain: OutsideOption = Outside.report,
    python: Python = "",
    minutes: Minutes = 10.0,
    significance: Annotated[float, typer.Option(metavar="A", help="Error of the whole run.")] = DEFAULT_SIGNIFICANCE,
    seed: Annotated[int, typer.Option(metavar="S", help=HELP["seed"])] = DEFAULT_SEED,
    json: Annotated[str | None, typer.Option("--json", metavar="F", help="Write the result as JSON.")] = None,
    repro: Repro = None,
    encode: Encode = "",
    size: Annotated[bool, typer.Option("--size", help="100,000 more trials on the worst pair.")] = False,
    trials: Annotated[int, typer.Option(metavar="N", help="Of each pair, on average, while nothing falls.")] = 2_000,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the pairs and the time, and stop.")] = False,
    sketch: Annotated[str | None, typer.Option(metavar="CSV", help="Print a schema for this file, and stop.")] = None,
    timeout: Wait = 10.0,
) -> None:
    """Try a claim of somebody else's code on pairs of datasets made from a schema.

    The code runs in an interpreter of its own, on a fresh copy of the data for every release. Exit code: 0 nothing
    found, 1 REFUTED on a pair within the schema, 2 usage, 3 inconclusive, or the target failed.
    """
    if sketch is not None:
        from dpverify.wild.schema import sketch as sketched

        print(sketched(sketch), end="")
        raise typer.Exit(EXIT_OK)
    from dpverify.wild.trying import planned, try_out

    given = {**wanted(target, claim, schema, arg, python), "call": call.value, "encode": encode, "timeout_s": timeout}
    options: dict[str, Any] = {
        "relation": None if relation is None else relation.value, "minutes": minutes, "significance": significance,
        "seed": seed, "out": tuple(out or ()), "public": tuple(public or ()), "out_of_domain": out_of_domain.value,
        "size": size, "trials": trials, "repro": repro,
    }  # fmt: skip
    if view is Seen.local and not given["schema"].local:
        raise UsageError('--view local: one record is the whole dataset; the schema must say as = "value"')
    outputs = Outputs(json)
    _checked(outputs)
    if dry_run:
        planned(**given, say=say, **options)
        raise typer.Exit(EXIT_OK)
    _show(try_out(**given, say=say, **options), outputs)


def wanted(target: str | None, claim: str | None, schema: str | None, arg: list[str] | None, python: str) -> Any:
    """What both commands need, read; UsageError for what is missing or wrong."""
    from dpverify.base.text import arguments
    from dpverify.claims.curves import parse_claim
    from dpverify.wild.schema import read_schema

    for name, value in (("TARGET", target), ("--claim", claim), ("--schema", schema)):
        if value is None:
            raise UsageError(f"{name} is missing; see dpverify try --help")
    assert claim is not None
    assert schema is not None
    return {
        "target": target, "claim": parse_claim(claim), "schema": read_schema(schema), "arguments": arguments(arg or []),
        "python": python,
    }  # fmt: skip


def say(line: str) -> None:
    """One line, now."""
    print(clean(line), flush=True)


def _checked(outputs: Outputs) -> None:
    """UsageError where a file cannot be written; old ones are gone afterwards."""
    from dpverify.report import files

    files.check_writable(outputs)
    files.drop(outputs)


def _show(record: Any, outputs: Outputs) -> None:
    """Prints a record, writes it, and ends with its exit code."""
    from dpverify.cli import isolated_command
    from dpverify.report.json_file import strict
    from dpverify.wild.record import lines

    for line in lines(record):
        say(line)
    isolated_command.write_file(outputs.json, strict(record.to_dict()))
    raise typer.Exit(record.exit_code)
