"""The library in an interpreter of its own: seeds, fresh data, and every way to end without an answer."""

import pickle
import sys
import textwrap
import time

import numpy as np
import pytest

from dpverify import audit, Pair, PureDP
from dpverify.errors import TargetError, UsageError
from dpverify.wild import Elsewhere
from dpverify.wild.worker import calling, codec

CODE = """
import os, random, signal, sys, time
import numpy
def noisy(data, scale=1.0):
    print("a library that prints")
    return sum(data) + numpy.random.laplace(0.0, scale)
def seeded(data, seed):
    return numpy.float64(seed % 7)
def changes(data):
    data.append(1.0)
    return len(data)
def dies(data):
    sys.stderr.write("last words\\n"); sys.stderr.flush()
    os._exit(7)
def killed(data):
    os.kill(os.getpid(), signal.SIGSEGV)
def hangs(data):
    time.sleep(60 if data[0] else 0)
    return 1.0
def leaves(data):
    sys.exit(3)
def full(data):
    raise MemoryError("no")
def refuses(data):
    raise ValueError("row 3")
def strange(data):
    return object()
"""


@pytest.fixture
def code(tmp_path):
    (tmp_path / "beside.py").write_text(textwrap.dedent(CODE))
    return str(tmp_path / "beside.py")


def one(value):
    return codec.packed(("one", value))


def test_releases_have_seeds_and_data_of_their_own(code):
    with Elsewhere(sys.executable, f"{code}:noisy", arguments={"scale": 2.0}) as target:
        first, again = target.fields(one([1.0]), [1, 2]), target.fields(one([1.0]), [1, 2])
        assert first["fields"] == again["fields"]
        assert first["fields"][0] != first["fields"][1]
        assert target.versions()["numpy"] == np.__version__
        assert not target.reproducible
    with Elsewhere(sys.executable, f"{code}:changes") as target:
        found = target.fields(one([1.0]), [1, 2, 3])
        assert [each["output"] for each in found["fields"]] == [2.0, 2.0, 2.0]
        assert found["changed"]


def test_it_is_a_target_of_audit(code):
    with Elsewhere(sys.executable, f"{code}:noisy") as target:
        pair = Pair([0.0, 1.0], [0.0, 4.0])
        record = audit(target, claim=PureDP(1.0), pair=pair, trials=2000, seed=1)
        assert record.verdict == "REFUTED"
        assert pickle.loads(pickle.dumps(target)).spec == target.spec
    with Elsewhere(sys.executable, f"{code}:refuses") as target:
        assert target.fields(one([1.0]), [1])["fields"] == [{"!ValueError": 1.0, "!message": "row N"}]
        with pytest.raises(calling.described("ValueError")):
            target.release([1.0], rng=np.random.default_rng(1), size=1)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("dies", "ended with exit code 7, release 1 of 3: last words"),
        ("killed", "killed by SIGSEGV, release 1 of 3"),
        ("leaves", "SystemExit: 3"),
        ("full", "MemoryError: no"),
    ],
)
def test_deaths_are_named(code, name, words):
    with Elsewhere(sys.executable, f"{code}:{name}") as target, pytest.raises(TargetError, match=words):
        target.fields(one([1.0]), [1, 2, 3])


def test_a_hang_ends_and_the_next_block_starts_anew(code):
    with Elsewhere(sys.executable, f"{code}:hangs", timeout_s=1.0) as target:
        assert len(target.fields(one([0.0]), [1, 2])["fields"]) == 2
        started = time.monotonic()
        with pytest.raises(TargetError, match="no answer in 1 s, release 1 of 4; its interpreter was ended"):
            target.fields(one([1.0]), [1, 2, 3, 4])
        assert time.monotonic() - started < 3 * 1.0
        assert len(target.fields(one([0.0]), [1])["fields"]) == 1


def test_refusals_are_one_line(code):
    for python, spec, words in (
        ("/no/such/python", f"{code}:noisy", "cannot be started"),
        (sys.executable, f"{code}:absent", "has no 'absent'"),
        (sys.executable, "no_such_module:f", "cannot be loaded"),
        (sys.executable, "nothing", "must look like MODULE:OBJECT"),
    ):
        with pytest.raises(UsageError, match=words):
            Elsewhere(python, spec)
    with Elsewhere(sys.executable, f"{code}:strange") as target, pytest.raises(TargetError, match="cannot be sent"):
        target.release([1.0], rng=np.random.default_rng(1), size=1)
