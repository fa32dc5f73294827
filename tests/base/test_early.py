"""A signal while the command line is loading: one line, its exit code, and no old report that looks new."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from signals import heed_signals

from dpverify.base import early

ROOT = Path(__file__).parents[2]
# the signal comes when the first heavy module is asked for, and when the last before the run is: from the inside, so
# that the moment is the same on every machine
SLOW = """
import os, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["AT"]:
            os.kill(os.getpid(), int(os.environ["SIGNAL"]))
sys.meta_path.insert(0, Finder())
sys.argv = ["dpverify", "audit", "audits", "--json", "old.json", "--html=old.html", "--junit", "code.py"]
from dpverify.__main__ import start
start()
"""


@pytest.mark.parametrize("at", ["typer", "dpverify.cli.audit_run"])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_during_start_up(tmp_path, name, at):
    number = int(getattr(signal, name))
    for file in ("old.json", "old.html", "other.json", "code.py"):
        (tmp_path / file).write_text("old", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", SLOW],
        env={**os.environ, "PYTHONPATH": str(ROOT), "AT": at, "SIGNAL": str(number)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=heed_signals,
    )
    assert done.returncode == 128 + number
    assert done.stderr.startswith(f"dpverify: interrupted by {name} before anything was run; old reports were removed")
    assert done.stderr.count("\n") == 1
    assert sorted(each.name for each in tmp_path.iterdir()) == ["code.py", "other.json"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("audit a --json x --html=y", ["x", "y"]),
        ("report r.json --json r.json --html h", ["h"]),
        ("report --json ./r.json r.json", []),
        ("audit a --json --html", ["--html"]),
        ("audit a -k --jsonx", []),
        ("audit --json", []),
    ],
)
def test_files_that_a_command_line_would_replace(words, found):
    assert early.reports(words.split()) == found
