"""What the terminal shows: live progress, then one line a subject, then what it means."""

import sys
from collections.abc import Sequence
from typing import Literal, TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dpverify.base.text import cleaned
from dpverify.faces.report import tape_words, words
from dpverify.faces.report.answers import Answer, answers, BAD, GOOD, PLAIN, WARN
from dpverify.faces.report.overview import Entry, Overview
from dpverify.faces.report.words import number, SYMBOLS
from dpverify.verdicts.ladder import PLANTED
from dpverify.verdicts.record import AuditRecord
from dpverify.verdicts.suite_result import SuiteResult
from dpverify.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from dpverify.verdicts.certificate import Certificate

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


def _lines(entry: Entry, *, quiet: bool) -> list[Entry]:
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
        escape(tape_words.cell(record)),
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


def _table(entries: Sequence[Entry], *, wide: bool) -> Table:
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


def _row(entry: Entry) -> list[str]:
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
        escape(tape_words.cell(record)),
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


def _coloured(answer: Answer) -> str:
    colour = COLOURS[answer.kind] if answer.count != "0" else ""
    count = f"[bold {colour}]{answer.count}[/]" if colour else f"[bold]{answer.count}[/]"
    parts = [f"{count} {answer.of}".rstrip()]
    for line in answer.lines:
        shade = COLOURS[line.kind]
        parts.append(f"[{shade}]{escape(str(line))}[/]" if shade else escape(str(line)))
    return "; ".join(parts)
