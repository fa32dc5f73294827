"""SARIF 2.1.0, and annotations of GitHub Actions: what is not as expected, at the line of the claim."""

import hashlib
import json
from typing import Any

from dpverify.auditing.record import AuditRecord
from dpverify.auditing.statuses import Verdict
from dpverify.base.text import cleaned
from dpverify.promises import PromiseCheck
from dpverify.report import words
from dpverify.suite.plan import group
from dpverify.suite.result import Failure, SuiteResult

HELP = "https://github.com/dpverify/dpverify#how-to-read-a-verdict"
REASONS = "https://github.com/dpverify/dpverify/blob/main/docs/reasons.md"
RULES = {  # what it means, and how severe code scanning shall take it, of 10
    "claim-refuted": ("A privacy claim is false: the certified lower bound exceeds it.", "9.0"),
    "not-accounted": ("The ledger does not say what is expected of it.", "7.0"),
    "bug-not-caught": ("A planted bug was not caught: the audit cannot see it in the real code either.", "6.0"),
    "promise-broken": ("A promise about utility is not kept as expected.", "5.0"),
    "invalid": ("The trials are not what a bound may be computed from.", "5.0"),
    "inconclusive": ("The audit could not have refuted any violation, or most of its trials failed.", "4.0"),
}


def render(result: SuiteResult) -> str:
    """The document."""
    result = cleaned(result)
    findings = [_finding(record, result) for record in result.records if not record.as_expected]
    broken = [_promise(check, result) for check in result.promises if not check.as_expected]
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "dpverify",
                "version": result.environment.get("dpverify", ""),
                "informationUri": HELP.partition("#")[0],
                "rules": [_rule(rule, *told) for rule, told in RULES.items()],
            }
        },
        "invocations": [
            {
                "executionSuccessful": result.complete,
                "exitCode": result.exit_code,
                "toolExecutionNotifications": [*map(_notification, result.failures), *_not_reached(result)],
            }
        ],
        "results": [*findings, *broken],
        "properties": {"identity": result.identity},
    }
    commit = result.identity.get("commit")
    if commit:
        run["automationDetails"] = {"id": f"dpverify/{commit}"}
    document = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _rule(name: str, text: str, severity: str) -> dict[str, Any]:
    return {
        "id": name,
        "name": "".join(part.capitalize() for part in name.split("-")),
        "shortDescription": {"text": text},
        "helpUri": REASONS if name in ("invalid", "inconclusive") else HELP,
        "help": {"text": text},
        "defaultConfiguration": {"level": "error"},
        "properties": {"security-severity": severity, "problem.severity": "error", "tags": ["security", "privacy"]},
    }


def _fingerprint(rule: str, subject: str, claim: str) -> dict[str, str]:
    """Equal for the same finding in another run: by what is claimed of what, and not by lines, numbers or seeds."""
    text = json.dumps([rule, subject, claim])
    return {"dpverifyFinding/v1": hashlib.sha256(text.encode()).hexdigest()[:32]}


def _promise(check: PromiseCheck, result: SuiteResult) -> dict[str, Any]:
    """A promise stands at the first subject of its file; code scanning refuses results without a place."""
    near = [record for record in result.records if record.file and group(record.subject) == group(check.name)]
    place = near or [record for record in result.records if record.file]
    return {
        "ruleId": "promise-broken",
        "level": "error",
        "message": {"text": f"{check}, expected {check.expected}"},
        "partialFingerprints": _fingerprint("promise-broken", check.name, ""),
        "locations": [_location(place[0].file, 1)] if place else [],
    }


def annotations(result: SuiteResult) -> list[str]:
    """Workflow commands that mark the lines in a pull request."""
    result = cleaned(result)
    return (
        [
            f"::error file={_property(record.file)},line={max(1, record.line)},title={_property(record.subject)}::"
            + _data(_message(record))
            for record in result.records
            if not record.as_expected
        ]
        + [
            f"::error {_place(failure)}title={_property(failure.subject)}::"
            + _data(f"{failure.subject}: no verdict. {words.failed(failure)}")
            for failure in result.failures
        ]
        + [
            f"::error title={_property('dpverify is incomplete')}::" + _data(words.incomplete(result))
            for _ in range(bool(result.missing or result.interrupted))
        ]
    )


def rule(record: AuditRecord) -> str:
    """Which rule a record that is not as expected breaks."""
    if record.verdict is Verdict.INVALID:
        return "invalid"
    if record.verdict is Verdict.INCONCLUSIVE:
        return "inconclusive"
    if record.verdict is Verdict.REFUTED and record.expected != Verdict.REFUTED:
        return "claim-refuted"
    return "bug-not-caught" if record.planted else "not-accounted"


def _message(record: AuditRecord) -> str:
    return f"{record.subject}: {words.expectation(record)}. {words.evidence_words(record)}"


def _finding(record: AuditRecord, result: SuiteResult) -> dict[str, Any]:
    found: dict[str, Any] = {
        "ruleId": rule(record),
        "level": "error",
        "message": {"text": f"{_message(record)} Again, alone: {words.command(record, result)}"},
        "partialFingerprints": _fingerprint(rule(record), record.subject, record.claim),
    }
    if record.file:
        found["locations"] = [_location(record.file, record.line)]
    return found


def _location(file: str, line: int) -> dict[str, Any]:
    where = {"artifactLocation": {"uri": file.replace("\\", "/")}, "region": {"startLine": max(1, line)}}
    return {"physicalLocation": where}


def _notification(failure: Failure) -> dict[str, Any]:
    """What a run could not do is no finding about the code: it stands with the invocation."""
    told: dict[str, Any] = {
        "level": "error",
        "descriptor": {"id": failure.kind},
        "message": {"text": f"{failure.subject}: no verdict. {words.failed(failure)}"},
        "properties": {"traceback": failure.traceback, "output": list(failure.output)},
    }
    if failure.file:
        told["locations"] = [_location(failure.file, failure.line)]
    return told


def _not_reached(result: SuiteResult) -> list[dict[str, Any]]:
    if not (result.missing or result.interrupted):
        return []
    names = f" Not reached: {', '.join(result.missing)}." if result.missing else ""
    text = f"{words.incomplete(result)}{names}"
    return [{"level": "error", "descriptor": {"id": "missing"}, "message": {"text": text}}]


def _place(failure: Failure) -> str:
    return f"file={_property(failure.file)},line={max(1, failure.line)}," if failure.file else ""


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
