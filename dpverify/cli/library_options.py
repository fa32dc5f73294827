"""Options of the commands that run somebody else's function: `certify --data` and `replay`."""

from enum import Enum
from functools import partial
from typing import Annotated, Any

import typer

_option: Any = partial(typer.Option, rich_help_panel="Somebody else's function")


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


Data = Annotated[
    str | None,
    _option(
        metavar="SPEC",
        help="What data look like, in a line or a TOML file; pairs are made from it: 'list: real 0..100, rows 5..50'.",
    ),
]
CallOption = Annotated[CallShape, _option(help="How it is called; auto reads the signature.")]
Arg = Annotated[list[str] | None, _option("--arg", metavar="NAME=VALUE", help="An argument, as Python writes it.")]
Out = Annotated[list[str] | None, _option("--out", metavar="FIELD", help="Look at this field only; repeatable.")]
Public = Annotated[list[str] | None, _option("--public", metavar="FIELD", help="This field is public.")]
OutsideOption = Annotated[Outside | None, _option(help="Pairs with data that --data excludes; default: report.")]
Python = Annotated[str, _option(metavar="INTERPRETER", help="The library's own Python, 3.7 or later.")]
Minutes = Annotated[
    float | None,
    _option(metavar="M", help="Wall time for the trials of all pairs; default: a fixed number of releases."),
]
Repro = Annotated[str | None, _option(metavar="FOLDER", help="Write a script without dpverify a refuted pair.")]
Encode = Annotated[str, _option(metavar="MODULE:FUNCTION", help="output -> dict of numbers and texts.")]
