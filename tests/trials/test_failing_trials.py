"""Failing trials: what is recorded has the law of what was asked (spec 11, A1), and is counted and shown (A2)."""

import json
from functools import cache

import numpy as np
import pytest
from in_process import run_suite
from scipy import stats

from dpverify import audit, failure, loop_trials, Outcomes, Pair, PureDP, Subject
from dpverify.auditing.statuses import Verdict
from dpverify.base.seeding import Stage
from dpverify.errors import InvalidTrials, TargetError
from dpverify.report import html_page, json_file, junit, markdown, sarif
from dpverify.suite.result import Settings
from dpverify.trials import outcomes
from dpverify.trials.collect import Experiment, select
from dpverify.trials.target import as_target

PAIR = Pair(0.0, 1.0)
RATE = 0.02


class Fragile:
    """Fails with probability RATE on the first dataset and RATE e on the second: exactly 1-DP.

    A block of trials raises where any of them fails.
    """

    def __init__(self, block, rate=RATE, ratio=np.e):
        self.trials_per_block, self.rate, self.ratio = block, rate, ratio

    def release(self, data, *, rng, size):
        if (rng.random(size) < self.rate * self.ratio**data).any():
            raise OverflowError
        return np.zeros(size)


def test_the_number_of_failures_in_a_call_is_binomial():
    """Not only the mean: counts in calls of 8 against Bin(8, q), chi-square at 1e-6 (cells of at least 5)."""

    class Eight(Fragile):
        def release(self, data, *, rng, size):
            return super().release(1.0, rng=rng, size=size)

    e = Experiment.of(as_target(Eight(16, rate=0.1 / np.e)), PAIR, 4)
    counts = []
    for index in range(2500):
        grain = e.run_grain(Stage.SELECT, index, 16)
        arm = grain.outcomes.failed[grain.first]
        if len(arm) == 8:
            counts.append(int(arm.sum()))
    seen = np.bincount(np.minimum(counts, 3), minlength=4)
    law = stats.binom.pmf(np.arange(3), 8, 0.1)
    assert stats.chisquare(seen, len(counts) * np.r_[law, 1 - law.sum()]).pvalue > 1e-6


def test_a_mechanism_that_fails_within_its_claim_is_not_refuted():
    """3 audits of a true claim at 0.005 each: a wrong refutation has probability <= 0.015; without conditioning all
    of 20 were refuted."""
    for seed in range(3):
        record = audit(
            Fragile(64), claim=PureDP(1.0), pair=PAIR, trials=20_000, seed=seed, significance=0.005, score="histogram"
        )
        assert record.verdict is Verdict.NOT_REFUTED
        assert set(record.failed_trials["first"]) == {"OverflowError"}
        assert any("redrawn" in note for note in record.notes)


def test_rare_failures_of_one_dataset_certify_what_they_would_as_values():
    """Raises with probability 1e-3 on one dataset only. About 45 certifying failures on one side, none on the other."""

    def raising(data, *, rng, size):
        if data and (rng.random(size) < 1e-3).any():
            raise ValueError
        return np.zeros(size)

    def telling(data, *, rng, size):
        failed = (rng.random(size) < 1e-3) & bool(data)
        return Outcomes(np.zeros(size), np.where(failed, "ValueError", ""))

    lower = []
    for target in (raising, telling):
        record = audit(target, claim=PureDP(1.0), pair=PAIR, trials=100_000, seed=1, score="histogram")
        assert record.verdict is Verdict.REFUTED
        assert record.failed_trials["first"] == {}
        assert 25 < record.failed_trials["second"]["ValueError"] < 75
        lower.append(record.eps_lower)
    assert lower[0] == pytest.approx(lower[1], abs=0.6)  # different draws of one law
    assert min(lower) > 1.3


def test_a_loop_loses_no_trial_by_the_failure_of_another():
    calls = 0

    def once(data, *, rng):
        nonlocal calls
        calls += 1
        if rng.random() < 0.1:
            raise ZeroDivisionError
        return failure("timed out") if rng.random() < 0.1 else 1.0

    e = Experiment.of(loop_trials(once), PAIR, 2)
    before = calls
    probe = select(e, 3000)
    assert calls - before == 3000
    counts = dict(zip(*np.unique(probe.outcomes.failures, return_counts=True), strict=True))
    assert set(counts) == {"", "ZeroDivisionError", "timed out"}
    assert stats.binomtest(int(counts["ZeroDivisionError"]), 3000, 0.1).pvalue > 1e-6


def test_a_call_that_fails_where_its_trials_do_not_is_found_out_and_an_honest_one_is_not():
    def crowded(data, *, rng, size):
        if size > 1:
            raise ValueError
        return rng.random(size)

    with pytest.raises(InvalidTrials, match="raises where single releases do not"):
        select(Experiment.of(as_target(crowded), PAIR, 2), 100)


def test_the_level_at_which_targets_are_called_unfaithful():
    """Sum over looks, calls and both arms of 2^-needed."""
    total = sum(2.0 ** -outcomes._needed(16 << look, index) for look in range(40) for index in range(3000))
    assert 2 * total < 1e-7


class Flaky:
    def __init__(self, error, rate=1.0):
        self.error, self.rate = error, rate

    def release(self, data, *, rng, size):
        if size > 1 and self.rate == 1.0:
            raise self.error
        if self.rate < 1 and (rng.random(size) < self.rate).any():
            raise self.error
        return rng.standard_normal(size)


RUN = [MemoryError(), ConnectionError(), ImportError(), RecursionError(), SystemExit(3), GeneratorExit()]


@pytest.mark.parametrize("error", RUN, ids=lambda error: type(error).__name__)
def test_failures_of_the_run_are_no_outcomes(error):
    with pytest.raises(TargetError, match=f"outcomes=\\({type(error).__name__},\\)"):
        audit(Flaky(error), claim=PureDP(1.0), pair=PAIR, trials=1000, seed=1)
    once = loop_trials(lambda data, *, rng: Flaky(error, 0.5).release(data, rng=rng, size=1)[0])
    with pytest.raises(TargetError, match=type(error).__name__):
        audit(once, claim=PureDP(1.0), pair=PAIR, trials=1000, seed=1)
    result = run_suite((Subject(name="a", target=once, claim=PureDP(1.0), pairs=(PAIR,)),), Settings(seed=1))
    assert result.exit_code == 3
    assert [each.subject for each in result.failures] == ["a"]


@pytest.mark.parametrize("error", RUN, ids=lambda error: type(error).__name__)
def test_what_the_subject_lists_is_an_outcome(error):
    target = Flaky(error, rate=0.1)
    record = audit(target, claim=PureDP(1.0), pair=PAIR, trials=400, seed=1, outcomes=(type(error),))
    assert record.verdict is Verdict.NOT_REFUTED
    assert set(record.failed_trials["first"]) == {type(error).__name__}


@cache
def record_of(rates, trials=3000, claim=1.0):
    def once(data, *, rng):
        if rng.random() < rates[int(data)]:
            raise ArithmeticError
        return rng.laplace()

    subject = Subject(name="s/fails", target=loop_trials(once), claim=PureDP(claim), pairs=(PAIR,), trials=trials)
    return run_suite((subject,), Settings(seed=2))


def test_mostly_failed_clears_nothing_and_still_refutes():
    assert record_of((0.6, 0.6)).records[0].verdict is Verdict.INCONCLUSIVE
    assert record_of((0.6, 0.6)).exit_code == 3
    assert record_of((0.6, 0.4)).records[0].verdict is Verdict.INCONCLUSIVE
    assert record_of((0.3, 0.3)).records[0].verdict is Verdict.NOT_REFUTED
    leak = record_of((1.0, 0.0))
    assert leak.records[0].verdict is Verdict.REFUTED
    assert leak.exit_code == 1


def test_an_invalid_audit_looks_invalid_in_every_face():
    subject = Subject(
        name="s/one draw",
        target=lambda data, *, rng, size: data + rng.laplace() + np.zeros(size),
        claim=PureDP(1.0),
        pairs=(PAIR,),
    )
    result = run_suite((subject,), Settings(seed=2))
    record = result.records[0]
    assert result.exit_code == 3
    assert "one draw is made for the whole call" in record.invalid
    for text in (html_page.render(result), markdown.render(result), junit.render(result), sarif.render(result)):
        assert "INVALID" in text or '"invalid"' in text
        assert "for the whole call" in text
    assert 'failures="0" errors="1"' in junit.render(result)
    again = type(record).from_dict(json.loads(json_file.render(result))["records"][0])
    assert again == record
