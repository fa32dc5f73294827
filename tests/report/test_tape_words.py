"""Why the code's number is not the ledger's: the words of the report, for every way in which they may differ."""

import pytest

from dpverify.auditing.tape_record import CONFORMS, CONTRADICTED, DERIVED, EXACT, NOT_TRACED, Taped, UNDECIDED
from dpverify.report.words import compared_words


@pytest.mark.parametrize(
    ("tape", "upper", "kind", "said"),
    [
        (None, 1.0, "", ""),
        (Taped(status=NOT_TRACED), 1.0, "", ""),
        (Taped(status=DERIVED, number=1.0), None, "", ""),
        (Taped(status=CONFORMS, number=1 + 1e-10, ledger=CONFORMS), 1.0, "equal", ""),
        (Taped(status=CONFORMS, number=float("inf"), ledger=CONFORMS), float("inf"), "equal", ""),
        (Taped(status=CONFORMS, number=0.5, ledger=CONFORMS), 1.0, "pair", "worst pair"),
        (Taped(status=CONFORMS, number=1.5, ledger=CONFORMS), 1.0, "envelope", "all transcripts at once"),
        (Taped(status=DERIVED, number=1 + 1e-8, ledger=UNDECIDED), 1.0, "selection", "single transcript"),
        (Taped(status=DERIVED, number=0.5, ledger=UNDECIDED), 1.0, "theorem", "need not be tight"),
        (Taped(status=DERIVED, ledger=UNDECIDED), 1.0, "no ledger derived", "No ledger is derived"),
        (Taped(status=CONTRADICTED, number=2.0, ledger=CONTRADICTED), 1.0, "contradiction", ""),
        (Taped(status=CONTRADICTED, refutes=True), 1.0, "refuted", ""),
        (Taped(status=EXACT, number=2.0, paths=4), 1.0, "contradiction", "not what the ledger says"),
    ],
)
def test_a_difference_has_its_reason(tape, upper, kind, said) -> None:
    found, text = compared_words(tape, upper)
    assert found == kind
    assert said in text
    assert bool(text) == bool(said)
