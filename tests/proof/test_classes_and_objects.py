"""Classes with `release`, and objects of them, are proved as functions are: one release of a fresh object."""

import enum
import functools
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from dpverify import prove
from dpverify.cli import main

SOURCE = '''
import functools
from dataclasses import dataclass, field

import numpy as np


class Histogram:
    """Counts of four cells."""

    scale = 2.0

    def release(self, data, *, rng, size):
        return np.bincount(data, minlength=4) + rng.laplace(scale=self.scale, size=(size, 4))


class Louder(Histogram):
    scale = 1.0


@dataclass(frozen=True)
class Mean:
    eps: float = 1.0
    high: float = 10.0

    @functools.cached_property
    def scale(self):
        return self.high / self.eps

    def release(self, data, *, rng, size):
        return np.clip(data, 0, self.high).mean() + rng.laplace(scale=self.scale / len(data), size=size)


class Counting:
    """Adds no noise from its third release on."""

    def __init__(self):
        self.calls = 0

    def release(self, data, *, rng, size):
        self.calls += 1
        return np.sum(data) + (self.calls < 3) * rng.laplace(scale=10.0, size=size)


class Remembering:
    """Keeps the data of its first release."""

    def __init__(self):
        self.seen = []

    def release(self, data, *, rng, size):
        self.seen.append(np.sum(data))
        return self.seen[0] + rng.laplace(scale=10.0, size=size)


class NoisyOnce:
    """Draws its noise where it is made, not where it releases."""

    def __init__(self):
        self.noise = np.random.default_rng().laplace(scale=10.0)

    def release(self, data, *, rng, size):
        return np.sum(data) + np.full(size, self.noise)


class Holding:
    """Has a generator of its own, which others may have read."""

    def __init__(self):
        self.own = np.random.default_rng()

    def release(self, data, *, rng, size):
        return np.sum(data) + self.own.laplace(scale=10.0, size=size)


def total(data, *, rng, size):
    return np.sum(data) + rng.laplace(scale=10.0, size=size)


half = Mean(eps=0.5)
'''
REAL, LABELS = "vector: real 0..10, rows 3..50", "vector: integer 0..3, rows 3..50"


@pytest.fixture(scope="module")
def mechanisms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    file = tmp_path_factory.mktemp("classes") / "classes_that_release.py"
    file.write_text(SOURCE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[file.stem]


@pytest.mark.parametrize(
    ("name", "data", "eps"),
    [
        ("Histogram", LABELS, 1.0),
        ("Louder", LABELS, 2.0),
        ("Mean", REAL, 1.0),
        ("half", REAL, 0.5),
        ("total", REAL, 1.0),
    ],
)
def test_a_class_an_object_and_a_function_are_proved(mechanisms: ModuleType, name: str, data: str, eps: float) -> None:
    found = prove(getattr(mechanisms, name), data=data)
    assert found.eps == eps
    assert "of one release: size=1" in found.notes


def test_an_object_is_proved_with_its_own_attributes(mechanisms: ModuleType) -> None:
    assert prove(mechanisms.Mean(eps=0.25), data=REAL).eps == 0.25
    assert prove(mechanisms.Mean, data=REAL, arguments={"eps": 0.25}).eps == 0.25


@pytest.mark.parametrize("name", ["Counting", "Remembering", "NoisyOnce"])
def test_what_outlives_a_release_ends_the_proof(mechanisms: ModuleType, name: str) -> None:
    assert prove(getattr(mechanisms, name), data=REAL).eps == np.inf
    assert prove(getattr(mechanisms, name)(), data=REAL).eps == np.inf


def test_a_generator_that_was_made_before_is_no_fresh_noise(mechanisms: ModuleType) -> None:
    assert prove(mechanisms.Holding, data=REAL).eps == 1.0
    found = prove(mechanisms.Holding(), data=REAL)
    assert found.eps == np.inf
    assert "Generator" in str(found.ended)


def test_an_object_stays_as_it_is(mechanisms: ModuleType) -> None:
    made: Any = mechanisms.Mean()
    prove(made, data=REAL)
    assert "scale" not in vars(made)
    assert isinstance(type(made).scale, functools.cached_property)


@pytest.mark.process
def test_certify_proves_a_class_and_refutes_its_louder_twin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "noisy.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    words = ["certify", "--claim", "pure:1", "--data", LABELS, "--relation", "replace"]
    assert main.run([*words, "noisy.py:Histogram"]) == 0
    assert "proved from the code" in capsys.readouterr().out
    assert main.run([*words, "noisy.py:Louder"]) == 1
    assert "the pair that the proof names" in capsys.readouterr().out


class Members(enum.IntEnum):
    ONE = 1


def test_members_of_enums_are_plain_numbers() -> None:
    from dpverify.proof.leaks import _has_own_operators

    assert not _has_own_operators(Members.ONE)


# ----------------------------------------------------------------------------------------------------------------------
# What is proved is what was handed over: each of these would be proved with too small an eps by its name, or by copies

OTHERS = """
import functools

import numpy as np

rng = np.random.default_rng()
CONFIG = {"scale": 1.0}
UNSET = object()


def leak(f):
    @functools.wraps(f)
    def g(data):
        return f(data), data.max()

    return g


def base(data):
    return data.sum() + rng.laplace(scale=1.0)


leaky = leak(base)


def twice(data):
    return 10 * data.sum() + rng.laplace(scale=1.0)


first = twice


def twice(data):
    return data.sum() + rng.laplace(scale=1.0)


def of_settings(data):
    return data.sum() + rng.laplace(scale=CONFIG["scale"])


def of_an_argument(data, counts=None):
    counts[0] += 1.0
    return sum(data.sum() for _ in range(len(data))) + rng.laplace(scale=counts[0])


def keeps(data, log=None):
    log.append(data.sum())
    return data.sum() + rng.laplace(scale=1.0)


class Part:
    def __init__(self, buffer):
        self.buffer = buffer

    def draw(self, data, rng):
        return data.sum() + rng.laplace(scale=self.buffer["scale"])


class Whole:
    def __init__(self):
        self.buffer = {"scale": 1.0}
        self.part = Part(self.buffer)

    def release(self, data, *, rng, size):
        self.buffer["scale"] = 0.1
        found = self.part.draw(data, rng)
        self.buffer["scale"] = 1.0
        return found


class Seeding:
    def __init__(self):
        np.random.seed(7)

    def release(self, data, *, rng, size):
        return data.sum() + np.random.laplace(scale=1.0)


class OfItsClass:
    scale = 1.0

    def __init__(self, scale=1.0):
        OfItsClass.scale = scale

    def release(self, data, *, rng, size):
        return data.sum() + rng.laplace(scale=self.scale)


class Marked:
    def __init__(self, mark=UNSET):
        self.mark = mark

    def release(self, data, *, rng, size):
        return data.sum() + rng.laplace(scale=0.1 if self.mark is UNSET else 1.0)
"""
UNIT = "vector: real 0..1, rows 3..6"


@pytest.fixture
def others(tmp_path: Path) -> Iterator[ModuleType]:
    file = tmp_path / "others_that_release.py"
    file.write_text(OTHERS, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[file.stem]


def test_a_function_is_not_looked_up_by_its_name(others: ModuleType) -> None:
    assert prove(others.base, data=UNIT).eps == 1.0
    assert prove(others.leaky, data=UNIT).eps == np.inf
    assert prove(others.twice, data=UNIT).eps == 1.0
    assert prove(others.first, data=UNIT).eps == np.inf


def test_what_was_set_after_the_import_ends_the_proof(others: ModuleType) -> None:
    assert prove(others.of_settings, data=UNIT).eps == 1.0
    others.CONFIG["scale"] = 0.1
    assert prove(others.of_settings, data=UNIT).eps == np.inf


def test_arguments_are_copied_for_every_run(others: ModuleType) -> None:
    counts, log = [0.0], []
    assert prove(others.of_an_argument, data=UNIT, arguments={"counts": counts}).eps == np.inf
    assert prove(others.keeps, data=UNIT, arguments={"log": log}).eps == np.inf
    assert (counts, log) == ([0.0], [])


def test_one_object_stays_one_object(others: ModuleType) -> None:
    assert prove(others.Whole(), data=UNIT).eps in (10.0, np.inf)
    assert prove(others.Marked(), data=UNIT).eps in (10.0, np.inf)


def test_what_a_constructor_does_elsewhere_is_done_again(others: ModuleType) -> None:
    assert prove(others.Seeding(), data=UNIT).eps == np.inf
    assert prove(others.OfItsClass(0.1), data=UNIT).eps in (10.0, np.inf)
