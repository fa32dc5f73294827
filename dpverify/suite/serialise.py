"""Outcomes of a suite as plain values, to travel between processes and to be kept in a journal."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from dpverify.auditing.record import AuditRecord
from dpverify.auditing.tape_record import LEDGERS, STATUSES
from dpverify.base.plain_values import check_fields
from dpverify.claims.parsing import NOTIONS
from dpverify.ledger.description import COLUMNS
from dpverify.promises import PromiseCheck
from dpverify.suite.family import E_BH, HOLM
from dpverify.suite.result import Failure, Outcome


def to_plain(outcome: Outcome) -> dict[str, Any]:
    """Kind and fields."""
    fields = asdict(outcome) if isinstance(outcome, Failure) else outcome.to_dict()
    return {"kind": type(outcome).__name__, "outcome": fields}


def from_plain(plain: dict[str, Any]) -> Outcome:
    """Inverse of `to_plain`, also after a trip through JSON; KeyError, TypeError or ValueError for something else.

    Every field is of its type and no number is NaN: whatever a child answers, all reports can be written.
    """
    kind = plain["kind"]
    check_fields(_KINDS[kind], plain["outcome"])
    outcome = _MAKERS[kind](plain["outcome"])
    if isinstance(outcome, AuditRecord):
        _check_words(outcome)
    return outcome


def _check_words(record: AuditRecord) -> None:
    """ValueError for a word or a name that means nothing to a reader."""
    if record.notion not in NOTIONS or record.claim.partition(":")[0] != record.notion:
        raise ValueError(f"notion is {record.notion!r} and claim {record.claim[:60]!r}")
    if set(record.failed_trials) != {"first", "second"}:
        raise ValueError(f"failed_trials has {sorted(record.failed_trials)}, must have first and second")
    if record.refuted_by and record.refuted_by not in (HOLM, E_BH):
        raise ValueError(f"refuted_by is {record.refuted_by!r}")
    if record.tape is not None and (record.tape.status not in STATUSES or record.tape.ledger not in LEDGERS):
        raise ValueError(f"tape says {record.tape.status!r} and {record.tape.ledger!r}")
    if any(len(row) != len(COLUMNS) for row in record.ledger):
        raise ValueError(f"ledger must have rows of {len(COLUMNS)}")


_KINDS = {each.__name__: each for each in (AuditRecord, PromiseCheck, Failure)}
_MAKERS: dict[str, Callable[[dict[str, Any]], Outcome]] = {
    "AuditRecord": AuditRecord.from_dict,
    "PromiseCheck": PromiseCheck.from_dict,
    "Failure": Failure.from_dict,
}
