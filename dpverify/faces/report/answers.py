"""The four answers of a run: what is false, what is proved, what is open, is anything wrong with the run.

The same words in every face. Numbers are of claims; bugs that were planted are counted apart, promises are added.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dpverify.base.errors import EXIT_OK, EXIT_UNEXPECTED
from dpverify.evidence.promises import BROKEN, INCONCLUSIVE, KEPT, OPEN
from dpverify.faces.report.overview import Entry, Overview
from dpverify.verdicts.suite_result import SuiteResult
from dpverify.verdicts.verdict import Status

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
class Answer:
    """`count` is a number or a word; `status` selects the claims that it counts."""

    question: str
    count: str
    of: str
    kind: str
    lines: tuple[Line, ...]
    status: str = ""

    def __str__(self) -> str:
        return "; ".join([f"{self.count} {self.of}".rstrip(), *map(str, self.lines)])


def answers(overview: Overview) -> tuple[Answer, Answer, Answer, Answer]:
    """In the order in which they are asked."""
    return _false(overview), _proved(overview), _open(overview), _run(overview)


def _false(overview: Overview) -> Answer:
    refuted = [entry for entry in overview.claims if entry.status is Status.REFUTED]
    surprises = [entry for entry in refuted if not entry.as_expected]
    known = len(refuted) - len(surprises)
    lines = [_names("not expected", surprises, BAD)] if surprises else []
    lines += [Line(f"{known} expected" if surprises else "as expected")] if known else []
    broken = overview.promised(BROKEN)
    if broken:
        wrong = tuple(check.name for check in broken if not check.as_expected)
        told = f"{_many(len(broken), 'promise')} {BROKEN}"
        lines.append(Line(f"{told}, not expected", BAD, wrong) if wrong else Line(f"{told}, as expected"))
    return Answer("What is false?", str(len(refuted)), _of(overview), BAD, tuple(lines), Status.REFUTED)


def _proved(overview: Overview) -> Answer:
    count = overview.counts[Status.PROVED]
    lines = [Line("by their ledgers, if these list what is released")] if count else []
    kept = overview.promised(KEPT)
    lines += [Line(f"{_many(len(kept), 'promise')} {KEPT}, by trials")] if kept else []
    return Answer("What is proved?", str(count), _of(overview), GOOD, tuple(lines), Status.PROVED)


def _open(overview: Overview) -> Answer:
    count = overview.counts[Status.OPEN]
    lines = [Line("judged, neither refuted nor proved")] if count else []
    undecided = overview.promised(OPEN)
    lines += [Line(f"{_many(len(undecided), 'promise')} {OPEN}")] if undecided else []
    idle = overview.promised(INCONCLUSIVE)
    lines += [Line(f"{_many(len(idle), 'promise')} {INCONCLUSIVE}: all bounds at their caps")] if idle else []
    return Answer("What is open?", str(count), _of(overview), PLAIN, tuple(lines), Status.OPEN)


def _run(overview: Overview) -> Answer:
    code = overview.result.exit_code
    lines = [*troubles(overview), *warnings(overview)]
    kind = BAD if code == EXIT_UNEXPECTED else WARN if code != EXIT_OK or any(line.kind for line in lines) else GOOD
    bugs = overview.bugs
    if bugs and all(bug.caught for bug in bugs):
        bare = f", {_many(len(overview.bare), 'claim')} without one" if overview.bare else ""
        lines.append(Line(caught(overview) + bare))
    lines += [Line(said) for said in (traced(overview.result),) if said]
    word = "Nothing" if code == EXIT_OK else "Incomplete" if code != EXIT_UNEXPECTED else "Not as expected"
    return Answer("Anything wrong with the run?", word, "", kind, tuple(lines))


def troubles(overview: Overview) -> list[Line]:
    """Why the exit code is not 0: one line each, the worst first."""
    result, unexpected = overview.result, overview.unexpected
    wrong = [one for one in unexpected if one.record is not None and not one.planted and one.status not in UNJUDGED]
    missed = [one for one in unexpected if one.planted]
    lines = [] if result.complete else [Line(incomplete(result).rstrip("."), WARN)]
    lines += [_names(f"{_many(len(wrong), 'claim')} not as expected", wrong, BAD)] if wrong else []
    lines += [_names(f"{caught(overview)}, not", missed, BAD)] if missed else []
    promises = [check for check in result.promises if not check.as_expected]
    if promises:
        names = tuple(check.name for check in promises)
        lines.append(Line(f"{_many(len(promises), 'promise')} not as expected", BAD, names))
    for status in UNJUDGED:
        found = [one for one in unexpected if one.status is status and not one.planted]
        lines += [_names(f"{len(found)} {status}", found, WARN)] if found else []
    failed = tuple(failure.subject for failure in result.failures)
    lines += [Line(f"{len(failed)} FAILED", WARN, failed)] if failed else []
    lines += [Line(f"{len(result.missing)} not reached", WARN, result.missing)] if result.missing else []
    untraced = result.untraced
    lines += [Line(f"{len(untraced)} NOT TRACED, and traces are required", WARN, untraced)] if untraced else []
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
    order = (Status.REFUTED, Status.PROVED, Status.OPEN, *UNJUDGED, Status.FAILED)
    rest = [f"{overview.counts[status]} {status}" for status in order if overview.counts[status]]
    parts = [f"{_many(len(overview.claims), 'claim')}{': ' if rest else ''}{', '.join(rest)}"]
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
        parts.append(f"{_many(len(result.promises), 'promise')}: {', '.join(words)}, {expected}")
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


def _names(text: str, entries: Sequence[Entry], kind: str) -> Line:
    return Line(text, kind, tuple(entry.name for entry in entries))


def _of(overview: Overview) -> str:
    return f"of {_many(len(overview.claims), 'claim')}"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
