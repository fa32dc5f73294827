"""Records as JSON and back: strict (RFC 8259), with a schema version.

Infinity is written 1e999: a number by JSON's grammar, and infinity to every reader that uses doubles.
NaN is refused: no number of a report may be NaN.
"""

import json
import math
import types
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass, MISSING
from dataclasses import fields as dataclass_fields
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints, Union

from dpverify.auditing.certificate import SCHEMA as CERTIFICATE
from dpverify.auditing.certificate import Word
from dpverify.auditing.record import AuditRecord, Grade, Status, Verdict
from dpverify.base.text import cleaned
from dpverify.errors import RunError, UsageError
from dpverify.promises import PromiseCheck
from dpverify.suite.result import Failure, FAMILIES, from_plain, Outcome, SuiteResult, to_plain

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
        return SuiteResult(
            records=_read(AuditRecord, document["records"]),
            failures=_read(Failure, document["failures"]),
            seed=document["seed"],
            family_wise_error=document["family_wise_error"],
            environment=document["environment"],
            identity=document.get("identity", {}),
            promises=_read(PromiseCheck, document.get("promises", ())),
            family=document.get("family", "bonferroni"),
            asked=None if document["asked"] is None else tuple(document["asked"]),
            interrupted=document["interrupted"],
            require_tape=document.get("require_tape", False),
        )
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{path}: not a result file of dpverify ({type(error).__name__}: {error})") from error


def _read(kind: Any, written: Any) -> tuple[Any, ...]:
    return tuple(from_plain({"kind": kind.__name__, "outcome": each}) for each in written)


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
# The JSON schema of what `--json` writes, derived from the record types themselves.
#
# `records.schema.json` beside this file is what `document()` gives; a test keeps them equal.


PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
FLAGS = {"type": "boolean"}
GRADE = {"enum": [*map(str, Grade), None]}


IDENTITY = {
    "type": "object",
    "required": ["commit", "dirty", "dpverify"],
    "properties": {
        "commit": {"type": "string"},
        "dirty": {"type": ["boolean", "null"]},
        "dpverify": {"type": "string"},
    },
}


def document() -> dict[str, Any]:
    """The schema (JSON Schema 2020-12). Infinity is written 1e999: a number."""
    record = _object(AuditRecord, status=_type(Status), grade=GRADE, as_expected=FLAGS, ledger_contradicted=FLAGS)
    properties = {
        "schema": {"const": SCHEMA},
        "seed": {"type": "integer", "minimum": 0},
        "family_wise_error": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "family": {"enum": list(FAMILIES)},
        "environment": {"type": "object", "additionalProperties": {"type": "string"}},
        "identity": IDENTITY,
        "records": {"type": "array", "items": record},
        "promises": {"type": "array", "items": _object(PromiseCheck, as_expected=FLAGS)},
        "failures": {"type": "array", "items": _object(Failure)},
        "asked": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
        "interrupted": {"type": "string"},
        "require_tape": {"type": "boolean"},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Results of dpverify audit",
        "type": "object",
        "required": [name for name in properties if name not in ("family", "require_tape")],  # older
        "properties": properties,
    }


def certificate_schema() -> dict[str, Any]:
    """The schema of what `certify --json` writes; what is not a record or a promise follows from them."""
    number, text, flag = {"type": "number"}, {"type": "string"}, FLAGS
    texts = {"type": "array", "items": text}
    record = _object(AuditRecord, status=_type(Status), grade=GRADE, as_expected=FLAGS, ledger_contradicted=FLAGS)
    unit = {name: text for name in ("unit", "relation", "adjacency")}
    statement = {
        "unit": _plain_object({**unit, "pairs_compared": flag}),
        "trust_model": _plain_object({"view": text, "means": text}),
        "guarantee": _plain_object({"claim": text, "assumptions": texts, "source": text}),
        "releases": _plain_object({"one_release": text, "columns": texts, "events": {"type": "array", "items": texts}}),
        "implementation": _plain_object(
            {
                "file": text,
                "line": {"type": "integer"},
                "source_digest": text,
                "randomness": text,
                "draws": {"type": "array", "items": {"type": "object"}},
                "floating_point": texts,
            }
        ),
        "validated": {
            "type": "array",
            "items": _plain_object({"what": text, "how": text, "result": text, "count": {"type": "integer"}}),
        },
        "not_proved": texts,
    }
    properties = {
        "schema": {"const": CERTIFICATE},
        "subject": text,
        "claim": text,
        "verdict": _type(Verdict),
        "status": _type(Word),
        "grade": GRADE,
        "certified": flag,
        "objections": texts,
        "accounted": {"type": ["boolean", "null"]},
        "eps_lower": number,
        "eps_upper": {"type": ["number", "null"]},
        "delta": number,
        "detectable": number,
        "detectable_basis": text,
        "detectable_eps": number,
        "significance": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "seed": {"type": "integer", "minimum": 0},
        "records": {"type": "array", "items": record, "minItems": 1},
        "promises": {"type": "array", "items": _object(PromiseCheck, as_expected=FLAGS)},
        "notes": texts,
        "not_proved": texts,
        "environment": {"type": "object", "additionalProperties": text},
        "command": text,
        "require_tape": flag,
        "statements": {"type": "integer", "minimum": 1},
        "identity": IDENTITY,
        "statement": _plain_object(statement),
        "digest": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A certificate of dpverify",
        **_plain_object(properties),
    }


def _plain_object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}


def _object(kind: type, **extra: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    named = {field.name: _type(hints[field.name]) for field in dataclass_fields(kind)}
    required = [field.name for field in dataclass_fields(kind) if field.default is MISSING]
    return {"type": "object", "required": [*required, *extra], "properties": {**named, **extra}}


def _type(hint: Any) -> dict[str, Any]:
    if hint in PLAIN:
        return {"type": PLAIN[hint]}
    if hint in (Verdict, Status, Word, Grade):
        return {"enum": [str(each) for each in hint]}
    if is_dataclass(hint) and isinstance(hint, type):
        return _object(hint)
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return {"anyOf": [_type(each) for each in inside]}
    if origin is tuple and inside[-1] is Ellipsis:
        return {"type": "array", "items": _type(inside[0])}
    if origin is tuple:
        return {"type": "array", "prefixItems": [_type(each) for each in inside], "minItems": len(inside)}
    if origin is dict:
        return {"type": "object", "additionalProperties": {} if inside[1] is Any else _type(inside[1])}
    return {}


if __name__ == "__main__":  # python -m dpverify.report.json_file: writes both files anew
    import json
    from pathlib import Path

    for name, made in (("records", document()), ("certificate", certificate_schema())):
        Path(__file__).with_name(f"{name}.schema.json").write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
