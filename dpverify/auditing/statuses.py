"""What is known of a claim in one word, what a proof rests on, and what somebody accepts.

Who has a result imports these: records and certificates, suites, reports, the command line. Nothing heavy is loaded.
"""

import math
from collections.abc import Iterable
from enum import StrEnum

# ----------------------------------------------------------------------------------------------------------------------
# The four verdicts, what they mean for people, and the rule. Nothing else in the toolkit decides.
#
#     REFUTED        the certified lower bound exceeds the claim: false at the stated significance. The bound is that of
#                    trials, or of transcripts of the code itself (`tape_record`), which need no statistics
#     INCONCLUSIVE   no violation whatsoever, however large, could have been refuted with this budget, or at least half
#                    of the trials on a dataset failed
#     INVALID        the trials are not what a bound may be computed from (dependent, mutated data, ...): no bound
#       counts
#     NOT_REFUTED    none of these; always printed with the most favourable violation that it refutes
#
# Sampling never verifies. A claim is proved by its code (`dpverify.proof`), or by its ledger (`accounted`) as far as
# the ledger tells the truth; a certified lower bound above the ledger's upper bound shows that it does not.


class Verdict(StrEnum):
    """What the trials say about a claim."""

    REFUTED = "REFUTED"
    NOT_REFUTED = "NOT_REFUTED"
    INCONCLUSIVE = "INCONCLUSIVE"
    INVALID = "INVALID"


class Status(StrEnum):
    """What is known about a claim, from all evidence together: the word of a record and of a certificate.

    CERTIFIED     the claim is proved for all neighbours, and the code was seen to do what the proof is about
    ACCOUNTED     the ledger meets the claim for all neighbours; that the code adds this noise was not seen
    REFUTED       the claim is false, by trials at the stated significance or by the code itself
    OPEN          judged, neither proved nor refuted
    INCONCLUSIVE  too little to judge, or at least half of the trials failed
    INVALID       there are trials, but a bound may not be computed from them
    FAILED        no evidence was produced: a crash, a time limit, an error of the run
    """

    CERTIFIED = "CERTIFIED"
    ACCOUNTED = "ACCOUNTED"
    REFUTED = "REFUTED"
    OPEN = "OPEN"
    INCONCLUSIVE = "INCONCLUSIVE"
    INVALID = "INVALID"
    FAILED = "FAILED"


class Accept(StrEnum):
    """What evidence for a claim somebody accepts, the least first.

    LEDGER    that its ledger meets it: ACCOUNTED or CERTIFIED
    CONFORMS  that the code was seen to follow its ledger, too: CERTIFIED
    PROOF     that it is proved from the code itself: by `certify --data`, or of a subject with a schema
    """

    LEDGER = "ledger"
    CONFORMS = "conforms"
    PROOF = "proof"

    def met_by(self, status: Status, grade: "Grade | None") -> bool:
        """Return whether this status, which rests on a proof of this grade, is enough."""
        if self is Accept.PROOF:
            return status is Status.CERTIFIED and grade is Grade.PROOF
        return status is Status.CERTIFIED or (self is Accept.LEDGER and status is Status.ACCOUNTED)


class Grade(StrEnum):
    """What a proof rests on, the strongest first.

    PROOF    the code itself: it was proved for all neighbours of a schema (`dpverify.proof`), no ledger is needed
    CODE     the code was compared with the ledger on the pairs (it conforms, its law was enumerated, or the ledger that
             it adds is within the claim)
    LEDGER   the ledger is the author's word: the code was not traced, or its draws decide nothing
    THEOREM  the ledger has a step of which no draw shows anything (`PureStep` and kin); its theorem is the author's
    """

    PROOF = "proved from the code"
    CODE = "code conforms"
    LEDGER = "author's ledger"
    THEOREM = "author's theorem"


GRADES = tuple(Grade)  # the strongest first


def weakest(grades: Iterable[Grade | None]) -> Grade | None:
    """Return the weakest grade of proofs that must all hold, or None if any is missing."""
    found = list(grades)
    known = [grade for grade in found if grade is not None]
    return max(known, key=GRADES.index) if known and len(known) == len(found) else None


def judge(
    *, number_lower: float, claimed: float, detectable: float, mostly_failed: bool = False, invalid: bool = False
) -> Verdict:
    """Decide the verdict of an audit from its certified lower bound.

    For example, a lower bound of 1.3 on a claim of eps = 1 is REFUTED. Where at least half of the trials on a dataset
    failed (`mostly_failed`), the claim can be refuted and is never NOT_REFUTED: failures may leak, too. NaN anywhere
    is INCONCLUSIVE, since every comparison with it is false.
    """
    if invalid:
        return Verdict.INVALID
    if number_lower > claimed:
        return Verdict.REFUTED
    if number_lower <= claimed and detectable < math.inf and not mostly_failed:
        return Verdict.NOT_REFUTED
    return Verdict.INCONCLUSIVE
