"""Markdown for a comment on a pull request: the four answers, what needs attention, and the rest folded away."""

from collections.abc import Sequence

from dpverify.base.text import cleaned
from dpverify.report import words
from dpverify.report.overview import answers, ClaimEntry, Overview
from dpverify.suite.result import SuiteResult

STATES = {
    0: "**All as expected.**",
    1: "**Not as expected:** a claim was refuted, or a planted bug was not caught.",
    3: "**Incomplete:** an audit is inconclusive, invalid or failed, or was not reached.",
}
NAMED = 50  # subjects that were not reached, by name
HEAD = (
    "status",
    "claim",
    "claimed",
    "certified ≥",
    "ledger ≤",
    "proof ≤",
    "code",
    "detectable",
    "bugs caught",
    "expected",
)
ALIGNED = ("---", "---", "--:", "--:", "--:", "--:", "---", "--:", "---", "---")


def render(result: SuiteResult) -> str:
    """The comment."""
    result = cleaned(result)
    overview = Overview.of(result)
    lines = ["## dpverify", "", STATES[result.exit_code], ""]
    lines += _line(["", "", ""]), _line(["---", "--:", "---"])
    for answer in answers(overview):
        count = f"**{answer.count}** {answer.of}".rstrip()
        lines.append(_line([f"**{answer.question}**", count, "; ".join(_cell(str(line)) for line in answer.lines)]))
    lines.append("")
    unexpected = [one for one in overview.unexpected if one.record is not None]
    if unexpected:
        lines += ["### Not as expected", "", *_table(unexpected), ""]
        for one in unexpected:
            assert one.record is not None
            said = f"{words.sentence(one.record)} {words.of_code(one.record)}".rstrip()
            lines += [f"- {_cell(one.name)}: {_cell(said)}{_place(one)} Again, alone:", ""]
            lines += [f"      {words.command(one.record, result)}", ""]
    expected = [record for record in result.records if record.as_expected]
    partly = [record for record in expected if words.failed_trials(record)]
    if partly:
        lines += ["### Trials that failed", ""]
        lines += [f"- {_cell(record.subject)}: {_cell(words.failed_trials(record))}" for record in partly]
        lines.append("")
    broken = [check for check in result.promises if not check.as_expected]
    if broken:
        lines += ["### Promises not as expected", ""]
        lines += [f"- {_cell(str(check))} (expected {check.expected})" for check in broken]
        lines.append("")
    failed = [one for one in overview.entries if one.failure is not None]
    failed += [bug for one in overview.entries for bug in one.bugs if bug.failure is not None]
    if failed:
        lines += ["### Failed: no verdict", ""]
        for one in failed:
            assert one.failure is not None
            lines.append(f"- {_cell(one.name)}: {_cell(words.failed(one.failure))}{_place(one)}")
        lines.append("")
    if result.missing:
        lines += ["### Not reached: no verdict", ""]
        lines += [f"- {_cell(name)}" for name in result.missing[:NAMED]]
        lines += [f"- and {len(result.missing) - NAMED} more"] if len(result.missing) > NAMED else []
        lines.append("")
    lines += _folded(overview)
    lines += [
        f"Seed {result.seed}. {words.family(result)} "
        "Numbers are in each claim's own unit. *Detectable*: the most favourable violation that the run refutes with "
        "95 % power; one that is less favourable has to be larger, or is missed. OPEN is not proved: a claim is "
        "proved from the code itself (*proof*), or by a ledger, if it lists what is released. *Code* is what runs of "
        "the code itself on both datasets with the same random values show, on the pairs given.",
        "",
    ]
    return "\n".join(lines)


def _folded(overview: Overview) -> list[str]:
    """Everything, by paper and statement (by file where no paper is named), behind one line a group."""
    lines = []
    for group in overview.groups:
        shown = [entry for entry in group.entries if entry.record is not None]
        if not shown:
            continue
        counts = [f"{group.counted(status)} {status}" for status in overview.counts if group.counted(status)]
        bugs = f"; {group.bugs} bugs caught" if group.bugs else ""
        wrong = f"; {group.unexpected} not as expected" if group.unexpected else ""
        said = f"{_cell(group.name)}: {', '.join(counts) or 'planted bugs'}{bugs}{wrong}"
        lines += ["<details>", f"<summary>{said}</summary>", "", *_table(shown), "", "</details>", ""]
    return lines


def _table(entries: Sequence[ClaimEntry]) -> list[str]:
    rows = [_line(HEAD), _line(ALIGNED)]
    for entry in entries:
        record = entry.record
        assert record is not None
        named = f"{record.subject}{f' ({record.statement})' if record.statement else ''}"
        cells = [
            ("CAUGHT" if entry.caught else "MISSED") if entry.planted else str(entry.status),
            named,
            f"{words.unit(record)} {words.claimed(record)}",
            words.lower(record),
            words.number(record.number_upper),
            words.proved(record),
            words.cell(record),
            words.number(record.detectable),
            words.bugs(entry),
            words.expectation(record) or "as expected",
        ]
        rows.append(_line([_cell(cell) for cell in cells]))
    return rows


def _place(entry: ClaimEntry) -> str:
    return f" ({_cell(entry.place)})" if entry.place else ""


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(text: str) -> str:
    """Text that cannot break a table or become markup."""
    plain = " ".join(text.split())
    for sign in "\\`*_|<>[]":
        plain = plain.replace(sign, "\\" + sign)
    return plain
