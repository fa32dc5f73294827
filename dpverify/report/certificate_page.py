"""A certificate as JSON, and as one self-contained HTML page."""

import json
from pathlib import Path
from typing import Any

from markupsafe import Markup

from dpverify.auditing.certificate import Certificate, digest_of, SCHEMA
from dpverify.auditing.record import AuditRecord
from dpverify.base.plain_values import check_fields
from dpverify.base.text import cleaned
from dpverify.errors import UsageError
from dpverify.report import plots
from dpverify.report.html_page import promised, template, view
from dpverify.report.json_file import strict


def render(certificate: Certificate) -> str:
    """The page."""
    certificate = cleaned(certificate)
    command = certificate.command or "(made by dpverify.certify in Python)"
    plain = certificate.to_dict()
    return (
        template("certificate.html").render(
            c=certificate,
            views=[view(f"s{index + 1}", record, command) for index, record in enumerate(certificate.records)],
            promises=promised(certificate.promises),
            coverage_ticks=plots.coverage_scale(),
            not_proved=certificate.not_proved,
            interval=Markup(plots.interval_bar(certificate.strongest)),
            ticks=plots.interval_scale(),
            about=plain["statement"],
            digest=plain["digest"],
        )
        + "\n"
    )


def render_json(certificate: Certificate) -> str:
    """The certificate as strict JSON; infinity is 1e999."""
    return strict(cleaned(certificate).to_dict())


# ----------------------------------------------------------------------------------------------------------------------
# Certificates from files: read, and compared with their own digest.


def is_certificate(path: Path) -> bool:
    """Whether a file says that it is a certificate, of whatever version; False for what cannot be read."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and str(document.get("schema", "")).startswith("dpverify/certificate/")


def load_certificate(path: Path) -> Certificate:
    """The certificate in a file; UsageError for another schema or digest, and for what is none."""
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            raise UsageError(f"{path}: schema {document['schema']!r}, must be {SCHEMA!r}")
        if document["digest"] != digest_of(document):
            raise UsageError(f"{path}: its digest is not that of its contents: it was changed after it was written")
        for record in document["records"]:
            check_fields(AuditRecord, record)
        return Certificate.from_dict(document)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError, IndexError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{path}: not a certificate of dpverify ({type(error).__name__}: {error})") from error
