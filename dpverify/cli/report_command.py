"""`dpverify report`: what an earlier run found, in any face."""

from pathlib import Path
from typing import Annotated

import typer

from dpverify.cli.audit_command import Html, Json, Junit, Markdown, Quiet, Sarif, Scorecard
from dpverify.errors import EXIT_OK, EXIT_UNEXPECTED, UsageError
from dpverify.report import files
from dpverify.report.files import Outputs


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
    from dpverify.cli import console
    from dpverify.report import html_page
    from dpverify.report.json_file import load_results

    if html_page.is_certificate(results):
        raise typer.Exit(_certificate(results, Outputs(json, html, markdown, junit, sarif), quiet=quiet))
    result = load_results(results)
    outputs = Outputs(json, html, markdown, junit, sarif)
    files.check_writable(outputs)
    (console.show_scorecard if scorecard else console.show_result)(result, quiet=quiet)
    files.write_reports(result, outputs)
    raise typer.Exit(result.exit_code)


def _certificate(path: Path, outputs: Outputs, *, quiet: bool) -> int:
    """Shows it, writes it as JSON and HTML, and gives its exit code."""
    from dpverify.cli import console, isolated_command
    from dpverify.report import html_page

    for form in ("markdown", "junit", "sarif"):
        if getattr(outputs, form) is not None:
            raise UsageError(f"--{form}: is for records of audit; a certificate is written as --json or --html")
    certificate = html_page.load_certificate(path)
    files.check_writable(outputs)
    if not (quiet and certificate.exit_code == EXIT_OK):
        console.show_certificate(certificate, explain=True)
    isolated_command.write_file(outputs.json, html_page.certificate_json(certificate))
    isolated_command.write_file(outputs.html, html_page.render_certificate(certificate))
    return certificate.exit_code


# ----------------------------------------------------------------------------------------------------------------------
# `dpverify diff OLD NEW`: what changed between two runs, and whether anything is worse.


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
