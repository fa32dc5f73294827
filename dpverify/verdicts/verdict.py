"""The three verdicts and the rule. Nothing else in the toolkit decides.

    REFUTED        the certified lower bound exceeds the claim: false at the stated significance
    INCONCLUSIVE   no violation whatsoever, however large, could have been caught with this budget
    NOT_REFUTED    neither; always printed with the smallest violation that would have been caught

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


def judge(*, number_lower: float, claimed: float, detectable: float) -> Verdict:
    """Verdict from the certified lower bound on the claimed number and the smallest detectable violation.

    NaN anywhere is INCONCLUSIVE: every comparison with it is false.
    """
    if number_lower > claimed:
        return Verdict.REFUTED
    if number_lower <= claimed and detectable < math.inf:
        return Verdict.NOT_REFUTED
    return Verdict.INCONCLUSIVE
