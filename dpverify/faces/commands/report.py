"""`dpverify report`: what an earlier run found, in any face."""

from pathlib import Path
from typing import Annotated

import typer

from dpverify.faces.commands.shared import Html, Json, Junit, Markdown, Quiet, Sarif, Scorecard
from dpverify.faces.options import Outputs


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
