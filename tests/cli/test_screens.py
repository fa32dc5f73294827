"""One screen for each word of `certify`; `python -m tests.cli.test_screens` writes the files of `tests/cli/screens`."""

import contextlib
import io
import os
import re
from pathlib import Path

import pytest

from dpverify.cli.main import run

HERE = Path(__file__).parent
ASKED = {
    "CERTIFIED": (0, "Certified", "--pairs", "screened:PAIRS"),
    "ACCOUNTED": (3, "Certified", "--pairs", "screened:PAIRS", "--no-tape"),
    "ACCOUNTED and accepted": (0, "Certified", "--pairs", "screened:PAIRS", "--no-tape", "--accept", "ledger"),
    "REFUTED": (1, "Refuted", "--pairs", "screened:PAIRS"),
    "REFUTED by trials": (1, "Refuted", "--pairs", "screened:PAIRS", "--no-tape"),
    "OPEN": (3, "Open", "--pairs", "screened:PAIRS"),
    "INCONCLUSIVE": (3, "Open", "--pairs", "screened:PAIRS", "--trials", "3"),
    "INVALID": (3, "Invalid", "--pairs", "screened:PAIRS"),
    "FAILED": (3, "Failed", "--pairs", "screened:PAIRS"),
    "REFUTED with --data": (1, "wrong_mean", "--data", "vector: real 0..9, rows 3", "--relation", "replace"),
    "CERTIFIED with --data": (0, "mean", "--data", "vector: real 0..9, rows 3", "--relation", "replace"),
    "OPEN with --data": (3, "trimmed_mean", "--data", "vector: real 0..9, rows 3", "--relation", "replace"),
    "FAILED with --data": (3, "raising", "--data", "vector: real 0..9, rows 3", "--relation", "replace"),
}


def shown(word: str) -> tuple[int, str]:
    _, name, *more = ASKED[word]
    out, trials = io.StringIO(), [] if "--trials" in more else ["--trials", "500"]
    before = os.getcwd()
    os.chdir(HERE)
    try:
        with contextlib.redirect_stdout(out):
            code = run(["certify", f"screened.py:{name}", "--claim", "pure:1", *more, *trials])
    finally:
        os.chdir(before)
    said = re.sub(r"; [\d.]+ s$", "; N s", out.getvalue(), flags=re.M)
    lines = said.splitlines()
    assert len(lines) <= 14
    assert all(len(line) <= 100 for line in lines[:-1])
    if "--data" in more and len(lines) > 1:  # how many trials a pair gets, and so which pair falls
        rows = [line.split()[0] for line in lines[1:-1] if line[2] != " "]  # first, depends on how fast they are
        said = "\n".join([lines[0], *(each for each in rows if each not in ("outside", "witness")), lines[-1], ""])
    return code, said


@pytest.mark.process
@pytest.mark.parametrize("word", ASKED)
def test_one_screen_for_each_word(word, capsys):
    code, said = shown(word)
    assert code == ASKED[word][0]
    assert said.split()[0] == word.split()[0]
    assert said == (HERE / "screens" / f"{word.replace(' ', '_')}.txt").read_text()


if __name__ == "__main__":
    (HERE / "screens").mkdir(exist_ok=True)
    for each in ASKED:
        (HERE / "screens" / f"{each.replace(' ', '_')}.txt").write_text(shown(each)[1])
