"""The certificate of a proof: `dpverify check` computes it again, and no leaf of it can be changed unseen."""

import copy
import hashlib
import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from benchmarks.provable.__main__ import prove_row
from benchmarks.provable.table import ROWS
from dpverify import check as checker
from dpverify.cli import main
from dpverify.proof import prove
from dpverify.proof.derivation import explain
from dpverify.report.json_file import strict

SOURCE = """
import numpy as np

rng = np.random.default_rng()


def mean(values):
    return np.clip(values, 0.0, 100.0).mean() + rng.laplace(scale=100.0 / len(values))


def loud(values):
    return np.clip(values, 0.0, 100.0).mean() + rng.laplace(scale=1.0)


def counts_then_sum(values):
    counts = np.array([(values < 50.0).sum(), (values >= 50.0).sum()]) + rng.laplace(scale=4.0, size=2)
    if counts[0] > counts[1]:
        return counts, np.minimum(values, 50.0).sum() + rng.laplace(scale=100.0)
    return counts, None


def group(values):
    return int(np.argmax(np.histogram(values, bins=[0, 20, 50, 100])[0] + rng.gumbel(scale=2.0, size=3)))
"""
DATA = "vector: real 0..100, rows 5..50"
# what nobody can compute again from the file; the checker says so in lines that hold these words
TAKEN = {
    ("versions",): "versions",
    ("predicted_seconds",): "seconds",
    ("seconds",): "seconds",
    ("seed",): "seed",
    ("again",): "command",
    ("proof", "#", "seconds"): "seconds",
    ("proof", "#", "notes"): "assumes beside the schema",
    ("proof", "#", "pair"): "the pair",
    ("proof", "#", "mend"): "the mend",
}


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("certificates")
    (folder / "own.py").write_text(SOURCE, encoding="utf-8")
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, code in (("mean", 0), ("counts_then_sum", 0), ("group", 0)):
            words = ["certify", f"own.py:{name}", "--claim", "pure:1", "--data", DATA, "--relation", "replace", "-q"]
            assert main.run([*words, "--json", f"{name}.json"]) == code
            found[name] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture
def own(tmp_path: Path) -> Iterator[ModuleType]:
    file = tmp_path / "own_programs.py"
    file.write_text(SOURCE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[file.stem]


def _digested(document: Any) -> Any:
    text = json.dumps(checker.lasting(document), sort_keys=True, separators=(",", ":"))
    return {**document, "digest": f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"}


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    parts: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in parts:
        yield from _leaves(each, (*path, key))
    yield path, value


def _edits(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value * 2 if value else 1.0, value / 2 if value else -1.0, value + 1]
    if isinstance(value, str):
        return [value + "x", "", "pure:0.001", "REFUTED"]
    if isinstance(value, list):
        return [[], value[:-1], [*value, *value[-1:]]] if value else [[1]]
    if isinstance(value, dict):
        return [{}, {**value, "new": 1}, *({k: v for k, v in value.items() if k != name} for name in value)]
    return [0, "x"]


def _put(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    found = copy.deepcopy(document)
    inner = found
    for each in path[:-1]:
        inner = inner[each]
    inner[path[-1]] = value
    return found


def _said(document: Any) -> Any:
    """Everything that a reader is told, which no edit may change unseen."""
    (relation, proof), *_ = document["proof"].items()
    kept = (
        "command",
        "target",
        "claim",
        "relation",
        "verdict",
        "notes",
        "matrix",
        "pairs",
        "findings",
        "repro",
        "code",
    )
    told = [document[name] for name in kept]
    return [*told, relation, *(proof[name] for name in ("holds", "eps", "rho", "mu", "ended", "steps", "paths"))]


def _is_taken(path: tuple[Any, ...], lines: list[str]) -> bool:
    name = tuple("#" if isinstance(each, int) or each == "replace-one" else each for each in path)
    return any(name[: len(known)] == known and any(word in line for line in lines) for known, word in TAKEN.items())


@pytest.mark.parametrize("name", ["mean", "counts_then_sum", "group"])
def test_every_leaf_is_held_or_listed_or_changes_no_word(documents: dict[str, Any], name: str) -> None:
    document = documents[name]
    assert checker.check(document)[0] == []
    unseen, refused = [], 0
    for path, value in _leaves(document):
        if not path or path[0] == "digest":
            continue
        for edit in _edits(value):
            if edit == value and type(edit) is type(value):
                continue
            changed = _digested(_put(document, path, edit))
            wrong, left = checker.check(changed)
            refused += bool(wrong)
            lines = [line for own in left.values() for line in own]
            if not wrong and not _is_taken(path, lines) and _said(changed) != _said(document):
                unseen.append((path, edit))
    assert unseen == []
    assert refused > 300


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda path: path["groups"][0]["events"].pop(), "eps of a path"),
        (lambda path: path["groups"][0]["events"][0].update(scale=[1000.0]), "the loss of a release"),
        (lambda path: path["terms"][0].update(op="guess"), "is not known"),
        (lambda path: path["groups"][0]["cells"][0]["pieces"].pop(), "cells"),
    ],
)
def test_a_derivation_that_was_changed_is_refused(documents: dict[str, Any], change: Any, why: str) -> None:
    document = copy.deepcopy(documents["counts_then_sum"])
    change(document["proof"]["replace-one"]["derivation"]["paths"][0])
    wrong, _ = checker.check(_digested(document))
    assert any(why in each for each in wrong), wrong


def test_a_path_that_is_missing_is_seen(documents: dict[str, Any]) -> None:
    document = copy.deepcopy(documents["counts_then_sum"])
    proof = document["proof"]["replace-one"]
    assert proof["paths"] == 2
    proof["derivation"]["paths"].pop()
    proof["paths"] = 1
    assert any("path" in each for each in checker.check(_digested(document))[0])


def test_a_record_of_another_digest_is_refused(documents: dict[str, Any]) -> None:
    assert any("digest" in each for each in checker.check({**documents["mean"], "seed": 7})[0])


def test_every_proof_of_the_benchmark_is_computed_again() -> None:
    wrong = []
    for row in ROWS[::4]:
        proof = prove_row(row).proof
        if not row.right or proof is None or not proof.holds:
            continue
        found = {
            **{name: getattr(proof, name) for name in ("holds", "eps", "rho", "mu", "paths", "derivation")},
            **{"ended": "", "notes": [], "pair": None, "mend": "", "seconds": 0.0},
            "steps": [str(each) for each in proof.steps],
        }
        try:
            checker.proof({"claim": str(proof.claim)}, str(proof.relation), json.loads(json.dumps(found)), [])
        except checker.Wrong as error:
            wrong.append((row.name, str(error)))
    assert wrong == []


def test_a_certificate_is_proved_again(
    documents: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "mean.json").write_text(strict(documents["mean"]), encoding="utf-8")
    assert main.run(["check", "mean.json", "--rerun", "1"]) == 0
    assert "SAME proof under replace-one" in capsys.readouterr().out
    (tmp_path / "own.py").write_text(SOURCE.replace("100.0 / len", "50.0 / len"), encoding="utf-8")
    assert main.run(["check", "mean.json", "--rerun", "1"]) == 1
    assert "DIFFERS" in capsys.readouterr().out


def test_the_derivation_is_told_a_rule_a_line(own: ModuleType) -> None:
    lines = explain(prove(own.counts_then_sum, data=DATA).derivation)
    assert lines[0].startswith("path 1 of 2, no: eps ")
    assert any("the sum over the rows of minimum(x, 50)" in each for each in lines)
