"""Whether an outcome follows from its own numbers: what a record holds is computed again, by the test that it names.

    binomial, threshold    the bound, and the p-value of a single pair
    unconditional, curve of zcdp and gdp    the same, the bound within one per cent: finding it takes long
    shared binomial    the bound, up to the tenth of the significance that the event had (it is not recorded)
    curve of rdp and tradeoff, weighted, betting    counts and verdict only: points, weights and wagers are not recorded

Where the tape's bound stands in the record, the trials' own (`audited`) is computed again; for what the tape itself
says see `rejudge_tape`. Counts must be those of a cut of the record's own trade-off curve.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, replace

import numpy as np

from dpverify.claims.claim import Claim, GaussianDP, ZCDP
from dpverify.evidence.bounds.binomial import BinomialTest
from dpverify.evidence.bounds.bonferroni import BonferroniTest
from dpverify.evidence.bounds.protocol import BoundTest
from dpverify.evidence.bounds.tradeoff_curve import CurveTest
from dpverify.evidence.bounds.two_step import TwoStepTest
from dpverify.evidence.bounds.unconditional import UnconditionalTest
from dpverify.evidence.bounds.weighted import WeightedTest
from dpverify.evidence.promises import judged, PromiseCheck, rate_bounds
from dpverify.evidence.selection.cuts import PARTS
from dpverify.evidence.tally import Tally
from dpverify.verdicts.record import AuditRecord
from dpverify.verdicts.rejudge_tape import problem_of_tape
from dpverify.verdicts.suite_result import Failure, Outcome
from dpverify.verdicts.verdict import judge, Verdict

COUNTS = "its counts cannot be"
BOUND = "its bound does not follow from its counts"
P_VALUE = "its p-value does not follow from its counts"
UNKNOWN = "its test is not known"
NEAR = 0.01  # relative, of a bound that is not found again but bracketed
KINDS: dict[str, type[ZCDP] | type[GaussianDP]] = {ZCDP.notion: ZCDP, GaussianDP.notion: GaussianDP}


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
    tally = _tally(record)
    if tally is None:
        return COUNTS
    if record.test == CurveTest.name:
        return _on_a_curve(record, tally)
    if record.number_lower != record.eps_lower or record.claimed != record.claimed_eps:
        return BOUND
    if record.detectable != record.detectable_eps:
        return "its most favourable violation is two numbers"
    if record.test == BonferroniTest.name and record.delta == 0:
        return _shared(record, tally)
    if record.test == UnconditionalTest.name:
        exact = UnconditionalTest(nuisance_level=record.significance / 50, order_level=record.significance)
        return _near(record, lambda eps: exact.p_value(tally, eps=eps, delta=record.delta))
    tests: dict[str, BoundTest] = {TwoStepTest.name: TwoStepTest()}
    if record.delta == 0:
        tests[BinomialTest.name] = BinomialTest()
    if record.test not in tests:
        return "" if record.test == WeightedTest.name else UNKNOWN
    test = tests[record.test]
    if test.eps_lower(tally, delta=record.delta, significance=record.significance) != record.eps_lower:
        return BOUND
    return _p_value(record, test.p_value(tally, eps=record.claimed_eps, delta=record.delta))


def _tally(record: AuditRecord) -> Tally | None:
    """The guesses of the certificate; None where they are not those beyond a cut of the record's curve."""
    n = record.course[-1][0] if record.course else 0
    if n not in (record.trials, record.trials - record.selection_trials) or n < 1:
        return None
    cuts = n * np.array(record.curve, float).reshape(-1, 2)
    counts = np.rint(cuts)
    if not (np.abs(cuts - counts) < 1e-3).all() or (np.diff(counts, axis=0, prepend=0) < 0).any():
        return None
    if not (counts == (record.wrong, record.right)).all(axis=1).any() or counts[-1].sum() > n:
        return None
    return Tally.of(record.right, record.wrong, n, one_sided=record.one_sided)


def _p_value(record: AuditRecord, of_pair: float) -> str:
    """That of the subject is the smallest of its pairs' times their number."""
    if record.p_value is None:
        return P_VALUE
    same = record.p_value == of_pair if record.pairs == 1 else record.p_value <= min(1.0, record.pairs * of_pair)
    return "" if same else P_VALUE


def _on_a_curve(record: AuditRecord, tally: Tally) -> str:
    if record.notion not in KINDS:  # which points the curve has is not recorded
        return ""
    claim: Claim = KINDS[record.notion](record.claimed, record.delta)
    # which of the two tests it was is not recorded; both are valid where every trial has a guess
    always = record.right + record.wrong == tally.trials and not tally.one_sided
    level, found = record.significance, BOUND
    for abstains in (False, True) if always else (True,):  # the first of the two is the faster
        test = CurveTest(claim, abstains=abstains, nuisance_level=level / 50, order_level=level)
        found = found and _near(record, test.number_p_value(tally))
    return found


def _near(record: AuditRecord, p_value: Callable[[float], float]) -> str:
    """The claim's p-value again; a little less than the bound must be refuted, a little more must not."""
    level, bound = record.significance, record.number_lower
    wrong = _p_value(record, p_value(record.claimed)) if record.claimed > 0 else ""
    if wrong:
        return wrong
    below = bound == 0 or p_value((1 - NEAR) * bound) <= level
    return "" if below and p_value((1 + NEAR) * bound + NEAR * max(record.claimed, 1e-3)) > level else BOUND


def _shared(record: AuditRecord, tally: Tally) -> str:
    """One of several events decided, at some tenths of the significance; no p-value is below those of all events."""
    test, n = BinomialTest(), tally.trials
    events = [Tally.of(right, wrong, n) for wrong, right in np.rint(n * np.array(record.curve)).astype(int).tolist()]
    lowest = min(test.p_value(each, eps=record.claimed_eps, delta=0.0) for each in events)
    for part in range(1, PARTS + 1):
        level = record.significance * (part / PARTS)
        if test.eps_lower(tally, delta=record.delta, significance=level) == record.eps_lower:
            highest = test.p_value(tally, eps=record.claimed_eps, delta=0.0) / (part / PARTS)
            least = lowest if record.pairs == 1 else 0.0
            found = record.p_value is not None and least <= record.p_value <= min(1.0, record.pairs * highest)
            return "" if found else P_VALUE
    return BOUND
