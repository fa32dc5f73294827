"""Markdown for a comment on a pull request: the conclusion, what needs attention, and the rest folded away."""

from collections.abc import Sequence

from dpverify.faces.report import words
from dpverify.verdicts.record import AuditRecord
from dpverify.verdicts.suite import SuiteResult

STATES = {
    0: "**All as expected.**",
    1: "**Not as expected:** a claim was refuted, or a planted bug was not caught.",
    3: "**Incomplete:** an audit is inconclusive or failed.",
}
HEAD = ("subject", "claim", "lower", "upper", "verdict", "accounted", "would catch", "expected")


def render(result: SuiteResult) -> str:
    """The comment."""
    unexpected = [record for record in result.records if not record.as_expected]
    rest = [record for record in result.records if record.as_expected]
    lines = ["## dpverify", "", STATES[result.exit_code], words.headline(result), ""]
    if unexpected:
        lines += ["### Not as expected", "", *_table(unexpected), ""]
        for record in unexpected:
            lines += [f"- {_cell(record.subject)}: {_cell(words.sentence(record))} Again, alone:", ""]
            lines += [f"      {words.command(record, result)}", ""]
    broken = [check for check in result.promises if not check.as_expected]
    if broken:
        lines += ["### Promises not as expected", ""]
        lines += [f"- {_cell(str(check))} (expected {check.expected})" for check in broken]
        lines.append("")
    if result.failures:
        lines += ["### Failed: no verdict", ""]
        lines += [f"- {_cell(failure.subject)}: {_cell(failure.error)}" for failure in result.failures]
        lines.append("")
    if rest:
        lines += [
            "<details>",
            f"<summary>{len(rest)} subjects as expected</summary>",
            "",
            *_table(rest),
            "",
            "</details>",
        ]
        lines.append("")
    lines += [
        f"Seed {result.seed}. {words.family(result)} "
        "*would catch*: the smallest true eps that the run refutes with 95 % power. "
        "A claim that is not refuted is not thereby proved; *accounted* is the proof, given the ledger.",
        "",
    ]
    return "\n".join(lines)


def _table(records: Sequence[AuditRecord]) -> list[str]:
    rows = [_line(HEAD), _line(["---", "---", "--:", "--:", "---", "---", "--:", "---"])]
    for record in records:
        cells = [
            record.subject + (" (planted bug)" if record.planted else ""),
            words.claim(record),
            words.number(record.number_lower),
            words.number(record.number_upper),
            str(record.verdict),
            words.account(record),
            words.number(record.detectable_eps),
            words.expectation(record) or "as expected",
        ]
        rows.append(_line([_cell(cell) for cell in cells]))
    return rows


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(text: str) -> str:
    """Text that cannot break a table or become markup."""
    plain = " ".join(text.split())
    for sign in "\\`*_|<>[]":
        plain = plain.replace(sign, "\\" + sign)
    return plain
