"""A whole trade-off curve as the hypothesis: pure, approximate, zCDP and Gaussian claims alike.

A claim allows c = Pr[right] at most g(w) when w = Pr[wrong] (`Claim.accuracy_limit`); a rule that only
guesses one dataset allows c <= g(2w)/2 while g(2w) < 1 - 2w. The test is exact unconditional over w, as in
`unconditional`.
Outcomes are ordered by the number that two Clopper-Pearson limits would certify: the largest x with
(lower limit of c) >= g_x(upper limit of w). The order does not depend on the hypothesis, so the same region
tests every number of the notion, and every (eps, delta).

A rule that never abstains has c = 1 - w: then v ~ Bin(n, c) with c at most the fixed point g(w) = 1 - w,
and the test is an exact sign test (for mu-GDP: c <= Phi(mu/2)).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.base import require
from dpverify.base.errors import ParameterError
from dpverify.claims.claim import Claim
from dpverify.evidence.bounds import clopper_pearson, solve
from dpverify.evidence.bounds.limits import curve_limit, explained, response_limit, scaled
from dpverify.evidence.bounds.protocol import check_hypothesis, check_level, pooled, slack
from dpverify.evidence.bounds.region import blocks, Limit, Region, smallest_true, wrong_interval
from dpverify.evidence.bounds.threshold import ThresholdTest
from dpverify.evidence.tally import IntArray, Tally

_TOLERANCE = 1e-6
_SMALLEST = 2.0**-40  # claimed numbers are searched above this


@dataclass(frozen=True)
class CurveTest:
    """Refutes `claim` itself, and certifies its number (eps, rho, mu) or an eps at a stated delta.

    abstains   False for a rule that guesses in every trial by construction (ParameterError if a tally
               shows otherwise): the sign test. Settle it before the trials.
    nuisance_level, order_level   as in `UnconditionalTest`
    Each statement alone has the stated error. A certified number is a statement about the claim's notion:
    "not mu'-GDP for any mu' < mu"; only `eps_lower` is one about (eps, delta)-DP.
    """

    claim: Claim
    abstains: bool = True
    levels: int | None = None
    nuisance_level: float = 1e-3
    order_level: float = 0.2
    name: ClassVar[str] = "curve"

    def __post_init__(self) -> None:
        require.open_unit(nuisance_level=self.nuisance_level, order_level=self.order_level)

    def claim_p_value(self, tally: Tally) -> float:
        """p-value of H0: the claim holds."""
        return self._prepared(tally).p_value_of(self.claim)

    def number_lower(self, tally: Tally, *, significance: float) -> float:
        """Largest number such that the claim with every smaller one is refuted; 0.0 when none is."""
        require.open_unit(significance=significance)
        prepared = self._prepared(tally)

        def p_value(number: float) -> float:
            return prepared.p_value_of(self.claim.with_number(max(number, _SMALLEST)))

        found = solve.largest_refuted(
            p_value, significance, start=prepared.number_near(self.claim), tolerance=_TOLERANCE * self.claim.number
        )
        return found if found > _SMALLEST else 0.0

    def p_value(self, tally: Tally, *, eps: float, delta: float) -> float:
        check_hypothesis(eps, delta)
        return self._prepared(tally).p_value(response_limit(eps, slack(tally, delta)))

    def eps_lower(self, tally: Tally, *, delta: float, significance: float) -> float:
        check_level(delta, significance)
        prepared, d = self._prepared(tally), slack(tally, delta)
        near = ThresholdTest(self.levels).eps_lower(tally, delta=delta, significance=significance)
        return solve.largest_refuted(
            lambda eps: prepared.p_value(response_limit(eps, d)),
            significance,
            start=max(near, 0.01),
            tolerance=_TOLERANCE,
        )

    def _prepared(self, tally: Tally) -> "_Sign | _Box":
        right, wrong = pooled(tally, self.levels)
        if self.abstains:
            return _Box(right, wrong, tally, self)
        if right + wrong != tally.trials or tally.one_sided:
            raise ParameterError("abstains", False, f"True: {tally.trials - right - wrong} trials without a guess")
        return _Sign(right, wrong)


@dataclass(frozen=True)
class _Sign:
    """v ~ Bin(n, c) and c at most the fixed point of the limit."""

    right: int
    wrong: int

    def number_near(self, claim: Claim) -> float:
        return claim.number

    def p_value_of(self, claim: Claim) -> float:
        return self.p_value(lambda w: np.array([claim.accuracy_limit(float(each)) for each in w]))

    def p_value(self, limit: Limit) -> float:
        low, high = 0.0, 0.5  # largest w known to have limit(w) < 1 - w, and the smallest known not to
        while high - low > 1e-15 * high and low < (middle := (low + high) / 2) < high:
            below = bool(limit(np.array([middle]))[0] < 1 - middle)
            low, high = (middle, high) if below else (low, middle)
        return float(special.betaincc(self.wrong + 1, self.right, low)) if self.right else 1.0


@dataclass(frozen=True, eq=False)
class _Box:
    """The outcomes at least as extreme as (right, wrong), built once for a tally; None stands for all."""

    right: int
    wrong: int
    tally: Tally
    test: CurveTest

    def number_near(self, claim: Claim) -> float:
        return claim.number if self._ordering_claim is None else self._ordering_claim.number

    def p_value_of(self, claim: Claim) -> float:
        if self._region is None:
            return 1.0
        low, high = self._region.low, self._region.high
        return self.p_value(curve_limit(claim, low, high, one_sided=self.tally.one_sided))

    def p_value(self, limit: Limit) -> float:
        if self._region is None:
            return 1.0
        return min(1.0, self._region.worst_probability(limit) + self.test.nuisance_level)

    @cached_property
    def _region(self) -> Region | None:
        n, level = self.tally.trials, self.test.order_level
        claim = self._ordering_claim
        if claim is None:
            return None
        low, high = wrong_interval(self.wrong, n, self.test.nuisance_level)
        j, end = blocks(self.wrong, n, low, high)
        wrong_rate = np.where(j < n, special.betainccinv(j + 1, np.maximum(n - j, 1), level), 1.0)
        # with j wrong guesses the order counts an outcome in when it excludes every right rate up to this one
        order = curve_limit(claim, wrong_rate[0], wrong_rate[-1], one_sided=self.tally.one_sided)
        right_rate = explained(order, wrong_rate)

        def extreme(v: IntArray) -> npt.NDArray[np.bool_]:
            return np.asarray((v > 0) & (special.betainc(np.maximum(v, 1), n - v + 1, right_rate) <= level))

        start = np.maximum.accumulate(smallest_true(extreme, j.size, n))
        start = np.where(j <= self.wrong, np.minimum(start, self.right), start)  # chords and rounding excluded
        return Region(n, j, end, start, low, high)

    @cached_property
    def _ordering_claim(self) -> Claim | None:
        """The claim with the number that two Clopper-Pearson limits at `order_level` certify."""
        n, level = self.tally.trials, self.test.order_level
        right_rate = clopper_pearson.lower(self.right, n, level)
        wrong_rate = np.array([clopper_pearson.upper(self.wrong, n, level)])

        def contradicted(number: float) -> bool:
            limit = scaled(
                lambda w: np.array([self.test.claim.with_number(number).accuracy_limit(float(w[0]))]),
                self.tally.one_sided,
            )
            return bool(right_rate >= explained(limit, wrong_rate)[0])

        if not contradicted(_SMALLEST):
            return None
        low, high = _SMALLEST, self.test.claim.number
        while contradicted(high):
            low, high = high, 2 * high
        while high - low > 1e-6 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if contradicted(middle) else (low, middle)
        return self.test.claim.with_number(low)
