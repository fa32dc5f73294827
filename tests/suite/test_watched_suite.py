"""`dpverify audit` over hostile subjects: nothing is lost, nothing looks clean, an interruption costs nothing."""

import errno
import json
import os
import random
import select
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from signals import heed_signals

from dpverify import audit as run_audit
from dpverify import Pair, PureDP
from dpverify.cli import main
from dpverify.execution.journal import Journal
from mechanisms.releases.randomised_response import RandomisedResponse

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
HEAD = """
    import os, sys, time, ctypes
    from dpverify import Pair, PureDP, Subject

    class Answer:  # randomised response with an exact score: small, fast, and 1-DP where keep <= .731
        def __init__(self, keep=0.7):
            self.keep = keep

        def release(self, data, *, rng, size):
            return (rng.random(size) < self.keep) == bool(data)

        def log_ratio(self, outputs, pair):
            import numpy as np
            ratio = np.log(self.keep / (1 - self.keep))
            return np.where(outputs == bool(pair.first), ratio, -ratio)

    class Bad(Answer):
        def __init__(self, does):
            super().__init__()
            self.does = does

        def release(self, data, *, rng, size):
            return self.does()

    def subject(name, target, claim=1.0):
        return Subject(name=name, target=target, claim=PureDP(claim), pairs=(Pair(0, 1),), trials=400)
"""
BAD = """
    def crash():
        ctypes.string_at(0)

    def hang():
        while True:
            time.sleep(1000)

    def leave():
        os._exit(0)

    def leak():
        held = []
        while True:
            held.append(bytearray(10**7))

    def fail():
        raise ConnectionError("no data base here")

    bad = {"crash": crash, "hang": hang, "leave": leave, "leak": leak, "fail": fail}
    subjects = [subject(f"s{index:03}", Answer()) for index in range(35)]
    for place, (name, does) in zip((0, 10, 20, 30, 39), bad.items()):
        subjects.insert(place, subject(name, Bad(does)))
"""
FAILED = {"hostile/crash", "hostile/hang", "hostile/leave", "hostile/leak", "hostile/fail"}
KINDS = {"hostile/crash": "signal", "hostile/hang": "timeout", "hostile/leave": "exit"}
FORMATS = ("json", "html", "markdown", "junit", "sarif")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A function that writes an audit file; the current folder is its project's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # as for runs in processes of their own: they are compared

    def write(stem, *parts):
        folder = tmp_path / "checks"
        folder.mkdir(exist_ok=True)
        text = "".join(textwrap.dedent(part) for part in parts)
        (folder / f"audit_{stem}.py").write_text(text, encoding="utf-8")
        return tmp_path

    return write


COMMAND = ["audit", "checks", "--significance", "0.5", "--no-tape"]  # traces under supervision: see test_taped


def audit(*arguments):
    return main.run([*COMMAND, *map(str, arguments)])


def test_35_of_40_are_judged_and_5_failures_are_named_in_every_face(project, capsys, monkeypatch):
    project("hostile", HEAD, BAD)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    written = [f"--{form}=out.{form}" for form in FORMATS]
    # a time limit that is long beside a subject of milliseconds: only the one that hangs may meet it
    assert audit("--jobs", 2, "--timeout", 10, "--memory", 400, *written) == 3
    shown = capsys.readouterr().out
    result = json.loads(Path("out.json").read_text())
    failures = {each["subject"]: each for each in result["failures"]}
    assert len(result["records"]) == 35
    assert len(result["asked"]) == 40
    assert set(failures) == FAILED
    assert {name: failures[name]["kind"] for name in KINDS} == KINDS
    assert failures["hostile/crash"]["file"] == "checks/audit_hostile.py"
    assert "SIGSEGV" in failures["hostile/crash"]["error"]
    assert "no data base here" in failures["hostile/fail"]["error"] + failures["hostile/fail"]["traceback"]
    for name in FAILED:
        assert f"FAILED {name}: " in shown
        assert f"title={name}::{name}: no verdict." in shown  # an annotation
        assert name in Path("out.html").read_text()
        assert f"- {name}: " in Path("out.markdown").read_text()
    for form in ("html", "markdown"):
        assert "5 of 40 could not be judged" in Path(f"out.{form}").read_text()
    (suite,) = ElementTree.parse("out.junit").getroot()
    assert (suite.get("tests"), suite.get("errors"), suite.get("failures")) == ("40", "5", "0")
    assert {case.get("name") for case in suite.findall("testcase") if case.find("error") is not None} == FAILED
    (run,) = json.loads(Path("out.sarif").read_text())["runs"]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["exitCode"] == 3
    notes = invocation["toolExecutionNotifications"]
    assert {note["message"]["text"].partition(":")[0] for note in notes} == FAILED
    assert all(note["locations"] for note in notes)
    assert main.run(["report", "out.json", "-q"]) == 3


@pytest.mark.parametrize("ends", ["os._exit(0)", "sys.exit(0)"])
def test_a_file_that_ends_the_process_when_it_is_loaded_is_a_usage_error(project, capsys, ends):
    project("loads", HEAD, f"{ends}\n")
    Path("old.json").write_text('{"an": "old report"}')
    assert audit("--json", "old.json") == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "audit_loads.py" in told
    assert "cannot be loaded" in told
    assert main.run(["report", "old.json", "-q"]) == 3


def test_a_list_that_differs_from_load_to_load_is_a_failure(project):
    name = "'child-%d' % os.getpid()"  # each subject loads the file anew
    project("differs", HEAD, f"subjects = [subject({name}, Answer())]\n")
    assert audit("--json", "out.json", "--jobs", 1) == 3
    (failure,) = json.loads(Path("out.json").read_text())["failures"]
    assert "does not declare it any more" in failure["error"]


def test_one_subject_alone_spreads_its_blocks_and_a_dead_worker_is_its_failure(project):
    slow = """
    class Slow(Answer):
        trials_per_block = 100

        def release(self, data, *, rng, size):
            if os.getsid(0) != os.getpid():  # in a worker of the child's, not in the child
                os._exit(0)
            time.sleep(0.02)  # slow enough that workers are used
            return super().release(data, rng=rng, size=size)

    subjects = [Subject(name="blocks", target=Slow(), claim=PureDP(1.0), pairs=(Pair(0, 1),), trials=40_000)]
    """
    project("alone", HEAD, slow)
    assert audit("--json", "out.json", "--jobs", 2) == 3
    (failure,) = json.loads(Path("out.json").read_text())["failures"]
    assert (failure["subject"], failure["kind"]) == ("alone/blocks", "cluster")


SLOWER = """
    class Slower(Answer):
        def release(self, data, *, rng, size):
            time.sleep(0.004)  # long enough to be interrupted; what is tested does not depend on it
            return super().release(data, rng=rng, size=size)

    subjects = [subject(f"s{index:02}", Slower()) for index in range(12)]
"""


def timeless(file):
    result = json.loads(Path(file).read_text())
    for record in result["records"]:
        del record["seconds"]
    return result


def start(*arguments):
    command = [sys.executable, "-m", "dpverify", *COMMAND, *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=heed_signals)


def lines_of_the_journal():
    lines = [line for path in Path(".dpverify").glob("*.jsonl") for line in path.read_bytes().splitlines(True)]
    return sum(line.endswith(b"\n") for line in lines)


def until(process, count):
    """Waits until so many lines are there, or the run has ended."""
    limit = time.monotonic() + 300
    while lines_of_the_journal() < count and process.poll() is None and time.monotonic() < limit:
        select.select([], [], [], 0.005)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The result of a run of SLOWER that nobody interrupts, in one process and one worker."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("checks").mkdir()
        Path("checks/audit_long.py").write_text(textwrap.dedent(HEAD) + textwrap.dedent(SLOWER), encoding="utf-8")
        assert audit("--json", "whole.json", "--jobs", 1) == 0
        return timeless("whole.json")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])  # SIGINT: the storm below
def test_an_interrupted_run_says_so_and_goes_on_where_it_was(project, undisturbed, name):
    project("long", HEAD, SLOWER)
    number = getattr(signal, name)
    at = random.Random(name).randrange(2, 11)  # a moment of each signal's own, the same in every run
    options = ["--json", "out.json", "--junit", "out.xml", "--jobs", 2]
    Path("out.json").write_text('{"an": "old report"}')
    process = start(*options)
    until(process, at)
    process.send_signal(number)
    _, told = process.communicate()
    if name == "SIGKILL":
        assert process.returncode == -number
    else:
        assert process.returncode == 128 + number
        assert told.startswith(f"dpverify: interrupted by {name}, ")
        assert told.count("\n") == 1
        assert "--resume" in told
    early = json.loads(Path("out.json").read_text())
    assert early["interrupted"]
    assert len(early["asked"]) == 12
    assert len(early["records"]) < 12
    assert main.run(["report", "out.json", "-q"]) == 3
    assert "interrupted" in Path("out.xml").read_text()
    kept = lines_of_the_journal()
    assert audit("--resume", *options) == 0
    assert lines_of_the_journal() == 12 > kept  # none was run twice
    assert timeless("out.json") == undisturbed


def test_a_storm_of_signals_ends_the_run_in_one_line_that_says_how_to_go_on(project, undisturbed):
    project("long", HEAD, SLOWER)
    options = ["--json", "out.json", "--jobs", 2]
    process = start(*options)
    until(process, 5)
    for _ in range(12):
        process.send_signal(signal.SIGINT)
        time.sleep(0.02)
    _, told = process.communicate()
    assert process.returncode == 130
    assert (told.count("\n"), told.count("--resume")) == (1, 1)
    assert "interrupted" in json.loads(Path("out.json").read_text())["interrupted"]
    assert audit("--resume", *options) == 0
    assert timeless("out.json") == undisturbed


def test_what_was_made_from_something_else_is_run_again(project):
    folder = project("long", HEAD, 'subjects = [subject(f"s{index}", Answer()) for index in range(3)]\n')
    project("other", HEAD, 'subjects = [subject("alone", Answer())]\n')

    def ran(*options):
        before = lines_of_the_journal()
        assert audit("--resume", *options) == 0
        return lines_of_the_journal() - before

    assert ran() == 4
    assert ran("--jobs", 1) == 0  # what no record depends on
    assert ran("--trials", 300) == 4
    assert ran() == 4
    file = folder / "checks" / "audit_long.py"
    file.write_text(file.read_text().replace("keep=0.7", "keep=0.72"))
    assert ran() == 3  # the subjects of that file
    file.write_text(file.read_text().replace("range(3)", "range(4)"))
    assert ran() == 5  # all: their shares of the significance are others


def test_where_nothing_was_done_yet_a_resumed_run_starts(project, capsys):
    """Of this selection: what another one left in the folder is neither taken nor lost. A retry is no usage error."""
    project("long", HEAD, SLOWER)
    assert audit("-k", "s03") == 0
    before = {path: path.read_bytes() for path in Path(".dpverify").glob("*.jsonl")}
    capsys.readouterr()
    assert audit("-k", "s03 or nothing", "--resume", "--json", "out.json") == 0
    assert capsys.readouterr().err.count("starts from the beginning") == 1
    assert len(json.loads(Path("out.json").read_text())["records"]) == 1
    assert all(path.read_bytes() == text for path, text in before.items())
    assert audit("-k", "s03 or nothing", "--resume") == 0
    assert "beginning" not in capsys.readouterr().err
    (path,) = set(Path(".dpverify").glob("*.jsonl")) - set(before)
    path.write_bytes(b"")  # it was killed before its first line
    assert audit("-k", "s03 or nothing", "--resume") == 0
    assert "starts from the beginning" in capsys.readouterr().err


def test_a_journal_that_cannot_be_written_costs_the_resumption_and_says_so(project, capsys, monkeypatch):
    def full(self, key, value):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Journal, "add", full)
    project("fine", HEAD, "subjects = [subject('a', Answer()), subject('b', Answer())]\n")
    assert audit("--json", "out.json") == 0
    assert capsys.readouterr().err.count("the journal is given up, no --resume (No space left on device)") == 1


def test_outputs_are_written_whole_or_not_at_all(project, capsys):
    project("fine", HEAD, "subjects = [subject('a', Answer())]\n")
    Path("sub").mkdir()
    Path("real.json").write_text("old")
    Path("real.json").chmod(0o640)
    Path("link.json").symlink_to("real.json")
    assert audit("--json", "link.json", "--html", "sub/new.html") == 0
    assert Path("link.json").is_symlink()
    assert Path("real.json").stat().st_mode & 0o777 == 0o640
    assert json.loads(Path("real.json").read_text())["asked"] == ["fine/a"]
    assert sorted(path.name for path in Path("sub").iterdir()) == ["new.html"]
    assert audit("--json", "/dev/full") == 3  # judged, as expected, and not written
    assert "could not be written" in capsys.readouterr().err
    assert main.run(["audit", "nowhere", "--html", "never.html", "--trials", "0"]) == 2
    assert not Path("never.html").exists()


@pytest.fixture
def cluster(monkeypatch):
    """Two worker processes of dask."""
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what these libraries warn about is theirs
        import dask
        from distributed import Client, LocalCluster

        with (
            dask.config.set({"distributed.worker.daemon": False}),
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as made,
            Client(made),
        ):
            yield


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_suite_and_a_large_audit_on_a_dask_cluster_give_the_same_records(project, cluster):
    bad = """
    subjects = [subject("a", Answer()), subject("crash", Bad(lambda: ctypes.string_at(0))), subject("b", Answer())]
    """
    project("cluster", HEAD, bad)
    assert audit("--backend", "dask", "--jobs", 2, "--json", "there.json") == 3
    assert audit("--jobs", 2, "--json", "here.json") == 3
    there, here = timeless("there.json"), timeless("here.json")
    assert there["records"] == here["records"]
    assert [each["subject"] for each in there["records"]] == ["cluster/a", "cluster/b"]
    assert {each["subject"]: each["kind"] for each in there["failures"]} == {"cluster/crash": "signal"}
    asked = {"claim": PureDP(1.0), "pair": Pair(0, 1), "trials": 400_000, "seed": 5, "score": "histogram"}
    one, many = (
        run_audit(RandomisedResponse(eps=1.0), **asked, **more) for more in ({}, {"jobs": 2, "backend": "dask"})
    )
    assert replace(one, seconds=0.0) == replace(many, seconds=0.0)


@pytest.mark.parametrize("asked", ["checks", "checks/audit_none.py"])
def test_a_file_without_anything_to_audit_is_never_0(project, capsys, asked):
    """Also beside a file that is fine: a list that came out empty is what somebody wanted to be audited."""
    project("fine", HEAD, "subjects = [subject('a', Answer())]\n")
    project("none", HEAD, "subjects = [subject(name, Answer()) for name in ()]\n")
    assert main.run(["audit", asked, "--json", "out.json"]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "checks/audit_none.py: `subjects` is empty and there are no `promises`" in told
    assert main.run(["audit", asked, "--list"]) == 2
    assert main.run(["report", "out.json", "-q"]) == 3
