import math
import pickle
from enum import Enum
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify import errors
from dpverify.base import require, rounding
from dpverify.base.seeding import Stage, stream


class Colour(Enum):
    RED = "red"


CHECKS = [
    (lambda x: require.positive(x=x), [1e-300, 1, 2.5], [0, -1, math.inf, math.nan, "1", None, True]),
    (lambda x: require.non_negative(x=x), [0, 0.0, 3], [-1e-300, math.inf, math.nan, None]),
    (lambda x: require.finite(x=x), [0, -3.5], [math.inf, -math.inf, math.nan, "a"]),
    (lambda x: require.delta(x=x), [0, 0.5, 0.999], [1, -0.1, math.nan, math.inf]),
    (lambda x: require.open_unit(x=x), [0.05], [0, 1, math.nan]),
    (lambda x: require.probability(x=x), [0, 1, 0.3], [-0.1, 1.1, math.nan]),
    (lambda x: require.integer(at_least=2, x=x), [2, np.int64(5)], [1, 2.0, True, math.nan, "2"]),
    (lambda x: require.member(Colour, x=x), [Colour.RED], ["red", None]),
]


@pytest.mark.parametrize(("check", "allowed", "refused"), CHECKS)
def test_range_checks_refuse_nan_and_name_the_value(check, allowed, refused):
    for value in allowed:
        check(value)
    for value in refused:
        with pytest.raises(errors.ParameterError, match=r"^x = ") as caught:
            check(value)
        assert repr(value) in str(caught.value)


def test_every_error_has_an_exit_code_and_survives_pickling():
    for error, code in [
        (errors.ParameterError("eps", math.inf, "finite"), 2),
        (errors.NeighbourError("no"), 2),
        (errors.DiscoveryError("none"), 2),
        (errors.TargetError("shape"), 3),
        (errors.AccountingError("no"), 3),
    ]:
        again = pickle.loads(pickle.dumps(error))
        assert str(again) == str(error)
        assert type(again).exit_code == code
    assert issubclass(errors.UsageError, ValueError)


@given(st.floats(1e-300, 1e300), st.floats(1e-3, 1e3))
def test_division_is_rounded_up_by_less_than_one_step(a, b):
    quotient = rounding.div_up(a, b)
    assert Fraction(quotient) * Fraction(b) >= Fraction(a)
    assert Fraction(math.nextafter(quotient, 0)) * Fraction(b) < Fraction(a)


@given(st.floats(5e-324, 1e308))
def test_square_root_is_rounded_up(x):
    root = rounding.sqrt_up(x)
    assert Fraction(root) ** 2 >= Fraction(x)
    assert Fraction(math.nextafter(math.nextafter(root, 0), 0)) ** 2 < Fraction(x)
    assert rounding.sqrt_up(0.0) == 0


def test_numbers_beyond_the_largest_float_round_outwards():
    huge = Fraction(10) ** 400
    assert rounding.float_up(huge) == math.inf
    assert rounding.float_down(huge) == math.nextafter(math.inf, 0)
    assert rounding.float_up(-huge) == -math.nextafter(math.inf, 0)


def test_streams_depend_on_meaning_only():
    a = stream(7, Stage.ESTIMATE, 3, 1).random(4)
    assert (stream(7, Stage.ESTIMATE, 3, 1).random(4) == a).all()
    for other in [
        (7, Stage.SELECT, 3, 1),
        (7, Stage.ESTIMATE, 3, 0),
        (7, Stage.ESTIMATE, 4, 1),
        (8, Stage.ESTIMATE, 3, 1),
    ]:
        assert (stream(*other).random(4) != a).all()
    with pytest.raises(errors.ParameterError):
        stream(-1, Stage.SELECT)
