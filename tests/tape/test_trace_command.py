"""`dpverify trace`: exit codes, the table, the JSON, and refusals in one line."""

import json
import re
import textwrap
import time
from pathlib import Path

import pytest

from dpverify.cli import isolated_command
from dpverify.cli.main import run

CODE = """
import numpy as np
from dpverify import Pair
from dpverify.ledger.events import LaplaceNoise, Ledger, Sensitivity
PAIRS = [Pair(np.array([1.0, 2.0]), np.array([1.0, 3.0]))]
LEDGER = Ledger(LaplaceNoise(scale=2.0, sensitivity=Sensitivity(replace=1)))
def good(data, *, rng, size):
    return data.sum() + rng.laplace(0.0, 2.0, size)
def half(data, *, rng, size):
    return data.sum() + rng.laplace(0.0, 1.0, size)
def bare(data, *, rng, size):
    noise = float(rng.laplace(0.0, 2.0))
    return np.full(size, np.tanh(data.sum() + noise))
def endless(data, *, rng, size):
    while True:
        pass
"""


@pytest.fixture
def module(tmp_path: Path) -> str:
    file = tmp_path / "traced_code.py"
    file.write_text(textwrap.dedent(CODE))
    return str(file)


@pytest.mark.parametrize(
    ("name", "extra", "code", "words"),
    [
        ("good", ["--claim", "pure:0.5"], 0, ["DERIVED", "traced_code.py:8", "laplace(2)", "0.5"]),
        ("good", ["--ledger", "LEDGER"], 0, ["CONFORMS"]),
        ("half", ["--claim", "pure:0.5"], 1, ["CONTRADICTED", "WITNESS"]),
        ("half", ["--ledger", "LEDGER"], 1, ["CONTRADICTED", "traced_code.py:10", "laplace(1)"]),
        ("bare", [], 3, ["NOT TRACED", "OUTPUTS_DIFFER", "laplace at", "traced_code.py:12"]),
    ],
)
def test_words_and_exit_codes(module, capsys, name, extra, code, words) -> None:
    options = [f"{module}:{each}" if each == "LEDGER" else each for each in extra]
    assert run(["trace", f"{module}:{name}", "--pairs", f"{module}:PAIRS", "--transcripts", "10", *options]) == code
    printed = capsys.readouterr().out
    for word in words:
        assert word in printed


LIBRARY = """
import secrets
import numpy as np
import pandas as pd
from dpverify import Pair
PAIRS = [Pair(np.array([1.0, 2.0]), np.array([1.0, 1.0]))]
def coin(data, *, rng, size):
    return np.full(size, float(str(int(secrets.randbelow(5)))) + data.sum())
def counted(data, *, rng, size):
    found = pd.Series(data).map(lambda each: each)
    return np.full(size, float(sum(np.unique(found).tolist()) + sum(float(rng.laplace()) for _ in np.unique(found))))
def filled(data, *, rng, size):
    drawn = [rng.laplace() for _ in np.unique(data)]
    return np.full(size, float(pd.Series(drawn).sum()))
"""


@pytest.mark.parametrize("name", ["coin", "counted", "filled"])
def test_reasons_name_lines_of_the_program_and_none_of_a_library(tmp_path: Path, capsys, name) -> None:
    file = tmp_path / "through_libraries.py"
    file.write_text(LIBRARY)
    assert run(["trace", f"{file}:{name}", "--pairs", f"{file}:PAIRS", "--transcripts", "10"]) == 3
    reasons = [line for line in capsys.readouterr().out.splitlines() if re.match("  [A-Z_]{4,}", line)]
    places = re.findall(r"[\w./]+\.py:\d+", " ".join(reasons))
    assert places
    assert all("through_libraries.py:" in each for each in places), reasons


@pytest.mark.parametrize("command", [["trace"], ["trace", "--exact"]])
def test_a_call_that_does_not_end_is_ended(module, capsys, monkeypatch, command) -> None:
    """Their own limits are looked at between calls."""
    monkeypatch.setattr(isolated_command, "SLOW", 3.0)
    started = time.monotonic()
    assert run([*command, f"{module}:endless", "--pairs", f"{module}:PAIRS", "--timeout", "0.5"]) == 3
    assert time.monotonic() - started < 30
    said = capsys.readouterr()
    assert said.out == ""
    assert "(--timeout)" in said.err
    assert said.err.count("\n") == 1


def test_json_holds_the_traces(module, tmp_path: Path) -> None:
    file = tmp_path / "traces.json"
    arguments = ["trace", f"{module}:good", "--pairs", f"{module}:PAIRS", "--transcripts", "5", "--json", str(file)]
    assert run(arguments) == 0
    (found,) = json.loads(file.read_text())["traces"]
    assert (found["status"], found["eps"]) == ("DERIVED", 0.5)


@pytest.mark.parametrize(
    "extra",
    [
        ["--transcripts", "0"],
        ["--claim", "pure:nan"],
        ["--ledger", "PAIRS"],
        ["--timeout", "0"],
        ["--paths", "9"],
    ],
)
def test_refusals_are_one_line(module, capsys, extra) -> None:
    options = [f"{module}:{each}" if each == "PAIRS" else each for each in extra]
    assert run(["trace", f"{module}:good", "--pairs", f"{module}:PAIRS", *options]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
