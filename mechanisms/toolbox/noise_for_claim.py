"""The smallest noise whose ledger proves a claim, by numerical accounting instead of a paper's constants.

    calibrate(lambda b: Local(layout=layout, eps=1.0, scale=b), ApproxDP(1.0, 1e-6), low=0.1, high=100.0)

The claim's relation decides which sensitivities count. More noise must never cost more privacy: the search is
a bisection, and what it returns was itself checked against the claim.
"""

import math
from collections.abc import Callable
from typing import Protocol, TypeVar

from dpverify.accounting.accountant import meets
from dpverify.accounting.ledger import Ledger
from dpverify.base import require
from dpverify.base.errors import AccountingError, ParameterError
from dpverify.claims.claim import Claim


class HasLedger(Protocol):
    """Anything that says what it does."""

    @property
    def ledger(self) -> Ledger:
        """The noise events."""
        ...


M = TypeVar("M", bound=HasLedger)


def calibrate(build: Callable[[float], M], claim: Claim, *, low: float, high: float, tolerance: float = 1e-6) -> M:
    """`build(x)` for the smallest x in [low, high], up to the relative `tolerance`, whose ledger meets `claim`.

    `build` maps an amount of noise to a mechanism; `low` itself is returned where it suffices. Raises
    AccountingError when `high` does not suffice, ParameterError unless 0 < low <= high.
    """
    require.positive(low=low, high=high, tolerance=tolerance)
    if not low <= high:
        raise ParameterError("low", low, f"at most high = {high}")

    def enough(noise: float) -> bool:
        return meets(claim, build(noise).ledger)

    if enough(low):
        return build(low)
    if not enough(high):
        raise AccountingError(f"noise {high} does not prove {claim}; raise `high`")
    while high > low * (1 + tolerance):
        middle = math.sqrt(low) * math.sqrt(high)
        if not low < middle < high:
            break
        low, high = (low, middle) if enough(middle) else (middle, high)
    return build(high)
