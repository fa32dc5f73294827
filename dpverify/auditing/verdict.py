"""The four verdicts, what they mean for people, and the rule. Nothing else in the toolkit decides.

    REFUTED        the certified lower bound exceeds the claim: false at the stated significance. The bound is that of
                   trials, or of transcripts of the code itself (`tape_record`), which need no statistics
    INCONCLUSIVE   no violation whatsoever, however large, could have been refuted with this budget, or at least half
                   of the trials on a dataset failed
    INVALID        the trials are not what a bound may be computed from (dependent, mutated data, ...): no bound counts
    NOT_REFUTED    none of these; always printed with the most favourable violation that it refutes

Sampling never verifies. A claim is proved only by its ledger (`accounted`), and only as far as the ledger
tells the truth; a certified lower bound above the ledger's upper bound shows that it does not.
"""

import math
from enum import StrEnum


class Verdict(StrEnum):
    """What the trials say about a claim."""

    REFUTED = "REFUTED"
    NOT_REFUTED = "NOT_REFUTED"
    INCONCLUSIVE = "INCONCLUSIVE"
    INVALID = "INVALID"


class Status(StrEnum):
    """What is known about a claim, from all evidence together.

    PROVED        a ledger meets the claim, for all neighbours, and nothing contradicts it
    REFUTED       the claim is false at the stated significance
    OPEN          judged, neither proved nor refuted
    INCONCLUSIVE  too little to judge, or at least half of the trials failed
    INVALID       there are trials, but a bound may not be computed from them
    FAILED        no evidence was produced: a crash, a time limit, an error of the run
    """

    PROVED = "PROVED"
    REFUTED = "REFUTED"
    OPEN = "OPEN"
    INCONCLUSIVE = "INCONCLUSIVE"
    INVALID = "INVALID"
    FAILED = "FAILED"


def judge(
    *, number_lower: float, claimed: float, detectable: float, mostly_failed: bool = False, invalid: bool = False
) -> Verdict:
    """Verdict from the certified lower bound on the claimed number and the smallest detectable violation.

    `mostly_failed` says that at least half of the trials on a dataset failed: that can refute (failures of one dataset
    are a leak), and never clears. NaN anywhere is INCONCLUSIVE: every comparison with it is false.
    """
    if invalid:
        return Verdict.INVALID
    if number_lower > claimed:
        return Verdict.REFUTED
    if number_lower <= claimed and detectable < math.inf and not mostly_failed:
        return Verdict.NOT_REFUTED
    return Verdict.INCONCLUSIVE
