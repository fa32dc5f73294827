"""Where reports go: each to a place of its own that is no code, whole or not at all, and never waiting for ever."""

import os
import subprocess
import sys
import threading

import pytest

from dpverify.errors import RunError, UsageError
from dpverify.report import files, html_page
from dpverify.report.files import Outputs
from dpverify.suite.result import SuiteResult

NOTHING = SuiteResult(records=(), failures=(), seed=1, family_wise_error=0.05, environment={})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old").write_text("old")
    (tmp_path / "link").symlink_to("old")
    (tmp_path / "dangling").symlink_to("new")
    os.link("old", "hard")
    (tmp_path / "sub").mkdir()
    (tmp_path / "audit_x.py").write_text("code")
    (tmp_path / "to_code.html").symlink_to("audit_x.py")
    (tmp_path / "circle").symlink_to("circle")
    return tmp_path


@pytest.mark.parametrize(
    ("first", "second"),
    [("x", "x"), ("x", "./x"), ("x", "sub/../x"), ("old", "link"), ("new", "dangling"), ("old", "hard"), ("x", None)],
)
def test_two_reports_cannot_have_one_place(folder, first, second):
    with pytest.raises(UsageError, match="a place of its own") as caught:
        files.check_writable(Outputs(json=first, junit=second or str(folder / first)))
    assert "\n" not in str(caught.value)
    assert (folder / "old").read_text() == "old"


@pytest.mark.parametrize(
    "name",
    ["audit_x.py", "new.py", "./audit_x.py", "to_code.html", "n" * 300, "circle", "nul\0", "sub", "audit_x.py/o", ""],
)
def test_places_that_hold_code_or_cannot_be_written_are_refused_in_one_line(folder, name):
    with pytest.raises(UsageError) as caught:
        files.check_writable(Outputs(html=name))
    assert "\n" not in str(caught.value)
    assert (folder / "audit_x.py").read_text() == "code"


def test_a_pipe_that_nobody_reads_is_a_problem_and_no_wait(folder):
    os.mkfifo("pipe")
    with pytest.raises(RunError, match="--json pipe"):
        files.write_reports(NOTHING, Outputs(json="pipe", junit="o.xml"))
    assert (folder / "o.xml").read_text().endswith(">\n")


def test_a_pipe_takes_one_report_and_no_early_one(folder):
    os.mkfifo("pipe")
    files.write_reports(NOTHING, Outputs(json="pipe"), early=True)
    read = []
    reader = threading.Thread(target=lambda: read.append((folder / "pipe").read_text()))
    reader.start()
    while not read and reader.is_alive():
        try:
            files.write_reports(NOTHING, Outputs(json="pipe"))
        except RunError:  # not opened yet
            continue
        break
    reader.join()
    assert read[0].count('"schema"') == 1


def test_a_report_that_cannot_be_made_takes_no_other_along(folder, monkeypatch):
    def broken(result):
        raise KeyError("a bug of ours")

    monkeypatch.setattr(html_page, "render", broken)
    with pytest.raises(RunError, match=r"--html o\.html: could not be made"):
        files.write_reports(NOTHING, Outputs(json="o.json", html="o.html", sarif="o.sarif"))
    assert {"o.json", "o.sarif"} <= set(os.listdir())


@pytest.mark.parametrize("folder_takes_files", [True, False])
def test_a_limit_on_the_size_of_files_leaves_the_old_report(tmp_path, folder_takes_files):
    code = f"""
import errno, resource, sys
from pathlib import Path
from dpverify.report import files

def none(place, text):
    raise OSError(errno.EACCES, "no new file here")

if not {folder_takes_files}:
    files._swap = none
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    files.replace(Path("old.json"), "new" * 1000)
except OSError as error:
    sys.exit(0 if error.errno == errno.EFBIG else 9)
sys.exit(8)
"""
    (tmp_path / "old.json").write_text("the old report")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "old.json").read_text() == "the old report"
    assert [each.name for each in tmp_path.iterdir()] == ["old.json"]
