"""`dpverify report` of a certificate."""

from pathlib import Path

from dpverify.base.errors import UsageError
from dpverify.faces import console, watched_run
from dpverify.faces.options import Outputs
from dpverify.faces.report import certificate_file, certificate_page, files


def run(path: Path, outputs: Outputs, *, quiet: bool) -> int:
    """Shows it, writes it as JSON and HTML, and gives its exit code."""
    for form in ("markdown", "junit", "sarif"):
        if getattr(outputs, form) is not None:
            raise UsageError(f"--{form}: is for records of audit; a certificate is written as --json or --html")
    certificate = certificate_file.load(path)
    files.check(outputs)
    if not (quiet and certificate.certified):
        console.show_certificate(certificate)
    watched_run.write(outputs.json, certificate_page.render_json(certificate))
    watched_run.write(outputs.html, certificate_page.render(certificate))
    return certificate.exit_code
