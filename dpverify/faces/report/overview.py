"""A suite as people read it: every claim with its status, the bugs planted in it, and what is wrong with the run.

Four questions in one order, in every face: what is false, what is proved, what is open, is anything wrong with the run.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from dpverify.evidence.promises import BROKEN, KEPT, OPEN, PromiseCheck
from dpverify.verdicts.names import group
from dpverify.verdicts.record import AuditRecord
from dpverify.verdicts.suite_result import Failure, SuiteResult
from dpverify.verdicts.verdict import Status, Verdict

ORDER = (Status.REFUTED, Status.INVALID, Status.FAILED, Status.INCONCLUSIVE, Status.OPEN, Status.PROVED)
NO_PAPER = "Without a paper"


@dataclass(frozen=True)
class Entry:
    """A claim that was asked about: its record, or why it has none, and the bugs planted in it.

    Neither record nor failure: the run ended before it was reached. A bug whose subject was not asked about stands
    for itself.
    """

    name: str
    record: AuditRecord | None = None
    failure: Failure | None = None
    bugs: tuple["Entry", ...] = ()

    @property
    def status(self) -> Status:
        """FAILED where there is no record."""
        return Status.FAILED if self.record is None else self.record.status

    @property
    def planted(self) -> bool:
        """A bug put in on purpose: what counts is whether it was caught."""
        return self.record is not None and self.record.planted

    @property
    def caught(self) -> bool:
        """Whether a bug was refuted."""
        return self.record is not None and self.record.verdict is Verdict.REFUTED

    @property
    def as_expected(self) -> bool:
        """Whether this outcome, its bugs aside, is the one that was written down before."""
        return self.record is not None and self.record.as_expected

    @property
    def needs_attention(self) -> bool:
        """Not as expected, or with a bug that is not."""
        return not self.as_expected or not all(bug.as_expected for bug in self.bugs)

    @property
    def count(self) -> str:
        """Bugs as `3 of 4`; empty without any."""
        return f"{sum(bug.caught for bug in self.bugs)} of {len(self.bugs)}" if self.bugs else ""

    @property
    def place(self) -> str:
        """file:line of the declaration, or of what failed; empty where nobody knows."""
        source = self.record or self.failure
        if source is None or not source.file:
            return ""
        return f"{source.file}:{source.line}" if source.line else source.file


@dataclass(frozen=True)
class Group:
    """The claims of one paper, or of one file where no paper is named anywhere."""

    name: str
    entries: tuple[Entry, ...]

    def counted(self, status: Status) -> int:
        """Claims with this status."""
        return sum(entry.status is status and not entry.planted for entry in self.entries)

    @property
    def bugs(self) -> str:
        """Bugs as `3 of 4`; empty without any."""
        return Entry("", bugs=_bugs(self.entries)).count

    @property
    def unexpected(self) -> int:
        """Claims that need attention."""
        return sum(entry.needs_attention for entry in self.entries)


@dataclass(frozen=True)
class Overview:
    """All entries of a result, in the order of its subjects; what failed or was not reached comes last."""

    result: SuiteResult
    entries: tuple[Entry, ...]

    @classmethod
    def of(cls, result: SuiteResult) -> "Overview":
        """Folds planted bugs, `a!b`, under their subject `a`."""
        records = {record.subject for record in result.records if not record.planted}
        bugs: dict[str, list[Entry]] = {}
        own: list[Entry] = []
        outcomes = [Entry(record.subject, record) for record in result.records]
        outcomes += [Entry(failure.subject, failure=failure) for failure in result.failures]
        outcomes += [Entry(name) for name in result.missing]
        for entry in outcomes:
            parent, sign, _ = entry.name.rpartition("!")
            if sign and parent in records and (entry.planted or entry.record is None):
                bugs.setdefault(parent, []).append(entry)
            else:
                own.append(entry)
        return cls(result, tuple(_with(entry, bugs) for entry in own))

    @cached_property
    def claims(self) -> tuple[Entry, ...]:
        """All entries but bugs that stand for themselves."""
        return tuple(entry for entry in self.entries if not entry.planted)

    @cached_property
    def counts(self) -> Counter[Status]:
        """Claims by status."""
        return Counter(entry.status for entry in self.claims)

    @cached_property
    def bugs(self) -> tuple[Entry, ...]:
        """All planted bugs."""
        return _bugs(self.entries)

    @cached_property
    def unexpected(self) -> tuple[Entry, ...]:
        """Claims and bugs that are not as expected, one by one."""
        each = [one for entry in self.entries for one in (entry, *entry.bugs)]
        return tuple(one for one in each if not one.as_expected)

    @cached_property
    def bare(self) -> tuple[Entry, ...]:
        """Judged claims, not known to be false, in which no bug is planted."""
        return tuple(
            entry
            for entry in self.claims
            if entry.record is not None and entry.record.expected != Verdict.REFUTED and not entry.bugs
        )

    def promised(self, verdict: str) -> tuple[PromiseCheck, ...]:
        """Promises about utility with this verdict."""
        return tuple(check for check in self.result.promises if check.verdict == verdict)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """By paper, those without one last; by file where no paper is named. Inside: by statement, as they come."""
        papers = any(entry.record is not None and entry.record.paper for entry in self.entries)
        found: dict[str, dict[str, list[Entry]]] = {}
        for entry in self.entries:
            record = entry.record
            name = group(entry.name) or "(no file)"
            if papers:
                name = record.paper if record is not None else ""
            statement = record.statement if record is not None else ""
            found.setdefault(name, {}).setdefault(statement, []).append(entry)
        names = sorted(found, key=lambda name: not name)
        return tuple(
            Group(name or NO_PAPER, tuple(entry for each in found[name].values() for entry in each)) for name in names
        )


def _with(entry: Entry, bugs: dict[str, list[Entry]]) -> Entry:
    return Entry(entry.name, entry.record, entry.failure, tuple(bugs.get(entry.name, ())))


def _bugs(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    return tuple(bug for entry in entries for bug in ((entry,) if entry.planted else entry.bugs))


__all__ = ["BROKEN", "KEPT", "NO_PAPER", "OPEN", "ORDER", "Entry", "Group", "Overview"]
