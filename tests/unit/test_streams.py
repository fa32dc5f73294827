"""Closed, full and deserted standard streams: never a traceback, never the exit code of a refuted claim."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.process
@pytest.mark.parametrize(
    ("redirection", "codes"),
    [
        (">&-", {0}),  # closed: nobody wants it
        ("2>&-", {0}),
        ("<&-", {0}),
        ("<&- >&- 2>&-", {0}),
        (">/dev/full", {3}),
        ("2>/dev/full", {0, 3}),
    ],
)
@pytest.mark.parametrize("words", ["--version", "audit nowhere"])
def test_streams(tmp_path, redirection, codes, words):
    command = f"{sys.executable} -m dpverify {words} {redirection}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["/bin/sh", "-c", command], env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert done.returncode in (codes if words == "--version" else {2, 3})


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


@pytest.mark.process
def test_any_text_on_any_terminal(tmp_path):
    """Every face that prints, in ASCII: no traceback, and the signs as their codes."""
    (tmp_path / "audit_t.py").write_text(AUDIT, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}"}
    environment |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "PYTHONCOERCECLOCALE": "0"}
    for words in (
        "audit audit_t.py --jobs 1 --json r.json",
        "report r.json",
        "audit audit_t.py --list",
        "audit audit_t.py -k \ufb00\ufb00",
        "certify audit_t:mechanism --claim pure:3 --trials 500 --jobs 1",
        "trace audit_t:mechanism",
        "exact audit_t:mechanism",
        "plan --claim \ufb00",
    ):
        done = subprocess.run(
            [sys.executable, "-m", "dpverify", *words.split()],
            env=environment, cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr, (words, done.stderr)
        assert "UnicodeEncodeError" not in done.stderr, (words, done.stderr)
        assert (done.stdout + done.stderr).strip().isascii()
        if words.startswith(("audit audit_t.py --", "report")):
            assert "\\ufb00" in done.stdout, (words, done.stdout)
