"""The closed form of the post-processing programme against a general solver, and its promises on every input."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpverify.errors import ParameterError
from mechanisms.privatizers.consistency import consistent, never_underestimating, solve_cells
from oracles.consistency_reference import ReferenceProgramme

REFERENCES = {states: ReferenceProgramme(states) for states in range(1, 6)}


def numbers(bound):
    return st.floats(-bound, bound, allow_nan=False, allow_subnormal=False)


@st.composite
def cells(draw, bound=50.0):
    states = draw(st.integers(1, 5))
    noisy = draw(hnp.arrays(np.float64, states, elements=numbers(bound)))
    return noisy, draw(numbers(bound)), draw(st.floats(0, bound, allow_subnormal=False))


@settings(max_examples=120, deadline=None)
@given(cells())
def test_equals_the_general_solver_in_objective_and_in_the_chosen_point(cell):
    noisy, total, slack = cell
    if total + slack < 1e-3:
        total = 1e-3 - slack  # the reference needs a feasible cell that is not on the edge of its tolerance
    ours = solve_cells(noisy, total, slack)
    _, radius = REFERENCES[len(noisy)].solve(noisy, total, slack)
    nearest, _ = REFERENCES[len(noisy)].project(noisy, total, slack)
    assert ours.feasible
    assert float(ours.radius) == pytest.approx(radius, abs=1e-4, rel=1e-5)
    np.testing.assert_allclose(ours.counts, nearest, atol=5e-3)


@settings(max_examples=400, deadline=None)
@given(cells(bound=1e9))
@example((np.array([3.0, 437499776.0]), 0.0, 437499777.0))  # a radius of 1, just above what rounding hides
def test_is_feasible_and_no_smaller_radius_is(cell):
    noisy, total, slack = cell
    solution = solve_cells(noisy, total, slack)
    x, t = solution.counts, float(solution.radius)
    tolerance = 1e-9 * (1 + np.abs(noisy).sum() + abs(total) + slack)
    assert (x >= 0).all()
    assert (np.abs(x - noisy) <= t).all()
    if total + slack < 0:
        assert not solution.feasible
        assert (x == 0).all() or x.sum() <= tolerance  # the documented fallback: the nearest total, zero
        return
    assert solution.feasible
    assert abs(x.sum() - total) <= slack + tolerance
    # certificate of optimality: the three necessary lower bounds on t, one of which is met
    forced = max(0.0, (-noisy).max(), (total - slack - noisy.sum()) / len(noisy))
    smaller = t - 2 * tolerance
    too_much = np.maximum(noisy - smaller, 0).sum() > total + slack
    assert smaller <= forced or too_much


@settings(max_examples=100, deadline=None)
@given(cells())
def test_a_batch_is_its_cells(cell):
    noisy, total, slack = cell
    batch = np.stack([noisy, 2 * noisy, -noisy]).reshape(3, 1, -1)
    totals = np.array([total, total / 2, -total]).reshape(3, 1)
    whole = solve_cells(batch, totals, slack)
    for i in range(3):
        one = solve_cells(batch[i, 0], totals[i, 0], slack)
        np.testing.assert_array_equal(whole.counts[i, 0], one.counts)
        assert whole.radius[i, 0] == one.radius


@settings(max_examples=300, deadline=None)
@given(cells(bound=1e6), st.floats(1e-3, 1e6))
def test_sums_agree_exactly_and_counts_are_positive_on_every_input(cell, bound):
    noisy, total, _ = cell
    shifted = never_underestimating(noisy, total, bound)
    assert shifted.pair_counts == shifted.next_counts.sum(axis=-1)
    assert (shifted.next_counts > 0).all()
    plain = consistent(noisy, total, bound)
    assert plain.pair_counts == plain.next_counts.sum(axis=-1)
    assert (plain.next_counts >= 0).all()


@settings(max_examples=400, deadline=None)
@given(st.data(), st.integers(1, 5), st.floats(0.01, 100))
def test_lemma_on_the_good_event(data, states, bound):
    true = data.draw(hnp.arrays(np.float64, states, elements=st.integers(0, 1000).map(float)))
    shares = data.draw(hnp.arrays(np.float64, states + 1, elements=numbers(1.0)))
    shares = np.where(data.draw(st.booleans()), np.sign(shares), shares)  # also the corners of the good event
    errors = shares * bound / 4
    released = never_underestimating(true + errors[:-1], true.sum() + errors[-1], bound)
    slop = 1e-9 * (1 + true.sum() + bound)
    assert np.abs(released.next_counts - true).max() <= bound + slop
    assert released.pair_counts - true.sum() <= bound + slop
    assert released.pair_counts >= true.sum() - slop


def test_an_impossible_total_gives_the_least_violation_continuously():
    noisy, slack = np.array([3.0, -1.0, 2.0]), 1.0
    below = solve_cells(noisy, -50.0, slack)
    assert not below.feasible
    np.testing.assert_array_equal(below.counts, 0.0)
    edge = solve_cells(noisy, -slack + 1e-9, slack)
    assert edge.feasible
    np.testing.assert_allclose(edge.counts, below.counts, atol=1e-8)


@pytest.mark.parametrize(
    ("noisy", "total", "slack"),
    [
        ([np.nan, 1.0], 1.0, 1.0),
        ([1.0, 1.0], np.inf, 1.0),
        ([1.0, 1.0], 1.0, -1.0),
        ([1.0, 1.0], 1.0, np.nan),
        ([1.0, 1.0], [1.0], 1.0),
        ([], 1.0, 1.0),
    ],
)
def test_impossible_input_is_refused(noisy, total, slack):
    with pytest.raises(ParameterError):
        solve_cells(noisy, total, slack)


@pytest.mark.parametrize("bound", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("form", [never_underestimating, consistent])
def test_impossible_bounds_are_refused(form, bound):
    with pytest.raises(ParameterError):
        form([1.0, 2.0], 3.0, bound)
