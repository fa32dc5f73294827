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

from dpverify.auditing.record import AuditRecord
from dpverify.base.text import cleaned
from dpverify.errors import RunError, UsageError
from dpverify.promises import PromiseCheck
from dpverify.suite.result import Failure, Outcome, SuiteResult
from dpverify.suite.serialise import from_plain, to_plain

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
