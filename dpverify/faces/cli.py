"""The command line: `dpverify audit`, `certify`, `report`, `atlas`, ... Parses, delegates, sets the exit code.

Everything heavy is imported inside the commands: `dpverify --help` and a usage error load no numpy.
"""

import contextlib
import io
import os
import shlex
import signal
import sys
import traceback
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from dpverify.base import early
from dpverify.base.errors import DpverifyError, EXIT_FAILED, EXIT_USAGE, UsageError
from dpverify.base.text import clean
from dpverify.faces import workflow
from dpverify.faces.commands import atlas, check, diff, exact, export, init, plan, replay, trace, try_
from dpverify.faces.options import (
    CACHE_KEY,
    DEFAULT_SEED,
    DEFAULT_SIGNIFICANCE,
    DEFAULT_TIMEOUT,
    HELP,
    Outputs,
    RelationName,
)

app = typer.Typer(
    help="Checks differential-privacy claims instead of repeating them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(asked: bool) -> None:
    if asked:
        from dpverify import __version__

        print(f"dpverify {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Checks differential-privacy claims instead of repeating them."""


_arguments: list[str] = []  # as they were typed: an interrupted run says how to go on
_secret = [""]  # what DPVERIFY_CACHE_KEY held


class Family(str, Enum):  # noqa: UP042
    """What limits the error of a suite's verdicts."""

    bonferroni = "bonferroni"
    holm = "holm"
    e_bh = "e-bh"


class Backend(str, Enum):  # noqa: UP042 - typer shows the values of a plain str enum
    """Where trials run."""

    loky = "loky"
    dask = "dask"
    ray = "ray"


Paths = Annotated[list[Path], typer.Argument(help="Folders with audit_*.py files, or such files.", show_default=False)]
Expression = Annotated[
    str, typer.Option("-k", metavar="EXPR", help="Only subjects whose name matches, e.g. 'local and not printed'.")
]
OnlyList = Annotated[bool, typer.Option("--list", help="List the subjects and stop.")]
Json = Annotated[str | None, typer.Option("--json", metavar="F", help="Write records as JSON.")]
Html = Annotated[str | None, typer.Option("--html", metavar="F", help="Write a self-contained HTML page.")]
Markdown = Annotated[str | None, typer.Option("--markdown", metavar="F", help="Write a pull-request comment.")]
Junit = Annotated[str | None, typer.Option("--junit", metavar="F", help="Write JUnit XML.")]
Sarif = Annotated[str | None, typer.Option("--sarif", metavar="F", help="Write SARIF, for code scanning.")]
Scorecard = Annotated[bool, typer.Option("--scorecard", help="Only what papers state, as a table by paper.")]
Timeout = Annotated[float, typer.Option(metavar="SECONDS", help=HELP["timeout"])]
Ladder = Annotated[bool, typer.Option("--ladder", help=HELP["ladder"])]
Memory = Annotated[int | None, typer.Option(metavar="MB", help=HELP["memory"])]
NoTape = Annotated[bool, typer.Option("--no-tape", help=HELP["no_tape"])]
RequireTape = Annotated[bool, typer.Option("--require-tape", help=HELP["require_tape"])]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only what is not as expected.")]


app.command()(plan.plan)
app.command()(trace.trace)
app.command()(exact.exact)
app.command("try")(try_.try_)
app.command()(replay.replay)
app.add_typer(atlas.app, name="atlas")
app.command()(check.check)
app.command()(export.export)
app.command()(diff.diff)
app.command()(init.init)


@app.command()
def audit(
    paths: Paths,
    expression: Expression = "",
    only_list: OnlyList = False,
    trials: Annotated[int | None, typer.Option(metavar="N", help=HELP["trials"])] = None,
    significance: Annotated[float, typer.Option(metavar="A", help=HELP["significance"])] = DEFAULT_SIGNIFICANCE,
    seed: Annotated[int, typer.Option(metavar="S", help=HELP["seed"])] = DEFAULT_SEED,
    jobs: Annotated[int | None, typer.Option(metavar="J", help=HELP["jobs"])] = None,
    backend: Annotated[Backend, typer.Option(help=HELP["backend"])] = Backend.loky,
    sequential: Annotated[bool, typer.Option("--sequential", help=HELP["sequential"])] = False,
    ladder: Ladder = False,
    family: Annotated[Family, typer.Option(help=HELP["family"])] = Family.bonferroni,
    json: Json = None,
    html: Html = None,
    markdown: Markdown = None,
    junit: Junit = None,
    sarif: Sarif = None,
    quiet: Quiet = False,
    changed_only: Annotated[bool, typer.Option("--changed-only", help=HELP["changed_only"])] = False,
    keep: Annotated[bool, typer.Option("--keep", help=HELP["keep"])] = False,
    scorecard: Annotated[
        bool, typer.Option("--scorecard", help="Only what papers state, as a table by paper.")
    ] = False,
    timeout: Timeout = DEFAULT_TIMEOUT,
    memory: Memory = None,
    resume: Annotated[bool, typer.Option("--resume", help=HELP["resume"])] = False,
    no_tape: NoTape = False,
    require_tape: RequireTape = False,
    exit_first: Annotated[bool, typer.Option("-x", "--exitfirst", help=HELP["exit_first"])] = False,
    last_failed: Annotated[bool, typer.Option("--last-failed", "--lf", help=HELP["last_failed"])] = False,
    durations: Annotated[int, typer.Option("--durations", metavar="N", min=0, help=HELP["durations"])] = 0,
) -> None:
    """Audit every subject found under PATHS and compare with what is expected.

    Each subject runs in a watched process of its own: a crash, a hang or a missing answer is a named failure, and the
    others go on. What is done is kept in the folder .dpverify here, for --resume. An audit file that declares neither
    subjects nor promises is an error, also where it was found in a folder.

    Exit code: 0 everything that was asked is done, as expected and written, 1 a claim refuted or a planted bug not
    caught, 2 usage, 3 inconclusive, invalid or failed, 128 + N interrupted by signal N.
    """
    from dpverify.runs.fork_server import fork_server
    from dpverify.runs.pools import usable_processors
    from dpverify.runs.task import Limits
    from dpverify.verdicts.preload import LISTED, PRELOAD

    limits = Limits(timeout=timeout, memory=memory)
    tape = not _tapeless(no_tape, require_tape)
    if only_list:
        from dpverify.faces import list_run

        asked: dict[str, object] = {
            "--json": json,
            "--html": html,
            "--markdown": markdown,
            "--junit": junit,
            "--sarif": sarif,
        }
        asked |= {"--resume": resume, "--keep": keep, "--changed-only": changed_only, "--last-failed": last_failed}
        list_run.alone(asked)
        fork_server(LISTED)  # it loads while this process does
        raise typer.Exit(list_run.run(paths, expression, limits, jobs=jobs, scorecard=scorecard))
    # counting loads joblib, which sets variables: before anything is started, so that all see the same ones
    processors = usable_processors()
    fork_server(PRELOAD)
    from dpverify.faces import audit_run
    from dpverify.verdicts import reuse
    from dpverify.verdicts.settings import Settings

    settings = Settings(
        seed=seed,
        significance=significance,
        trials=trials,
        jobs=processors if jobs is None else jobs,
        backend=backend.value,
        sequential=sequential,
        ladder=ladder,
        tape=tape,
        require_tape=require_tape,
    )
    if family is Family.e_bh and not sequential:
        raise UsageError("--family e-bh: needs --sequential, e-values come from betting")
    request = audit_run.Request(
        paths=paths,
        expression=expression,
        settings=settings,
        limits=limits,
        outputs=Outputs(json, html, markdown, junit, sarif),
        family=family.value,
        scorecard=scorecard,
        resume=resume,
        changed_only=changed_only,
        keep=keep,
        secret=reuse.secret(_secret[0]) if changed_only or keep else b"",
        quiet=quiet,
        arguments=tuple(_arguments),
        exit_first=exit_first,
        last_failed=last_failed,
        durations=durations,
    )
    raise typer.Exit(audit_run.run(request))


@app.command()
def report(
    results: Annotated[Path, typer.Argument(help="A file written by --json.", show_default=False)],
    json: Json = None,
    html: Html = None,
    markdown: Markdown = None,
    junit: Junit = None,
    sarif: Sarif = None,
    quiet: Quiet = False,
    scorecard: Scorecard = False,
) -> None:
    """Show the records of an earlier run, or a certificate, again; rendering computes no evidence.

    Same exit codes as audit and certify. A certificate is refused where its digest is not that of its contents.
    """
    from dpverify.faces import certificate_report, console
    from dpverify.faces.report import certificate_file, files
    from dpverify.faces.report.as_json import load

    if certificate_file.is_certificate(results):
        raise typer.Exit(certificate_report.run(results, Outputs(json, html, markdown, junit, sarif), quiet=quiet))
    result = load(results)
    outputs = Outputs(json, html, markdown, junit, sarif)
    files.check(outputs)
    (console.show_scorecard if scorecard else console.show_result)(result, quiet=quiet)
    files.write(result, outputs)
    raise typer.Exit(result.exit_code)


def _tapeless(no_tape: bool, require_tape: bool) -> bool:
    if no_tape and require_tape:
        raise UsageError("--no-tape and --require-tape: one of them")
    return no_tape


class ViewName(str, Enum):  # noqa: UP042
    """What the adversary sees."""

    central = "central"
    joint = "joint"
    local = "local"
    shuffle = "shuffle"


@app.command()
def certify(
    subject: Annotated[
        str,
        typer.Argument(metavar="MODULE:OBJECT", help="An object with release(data, *, rng, size), or its class."),
    ],
    claim: Annotated[
        str,
        typer.Option(
            metavar="CLAIM",
            help=HELP["claim"],
        ),
    ],
    pairs: Annotated[
        str | None, typer.Option(metavar="MODULE:NAME", help="Neighbouring pairs; default: the object's own.")
    ] = None,
    relation: Annotated[RelationName, typer.Option(help="Which datasets are neighbours.")] = RelationName.replace_one,
    view: Annotated[ViewName, typer.Option(help="What the adversary sees of a release.")] = ViewName.central,
    trials: Annotated[int, typer.Option(metavar="N", help="Trials per pair.")] = 100_000,
    significance: Annotated[float, typer.Option(metavar="A", help="Error of the whole certificate.")] = 0.01,
    seed: Annotated[int, typer.Option(metavar="S", help=HELP["seed"])] = DEFAULT_SEED,
    jobs: Annotated[int | None, typer.Option(metavar="J", help=HELP["jobs"])] = None,
    ladder: Ladder = False,
    json: Annotated[str | None, typer.Option("--json", metavar="F", help="Write the certificate as JSON.")] = None,
    html: Html = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing where it is certified.")] = False,
    timeout: Timeout = DEFAULT_TIMEOUT,
    memory: Memory = None,
    no_tape: NoTape = False,
    require_tape: RequireTape = False,
    call: try_.CallOption = try_.Call.auto,
    arg: try_.Arg = None,
    python: try_.Python = "",
) -> None:
    """Trace, account, audit and check one mechanism or privatizer, and write its certificate.

    Exit code: 0 nothing speaks against the claim (the output says whether it is proved), 1 the claim is refuted,
    the ledger contradicted or a promise broken, 2 usage, 3 inconclusive, not proved by its ledger, or failed.
    """
    from dpverify.runs.fork_server import fork_server
    from dpverify.runs.task import Limits
    from dpverify.verdicts.preload import CERTIFIED

    fork_server(CERTIFIED)  # it loads while this process does
    from dpverify.claims.neighbours import View
    from dpverify.claims.parse import parse_claim
    from dpverify.faces import certify_run
    from dpverify.runs.pools import usable_processors

    tape = not _tapeless(no_tape, require_tape)
    parse_claim(claim, view=View(view.value))  # refused here, before anything is started
    words = ["dpverify", "certify", subject, "--claim", claim, *(["--pairs", pairs] if pairs else [])]
    words += ["--relation", relation.value, "--view", view.value, "--trials", str(trials)]
    words += ["--significance", repr(significance), "--seed", str(seed), *(["--ladder"] if ladder else [])]
    words += ([] if tape else ["--no-tape"]) + (["--require-tape"] if require_tape else [])
    words += [] if call is try_.Call.auto else ["--call", call.value]
    words += [word for each in arg or [] for word in ("--arg", each)] + (["--python", python] if python else [])
    arguments = {
        "spec": subject,
        "claim": claim,
        "relation": relation.value,
        "view": view.value,
        "pairs": pairs,
        "trials": trials,
        "significance": significance,
        "seed": seed,
        "jobs": usable_processors() if jobs is None else jobs,
        "ladder": ladder,
        "command": shlex.join(words),
        "tape": tape,
        "require_tape": require_tape,
        "call": call.value,
        "arg": list(arg or []),
        "python": python,
    }
    request = certify_run.Request(
        arguments=arguments,
        limits=Limits(timeout=timeout, memory=memory),
        outputs=Outputs(json, html),
        quiet=quiet,
    )
    raise typer.Exit(certify_run.run(request))


def run(arguments: list[str] | None = None) -> int:
    """Runs one command and returns its exit code; every expected error is one line on stderr."""
    _arguments[:] = sys.argv[1:] if arguments is None else arguments
    _secret[:] = [os.environ.pop(CACHE_KEY, "")]  # not for the eyes of audited code
    with workflow.only_text():
        return _run(arguments)


def _run(arguments: list[str] | None) -> int:
    try:
        code: Any = app(arguments, prog_name="dpverify", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except DpverifyError as error:
        return _complain(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is ending; what it has started is ended first
        return _complain("interrupted; no verdict", 130)
    except SystemExit:  # the parser's answer to a reader that went away, with the code of a refuted claim
        return EXIT_FAILED
    except OSError as error:  # a full disk behind stdout, say
        return _complain(f"stopped ({error.strerror or error})", EXIT_FAILED)
    except Exception as error:
        if hasattr(error, "format_message"):  # what the parser raises, wherever its class lives
            return _usage(error)
        traceback.print_exc()  # a bug of ours: never the exit code of a refuted claim
        return EXIT_FAILED


def _usage(error: Any) -> int:
    message = " ".join(str(error.format_message()).split())
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error.format_message(), file=sys.stderr)
        return EXIT_USAGE
    end = "" if message.endswith("?") else "."
    return _complain(f"{message.rstrip('.')}{end} See dpverify --help.", EXIT_USAGE)


def _complain(message: str, code: int) -> int:
    with contextlib.suppress(OSError):
        print("dpverify: " + clean(" ".join(message.split())), file=sys.stderr)
    return code


def main() -> None:
    """Entry point. Streams that are closed count as the null device; one that cannot take its last lines fails.

    Signs that a stream's encoding does not have are written as their codes.
    """
    early.arm()
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    code = run()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = code or EXIT_FAILED
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # or the interpreter tries again
    sys.exit(code)


if __name__ == "__main__":
    main()
