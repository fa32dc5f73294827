"""What the terminal shows: live progress, then one line a subject, then what it means."""

import sys
from collections.abc import Sequence
from typing import Literal, TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dpverify.base.text import cleaned
from dpverify.faces.report import tape_words, words
from dpverify.faces.report.words import number, SYMBOLS
from dpverify.verdicts.record import AuditRecord
from dpverify.verdicts.suite_result import SuiteResult
from dpverify.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from dpverify.verdicts.certificate import Certificate

COLOURS = {
    Verdict.REFUTED: "red",
    Verdict.NOT_REFUTED: "green",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.INVALID: "yellow",
}


def _console() -> Console:
    # without a terminal rich falls back to 80 columns, which would fold the table: logs are wide
    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)


def show_result(result: SuiteResult, *, quiet: bool = False) -> None:
    """The table of records, the failures, and the suite's conclusion; with `quiet` only what needs attention."""
    console, result = _console(), cleaned(result)
    shown = [record for record in result.records if not (quiet and record.as_expected)]
    if shown:
        console.print(_table(shown, wide=console.width >= WIDE))
    for record in [] if quiet else result.records:
        if record.ladder:
            console.print(f"{escape(record.subject)}  {escape(words.measured(record))}", soft_wrap=True)
    for record in shown:
        if record.invalid or words.failed_trials(record):
            said = f"INVALID: {record.invalid}" if record.invalid else words.failed_trials(record)
            console.print(f"[yellow]{escape(record.subject)}[/]: {escape(said)}", soft_wrap=True)
        if words.of_code(record):
            console.print(f"{escape(record.subject)}: {escape(words.of_code(record))}", soft_wrap=True)
    if result.untraced:
        some = ", ".join(result.untraced[:5])
        console.print(f"[yellow]NOT TRACED[/] {len(result.untraced)} (--require-tape): {escape(some)}", soft_wrap=True)
    show_rest(console, result, quiet=quiet)


def show_rest(console: Console, result: SuiteResult, *, quiet: bool) -> None:
    """Promises, failures and the conclusion of a suite."""
    for check in result.promises:
        if not (quiet and check.as_expected):
            remark = "" if check.as_expected else f" [bold red]expected {check.expected}[/]"
            remark += " (reused)" if check.reused else ""
            console.print(f"promise {escape(str(check))}{remark}", soft_wrap=True)
    for failure in result.failures:
        console.print(f"[yellow]FAILED[/] {escape(failure.subject)}: {escape(words.failed(failure))}", soft_wrap=True)
        for line in failure.output[-3:] if failure.kind not in ("error", "timeout") else ():
            console.print(f"       {escape(line)}", soft_wrap=True)
    if result.missing:
        some = ", ".join(result.missing[:5])
        console.print(f"[yellow]NOT REACHED[/] {len(result.missing)}: {escape(some)}", soft_wrap=True)
    if not quiet:
        console.print(_conclusion(result), soft_wrap=True)
    elif not result.complete:
        console.print(escape(words.incomplete(result)), soft_wrap=True)


def show_scorecard(result: SuiteResult, *, quiet: bool = False) -> None:
    """What papers state against what is true: one block a paper, one line a statement."""
    console, result = _console(), cleaned(result)
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
    ("ledger", "right"),
    ("code", "left"),
    ("audit", "right"),
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
        escape(words.claim(record)),
        number(record.number_upper),
        escape(tape_words.cell(record)),
        number(record.trials_lower),
        f"[{colour}]{record.verdict}{account}[/]",
        f"{record.trials:,}",
        f"{record.seconds:.1f}",
        f"[bold red]{escape(words.expectation(record))}[/]",
    ]


def show_certificate(certificate: "Certificate") -> None:
    """The conclusion first, then what it rests on, then what it does not prove."""
    console, certificate = _console(), cleaned(certificate)
    colour = "green" if certificate.certified else "red" if certificate.exit_code == 1 else "yellow"
    word = "CERTIFIED" if certificate.certified else f"NOT CERTIFIED ({certificate.verdict})"
    strongest = certificate.strongest
    lines = [f"[bold {colour}]{word}[/] {escape(certificate.subject)}: {escape(str(certificate.claim))}"]
    lines += [f"  [{colour}]-[/] {escape(objection)}" for objection in certificate.objections]
    lines.append(f"{SYMBOLS[strongest.notion]}:  {tape_words.beside(strongest)}")
    lines += [f"trials:  {words.sentence(strongest)}"] if strongest.trials else []
    for record in certificate.records:
        pair = f" (pair: {record.pair or 'unnamed'})" if len(certificate.records) > 1 else ""
        lines.append(f"code:    {escape(words.code_sentence(record) + pair)}")
        if record.tape is not None:
            lines += [f"         {escape(tape_words.draw(row))}" for row in record.tape.draws if row.moved]
            lines += [f"derived: {escape(each)}" for each in tape_words.derived(record.tape)]
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
    ("subject", "left"),
    ("claim", "left"),
    ("audit", "right"),
    ("code", "left"),
    ("ledger", "right"),
    ("verdict", "left"),
    ("accounted", "left"),
    ("detectable", "right"),
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
        escape(words.claim(record)),
        number(record.trials_lower),
        escape(tape_words.cell(record)),
        number(record.number_upper),
        f"[{colour}]{record.verdict}[/]",
        f"[red]{account}[/]" if record.ledger_contradicted else account,
        number(record.detectable),
        f"{record.trials:,}",
        f"{record.seconds:.1f}",
        f"[bold red]{escape(remark)}[/]" if remark else "reused" if record.reused else "",
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
    return f"{words.headline(result)} Seed {result.seed}.{_speed(result)}\n{words.family(result)} {words.DETECTABLE}."
