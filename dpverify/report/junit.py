"""JUnit XML: one test case a subject.

A verdict or account that is not as expected is a failure; no verdict, or one that judges nothing, is an error. So
the file has failures exactly where the exit code is 1, and only errors where it is 3.
"""

from xml.etree import ElementTree as etree

from dpverify.auditing.record import AuditRecord
from dpverify.auditing.statuses import Verdict
from dpverify.base.text import clean, cleaned
from dpverify.promises import OPEN, PromiseCheck
from dpverify.report import words
from dpverify.suite.plan import group
from dpverify.suite.result import SuiteResult

UNDECIDED = (Verdict.INCONCLUSIVE, Verdict.INVALID)


def render(result: SuiteResult) -> str:
    """The document."""
    result = cleaned(result)
    unexpected = [check for check in result.promises if not check.as_expected]
    errors = result.unjudged + sum(record.verdict in UNDECIDED for record in result.records)
    errors += bool(result.interrupted)
    errors += sum(check.verdict == OPEN for check in unexpected)
    failures = sum(_failed(record) for record in result.records) + sum(check.verdict != OPEN for check in unexpected)
    suite = etree.Element(
        "testsuite",
        name="dpverify",
        tests=str(len(result.records) + len(result.promises) + result.unjudged + bool(result.interrupted)),
        failures=str(failures),
        errors=str(errors),
        skipped="0",
        time=f"{sum(record.seconds for record in result.records):.3f}",
    )
    properties = etree.SubElement(suite, "properties")
    facts = {
        "seed": result.seed,
        "family_wise_error": result.family_wise_error,
        "family": result.family,
        "conclusion": words.headline(result),
        **result.environment,
        **{f"identity.{name}": value for name, value in result.identity.items()},
    }
    for name, value in facts.items():
        etree.SubElement(properties, "property", name=name, value=str(value))
    for record in result.records:
        _case(suite, record, result)
    for check in result.promises:
        _promise(suite, check)
    for failure in result.failures:
        error = _error(suite, failure.subject, failure.kind, words.failed(failure), failure.file)
        error.text = clean("\n".join([failure.traceback, *failure.output]).strip(), lines=True)
    for name in result.missing:
        _error(suite, name, "missing", "not reached: it has no outcome")
    if result.interrupted:
        _error(suite, "the run itself", "interrupted", words.incomplete(result))
    root = etree.Element("testsuites", name="dpverify")
    root.append(suite)
    etree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + etree.tostring(root, encoding="unicode") + "\n"


def _error(suite: etree.Element, name: str, kind: str, said: str, file: str = "") -> etree.Element:
    facts = {"classname": _class(name), "name": name, **({"file": file} if file else {})}
    case = etree.SubElement(suite, "testcase", facts)
    return etree.SubElement(case, "error", type=kind, message=said)


def _case(suite: etree.Element, record: AuditRecord, result: SuiteResult) -> None:
    facts = {"classname": _class(record.subject), "name": record.subject, "time": f"{record.seconds:.3f}"}
    if record.file:
        facts["file"] = record.file
    case = etree.SubElement(suite, "testcase", facts)
    _properties(case, record, status=str(record.status))
    said = words.evidence_words(record)
    if record.verdict in UNDECIDED:
        etree.SubElement(case, "error", type=str(record.verdict), message=said)
    elif _failed(record):
        failure = etree.SubElement(case, "failure", type=str(record.verdict), message=words.expectation(record))
        failure.text = f"{said}\n{words.command(record, result)}"
    etree.SubElement(case, "system-out").text = said


def _promise(suite: etree.Element, check: PromiseCheck) -> None:
    case = etree.SubElement(suite, "testcase", classname=_class(check.name), name=check.name)
    _properties(case, check)
    if not check.as_expected:
        kind = "error" if check.verdict == OPEN else "failure"
        etree.SubElement(case, kind, type=check.verdict, message=f"expected {check.expected}")
    etree.SubElement(case, "system-out").text = str(check)


def _properties(case: etree.Element, outcome: AuditRecord | PromiseCheck, **facts: str) -> None:
    if facts:
        properties = etree.SubElement(case, "properties")
        for name, value in facts.items():
            etree.SubElement(properties, "property", name=name, value=value)


def _failed(record: AuditRecord) -> bool:
    return record.verdict not in UNDECIDED and not record.as_expected


def _class(subject: str) -> str:
    return f"dpverify.{group(subject) or 'subject'}"
