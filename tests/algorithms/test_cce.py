"""CCE of batches of small games: the two inequalities, against the reference, and the rule of choice."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from algorithms.nash_vi.equilibria import cce, reference, TOLERANCE, violation
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError

SHAPES = [(1, 1), (1, 3), (3, 1), (2, 2), (2, 3), (3, 2), (3, 3), (4, 4)]


def tables(shape, cells=60, seed=0):
    """Random tables with upper >= lower in [0, 6]; a third equal, a third with many ties."""
    rng = stream(seed, Stage.EXPERIMENT, *shape)
    low = rng.uniform(0, 3, size=(cells, *shape))
    high = low + rng.uniform(0, 3, size=low.shape)
    high[::3] = low[::3]
    high[1::3], low[1::3] = np.round(high[1::3]), np.floor(low[1::3])
    return high, low


def is_law(joint):
    assert (joint >= 0).all()
    assert np.allclose(joint.sum(axis=(-2, -1)), 1, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_both_inequalities_hold_to_1e_9(shape):
    high, low = tables(shape)
    joint = cce(high, low)
    is_law(joint)
    assert violation(joint, high, low).max() <= 1e-9


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 3)])
def test_the_reference_satisfies_them_too(shape):
    high, low = tables(shape, cells=6)
    for upper, lower in zip(high, low, strict=True):
        joint = reference(upper, lower)
        is_law(joint)
        assert violation(joint, upper, lower) <= 1e-9


entries = st.one_of(st.integers(0, 3).map(float), st.floats(0, 6, allow_nan=False))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.sampled_from([(2, 2), (2, 3), (3, 3)]).flatmap(lambda s: st.tuples(*[arrays(float, s, elements=entries)] * 2))
)
def test_any_two_tables_have_one(pair):
    upper, lower = pair
    joint = cce(upper, lower)
    is_law(joint)
    assert violation(joint, upper, lower) <= TOLERANCE


def test_impossible_tables_are_refused():
    with pytest.raises(ParameterError, match="shapes"):
        cce(np.zeros((2, 2)), np.zeros((2, 3)))
    with pytest.raises(ParameterError, match="upper"):
        cce(np.array([[np.nan]]), np.zeros((1, 1)))
