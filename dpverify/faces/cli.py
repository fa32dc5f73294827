"""The command line: `dpverify audit`, `dpverify report`. Parses, delegates, sets the exit code."""

import sys
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from dpverify.base.errors import DpverifyError, EXIT_USAGE

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
Json = Annotated[Path | None, typer.Option("--json", metavar="F", help="Write records as JSON.")]
Html = Annotated[Path | None, typer.Option("--html", metavar="F", help="Write a self-contained HTML page.")]


@app.command()
def audit(
    paths: Paths,
    expression: Annotated[
        str, typer.Option("-k", metavar="EXPR", help="Only subjects whose name matches, e.g. 'local and not printed'.")
    ] = "",
    only_list: Annotated[bool, typer.Option("--list", help="List the subjects and stop.")] = False,
    trials: Annotated[int | None, typer.Option(help="Trials per pair; default: each subject's own.")] = None,
    significance: Annotated[float, typer.Option(help="Family-wise error of the whole suite.")] = 0.05,
    seed: Annotated[
        int | None, typer.Option(help="Seed of every random stream; default 20260, so runs repeat.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Worker processes.")] = 1,
    backend: Annotated[Backend, typer.Option(help="Where the workers are.")] = Backend.loky,
    sequential: Annotated[bool, typer.Option("--sequential", help="Stop each audit once decided.")] = False,
    json: Json = None,
    html: Html = None,
) -> None:
    """Audit every subject found under PATHS and compare with what is expected.

    Exit code: 0 everything as expected, 1 a claim refuted or a planted bug not caught, 2 usage,
    3 inconclusive or failed run.
    """
    from dpverify.faces import console
    from dpverify.verdicts.discovery import discover
    from dpverify.verdicts.suite import run_suite, Settings

    subjects = discover(paths, expression)
    if only_list:
        console.show_list(subjects)
        return
    settings = Settings(
        seed=DEFAULT_SEED if seed is None else seed,
        significance=significance,
        trials=trials,
        jobs=jobs,
        backend=backend.value,
        sequential=sequential,
    )
    with console.progress(subjects) as listener:
        result = run_suite(subjects, settings, listener)
    console.show_result(result)
    _write(result, json, html)
    raise typer.Exit(result.exit_code)


DEFAULT_SEED = 20260


@app.command()
def report(
    results: Annotated[Path, typer.Argument(help="A file written by --json.", show_default=False)],
    html: Html = None,
) -> None:
    """Show the records of an earlier run again; rendering computes no evidence."""
    from dpverify.faces import console
    from dpverify.faces.report.as_json import load

    result = load(results)
    console.show_result(result)
    _write(result, None, html)
    raise typer.Exit(result.exit_code)


def _write(result: "object", json: Path | None, html: Path | None) -> None:
    from dpverify.faces.report import as_html, as_json
    from dpverify.verdicts.suite import SuiteResult

    assert isinstance(result, SuiteResult)
    for path, render in ((json, as_json.dumps), (html, as_html.render)):
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(render(result), encoding="utf-8")


def main() -> None:
    """Entry point: errors become one line on stderr and their exit code."""
    try:
        app()
    except DpverifyError as error:
        print(f"dpverify: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("dpverify: interrupted; no verdict", file=sys.stderr)
        sys.exit(130)


__all__ = ["EXIT_USAGE", "app", "main"]

if __name__ == "__main__":
    main()
