"""Holm and e-BH against their definitions by brute force."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.errors import ParameterError
from dpverify.suite.result import e_benjamini_hochberg, holm

p_vectors = st.lists(st.floats(0, 1) | st.floats(0, 0.05), min_size=1, max_size=6)


@settings(max_examples=100, deadline=None)
@given(p=p_vectors)
def test_holm_is_the_closure_of_bonferroni(p):
    # H_i falls when every intersection that contains it falls: this is why the family-wise error is controlled
    expected = []
    for i in range(len(p)):
        sets = [s for size in range(1, len(p) + 1) for s in combinations(range(len(p)), size) if i in s]
        expected.append(all(min(p[j] for j in s) * len(s) <= 0.05 for s in sets))
    assert holm(p, 0.05).tolist() == expected


def test_holm_by_logarithms_where_p_values_underflow():
    least = math.ulp(0.0)
    assert holm([least, 0.04], 0.05, log10_p_values=[-400.0, math.log10(0.04)]).tolist() == [True, True]
    # a family-wise error of 1e-330 cannot be asked for; a weight that is left can be large
    assert holm([least, least], 1e-300, log10_p_values=[-310.0, -299.0]).tolist() == [True, False]
    with pytest.raises(ParameterError):
        holm([0.1, 0.2], 0.05, log10_p_values=[-1.0])
    with pytest.raises(ParameterError):
        holm([0.1], 0.05, log10_p_values=[math.nan])


@settings(max_examples=100, deadline=None)
@given(p=p_vectors, data=st.data())
def test_weighted_holm_is_the_closure_of_weighted_bonferroni(p, data):
    # with reserved weight: as many further hypotheses with p-value 1
    weights = data.draw(st.lists(st.integers(1, 4), min_size=len(p), max_size=len(p)))
    reserved = data.draw(st.integers(0, 3))
    expected = []
    for i in range(len(p)):
        sets = [s for size in range(1, len(p) + 1) for s in combinations(range(len(p)), size) if i in s]
        totals = [sum(weights[j] for j in s) + reserved for s in sets]
        pairs = zip(sets, totals, strict=True)
        expected.append(all(any(p[j] * total <= 0.05 * weights[j] for j in s) for s, total in pairs))
    assert holm(p, 0.05, weights=weights, reserved=reserved).tolist() == expected


@settings(max_examples=100, deadline=None)
@given(e=st.lists(st.floats(0, 200), min_size=1, max_size=6))
def test_e_bh_is_the_largest_self_consistent_set(e):
    best = 0
    for size in range(1, len(e) + 1):
        if any(all(e[i] >= len(e) / (0.1 * size) * (1 + 1e-12) for i in s) for s in combinations(range(len(e)), size)):
            best = size
    with np.errstate(divide="ignore"):
        rejected = e_benjamini_hochberg(np.log(e), 0.1)
    assert rejected.sum() >= best
    near = any(abs(x * 0.1 * k / len(e) - 1) < 1e-9 for x in e for k in range(1, len(e) + 1))
    assert near or rejected.sum() == best
    kept = [x for x, out in zip(e, rejected, strict=True) if not out]
    assert all(x >= max(kept, default=-math.inf) for x, out in zip(e, rejected, strict=True) if out)


def test_e_bh_error_rate_is_the_mean_of_e_values():
    # two-point e-values with mean 1: every hypothesis true, so the false discovery rate is Pr[any rejection]
    m, rate, big = 3, 0.2, 15.0  # big = m/rate: one such e-value is enough
    total = 0.0
    for pattern in range(2**m):
        hits = [(pattern >> i) & 1 for i in range(m)]
        probability = math.prod(1 / big if hit else 1 - 1 / big for hit in hits)
        log_e = [math.log(big) if hit else -math.inf for hit in hits]
        total += probability * e_benjamini_hochberg(log_e, rate).any()
    assert 0.15 < total <= rate


@pytest.mark.parametrize("bad", [[math.nan], [-0.1], [1.1], [[0.1, 0.2]]])
def test_impossible_p_values_are_refused(bad):
    with pytest.raises(ParameterError):
        holm(bad, 0.05)


def test_impossible_levels_and_wealth_are_refused():
    for level in (0.0, 1.0, math.nan):
        with pytest.raises(ParameterError):
            holm([0.1], level)
        with pytest.raises(ParameterError):
            e_benjamini_hochberg([1.0], level)
    with pytest.raises(ParameterError):
        e_benjamini_hochberg([math.nan], 0.1)
