"""Every command starts one fork server: a second one loads everything again."""

import os
import subprocess
import sys

import pytest

SUBJECT = """
import numpy as np
from dpverify import Pair, PureDP, Subject

def noisy(data, *, rng, size):
    return np.sum(data) + rng.laplace(0.0, 2.0, size)

pair = Pair([0.0, 1.0], [0.0, 0.0])
subjects = [Subject(name="noisy", target=noisy, claim=PureDP(0.5), pairs=[pair])]
"""

COUNTING = """
import subprocess, sys
started = []

class Counted(subprocess.Popen):
    def __init__(self, *args, **kwargs):
        started.append('fork_server' in str(args))  # and not git, which is asked for the commit
        super().__init__(*args, **kwargs)

subprocess.Popen = Counted
from dpverify.__main__ import start
try:
    start()
finally:
    print("started", sum(started), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "command",
    [
        ["audit", "audit_own.py", "--trials", "1000", "--quiet"],
        ["audit", "audit_own.py", "--list"],
        [
            "certify",
            "audit_own:noisy",
            "--claim",
            "pure:0.5",
            "--pairs",
            "audit_own:pair",
            "--trials",
            "1000",
        ],
        ["trace", "audit_own:noisy", "--pairs", "audit_own:pair"],
    ],
    ids=["audit", "list", "certify", "trace"],
)
def test_a_command_loads_once(tmp_path, command):
    (tmp_path / "audit_own.py").write_text(SUBJECT)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("KMP_")}
    done = subprocess.run(
        [sys.executable, "-c", COUNTING, *command], cwd=tmp_path, env=clean, capture_output=True, text=True, timeout=120
    )
    assert done.returncode in (0, 3), done.stderr
    assert done.stderr.splitlines()[-1] == "started 1", done.stderr


def test_what_refutes_by_the_tape_loads_no_distributions():
    """Seconds of imports, which nobody needs whose code is refuted before a trial: bounds name `scipy.stats` late."""
    code = """
import sys
import dpverify.verdicts.certificate
assert not {"scipy.stats", "scipy.signal", "scipy.optimize", "sklearn", "statsmodels", "pandas"} & set(sys.modules)
"""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
