"""`dpverify diff OLD NEW`: what changed between two runs, and whether anything is worse."""

from pathlib import Path
from typing import Annotated

import typer

from dpverify.errors import EXIT_OK, EXIT_UNEXPECTED


def diff(
    old: Annotated[Path, typer.Argument(help="What audit wrote with --json, before.", show_default=False)],
    new: Annotated[Path, typer.Argument(help="The same, now.", show_default=False)],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only what is worse.")] = False,
) -> None:
    """Say what became refuted, proved or open, which bounds changed, and what came or went.

    Exit code: 0 nothing is worse, 1 something is: a status that fell, a planted bug that is no longer caught, a promise
    that is no longer kept, a subject that failed or is gone. 2: not two result files.
    """
    from dpverify.base.text import clean
    from dpverify.report.json_file import load_results
    from dpverify.suite.difference import compared

    changes = compared(load_results(old), load_results(new))
    for change in changes:
        if change.worse or not quiet:
            print(clean(f"{'WORSE ' if change.worse else ''}{change.subject}: {change.text}"))
    worse = sum(change.worse for change in changes)
    print(f"{len(changes)} changes, {worse} of them for the worse." if changes else "Nothing changed.")
    raise typer.Exit(EXIT_UNEXPECTED if worse else EXIT_OK)
