"""What runs beside the library: fields of any output, values on the wire, the standard library of Python 3.7 alone."""

import ast
import math
import pickle
import random
import sys
import types
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas
import pytest

from dpverify.wild import encode
from dpverify.wild.worker import calling, codec, encoding, serving

FILES = sorted((Path(encoding.__file__).parent).glob("*.py"))
# of the standard library, after Python 3.7: a linter has put `functools.cache` here once
LATER = set(
    """
    cache cached_property removeprefix removesuffix strict prod isqrt comb dist nextafter lcm pairwise readlink
    randbytes waitstatus_to_exitcode orig_argv is_relative_to missing_ok bit_count batched add_note
""".split()
)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_worker_is_python_37_and_the_standard_library(file):
    tree = ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 7))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [each.name.partition(".")[0] for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [str(node.module).partition(".")[0]]
        else:
            continue
        inside = any(node in ast.walk(each) for each in ast.walk(tree) if isinstance(each, ast.FunctionDef))
        allowed = {*sys.stdlib_module_names, *({"numpy", "pandas"} if inside else ())}
        assert set(names) <= allowed, file
    assert not any(isinstance(node, ast.NamedExpr | ast.Match) for node in ast.walk(tree))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    used |= {each.arg for node in ast.walk(tree) if isinstance(node, ast.Call) for each in node.keywords if each.arg}
    assert not used & LATER, file


@dataclass
class Point:
    x: float
    y: str


Named = namedtuple("Named", "a b")


class Model:
    def __init__(self):
        self.coef_, self.inertia_, self.hidden, self._own_ = np.array([1.5]), 2.0, 3.0, 4.0

    def fit(self, data):
        return self

    def get_params(self):
        return {}


CASES = [
    (1.5, {"output": 1.5, "output:type": "float"}),
    (True, {"output": 1.0, "output:type": "bool"}),
    (2**60, {"output": str(2**60), "output:type": "int"}),
    (None, {"output": "None"}),
    ("a", {"output": "a"}),
    ([1, None], {"output#": 2.0, "output[0]": 1.0, "output[1]": "None"}),
    ({"b": 1, "a": 2}, {"output.keys": "'b', 'a'", "output['a']": 2.0}),
    (np.ones((2, 1), np.float32), {"output#": "2x1", "output:type": "float32", "output[1][0]": 1.0}),
    (np.float64(0.5), {"output": 0.5, "output:type": "float64"}),
    (Point(1.0, "z"), {"output['x']": 1.0, "output['y']": "z"}),
    (Named(1, 2), {"output['a']": 1.0, "output.keys": "'a', 'b'"}),
    (Model(), {"coef_[0]": 1.5, "inertia_": 2.0}),
    ({1.5}, {"output[0]": "1.5"}),
    (1 + 2j, {"output.real": 1.0, "output.imag": 2.0}),
    (
        pandas.DataFrame({"a": [1.0, math.inf], "b": ["x", None]}),
        {"output#": 2.0, "output['a'][1]": math.inf, "output['b'][0]": "x"},
    ),
    (pandas.Series([1, 2], index=["p", "q"]), {"output.index": "'p', 'q'", "output[1]": 2.0}),
]


@pytest.mark.parametrize(("value", "fields"), CASES, ids=lambda each: type(each).__name__)
def test_fields(value, fields):
    found = encode(value)
    assert {name: found[name] for name in fields} == fields
    assert all(type(each) in (float, str) for each in found.values())


def test_what_is_no_number_is_no_zero():
    found = encode([None, math.nan, math.inf, 0.0])
    assert found["output[0]"] == "None"
    assert math.isnan(found["output[1]"])
    assert [found["output[2]"], found["output[3]"]] == [math.inf, 0.0]
    assert encode([1]) != encode([True])
    assert encode([1]) != encode((1,))
    assert encode(np.array([1.0])) != encode(np.array([1.0], np.float32))


def test_hidden_attributes_and_addresses_are_no_fields():
    assert sorted(encode(Model())) == ["coef_#", "coef_:type", "coef_[0]", "inertia_", "inertia_:type"]
    found, notes = encoding.encoded(object())
    assert found == {"output": "<object object at 0x>"}
    assert notes == ["builtins.object"]


def test_exceptions_are_outputs_without_their_numbers():
    assert encoding.raised(ValueError("row 17 is 3.5e3")) == {"!ValueError": 1.0, "!message": "row N is N"}


def test_too_much_is_refused():
    with pytest.raises(encoding.TooMuch, match="20000"):
        encode(np.zeros(20_001))


SENT = [
    1,
    2.5,
    None,
    "x",
    b"x",
    [1, [2]],
    (1, 2),
    {"a": 1},
    {1, 2},
    np.arange(3),
    np.float32(2.5),
    math.inf,
    np.array(["a", "bc"]),
    np.array([1, None], dtype=object),
    np.zeros((0, 2)),
]


@pytest.mark.parametrize("value", SENT, ids=repr)
def test_values_travel_as_builtins(value):
    data = codec.packed(codec.plain(value))
    back = codec.restored(codec.unpacked(data))
    assert type(back) is type(value)
    assert np.array_equal(back, value) if hasattr(value, "dtype") else back == value
    assert getattr(back, "dtype", None) == getattr(value, "dtype", None)
    assert b"numpy" not in data


def test_frames_travel():
    frame = pandas.DataFrame({"a": [1, 2], "b": [0.5, math.nan], "c": ["x", None]}, index=[3, 4])
    pandas.testing.assert_frame_equal(codec.restored(codec.unpacked(codec.packed(codec.plain(frame)))), frame)


def test_versions_are_plain_texts(monkeypatch):
    class Own(str):  # torch has one
        pass

    module = types.ModuleType("odd_version")
    module.__file__, module.__version__ = "/elsewhere/odd_version.py", Own("1.2")
    monkeypatch.setitem(sys.modules, "odd_version", module)
    assert type(serving.versions()["odd_version"]) is str
    assert codec.unpacked(codec.packed(serving.versions()))["odd_version"] == "1.2"


def test_no_class_is_read_from_the_wire():
    with pytest.raises(pickle.UnpicklingError):
        codec.unpacked(pickle.dumps(Path("x"), 4))
    for value in (object(), np.ma.masked_array([1.0], [True]), Path("x")):
        with pytest.raises(codec.Unsendable):
            codec.plain(value)


def with_seed(data, seed):
    return seed


def with_rng(data, *, rng):
    return rng.random()


def with_state(data, random_state=None):
    return random_state.rand()


def plain(data, eps, also=1):
    return random.random()


class Fitted:
    def __init__(self, k):
        self.k = k

    def fit(self, X, y):
        self.sum_ = X.sum() + y.sum() + self.k


def target(data, *, rng, size):
    return rng.random(size)


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (with_seed, "seed"),
        (with_rng, "rng"),
        (with_state, "rng"),
        (plain, "data"),
        (Fitted, "fit"),
        (target, "target"),
    ],
)
def test_shapes_are_read_from_the_signature(function, shape):
    arguments = {plain: {"eps": 1.0}, Fitted: {"k": 2}}.get(function, {})
    caller = calling.Caller(function, "auto", arguments)
    assert caller.call == shape
    data = ("args", [np.ones(2), np.ones(2)]) if shape == "fit" else ("one", 1.0)
    caller.check(*data)
    one, again, other = (caller.release(data, seed) for seed in (1, 1, 2))
    if shape == "fit":
        assert one.sum_ == 6
    else:
        assert one == again != other


@pytest.mark.parametrize(
    ("function", "arguments", "words"),
    [
        (plain, {}, "needs eps as well, e.g. --arg eps=1.0"),
        (plain, {"eps": 1, "other": 2}, "has no parameter other"),
        (Model, {"k": 2}, "no parameter k"),
        (Point, {}, "must have `release` or `fit`"),
        (3, {}, "cannot be called"),
    ],
)
def test_what_cannot_be_called_is_said_in_one_line(function, arguments, words):
    with pytest.raises(calling.Refused, match=words.replace("(", r"\(")):
        calling.Caller(function, "auto", arguments).check("one", 1.0)


async def awaited(x):
    return x + 1


def generated(x):
    yield x
    yield x + 1


async def generated_and_awaited(x):
    yield x + 2


@pytest.mark.parametrize(
    ("function", "given"), [(awaited, 2.0), (generated, [1.0, 2.0]), (generated_and_awaited, [3.0])]
)
def test_what_a_function_gives_later_is_its_output(function, given):
    assert calling.Caller(function, "data").release(("one", 1.0), 7) == given
