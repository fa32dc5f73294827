"""What somebody has set in memory since the import is no part of the file, so that it ends a proof."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from dpverify import prove

PROGRAM = """
import functools
import random
from dataclasses import dataclass

import numpy as np

rng = np.random.default_rng()


class Sum:
    def __init__(self, scale=1.0):
        self.scale = scale

    def release(self, data, *, rng, size):
        return np.sum(data) + rng.laplace(scale=self.scale, size=size)


class Slotted:
    __slots__ = ("scale",)

    def __init__(self):
        self.scale = 1.0

    def release(self, data, *, rng, size):
        return np.sum(data) + rng.laplace(scale=self.scale, size=size)


@dataclass
class Data:
    scale: float = 1.0

    def release(self, data, *, rng, size):
        return np.sum(data) + rng.laplace(scale=self.scale, size=size)


class Outer:
    def __init__(self, inner):
        self.inner = inner

    def release(self, data, *, rng, size):
        return self.inner.release(data, rng=rng, size=size)


HIDDEN, FURTHER = 1.0, 1.0


def scale():
    return HIDDEN


def further():
    return FURTHER


class Meta(type):
    def scale(cls):
        return FURTHER


class WithMeta(metaclass=Meta):
    pass


class Holder:
    __slots__ = ("held",)


HOLDER = Holder()
HOLDER.held = further
PARTIAL = functools.partial(lambda function: function(), further)


def by_default(data, made=scale):
    return np.sum(data) + rng.laplace(scale=made())


def by_keyword(data, *, made=scale):
    return np.sum(data) + rng.laplace(scale=made())


def by_partial(data):
    return np.sum(data) + rng.laplace(scale=PARTIAL())


BOUND = functools.partial(rng.laplace, scale=1.0)


def by_bound(data):
    return np.sum(data) + BOUND()


def by_slot(data):
    return np.sum(data) + rng.laplace(scale=HOLDER.held())


def by_metaclass(data):
    return np.sum(data) + rng.laplace(scale=WithMeta.scale())


class Base:
    noise = 1.0


class Child(Base):
    pass


def made(amount):
    def amount_of_noise():
        return amount

    return amount_of_noise


CHILD, CLOSED = Child(), made(1.0)


def by_instance(data):
    return np.sum(data) + rng.laplace(scale=CHILD.noise)


def by_base(data):
    return np.sum(data) + rng.laplace(scale=Child.noise)


def by_cell(data):
    return np.sum(data) + rng.laplace(scale=CLOSED())


own, slotted, outer = Sum(), Slotted(), Outer(Sum())


def noisy(data):
    return np.sum(data) + rng.laplace(scale=1.0)
"""


NAMES = [
    "noisy",
    "by_default",
    "by_keyword",
    "by_partial",
    "by_slot",
    "by_metaclass",
    "by_instance",
    "by_base",
    "by_cell",
]


@pytest.fixture
def module(tmp_path, monkeypatch):
    file = tmp_path / "kept_in_memory.py"
    file.write_text(PROGRAM)
    spec = importlib.util.spec_from_file_location("kept_in_memory", file)
    made = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "kept_in_memory", made)
    spec.loader.exec_module(made)
    return made


def proved(target):
    return prove(target, data="vector: real 0..1, rows 5..20", relation="replace", claim="pure:1")


def louder(self, scale=0.1):
    self.scale = scale


def quieter(function):
    """Replaces the names of a function's code."""
    code = function.__code__
    function.__code__ = code.replace(co_names=tuple("normal" if each == "laplace" else each for each in code.co_names))


@pytest.mark.parametrize("name", ["own", "slotted", "outer", "Sum", "Data", *NAMES])
def test_what_nobody_has_set_is_proved(module, name):
    found = proved(getattr(module, name))
    assert found.holds or "cannot be made again" in str(found.ended)
    assert proved(module.own).eps == 1.0


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda module: setattr(module.own, "scale", 0.1), "own"),
        (lambda module: setattr(module, "own", module.Sum(0.1)), "own"),
        (lambda module: setattr(module.own, "release", lambda data, *, rng, size: [data]), "own"),
        (lambda module: setattr(module.slotted, "scale", 0.1), "slotted"),
        (lambda module: setattr(module.outer.inner, "scale", 0.1), "outer"),
        (lambda module: setattr(module.outer, "inner", module.Sum(0.1)), "outer"),
        (lambda module: setattr(module.Sum, "__init__", louder), "Sum"),
        (lambda module: setattr(module.Sum.__init__, "__defaults__", (0.1,)), "Sum"),
        (lambda module: setattr(module.Data.__init__, "__defaults__", (0.1,)), "Data"),
        (lambda module: setattr(module, "HIDDEN", 0.1), "by_default"),
        (lambda module: setattr(module, "HIDDEN", 0.1), "by_keyword"),
        (lambda module: setattr(module, "FURTHER", 0.1), "by_partial"),
        (lambda module: module.BOUND.keywords.update(scale=0.1), "by_bound"),
        (lambda module: setattr(module, "FURTHER", 0.1), "by_slot"),
        (lambda module: setattr(module, "FURTHER", 0.1), "by_metaclass"),
        (lambda module: setattr(module.Child, "noise", 0.1), "by_instance"),
        (lambda module: setattr(module.Base, "noise", 0.1), "by_instance"),
        (lambda module: setattr(module.Base, "noise", 0.1), "by_base"),
        (lambda module: setattr(module.CLOSED.__closure__[0], "cell_contents", 0.1), "by_cell"),
        (lambda module: quieter(module.noisy), "noisy"),
        (lambda module: quieter(module.Sum.__init__.__globals__["by_default"]), "by_default"),
        (lambda module: setattr(module, "rng", np.random.default_rng(0)), "noisy"),
        (lambda module: setattr(module, "rng", np.random.Generator(np.random.MT19937(3))), "noisy"),
        (lambda module: setattr(module.rng.bit_generator, "state", np.random.PCG64(5).state), "noisy"),
    ],
)
def test_what_was_set_since_the_import_ends_the_proof(module, change, name):
    change(module)
    found = proved(getattr(module, name))
    assert not found.holds
    assert "is another one in memory than in a fresh copy of its file" in str(found.ended)


def test_a_file_that_was_edited_since_the_import_ends_the_proof(module):
    assert proved(module.noisy).holds
    file = Path(module.__file__)
    file.write_text(file.read_text() + "\n\nLATER = 1\n")
    assert proved(module.noisy).holds  # what it reads is the same
    file.write_text(file.read_text().replace("rng.laplace(scale=1.0)", "rng.laplace(scale=9.0)"))
    assert "another one in memory" in str(proved(module.noisy).ended)


def test_a_name_that_no_code_of_the_program_reads_may_be_set(module):
    module.f, module.name, module.run = module.noisy, 3, print  # as a loop over functions does
    assert proved(module.noisy).holds


def test_a_generator_that_was_drawn_from_is_the_one_of_the_file(module):
    module.rng.normal(size=1000)
    assert proved(module.noisy).holds
