"""A suite as people read it: every claim with its status, the bugs planted in it, and what is wrong with the run.

Four questions in one order, in every face: what is false, what is proved, what is open, is anything wrong with the run.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from dpverify.auditing.record import AuditRecord
from dpverify.auditing.statuses import Grade, Status, Verdict
from dpverify.base.text import many
from dpverify.errors import EXIT_OK, EXIT_UNEXPECTED
from dpverify.promises import BROKEN, INCONCLUSIVE, KEPT, OPEN, PromiseCheck
from dpverify.suite.plan import group
from dpverify.suite.result import Failure, SuiteResult

ORDER = (
    Status.REFUTED,
    Status.INVALID,
    Status.FAILED,
    Status.INCONCLUSIVE,
    Status.OPEN,
    Status.ACCOUNTED,
    Status.CERTIFIED,
)
NO_PAPER = "Without a paper"


@dataclass(frozen=True)
class ClaimEntry:
    """A claim that was asked about: its record, or why it has none, and the bugs planted in it.

    Neither record nor failure: the run ended before it was reached. A bug whose subject was not asked about stands
    for itself.
    """

    name: str
    record: AuditRecord | None = None
    failure: Failure | None = None
    bugs: tuple["ClaimEntry", ...] = ()

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
    entries: tuple[ClaimEntry, ...]

    def counted(self, status: Status) -> int:
        """Claims with this status."""
        return sum(entry.status is status and not entry.planted for entry in self.entries)

    @property
    def bugs(self) -> str:
        """Bugs as `3 of 4`; empty without any."""
        return ClaimEntry("", bugs=_bugs(self.entries)).count

    @property
    def unexpected(self) -> int:
        """Claims that need attention."""
        return sum(entry.needs_attention for entry in self.entries)


@dataclass(frozen=True)
class Overview:
    """All entries of a result, in the order of its subjects; what failed or was not reached comes last."""

    result: SuiteResult
    entries: tuple[ClaimEntry, ...]

    @classmethod
    def of(cls, result: SuiteResult) -> "Overview":
        """Folds planted bugs, `a!b`, under their subject `a`."""
        records = {record.subject for record in result.records if not record.planted}
        bugs: dict[str, list[ClaimEntry]] = {}
        own: list[ClaimEntry] = []
        outcomes = [ClaimEntry(record.subject, record) for record in result.records]
        outcomes += [ClaimEntry(failure.subject, failure=failure) for failure in result.failures]
        outcomes += [ClaimEntry(name) for name in result.missing]
        for entry in outcomes:
            parent, sign, _ = entry.name.rpartition("!")
            if sign and parent in records and (entry.planted or entry.record is None):
                bugs.setdefault(parent, []).append(entry)
            else:
                own.append(entry)
        return cls(result, tuple(_with(entry, bugs) for entry in own))

    @cached_property
    def claims(self) -> tuple[ClaimEntry, ...]:
        """All entries but bugs that stand for themselves."""
        return tuple(entry for entry in self.entries if not entry.planted)

    @cached_property
    def counts(self) -> Counter[Status]:
        """Claims by status."""
        return Counter(entry.status for entry in self.claims)

    @cached_property
    def bugs(self) -> tuple[ClaimEntry, ...]:
        """All planted bugs."""
        return _bugs(self.entries)

    @cached_property
    def unexpected(self) -> tuple[ClaimEntry, ...]:
        """Claims and bugs that are not as expected, one by one."""
        each = [one for entry in self.entries for one in (entry, *entry.bugs)]
        return tuple(one for one in each if not one.as_expected)

    @cached_property
    def bare(self) -> tuple[ClaimEntry, ...]:
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
        found: dict[str, dict[str, list[ClaimEntry]]] = {}
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


def _with(entry: ClaimEntry, bugs: dict[str, list[ClaimEntry]]) -> ClaimEntry:
    return ClaimEntry(entry.name, entry.record, entry.failure, tuple(bugs.get(entry.name, ())))


def _bugs(entries: Sequence[ClaimEntry]) -> tuple[ClaimEntry, ...]:
    return tuple(bug for entry in entries for bug in ((entry,) if entry.planted else entry.bugs))


__all__ = ["BROKEN", "KEPT", "NO_PAPER", "OPEN", "ORDER", "ClaimEntry", "Group", "Overview"]


# ----------------------------------------------------------------------------------------------------------------------
# The four answers of a run: what is false, what is proved, what is open, is anything wrong with the run.
#
# The same words in every face. Numbers are of claims; bugs that were planted are counted apart, promises are added.


GOOD, BAD, WARN, PLAIN = "ok", "no", "un", ""  # what drives colours, in every face
NAMED = 3  # names in a line; the rest is counted
UNJUDGED = (Status.INCONCLUSIVE, Status.INVALID)


@dataclass(frozen=True)
class Line:
    """A sentence of an answer, and how it should be seen; `names` can be looked up."""

    text: str
    kind: str = PLAIN
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        shown = ", ".join(self.names[:NAMED])
        more = f" and {len(self.names) - NAMED} more" if len(self.names) > NAMED else ""
        return f"{self.text}: {shown}{more}" if shown else self.text


@dataclass(frozen=True)
class ReportAnswer:
    """`count` is a number or a word; `status` selects the claims that it counts."""

    question: str
    count: str
    of: str
    kind: str
    lines: tuple[Line, ...]
    status: str = ""

    def __str__(self) -> str:
        return "; ".join([f"{self.count} {self.of}".rstrip(), *map(str, self.lines)])


def answers(overview: Overview) -> tuple[ReportAnswer, ReportAnswer, ReportAnswer, ReportAnswer]:
    """In the order in which they are asked."""
    return _false(overview), _proved(overview), _open(overview), _run(overview)


def _false(overview: Overview) -> ReportAnswer:
    refuted = [entry for entry in overview.claims if entry.status is Status.REFUTED]
    surprises = [entry for entry in refuted if not entry.as_expected]
    known = len(refuted) - len(surprises)
    lines = [_names("not expected", surprises, BAD)] if surprises else []
    lines += [Line(f"{known} expected" if surprises else "as expected")] if known else []
    broken = overview.promised(BROKEN)
    if broken:
        wrong = tuple(check.name for check in broken if not check.as_expected)
        told = f"{many(len(broken), 'promise')} {BROKEN}"
        lines.append(Line(f"{told}, not expected", BAD, wrong) if wrong else Line(f"{told}, as expected"))
    return ReportAnswer("What is false?", str(len(refuted)), _of(overview), BAD, tuple(lines), Status.REFUTED)


def _proved(overview: Overview) -> ReportAnswer:
    count, accounted = overview.counts[Status.CERTIFIED], overview.counts[Status.ACCOUNTED]
    certified = [entry.record for entry in overview.claims if entry.record and entry.status is Status.CERTIFIED]
    by_code = sum(record.grade is Grade.PROOF for record in certified)
    lines = [Line(f"CERTIFIED: {by_code} from the code itself")] if by_code else []
    if count > by_code:
        others = f"{count - by_code} " if by_code else ""
        lines.append(Line(f"CERTIFIED: {others}by their ledgers, which their code follows"))
    if accounted:
        lines.append(Line(f"{accounted} more ACCOUNTED: by their ledgers; that the code follows them was not seen"))
    kept = overview.promised(KEPT)
    lines += [Line(f"{many(len(kept), 'promise')} {KEPT}, by trials")] if kept else []
    return ReportAnswer("What is proved?", str(count), _of(overview), GOOD, tuple(lines), Status.CERTIFIED)


def _open(overview: Overview) -> ReportAnswer:
    count = overview.counts[Status.OPEN]
    lines = [Line("judged, neither refuted nor proved")] if count else []
    undecided = overview.promised(OPEN)
    lines += [Line(f"{many(len(undecided), 'promise')} {OPEN}")] if undecided else []
    idle = overview.promised(INCONCLUSIVE)
    lines += [Line(f"{many(len(idle), 'promise')} {INCONCLUSIVE}: all bounds at their caps")] if idle else []
    return ReportAnswer("What is open?", str(count), _of(overview), PLAIN, tuple(lines), Status.OPEN)


def _run(overview: Overview) -> ReportAnswer:
    code = overview.result.exit_code
    lines = [*troubles(overview), *warnings(overview)]
    kind = BAD if code == EXIT_UNEXPECTED else WARN if code != EXIT_OK or any(line.kind for line in lines) else GOOD
    bugs = overview.bugs
    if bugs and all(bug.caught for bug in bugs):
        bare = f", {many(len(overview.bare), 'claim')} without one" if overview.bare else ""
        lines.append(Line(caught(overview) + bare))
    lines += [Line(said) for said in (traced(overview.result),) if said]
    word = "Nothing" if code == EXIT_OK else "Incomplete" if code != EXIT_UNEXPECTED else "Not as expected"
    return ReportAnswer("Anything wrong with the run?", word, "", kind, tuple(lines))


def troubles(overview: Overview) -> list[Line]:
    """Why the exit code is not 0: one line each, the worst first."""
    result, unexpected = overview.result, overview.unexpected
    wrong = [one for one in unexpected if one.record is not None and not one.planted and one.status not in UNJUDGED]
    missed = [one for one in unexpected if one.planted]
    lines = [] if result.complete else [Line(incomplete(result).rstrip("."), WARN)]
    lines += [_names(f"{many(len(wrong), 'claim')} not as expected", wrong, BAD)] if wrong else []
    lines += [_names(f"{caught(overview)}, not", missed, BAD)] if missed else []
    promises = [check for check in result.promises if not check.as_expected]
    if promises:
        names = tuple(check.name for check in promises)
        lines.append(Line(f"{many(len(promises), 'promise')} not as expected", BAD, names))
    for status in UNJUDGED:
        found = [one for one in unexpected if one.status is status and not one.planted]
        lines += [_names(f"{len(found)} {status}", found, WARN)] if found else []
    failed = tuple(failure.subject for failure in result.failures)
    lines += [Line(f"{len(failed)} FAILED", WARN, failed)] if failed else []
    lines += [Line(f"{len(result.missing)} not reached", WARN, result.missing)] if result.missing else []
    untraced = result.untraced
    lines += (
        [Line(f"{len(untraced)} NOT TRACED or not compared with the code, which is required", WARN, untraced)]
        if untraced
        else []
    )
    nothing = not (result.records or result.promises or lines)
    return [Line("nothing was audited", WARN)] if nothing else lines


def warnings(overview: Overview) -> list[Line]:
    """What does not change the exit code and should be known."""
    if overview.claims and not overview.bugs:
        return [Line("no bug is planted: nothing shows that these audits would see one", WARN)]
    return []


def caught(overview: Overview) -> str:
    """`4 of 4 planted bugs caught`, or that there are none."""
    if not overview.bugs:
        return "no planted bugs"
    return f"{sum(bug.caught for bug in overview.bugs)} of {len(overview.bugs)} planted bugs caught"


def headline(result: SuiteResult) -> str:
    """The suite in one line."""
    overview = Overview.of(result)
    order = (Status.REFUTED, Status.CERTIFIED, Status.ACCOUNTED, Status.OPEN, *UNJUDGED, Status.FAILED)
    rest = [f"{overview.counts[status]} {status}" for status in order if overview.counts[status]]
    parts = [f"{many(len(overview.claims), 'claim')}{': ' if rest else ''}{', '.join(rest)}"]
    unexpected = sum(one.record is not None for one in overview.unexpected)
    if result.records:
        parts.append(f"{unexpected} not as expected" if unexpected else "all as expected")
        parts.append(caught(overview))
    if result.promises:
        words = [
            f"{len(found)} {word}" for word in (KEPT, BROKEN, OPEN, INCONCLUSIVE) if (found := overview.promised(word))
        ]
        wrong = sum(not check.as_expected for check in result.promises)
        expected = f"{wrong} not as expected" if wrong else "as expected"
        parts.append(f"{many(len(result.promises), 'promise')}: {', '.join(words)}, {expected}")
    parts += [said for said in (traced(result),) if said]
    missing = incomplete(result)
    return f"{missing} {'; '.join(parts)}." if missing else f"{'; '.join(parts)}."


def incomplete(result: SuiteResult) -> str:
    """What is missing from the suite, in one sentence; empty where nothing is."""
    if result.complete:
        return ""
    found = len(result.records) + len(result.promises) + len(result.failures)
    asked = found if result.asked is None else len(result.asked)
    how = result.interrupted
    begin = f"{how[0].upper()}{how[1:]}, {asked - len(result.missing)} of {asked} done. " if how else ""
    return f"{begin}{result.unjudged} of {asked} could not be judged."


def traced(result: SuiteResult) -> str:
    """Of how many subjects the code was traced; empty where nobody looked."""
    looked = [record.tape for record in result.records if record.tape is not None]
    return f"{sum(tape.traced for tape in looked)} of {len(looked)} traced in the code" if looked else ""


def _names(text: str, entries: Sequence[ClaimEntry], kind: str) -> Line:
    return Line(text, kind, tuple(entry.name for entry in entries))


def _of(overview: Overview) -> str:
    return f"of {many(len(overview.claims), 'claim')}"
