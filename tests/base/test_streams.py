"""Closed, full and deserted standard streams: never a traceback, never the exit code of a refuted claim."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "redirection", "codes"),
    [
        ("--version", ">&-", {0}),  # closed: nobody wants it
        ("--version", "2>&-", {0}),
        ("--version", "<&-", {0}),
        ("--version", "<&- >&- 2>&-", {0}),
        ("--version", ">/dev/full", {3}),
        ("--version", "2>/dev/full", {0, 3}),
        ("audit nowhere", "2>&-", {2, 3}),  # what says something on the error stream
        ("audit nowhere", "<&- >&- 2>&-", {2, 3}),
        ("audit nowhere", "2>/dev/full", {2, 3}),
    ],
)
def test_streams(tmp_path, redirection, codes, words):
    command = f"{sys.executable} -m dpverify {words} {redirection}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["/bin/sh", "-c", command], env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert done.returncode in codes


AUDIT = """
import numpy as np
from dpverify import Pair, PureDP, Subject

def good(data, *, rng, size):
    return data + rng.laplace(size=size)

def bad(data, *, rng, size):
    raise ZeroDivisionError("\ufb01 \u2264")

class Mechanism:
    pairs = (Pair(0.0, 1.0, name="\ufb02"),)
    def release(self, data, *, rng, size):
        return good(data, rng=rng, size=size)

pairs = (Pair(0.0, 1.0, name="\ufb02"),)
subjects = [Subject(name=f"{target.__name__} \ufb00 \u2265", target=target, claim=PureDP(3.0), pairs=pairs, trials=500)
            for target in (good, bad)]
mechanism = Mechanism()
"""


EACH = """
import sys
from dpverify.cli import main

if __name__ == "__main__":
    for at, words in enumerate(sys.argv[1:]):
        if at:
            print("next command", flush=True)
        sys.argv[1:] = words.split()
        try:
            main.main()
        except SystemExit:
            pass
    sys.exit(0)
"""


@pytest.mark.process
def test_any_text_on_any_terminal(tmp_path):
    """Every face that prints, in ASCII: no traceback, and the signs as their codes. One process starts them all."""
    (tmp_path / "audit_t.py").write_text(AUDIT, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}"}
    environment |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "PYTHONCOERCECLOCALE": "0"}
    (tmp_path / "each.py").write_text(EACH, encoding="utf-8")
    commands = (
        "audit audit_t.py --jobs 1 --json r.json",
        "report r.json",
        "audit audit_t.py --list",
        "audit audit_t.py -k \ufb00\ufb00",
        "certify audit_t:mechanism --claim pure:3 --trials 500 --jobs 1",
        "trace audit_t:mechanism",
        "exact audit_t:mechanism",
        "plan --claim \ufb00",
    )
    done = subprocess.run(
        [sys.executable, "each.py", *commands],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    assert "UnicodeEncodeError" not in done.stderr, done.stderr
    assert (done.stdout + done.stderr).strip().isascii()
    for words, said in zip(commands, done.stdout.split("next command\n"), strict=True):
        if words.startswith(("audit audit_t.py --", "report")):
            assert "\\ufb00" in said, (words, said)
