"""`try` and `replay` on foreign libraries, in environments of their own: python -m pytest -m wild tests/wild.

WILD_PYTHON is an interpreter with diffprivlib 0.6.6 and scikit-learn < 1.9; OLD_PYTHON is a bare Python 3.7 or 3.8;
opacus and torch are in the environment that runs the tests, or in that of WILD_TORCH.
"""

import os
import shutil
import sys

import pytest

from dpverify import PureDP
from dpverify.cli.main import run
from dpverify.wild import Elsewhere, try_out
from dpverify.wild.worker import codec

pytestmark = [pytest.mark.wild, pytest.mark.filterwarnings("ignore")]

LIBRARY = os.environ.get("WILD_PYTHON", sys.executable)
TORCH = os.environ.get("WILD_TORCH", sys.executable)
OLD = os.environ.get("OLD_PYTHON", shutil.which("python3.8") or "python3.8")
POINTS = {"data": {"as": "array"}, "columns": {"x": {"kind": "real", "low": 0.0, "high": 10.0}}}
TRAINED = """
import numpy as np, torch, opacus
def trained(data):
    model = opacus.GradSampleModule(torch.nn.Linear(2, 1, bias=False))
    optimizer = opacus.optimizers.DPOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.5), noise_multiplier=1.0, max_grad_norm=1.0,
        expected_batch_size=len(data), loss_reduction="mean")
    optimizer.zero_grad()
    (model(torch.from_numpy(data.astype(np.float32))) ** 2).mean().backward()
    optimizer.step()
    return next(model.parameters()).detach().numpy().copy()
"""
PLANE = """
[data]
as = "array"
rows = [4, 5]
[columns.a]
kind = "real"
low = -3.0
high = 3.0
[columns.b]
kind = "real"
low = -3.0
high = 3.0
"""


def test_w4_attributes_of_k_means_fall_by_trials():
    record = try_out(
        "diffprivlib.models:KMeans",
        claim=PureDP(1.0),
        schema=POINTS,
        python=LIBRARY,
        minutes=10.0,
        arguments={"epsilon": 1.0, "bounds": (0, 10), "n_clusters": 2},
        relation="replace",
    )
    assert record.verdict == "REFUTED"


def test_w8_the_divisor_of_opacus_is_over(tmp_path, monkeypatch, capsys):
    (tmp_path / "steps.py").write_text(TRAINED)
    (tmp_path / "plane.toml").write_text(PLANE)
    monkeypatch.chdir(tmp_path)
    asked = [
        "replay",
        "steps.py:trained",
        "--schema",
        "plane.toml",
        "--pairs",
        "10",
        "--calls",
        "opacus",
        "--python",
        TORCH,
        "--claim",
        "approx:10,0.001",
    ]
    assert run([*asked, "--relation", "add-remove"]) == 1
    assert "divisor (expected_batch_size)" in capsys.readouterr().out
    assert run([*asked, "--relation", "replace"]) == 0


def test_an_old_interpreter_answers(tmp_path):
    (tmp_path / "old.py").write_text("import random\ndef noisy(data):\n    return sum(data) + random.random()\n")
    with Elsewhere(OLD, f"{tmp_path}/old.py:noisy") as target:
        assert target.hello["python"].startswith(("3.7", "3.8"))
        found = target.fields(codec.packed(("one", [1.0])), [1, 1, 2])["fields"]
    assert found[0] == found[1] != found[2]
