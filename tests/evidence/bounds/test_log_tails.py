"""Binomial tails in logarithms against 60-digit arithmetic, and p-values that cannot read 0."""

import math

import mpmath
import numpy as np
import pytest

from dpverify.claims.claim import GaussianDP, PureDP
from dpverify.evidence.betting import EProcess
from dpverify.evidence.bounds import (
    BinomialTest,
    BonferroniTest,
    CurveTest,
    TwoStepTest,
    UnconditionalTest,
    WeightedTest,
)
from dpverify.evidence.bounds.binomial_tails import log10_of, log10_up, log_at_least, log_at_most
from dpverify.evidence.tally import Tally

EXTREME = Tally.of(99_000, 1_000, 100_000)


def exact_at_most(k, n, p):
    with mpmath.workdps(60):
        p = mpmath.mpf(p)
        terms = (mpmath.binomial(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))
        return float(mpmath.log(mpmath.fsum(terms)))


@pytest.mark.parametrize(
    ("k", "n", "p"),
    [(0, 10, 0.3), (3, 40, 0.5), (10, 10, 0.2), (5, 3000, 0.27), (0, 20_000, 0.05), (60, 2000, 0.5), (300, 4000, 0.4)],
)
def test_log_tails_are_above_the_truth_and_close_to_it(k, n, p):
    below = float(log_at_most(k, n, p))
    truth = exact_at_most(k, n, p)
    assert truth <= below <= truth + 1e-3 * max(1.0, 1e-2 * abs(truth))
    above = float(log_at_least(n - k, n, 1 - p))  # the same event of the other count
    assert truth - 1e-12 * max(1.0, abs(truth)) <= above <= truth + 1e-3 * max(1.0, 1e-2 * abs(truth))


def test_deep_and_linear_tails_meet():
    """Where one formula hands over to the other the tail is neither lowered nor jumps."""
    k = np.arange(0, 900)
    tail = log_at_most(k, 3000, 0.5)
    assert (np.diff(tail) > 0).all()
    assert tail[0] == pytest.approx(3000 * math.log(0.5), rel=1e-12)
    steps = np.diff(tail, 2)
    assert np.abs(steps).max() < 0.7  # the first steps fall like 1/k; a jump between the formulas would show
    assert log_at_most(0, 10, 0.0) == log_at_least(0, 10, 0.3) == log_at_most(10, 10, 0.3) == 0.0


def test_decimal_logarithms_are_rounded_up():
    for p in (1.0, 0.5, 1e-3, 3e-200, 5e-324):
        with mpmath.workdps(40):
            assert mpmath.log10(mpmath.mpf(p)) <= log10_of(p) <= float(mpmath.log10(mpmath.mpf(p))) + 1e-12
    assert log10_up(-1e9) == pytest.approx(-1e9 / math.log(10))


TESTS = [
    (BinomialTest(), 0.0, None),
    (BonferroniTest(((1, 0.5),)), 0.0, None),
    (TwoStepTest(), 1e-7, None),
    (TwoStepTest(), 0.0, None),
    (WeightedTest((3,)), 0.0, None),
    (WeightedTest((3,)), 1e-7, None),
    (CurveTest(PureDP(1.0), abstains=False), 0.0, None),
    (UnconditionalTest(), 1e-7, -3.0),  # no p-value is below the level spent on a nuisance
    (CurveTest(GaussianDP(1.0)), 1e-7, -3.0),
]


@pytest.mark.parametrize(("test", "delta", "floor"), TESTS, ids=lambda each: getattr(each, "name", None))
def test_p_values_cannot_read_zero(test, delta, floor):
    p, log = (getattr(test, name)(EXTREME, eps=0.5, delta=delta) for name in ("p_value", "log10_p_value"))
    assert 0 < p < 2e-3
    assert math.isfinite(log)
    if floor is None:
        r = 1 / (1 + math.exp(-0.5))  # Chernoff: 1e5 KL(.99, r)/log 10 = 18,374 digits, up to a polynomial factor
        chernoff = 1e5 * (0.99 * math.log(0.99 / r) + 0.01 * math.log(0.01 / (1 - r))) / math.log(10)
        assert log == pytest.approx(-chernoff, rel=1e-3)
        assert p <= 1e-299
    else:
        assert log == pytest.approx(floor, abs=1e-3)


@pytest.mark.parametrize(("test", "delta", "floor"), TESTS, ids=lambda each: getattr(each, "name", None))
def test_the_logarithm_is_that_of_the_p_value(test, delta, floor):
    for right, wrong, trials in ((80, 20, 100), (700, 300, 1000), (300, 0, 300), (0, 3, 3), (1500, 400, 1900)):
        tally = Tally.of(right, wrong, trials)
        p, log = (getattr(test, name)(tally, eps=0.7, delta=delta) for name in ("p_value", "log10_p_value"))
        assert math.log10(p) <= log <= math.log10(p) + 1e-6


def test_the_logarithm_falls_with_the_evidence_below_all_doubles():
    for test, delta, floor in TESTS:
        if floor is None:
            tallies = [Tally.of(int(0.9 * n), n - int(0.9 * n), n) for n in (1000, 10_000, 100_000)]
            logs = [test.log10_p_value(each, eps=0.5, delta=delta) for each in tallies]
            assert logs[0] > 5 * logs[1] > 50 * logs[2]
            eased = [test.log10_p_value(tallies[-1], eps=eps, delta=delta) for eps in (0.0, 0.5, 1.0, 2.0)]
            assert eased == sorted(eased)
            assert eased[-1] < -10


def test_wealth_beyond_all_doubles_has_a_logarithm():
    process = EProcess(claim_eps=0.5, delta=0.0, grid=[0.5])
    process.update(Tally.of(9_900, 100, 10_000))
    assert process.p_value == math.ulp(0.0)
    assert process.log10_p_value == pytest.approx(-process.log_wealth / math.log(10))
    assert process.log10_p_value < -400
