"""What the terminal shows: live progress, then one line a subject, then what it means."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from dpverify.faces.report import words
from dpverify.faces.report.words import number
from dpverify.verdicts.certificate import Certificate, NOT_PROVED
from dpverify.verdicts.discovery import Agenda
from dpverify.verdicts.record import AuditRecord
from dpverify.verdicts.suite import Outcome, Settings, SuiteResult
from dpverify.verdicts.verdict import Verdict

COLOURS = {Verdict.REFUTED: "red", Verdict.NOT_REFUTED: "green", Verdict.INCONCLUSIVE: "yellow"}


def _console() -> Console:
    # without a terminal rich falls back to 80 columns, which would fold the table: logs are wide
    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)


def show_list(agenda: Agenda) -> None:
    """Names, claims and budgets; nothing is run."""
    for subject in agenda.subjects:
        print(f"{subject.name}\t{subject.claim}\t{subject.claim.relation}\t{subject.trials} trials\t{subject.expected}")
    for promise in agenda.promises:
        said = f"error > {promise.bound:.4g} with probability <= {promise.failure_probability:g}"
        print(f"{promise.name}\t{said}\t{promise.trials} trials\t{promise.expected}")


class Watcher:
    """Moves the bars: one for the suite in subjects, one for the trials of the subject that runs now."""

    def __init__(self, bar: Progress, agenda: Agenda, settings: Settings) -> None:
        self._bar = bar
        self._budget = {each.name: len(each.pairs) * (settings.trials or each.trials) for each in agenda.subjects}
        self._suite = bar.add_task("subjects", total=len(agenda.subjects) + len(agenda.promises))
        self._inside: TaskID | None = None
        self._current = ""

    def finished(self, result: Outcome) -> None:
        """One more subject or promise has its result."""
        self._bar.update(self._suite, advance=1)

    def trials(self, subject: str, count: int) -> None:
        """`count` more trials of `subject` are done; known only where they run in this process."""
        if self._inside is None:
            self._inside = self._bar.add_task(subject, total=self._budget[subject])
            self._current = subject
        if subject != self._current:
            self._bar.reset(self._inside, total=self._budget[subject], description=subject)
            self._current = subject
        self._bar.update(self._inside, advance=count)


@contextmanager
def progress(agenda: Agenda, settings: Settings, *, quiet: bool = False) -> Iterator[Watcher]:
    """Bars with the time left on stderr while subjects run; silent where stderr is no terminal."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=quiet or not sys.stderr.isatty(),
    )
    with bar:
        yield Watcher(bar, agenda, settings)


def show_result(result: SuiteResult, *, quiet: bool = False) -> None:
    """The table of records, the failures, and the suite's conclusion; with `quiet` only what needs attention."""
    console = _console()
    shown = [record for record in result.records if not (quiet and record.as_expected)]
    if shown:
        console.print(_table(shown, wide=console.width >= WIDE))
    show_rest(console, result, quiet=quiet)


def show_rest(console: Console, result: SuiteResult, *, quiet: bool) -> None:
    """Promises, failures and the conclusion of a suite."""
    for check in result.promises:
        if not (quiet and check.as_expected):
            remark = "" if check.as_expected else f" [bold red]expected {check.expected}[/]"
            console.print(f"promise {escape(str(check))}{remark}", soft_wrap=True)
    for failure in result.failures:
        console.print(f"[yellow]FAILED[/] {escape(failure.subject)}: {escape(failure.error)}", soft_wrap=True)
    if not quiet:
        console.print(_conclusion(result), soft_wrap=True)


def show_scorecard(result: SuiteResult, *, quiet: bool = False) -> None:
    """What papers state against what is true: one block a paper, one line a statement."""
    console = _console()
    for paper in dict.fromkeys(record.paper for record in result.records):
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
    ("subject", "left"),
    ("statement", "left"),
    ("claimed", "left"),
    ("upper", "right"),
    ("lower", "right"),
    ("verdict", "left"),
    ("trials", "right"),
    ("s", "right"),
    ("", "left"),
)


def _score(record: AuditRecord) -> list[str]:
    colour, account = COLOURS[record.verdict], " ACCOUNTED" if record.accounted else ""
    return [
        escape(record.subject),
        escape(record.statement),
        words.claim(record),
        number(record.number_upper),
        number(record.number_lower),
        f"[{colour}]{record.verdict}{account}[/]",
        f"{record.trials:,}",
        f"{record.seconds:.1f}",
        f"[bold red]{escape(words.expectation(record))}[/]",
    ]


def show_reused(count: int, *, quiet: bool) -> None:
    """How many results were not computed anew."""
    if count and not quiet:
        print(f"{count} accepted results of unchanged code were reused.")


def show_certificate(certificate: Certificate) -> None:
    """The conclusion first, then what it rests on, then what it does not prove."""
    console = _console()
    colour = "green" if certificate.certified else "red" if certificate.exit_code == 1 else "yellow"
    word = "CERTIFIED" if certificate.certified else f"NOT CERTIFIED ({certificate.verdict})"
    strongest = certificate.strongest
    lines = [f"[bold {colour}]{word}[/] {escape(certificate.subject)}: {certificate.claim}"]
    lines += [f"  [{colour}]-[/] {escape(objection)}" for objection in certificate.objections]
    lines += [f"trials:  {words.sentence(strongest)}", f"ledger:  {words.ledger_sentence(strongest)}"]
    lines.append(f"witness: {escape(strongest.witness)} (pair: {escape(strongest.pair or 'unnamed')})")
    lines += [f"promise: {escape(str(check))}" for check in certificate.promises]
    lines += [f"note:    {escape(note)}" for note in certificate.notes]
    lines += [f"not proved: {escape(each)}" for each in NOT_PROVED]
    lines.append(f"again:   {escape(certificate.command)}")
    for line in lines:
        console.print(line, soft_wrap=True)


Justify = Literal["left", "right"]
_COLUMNS: tuple[tuple[str, Justify], ...] = (
    ("subject", "left"),
    ("claim", "left"),
    ("lower", "right"),
    ("upper", "right"),
    ("verdict", "left"),
    ("accounted", "left"),
    ("would catch", "right"),
    ("trials", "right"),
    ("s", "right"),
    ("", "left"),
)


WIDE = 130  # narrower terminals leave out what matters least, so that names stay readable
LEAST = ("trials", "s")


def _table(records: Sequence[AuditRecord], *, wide: bool) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    kept = [index for index, (name, _) in enumerate(_COLUMNS) if wide or name not in LEAST]
    for index in kept:
        name, justify = _COLUMNS[index]
        least = 20 if name == "subject" else None
        table.add_column(name, justify=justify, no_wrap=name != "subject", overflow="fold", min_width=least)
    for record in records:
        row = _row(record)
        table.add_row(*(row[index] for index in kept))
    return table


def _row(record: AuditRecord) -> list[str]:
    colour = COLOURS[record.verdict]
    account = words.account(record)
    remark = words.expectation(record)
    return [
        escape(record.subject),
        words.claim(record),
        number(record.number_lower),
        number(record.number_upper),
        f"[{colour}]{record.verdict}[/]",
        f"[red]{account}[/]" if record.ledger_contradicted else account,
        number(record.detectable_eps),
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


def _conclusion(result: SuiteResult) -> str:
    return (
        f"{words.headline(result)} Seed {result.seed}.{_speed(result)}\n"
        f"{words.family(result)} 'would catch': smallest true eps that this run refutes with 95 % power."
    )
