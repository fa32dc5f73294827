"""Range checks that NaN cannot pass: each test is written so that a comparison with NaN fails.

Names come from the keywords: `require.positive(scale=scale)`.
"""

import math
import numbers
import operator
from dataclasses import fields
from enum import Enum
from typing import Any, TypeVar

from dpverify.errors import ParameterError

E = TypeVar("E", bound=Enum)
MOST = 10**100  # products of some counts are floats as well


def _real(name: str, value: Any, allowed: str) -> float:
    # bool is a number to Python, never to us; NumPy scalars are numbers.Real through registration
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ParameterError(name, value, allowed)
    try:
        return float(value)
    except OverflowError:  # an integer or a fraction beyond all floats
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]


def positive(**named: Any) -> None:
    """Finite and > 0."""
    for name, value in named.items():
        if not 0 < _real(name, value, "a finite number > 0") < math.inf:
            raise ParameterError(name, value, "a finite number > 0")


def non_negative(**named: Any) -> None:
    """Finite and >= 0."""
    for name, value in named.items():
        if not 0 <= _real(name, value, "a finite number >= 0") < math.inf:
            raise ParameterError(name, value, "a finite number >= 0")


def finite(**named: Any) -> None:
    """Neither NaN nor infinite."""
    for name, value in named.items():
        if not math.isfinite(_real(name, value, "a finite number")):
            raise ParameterError(name, value, "a finite number")


def delta(**named: Any) -> None:
    """In [0, 1): the failure mass of an (eps, delta) claim."""
    for name, value in named.items():
        if not 0 <= _real(name, value, "in [0, 1)") < 1:
            raise ParameterError(name, value, "in [0, 1)")


def open_unit(**named: Any) -> None:
    """Strictly between 0 and 1: a significance, a failure probability."""
    for name, value in named.items():
        if not 0 < _real(name, value, "in (0, 1)") < 1:
            raise ParameterError(name, value, "in (0, 1)")


def probability(**named: Any) -> None:
    """In [0, 1]."""
    for name, value in named.items():
        if not 0 <= _real(name, value, "in [0, 1]") <= 1:
            raise ParameterError(name, value, "in [0, 1]")


def own_numbers(instance: Any) -> None:
    """NumPy's scalars in the fields of a dataclass become Python's numbers, in tuples as well.

    Their arithmetic wraps or overflows: twice np.uint8(200) is 144, and an account of it would be below the truth.
    """
    for each in fields(instance):
        if each.init and (found := _own(value := getattr(instance, each.name))) is not value:
            object.__setattr__(instance, each.name, found)


def _own(value: Any) -> Any:
    if type(value) is tuple:
        found = tuple(map(_own, value))
        return value if all(map(operator.is_, found, value)) else found
    scalar = type(value).__module__ == "numpy" and isinstance(value, numbers.Number)
    return value.item() if scalar else value


def integer(*, at_least: int, **named: Any) -> None:
    """A whole number >= `at_least` (2.0 and True are refused: counts are integers), and no larger than `MOST`."""
    for name, value in named.items():
        whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        if not (whole and value >= at_least):
            raise ParameterError(name, value, f"a whole number >= {at_least}")
        if value > MOST:
            raise ParameterError(name, value, "a whole number of at most 100 digits")


def instance(kind: type, **named: Any) -> None:
    """Of this class, or of one of its kinds."""
    for name, value in named.items():
        if not isinstance(value, kind):
            article = "an" if kind.__name__[0] in "AEIOU" else "a"
            raise ParameterError(name, value, f"{article} {kind.__name__}")


def several(kind: type, **named: Any) -> None:
    """A tuple or list of such."""
    for name, value in named.items():
        if not (isinstance(value, tuple | list) and all(isinstance(each, kind) for each in value)):
            raise ParameterError(name, value, "a tuple" + (f" of {kind.__name__}" if kind is not object else ""))


def member(enum: type[E], **named: Any) -> None:
    """A member of a closed enum; anything else is named together with what is allowed."""
    for name, value in named.items():
        if not isinstance(value, enum):
            raise ParameterError(name, value, "one of " + ", ".join(str(each) for each in enum))
