"""JUnit XML: one test case a subject.

A verdict or account that is not as expected is a failure; no verdict, or an inconclusive one, is an error. So
the file has failures exactly where the exit code is 1, and only errors where it is 3.
"""

import re
from xml.etree import ElementTree as etree

from dpverify.evidence.promises import OPEN, PromiseCheck
from dpverify.faces.report import words
from dpverify.verdicts.record import AuditRecord
from dpverify.verdicts.suite import SuiteResult
from dpverify.verdicts.verdict import Verdict

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # not allowed in XML 1.0


def render(result: SuiteResult) -> str:
    """The document."""
    unexpected = [check for check in result.promises if not check.as_expected]
    errors = len(result.failures) + sum(record.verdict is Verdict.INCONCLUSIVE for record in result.records)
    errors += sum(check.verdict == OPEN for check in unexpected)
    failures = sum(_failed(record) for record in result.records) + sum(check.verdict != OPEN for check in unexpected)
    suite = etree.Element(
        "testsuite",
        name="dpverify",
        tests=str(len(result.records) + len(result.promises) + len(result.failures)),
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
        **result.environment,
    }
    for name, value in facts.items():
        etree.SubElement(properties, "property", name=name, value=str(value))
    for record in result.records:
        _case(suite, record, result)
    for check in result.promises:
        _promise(suite, check)
    for failure in result.failures:
        case = etree.SubElement(suite, "testcase", classname=_class(failure.subject), name=_clean(failure.subject))
        etree.SubElement(case, "error", type="failed", message=_clean(failure.error))
    root = etree.Element("testsuites", name="dpverify")
    root.append(suite)
    etree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + etree.tostring(root, encoding="unicode") + "\n"


def _case(suite: etree.Element, record: AuditRecord, result: SuiteResult) -> None:
    facts = {"classname": _class(record.subject), "name": _clean(record.subject), "time": f"{record.seconds:.3f}"}
    if record.file:
        facts["file"] = _clean(record.file)
    case = etree.SubElement(suite, "testcase", facts)
    said = f"{words.sentence(record)} {words.ledger_sentence(record)}"
    if record.verdict is Verdict.INCONCLUSIVE:
        etree.SubElement(case, "error", type="INCONCLUSIVE", message=_clean(said))
    elif _failed(record):
        failure = etree.SubElement(case, "failure", type=str(record.verdict), message=_clean(words.expectation(record)))
        failure.text = _clean(f"{said}\n{words.command(record, result)}")
    etree.SubElement(case, "system-out").text = _clean(said)


def _promise(suite: etree.Element, check: PromiseCheck) -> None:
    case = etree.SubElement(suite, "testcase", classname=_class(check.name), name=_clean(check.name))
    if not check.as_expected:
        kind = "error" if check.verdict == OPEN else "failure"
        etree.SubElement(case, kind, type=check.verdict, message=f"expected {check.expected}")
    etree.SubElement(case, "system-out").text = _clean(str(check))


def _failed(record: AuditRecord) -> bool:
    return record.verdict is not Verdict.INCONCLUSIVE and not record.as_expected


def _class(subject: str) -> str:
    return _clean(f"dpverify.{words.group(subject) or 'subject'}")


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
