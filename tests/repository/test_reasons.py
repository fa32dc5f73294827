"""Every reason that the tape can give is explained in docs/reasons.md, and nothing else is."""

import ast
import re
from pathlib import Path

from dpverify.tape.training import FINDINGS

ROOT = Path(__file__).parents[2]
MAKERS = {"InvalidTrials", "Reason", "TapeReason", "lost", "stop", "_diverge", "note", "_note"}
CONSTANTS = {
    "NO_POWER",
    "MOST_FAILED",
    "UNSAID",
    "SEEDED",
    "MUTATED",
    "CODES",
    "HOPELESS",
    "BY_THEOREM",
}  # names of codes, or tables of them
NAME = re.compile(r"[A-Z][A-Z_]{2,}")


def codes(text: str) -> set[str]:
    """Names that are handed to what makes a reason, or bound to a constant of reasons."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        given: list[ast.AST] = []
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            given = node.args[:1] if name in MAKERS else []
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in CONSTANTS:
            values = node.value.values if isinstance(node.value, ast.Dict) else [node.value]
            given = [each for value in values for each in ast.walk(value)]
        found |= {each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    return {each for each in found if NAME.fullmatch(each)}


def test_every_reason_has_its_row_and_a_remedy():
    folders = ("dpverify/tape", "dpverify/auditing", "dpverify/trials", "dpverify/evidence")
    known = set().union(*(codes(file.read_text()) for each in folders for file in (ROOT / each).rglob("*.py")))
    rows = [
        line.split("|")[1:-1] for line in (ROOT / "docs/reasons.md").read_text().splitlines() if line.startswith("| `")
    ]
    assert all(len(row) == 3 and all(cell.strip() for cell in row) for row in rows)
    told = {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row[0])}
    assert len(known) > 40
    assert told == known


def test_every_finding_of_a_training_loop_has_its_row_and_a_remedy():
    rows = [line.split("|")[1:-1] for line in (ROOT / "docs/training.md").read_text().splitlines() if line[:3] == "| `"]
    assert all(len(row) == 3 and all(cell.strip() for cell in row) for row in rows)
    assert {row[0].strip(" `") for row in rows} == set(FINDINGS)
    assert len(rows) == len(FINDINGS)


def test_every_finding_of_a_replay_has_its_row():
    """Names are the first argument of `Found`, or bound to `rule` before it."""
    text = "".join(file.read_text() for file in (ROOT / "dpverify/wild/replay_calls").glob("*.py"))
    known = set(re.findall(r'Found\(\s*"([a-z ]+)"', text))
    known |= {
        name
        for line in text.splitlines()
        if line.strip().startswith("rule = ")
        for name in re.findall(r'"([a-z ]+)"', line)
    }
    assert len(re.findall(r"Found\(\s*[^\s\"]", text)) == 1  # the one whose name is in `rule`
    assert known == set(re.findall(r"^\| `([a-z ]+)` \|", (ROOT / "docs/reasons.md").read_text(), re.M))
    assert len(known) == 9


def test_a_new_reason_is_seen():
    assert codes("x.stop('NEVER_HEARD_OF', '')") == {"NEVER_HEARD_OF"}
    assert codes("Reason('FOREIGN', '', text)\nother('NOTHING')") == {"FOREIGN"}
