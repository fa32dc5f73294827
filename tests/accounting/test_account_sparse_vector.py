"""AboveThreshold: its account is never below the largest log ratio of its law, and is reached where the proof is."""

import itertools
import math
from dataclasses import asdict
from fractions import Fraction

import numpy as np
import pytest
from scipy import special

from dpverify import ApproxDP, PureDP, Relation, ZCDP
from dpverify.accounting.accountant import account, eps_upper, meets, pure_eps, rho_upper
from dpverify.accounting.groups import group_of
from dpverify.base.plain_values import decoded
from dpverify.errors import AccountingError, ParameterError
from dpverify.ledger import AboveThreshold, LaplaceNoise, Ledger, PureStep, Sensitivity, Shift
from dpverify.ledger.description import charged, rows
from mechanisms.toolbox import laplace_integrals as quadrature

A, R = Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_ONE
ONE = Sensitivity(replace=1)
FAR = 60.0  # thresholds that are so many scales away are crossed by all or by none


def run(**given):
    return AboveThreshold(**{"threshold_scale": 2.0, "query_scale": 4.0, "sensitivity": ONE, **given})


def log_law(pattern, answers, b1, b2):
    """log Pr[outcomes], threshold Laplace(b1) at 0, query noise Laplace(b2): an integral over the threshold."""
    gaps = np.asarray(answers, dtype=np.float64)[: len(pattern)]
    nodes, weights = quadrature.panels(np.append(gaps, 0.0), reach=b1 * (40.0 + len(gaps)), longest=min(b1, b2))
    need = (nodes[:, None] - gaps) / b2
    log_p = np.where(np.array(pattern), quadrature.log_below(-need), quadrature.log_below(need)).sum(axis=1)
    return float(special.logsumexp(weights + quadrature.log_density(nodes / b1) - math.log(b1) + log_p))


def outcomes(queries, count):
    """Every sequence of outcomes of runs that stop at the `count`-th positive one."""
    found = set()
    for each in itertools.product((0, 1), repeat=queries):
        places = [i for i, one in enumerate(each) if one]
        found.add(each if len(places) < count else each[: places[count - 1] + 1])
    return sorted(found)


def largest(answers, others, event):
    """The largest log ratio over all outcomes; with a fresh threshold the parts between positive outcomes multiply."""

    def log_probability(pattern, data):
        if not event.fresh:
            return log_law(pattern, data, event.threshold_scale, event.query_scale)
        total, start = 0.0, 0
        ends = [i + 1 for i, one in enumerate(pattern) if one]
        for end in dict.fromkeys([*ends, len(pattern)]):
            total += log_law(pattern[start:end], data[start:end], event.threshold_scale, event.query_scale)
            start = end
        return total

    return max(
        log_probability(pattern, answers) - log_probability(pattern, others)
        for pattern in outcomes(len(answers), event.count)
    )


def worst(event, queries):
    """Over a grid of answers and of movements by at most 1, all in one direction where they are monotone."""
    moves = [each for each in itertools.product((-1.0, 0.0, 1.0), repeat=queries)]
    if event.monotone:
        moves = [each for each in moves if min(each) >= 0 or max(each) <= 0]
    starts = [each for each in itertools.product((-FAR, 0.0, 1.0, FAR), repeat=queries)]
    return max(largest(np.array(start), np.array(start) + np.array(move), event) for start in starts for move in moves)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("scales", [(1.0, 2.0), (2.0, 1.0), (0.5, 0.5)])
def test_the_account_is_never_below_the_law(count, monotone, fresh, scales):
    event = run(threshold_scale=scales[0], query_scale=scales[1], count=count, monotone=monotone, fresh=fresh)
    assert worst(event, 2) <= float(pure_eps(Ledger(event), relation=R)) * (1 + 1e-9)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("fresh", [False, True])
def test_the_account_is_nearly_reached(count, monotone, fresh):
    """Many negatives pin the threshold, then positives move against it: no smaller factor would be true."""
    event = run(threshold_scale=0.5, query_scale=2.0, count=count, monotone=monotone, fresh=fresh)
    negatives, ahead = 400, 3.0
    block = [*[0.0] * negatives, -ahead - 20.0]
    move = [*[1.0] * negatives, 0.0 if monotone else -1.0]
    answers, moves = np.array(block * count), np.array(move * count)
    pattern = (*[0] * negatives, 1) * count
    if fresh:
        size = negatives + 1
        found = count * (
            log_law(pattern[:size], answers[:size], 0.5, 2.0)
            - log_law(pattern[:size], (answers + moves)[:size], 0.5, 2.0)
        )
    else:
        found = log_law(pattern, answers, 0.5, 2.0) - log_law(pattern, answers + moves, 0.5, 2.0)
    proved = float(pure_eps(Ledger(event), relation=R))
    assert 0.8 * proved < found <= proved


@pytest.mark.parametrize(
    ("given", "eps"),
    [
        ({}, Fraction(1)),
        ({"count": 3}, Fraction(2)),
        ({"count": 3, "monotone": True}, Fraction(5, 4)),
        ({"count": 3, "fresh": True}, Fraction(3)),
        ({"count": 3, "fresh": True, "monotone": True}, Fraction(9, 4)),
        ({"count": 3, "value_scale": 6.0}, Fraction(5, 2)),
        ({"count": 3, "value_scale": 6.0, "sensitivity": Sensitivity(replace=2)}, Fraction(5)),
        ({"count": 3, "sensitivity": Sensitivity(replace=(Shift(1, 2), Shift(2)))}, Fraction(8)),
        ({"threshold_scale": 1e300, "query_scale": 1e-300}, 1 / Fraction(1e300) + 2 / Fraction(1e-300)),
    ],
)
def test_the_theorem(given, eps):
    ledger = Ledger(run(**given))
    assert pure_eps(ledger, relation=R) == eps
    assert Fraction(eps_upper(ledger, delta=0.0, relation=R)) >= eps
    assert meets(PureDP(eps), ledger)
    assert not meets(PureDP(float(eps) * (1 - 1e-12)), ledger)
    with pytest.raises(AccountingError, match="states no sensitivity"):
        pure_eps(ledger, relation=A)


def test_three_queries_and_two_positive_outcomes():
    event = run(threshold_scale=1.0, query_scale=1.0, count=2)
    starts = ((0.0, 0.0, 0.0), (0.0, 2.0, -2.0), (-5.0, 5.0, 0.0), (1.0, -1.0, 3.0))
    moves = list(itertools.product((-1.0, 0.0, 1.0), repeat=3))
    found = max(largest(np.array(start), np.array(start) + np.array(move), event) for start in starts for move in moves)
    assert 2.5 < found <= float(pure_eps(Ledger(event), relation=R)) == 5.0


def test_other_notions_are_those_of_the_steps():
    """One threshold is one pure step; fresh ones are one each, and values are Laplace noise."""
    once = Ledger(run(count=3))
    same = Ledger(PureStep(eps=2.0, uses=ONE))
    for delta in (1e-9, 1e-3):
        assert account(once, delta=delta) == account(same, delta=delta)
    assert rho_upper(once, relation=R) == rho_upper(same, relation=R)
    anew = Ledger(run(threshold_scale=20.0, query_scale=40.0, count=100, fresh=True, value_scale=20.0))
    steps = Ledger(PureStep(eps=0.1, uses=ONE), LaplaceNoise(scale=20.0, sensitivity=ONE)) * 100
    assert account(anew, delta=1e-6) == pytest.approx(account(steps, delta=1e-6), rel=1e-9)
    assert account(anew, delta=1e-6) < 0.6 * account(anew)
    assert meets(ApproxDP(account(anew, delta=1e-6), 1e-6), anew)
    assert meets(ZCDP(1.5), anew)


@pytest.mark.parametrize("k", [2, 3])
def test_a_group_costs_k_times(k):
    event = run(count=2, value_scale=3.0)
    assert pure_eps(group_of(Ledger(event), k), relation=R) == k * pure_eps(Ledger(event), relation=R)


@pytest.mark.parametrize("field", ["threshold_scale", "query_scale", "value_scale"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, True, "1"])
def test_scales_are_finite_and_positive(field, value):
    with pytest.raises(ParameterError, match=field):
        run(**{field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("count", value) for value in (0, 1.0, True, math.nan)),
        *(("monotone", 1), ("fresh", None), ("sensitivity", 1.0), ("threshold_scale", None), ("query_scale", None)),
    ],
)
def test_every_field_is_of_its_kind(field, value):
    with pytest.raises(ParameterError, match=field):
        run(**{field: value})


def test_words_and_numbers_of_a_record():
    event = run(what="alarms", count=3, fresh=True, value_scale=0.1)
    assert rows(Ledger(event) * 2, R) == (
        (
            "2",
            "AboveThreshold",
            "alarms",
            "threshold_scale = 2, query_scale = 4, count = 3, fresh threshold, value_scale = 0.1",
            "1",
        ),
    )
    (found,) = charged(Ledger(event) * 2, R)
    assert (found.event, found.times, found.size, found.shifts) == ("AboveThreshold", 2, "2", (("1", 1),))
    assert found.comparisons.value_scale == str(Fraction(0.1))
    assert decoded(type(found), asdict(found)) == found
