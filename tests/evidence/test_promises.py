"""Checks of promised error bounds: verdicts, their error rates, their power, determinism, invariants."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpverify.base.plain_values import decoded
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError, TargetError
from dpverify.promises import (
    BROKEN,
    check_promise,
    detectable_rate,
    INCONCLUSIVE,
    KEPT,
    OPEN,
    Outcomes,
    Promise,
    PromiseCheck,
    rate_bounds,
)


def gaussian(rate, **options):
    """Errors |N(0,1)| against the bound that they exceed with probability `rate`."""

    def draw(*, rng, size):
        return Outcomes(np.abs(rng.standard_normal(size)))

    settings = {"failure_probability": 0.1, "trials": 10_000, **options}
    return Promise(name="gaussian", draw=draw, bound=float(stats.norm.isf(rate / 2)), **settings)


@pytest.mark.parametrize(("rate", "verdict"), [(0.08, KEPT), (0.12, BROKEN)])
def test_a_promise_off_by_a_fifth_is_decided(rate, verdict):
    # 10 000 trials: sd of the rate 0.003, so the power is > 0.999 at this level 0.05; one fixed seed
    assert check_promise(gaussian(rate), seed=1).verdict == verdict


def test_an_exact_promise_is_wrongly_judged_no_oftener_than_the_significance():
    # rate exactly as promised: BROKEN is the wrong verdict, in at most 5 % of 400 runs; Pr[Bin(400, .05) > 40] = 1e-5
    verdicts = [check_promise(gaussian(0.1, trials=500), seed=seed).verdict for seed in range(400)]
    assert verdicts.count(BROKEN) <= 40
    assert verdicts.count(OPEN) >= 300
    # just above the promise KEPT is the wrong one
    verdicts = [check_promise(gaussian(0.1 + 1e-9, trials=500), seed=seed).verdict for seed in range(400)]
    assert verdicts.count(KEPT) <= 40


@pytest.mark.parametrize(("failures", "trials"), [(0, 10), (3, 10), (10, 10), (1, 1), (50, 10_000)])
def test_rate_bounds_invert_exact_binomial_tails(failures, trials):
    lower, upper = rate_bounds(failures, trials, 0.05)
    if failures:
        assert stats.binom.sf(failures - 1, trials, lower) == pytest.approx(0.05)
    else:
        assert lower == 0
    if failures < trials:
        assert stats.binom.cdf(failures, trials, upper) == pytest.approx(0.05)
    else:
        assert upper == 1


@pytest.mark.parametrize(("trials", "promised"), [(1_000, 0.1), (10_000, 1e-3), (200, 1e-6)])
def test_power_statement_is_the_power_of_the_test(trials, promised):
    rate = detectable_rate(trials, promised, 0.05)
    broken = [k for k in range(trials + 1) if rate_bounds(k, trials, 0.05)[0] > promised]
    assert stats.binom.sf(broken[0] - 1, trials, rate) == pytest.approx(0.95)
    assert rate > promised


def test_power_statement_admits_when_nothing_can_be_caught():
    assert detectable_rate(1, 0.1, 0.05) is None
    check = check_promise(gaussian(0.5, trials=1), seed=0)
    assert check.verdict == OPEN
    assert "no failure rate is called BROKEN" in str(check)


def test_equal_seeds_give_equal_records_and_longer_runs_extend_shorter_ones():
    first, again = (check_promise(gaussian(0.1, block=1000), seed=5).to_dict() for _ in range(2))
    assert first == again
    assert decoded(PromiseCheck, json.loads(json.dumps(first))).to_dict() == first
    assert first["as_expected"] == (first["verdict"] == KEPT)
    other = check_promise(gaussian(0.1, block=1000), seed=6).to_dict()
    assert other != first
    errors = [stream(5, Stage.PROMISE, block).standard_normal(1000) for block in range(10)]
    expected = int((np.abs(np.concatenate(errors)) > gaussian(0.1).bound).sum())
    assert first["failures"] == expected


def test_one_violated_invariant_breaks_a_promise_and_leaves_its_witness():
    def draw(*, rng, size):
        held = rng.random(size) > 1e-3
        return Outcomes(np.zeros(size), invariants={"always": np.ones(size, dtype=bool), "mostly": held})

    promise = Promise(name="p", draw=draw, bound=1.0, failure_probability=0.1, trials=10_000, block=512)
    check = check_promise(promise, seed=2)
    assert check.verdict == BROKEN
    assert check.failures == 0
    assert check.violations["always"] == 0
    assert check.violations["mostly"] > 0
    rng = stream(2, Stage.PROMISE, check.witness["block"])
    assert check.witness["invariant"] == "mostly"
    assert not draw(rng=rng, size=512).invariants["mostly"][check.witness["trial"]]


def test_nan_errors_and_other_failures_count_as_failures():
    def draw(*, rng, size):
        errors = np.zeros(size)
        errors[0] = np.nan
        failed = np.zeros(size, dtype=bool)
        failed[1] = True
        return Outcomes(errors, failed=failed)

    check = check_promise(Promise(name="p", draw=draw, bound=1.0, failure_probability=0.1, trials=100), seed=0)
    assert check.failures == 2
    assert check.worst == math.inf


@pytest.mark.parametrize(
    "wrong",
    [
        lambda size: np.zeros(size),
        lambda size: Outcomes(np.zeros(size + 1)),
        lambda size: Outcomes(np.zeros((size, 1))),
        lambda size: Outcomes(np.zeros(size), failed=np.zeros(size)),
        lambda size: Outcomes(np.zeros(size), invariants={"i": np.ones(1, dtype=bool)}),
    ],
)
def test_a_draw_that_breaks_its_protocol_is_refused(wrong):
    promise = Promise(name="p", draw=lambda *, rng, size: wrong(size), bound=1.0, failure_probability=0.1, trials=9)
    with pytest.raises(TargetError):
        check_promise(promise, seed=0)


@pytest.mark.parametrize(
    "bad", [{"failure_probability": 0.0}, {"failure_probability": math.nan}, {"trials": 0}, {"expected": "FINE"}]
)
def test_impossible_promises_are_refused(bad):
    with pytest.raises(ParameterError):
        gaussian(0.1, **bad)


# --- the assumption on private counts, for the shuffle privatizer


def capped(share, errors=0.0):
    def draw(*, rng, size):
        return Outcomes(errors=np.full(size, errors), active=np.full(size, share))

    return Promise(name="capped", draw=draw, bound=1.0, failure_probability=0.1, trials=200)


def test_bounds_that_are_all_at_their_caps_are_inconclusive_unless_one_is_broken():
    idle = check_promise(capped(0.0), seed=0)
    assert (idle.verdict, idle.active_share) == (INCONCLUSIVE, 0.0)
    assert not idle.as_expected
    assert "0.00% of the bounds below their caps" in str(idle)
    assert decoded(PromiseCheck, idle.to_dict()) == idle
    kept = check_promise(capped(0.25), seed=0)
    assert (kept.verdict, kept.active_share) == (KEPT, 0.25)
    assert check_promise(capped(0.0, errors=2.0), seed=0).verdict == BROKEN
    assert check_promise(replace(capped(0.0), expected=INCONCLUSIVE), seed=0).as_expected
    with pytest.raises(TargetError, match="active"):
        check_promise(capped(1.5), seed=0)
