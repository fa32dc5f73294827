"""The audits and promises of the shuffle privatizer and of post-processing come out as their files expect.

Statistical, with one fixed seed each. A true claim is refuted, a true promise called BROKEN with probability at
most 0.05/2; the false ones fall with power above 0.95 each (measured over seeds, at the trials in the files).
"""

from dataclasses import replace

import pytest

from audits import audit_postprocess, audit_shuffle
from dpverify.evidence.promises import check_promise
from dpverify.verdicts.audit import audit

SUBJECTS = [
    pytest.param(subject, id=f"{module.__name__}-{subject.name}")
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
