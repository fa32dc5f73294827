"""Closed, full and deserted standard streams: never a traceback, never the exit code of a refuted claim."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("redirection", "codes"),
    [
        (">&-", {0, 3}),
        ("2>&-", {0, 3}),
        ("<&-", {0}),
        ("<&- >&- 2>&-", {0, 3}),
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
