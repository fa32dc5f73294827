"""The journal: what was written whole counts, what was not does not, and one run writes at a time."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies

from dpverify.errors import RunError
from dpverify.execution.journal import Journal, prune

LINES = [(("subject", "a"), {"x": [1.5, None]}), (("block", "a#0", 3), "é\n"), (("subject", "b"), float("inf"))]


def written(path):
    journal = Journal.start(path)
    for key, value in LINES:
        journal.add(key, value)
    journal.close()
    return path.read_bytes()


def test_what_is_added_is_there_again(tmp_path):
    path = tmp_path / ".dpverify" / "run.jsonl"
    written(path)
    journal = Journal.start(path, resume=True)
    assert list(journal.items()) == LINES
    assert journal.get(("subject", "c")) is None
    journal.add(("subject", "c"), 3)
    journal.close()
    assert Journal.of(path).get(("subject", "c")) == 3
    assert (path.parent / ".gitignore").read_text() == "*\n"
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_a_line_that_was_cut_short_anywhere_is_as_if_never_written(tmp_path):
    path = tmp_path / "run.jsonl"
    whole = written(path)
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    for cut in range(last, len(whole) - 1):  # only the last line's newline is missing: that line is whole
        path.write_bytes(whole[:cut])
        journal = Journal.start(path, resume=True)
        assert list(journal.items()) == LINES[:2]
        journal.add(("subject", "d"), 4)
        journal.close()
        again = Journal.of(path)
        assert list(again.items()) == [*LINES[:2], (("subject", "d"), 4)]


@given(strategies.data())
def test_a_changed_byte_never_changes_a_value(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("journal") / "run.jsonl"
    whole = bytearray(written(path))
    at = data.draw(strategies.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(strategies.integers(1, 255))
    path.write_bytes(bytes(whole))
    found = dict(Journal.of(path).items())
    assert set(found) <= {key for key, _ in LINES}
    assert all(found[key] == value for key, value in LINES if key in found)


def test_of_two_lines_with_one_key_the_last_counts(tmp_path):
    journal = Journal.start(tmp_path / "run.jsonl")
    journal.add(("subject", "a"), 1)
    journal.add(("subject", "a"), 2)
    journal.close()
    assert Journal.of(tmp_path / "run.jsonl").get(("subject", "a")) == 2


def test_a_second_run_at_the_same_time_is_refused(tmp_path):
    path = tmp_path / "run.jsonl"
    first = Journal.start(path)
    first.add(*LINES[0])
    for resume in (False, True):
        with pytest.raises(RunError, match="another run"):
            Journal.start(path, resume=resume)
    code = "import sys; from pathlib import Path; from dpverify.execution.journal import Journal; "
    code += "Journal.start(Path(sys.argv[1]))"
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], cwd=root, capture_output=True, text=True, check=False
    )
    assert "another run" in done.stderr
    first.add(*LINES[1])
    first.close()
    assert list(Journal.of(path).items()) == LINES[:2]


def test_old_journals_are_dropped(tmp_path):
    for index in range(5):
        (tmp_path / f"{index}.jsonl").write_text("")
    prune(tmp_path, 2)
    assert len(list(tmp_path.glob("*.jsonl"))) == 2
