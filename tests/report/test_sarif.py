"""SARIF and annotations point at the claim."""

import json
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from in_process import load_folder, run_suite

from dpverify.auditing.statuses import Verdict
from dpverify.cli import main
from dpverify.report import sarif
from dpverify.suite.result import Settings

AUDIT = """
    from cachelib.noise import noisy

    from dpverify import Pair, PureDP, Subject

    subjects = [
        Subject(
            name="fine",
            target=noisy,
            claim=PureDP(3.0),
            pairs=(Pair(0, 1),),
            trials=2000,
        ),
        Subject(name="false", target=noisy, claim=PureDP(0.1), pairs=(Pair(0, 1),), trials=2000),
    ]
"""
NOISE = """
    from cachelib.scale import KEEP

    def noisy(data, *, rng, size):
        return (rng.random(size) < KEEP) == data
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project of three files; call to start as a fresh process would."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name, text in {
        "audits_here/audit_cached.py": AUDIT,
        "cachelib/__init__.py": "",
        "cachelib/noise.py": NOISE,
        "cachelib/scale.py": "KEEP = 0.75",
        "cachelib/unused.py": "",
    }.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(textwrap.dedent(text), encoding="utf-8")

    def fresh():
        for name in [name for name in sys.modules if name.split(".")[0] in ("cachelib", "audit_cached")]:
            del sys.modules[name]
        return load_folder(Path("audits_here"))

    return fresh


def test_sarif_points_at_the_line_of_the_claim(project, capsys, monkeypatch):
    project()
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert main.run(["audit", "audits_here", "--sarif", "out.sarif"]) == 1
    (finding,) = json.loads(Path("out.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
    place = finding["locations"][0]["physicalLocation"]
    assert finding["ruleId"] == "claim-refuted"
    assert place["artifactLocation"]["uri"] == "audits_here/audit_cached.py"
    line = place["region"]["startLine"]
    assert 'name="false"' in Path("audits_here/audit_cached.py").read_text(encoding="utf-8").splitlines()[line - 1]
    said = [each for each in capsys.readouterr().out.splitlines() if each.startswith("::error")]
    assert len(said) == 1
    assert said[0].startswith(
        f"::error file=audits_here/audit_cached.py,line={line},title=cached/false::cached/false: "
    )


def test_every_kind_of_surprise_has_its_rule(project):
    record = run_suite(project().subjects[:1], Settings(seed=1)).records[0]
    assert sarif.rule(replace(record, verdict=Verdict.INCONCLUSIVE)) == "inconclusive"
    assert sarif.rule(replace(record, verdict=Verdict.REFUTED)) == "claim-refuted"
    assert sarif.rule(replace(record, expected="REFUTED", planted=True)) == "bug-not-caught"
    assert sarif.rule(replace(record, expected_accounted=True)) == "not-accounted"
