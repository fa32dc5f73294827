"""The audits and promises of the shuffle privatizer and of post-processing come out as their files expect.

Statistical, with one fixed seed. Level: a true claim is refuted with probability at most 0.01, a true promise
called BROKEN with at most 0.05. Power, at the trials used here: the three false claims that are closest to the
line were refuted with 10 of 10 other seeds, every promise came out as expected with 10 of 10.
"""

from dataclasses import replace

import pytest

from audits import audit_postprocess, audit_shuffle
from dpverify.evidence.promises import check_promise
from dpverify.verdicts.audit import audit

SUBJECTS = [
    # learned scores are slow; those of the other file are exact
    pytest.param(subject, id=subject.name, marks=[pytest.mark.slow] if module is audit_postprocess else [])
    for module in (audit_shuffle, audit_postprocess)
    for subject in module.subjects
]


@pytest.mark.parametrize("promise", audit_shuffle.promises, ids=lambda promise: promise.name)
def test_promises_are_judged_as_expected(promise):
    check = check_promise(promise, seed=11)
    assert check.verdict == promise.expected
    assert not any(check.violations.values())


@pytest.mark.parametrize("subject", SUBJECTS)
def test_subjects_are_judged_as_expected(subject):
    for pair in subject.pairs:
        record = audit(
            subject.target,
            claim=subject.claim,
            pair=pair,
            trials=min(subject.trials, 60_000),
            significance=0.01,
            seed=11,
            score=subject.score,
            ledger=subject.ledger,
        )
        record = replace(
            record, expected=subject.expected, expected_accounted=subject.accounted, planted=subject.planted
        )
        assert record.as_expected, record


def test_literal_integer_messages_fall_within_twenty_trials():
    # 40 of 40 seeds refuted at 20 trials when this was written; Pr[Bin(20, .9) < 15] = 0.01
    subject = audit_shuffle.integers
    refuted = [
        audit(subject.target, claim=subject.claim, pair=subject.pairs[0], trials=20, seed=seed).verdict == "REFUTED"
        for seed in range(20)
    ]
    assert sum(refuted) >= 15
