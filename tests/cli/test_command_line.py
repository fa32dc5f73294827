"""The command line as a user meets it: exit codes, one line for each mistake, a light start."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from dpverify.cli import main

GOOD = """
    from dpverify import Pair, PureDP, Subject

    def noisy(data, *, rng, size):
        return data + rng.laplace(scale=SCALE, size=size)

    subjects = [Subject(name="count", target=noisy, claim=PureDP(1.0), pairs=(Pair(0.0, 1.0),), trials=4000)]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A function that writes an audit file of its own name into a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])

    def write(stem: str, text: str) -> Path:
        file = tmp_path / "checks" / f"audit_{stem}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")
        sys.modules.pop(file.stem, None)
        return file

    return write


def _says(capsys, *arguments) -> tuple[int, str, str]:
    code = main.run([str(each) for each in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_expected_run_is_zero_and_writes_every_file(folder, capsys):
    folder("cli_good", GOOD.replace("SCALE", "1.0"))
    files = [f"--{form}=out/{form}.txt" for form in ("json", "html", "markdown", "junit", "sarif")]
    code, out, err = _says(capsys, "audit", "checks", *files)
    assert (code, err) == (0, "")
    assert "cli_good/count" in out
    assert "\x1b" not in out  # plain where it is no terminal
    assert all(Path("out", f"{form}.txt").stat().st_size > 0 for form in ("json", "html", "markdown", "junit", "sarif"))


PROMISES = """
    import numpy as np
    from dpverify.promises import Outcomes, Promise

    def kept(*, rng, size):
        return Outcomes(rng.random(size))

    promises = [Promise(name="bound", draw=kept, bound=BOUND, failure_probability=0.05, trials=200)]
"""


def test_promises_alone_are_judged_where_only_they_are_asked_for(folder, capsys):
    folder("cli_both", GOOD.replace("SCALE", "0.25") + PROMISES.replace("BOUND", "1.0"))
    code, out, _ = _says(capsys, "audit", "checks", "--promises-only", "--json", "r.json")
    written = json.loads(Path("r.json").read_text(encoding="utf-8"))
    (check,) = written["promises"]
    assert (code, check["verdict"], check["active_share"], written["records"]) == (0, "KEPT", None, [])
    assert 0.9 < check["tightness"] < 1
    assert check["significance"] == 0.05  # nothing is shared with subjects that are not run
    code, out, _ = _says(capsys, "audit", "checks", "--promises-only", "--list")
    assert (code, out.count("\n")) == (0, 1)
    assert _says(capsys, "audit", "checks")[0] == 1  # the subject is false
    folder("cli_both", GOOD.replace("SCALE", "1.0") + PROMISES.replace("BOUND", "0.5"))
    assert _says(capsys, "audit", "checks", "--promises-only")[0] == 1  # BROKEN, and nobody expected it


def test_promises_alone_of_files_without_any_are_no_run(folder, capsys):
    folder("cli_good", GOOD.replace("SCALE", "1.0"))
    for more in ((), ("--list",)):
        code, _, err = _says(capsys, "audit", "checks", "--promises-only", *more)
        assert code == 2
        assert "no promise" in err


def test_report_shows_the_same_and_keeps_the_exit_code(folder, capsys):
    folder("cli_bad", GOOD.replace("SCALE", "0.25"))
    code, out, _ = _says(capsys, "audit", "checks", "--json", "r.json", "--html", "a.html")
    assert code == 1
    assert "expected NOT_REFUTED" in out
    again = _says(capsys, "report", "r.json", "--html", "b.html", "--json", "s.json")
    assert again == (1, out, "")
    assert Path("a.html").read_bytes() == Path("b.html").read_bytes()
    assert Path("r.json").read_bytes() == Path("s.json").read_bytes()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "All certified lower bounds"),
        (
            ["--family", "holm"],
            "Verdicts by Holm's step-down over the suite: any claim is refuted wrongly with probabil",
        ),
        (["--sequential", "--family", "e-bh"], "Verdicts by e-BH over the suite: of the refuted claims an expected"),
    ],
)
def test_the_family_procedure_is_said_and_kept(folder, capsys, options, said):
    folder("cli_family", GOOD.replace("SCALE", "0.25"))
    code, out, _ = _says(capsys, "audit", "checks", "--json", "r.json", *options)
    assert code == 1
    assert said in out
    assert "a second and worker" in out  # throughput
    assert _says(capsys, "report", "r.json") == (1, out, "")


def test_planted_bug_that_is_not_caught_is_one(folder, capsys):
    text = GOOD.replace("SCALE", "1.0") + "\n    from dpverify import planted\n"
    folder("cli_twin", text + "    subjects.append(planted(subjects[0], 'no-bug', noisy))\n")
    code, out, _ = _says(capsys, "audit", "checks")
    assert code == 1
    assert "0 of 1 planted bugs caught" in out


def test_quiet_says_nothing_when_all_is_as_expected(folder, capsys):
    folder("cli_quiet", GOOD.replace("SCALE", "1.0"))
    assert _says(capsys, "audit", "checks", "--quiet") == (0, "", "")


def test_list_runs_nothing(folder, capsys):
    folder("cli_list", GOOD.replace("return", "raise SystemError #"))
    code, out, _ = _says(capsys, "audit", "checks", "--list")
    assert code == 0
    assert out.split("\t")[:2] == ["cli_list/count", "pure:1"]


@pytest.mark.parametrize("option", [["--json", "x.json"], ["--sarif", "x.sarif"], ["--resume"], ["--lf"]])
def test_a_list_does_not_swallow_what_needs_a_run(folder, capsys, option):
    """Exit 0 would say that the report has been written."""
    folder("cli_list_alone", GOOD)
    code, _, error = _says(capsys, "audit", "checks", "--list", *option)
    assert (code, "--list runs nothing" in error) == (2, True)


@pytest.mark.parametrize(
    ("stem", "text", "code", "said"),
    [
        ("nan", GOOD.replace("PureDP(1.0)", "PureDP(float('nan'))"), 2, "audit_nan.py:7: cannot be loaded (Parameter"),
        ("imp", "import no_such_module", 2, "audit_imp.py:1: cannot be loaded (ModuleNotFoundError"),
        ("syntax", "subjects = [", 2, "audit_syntax.py:1: cannot be loaded (SyntaxError"),
        ("exits", "raise SystemExit(0)", 2, "audit_exits.py:1: cannot be loaded (SystemExit"),
        ("none", "x = 1", 2, "audit_none.py: must define `subjects`"),
        ("empty", "subjects = []", 2, "`subjects` is empty and there are no `promises`"),
        (
            "shape",
            GOOD.replace("scale=SCALE, size=size)", "size=size + 1)"),
            3,
            "shape/count: noisy: release(..., size=1) ret",
        ),
        ("raises", GOOD.replace("return", "raise ValueError('no') #"), 3, "raises/count: noisy: release raised ValueE"),
        ("pair", GOOD.replace("Pair(0.0, 1.0)", "None"), 3, "pair/count: pair = None: must be"),
        ("text", GOOD.replace("return", "return [{}] * size #"), 3, "text/count: noisy: release returned dtype object"),
    ],
)
def test_bad_input_is_one_line_and_no_verdict(folder, capsys, stem, text, code, said):
    folder(stem, text)
    got, out, err = _says(capsys, "audit", "checks")
    assert got == code
    lines = err.splitlines() if code == 2 else [line for line in out.splitlines() if line.startswith("FAILED")]
    assert len(lines) == 1
    assert said in lines[0]
    assert "REFUTED" not in out
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["audit"], "Missing argument"),
        (["audit", "nowhere"], "nowhere: no such file or folder"),
        (["audit", "checks", "--tirals", "3"], "--trials"),
        (["adit", "checks"], "'audit'"),
        (["audit", "checks", "--trials", "many"], "--trials"),
        (["audit", "checks", "--trials", "0"], "trials = 0: must be a whole number >= 1"),
        (["audit", "checks", "--significance", "nan"], "significance = nan: must be in (0, 1)"),
        (["audit", "checks", "--seed", "-1"], "seed = -1: must be"),
        (["audit", "checks", "--backend", "lok"], "backend 'lok'"),
        (["audit", "checks", "--json"], "requires an argument"),
        (["audit", "checks", "--json", "."], "--json .: is a folder"),
        (["audit", "checks", "-k", "cuont"], "did you mean 'count'?"),
        (["audit", "checks", "-k", "cli_usage/cout"], "did you mean 'cli_usage/count'?"),
        (["audit", "checks", "--family", "e-bh"], "--family e-bh: needs --sequential"),
        (["audit", "checks", "--family", "fdr"], "'bonferroni', 'holm', 'e-bh'"),
        (["report", "nowhere.json"], "nowhere.json: cannot be read"),
    ],
)
def test_usage_errors_are_one_line_on_stderr_and_two(folder, capsys, arguments, said):
    folder("cli_usage", GOOD.replace("SCALE", "1.0"))
    code, out, err = _says(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("dpverify: ")
    assert err.count("\n") == 1
    assert said in err


def test_a_whole_name_selects_that_subject_only(folder, capsys):
    text = GOOD.replace("SCALE", "0.2") + "\n    from dpverify import planted\n"
    folder("cli_exact", text + "    subjects.append(planted(subjects[0], 'bug', noisy))\n")
    _, out, _ = _says(capsys, "audit", "checks", "--list", "-k", "cli_exact/count")
    assert out.count("\n") == 1


def test_version(capsys):
    assert _says(capsys, "--version") == (0, "dpverify 0.1.0\n", "")


def test_completion_knows_commands_and_options():
    code = "from dpverify.cli import main; main.main()"
    for words, place, wanted in (("dpverify cer", "1", "certify"), ("dpverify audit --seq", "2", "--sequential")):
        environment = {**os.environ, "_DPVERIFY_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": place}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
        )
        assert done.stdout.split() == [wanted]


def test_our_own_bug_is_never_the_exit_code_of_a_refuted_claim(monkeypatch, capsys):
    def bug(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(main, "app", bug)
    assert main.run([]) == 3
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_who_asks_for_an_audit_loads_nothing_that_runs_one():
    """Subjects run in children; what the parent imports besides is a second of every run."""
    code = (
        "import sys, dpverify.cli.audit_run;"
        "heavy = {'scipy.stats', 'scipy.signal', 'sklearn', 'statsmodels', 'matplotlib', 'dpverify.auditing.pipeline'};"
        "sys.exit(str(sorted(heavy & set(sys.modules))) if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["audit", "--help"], ["audit"], ["certify", "--help"]])
def test_start_without_work_loads_no_numpy(arguments):
    code = (
        "import sys; from dpverify.cli import main; main.run(sys.argv[1:]);"
        "heavy = {'numpy', 'scipy', 'rich.table', 'jinja2', 'matplotlib'} & set(sys.modules);"
        "sys.exit(str(sorted(heavy)) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
