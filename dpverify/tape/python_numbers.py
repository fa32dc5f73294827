"""A draw without `size`: NumPy hands out a `float` or `int` of Python, and what it becomes is one as well.

`rng.laplace()` is a float, `2.0 + rng.laplace()` is a float, `np.add(2.0, rng.laplace())` is a `numpy.float64`. An
opaque number keeps that apart: operators between it and numbers of Python give another `OpaqueNumber`, or what Python
gives for the numbers (division by zero raises, comparisons are `bool`, whole numbers have no limit); everything that
NumPy has a part in goes the way of an `OpaqueScalar`.
"""

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from dpverify.tape import arithmetic
from dpverify.tape.opaque import Opaque, OpaqueScalar

MOST_WHOLE = 2**53  # whole numbers that a float64 holds


class OpaqueNumber(OpaqueScalar):
    """A `float` or `int` of Python that does not exist yet."""

    weak = True

    def numbers(self) -> Any:
        """The number."""
        return super().numbers().item()

    def __reduce__(self) -> Any:
        return type(self.numbers()), (self.numbers(),)

    def __floor__(self) -> int:
        found: int = math.floor(self.numbers())
        return found

    def __ceil__(self) -> int:
        found: int = math.ceil(self.numbers())
        return found


def number_of(value: OpaqueScalar) -> OpaqueNumber:
    """The same number, as one of Python."""
    return OpaqueNumber(value._arena, value._off, value._coef, value._place, value._memory)


def _is_numpy(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic | Opaque) and not isinstance(value, OpaqueNumber)


def _fits(value: Any) -> bool:
    return type(value) in (bool, float) or (type(value) is int and abs(value) < MOST_WHOLE)


def _plain(value: Any) -> Any:
    return value.numbers() if isinstance(value, Opaque) else value


def _python(act: Any, python: Callable[..., Any], *sides: Any) -> Any:
    """The operator on numbers of Python: opaque where that needs no number, else Python's own."""
    if act is np.divide:
        sides = sides[0], _plain(sides[1])
    divides = act is np.divide and sides[1] == 0
    fits = all(isinstance(each, OpaqueNumber) or _fits(each) for each in sides)
    arena = next((each._arena for each in sides if isinstance(each, Opaque)), None)
    if act is not None and arena is not None and fits and not divides:
        found = arithmetic.kept(arena, act, sides)
        if isinstance(found, OpaqueScalar):
            return number_of(found)
        if found is not NotImplemented:
            return found.item()
    return python(*(_plain(each) for each in sides))


def _operator(name: str, act: Any) -> None:
    """`__name__` and its reflection."""
    python = getattr(operator, f"__{name}__") if name != "divmod" else divmod
    inherited = getattr(OpaqueScalar, f"__{name}__", None), getattr(OpaqueScalar, f"__r{name}__", None)

    def forward(self: OpaqueNumber, other: Any) -> Any:
        if inherited[0] is not None and _is_numpy(other):
            return inherited[0](self, other)
        return _python(act, python, self, other)

    def reflected(self: OpaqueNumber, other: Any) -> Any:
        if inherited[1] is not None and _is_numpy(other):
            return inherited[1](self, other)
        return _python(act, python, other, self)

    setattr(OpaqueNumber, f"__{name}__", forward)
    if inherited[1] is not None:
        setattr(OpaqueNumber, f"__r{name}__", reflected)


def _signed(name: str, act: Any) -> None:
    python = getattr(operator, f"__{name}__")
    setattr(OpaqueNumber, f"__{name}__", lambda self: _python(act, python, self))


for _name, _act in (
    *(("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("truediv", np.divide)),
    *(("lt", np.less), ("le", np.less_equal), ("gt", np.greater), ("ge", np.greater_equal), ("eq", None), ("ne", None)),
    *((name, None) for name in ("floordiv", "mod", "divmod", "pow", "and", "or", "xor", "lshift", "rshift")),
):
    _operator(_name, _act)
_signed("neg", np.negative)
_signed("pos", np.positive)
_signed("abs", None)
_signed("invert", None)
OpaqueNumber.__hash__ = OpaqueScalar.__hash__  # type: ignore[method-assign]
