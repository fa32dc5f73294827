# ruff: noqa: E501 - a table reads better with one case a line
"""--changed-only: one project in which each audit depends on one thing; after the edits none of them is reused.

The real command line runs three times: it keeps, it reuses everything, and - after all edits - only the controls.
"""

import json
import math
import os
import py_compile
import shutil
import subprocess
import sys
import sysconfig
import textwrap
from dataclasses import replace
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from dpverify.verdicts.verdict import Verdict

ROOT = Path(__file__).parents[2]
AUDIT = """{code}
from dpverify import Pair, PureDP, Subject

def noisy(data, *, rng, size):
    return (rng.random(size) < keep()) == data

subjects = [Subject(name="one", target=noisy, claim=PureDP(3.0), pairs=(Pair(0, 1),), trials=400, score="histogram"{more})]
"""
EXTENSION = "xxlimited"  # comes with Python, does nothing, and nobody has it loaded


def write(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(textwrap.dedent(text), encoding="utf-8")


def append(file, more=b"\n"):
    with file.open("ab") as opened:
        opened.write(more)


def same_time(file, text):
    """An edit that leaves time and size of the file as they were."""
    before = file.stat()
    assert len(text) == before.st_size
    file.write_text(text, encoding="utf-8")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


# name -> (how the audit gets its number, the edit)
CASES = {
    "own_text": ("def keep(): return .75", lambda p: append(p / "audits/audit_own_text.py")),
    "module": ("from lib_module import KEEP\ndef keep(): return KEEP", lambda p: write(p / "lib_module.py", "KEEP = .76")),
    "forged_time": ("from lib_time import KEEP\ndef keep(): return KEEP", lambda p: same_time(p / "lib_time.py", "KEEP=.76")),
    "lazily": (
        "def keep():\n        import lib_lazy\n        return lib_lazy.KEEP",
        lambda p: write(p / "lib_lazy.py", "KEEP = .76"),
    ),
    "namespace": ("from space.a import KEEP\ndef keep(): return KEEP", lambda p: write(p / "space/b.py", "KEEP = .76")),
    "shadow": ("from lib_last import KEEP\ndef keep(): return KEEP", lambda p: write(p / "audits/lib_last.py", "KEEP = .76")),
    "optional": (
        "try:\n    import lib_extra\nexcept ImportError:\n    pass\ndef keep(): return .75",
        lambda p: write(p / "lib_extra.py", ""),
    ),
    "sought": (
        "from importlib.util import find_spec\ndef keep(): return .75 if find_spec('lib_sought') is None else .76",
        lambda p: write(p / "lib_sought.py", ""),
    ),
    "bytecode": ("from lib_bytecode import KEEP\ndef keep(): return KEEP", lambda p: _bytecode(p, "lib_bytecode")),
    "patched": ("import lib_patch, lib_patched\nkeep = lib_patched.keep", lambda p: append(p / "lib_patch.py", b"# .76")),
    "variable": ("import os\ndef keep(): return float(os.environ.get('MY_KEEP', '.75'))", lambda p: None),
    "declared": ("def keep(): return .75", lambda p: None),
    "data": ("def keep(): return float(open('data/keep.txt').read())", lambda p: write(p / "data/keep.txt", ".76")),
    "data_at_import": ("X = float(open('data/once.txt').read())\ndef keep(): return X", lambda p: write(p / "data/once.txt", ".76")),
    "array": ("import numpy as np\ndef keep(): return np.load('data/keep.npy')[0]", lambda p: append(p / "data/keep.npy")),
    "folder": ("import os\ndef keep(): return .7 + .01 * len(os.listdir('many'))", lambda p: write(p / "many/x", "")),
    "exists": ("import os\ndef keep(): return .75 + .01 * os.path.exists('flag')", lambda p: write(p / "flag", "")),
    "installed": ("from inst import KEEP\ndef keep(): return KEEP", lambda p: write(p / "site-packages/inst/__init__.py", "KEEP = .76")),
    "installed_data": (
        "import importlib.resources as r, insd\ndef keep(): return float(r.files(insd).joinpath('k.txt').read_text())",
        lambda p: write(p / "site-packages/insd/k.txt", ".76"),
    ),
    "extension": (f"import {EXTENSION}\ndef keep(): return .75", lambda p: append(_extension(p))),
    "archive": (
        "import sys; sys.path.insert(0, 'z.zip')\nfrom zipped import KEEP\ndef keep(): return KEEP",
        lambda p: _zip(p, "KEEP = .76"),
    ),
    "executed": ("N = {}\nexec(open('data/code.txt').read(), N)\ndef keep(): return N['KEEP']", lambda p: append(p / "data/code.txt")),
    "pickled": ("import pickle\ndef keep(): return pickle.load(open('data/p.pkl', 'rb'))", lambda p: append(p / "data/p.pkl")),
    "forged": ("def keep(): return .75", lambda p: None),
    "corrupted": ("def keep(): return .75", lambda p: None),
    "other/same": ("def keep(): return .75", lambda p: append(p / "audits/other/audit_same.py")),
}  # fmt: skip
CONTROLS = {
    "control": "from lib_control import KEEP\ndef keep(): return KEEP",
    "latin": "# -*- coding: latin-1 -*-\n# \xe9\ndef keep(): return .75",
    "typing": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import nothing_there\ndef keep(): return .75",
    "here/same": "def keep(): return .75",
}
NEVER = {  # cannot be followed: run every time
    "process": "import subprocess\ndef keep(): return float(subprocess.check_output(['echo', '.75']))",
    "counter": "def keep():\n    n = open('data/n.txt').read() + 'x'; open('data/n.txt', 'w').write(n); return .75",
    "library": "import ctypes\nX = ctypes.CDLL(None)\ndef keep(): return .75",
}


def _extension(project):
    return next((project / "site-packages").glob(f"{EXTENSION}.*"))


def _bytecode(project, name):
    """That of another source, with the header of this one: what Python loads."""
    source = project / f"{name}.py"
    other = project / f"data/{name}.py"
    write(other, source.read_text().replace(".75", ".76"))
    os.utime(other, ns=(source.stat().st_atime_ns, source.stat().st_mtime_ns))
    py_compile.compile(str(other), cfile=cache_from_source(str(source)))


def _zip(project, text):
    import zipfile

    with zipfile.ZipFile(project / "z.zip", "w") as archive:
        archive.writestr("zipped.py", text)


def _project(p):
    import numpy as np

    everything = {name: code for name, (code, _) in CASES.items()} | CONTROLS | NEVER
    for name, code in everything.items():
        folder, _, stem = name.rpartition("/")
        more = ', environment=("MY_DECLARED",)' if name == "declared" else ""
        text = AUDIT.format(code=code, more=more)
        file = p / "audits" / folder / f"audit_{stem}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("latin-1"))
    for name in ("lib_module", "lib_lazy", "lib_last", "lib_control", "lib_bytecode"):
        write(p / f"{name}.py", "KEEP = .75")
    write(p / "lib_time.py", "KEEP=.75")
    write(p / "lib_patched.py", "def keep(): return .5")
    write(p / "lib_patch.py", "import lib_patched\nlib_patched.keep = lambda: .75\n")
    write(p / "space/a.py", "from .b import KEEP")
    write(p / "space/b.py", "KEEP = .75")
    write(p / "broken_and_unrelated.py", "def (")
    write(p / "data/keep.txt", ".75")
    write(p / "data/once.txt", ".75")
    write(p / "data/code.txt", "KEEP = .75")
    write(p / "data/n.txt", "")
    np.save(p / "data/keep.npy", np.array([0.75]))
    (p / "data/p.pkl").write_bytes(__import__("pickle").dumps(0.75))
    for index in range(5):
        write(p / f"many/{index}", "")
    write(p / "site-packages/inst/__init__.py", "KEEP = .75")
    write(p / "site-packages/inst-1.0.dist-info/METADATA", "Name: inst\nVersion: 1.0\n")
    write(p / "site-packages/insd/__init__.py", "")
    write(p / "site-packages/insd/k.txt", ".75")
    source = next(Path(sysconfig.get_path("stdlib"), "lib-dynload").glob(f"{EXTENSION}.*"))
    shutil.copy(source, p / "site-packages" / source.name)
    _zip(p, "KEEP = .75")
    (p / "audits/loop").symlink_to(p / "audits/loop")


def _run(project, *options, **variables):
    path = f"{project}/site-packages:{ROOT}"
    environment = {**os.environ, "PYTHONPATH": path, "XDG_DATA_HOME": f"{project}/home", **variables}
    environment.pop("GITHUB_ACTIONS", None)
    command = [sys.executable, "-m", "dpverify", "audit", "audits", "--json", "out.json", "--jobs", "2", *options]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {
        record["subject"].removesuffix("/one"): record
        for record in json.loads((project / "out.json").read_text())["records"]
    }


def _entry(project, name):
    for file in (project / ".dpverify/kept").glob("*.json"):
        kept = json.loads(file.read_text(encoding="utf-8"))
        if kept["outcome"]["outcome"]["subject"] == f"{name}/one":
            return file, kept
    raise AssertionError(name)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    project = tmp_path_factory.mktemp("project")
    _project(project)
    first = _run(project, "--keep")
    second = _run(project, "--changed-only")
    for _, edit in CASES.values():
        edit(project)
    file, kept = _entry(project, "forged")
    kept["outcome"]["outcome"]["eps_lower"] = kept["outcome"]["outcome"]["number_lower"] = 0.25
    file.write_text(json.dumps(kept), encoding="utf-8")
    file, _ = _entry(project, "corrupted")
    file.write_bytes(file.read_bytes()[:-30])
    third = _run(project, "--changed-only", MY_KEEP=".76", MY_DECLARED="2")
    return project, first, second, third


def _qualified(name):
    return name.replace("/", ":")


@pytest.mark.parametrize("name", [*CASES, *CONTROLS])
def test_what_has_not_changed_is_reused_and_is_the_same(runs, name):
    _, first, second, _ = runs
    before, after = first[_qualified(name)], second[_qualified(name)]
    assert after["reused"] is True
    assert {**after, "reused": False} == before


@pytest.mark.parametrize("name", CASES)
def test_no_result_outlives_an_edit_of_what_it_depends_on(runs, name):
    assert runs[3][_qualified(name)]["reused"] is False


@pytest.mark.parametrize("name", CONTROLS)
def test_edits_of_other_things_do_not_matter(runs, name):
    assert runs[3][_qualified(name)]["reused"] is True


@pytest.mark.parametrize("name", NEVER)
def test_what_cannot_be_followed_is_always_run(runs, name):
    assert [run[name]["reused"] for run in runs[1:]] == [False] * 3


def test_a_run_with_new_numbers_is_what_a_fresh_run_gives(runs, tmp_path):
    project, *_, third = runs
    shutil.copytree(project, tmp_path / "copy", symlinks=True, ignore=shutil.ignore_patterns(".dpverify"))
    fresh = _run(tmp_path / "copy", MY_KEEP=".76", MY_DECLARED="2")
    assert set(fresh) == set(third)

    def timeless(record):
        return {key: value for key, value in record.items() if key not in ("seconds", "reused")}

    for name, record in fresh.items():
        assert timeless(record) == timeless(third[name])


def test_other_settings_another_key_and_no_option_reuse_nothing(runs):
    project, *_ = runs
    assert not any(
        record["reused"] for record in _run(project, "--changed-only", "--seed", "8", "-k", "control").values()
    )
    key = {"DPVERIFY_CACHE_KEY": "k" * 32}
    assert not any(record["reused"] for record in _run(project, "--changed-only", "-k", "control", **key).values())


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A kept result of one subject; call with changes of its fields: what is said about it, or "" where it is reused."""
    from dpverify.runs import provenance
    from dpverify.runs.facts import World
    from dpverify.verdicts.manifest import Entry, Manifest
    from dpverify.verdicts.rejudge import problem
    from dpverify.verdicts.reuse import Kept
    from dpverify.verdicts.suite import Settings

    monkeypatch.chdir(tmp_path)
    record = _honest()
    entry = Entry(
        kind="subject", source="a.py", local="one", name=record.subject, claim="c", trials=1, expected="NOT_REFUTED"
    )
    origin = provenance.completed(
        {"facts": [("file", str(tmp_path / "no"), "absent")], "units": [], "doubts": []}, 0, World()
    )
    agenda, settings = Manifest((entry,)), Settings(seed=1)

    def said(secret=b"k" * 32, doubts=(), **changes):
        changed = replace(record, **changes)
        monkeypatch.setattr(
            "dpverify.verdicts.rejudge.problem", lambda outcome: ""
        )  # somebody who has the key writes it
        writer = Kept(agenda, settings, secret, World())
        writer.keep({entry.key: changed}, {entry.key: {**origin, "doubts": list(doubts)}})
        monkeypatch.setattr("dpverify.verdicts.rejudge.problem", problem)
        reader = Kept(agenda, settings, b"k" * 32, World())
        found = reader.known()
        assert bool(found) != bool(reader.reasons)
        return reader.reasons.get(entry.key, "")

    return said


def _honest():
    from dpverify import audit, Pair, PureDP

    made = audit(_coin, claim=PureDP(3.0), pair=Pair(0, 1), trials=2000, seed=1, score="histogram")
    return replace(made, expected="NOT_REFUTED")


def _coin(data, *, rng, size):
    return (rng.random(size) < 0.75) == data


def test_an_honest_entry_is_reused_and_a_sealed_lie_is_not(kept):
    assert kept() == ""
    assert "another key" in kept(secret=b"x" * 32)
    for lie in (
        {"eps_lower": 3.5, "number_lower": 3.5},  # refuted by its own bound
        {"verdict": Verdict.REFUTED},
        {"verdict": Verdict.INVALID},
        {"expected": "REFUTED"},
        {"detectable_eps": math.inf},
        {"number_lower": math.nan},
        {"right": 10**6},
        {"wrong": -1},
        {"eps_lower": 0.1, "number_lower": 0.1},
        {"subject": "another"},
        {"planted": True, "expected": "REFUTED"},
    ):
        assert kept(**lie), lie
    assert kept() == ""
    assert kept(doubts=["a process was started"]) == ""  # not written: the one before is still there


class _KnownCoin:
    """The same coin with its log ratio."""

    def release(self, data, *, rng, size):
        return _coin(data, rng=rng, size=size)

    def log_ratio(self, outputs, pair):
        return math.log(3) * (1.0 - 2 * (outputs != pair.first))


def _records():
    """name of the test -> an honest record of it."""
    from dpverify import ApproxDP, audit, GaussianDP, Pair, PureDP, ZCDP

    claims = [
        (_coin, PureDP(3.0)), (_coin, ApproxDP(3.0, 1e-2)), (_coin, ApproxDP(2.5, 1e-6)),
        (_coin, ZCDP(2.0)), (_coin, GaussianDP(3.0)),
    ]  # fmt: skip
    for target, claim in claims:
        made = audit(target, claim=claim, pair=Pair(0, 1), trials=600, seed=1, score="histogram")
        yield replace(made, expected="NOT_REFUTED")
    made = audit(_KnownCoin(), claim=PureDP(3.0), pair=Pair(0, 1), trials=600, seed=1)  # one event
    yield replace(made, expected="NOT_REFUTED")


def test_every_bound_that_a_record_can_give_again_is_judged_again():
    from dpverify.verdicts.rejudge import problem

    seen = set()
    for record in _records():
        seen.add((record.test, record.notion))
        assert problem(record) == "", record.test
        assert record.number_lower > 0.05  # else the lies below are none
        lower = 0.8 * record.number_lower
        for lie in (
            {"eps_lower": lower, "number_lower": lower},
            {"eps_lower": 1.2 * record.number_lower, "number_lower": 1.2 * record.number_lower},
            {"right": record.right - 1},
            {"wrong": record.wrong + 1},
            {"p_value": record.p_value / 2},
            {"p_value": None},
            {"significance": record.significance / 2},
            {"curve": ()},
            {"course": ()},
            {"course": ((record.trials * 2, record.eps_lower),)},
            {"test": "of our own"},
        ):
            assert problem(replace(record, **lie)), (record.test, lie)
    assert {test for test, _ in seen} == {"binomial", "shared binomial", "threshold", "unconditional", "curve"}


def test_events_and_weights_are_those_that_were_frozen():
    from dpverify import ApproxDP, audit, Pair, PureDP
    from dpverify.verdicts.rejudge import problem

    def noisy(data, *, rng, size):
        return data + rng.normal(0.0, 2.0, size)

    def flat(data, *, rng, size):
        return data + rng.laplace(0.0, 1.0, size)

    seen = set()
    for target, claim in ((noisy, ApproxDP(3.0, 1e-6)), (flat, PureDP(1.5)), (noisy, PureDP(3.0))):
        for seed in range(4):
            made = audit(target, claim=claim, pair=Pair(0, 1), trials=3000, seed=seed)
            record = replace(made, expected=made.verdict.value)
            seen.add(record.test)
            assert problem(record) == "", record.test
            working = record.working
            lies = [{"pooled": working.pooled + 1}, {"trials": working.trials + 1}, {"blocks": working.blocks[1:]}]
            lies += [{"levels": working.levels[::-1] if len(working.levels) > 1 else ()}]
            if record.test == "weighted":
                lies += [{"weights": working.weights[::-1]}, {"weights": (1,) * 99}, {"weights": ()}]
            if record.test == "shared binomial":
                lies += [
                    {"events": tuple((k, share / 2) for k, share in working.events)},
                    {"events": ((1, 2.0),)},
                    {"events": ()},
                ]
            for lie in lies:
                assert problem(replace(record, working=replace(working, **lie))), (record.test, lie)
            assert problem(replace(record, working=None))
    assert seen >= {"weighted", "shared binomial"}, seen


def test_a_promise_is_judged_again_from_its_counts():
    from dpverify.evidence.promises import check_promise, Outcomes, Promise
    from dpverify.verdicts.rejudge import problem

    promise = Promise(name="p", draw=lambda rng, size: Outcomes(rng.random(size)), bound=0.99, failure_probability=0.1)
    check = check_promise(promise, seed=1, trials=2000)
    assert problem(check) == ""
    for lie in (
        {"failures": 500},
        {"failures": -1},
        {"rate_upper": 0.05},
        {"verdict": "OPEN", "expected": "OPEN"},
        {"trials": 10},
    ):
        assert problem(replace(check, **lie)), lie


def test_the_key_is_made_once_for_this_user_only(tmp_path, monkeypatch):
    from dpverify.base.errors import UsageError
    from dpverify.verdicts.reuse import secret

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    key = secret()
    assert len(key) == 64
    assert secret() == key
    assert (tmp_path / "dpverify/key").stat().st_mode & 0o77 == 0
    assert secret("g" * 32) == b"g" * 32
    with pytest.raises(UsageError, match="at least 32 characters"):
        secret("short")
    (tmp_path / "dpverify/key").write_text("short", encoding="ascii")
    with pytest.raises(UsageError, match="a new one is made"):
        secret()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "dpverify/key"))
    with pytest.raises(UsageError, match="DPVERIFY_CACHE_KEY"):
        secret()


def test_a_list_loads_no_statistics():
    """In the process that asks, and what every child inherits: imports are most of the time that a list takes."""
    code = """
import sys
import dpverify.faces.list_run
assert not {"numpy", "scipy", "sklearn", "statsmodels", "rich"} & set(sys.modules)
import dpverify.verdicts.listing
assert not {"scipy.stats", "scipy.optimize", "sklearn", "statsmodels", "dpverify.verdicts.audit"} & set(sys.modules)
from dpverify.faces import cli
assert cli.run(["audit", "no-such-folder", "--list"]) == 2
assert not {"joblib", "sklearn", "statsmodels"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
