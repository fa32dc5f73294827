"""Records as JSON and back: strict (RFC 8259), with a schema version.

Infinity is written 1e999: a number by JSON's grammar, and infinity to every reader that uses doubles.
NaN is refused: no number of a report may be NaN.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dpverify.auditing.certificate import Certificate
from dpverify.auditing.certificate import SCHEMA as CERTIFICATE
from dpverify.auditing.statuses import Grade, Status, Verdict
from dpverify.base.plain_values import decoded, json_schema
from dpverify.base.text import cleaned
from dpverify.errors import RunError, UsageError
from dpverify.suite.result import check_words, FAMILIES, from_plain, Outcome, SuiteResult, to_plain

SCHEMA = "dpverify/records/2"
_INFINITY = "\x00infinity"  # control characters do not occur in names


def render(result: SuiteResult) -> str:
    """The whole result as a JSON document."""
    result = cleaned(result)
    document = {
        "schema": SCHEMA,
        "seed": result.seed,
        "family_wise_error": result.family_wise_error,
        "family": result.family,
        "environment": result.environment,
        "identity": result.identity,
        "records": [record.to_dict() for record in result.records],
        "promises": [check.to_dict() for check in result.promises],
        "failures": [asdict(failure) for failure in result.failures],
        "asked": None if result.asked is None else list(result.asked),
        "interrupted": result.interrupted,
        "require_tape": result.require_tape,
    }
    return strict(document)


def strict(document: Any) -> str:
    """Plain values as JSON; RunError where one is NaN."""
    text = json.dumps(_encoded(document), indent=2, ensure_ascii=False)
    return text.replace(json.dumps(_INFINITY), "1e999").replace(json.dumps("-" + _INFINITY), "-1e999") + "\n"


def render_one(outcome: Outcome) -> str:
    """One outcome of a suite on one line, to travel between processes; `join` puts them together."""
    return json.dumps(to_plain(outcome))


def outcomes(written: Sequence[str]) -> list[Outcome]:
    """Inverse of `render_one`, for many."""
    return [from_plain(json.loads(each)) for each in written]


def join(written: Sequence[str], seed: int, family_wise_error: float) -> SuiteResult:
    """The suite of the outcomes that `render_one` wrote."""
    return SuiteResult.of(outcomes(written), seed=seed, family_wise_error=family_wise_error)


def load_results(path: Path) -> SuiteResult:
    """Inverse of `render`; UsageError for a file that is not such a document."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            raise UsageError(f"{path}: schema {document['schema']!r}, must be {SCHEMA!r}")
        result = decoded(SuiteResult, document)
        for record in result.records:
            check_words(record)
        if result.family not in FAMILIES:
            raise ValueError(f"family is {result.family!r}")
        return result
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path}: not a result file of dpverify ({type(error).__name__}: {error})") from error


def _encoded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _encoded(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_encoded(each) for each in value]
    if isinstance(value, float) and math.isnan(value):
        raise RunError("a record holds NaN; no number of a report may be NaN")
    if isinstance(value, float) and math.isinf(value):
        return _INFINITY if value > 0 else "-" + _INFINITY
    return value


# ----------------------------------------------------------------------------------------------------------------------
# The JSON schemas of what `--json` writes, derived from the types: fields, and what is written beside them.


DERIVED = {
    "status": {"enum": [*map(str, Status)]},
    "grade": {"enum": [*map(str, Grade), None]},
    "ledger_contradicted": {"type": "boolean"},
    "as_expected": {"type": "boolean"},
}


def records_schema() -> dict[str, Any]:
    """The schema of what `audit --json` writes. Infinity is written 1e999: a number."""
    return _written(SuiteResult, "Results of dpverify audit", {"schema": {"const": SCHEMA}})


def certificate_schema() -> dict[str, Any]:
    """The schema of what `certify --json` writes: the fields, what follows from them, a statement and a digest."""
    flag, number, text = {"type": "boolean"}, {"type": "number"}, {"type": "string"}
    texts = {"type": "array", "items": text}
    follows = {
        "schema": {"const": CERTIFICATE},
        "verdict": {"enum": [*map(str, Verdict)]},
        "status": {"enum": [*map(str, Status)]},
        "grade": DERIVED["grade"],
        "certified": flag,
        "objections": texts,
        "accounted": {"type": ["boolean", "null"]},
        "eps_lower": number,
        "eps_upper": {"type": ["number", "null"]},
        "delta": number,
        "detectable": number,
        "detectable_basis": text,
        "detectable_eps": number,
        "not_proved": texts,
        "statement": {"type": "object"},
        "digest": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
    }
    return _written(Certificate, "A certificate of dpverify", follows)


def _written(kind: type, title: str, beside: dict[str, Any]) -> dict[str, Any]:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **json_schema(kind), "title": title}
    for each, more in ((schema, beside), (schema["$defs"]["AuditRecord"], DERIVED)):
        each["properties"] |= more
        each["required"] = [*each["properties"]]
    promise = schema["$defs"]["PromiseCheck"]
    promise["properties"]["as_expected"] = DERIVED["as_expected"]
    return schema
