"""The wheel holds the toolkit alone: a user's own `audits`, `mechanisms`, `algorithms` are never shadowed by ours."""

import json
import os
import subprocess
import sys
import textwrap
from importlib.metadata import distribution
from pathlib import Path

import pytest

from dpverify.errors import DiscoveryError
from dpverify.suite.discovery import load_audits

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
PROJECT = {
    "audits/common.py": "EPS = 2.0",  # room: at a tight claim one seed in twenty refutes
    "mechanisms/noisy.py": """
        def release(data, *, rng, size):
            return data + rng.laplace(0.0, 1.0, size)
    """,
    "audits/audit_mine.py": """
        from audits.common import EPS
        from dpverify import Pair, PureDP, Subject
        from mechanisms.noisy import release

        subjects = [Subject(name="mine", target=release, claim=PureDP(EPS), pairs=(Pair(0, 1),), trials=400)]
    """,
}


def test_what_is_installed_is_dpverify_alone():
    """In an editable checkout this is what stands in for the package: a finder and the metadata."""
    files = distribution("dpverify").files or ()
    first = {file.parts[0] for file in files if file.parts[0] not in ("..", "__pycache__")}
    assert first
    assert not {"audits", "mechanisms", "algorithms", "benchmarks", "tests"} & first


@pytest.mark.parametrize(("shadowed", "code"), [(False, 0), (True, 2)])
def test_a_project_with_folders_of_our_names_works_beside_the_wheel(tmp_path, shadowed, code):
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(text))
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "dpverify").symlink_to(ROOT / "dpverify")  # as a wheel of only dpverify would lie there
    environment = {**os.environ, "PYTHONPATH": str(ROOT if shadowed else tmp_path / "site")}
    command = [sys.executable, "-m", "dpverify", "audit", "audits", "--jobs", "1", "--json", "out.json"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    if shadowed:  # what this test would see if the other folders were installed, too
        said = " ".join(done.stderr.split())
        assert f"'audits' is {ROOT / 'audits' / '__init__.py'}, not {Path('audits')}: rename or remove one" in said
    else:
        assert [each["subject"] for each in json.loads((tmp_path / "out.json").read_text())["records"]] == ["mine/mine"]


def test_a_module_that_another_project_has_loaded_is_refused(tmp_path, monkeypatch):
    """Both projects have a `measured`; the second one's audit may not run the first one's code."""
    for project in ("one", "two"):
        (tmp_path / project / "checks").mkdir(parents=True)
        (tmp_path / project / "checks" / "__init__.py").touch()
        (tmp_path / project / "measured.py").write_text(f"SOURCE = {project!r}")
        text = "import measured\nsubjects = []\npromises = []"
        (tmp_path / project / "checks" / f"audit_{project}.py").write_text(text)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "modules", {**sys.modules})
    monkeypatch.chdir(tmp_path)
    sys.modules.pop("checks", None)
    with pytest.raises(DiscoveryError, match="nothing would be audited"):
        load_audits(tmp_path / "one" / "checks" / "audit_one.py")
    sys.modules.pop("checks")
    with pytest.raises(DiscoveryError, match=r"'measured' is .*one.measured.py, not two.measured.py"):
        load_audits(tmp_path / "two" / "checks" / "audit_two.py")
