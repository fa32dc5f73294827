"""Options that several commands have, with one meaning."""

from typing import Annotated

import typer

from dpverify.cli.options import HELP
from dpverify.errors import UsageError

Json = Annotated[str | None, typer.Option("--json", metavar="F", help="Write records as JSON.")]
Html = Annotated[str | None, typer.Option("--html", metavar="F", help="Write a self-contained HTML page.")]
Markdown = Annotated[str | None, typer.Option("--markdown", metavar="F", help="Write a pull-request comment.")]
Junit = Annotated[str | None, typer.Option("--junit", metavar="F", help="Write JUnit XML.")]
Sarif = Annotated[str | None, typer.Option("--sarif", metavar="F", help="Write SARIF, for code scanning.")]
Scorecard = Annotated[bool, typer.Option("--scorecard", help="Only what papers state, as a table by paper.")]
PromisesOnly = Annotated[
    bool, typer.Option("--promises-only", help="Only promises about utility: error bounds, regret, pessimism.")
]
Timeout = Annotated[float, typer.Option(metavar="SECONDS", help=HELP["timeout"])]
Ladder = Annotated[bool, typer.Option("--ladder", help=HELP["ladder"])]
Memory = Annotated[int | None, typer.Option(metavar="MB", help=HELP["memory"])]
NoTape = Annotated[bool, typer.Option("--no-tape", help=HELP["no_tape"])]
RequireTape = Annotated[bool, typer.Option("--require-tape", help=HELP["require_tape"])]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only what is not as expected.")]


def tapeless(no_tape: bool, require_tape: bool) -> bool:
    """Whether the code is not traced; UsageError where it has to be, too."""
    if no_tape and require_tape:
        raise UsageError("--no-tape and --require-tape: one of them")
    return no_tape
