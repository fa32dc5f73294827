"""`dpverify certify --data`, `replay` and their call shapes: exit codes, files, and refusals in one line."""

import json
import sys
import textwrap

import pytest

from dpverify.cli.main import run

CODE = """
import random
import numpy as np
from dpverify import Pair
def respond(item, rng, keep=0.9):
    return item if rng.random() < keep else 1 - item
def hopeless(item):
    raise KeyError("no")
def ends(item):
    import os
    os._exit(9)
def noisy(data, scale, rng):
    return float(np.sum(data)) + rng.laplace(0.0, scale)
class Mean:
    def __init__(self, scale=1.0):
        self.scale = scale
    def get_params(self):
        return {}
    def fit(self, X):
        self.mean_ = float(X.sum()) + np.random.laplace(0.0, self.scale)
pairs = [Pair(np.array([0.0, 1.0]), np.array([0.0, 0.0]))]
"""
NOISE_OF_OPENDP = """
import opendp.prelude as dp
dp.enable_features("contrib")
NUMBER = dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0)
def added(item):
    return NUMBER(float(item))
def lot(item):
    return NUMBER(3.0 * item)
"""
SCHEMA = """
[data]
as = "value"
[columns.item]
kind = "category"
values = [0, 1]
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "beside_us.py").write_text(textwrap.dedent(CODE))
    (tmp_path / "of_opendp.py").write_text(NOISE_OF_OPENDP)
    (tmp_path / "bit.toml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(command, name, *more, claim="pure:1", file="beside_us.py"):
    return run([command, f"{file}:{name}", "--claim", claim, "--data", "bit.toml", *more])


def test_certify_says_what_it_found_and_writes_it(place, capsys):
    more = ["--json", "out.json", "--repro", "found", "--minutes", "2", "--no-tape", "--explain"]
    assert asked("certify", "respond", *more) == 1
    said = capsys.readouterr().out
    assert "at most" in said.splitlines()[0]  # a forecast
    assert "REFUTED     respond is not pure:1" in said
    assert "--minutes 2.0 --repro found --no-tape" in said  # it can be run again
    document = json.loads((place / "out.json").read_text())
    assert (document["verdict"], document["command"], document["relation"]) == ("REFUTED", "certify", "replace-one")
    assert document["versions"]["python"]
    (pair,) = [each for each in document["pairs"] if each["witness"]]
    assert set(pair["witness"]) == {"text", "event", "first", "second"}
    assert document["repro"] == ["found/refuted_1.py"]
    assert asked("certify", "respond", "--arg", "keep=0.6", "--minutes", "2", "--no-tape") == 0
    assert capsys.readouterr().out.startswith("CERTIFIED ")


def test_replay_says_what_it_found_and_writes_it(place, capsys):
    assert asked("replay", "added", "--pairs", "3", "--json", "out.json", file="of_opendp.py") == 0
    assert "KEPT" in capsys.readouterr().out
    assert json.loads((place / "out.json").read_text())["verdict"] == "KEPT"
    assert asked("replay", "lot", "--pairs", "3", file="of_opendp.py") == 1
    said = capsys.readouterr().out
    assert "OVER" in said
    assert "violates" not in said
    assert asked("replay", "respond", "--pairs", "3") == 3


@pytest.mark.parametrize("command", ["certify", "replay"])
@pytest.mark.parametrize(("name", "code"), [("hopeless", 3), ("ends", 3), ("absent", 2)])
def test_a_target_that_fails_has_no_verdict(place, capsys, command, name, code):
    assert asked(command, name, "--json", "out.json") == code
    captured = capsys.readouterr()
    assert "REFUTED" not in captured.out
    assert "OPEN" not in captured.out
    assert len(captured.err.strip().splitlines()) == 1
    assert not (place / "out.json").exists()


EXTRA = [
    ["--minutes", "0"],
    ["--arg", "keep"],
    ["--arg", "keep=high"],
    ["--call", "fit"],
    ["--relation", "both"],
    ["--data", "none.toml"],
    ["--python", "/no/python"],
    ["--json", "."],
    ["--claim", "pure:x"],
]


@pytest.mark.parametrize("extra", EXTRA, ids=" ".join)
def test_refusals_are_one_line(place, capsys, extra):
    assert asked("certify", "respond", *extra) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_what_is_missing_is_said(place, capsys):
    assert run(["replay", "of_opendp.py:added", "--claim", "pure:1"]) == 2
    assert "--data is missing" in capsys.readouterr().err


def test_a_dry_run_and_a_sketch_run_nothing_more(place, capsys):
    assert asked("certify", "respond", "--dry-run") == 0
    said = capsys.readouterr().out
    assert "item: 0 and 1" in said or "all low and all high" in said
    (place / "people.csv").write_text("age\n3\n5\n")
    assert run(["certify", "--sketch", "people.csv"]) == 0
    assert "[columns." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("noisy", ["--arg", "scale=1.0"]),
        ("Mean", []),
    ],
)
def test_certify_takes_the_same_shapes(place, capsys, name, extra):
    asked_for = ["certify", f"beside_us.py:{name}", "--claim", "pure:1", "--pairs", "beside_us:pairs"]
    asked_for += ["--trials", "2000", "--jobs", "1"]
    assert run([*asked_for, *extra]) == 3
    said = capsys.readouterr().out
    assert said.startswith("OPEN ")
    assert " ".join(extra) in said
    assert run([*asked_for, "--arg", "scale=0.2"]) == 1


def test_certify_refuses_what_cannot_be_called(place, capsys):
    assert run(["certify", "beside_us.py:noisy", "--claim", "pure:1", "--pairs", "beside_us:pairs"]) == 2
    assert "--arg scale=1.0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("noisy", ["--arg", "scale=1.0"]),
        ("Mean", ["--call", "auto"]),
        ("Mean", ["--arg", "scale=1.5"]),
        ("noisy", ["--arg", "scale=1.0", "--python", sys.executable]),
    ],
)
def test_a_rerun_calls_the_code_as_the_certificate_did(place, capsys, name, extra):
    """Its own --call, --arg and --python, whatever flags stand between them."""
    asked_for = ["certify", f"beside_us.py:{name}", "--claim", "pure:1.5", "--pairs", "beside_us:pairs", "--no-tape"]
    run([*asked_for, "--trials", "2000", "--jobs", "1", "--json", "c.json", *extra])
    capsys.readouterr()
    assert run(["check", "c.json", "--rerun", "2"]) == 0
    assert "SAME pair 1, block" in capsys.readouterr().out
