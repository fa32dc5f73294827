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
from dpverify.verdicts.record import AuditRecord
from dpverify.verdicts.subject import Subject
from dpverify.verdicts.suite import Failure, Settings, SuiteResult
from dpverify.verdicts.verdict import Verdict

COLOURS = {Verdict.REFUTED: "red", Verdict.NOT_REFUTED: "green", Verdict.INCONCLUSIVE: "yellow"}


def _console() -> Console:
    # without a terminal rich falls back to 80 columns, which would fold the table: logs are wide
    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)


def show_list(subjects: Sequence[Subject]) -> None:
    """Names, claims and budgets; nothing is run."""
    for subject in subjects:
        print(f"{subject.name}\t{subject.claim}\t{subject.claim.relation}\t{subject.trials} trials\t{subject.expected}")


class Watcher:
    """Moves the bars: one for the suite in subjects, one for the trials of the subject that runs now."""

    def __init__(self, bar: Progress, subjects: Sequence[Subject], settings: Settings) -> None:
        self._bar = bar
        self._budget = {each.name: len(each.pairs) * (settings.trials or each.trials) for each in subjects}
        self._suite = bar.add_task("subjects", total=len(subjects))
        self._inside: TaskID | None = None
        self._current = ""

    def finished(self, result: AuditRecord | Failure) -> None:
        """One more subject has its result."""
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
def progress(subjects: Sequence[Subject], settings: Settings, *, quiet: bool = False) -> Iterator[Watcher]:
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
        yield Watcher(bar, subjects, settings)


def show_result(result: SuiteResult, *, quiet: bool = False) -> None:
    """The table of records, the failures, and the suite's conclusion; with `quiet` only what needs attention."""
    console = _console()
    shown = [record for record in result.records if not (quiet and record.as_expected)]
    if shown:
        console.print(_table(shown))
    for failure in result.failures:
        console.print(f"[yellow]FAILED[/] {escape(failure.subject)}: {escape(failure.error)}", soft_wrap=True)
    if not quiet:
        console.print(_conclusion(result), soft_wrap=True)


Justify = Literal["left", "right"]
_COLUMNS: tuple[tuple[str, Justify], ...] = (
    ("subject", "left"),
    ("claim", "left"),
    ("lower", "right"),
    ("upper", "right"),
    ("verdict", "left"),
    ("accounted", "left"),
    ("would catch eps", "right"),
    ("trials", "right"),
    ("s", "right"),
    ("", "left"),
)


def _table(records: Sequence[AuditRecord]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, justify in _COLUMNS:
        table.add_column(name, justify=justify, no_wrap=name != "subject", overflow="fold")
    for record in records:
        table.add_row(*_row(record))
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


def _conclusion(result: SuiteResult) -> str:
    return (
        f"{words.headline(result)} Seed {result.seed}.\n"
        f"All lower bounds (eps, rho or mu, as claimed) hold at once with probability >= "
        f"{1 - result.family_wise_error:g}. 'would catch': smallest true eps that this run refutes with 95 % power."
    )
