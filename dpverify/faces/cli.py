"""The command line: `dpverify audit`, `certify`, `report`. Parses, delegates, sets the exit code.

Everything heavy is imported inside the commands: `dpverify --help` and a usage error load no numpy.
"""

import os
import shlex
import sys
import traceback
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from dpverify.base.errors import DpverifyError, EXIT_FAILED, EXIT_USAGE, UsageError
from dpverify.faces import plan_command
from dpverify.faces.options import DEFAULT_JOBS, DEFAULT_SEED, DEFAULT_SIGNIFICANCE, HELP, Outputs

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
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only what is not as expected.")]


app.command()(plan_command.plan)


@app.command()
def audit(
    paths: Paths,
    expression: Expression = "",
    only_list: OnlyList = False,
    trials: Annotated[int | None, typer.Option(metavar="N", help=HELP["trials"])] = None,
    significance: Annotated[float, typer.Option(metavar="A", help=HELP["significance"])] = DEFAULT_SIGNIFICANCE,
    seed: Annotated[int, typer.Option(metavar="S", help=HELP["seed"])] = DEFAULT_SEED,
    jobs: Annotated[int, typer.Option(metavar="J", help=HELP["jobs"])] = DEFAULT_JOBS,
    backend: Annotated[Backend, typer.Option(help=HELP["backend"])] = Backend.loky,
    sequential: Annotated[bool, typer.Option("--sequential", help=HELP["sequential"])] = False,
    family: Annotated[Family, typer.Option(help=HELP["family"])] = Family.bonferroni,
    json: Json = None,
    html: Html = None,
    markdown: Markdown = None,
    junit: Junit = None,
    sarif: Sarif = None,
    quiet: Quiet = False,
    changed_only: Annotated[
        bool, typer.Option("--changed-only", help="Reuse accepted results of unchanged code (.dpverify_cache).")
    ] = False,
    scorecard: Annotated[
        bool, typer.Option("--scorecard", help="Only what papers state, as a table by paper.")
    ] = False,
) -> None:
    """Audit every subject found under PATHS and compare with what is expected.

    Exit code: 0 everything as expected, 1 a claim refuted or a planted bug not caught, 2 usage,
    3 inconclusive or failed run.
    """
    from dpverify.faces import console
    from dpverify.faces.cache import Cache
    from dpverify.faces.report import files
    from dpverify.verdicts.discovery import discover
    from dpverify.verdicts.family import judged_together
    from dpverify.verdicts.suite import run_suite, Settings

    settings = Settings(
        seed=seed,
        significance=significance,
        trials=trials,
        jobs=jobs,
        backend=backend.value,
        sequential=sequential,
    )
    if family is Family.e_bh and not sequential:
        raise UsageError("--family e-bh: needs --sequential, e-values come from betting")
    agenda = discover(paths, expression)
    if scorecard:
        agenda = agenda.of_papers()
    if only_list:
        console.show_list(agenda)
        return
    outputs = Outputs(json, html, markdown, junit, sarif)
    files.check(outputs)
    cache = Cache(agenda.subjects, agenda.promises, settings) if changed_only else None
    known = cache.known() if cache else {}
    with console.progress(agenda, settings, quiet=quiet) as watcher:
        result = run_suite(agenda.subjects, settings, watcher.finished, watcher.trials, agenda.promises, known)
    if cache:
        cache.keep([*result.records, *result.promises])
        console.show_reused(len(known), quiet=quiet)
    result = judged_together(result, family.value)
    (console.show_scorecard if scorecard else console.show_result)(result, quiet=quiet)
    files.write(result, outputs)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        from dpverify.faces.report.as_sarif import annotations

        for line in annotations(result):
            print(line)
    raise typer.Exit(result.exit_code)


@app.command()
def report(
    results: Annotated[Path, typer.Argument(help="A file written by --json.", show_default=False)],
    json: Json = None,
    html: Html = None,
    markdown: Markdown = None,
    junit: Junit = None,
    sarif: Sarif = None,
    quiet: Quiet = False,
) -> None:
    """Show the records of an earlier run again; rendering computes no evidence. Same exit codes as audit."""
    from dpverify.faces import console
    from dpverify.faces.report import files
    from dpverify.faces.report.as_json import load

    result = load(results)
    outputs = Outputs(json, html, markdown, junit, sarif)
    files.check(outputs)
    console.show_result(result, quiet=quiet)
    files.write(result, outputs)
    raise typer.Exit(result.exit_code)


class RelationName(str, Enum):  # noqa: UP042
    """Which datasets are neighbours."""

    replace_one = "replace"
    add_remove = "add-remove"


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
    claim: Annotated[str, typer.Option(metavar="CLAIM", help="pure:EPS, approx:EPS,DELTA, zcdp:RHO or gdp:MU.")],
    pairs: Annotated[
        str | None, typer.Option(metavar="MODULE:NAME", help="Neighbouring pairs; default: the object's own.")
    ] = None,
    relation: Annotated[RelationName, typer.Option(help="Which datasets are neighbours.")] = RelationName.replace_one,
    view: Annotated[ViewName, typer.Option(help="What the adversary sees of a release.")] = ViewName.central,
    trials: Annotated[int, typer.Option(metavar="N", help="Trials per pair.")] = 100_000,
    significance: Annotated[float, typer.Option(metavar="A", help="Error of the whole certificate.")] = 0.01,
    seed: Annotated[int, typer.Option(metavar="S", help=HELP["seed"])] = DEFAULT_SEED,
    jobs: Annotated[int, typer.Option(metavar="J", help=HELP["jobs"])] = DEFAULT_JOBS,
    json: Annotated[str | None, typer.Option("--json", metavar="F", help="Write the certificate as JSON.")] = None,
    html: Html = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing where it is certified.")] = False,
) -> None:
    """Account, audit and check one mechanism or privatizer, and write its certificate.

    Exit code: 0 nothing speaks against the claim (the output says whether it is proved), 1 the claim is refuted,
    the ledger contradicted or a promise broken, 2 usage, 3 inconclusive, not proved by its ledger, or failed.
    """
    from dpverify.claims.claim import parse_claim
    from dpverify.claims.neighbours import Relation, View
    from dpverify.faces import console, loading
    from dpverify.faces.report import certificate_page, files
    from dpverify.verdicts.certificate import certify as certified

    neighbours = Relation.REPLACE_ONE if relation is RelationName.replace_one else Relation.ADD_OR_REMOVE_ONE
    stated = parse_claim(claim, relation=neighbours, view=View(view.value))
    outputs = Outputs(json, html)
    files.check(outputs)
    words = ["dpverify", "certify", subject, "--claim", claim, *(["--pairs", pairs] if pairs else [])]
    words += ["--relation", relation.value, "--view", view.value, "--trials", str(trials)]
    words += ["--significance", repr(significance), "--seed", str(seed)]
    certificate = certified(
        loading.load_subject(subject),
        claim=stated,
        pairs=None if pairs is None else loading.load(pairs),
        trials=trials,
        significance=significance,
        seed=seed,
        jobs=jobs,
        name=subject.rpartition(":")[2],
        command=shlex.join(words),
    )
    if not (quiet and certificate.certified):
        console.show_certificate(certificate)
    for path, render in ((json, certificate_page.render_json), (html, certificate_page.render)):
        if path is not None:
            Path(path).write_text(render(certificate), encoding="utf-8")
    raise typer.Exit(certificate.exit_code)


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
