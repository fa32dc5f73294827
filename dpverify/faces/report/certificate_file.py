"""Certificates from files: read, and compared with their own digest."""

import json
from pathlib import Path
from typing import Any

from dpverify.base.errors import UsageError
from dpverify.base.plain import check_fields
from dpverify.verdicts.certificate import Certificate, digest_of, SCHEMA
from dpverify.verdicts.record import AuditRecord


def is_certificate(path: Path) -> bool:
    """Whether a file says that it is a certificate, of whatever version; False for what cannot be read."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and str(document.get("schema", "")).startswith("dpverify/certificate/")


def load(path: Path) -> Certificate:
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
