"""Whether an outcome follows from its own numbers: what a record holds is computed again, by the test that it names.

    binomial, threshold, shared binomial    the bound, and the p-value of a single pair
    unconditional, weighted, curve          the same, the bound within one per cent: finding it takes long
    betting                                 counts and verdict only: `dpverify check` plays the wagers again

The counts are those of `Working`, and must be those beyond the cuts of the record's own trade-off curve. Where the
tape's bound stands in the record, the trials' own (`audited`) is computed again; for what the tape itself says see
`rejudge_tape`.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial

import numpy as np

from dpverify.base.errors import DpverifyError
from dpverify.claims.parse import parse_claim
from dpverify.evidence.bounds.binomial import BinomialTest
from dpverify.evidence.bounds.bonferroni import BonferroniTest
from dpverify.evidence.bounds.protocol import BoundTest
from dpverify.evidence.bounds.tradeoff_curve import CurveTest
from dpverify.evidence.bounds.two_step import TwoStepTest
from dpverify.evidence.bounds.unconditional import UnconditionalTest
from dpverify.evidence.bounds.weighted import WeightedTest
from dpverify.evidence.promises import judged, PromiseCheck, rate_bounds
from dpverify.evidence.tally import Tally
from dpverify.evidence.working import Working
from dpverify.verdicts.record import AuditRecord
from dpverify.verdicts.rejudge_tape import problem_of_tape
from dpverify.verdicts.suite_result import Failure, Outcome
from dpverify.verdicts.verdict import judge, Verdict

COUNTS = "its counts cannot be"
BOUND = "its bound does not follow from its counts"
P_VALUE = "its p-value does not follow from its counts"
UNKNOWN = "its test is not known"
NEAR = 0.01  # relative, of a bound that is not found again but bracketed


def problem(outcome: Outcome) -> str:
    """Why an outcome may not be kept or reused: it is not as expected, or does not follow from its numbers."""
    if isinstance(outcome, Failure):
        return "it failed"
    if not outcome.as_expected or outcome.verdict in (Verdict.INVALID, Verdict.INCONCLUSIVE):
        return "it is not as expected"
    numbers = [value for value in asdict(outcome).values() if isinstance(value, float)]
    if any(map(math.isnan, numbers)):
        return "a number is missing"
    return _promise(outcome) if isinstance(outcome, PromiseCheck) else _record(outcome)


def _promise(check: PromiseCheck) -> str:
    if not 0 <= check.failures <= check.trials:
        return COUNTS
    lower, upper = rate_bounds(check.failures, check.trials, check.significance)
    broken = any(check.violations.values()) or lower > check.failure_probability
    verdict = judged(
        broken=broken,
        rate_upper=upper,
        failure_probability=check.failure_probability,
        active_share=check.active_share,
    )
    same = (lower, upper, verdict) == (check.rate_lower, check.rate_upper, check.verdict)
    return "" if same else "its verdict does not follow from its counts"


def _record(record: AuditRecord) -> str:
    if min(record.right, record.wrong) < 0 or record.right + record.wrong > record.trials:
        return COUNTS
    verdict = judge(number_lower=record.number_lower, claimed=record.claimed, detectable=record.detectable)
    if verdict != record.verdict or record.refuted_by:
        return "its verdict does not follow from its bound"
    if wrong := problem_of_tape(record):
        return wrong
    if record.audited is not None:  # the tape's bound was in the place of the trials'
        record = replace(record, eps_lower=record.audited[0], number_lower=record.audited[1])
    if record.sequential:  # depends on the order of the trials
        return "" if record.test == "betting" else UNKNOWN
    tally, working = _tally(record), record.working
    if tally is None or working is None:
        return COUNTS
    if record.test != CurveTest.name:
        if record.number_lower != record.eps_lower or record.claimed != record.claimed_eps:
            return BOUND
        if record.detectable != record.detectable_eps:
            return "its most favourable violation is two numbers"
    try:
        return _again(record, tally, working)
    except (DpverifyError, ValueError) as error:  # weights, shares or a claim that no test has
        return f"its test cannot be: {error}"


def _tally(record: AuditRecord) -> Tally | None:
    """The certifying trials; None where they are not those beyond the cuts of the record's curve."""
    n, working = record.course[-1][0] if record.course else 0, record.working
    if working is None or not n == working.trials >= 1:
        return None
    levels = np.array(working.levels, dtype=np.int64).reshape(-1, 2)
    beyond, blocks = levels.cumsum(axis=0), np.array(working.blocks, dtype=np.int64).reshape(-1, 4)
    if n not in (record.trials, record.trials - record.selection_trials) or not 1 <= working.pooled <= len(levels):
        return None
    if min(levels.min(), blocks[:, 1:].min(initial=0)) < 0 or beyond[-1].sum() > n:
        return None
    if tuple(blocks[:, 1:].sum(axis=0)) != (n, *beyond[-1]) or (record.right, record.wrong) != tuple(
        beyond[working.pooled - 1]
    ):
        return None
    cuts = n * np.array(record.curve, float).reshape(-1, 2)[:, ::-1]
    same = cuts.shape == beyond.shape and bool((np.abs(cuts - beyond) < 1e-3).all())
    return Tally(n, levels[:, 0], levels[:, 1], record.one_sided) if same else None


def _again(record: AuditRecord, tally: Tally, working: Working) -> str:
    """The bound and the p-value from the counts."""
    level, delta, pooled = record.significance, record.delta, tally.pooled(working.pooled)
    match record.test:
        case CurveTest.name:
            claim = parse_claim(record.claim, delta=delta).with_number(record.claimed)
            test = CurveTest(claim, abstains=working.abstains, nuisance_level=level / 50, order_level=level)
            return _near(record, test.number_p_value(pooled))
        case UnconditionalTest.name:
            exact = UnconditionalTest(nuisance_level=level / 50, order_level=level)
            return _near(record, partial(_p, exact, pooled, delta))
        case WeightedTest.name:
            return _near(record, partial(_p, WeightedTest(working.weights), tally, delta))
        case BonferroniTest.name if delta == 0:
            shared = BonferroniTest(working.events)
            if shared.deciding(tally, significance=level) != working.pooled:
                return COUNTS
            return _same(record, shared, tally)
        case BinomialTest.name if delta == 0:
            return _same(record, BinomialTest(), pooled)
        case TwoStepTest.name:
            return _same(record, TwoStepTest(), pooled)
    return UNKNOWN


def _p(test: BoundTest, tally: Tally, delta: float, eps: float) -> float:
    return test.p_value(tally, eps=eps, delta=delta)


def _same(record: AuditRecord, test: BoundTest, tally: Tally) -> str:
    if test.eps_lower(tally, delta=record.delta, significance=record.significance) != record.eps_lower:
        return BOUND
    return _p_value(record, _p(test, tally, record.delta, record.claimed_eps))


def _near(record: AuditRecord, p_value: Callable[[float], float]) -> str:
    """The claim's p-value again; a little less than the bound must be refuted, a little more must not."""
    level, bound = record.significance, record.number_lower
    wrong = _p_value(record, p_value(record.claimed)) if record.claimed > 0 else ""
    if wrong:
        return wrong
    below = bound == 0 or p_value((1 - NEAR) * bound) <= level
    return "" if below and p_value((1 + NEAR) * bound + NEAR * max(record.claimed, 1e-3)) > level else BOUND


def _p_value(record: AuditRecord, of_pair: float) -> str:
    """That of the subject is the smallest of its pairs' times their number."""
    if record.p_value is None:
        return P_VALUE
    same = record.p_value == of_pair if record.pairs == 1 else record.p_value <= min(1.0, record.pairs * of_pair)
    return "" if same else P_VALUE
