"""`dpverify audit`: every subject of a suite, each in a watched process of its own."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, TYPE_CHECKING

import typer

from dpverify.cli.options import DEFAULT_SEED, DEFAULT_SIGNIFICANCE, DEFAULT_TIMEOUT, HELP
from dpverify.cli.settings import profile
from dpverify.errors import DpverifyError, UsageError
from dpverify.report.files import Outputs

if TYPE_CHECKING:
    from dpverify.execution.isolated import Limits
    from dpverify.suite.plan import Manifest

# options that several commands have, with one meaning; docs/ci.md lists those that --help leaves out
WHAT, MUCH, EVIDENCE, OUTPUTS, RUNNING = "What", "How much", "Evidence", "Outputs", "Running"
Json = Annotated[
    str | None, typer.Option("--json", metavar="F", help="Write records as JSON.", rich_help_panel=OUTPUTS)
]
Html = Annotated[
    str | None, typer.Option("--html", metavar="F", help="Write a self-contained HTML page.", rich_help_panel=OUTPUTS)
]
Markdown = Annotated[
    str | None, typer.Option("--markdown", metavar="F", help="Write a pull-request comment.", rich_help_panel=OUTPUTS)
]
Junit = Annotated[str | None, typer.Option("--junit", metavar="F", help="Write JUnit XML.", rich_help_panel=OUTPUTS)]
Sarif = Annotated[
    str | None, typer.Option("--sarif", metavar="F", help="Write SARIF, for code scanning.", rich_help_panel=OUTPUTS)
]
Scorecard = Annotated[
    bool, typer.Option("--scorecard", help="Only what papers state, as a table by paper.", hidden=True)
]
PromisesOnly = Annotated[
    bool,
    typer.Option("--promises-only", help="Only promises about utility: error bounds, regret, pessimism.", hidden=True),
]
Timeout = Annotated[float, typer.Option(metavar="SECONDS", help=HELP["timeout"], hidden=True)]
Ladder = Annotated[bool, typer.Option("--ladder", help=HELP["ladder"], rich_help_panel=EVIDENCE)]
Memory = Annotated[int | None, typer.Option(metavar="MB", help=HELP["memory"], hidden=True)]
NoTape = Annotated[bool, typer.Option("--no-tape", help=HELP["no_tape"], hidden=True)]
RequireTape = Annotated[bool, typer.Option("--require-tape", help=HELP["require_tape"], rich_help_panel=EVIDENCE)]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print only what is not as expected.", rich_help_panel=OUTPUTS)
]
Profile = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="quick, ci, nightly, or one of yours: sets trials and transcripts.",
        is_eager=True,
        callback=profile,
        rich_help_panel=MUCH,
    ),
]


@dataclass(frozen=True)
class Asked:
    """What a command is told besides its options: the words that were typed."""

    arguments: tuple[str, ...]


class FamilyName(str, Enum):  # noqa: UP042
    """What limits the error of a suite's verdicts."""

    bonferroni = "bonferroni"
    holm = "holm"
    e_bh = "e-bh"


Paths = Annotated[list[Path], typer.Argument(help="Folders with audit_*.py files, or such files.", show_default=False)]
Expression = Annotated[
    str,
    typer.Option(
        "-k",
        metavar="EXPR",
        help="Only subjects whose name matches, e.g. 'local and not printed'.",
        rich_help_panel=WHAT,
    ),
]
OnlyList = Annotated[bool, typer.Option("--list", help="List the subjects and stop.", rich_help_panel=WHAT)]


def audit(
    context: typer.Context,
    paths: Paths,
    expression: Expression = "",
    only_list: OnlyList = False,
    profile: Profile = None,
    trials: Annotated[int | None, typer.Option(metavar="N", help=HELP["trials"], rich_help_panel=MUCH)] = None,
    significance: Annotated[
        float, typer.Option(metavar="A", help=HELP["significance"], hidden=True)
    ] = DEFAULT_SIGNIFICANCE,
    seed: Annotated[int, typer.Option(metavar="S", help=HELP["seed"], rich_help_panel=MUCH)] = DEFAULT_SEED,
    jobs: Annotated[int | None, typer.Option(metavar="J", help=HELP["jobs"], rich_help_panel=RUNNING)] = None,
    backend: Annotated[str, typer.Option(metavar="NAME", help=HELP["backend"], hidden=True)] = "loky",
    sequential: Annotated[bool, typer.Option("--sequential", help=HELP["sequential"], rich_help_panel=MUCH)] = False,
    ladder: Ladder = False,
    family: Annotated[FamilyName, typer.Option(help=HELP["family"], hidden=True)] = FamilyName.bonferroni,
    json: Json = None,
    html: Html = None,
    markdown: Markdown = None,
    junit: Junit = None,
    sarif: Sarif = None,
    quiet: Quiet = False,
    scorecard: Scorecard = False,
    promises_only: PromisesOnly = False,
    timeout: Timeout = DEFAULT_TIMEOUT,
    memory: Memory = None,
    resume: Annotated[bool, typer.Option("--resume", help=HELP["resume"], rich_help_panel=RUNNING)] = False,
    no_tape: NoTape = False,
    require_tape: RequireTape = False,
    exit_first: Annotated[bool, typer.Option("-x", "--exitfirst", help=HELP["exit_first"], hidden=True)] = False,
    last_failed: Annotated[bool, typer.Option("--last-failed", "--lf", help=HELP["last_failed"], hidden=True)] = False,
    durations: Annotated[int, typer.Option("--durations", metavar="N", min=0, help=HELP["durations"], hidden=True)] = 0,
) -> None:
    """Audit every subject found under PATHS and compare with what is expected.

    Each subject runs in a watched process of its own: a crash, a hang or a missing answer is a named failure, and the
    others go on. What is done is kept in the folder .dpverify here, for --resume. An audit file that declares neither
    subjects nor promises is an error, also where it was found in a folder.

    Exit code: 0 everything that was asked is done, as expected and written, 1 a claim refuted or a planted bug not
    caught, 2 usage, 3 inconclusive, invalid or failed, 128 + N interrupted by signal N.
    """
    from dpverify.cli.options import LISTED, PRELOAD
    from dpverify.execution.executors import usable_processors
    from dpverify.execution.isolated import Limits, start_server

    limits = Limits(timeout=timeout, memory=memory)
    if no_tape and require_tape:
        raise UsageError("--no-tape and --require-tape: one of them")
    if only_list:
        asked: dict[str, object] = {
            "--json": json,
            "--html": html,
            "--markdown": markdown,
            "--junit": junit,
            "--sarif": sarif,
        }
        asked |= {"--resume": resume, "--last-failed": last_failed}
        alone(asked)
        start_server(LISTED)  # it loads while this process does
        which = {"scorecard": scorecard, "promises_only": promises_only}
        raise typer.Exit(run_list(paths, expression, limits, jobs=jobs, **which))
    # counting loads joblib, which sets variables: before anything is started, so that all see the same ones
    processors = usable_processors()
    start_server(PRELOAD)
    from dpverify.cli import audit_run
    from dpverify.suite.result import Settings

    settings = Settings(
        seed=seed,
        significance=significance,
        trials=trials,
        jobs=processors if jobs is None else jobs,
        backend=backend,
        sequential=sequential,
        ladder=ladder,
        tape=not no_tape,
        require_tape=require_tape,
    )
    if family is FamilyName.e_bh and not sequential:
        raise UsageError("--family e-bh: needs --sequential, e-values come from betting")
    request = audit_run.SuiteRequest(
        paths=paths,
        expression=expression,
        settings=settings,
        limits=limits,
        outputs=Outputs(json, html, markdown, junit, sarif),
        family=family.value,
        scorecard=scorecard,
        promises_only=promises_only,
        resume=resume,
        quiet=quiet,
        arguments=context.obj.arguments,
        exit_first=exit_first,
        last_failed=last_failed,
        durations=durations,
    )
    raise typer.Exit(audit_run.run_audit(request))


MOST = 8  # files read at a time where nobody says how many: counting usable processors takes longer than a list


def run_list(
    paths: list[Path], expression: str, limits: "Limits", *, jobs: int | None, scorecard: bool, promises_only: bool
) -> int:
    """Prints the list and returns the exit code; ParameterError for no jobs.

    It needs neither statistics nor reports: their imports would take longer than a list.
    """
    from dpverify.base import require
    from dpverify.execution.interruption import Halt, heeded
    from dpverify.suite.plan import read_plan

    jobs = min(os.cpu_count() or 1, MOST) if jobs is None else jobs
    require.integer(at_least=1, jobs=jobs)
    halt = Halt()
    with heeded(halt) as heard:
        try:
            found = read_plan(paths, expression, limits, jobs=jobs, halt=halt)
            found = found.of_papers() if scorecard else found
            _print_list(found.of_promises() if promises_only else found)
            return 0
        except DpverifyError as error:
            if heard.number:
                print(f"dpverify: interrupted by {heard.name} before anything was run", file=sys.stderr)
                return heard.exit_code
            raise error
        finally:
            halt.close()


def alone(asked: Mapping[str, object]) -> None:
    """UsageError for an option that a list could not serve: exit 0 says that all that was asked is done."""
    for option, value in asked.items():
        if value:
            raise UsageError(f"{option}: needs a run, and --list runs nothing")


def _print_list(agenda: "Manifest") -> None:
    """One line for each subject and promise."""
    for each in agenda.subjects:
        print(f"{each.name}\t{each.claim}\t{each.relation}\t{each.trials} trials\t{each.expected}")
    for each in agenda.promises:
        print(f"{each.name}\t{each.claim}\t{each.trials} trials\t{each.expected}")
