"""What the terminal shows: a live table of progress, then one line a subject, then what it means."""

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from dpverify.verdicts.record import AuditRecord
from dpverify.verdicts.subject import Subject
from dpverify.verdicts.suite import Failure, Listener, SuiteResult
from dpverify.verdicts.verdict import Verdict

COLOURS = {Verdict.REFUTED: "red", Verdict.NOT_REFUTED: "green", Verdict.INCONCLUSIVE: "yellow"}


def _console() -> Console:
    # without a terminal rich falls back to 80 columns, which would fold the table: logs are wide
    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)


def show_list(subjects: Sequence[Subject]) -> None:
    """Names, claims and budgets; nothing is run."""
    for subject in subjects:
        print(f"{subject.name}\t{subject.claim}\t{subject.claim.relation}\t{subject.trials} trials\t{subject.expected}")


@contextmanager
def progress(subjects: Sequence[Subject]) -> Iterator[Listener]:
    """A progress bar on stderr while subjects run, with time left; silent where stderr is no terminal."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with bar:
        task = bar.add_task("auditing", total=len(subjects))

        def listener(result: AuditRecord | Failure) -> None:
            bar.update(task, advance=1, description=result.subject)

        yield listener


def number(value: float | None) -> str:
    """Four significant figures; a dash where there is no number."""
    if value is None:
        return "-"
    return "inf" if math.isinf(value) else f"{value:.4g}"


def show_result(result: SuiteResult) -> None:
    """The table of records, the failures, and the suite's conclusion."""
    console = _console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, justify in _COLUMNS:
        table.add_column(name, justify=justify, no_wrap=name != "subject", overflow="fold")
    for record in result.records:
        table.add_row(*_row(record))
    console.print(table)
    for failure in result.failures:
        console.print(f"[yellow]FAILED[/] {failure.subject}: {failure.error}", markup=True)
    console.print(_conclusion(result))


_COLUMNS: tuple[tuple[str, Literal["left", "right"]], ...] = (
    ("subject", "left"),
    ("claim", "left"),
    ("eps lower", "right"),
    ("claimed", "right"),
    ("eps upper", "right"),
    ("verdict", "left"),
    ("accounted", "left"),
    ("would catch", "right"),
    ("trials", "right"),
    ("s", "right"),
    ("", "left"),
)


def _row(record: AuditRecord) -> list[str]:
    colour = COLOURS[record.verdict]
    account = {True: "yes", False: "no", None: "-"}[record.accounted]
    if record.ledger_contradicted:
        account = "[red]CONTRADICTED[/]"
    return [
        record.subject,
        record.claim + (" +/-1" if record.relation.startswith("add") else ""),
        number(record.eps_lower),
        number(record.claimed_eps),
        number(record.eps_upper),
        f"[{colour}]{record.verdict}[/]",
        account,
        number(record.detectable_eps),
        f"{record.trials:,}",
        f"{record.seconds:.1f}",
        "" if record.as_expected else f"[bold red]expected {record.expected or Verdict.NOT_REFUTED}[/]",
    ]


def _conclusion(result: SuiteResult) -> str:
    expected = sum(record.as_expected for record in result.records)
    bugs = [record for record in result.records if record.planted]
    caught = sum(record.verdict is Verdict.REFUTED for record in bugs)
    lines = [
        f"{len(result.records)} subjects, {expected} as expected; {caught} of {len(bugs)} planted bugs caught; "
        f"{len(result.failures)} failed. Seed {result.seed}.",
        f"All eps lower bounds hold at once with probability >= {1 - result.family_wise_error:g}. "
        "'would catch': smallest true eps that this run refutes with 95 % power.",
    ]
    return "\n".join(lines)
