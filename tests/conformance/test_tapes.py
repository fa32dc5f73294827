"""The tape on a true claim of every kind of target: its code conforms to its ledger, or the report says why not.

The transcripts of the first pair, of the first subject with that target's class: others differ in numbers,
and the audit suite traces them all. No true claim falls, no ledger of one is contradicted; both would be findings.
"""

from pathlib import Path

import pytest
from in_process import load_folder

from dpverify.auditing.tape_record import CONFORMS, DERIVED, EXACT, NOT_TRACED
from dpverify.auditing.tracing import taped_pair
from dpverify.base.seeding import derive
from dpverify.report import words
from dpverify.report.words import SYMBOLS

pytestmark = pytest.mark.process

SUBJECTS = load_folder(Path(__file__).parents[2] / "audits").subjects
TRUE = [subject for subject in SUBJECTS if subject.expected == "NOT_REFUTED"]
KINDS = {type(subject.target): subject for subject in reversed(TRUE)}


@pytest.mark.parametrize("subject", KINDS.values(), ids=lambda subject: subject.name)
def test_a_true_claim_conforms_or_the_difference_is_explained(subject):
    pair = subject.claim.check(subject.pairs[0])
    tape = taped_pair(
        subject.target,
        claim=subject.claim,
        pair=pair,
        ledger=subject.ledger,
        seed=derive(1, subject.name),
        trials=subject.trials,
    )
    assert tape.status in (CONFORMS, DERIVED, EXACT, NOT_TRACED), tape.reasons
    said = words.tape_sentence(tape, SYMBOLS[subject.claim.notion])
    if tape.status == CONFORMS:
        assert "The code does what the ledger says" in said
    elif tape.status == EXACT:
        assert tape.number <= subject.claim.number * (1 + 1e-9)
        assert "exactly" in said
    elif tape.status == NOT_TRACED:
        assert tape.reasons[0].text in said
        assert tape.reasons[0].site in said
        assert tape.reasons[0].code not in ("CRASH", "ERROR")
    elif tape.reasons and tape.reasons[0].code == "ABOVE_CLAIM":  # the winner's place is private by a theorem
        assert subject.name == "noisy_max/apart"
    elif tape.ledger:
        assert words.NOT_SHOWN in said
