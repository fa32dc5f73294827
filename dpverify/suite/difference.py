"""Two results of a suite compared: by subject, what is known of it, and in its own unit the bounds.

Worse is: a true claim (one that is expected to stand) that is less than it was, by CERTIFIED > ACCOUNTED > OPEN >
INCONCLUSIVE > INVALID, FAILED > REFUTED; a planted bug that was caught and is not; a promise that was kept and is not;
a record that was as expected and is not; what was judged and now failed, is missing, or is not asked for. Bounds that
move are told and not judged: a lower bound moves with the number of trials. Bounds within a relative 1e-9 are equal.
"""

from dataclasses import dataclass

from dpverify.auditing.record import AuditRecord
from dpverify.auditing.statuses import Status
from dpverify.promises import KEPT, PromiseCheck
from dpverify.suite.result import SuiteResult

ORDER = (
    Status.REFUTED,
    Status.FAILED,
    Status.INVALID,
    Status.INCONCLUSIVE,
    Status.OPEN,
    Status.ACCOUNTED,
    Status.CERTIFIED,
)
SAME = 1e-9


@dataclass(frozen=True)
class Change:
    """One line of a comparison."""

    subject: str
    text: str
    worse: bool


def compared(old: SuiteResult, new: SuiteResult) -> list[Change]:
    """All changes, those for the worse first, then by name."""
    before, after = _by_name(old), _by_name(new)
    found = []
    for name in sorted({*before, *after}):
        if name not in after:
            found.append(Change(name, "is gone: it was judged, and was not asked for", worse=True))
        elif name not in before:
            found.append(Change(name, f"is new: {_state(after[name])}", worse=not _fine(after[name])))
        else:
            found += _changes(name, before[name], after[name])
    if old.require_tape and not new.require_tape:
        found.append(Change("the run", "does not require traces any more", worse=True))
    return sorted(found, key=lambda each: (not each.worse, each.subject))


Outcome = AuditRecord | PromiseCheck | str  # a word for what has no outcome


def _by_name(result: SuiteResult) -> dict[str, Outcome]:
    found: dict[str, Outcome] = {record.subject: record for record in result.records}
    found |= {f"promise {check.name}": check for check in result.promises}
    found |= {failure.subject: f"{Status.FAILED} ({failure.kind})" for failure in result.failures}
    return {**found, **dict.fromkeys(result.missing, "not reached")}


def _state(outcome: Outcome) -> str:
    if isinstance(outcome, AuditRecord):
        return str(outcome.status)
    return outcome.verdict if isinstance(outcome, PromiseCheck) else outcome


def _fine(outcome: Outcome) -> bool:
    return not isinstance(outcome, str) and outcome.as_expected


def _changes(name: str, old: Outcome, new: Outcome) -> list[Change]:
    one, two = _state(old), _state(new)
    fell = _fine(old) and not _fine(new)
    if isinstance(old, AuditRecord) and isinstance(new, AuditRecord):
        if old.claim != new.claim:
            return [Change(name, f"another claim: {old.claim}, now {new.claim} ({one}, now {two})", worse=fell)]
        if not new.planted:
            fell = fell or ORDER.index(new.status) < ORDER.index(old.status)
    if isinstance(old, PromiseCheck):
        fell = fell or (one == KEPT and two != KEPT)
    fell = fell or (isinstance(new, str) and not isinstance(old, str))
    found = [Change(name, f"{one}, now {two}", worse=fell)] if one != two or fell else []
    if isinstance(old, AuditRecord) and isinstance(new, AuditRecord):
        for word, a, b in (
            ("lower bound", old.number_lower, new.number_lower),
            ("upper bound", old.number_upper, new.number_upper),
        ):
            if _moved(a, b):
                found.append(Change(name, f"{word} {_number(a)}, now {_number(b)} ({new.notion})", worse=False))
        if old.source_digest != new.source_digest:
            found.append(Change(name, "its sources changed", worse=False))
    return found


def _moved(one: float | None, two: float | None) -> bool:
    if one is None or two is None:
        return one is not two
    return one != two and not abs(one - two) <= SAME * max(abs(one), abs(two))


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.6g}"
