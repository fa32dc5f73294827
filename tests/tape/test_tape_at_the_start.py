"""Ten lines of a user, without ledger and without log ratio, from the command line: what they get, and how soon."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
CODE = """import numpy as np
from dpverify import Pair
class Mine:
    scale = 2.0
    pairs = [Pair([0, 1, 2], [3, 1, 2])]
    def release(self, data, *, rng, size):
        counts = np.bincount(data, minlength=4)
        return counts + rng.laplace(scale=self.scale, size=(size, 4))
class Half(Mine):  # INCORRECT: half the noise
    scale = 1.0
"""
# starts of a bare interpreter with the same library; two are needed: the command, the watched process; 4.0 is measured
PRICE = 5.0


def run(folder: Path, *words: str) -> tuple[int, str, float]:
    """Exit code, output, and processor seconds of the command with all that it has started."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (
        done.returncode,
        done.stdout + done.stderr,
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(CODE, encoding="utf-8")
    return tmp_path


def test_the_code_gives_its_ledger_and_its_end_of_the_interval(folder):
    code, said, _ = run(
        folder,
        "-m",
        "dpverify",
        "certify",
        "mine:Mine",
        "--claim",
        "pure:1",
        "--trials",
        "20000",
        "--explain",
        "--json",
        "c.json",
        "--html",
        "c.html",
    )
    assert (code, said.startswith("OPEN        Mine is neither")) == (3, True), said
    assert "mine.py:8: laplace(2) on 2 values that move, by 1 at most" in said
    assert "derived: LaplaceNoise(scale=2.0, sensitivity=Sensitivity(replace=Shift(1.0, 2)))" in said
    record = json.loads((folder / "c.json").read_text())["records"][0]
    tape = record["tape"]
    assert (tape["status"], tape["number"], record["accounted"]) == ("DERIVED", 1.0, None)
    assert 0 < tape["delta_k"] < 0.06
    assert 0.7 < record["number_lower"] < tape["number"]
    assert "| code 1 (64 transcripts, derived) | ledger -" in said
    page = (folder / "c.html").read_text(encoding="utf-8")
    assert "mine.py:8" in page
    assert "code 1 (64 transcripts, derived)" in page


def test_its_twin_with_half_the_noise_is_refuted_at_once(folder):
    """Within three seconds of the start on a machine that does nothing else; here by what the start itself costs."""
    code, said, seconds = run(folder, "-m", "dpverify", "certify", "mine:Half", "--claim", "pure:1", "--json", "c.json")
    assert code == 1, said
    assert "REFUTED " in said
    record = json.loads((folder / "c.json").read_text())["records"][0]
    assert (record["trials"], record["tape"]["refutes"]) == (0, True)
    assert 1.999 < record["eps_lower"] <= 2.0
    _, _, start = run(folder, "-c", "import dpverify.auditing.certificate")
    assert seconds < PRICE * start
