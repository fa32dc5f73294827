"""A certificate as an in-toto statement with the predicate test-result v0.1: unsigned, for whoever signs it.

https://in-toto.io/Statement/v1, https://in-toto.io/attestation/test-result/v0.1. The subject is the audited source by
its digest and commit; the configuration is the certificate itself. A test passes only where something is shown: what is
open is a warning.
"""

from typing import Any

from dpverify.base.text import cleaned
from dpverify.evidence.promises import BROKEN, KEPT
from dpverify.faces.report.as_json import strict
from dpverify.verdicts.certificate import Certificate
from dpverify.verdicts.verdict import Status

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"


def render(certificate: Certificate) -> str:
    """The statement as JSON."""
    return strict(document(cleaned(certificate)))


def document(certificate: Certificate) -> dict[str, Any]:
    """The statement as plain values."""
    plain = certificate.to_dict()
    passed, warned, failed = list[str](), list[str](), list[str]()
    for index, record in enumerate(certificate.records):
        name = f"{certificate.claim} on pair {record.pair or index + 1}"
        (failed if record.status in (Status.REFUTED, Status.INVALID) else warned).append(name)
    claim = f"{certificate.claim} for all neighbours"
    (passed if certificate.status is Status.PROVED else failed if certificate.exit_code == 1 else warned).append(claim)
    for check in certificate.promises:
        (passed if check.verdict == KEPT else failed if check.verdict == BROKEN else warned).append(check.name)
    digest = {"dpverifySourceDigest": certificate.records[0].source_digest}
    if certificate.identity.get("commit"):
        digest["gitCommit"] = str(certificate.identity["commit"])
    configuration = {
        "name": "certificate.json",
        "digest": {"dpverifyCanonicalJson": plain["digest"].removeprefix("sha256:")},
    }
    return {
        "_type": STATEMENT,
        "subject": [{"name": certificate.subject, "digest": digest}],
        "predicateType": PREDICATE,
        "predicate": {
            "result": "FAILED" if failed else "WARNED" if warned else "PASSED",
            "configuration": [configuration],
            "passedTests": passed,
            "warnedTests": warned,
            "failedTests": failed,
        },
    }
