"""Draws without `size` are numbers of Python, and so is what becomes of them."""

import copy
import math
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpverify.tape.opaque import made, Opaque
from dpverify.tape.outputs import parts, settled
from dpverify.tape.randomness import Arena

OTHERS: list[Any] = [
    *(0, 1, -3, 2**60, True, False, 0.0, -0.0, 2.5, -1.0, float("inf"), float("nan")),
    *(np.float64(2.5), np.float32(0.1), np.int64(3), np.int32(-2), np.bool(True)),
    *(np.array(1.5), np.array([1.0, -2.0]), np.array([1.0, 2.0], dtype=np.float32), np.array([1, 2]), "word", None),
]
BINARY = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow),
    *(divmod, operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne, operator.and_),
    *(operator.or_, operator.xor, operator.lshift, operator.rshift),
    *(np.add, np.subtract, np.multiply, np.divide, np.less, max, min, lambda a, b: sum([a, b]), lambda a, b: [a, b]),
]
UNARY: list[Callable[[Any], Any]] = [
    *(operator.neg, operator.pos, operator.abs, operator.invert, round, float, int, bool, repr, str, hash, np.asarray),
    *(math.floor, math.ceil, math.trunc, np.round, np.exp, np.float32),
    *(lambda a: a.is_integer(), lambda a: f"{a:.3f}", lambda a: np.array([a, a]), lambda a: round(a, 1)),
    *(lambda a: copy.deepcopy(a), lambda a: pickle.loads(pickle.dumps(a))),
]


def number(value: Any, family: str) -> Any:
    """An opaque number of Python."""
    arena = Arena()
    dtype = np.int64 if type(value) is int else np.float64
    parameters = (4.0,) if family == "poisson" else ()
    return made(arena, arena.draw(family, np.asarray(value, dtype=np.float64), parameters), dtype, like=value)


def outcome(act: Callable[..., Any], *given: Any) -> Any:
    """What comes of it: numbers to 1e-12 (off + z is divided in two parts), dtype, type or error."""
    try:
        with np.errstate(all="ignore"):
            found = settled(act(*given))
    except (TypeError, ValueError, ZeroDivisionError, OverflowError, AttributeError) as error:
        return type(error)
    return [
        (name, None if numbers is None else [float(f"{each:.12e}") for each in numbers].__repr__())
        for name, numbers in parts(found)
    ]


@pytest.mark.parametrize(("value", "family"), [(1.25, "laplace"), (-0.5, "normal"), (3, "poisson"), (0.25, "uniform")])
def test_a_draw_without_size_is_what_numpy_gives(value: Any, family: str) -> None:
    """Every operator with every operand, both ways: the same bits, type and error as for the number itself."""
    for act in BINARY:
        for other in OTHERS:
            if act in (operator.pow, operator.lshift) and type(other) is int and other > 2**50:
                continue  # more digits than there is memory
            assert outcome(act, number(value, family), other) == outcome(act, value, other), (act, other)
            if (
                act is not operator.mod or type(other) is not str
            ):  # a text is formatted by C, and has a number of its own
                assert outcome(act, other, number(value, family)) == outcome(act, other, value), (other, act)
        both = number(value, family)
        assert outcome(act, both, both + 0) == outcome(act, value, value), act
    for act in UNARY:
        assert outcome(act, number(value, family)) == outcome(act, value), act


def test_sums_of_numbers_of_python_stay_opaque() -> None:
    noise = number(1.25, "laplace")
    for found in (noise + 1.0, 2 - noise, 3 * noise, noise / 4, -noise, sum([noise, 1.0]), True + noise):
        assert isinstance(found, Opaque)
        assert found.weak
    assert isinstance(np.add(noise, 1.0), Opaque)
    assert not np.add(noise, 1.0).weak
