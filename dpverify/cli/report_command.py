"""`dpverify report`: what an earlier run found, in any face."""

from pathlib import Path
from typing import Annotated

import typer

from dpverify.cli.shared_options import Html, Json, Junit, Markdown, Quiet, Sarif, Scorecard
from dpverify.errors import UsageError
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
    from dpverify.report import certificate_page
    from dpverify.report.json_file import load_results

    if certificate_page.is_certificate(results):
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
    from dpverify.report import certificate_page

    for form in ("markdown", "junit", "sarif"):
        if getattr(outputs, form) is not None:
            raise UsageError(f"--{form}: is for records of audit; a certificate is written as --json or --html")
    certificate = certificate_page.load_certificate(path)
    files.check_writable(outputs)
    if not (quiet and certificate.certified):
        console.show_certificate(certificate)
    isolated_command.write_file(outputs.json, certificate_page.render_json(certificate))
    isolated_command.write_file(outputs.html, certificate_page.render(certificate))
    return certificate.exit_code
