"""A project's files never take the place of the standard library, and say so where they hide what is needed."""

import os
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from dpverify.base import search_path

ROOT = Path(__file__).parents[2]
STANDARD = [each for each in sys.path if search_path._is_standard(each)]
HIDEABLE = sorted(  # all of it that is there on this system
    name
    for name in sys.stdlib_module_names
    if name in sys.builtin_module_names or PathFinder.find_spec(name, STANDARD) is not None
)
AUDIT = """
import decimal, random, statistics, queue, wave
from dpverify import Pair, PureDP, Subject

def noisy(data, *, rng, size):
    import colorsys, fractions, secrets, types  # also later
    return (rng.random(size) < 0.6) == data

subjects = [Subject(name="one", target=noisy, claim=PureDP(2.0), pairs=(Pair(0, 1),), trials=400)]
"""


def as_module(folder, *arguments):
    """`python -m dpverify` there: Python puts the current folder first."""
    return started([sys.executable, "-m", "dpverify", *arguments], folder)


def as_command(folder, *arguments):
    """`dpverify` there, the script that installing writes."""
    return started([str(Path(sys.executable).with_name("dpverify")), *arguments], folder)


def started(command, folder):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def imported_by_python_itself():
    """What `python -m` imports before a line of ours runs: hidden there, Python ends before dpverify begins."""
    command = [sys.executable, "-I", "-S", "-c", "import runpy, sys; print(*sys.modules)"]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return {name.partition(".")[0] for name in loaded}


@pytest.fixture
def project(tmp_path):
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "audit_it.py").write_text(AUDIT)
    return tmp_path


@pytest.mark.process
@pytest.mark.parametrize("dpverify", [as_command, as_module])
def test_no_file_of_a_project_hides_a_module_of_the_standard_library(project, dpverify):
    names = set(HIDEABLE) - (imported_by_python_itself() if dpverify is as_module else set())
    assert len(names) > 200
    for name in names:
        for folder in (project, project / "checks"):
            (folder / f"{name}.py").write_text("raise RuntimeError('hidden')\n")
    done = dpverify(project, "audit", "checks", "-q", "--jobs", "1")
    assert (done.returncode, done.stderr) == (0, "")
    # a file that wants its own is told why it does not get it
    (project / "checks" / "audit_it.py").write_text("from random import mine\n" + AUDIT)
    done = dpverify(project, "audit", "checks", "--list")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "audit_it.py:1: cannot be loaded (ImportError" in done.stderr
    assert f"{project}/random.py is not imported, the standard library has this name: rename it" in done.stderr


@pytest.mark.parametrize("name", search_path.NEEDED)
@pytest.mark.parametrize("package", [False, True])
def test_what_hides_a_library_is_named_in_one_line(project, name, package):
    file = project / (f"{name}/__init__.py" if package else f"{name}.py")
    file.parent.mkdir(exist_ok=True)
    file.write_text("")
    done = as_module(project, "audit", "checks", "--list")
    assert (done.returncode, done.stdout) == (3, "")  # never Python's own 1, which means a refuted claim
    assert done.stderr.count("\n") == 1
    assert str(project / name) in done.stderr
    assert "rename it" in done.stderr


def test_only_the_current_folder_is_searched_later(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for here in ("", str(tmp_path)):
        mixed = [here, "/of-PYTHONPATH", *STANDARD, "/site-packages"]
        assert search_path.here_later(mixed) == ["/of-PYTHONPATH", *STANDARD, here, "/site-packages"]
        assert search_path.here_later(search_path.here_later(mixed)) == search_path.here_later(mixed)


def test_a_folder_is_added_once_and_behind_the_standard_library(monkeypatch):
    monkeypatch.setattr(sys, "path", [*STANDARD, "/site-packages"])
    for _ in range(2):
        search_path.add("/project")
    assert sys.path == [*STANDARD, "/project", "/site-packages"]
