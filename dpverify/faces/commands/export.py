"""`dpverify export`: a certificate as an in-toto statement, or as an entry of the registry of DP deployments."""

from pathlib import Path
from typing import Annotated

import typer

from dpverify.base.errors import UsageError


def export(
    certificate: Annotated[Path, typer.Argument(help="What certify wrote with --json.", show_default=False)],
    intoto: Annotated[
        str | None,
        typer.Option("--in-toto", metavar="F", help="Write an in-toto statement (test-result/v0.1), unsigned."),
    ] = None,
    registry: Annotated[
        str | None,
        typer.Option("--registry", metavar="F", help="Write an entry for the registry of DP deployments (YAML)."),
    ] = None,
) -> None:
    """Write a certificate in other formats. Nothing is computed: what the certificate says, and what it does not."""
    from dpverify.faces import watched_run
    from dpverify.faces.options import Outputs
    from dpverify.faces.report import as_intoto, as_registry, certificate_file, files

    if intoto is None and registry is None:
        raise UsageError("export: name a file with --in-toto or --registry")
    files.check(Outputs(json=intoto, html=registry))
    found = certificate_file.load(certificate)
    if intoto is not None:
        watched_run.write(intoto, as_intoto.render(found))
    if registry is not None:
        watched_run.write(registry, as_registry.render(found))
