"""What the terminal shows: live progress, then one line a subject, then what it means."""

import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal, Protocol, TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from dpverify.auditing.ladder import PLANTED
from dpverify.auditing.record import AuditRecord
from dpverify.auditing.statuses import Verdict
from dpverify.base.text import cleaned
from dpverify.promises import PromiseCheck
from dpverify.report import words
from dpverify.report.overview import answers, BAD, ClaimEntry, GOOD, Overview, PLAIN, ReportAnswer, WARN
from dpverify.report.words import number, SYMBOLS
from dpverify.suite.plan import Manifest
from dpverify.suite.result import Failure, Outcome, Settings, SuiteResult

if TYPE_CHECKING:
    from dpverify.auditing.certificate import Certificate

COLOURS = {GOOD: "green", BAD: "red", WARN: "yellow", PLAIN: ""}


def _console() -> Console:
    # without a terminal rich falls back to 80 columns, which would fold the table: logs are wide
    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)


def show_result(result: SuiteResult, *, quiet: bool = False) -> None:
    """The table of claims, the failures, and the four answers last; with `quiet` only what needs attention.

    Planted bugs are counted beside their subject; those that are not as expected have a line of their own.
    """
    console, result = _console(), cleaned(result)
    overview = Overview.of(result)
    shown = [one for entry in overview.entries for one in _lines(entry, quiet=quiet)]
    if shown:
        console.print(_table(shown, wide=console.width >= WIDE))
    for record in [] if quiet else result.records:
        if any(step.kind != PLANTED or step.runs > 1 for step in record.ladder):
            console.print(f"{escape(record.subject)}  {escape(words.measured(record))}", soft_wrap=True)
    for record in [one.record for one in shown if one.record is not None]:
        if record.invalid or words.failed_trials(record):
            said = f"INVALID: {record.invalid}" if record.invalid else words.failed_trials(record)
            console.print(f"[yellow]{escape(record.subject)}[/]: {escape(said)}", soft_wrap=True)
        if words.of_code(record):
            console.print(f"{escape(record.subject)}: {escape(words.of_code(record))}", soft_wrap=True)
    if result.untraced:
        some = ", ".join(result.untraced[:5])
        console.print(f"[yellow]NOT TRACED[/] {len(result.untraced)} (--require-tape): {escape(some)}", soft_wrap=True)
    show_rest(console, result, quiet=quiet)


def _lines(entry: ClaimEntry, *, quiet: bool) -> list[ClaimEntry]:
    """The entry and its bugs, as far as they have a line in the table."""
    return [
        one
        for one in (entry, *entry.bugs)
        if one.record is not None and not (one.as_expected and (quiet or one is not entry))
    ]


def show_rest(console: Console, result: SuiteResult, *, quiet: bool) -> None:
    """Promises, failures and the conclusion of a suite."""
    for check in result.promises:
        if not (quiet and check.as_expected):
            remark = "" if check.as_expected else f" [bold red]expected {check.expected}[/]"
            console.print(f"promise {escape(str(check))}{remark}", soft_wrap=True)
    for failure in result.failures:
        console.print(f"[yellow]FAILED[/] {escape(failure.subject)}: {escape(words.failed(failure))}", soft_wrap=True)
        for line in failure.output[-3:] if failure.kind not in ("error", "timeout") else ():
            console.print(f"       {escape(line)}", soft_wrap=True)
    if result.missing:
        some = ", ".join(result.missing[:5])
        console.print(f"[yellow]NOT REACHED[/] {len(result.missing)}: {escape(some)}", soft_wrap=True)
    if not quiet:
        _conclude(console, result)
    elif not result.complete:
        console.print(escape(words.incomplete(result)), soft_wrap=True)


def show_scorecard(result: SuiteResult, *, quiet: bool = False) -> None:
    """What papers state against what is true: one block a paper, one line a statement."""
    console, result = _console(), cleaned(result)
    for paper in dict.fromkeys(record.paper for record in result.records if record.paper):
        table = Table(title=escape(paper), title_justify="left", title_style="bold", box=None, pad_edge=False)
        for name, justify in _SCORES:
            table.add_column(name, justify=justify, no_wrap=name != "statement", overflow="fold")
        for record in result.records:
            if record.paper == paper and not (quiet and record.as_expected):
                table.add_row(*_score(record))
        console.print(table)
        console.print()
    show_rest(console, result, quiet=quiet)


_SCORES: tuple[tuple[str, Literal["left", "right"]], ...] = (
    ("status", "left"),
    ("subject", "left"),
    ("statement", "left"),
    ("claimed", "left"),
    ("certified", "right"),
    ("ledger", "right"),
    ("code", "left"),
    ("trials", "right"),
    ("s", "right"),
    ("", "left"),
)


def _score(record: AuditRecord) -> list[str]:
    return [
        _status(record),
        escape(record.subject),
        escape(record.statement),
        f"{words.unit(record)} {words.claimed(record)}",
        words.lower(record),
        number(record.number_upper),
        escape(words.cell(record)),
        f"{record.trials:,}",
        f"{record.seconds:.1f}",
        f"[bold red]{escape(words.expectation(record))}[/]",
    ]


def _status(record: AuditRecord) -> str:
    """The word, in its colour; of a planted bug, whether it was caught."""
    if record.planted:
        return "CAUGHT" if record.verdict is Verdict.REFUTED else "[red]MISSED[/]"
    colour = COLOURS[words.kind(record.status)]
    return f"[{colour}]{record.status}[/]" if colour else str(record.status)


def show_certificate(certificate: "Certificate", *, explain: bool, seconds: float | None = None) -> None:
    """One screen; with `explain` everything that is known: what it rests on, and what it does not prove."""
    from dpverify.report import screen

    for line in screen.certified(cleaned(certificate), seconds):
        print(line)
    if explain:
        print()
        _explained(certificate)


def _explained(certificate: "Certificate") -> None:
    console, certificate = _console(), cleaned(certificate)
    colour = "green" if certificate.certified else "red" if certificate.exit_code == 1 else "yellow"
    strongest = certificate.strongest
    lines = [
        f"[bold {colour}]{certificate.headline}[/] {escape(certificate.subject)}: {escape(str(certificate.claim))}"
    ]
    lines += [f"  [{colour}]-[/] {escape(objection)}" for objection in certificate.objections]
    lines.append(f"{SYMBOLS[strongest.notion]}:  {words.beside(strongest)}")
    lines += [f"trials:  {words.sentence(strongest)}"] if strongest.trials else []
    for record in certificate.records:
        pair = f" (pair: {record.pair or 'unnamed'})" if len(certificate.records) > 1 else ""
        lines.append(f"code:    {escape(words.code_sentence(record) + pair)}")
        if record.tape is not None:
            lines += [f"         {escape(words.draw_words(row))}" for row in record.tape.draws if row.moved]
            lines += [f"derived: {escape(each)}" for each in words.derived_words(record.tape)]
    lines.append(f"ledger:  {words.ledger_sentence(strongest)}")
    if strongest.trials:
        lines.append(f"witness: {escape(strongest.witness)} (pair: {escape(strongest.pair or 'unnamed')})")
    lines += [f"promise: {escape(str(check))}" for check in certificate.promises]
    lines += [f"note:    {escape(note)}" for note in certificate.notes]
    lines += [f"not proved: {escape(each)}" for each in certificate.not_proved]
    lines.append(f"again:   {escape(certificate.command)}")
    for line in lines:
        console.print(line, soft_wrap=True)


Justify = Literal["left", "right"]
_COLUMNS: tuple[tuple[str, Justify], ...] = (
    ("status", "left"),
    ("subject", "left"),
    ("claim", "left"),
    ("certified", "right"),
    ("ledger", "right"),
    ("code", "left"),
    ("detectable", "right"),
    ("bugs", "right"),
    ("trials", "right"),
    ("s", "right"),
    ("", "left"),
)


WIDE = 130  # narrower terminals leave out what matters least, so that names stay readable
LEAST = ("trials", "s")


def _table(entries: Sequence[ClaimEntry], *, wide: bool) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    kept = [index for index, (name, _) in enumerate(_COLUMNS) if wide or name not in LEAST]
    for index in kept:
        name, justify = _COLUMNS[index]
        least = 20 if name == "subject" else None
        table.add_column(name, justify=justify, no_wrap=name != "subject", overflow="fold", min_width=least)
    for entry in entries:
        row = _row(entry)
        table.add_row(*(row[index] for index in kept))
    return table


def _row(entry: ClaimEntry) -> list[str]:
    record = entry.record
    assert record is not None
    remark = words.expectation(record)
    bugs = "" if entry.planted else entry.count or "-"
    return [
        _status(record),
        escape(record.subject),
        escape(words.claim(record)),
        words.lower(record),
        f"[red]{number(record.number_upper)} CONTRADICTED[/]"
        if record.ledger_contradicted
        else number(record.number_upper),
        escape(words.cell(record)),
        number(record.detectable),
        bugs if all(bug.caught for bug in entry.bugs) else f"[red]{bugs}[/]",
        f"{record.trials:,}",
        f"{record.seconds:.1f}",
        f"[bold red]{escape(remark)}[/]" if remark else "",
    ]


def _speed(result: SuiteResult) -> str:
    """Throughput of all audits together, by their own time: workers side by side are faster."""
    known = [record for record in result.records if words.speed(record)]
    seconds = sum(record.seconds for record in known)
    if not seconds > 0:
        return ""
    trials = sum(record.trials * record.pairs for record in known)
    return f" {trials:,} trials in {seconds:.1f} s of auditing: {trials / seconds:,.0f} a second and worker."


def _conclude(console: Console, result: SuiteResult) -> None:
    """The four answers, one line each, where a terminal shows them last."""
    console.print(f"Seed {result.seed}.{_speed(result)} {words.family(result)} {words.DETECTABLE}.", soft_wrap=True)
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for answer in answers(Overview.of(result)):
        table.add_row(f"[bold]{answer.question}[/]", _coloured(answer))
    console.print(table)


def _coloured(answer: ReportAnswer) -> str:
    colour = COLOURS[answer.kind] if answer.count != "0" else ""
    count = f"[bold {colour}]{answer.count}[/]" if colour else f"[bold]{answer.count}[/]"
    parts = [f"{count} {answer.of}".rstrip()]
    for line in answer.lines:
        shade = COLOURS[line.kind]
        parts.append(f"[{shade}]{escape(str(line))}[/]" if shade else escape(str(line)))
    return "; ".join(parts)


# ----------------------------------------------------------------------------------------------------------------------
# How far a run is: bars on a terminal, a line a minute elsewhere; and a forecast before it starts.


FIRST, EVERY = 15.0, 60.0  # seconds until the first line without a terminal, and between two of them
WORTH = 10.0  # seconds: a shorter run needs no forecast
Key = tuple[str, str]


class Watcher(Protocol):
    """Is told of outcomes, and of trials on the way."""

    def finished(self, outcome: Outcome) -> None:
        """One more subject or promise has its outcome."""

    def trials(self, subject: str, count: int) -> None:
        """`count` more trials of `subject` are done."""


@contextmanager
def progress_shown(
    agenda: Manifest, settings: Settings, before: Mapping[Key, float], *, quiet: bool
) -> Iterator[Watcher]:
    """Shows progress on stderr while inside; `before` are the seconds that outcomes took in an earlier run."""
    budget = {each.name: each.pairs * (settings.trials or each.trials) for each in agenda.subjects}
    lines = Lines(agenda, budget, before, settings.jobs)
    if quiet:
        yield lines
        return
    if said := lines.forecast():
        print(f"dpverify: {said}", file=sys.stderr)
    if sys.stderr.isatty():
        with _bars() as bar:
            yield Bars(bar, len(agenda.entries), budget)
        return
    ended = threading.Event()

    def tell() -> None:
        wait = FIRST
        while not ended.wait(wait):
            print(f"dpverify: {lines.line()}", file=sys.stderr, flush=True)
            wait = EVERY

    thread = threading.Thread(target=tell, name="dpverify-progress", daemon=True)
    thread.start()
    try:
        yield lines
    finally:
        ended.set()
        thread.join()


class Lines:
    """Counts, and says where the run is in one line."""

    def __init__(self, agenda: Manifest, budget: Mapping[str, int], before: Mapping[Key, float], jobs: int) -> None:
        self._asked = [entry.key for entry in agenda.entries]
        self._budget, self._before, self._jobs = budget, before, jobs
        self._started = time.monotonic()
        self._done: set[str] = set()
        self._failed = 0
        self._trials: dict[str, int] = {}

    def finished(self, outcome: Outcome) -> None:
        """One more."""
        name = outcome.name if isinstance(outcome, PromiseCheck) else outcome.subject
        self._done.add(name)
        self._failed += isinstance(outcome, Failure)
        self._trials.pop(name, None)

    def trials(self, subject: str, count: int) -> None:
        """Some more."""
        self._trials[subject] = self._trials.get(subject, 0) + count

    def forecast(self) -> str:
        """Before the run: how long it takes, by the times of an earlier one; empty where that is short or unknown."""
        known = [self._before[key] for key in self._asked if key in self._before]
        if len(known) < 0.5 * len(self._asked) or not known:
            return ""
        seconds = max(sum(known) / self._jobs, max(known)) * len(self._asked) / len(known)
        if seconds < WORTH:
            return ""
        of = f"{len(known)} of {len(self._asked)} known"
        return f"takes about {_long(seconds)}, by the times of the last run ({of})"

    def line(self) -> str:
        """While it runs."""
        spent = time.monotonic() - self._started
        done, asked = len(self._done), len(self._asked)
        failed = f", {self._failed} of them failed" if self._failed else ""
        now = [f"{name} ({_share(count, self._budget.get(name, 0))})" for name, count in list(self._trials.items())[:4]]
        at = f"; at {', '.join(now)}" if now else ""
        return f"after {_long(spent)}: {done} of {asked} done{failed}, {self._left(spent)}{at}"

    def _left(self, spent: float) -> str:
        waiting = [key for key in self._asked if key[1] not in self._done]
        known = [self._before[key] for key in waiting if key in self._before]
        if waiting and len(known) == len(waiting):
            return f"about {_long(max(sum(known) / self._jobs, max(known)))} left by the times of the last run"
        if not self._done:
            return "how long it takes is not known yet"
        return f"about {_long(spent * len(waiting) / len(self._done))} left if the others are like those"


class Bars:
    """Moves the bars: one for the suite in subjects, one for the trials of the subject that was heard of last."""

    def __init__(self, bar: Progress, asked: int, budget: Mapping[str, int]) -> None:
        self._bar, self._budget = bar, budget
        self._suite = bar.add_task("subjects", total=asked)
        self._inside: TaskID | None = None
        self._done: dict[str, int] = {}

    def finished(self, outcome: Outcome) -> None:
        """One more subject or promise has its result."""
        self._bar.update(self._suite, advance=1)

    def trials(self, subject: str, count: int) -> None:
        """`count` more trials of `subject` are done."""
        done = self._done[subject] = self._done.get(subject, 0) + count
        if self._inside is None:
            self._inside = self._bar.add_task(subject)
        self._bar.update(self._inside, description=subject, total=self._budget.get(subject), completed=done)


def _bars() -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )


def _share(count: int, budget: int) -> str:
    return f"{100 * count / budget:.0f} % of its trials" if budget else f"{count:,} trials"


def _long(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
