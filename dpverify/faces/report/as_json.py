"""Records as JSON and back: strict (RFC 8259), with a schema version.

Infinity is written 1e999: a number by JSON's grammar, and infinity to every reader that uses doubles.
NaN is refused: no number of a report may be NaN.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dpverify.base.errors import RunError, UsageError
from dpverify.evidence.promises import PromiseCheck
from dpverify.verdicts.record import AuditRecord
from dpverify.verdicts.suite import environment, Failure, SuiteResult

SCHEMA = "dpverify/records/1"
_INFINITY = "\x00infinity"  # control characters do not occur in names


def render(result: SuiteResult) -> str:
    """The whole result as a JSON document."""
    document = {
        "schema": SCHEMA,
        "seed": result.seed,
        "family_wise_error": result.family_wise_error,
        "family": result.family,
        "environment": result.environment,
        "records": [record.to_dict() for record in result.records],
        "promises": [check.to_dict() for check in result.promises],
        "failures": [{"subject": failure.subject, "error": failure.error} for failure in result.failures],
    }
    return strict(document)


def strict(document: Any) -> str:
    """Plain values as JSON; RunError where one is NaN."""
    text = json.dumps(_encoded(document), indent=2, ensure_ascii=False)
    return text.replace(json.dumps(_INFINITY), "1e999").replace(json.dumps("-" + _INFINITY), "-1e999") + "\n"


def render_one(outcome: AuditRecord | PromiseCheck | Failure) -> str:
    """One outcome of a suite on one line, to travel between processes; `join` puts them together."""
    plain = asdict(outcome) if isinstance(outcome, Failure) else outcome.to_dict()
    return json.dumps({"kind": type(outcome).__name__, "outcome": plain})


def outcomes(written: Sequence[str]) -> list[AuditRecord | PromiseCheck | Failure]:
    """Inverse of `render_one`, for many."""
    makers: dict[str, Callable[[dict[str, Any]], AuditRecord | PromiseCheck | Failure]] = {
        "AuditRecord": AuditRecord.from_dict,
        "PromiseCheck": PromiseCheck.from_dict,
        "Failure": lambda plain: Failure(**plain),
    }
    parts = [json.loads(each) for each in written]
    return [makers[part["kind"]](part["outcome"]) for part in parts]


def join(written: Sequence[str], seed: int, family_wise_error: float) -> SuiteResult:
    """The suite of the outcomes that `render_one` wrote."""
    found = outcomes(written)
    return SuiteResult(
        records=tuple(each for each in found if isinstance(each, AuditRecord)),
        failures=tuple(each for each in found if isinstance(each, Failure)),
        seed=seed,
        family_wise_error=family_wise_error,
        environment=environment(),
        promises=tuple(each for each in found if isinstance(each, PromiseCheck)),
    )


def load(path: Path) -> SuiteResult:
    """Inverse of `render`; UsageError for a file that is not such a document."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            raise UsageError(f"{path}: schema {document['schema']!r}, must be {SCHEMA!r}")
        return SuiteResult(
            records=tuple(AuditRecord.from_dict(each) for each in document["records"]),
            failures=tuple(Failure(each["subject"], each["error"]) for each in document["failures"]),
            seed=document["seed"],
            family_wise_error=document["family_wise_error"],
            environment=document["environment"],
            promises=tuple(PromiseCheck.from_dict(each) for each in document.get("promises", ())),
            family=document.get("family", "bonferroni"),
        )
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, UsageError):
            raise
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
