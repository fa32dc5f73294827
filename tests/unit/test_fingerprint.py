# ruff: noqa: E501 - tables read better with one case a line
"""Blocks of a checkpoint belong to the code that ran them: every edit of it, and only an edit, makes another key."""

import importlib
import json
import os
import subprocess
import sys
import textwrap
import time
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import pytest

from dpverify.runs import sources
from dpverify.runs.fingerprint import fingerprint

ROOT = Path(__file__).parents[2]
SCALE = 1.0
RUN = """
    import json, sys
    import target
    from dpverify import audit, Pair, PureDP
    made = target.Noisy()
    record = audit(made, claim=PureDP(1.0), pair=Pair(0, 1), trials=4000, seed=3, checkpoint="blocks.jsonl", score="histogram")
    print(json.dumps([target.RUN, record.number_lower, record.source_digest]))
"""
TARGET = """
    import numbers_of
    from numbers_of import factor

    RUN = 0

    class Noisy:
        trials_per_block = 400

        def release(self, data, *, rng, size):
            global RUN
            RUN += size
            import lazily
            return (rng.random(size) < numbers_of.KEEP * factor() * lazily.ONE) == data
"""


def _run(folder):
    environment = {**os.environ, "PYTHONPATH": f"{folder}:{ROOT}"}
    command = [sys.executable, "-c", textwrap.dedent(RUN)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """A project with blocks of a finished audit, the releases that it made, and those of a second one."""
    folder = tmp_path_factory.mktemp("checkpoint")
    for name, text in {
        "target.py": TARGET,
        "numbers_of.py": "KEEP = .70\ndef factor():\n    return 1.0",
        "lazily.py": "ONE = 1.0",
    }.items():
        (folder / name).write_text(textwrap.dedent(text), encoding="utf-8")
    time.sleep(0.05)  # what changes while a process starts is in doubt
    first = _run(folder)
    blocks = (folder / "blocks.jsonl").read_bytes()
    return folder, blocks, first, _run(folder)


def test_the_same_code_goes_on_where_it_was(interrupted):
    _, _, first, second = interrupted
    assert second[0] < 0.5 * first[0]  # the certifying blocks were not run again
    assert second[1:] == first[1:]


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("numbers_of.py", "KEEP = .70", "KEEP = .90"),
        ("numbers_of.py", "return 1.0", "return 1.1"),
        ("lazily.py", "ONE = 1.0", "ONE = 1.1"),
        ("target.py", "rng.random(size)", "rng.random(size) ** 2"),
    ],
)
def test_an_edit_runs_everything_again(interrupted, file, old, new):
    """Spec 11: KEEP .70 -> .90 gave NOT_REFUTED without running a block."""
    folder, blocks, first, _ = interrupted
    (folder / "blocks.jsonl").write_bytes(blocks)
    before = (folder / file).read_text(encoding="utf-8")
    (folder / file).write_text(before.replace(old, new), encoding="utf-8")
    try:
        made = _run(folder)
    finally:
        (folder / file).write_text(before, encoding="utf-8")
    assert made[0] == first[0]
    assert made[1] != first[1]
    assert made[2] != first[2]  # the record says which sources were audited


def _function(data, *, rng, size):
    return data + rng.laplace(0.0, SCALE, size)


class _Base:
    NUMBER = 1

    @lru_cache  # noqa: B019
    def cached(self):
        return self.NUMBER

    @property
    def shown(self):
        return self.NUMBER


class _Target(_Base):
    def __init__(self, scale=1.0):
        self.scale, self.more = scale, {"a": np.arange(3)}

    def release(self, data, *, rng, size):
        return self.shown + self.cached() + data + rng.laplace(0.0, self.scale, size)


def test_equal_values_and_code_give_equal_digests():
    for make in (
        lambda: _function,
        _Target,
        lambda: partial(_function, size=3),
        lambda: (np.arange(4), {"a": [1]}, "x"),
    ):
        assert fingerprint(make()) == fingerprint(make())


def test_state_globals_classes_and_closures_are_part_of_it(monkeypatch):
    def closed(value):
        return lambda data, *, rng, size: data + value

    seen = {fingerprint(each) for each in (_Target(), _Target(2.0), closed(1), closed(2), partial(_function, size=3))}
    seen |= {fingerprint(_function), fingerprint(partial(_function, size=4)), fingerprint(lambda x: x + 1)}
    assert len(seen) == 8
    before = [fingerprint(_function), fingerprint(_Target()), fingerprint(partial(_function, size=3))]
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 2.0)  # a global that the function reads
    monkeypatch.setattr(_Base, "NUMBER", 2)  # of a parent class
    after = [fingerprint(_function), fingerprint(_Target()), fingerprint(partial(_function, size=3))]
    assert not set(before) & set(after)
    changed = _Target()
    changed.more["a"][1] = 7
    assert fingerprint(changed) != after[1]


def test_a_circle_ends_and_what_cannot_be_told_apart_never_agrees():
    import threading

    circle = []
    circle.append(circle)
    assert fingerprint(circle) == fingerprint(circle)
    assert fingerprint(threading.Lock()) != fingerprint(threading.Lock())
    deep = []
    for _ in range(5000):
        deep = [deep]
    assert len(fingerprint(deep)) == 64


def test_sources_are_those_behind_a_file_whatever_is_loaded(tmp_path):
    for name, text in {
        "audit_a.py": "from pack import (\n    one,\n    two as other,\n)\nimport numpy, missing.thing\nif 0:\n    from . import b",
        "pack/__init__.py": "",
        "pack/one.py": "from .deep.er import x",
        "pack/two.py": "# -*- coding: latin-1 -*-",
        "pack/deep/er.py": "import audit_a",
        "unrelated.py": "def (",
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "pack/two.py").write_bytes(b"# -*- coding: latin-1 -*-\n# \xe9")

    def now():
        return sources.digest([str(tmp_path / "audit_a.py")])

    before = now()
    assert len(before) == 64
    (tmp_path / "unrelated.py").write_text("x = 1", encoding="utf-8")
    assert now() == before
    for name in ("audit_a.py", "pack/__init__.py", "pack/one.py", "pack/two.py", "pack/deep/er.py"):
        kept = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(kept + b"\n")
        assert now() != before, name
        (tmp_path / name).write_bytes(kept)
    assert sources.digest([str(tmp_path / "no.py"), ""]) == ""


def test_blocks_belong_to_the_data_that_a_release_reads(tmp_path):
    """Also with the exact score, which spends no trials on choosing an event: the attack itself is the same."""
    code = """
from pathlib import Path
from dpverify import audit, Pair, PureDP

class Coin:
    def release(self, data, *, rng, size):
        return (rng.random(size) < float(Path("keep.txt").read_text())) == bool(data)

    def log_ratio(self, outputs, pair):
        return 2.0 * outputs - 1.0 if pair.first else 1.0 - 2.0 * outputs

done = []
made = audit(Coin(), claim=PureDP(1.0), pair=Pair(0, 1), trials=4000, seed=1, checkpoint="blocks", progress=done.append)
print(made.right, made.wrong)
"""
    (tmp_path / "target.py").write_text(code, encoding="utf-8")
    time.sleep(0.1)  # what changes while a process starts is never taken for what it loaded

    def run(keep):
        (tmp_path / "keep.txt").write_text(keep, encoding="utf-8")
        command = [sys.executable, "target.py"]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        return subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True).stdout

    def blocks():
        return len((tmp_path / "blocks").read_text(encoding="utf-8").splitlines())

    first, written = run(".7"), blocks()
    assert (run(".7"), blocks()) == (first, written)  # all blocks were there
    assert run(".9") != first
    assert blocks() == 2 * written


def test_code_that_is_loaded_no_more_has_no_part_in_it(tmp_path, monkeypatch):
    """Younger than its process, it would never equal anything again."""
    (tmp_path / "for_a_while.py").write_text("X = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module("for_a_while")
    assert fingerprint(1) != fingerprint(1)
    del sys.modules["for_a_while"]
    assert fingerprint(1) == fingerprint(1)
