"""README and tutorials are executed: files are written, commands run, what they print is compared.

A block ```python file=NAME is saved, ```python is run, ```console holds `$ command` lines (`# exit N` where it
is not 0), each followed by texts that its output must contain. `pip` lines are not run.
"""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from algorithms.experiments import compare_command
from dpverify.cli import main

ROOT = Path(__file__).parents[2]
RUN = ("index.md", "certify.md", "ci.md", "without_a_ledger.md", "instruments.md", "libraries.md", "training.md")
PAGES = [ROOT / "docs" / name for name in RUN]
DOCUMENTS = [ROOT / "README.md", *PAGES, *sorted((ROOT / "docs/tutorials").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty folder, with the search path as before afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "path_importer_cache", {})  # "." means another folder for every document
    return tmp_path


def _run(command: str, capsys, folder: Path) -> tuple[int, str]:
    program, *arguments = shlex.split(command)
    if program == "dpverify":
        code = main.run(arguments)
        out, err = capsys.readouterr()
        return code, out + err
    if arguments[:3] == ["-m", "algorithms.experiments", "compare"]:
        code = compare_command.run_compare(arguments[3:])
        out, err = capsys.readouterr()
        return code, out + err
    assert program == "pytest"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    plugins = ["-p", "dpverify.pytest_plugin", "-p", "xdist"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, *arguments],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def _check_console(text: str, capsys, folder: Path) -> int:
    ran = 0
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, *expected = part.strip().splitlines()
        command, _, exit_word = line.partition("  # exit ")
        if "pip install" in command:
            continue
        code, said = _run(command, capsys, folder)
        assert code == int(exit_word or 0), said
        flat = " ".join(said.split())
        for each in expected:
            assert " ".join(each.split()) in flat, f"{each!r} not in:\n{said}"
        ran += 1
    return ran


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_document_does_what_it_says(document, place, capsys):
    ran = 0
    for language, name, text in BLOCK.findall(document.read_text(encoding="utf-8")):
        if name:
            (place / name).parent.mkdir(exist_ok=True)
            (place / name).write_text(text, encoding="utf-8")
        elif language == "python":
            exec(compile(text, str(document), "exec"), {"__name__": "document"})
            ran += 1
            capsys.readouterr()
        elif language == "console":
            ran += _check_console(text, capsys, place)
    assert ran >= 2


def test_links_of_the_readme_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / target).exists(), target


def test_the_notebook_runs_and_shows_what_a_notebook_shows():
    """Each cell in order; the value of its last line is what is shown."""
    names, shown = {"__name__": "__main__"}, []
    for cell in json.loads((ROOT / "examples/first_audit.ipynb").read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec"), names)
        if last is not None:
            shown.append(eval(compile(ast.Expression(last.value), "cell", "eval"), names)._repr_html_())
    record, right, wrong = shown
    assert record.startswith("<b>OPEN</b> Histogram: pure:1 (replace-one)")
    assert re.search(r"<code>eps in \[0\.\d+, \?\]</code>, claimed 1; 20,000 trials, confidence 0\.95", record)
    assert right.startswith("<pre>OPEN        Histogram is neither proved nor refuted")
    assert wrong.startswith("<pre>REFUTED     Half is not pure:1")
