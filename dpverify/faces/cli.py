"""The command line: `dpverify audit`, `dpverify report`. Parses, delegates, sets the exit code.

Everything heavy is imported inside the commands: `dpverify --help` and a usage error load no numpy.
"""

import sys
import traceback
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from dpverify.base.errors import DpverifyError, EXIT_FAILED, EXIT_USAGE
from dpverify.faces.options import DEFAULT_SEED, DEFAULT_SIGNIFICANCE, HELP, Outputs

app = typer.Typer(
    help="Checks differential-privacy claims instead of repeating them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


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
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only what is not as expected.")]


@app.command()
def audit(
    paths: Paths,
    expression: Expression = "",
    only_list: OnlyList = False,
    trials: Annotated[int | None, typer.Option(metavar="N", help=HELP["trials"])] = None,
    significance: Annotated[float, typer.Option(metavar="A", help=HELP["significance"])] = DEFAULT_SIGNIFICANCE,
    seed: Annotated[int, typer.Option(metavar="S", help=HELP["seed"])] = DEFAULT_SEED,
    jobs: Annotated[int, typer.Option(metavar="J", help=HELP["jobs"])] = 1,
    backend: Annotated[Backend, typer.Option(help=HELP["backend"])] = Backend.loky,
    sequential: Annotated[bool, typer.Option("--sequential", help=HELP["sequential"])] = False,
    json: Json = None,
    html: Html = None,
    markdown: Markdown = None,
    junit: Junit = None,
    quiet: Quiet = False,
) -> None:
    """Audit every subject found under PATHS and compare with what is expected.

    Exit code: 0 everything as expected, 1 a claim refuted or a planted bug not caught, 2 usage,
    3 inconclusive or failed run.
    """
    from dpverify.faces import console
    from dpverify.faces.report import files
    from dpverify.verdicts.discovery import discover
    from dpverify.verdicts.suite import run_suite, Settings

    settings = Settings(
        seed=seed,
        significance=significance,
        trials=trials,
        jobs=jobs,
        backend=backend.value,
        sequential=sequential,
    )
    subjects = discover(paths, expression)
    if only_list:
        console.show_list(subjects)
        return
    outputs = Outputs(json, html, markdown, junit)
    files.check(outputs)
    with console.progress(subjects, settings, quiet=quiet) as watcher:
        result = run_suite(subjects, settings, watcher.finished, watcher.trials)
    console.show_result(result, quiet=quiet)
    files.write(result, outputs)
    raise typer.Exit(result.exit_code)


@app.command()
def report(
    results: Annotated[Path, typer.Argument(help="A file written by --json.", show_default=False)],
    json: Json = None,
    html: Html = None,
    markdown: Markdown = None,
    junit: Junit = None,
    quiet: Quiet = False,
) -> None:
    """Show the records of an earlier run again; rendering computes no evidence. Same exit codes as audit."""
    from dpverify.faces import console
    from dpverify.faces.report import files
    from dpverify.faces.report.as_json import load

    result = load(results)
    outputs = Outputs(json, html, markdown, junit)
    files.check(outputs)
    console.show_result(result, quiet=quiet)
    files.write(result, outputs)
    raise typer.Exit(result.exit_code)


def run(arguments: list[str] | None = None) -> int:
    """Runs one command and returns its exit code; every expected error is one line on stderr."""
    try:
        code: Any = app(arguments, prog_name="dpverify", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except DpverifyError as error:
        return _complain(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted; no verdict", 130)
    except BrokenPipeError:  # the reader has seen enough
        sys.stderr.close()
        return EXIT_FAILED
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
    print("dpverify: " + " ".join(message.split()), file=sys.stderr)
    return code


def main() -> None:
    """Entry point."""
    sys.exit(run())


if __name__ == "__main__":
    main()
