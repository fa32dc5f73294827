"""`pip install dpverify` is light: few packages, and certify works with nothing else."""

import os
import re
import subprocess
import sys
import textwrap
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MOST = 32  # packages, dpverify itself included
NOISY = """
    import numpy as np
    from dpverify import Pair, Records

    class Histogram:
        pairs = [Pair(Records([0, 1, 2]), Records([3, 1, 2]), name="one user in another cell")]

        def release(self, data, *, rng, size):
            return np.bincount(data.rows, minlength=4) + rng.laplace(scale=2.0, size=(size, 4))
"""


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def closure(needed):
    """Distributions that installing these brings along here."""
    found, waiting = set(), [Requirement(each) for each in needed]
    while waiting:
        requirement = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        name = normal(requirement.name)
        if name in found:
            continue
        found.add(name)
        try:
            inside = requires(name) or []
        except PackageNotFoundError:  # of another platform
            inside = []
        for each in map(Requirement, inside):
            extras = requirement.extras or {""}
            if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in extras):
                each.marker = None
                waiting.append(each)
    return found


def test_few_packages_are_installed():
    found = closure(PROJECT["dependencies"])
    assert {"numpy", "scipy", "pygments", "markupsafe"} <= found
    assert len(found) + 1 <= MOST, sorted(found)


def test_what_is_not_there_is_not_missed(tmp_path):
    """The README's example, with every package of an extra out of reach, in the command and in its children."""
    light = {normal(name) for name in closure(PROJECT["dependencies"])}
    extras = {
        "matplotlib",
        "cvxpy",
        "dp_accounting",
        "dask",
        "distributed",
        "ray",
        "mpmath",
        "opendp",
        "diffprivlib",
    }
    assert not {normal(name) for name in extras} & light
    block = f"import sys\nsys.modules.update(dict.fromkeys({sorted(extras)!r}))\n"
    (tmp_path / "sitecustomize.py").write_text(block, encoding="utf-8")
    (tmp_path / "noisy.py").write_text(textwrap.dedent(NOISY), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    command = [
        "certify",
        "--allow-open",
        "noisy:Histogram",
        "--claim",
        "pure:1.0",
        "--trials",
        "400",
        "--html",
        "h.html",
        "--json",
        "h.json",
    ]
    for words in (command, ["check", "h.json"], ["check", "h.json", "--rerun", "2"], ["report", "h.json"]):
        done = subprocess.run(
            [sys.executable, "-m", "dpverify", *words], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == (3 if words[0] == "report" else 0), (words, done.stderr)  # it is OPEN
    assert (tmp_path / "h.html").stat().st_size > 10_000


def test_every_file_that_a_release_needs_is_there():
    assert "Version 2.0, January 2004" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert PROJECT["license"] == "Apache-2.0"
    assert {"Homepage", "Issues"} <= set(PROJECT["urls"])
    assert PROJECT["authors"] == [{"name": "The dpverify developers"}]
    for name in ("CITATION.cff", "SECURITY.md", "action.yml"):
        assert (ROOT / name).stat().st_size > 300
