"""Markdown for a comment on a pull request: the conclusion, what needs attention, and the rest folded away."""

from collections.abc import Sequence

from dpverify.base.text import cleaned
from dpverify.faces.report import tape_words, words
from dpverify.verdicts.record import AuditRecord
from dpverify.verdicts.suite_result import SuiteResult

STATES = {
    0: "**All as expected.**",
    1: "**Not as expected:** a claim was refuted, or a planted bug was not caught.",
    3: "**Incomplete:** an audit is inconclusive, invalid or failed, or was not reached.",
}
NAMED = 50  # subjects that were not reached, by name
HEAD = ("subject", "claim", "audit", "code", "ledger", "verdict", "accounted", "detectable", "measured", "expected")


def render(result: SuiteResult) -> str:
    """The comment."""
    result = cleaned(result)
    unexpected = [record for record in result.records if not record.as_expected]
    rest = [record for record in result.records if record.as_expected]
    lines = ["## dpverify", "", STATES[result.exit_code], _cell(words.headline(result)), ""]
    if unexpected:
        lines += ["### Not as expected", "", *_table(unexpected), ""]
        for record in unexpected:
            said = f"{words.sentence(record)} {words.of_code(record)}".rstrip()
            lines += [f"- {_cell(record.subject)}: {_cell(said)} Again, alone:", ""]
            lines += [f"      {words.command(record, result)}", ""]
    partly = [record for record in rest if words.failed_trials(record)]
    if partly:
        lines += ["### Trials that failed", ""]
        lines += [f"- {_cell(record.subject)}: {_cell(words.failed_trials(record))}" for record in partly]
        lines.append("")
    broken = [check for check in result.promises if not check.as_expected]
    if broken:
        lines += ["### Promises not as expected", ""]
        lines += [f"- {_cell(str(check))} (expected {check.expected})" for check in broken]
        lines.append("")
    if result.failures:
        lines += ["### Failed: no verdict", ""]
        lines += [f"- {_cell(failure.subject)}: {_cell(words.failed(failure))}" for failure in result.failures]
        lines.append("")
    if result.missing:
        lines += ["### Not reached: no verdict", ""]
        lines += [f"- {_cell(name)}" for name in result.missing[:NAMED]]
        lines += [f"- and {len(result.missing) - NAMED} more"] if len(result.missing) > NAMED else []
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
        f"*Detectable*{words.DETECTABLE.removeprefix('detectable')}. *Measured*: how often known ones were refuted. "
        "A claim that is not refuted is not thereby proved; *accounted* is the proof, given the ledger. *Code* is what "
        "runs of the code itself on both datasets with the same random values show, on the pairs given.",
        "",
    ]
    return "\n".join(lines)


def _table(records: Sequence[AuditRecord]) -> list[str]:
    rows = [_line(HEAD), _line(["---", "---", "--:", "---", "--:", "---", "---", "--:", "---", "---"])]
    for record in records:
        cells = [
            record.subject + (" (planted bug)" if record.planted else ""),
            words.claim(record),
            words.number(record.trials_lower),
            tape_words.cell(record),
            words.number(record.number_upper),
            str(record.verdict),
            words.account(record),
            words.number(record.detectable),
            words.measured(record).removeprefix("Measured: ").removesuffix(".") or "-",
            words.expectation(record) or ("as expected (reused)" if record.reused else "as expected"),
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
