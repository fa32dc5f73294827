"""Exact divergences against the definition, high precision and closed forms."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.errors import ParameterError
from dpverify.ledger.events import pure_to_zcdp
from oracles.finite_laws import delta_at, eps_at, renyi


def response(eps: float) -> tuple[list[float], list[float]]:
    p = 1 / (1 + math.exp(-eps))
    return [p, 1 - p], [1 - p, p]


def oracle(p, q, eps):
    """delta by its definition, 50 digits, from the exact values of the floats over their sums."""
    with mpmath.workdps(50):
        factor = mpmath.exp(mpmath.mpf(eps))
        p, q = ([mpmath.mpf(a) / mpmath.fsum(law) for a in law] for law in (p, q))
        ways = ((p, q), (q, p))
        return max(
            sum(max(mpmath.mpf(a) - factor * mpmath.mpf(b), 0) for a, b in zip(*way, strict=True)) for way in ways
        )


@st.composite
def pairs(draw):
    size = draw(st.integers(2, 6))
    weights = st.lists(st.integers(0, 50), min_size=size, max_size=size).filter(any)
    first, second = draw(weights), draw(weights)
    return [w / sum(first) for w in first], [w / sum(second) for w in second]


def test_response_has_its_closed_form_profile():
    p, q = response(1.0)
    for eps in (0.0, 0.3, 0.9):
        want = (math.exp(1) - math.exp(eps)) / (1 + math.exp(1))
        assert delta_at(p, q, eps) == pytest.approx(want, rel=1e-13)
        assert eps_at(p, q, want) == pytest.approx(eps, abs=1e-13)
    assert eps_at(p, q, 0.0) == pytest.approx(1.0, rel=1e-14)


def test_the_larger_direction_is_taken():
    p, q = [0.5, 0.5, 0.0], [0.5, 0.4, 0.1]
    assert delta_at(p, q, 5.0) == delta_at(q, p, 5.0) == pytest.approx(0.1, rel=1e-14)
    assert eps_at(p, q, 0.0) == math.inf
    assert eps_at(p, q, 0.05) == math.inf
    assert eps_at(p, q, 0.2) == 0.0


@settings(max_examples=200, deadline=None)
@given(pairs(), st.floats(0, 5))
def test_delta_is_rounded_up_and_tight(pair, eps):
    got, exact = delta_at(*pair, eps), oracle(*pair, eps)
    assert exact <= got <= exact + mpmath.mpf("2e-15")


@settings(max_examples=200, deadline=None)
@given(pairs(), st.floats(1e-9, 0.9))
def test_eps_is_the_smallest_that_fits(pair, delta):
    eps = eps_at(*pair, delta)
    if eps == math.inf:
        assert oracle(*pair, 700.0) > delta * (1 - 1e-12)
        return
    assert oracle(*pair, eps) <= delta * (1 + 1e-15) + 1e-16
    if eps > 1e-9:
        assert oracle(*pair, eps - 1e-9 * max(1.0, eps)) > delta - 1e-14
    assert delta_at(*pair, eps) <= delta + 4e-15


@settings(max_examples=100, deadline=None)
@given(pairs())
def test_eps_at_zero_is_at_least_every_log_ratio(pair):
    eps = eps_at(*pair, 0.0)
    with mpmath.workdps(50):
        first, second = ([mpmath.mpf(a) / mpmath.fsum(law) for a in law] for law in pair)
        for p, q in ((first, second), (second, first)):
            for a, b in zip(p, q, strict=True):
                if a > 0:
                    assert eps >= (mpmath.log(a / b) if b else mpmath.inf)


def test_a_million_outputs():
    """Vectorised, and the inverse of one another; the larger direction of the two."""
    rng = np.random.Generator(np.random.PCG64(5))
    p = rng.random(1_000_000)
    q = rng.random(1_000_000)
    p, q = p / math.fsum(p), q / math.fsum(q)
    delta = delta_at(p, q, 0.5)
    ways = [math.fsum(np.maximum(a - math.exp(0.5) * b, 0)) for a, b in ((p, q), (q, p))]
    assert delta == pytest.approx(max(ways), rel=1e-12)
    assert eps_at(p, q, delta) == pytest.approx(0.5, abs=1e-12)


def test_renyi_of_two_bernoullis_and_its_limit():
    p, q = [0.7, 0.3], [0.4, 0.6]
    want = math.log(0.7**2 / 0.4 + 0.3**2 / 0.6)
    assert renyi(p, q, 2) == pytest.approx(want, rel=1e-14)
    assert renyi(p, q, math.inf) == pytest.approx(math.log(0.7 / 0.4), rel=1e-14)
    assert renyi([0.5, 0.5], [1.0, 0.0], 2) == math.inf
    assert renyi([1.0, 0.0], [0.5, 0.5], 2) == pytest.approx(math.log(2))


def test_pure_implies_zcdp_on_response():
    for eps, order in itertools.product((0.1, 1.0, 3.0), (1.01, 2, 10)):
        assert renyi(*response(eps), order) <= order * pure_to_zcdp(Fraction(eps))


@pytest.mark.parametrize("law", [[0.5, 0.6], [math.nan, 1.0], [-0.1, 1.1], [], [[0.5, 0.5]], [1.0]])
def test_what_is_no_law_is_refused(law):
    with pytest.raises(ParameterError):
        delta_at([0.5, 0.5], law, 1.0)
    with pytest.raises(ParameterError):
        eps_at(law, [0.5, 0.5], 0.1)
    with pytest.raises(ParameterError):
        renyi(law, [0.5, 0.5], 2)


def test_numbers_out_of_range_are_refused():
    p, q = response(1.0)
    for eps in (math.nan, -1.0, math.inf):
        with pytest.raises(ParameterError):
            delta_at(p, q, eps)
    for delta in (math.nan, -1e-9, 1.0):
        with pytest.raises(ParameterError):
            eps_at(p, q, delta)
    for order in (math.nan, 1.0, 0.5):
        with pytest.raises(ParameterError):
            renyi(p, q, order)
