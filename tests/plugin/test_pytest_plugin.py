"""The pytest plugin, run by pytest inside pytest."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
AUDITS = """
    from dpverify import Pair, PureDP, planted, Subject
    from dpverify.promises import Outcomes, Promise

    class Noise:
        def __init__(self, scale):
            self.scale = scale

        def release(self, data, *, rng, size):
            return data + rng.laplace(scale=self.scale, size=size)

        def log_ratio(self, outputs, pair):
            return (abs(outputs - pair.second) - abs(outputs - pair.first)) / self.scale

    both = (Pair(0.0, 1.0), Pair(1.0, 0.0))
    right = Subject(name="right", target=Noise(1.0), claim=PureDP(1.0), pairs=both, trials=9000)
    subjects = [right, planted(right, "half", Noise(0.5))] + EXTRA

    def draw(*, rng, size):
        return Outcomes(rng.random(size))

    promises = [Promise(name="error", draw=draw, bound=0.95, failure_probability=0.1, trials=2000)]
"""


@pytest.fixture
def project(pytester, monkeypatch):
    """A project whose pytest loads the plugin."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name in ("CI", "BUILD_NUMBER"):  # where set, pytest repeats every failure in full in its summary
        monkeypatch.delenv(name, raising=False)

    def write(stem: str, extra: str = "[]"):
        folder = pytester.mkdir("checks")
        source = "\n".join(line[4:] for line in AUDITS.replace("EXTRA", extra).splitlines())
        (folder / f"audit_{stem}.py").write_text(source, encoding="utf-8")
        return pytester

    return write


def _run(pytester, *arguments):
    return pytester.runpytest_subprocess("-p", "dpverify.pytest_plugin", *arguments)


def test_what_is_not_as_expected_fails_with_a_reason_and_the_others_go_on(project):
    """A claim that falls, a bug that is none, a target that raises and one that ends its process."""
    extra = (
        "[Subject(name='false', target=Noise(0.2), claim=PureDP(1.0), pairs=(Pair(0.0, 1.0),), trials=9000),"
        " planted(right, 'none', Noise(1.0)),"
        " Subject(name='broken', target=lambda data, *, rng, size: 1 / 0, claim=PureDP(1.0), pairs=(Pair(0, 1),)),"
        " Subject(name='crash', target=lambda data, *, rng, size: __import__('os')._exit(0), claim=PureDP(1.0),"
        " pairs=both)]"
    )
    pytester = project("plug_bad", extra)
    (pytester.path / "r.json").write_text("an old report")
    done = _run(pytester, "checks", "-v", "--dp-json", "r.json")
    done.assert_outcomes(passed=3, failed=4)
    done.stdout.fnmatch_lines(
        [
            "dpverify: seed 20260, trials as each subject says, family-wise error 0.05",
            "checks/audit_plug_bad.py::right PASSED*",
            "checks/audit_plug_bad.py::right!half PASSED*",
            "checks/audit_plug_bad.py::error PASSED*",
            "plug_bad/false: REFUTED, expected NOT_REFUTED",
            "The claim eps = 1 is false: transcripts of the code show eps >= 5; the trials certify eps >= *",
            "again, alone: dpverify audit checks/audit_plug_bad.py -k plug_bad/false --seed 20260*",
            "plug_bad/right!none: NOT_REFUTED, expected REFUTED",
            "*release raised ZeroDivisionError on both datasets*",
            "plug_bad/crash: no verdict. it ended with exit code 0 and gave no answer",
        ]
    )
    shown = done.stdout.str()
    assert "audit_plug_bad.py" in shown.partition("Traceback")[2]  # the caller's code, and none of ours
    assert "failing.py" not in shown
    assert shown.count("Traceback") == 1
    failures = json.loads((pytester.path / "r.json").read_text())["failures"]
    assert [each["kind"] for each in failures][-1] == "exit"


def test_verdicts_do_not_depend_on_the_runner(project):
    """Plain pytest, two xdist workers and the command line write the same records, also of files called alike."""
    pytester = project("plug_same")
    deep = pytester.path / "checks" / "deep"
    deep.mkdir()
    file = pytester.path / "checks" / "audit_plug_same.py"
    file.write_text(file.read_text().replace("both = (Pair(0.0, 1.0), Pair(1.0, 0.0))", "both = (Pair(0.0, 1.0),)"))
    (deep / "audit_plug_same.py").write_bytes(file.read_bytes())
    options = ["--dp-seed", "5", "--dp-trials", "3000"]
    _run(pytester, "checks", "--dp-json", "one.json", *options).assert_outcomes(passed=6)
    _run(pytester, "-p", "xdist", "-n", "2", "checks", "--dp-json", "two.json", *options).assert_outcomes(passed=6)
    command = [sys.executable, "-m", "dpverify.cli.main", "audit", "checks", "--json", "cli.json", "--seed", "5"]
    subprocess.run([*command, "--trials", "3000", "-q"], check=True, cwd=pytester.path)
    results = [json.loads((pytester.path / name).read_text()) for name in ("one.json", "two.json", "cli.json")]
    for result in results:
        for record in result["records"]:
            del record["seconds"]
    assert results[0] == results[1] == results[2]
    files = ("checks:plug_same", "deep:plug_same")
    assert {each["subject"] for each in results[0]["records"]} == {
        f"{file}/{name}" for file in files for name in ("right", "right!half")
    }
    assert len(results[0]["promises"]) == 2


def test_deselection_comes_before_the_significance_is_shared_and_what_was_not_reached_is_missing(project):
    false = "Subject(name='{}', target=Noise(0.2), claim=PureDP(1.0), pairs=(Pair(0.0, 1.0),), trials=9000)"
    pytester = project("plug_select", f"[{false.format('false')}, {false.format('late')}]")
    done = _run(pytester, "checks", "-x", "-k", "half or false or late", "--dp-json", "r.json")
    done.assert_outcomes(passed=1, failed=1, deselected=2)
    result = json.loads((pytester.path / "r.json").read_text())
    assert len(result["asked"]) == 3
    # two pairs of the planted bug, one of each other
    assert [record["significance"] for record in result["records"]] == [0.05 / 4] * 2


def test_foreign_audit_files_are_left_alone_and_numpy_is_not_loaded(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(
        audit_log="raise SystemExit('never imported')",
        test_light="def test_light():\n import sys\n"
        " assert 'dpverify.pytest_plugin' in sys.modules\n"
        " assert not {'numpy', 'scipy', 'typer', 'rich', 'jinja2'} & set(sys.modules)\n",
    )
    done = _run(pytester)
    done.assert_outcomes(passed=1)
    assert "dpverify:" not in done.stdout.str()


def test_broken_audit_file_is_a_collection_error_with_its_line(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(audit_plug_nan="from dpverify import PureDP\nPureDP(float('nan'))")
    done = _run(pytester)
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["audit_plug_nan.py:2: cannot be loaded (ParameterError: eps = nan: must be*"])


def test_fixture_audits_in_one_line(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(
        """
        import pytest
        from dpverify import Pair, PureDP

        def noise(data, *, rng, size):
            return rng.random(size) < (0.7 if data else 0.3)  # eps = log(7/3) = 0.847

        def test_true(dpaudit):
            record = dpaudit(noise, claim=PureDP(0.9), pair=Pair(0, 1), trials=3000)
            assert 0.5 < record.eps_lower < 0.848

        def test_false(dpaudit):
            dpaudit(noise, claim=PureDP(0.5), pair=Pair(0, 1), trials=3000)

        @pytest.mark.dpaudit(trials=2000, seed=4)
        def test_known_to_be_false(dpaudit):
            record = dpaudit(noise, claim=PureDP(0.5), pair=Pair(0, 1), expect="REFUTED")
            assert (record.trials, record.seed) == (2000, 4)
        """
    )
    done = _run(pytester, "--strict-markers")
    done.assert_outcomes(passed=2, failed=1)
    done.stdout.fnmatch_lines(["REFUTED, expected NOT_REFUTED. The claim eps = 0.5 is false*"])


def test_place_that_cannot_be_written_is_refused_before_the_run(project):
    done = _run(project("plug_out"), "checks", "--dp-html", ".")
    assert done.ret == 4
    assert "--dp-html .: is a folder" in done.stderr.str()
