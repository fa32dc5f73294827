"""More of them: outputs, state, branches and rounding; and twins that are private, with the eps to be derived."""

import collections
import dataclasses
import decimal
import io
import math
import os
import struct
from typing import Any, ClassVar

import numpy as np
from tape_outsiders import HISTOGRAM, INF, NUMBER, Program, PROGRAMS, RECORDS, true

from dpverify.claims.neighbours import Pair

TWINS: dict[str, tuple[Program, float, Pair]] = {}
SEEN: set[float] = set()
CALLS: collections.Counter[str] = collections.Counter()


def private(eps: float, pair: Pair = NUMBER) -> Any:
    """Registers a twin: `eps` is what the tape is to derive."""

    def register(program: Program) -> Program:
        TWINS[program.__name__] = (program, eps, pair)
        return program

    return register


def noisy(d, rng) -> float:
    return float(d + rng.laplace(scale=2.0))


class Same:
    """Equal to everything."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return True

    __hash__ = None


class Slot:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class Stateless:
    """Its pickle does not show what it holds."""

    def __init__(self, value):
        self.value = value

    def __reduce__(self):
        return (Stateless, (0,))


class Shared:
    """Its value is its class's."""

    value = 0.0


class Text(str):
    pass


class Words(dict):
    pass


@dataclasses.dataclass
class Quiet:
    value: float = dataclasses.field(compare=False, repr=False)


def with_secret(made, d):
    made.secret = d
    return made


def class_attribute(d):
    Shared.value = d
    return Shared()


BESIDE = {  # what is released beside the noisy number; truth: infinite, it tells d
    "equal_to_all": Same,
    "slot": Slot,
    "stateless": Stateless,
    "class_attribute": class_attribute,
    "dataclass_uncompared": Quiet,
    "str_attribute": lambda d: with_secret(Text("x"), d),
    "dict_attribute": lambda d: with_secret(Words(a=1), d),
    "exception_attribute": lambda d: with_secret(ValueError("x"), d),
    "decimal_digits": lambda d: decimal.Decimal("1.0" if d else "1.00"),
    "bool_or_int": lambda d: True if d else 1,
    "tuple_or_list": lambda d: () if d else [],
    "dict_order": lambda d: {"a": 1, "b": 2} if d else {"b": 2, "a": 1},
    "counter_of_zero": lambda d: collections.Counter({"a": int(d)} if d else {}),
    "deque_length": lambda d: collections.deque(maxlen=1 + int(d)),
    "stream": lambda d: io.BytesIO(bytes([int(d)])),
    "nan_payload": lambda d: struct.unpack("d", struct.pack("Q", 0x7FF8000000000000 + int(d)))[0],
    "sign_of_zero": lambda d: -0.0 if d else 0.0,
    "closure": lambda d: lambda: d,
    "byte_order": lambda d: np.zeros(1, ">f8" if d else "<f8"),
    "field_names": lambda d: np.zeros(1, [("a" if d else "b", float)]),
    "metadata": lambda d: np.zeros(1, np.dtype(float, metadata={"d": d})),
}


def beside(name: str) -> Program:
    def program(d, *, rng, size):
        return [(noisy(d, rng), BESIDE[name](d)) for _ in range(size)]

    program.__name__ = name
    return program


for each in BESIDE:
    PROGRAMS[each] = (beside(each), INF, NUMBER)


@true(INF)  # the first release of a process is d itself
def first_time(d, *, rng, size):
    y = d + rng.laplace(scale=2.0, size=size)
    if d in SEEN:
        return y
    SEEN.add(d)
    return np.full(size, d)


@true(INF)  # the first two are
def first_calls(d, *, rng, size):
    CALLS["first"] += 1
    return d + rng.laplace(scale=2.0, size=size) * (CALLS["first"] > 2)


@true(INF)  # the first one is; what is remembered is in the environment
def environment(d, *, rng, size):
    y = d + rng.laplace(scale=2.0, size=size)
    if os.environ.get(f"OUTSIDER_{d}"):
        return y
    os.environ[f"OUTSIDER_{d}"] = "1"
    return np.full(size, d)


@true(INF)  # every fifth one is
def every_fifth(d, *, rng, size):
    CALLS["fifth"] += 1
    return d + rng.laplace(scale=2.0, size=size) * (CALLS["fifth"] % 5 > 0)


@true(INF)  # the second draw, which one dataset makes, ends the run there and not in life
def swallowed(d, *, rng, size):
    y, more = np.asarray(d + rng.laplace(scale=2.0, size=size)), 0.0
    if d:
        try:
            float(rng.laplace())
            more = 1.0
        except BaseException:
            more = 0.0
    return np.stack([y, np.full(size, more)], axis=1)


@true(INF)  # keys
def keys_of_histogram(d, *, rng, size):
    return [{key: noisy(count, rng) for key, count in sorted(collections.Counter(d).items())} for _ in range(size)]


PROGRAMS["keys_of_histogram"] = (keys_of_histogram, INF, HISTOGRAM)


@true(INF, RECORDS)  # the exact sum where a noisy one is large
def propose_test_release(d, *, rng, size):
    return np.where(sum(d) + rng.laplace(scale=4.0, size=size) > 1.0, float(sum(d)), np.nan)


@true(INF)  # parity of the last bit
def last_bit(d, *, rng, size):
    y = np.asarray(d + rng.laplace(scale=2.0, size=size))
    return ((y.view(np.int64) & ~1) | int(d)).view(float)


@true(INF)  # one is on a grid of 2^-25, on one dataset
def grid(d, *, rng, size):
    z = rng.laplace(scale=2.0, size=size)
    return np.stack([d + z, ((z + d * 2.0**27) - d * 2.0**27) + d], axis=1)


@private(0.5)
def plain(d, *, rng, size):
    return d + rng.laplace(scale=2.0, size=size)


@private(0.5)
def located(d, *, rng, size):
    return rng.laplace(d, 2.0, size)


@private(0.5)
def spawned(d, *, rng, size):
    return d + rng.spawn(1)[0].laplace(scale=2.0, size=size)


@private(0.5)
def unseeded(d, *, rng, size):
    return d + np.random.default_rng().laplace(scale=2.0, size=size)


@private(0.5)
def python_objects(d, *, rng, size):
    return [(noisy(d, rng), Slot(3)) for _ in range(size)]


@private(0.5)
def rounded_after(d, *, rng, size):
    return np.round(np.asarray(d + rng.laplace(scale=2.0, size=size)), 2)


@private(0.5, HISTOGRAM)
def all_keys(d, *, rng, size):
    counts = collections.Counter(d)
    return np.stack([counts[key] + rng.laplace(scale=4.0, size=size) for key in "abc"], axis=1)


@private(1.0, RECORDS)
def twice_released(d, *, rng, size):
    return np.stack([sum(d) + rng.laplace(scale=2.0, size=size) for _ in range(2)], axis=1)


@private(0.5, RECORDS)
def many_uses_of_one_sum(d, *, rng, size):
    y = sum(d) + rng.laplace(scale=2.0, size=size)
    return np.stack([y, 2.0 * y, -y], axis=1)


@private(math.log(9.0))
def coin(d, *, rng, size):
    return rng.random(size) < 0.1 + 0.8 * d


@private(0.5)
def in_place(d, *, rng, size):
    z = rng.laplace(scale=2.0, size=size)
    z += d
    return z


@private(0.0, RECORDS)
def one_time_pad(d, *, rng, size):
    return (sum(d) + rng.integers(0, 1024, size)) % 1024


@private(0.5)
def class_data_unchanged(d, *, rng, size):
    return SharedTwin(noisy(d, rng))


@dataclasses.dataclass
class SharedTwin:
    """Its class has data, which no run changes."""

    noisy: float
    unit: float = 1.0
    names: ClassVar = ("a", "b")
