"""SARIF 2.1.0, and annotations of GitHub Actions: what is not as expected, at the line of the claim."""

import json
from typing import Any

from dpverify.faces.report import words
from dpverify.verdicts.record import AuditRecord
from dpverify.verdicts.suite import SuiteResult
from dpverify.verdicts.verdict import Verdict

RULES = {
    "claim-refuted": "A privacy claim is false: the certified lower bound exceeds it.",
    "bug-not-caught": "A planted bug was not caught: the audit cannot see it in the real code either.",
    "not-accounted": "The ledger does not say what is expected of it.",
    "inconclusive": "The audit could not have caught any violation.",
}


def render(result: SuiteResult) -> str:
    """The document."""
    findings = [record for record in result.records if not record.as_expected]
    run = {
        "tool": {
            "driver": {
                "name": "dpverify",
                "version": result.environment.get("dpverify", ""),
                "rules": [{"id": rule, "shortDescription": {"text": text}} for rule, text in RULES.items()],
            }
        },
        "results": [_finding(record, result) for record in findings],
    }
    document = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def annotations(result: SuiteResult) -> list[str]:
    """Workflow commands that mark the lines in a pull request."""
    return [
        f"::error file={_property(record.file)},line={max(1, record.line)},title={_property(record.subject)}::"
        + _data(_message(record))
        for record in result.records
        if not record.as_expected
    ]


def rule(record: AuditRecord) -> str:
    """Which rule a record that is not as expected breaks."""
    if record.verdict is Verdict.INCONCLUSIVE:
        return "inconclusive"
    if record.verdict is Verdict.REFUTED and record.expected != Verdict.REFUTED:
        return "claim-refuted"
    return "bug-not-caught" if record.planted else "not-accounted"


def _message(record: AuditRecord) -> str:
    return f"{record.subject}: {words.expectation(record)}. {words.sentence(record)} {words.ledger_sentence(record)}"


def _finding(record: AuditRecord, result: SuiteResult) -> dict[str, Any]:
    found: dict[str, Any] = {
        "ruleId": rule(record),
        "level": "error",
        "message": {"text": f"{_message(record)} Again, alone: {words.command(record, result)}"},
    }
    if record.file:
        where = {
            "artifactLocation": {"uri": record.file.replace("\\", "/")},
            "region": {"startLine": max(1, record.line)},
        }
        found["locations"] = [{"physicalLocation": where}]
    return found


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
