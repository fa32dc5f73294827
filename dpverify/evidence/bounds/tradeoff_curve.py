"""A whole trade-off curve as the hypothesis: pure, approximate, zCDP and Gaussian claims alike.

A claim allows c = Pr[right] at most g(w) when w = Pr[wrong] (`Claim.accuracy_limit`); a rule that only
guesses one dataset allows c <= g(2w)/2 while g(2w) < 1 - 2w. The test is exact unconditional over w, as in
`two_step`.
Outcomes are ordered by T(v, j), the number that two Clopper-Pearson limits certify: the largest x with
c_L(v) >= g_x(w_U(j)). T depends on the claim's notion and not on the hypothesis, so the same region tests every
number of the notion, and every (eps, delta).

Why Pr[p <= a] <= a under c <= limit(w). For an outcome o let R(o) be its region, I(o) the interval of w, and
p(o) >= max{Pr[R(o)] : w in I(o), c <= limit(w)} + nuisance_level.
    R(o) holds every y with T(y) >= T(o): x = T(o) rounded down is certified by o, and x <= T(y). g rises with its
    number, so g_x(w_U(y)) <= g_T(y)(w_U(y)) <= c_L(y), which is the condition for y to be in R(o). This needs
    the order to use g_x itself: with an upper bound on g_x the regions are not nested and the level is lost.
    Whatever else makes R(o) larger (blocks, a window, rounding) is harmless.
    Let t be the smallest T(o) among outcomes with p(o) <= a whose I(o) holds the true w, attained by o'. They all
    lie in {T >= t}, a subset of R(o'), and Pr[R(o')] <= a - nuisance_level. The others miss the true w, which
    has probability at most nuisance_level (Berger, Boos 1994). The sum is at most a.
Enumerations over all outcomes keep this honest: tests/evidence/bounds/test_bound_contract.py.

A rule that never abstains has c = 1 - w: then v ~ Bin(n, c) with c at most the fixed point g(w) = 1 - w,
and the test is an exact sign test (for mu-GDP: c <= Phi(mu/2)).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.base import require
from dpverify.claims.claim import Claim
from dpverify.errors import ParameterError
from dpverify.evidence.bounds import binomial_tails
from dpverify.evidence.bounds.binomial_tails import log10_of, log10_up, log_at_most, SMALLEST
from dpverify.evidence.bounds.protocol import check_hypothesis, check_level, pooled, slack
from dpverify.evidence.bounds.rejection_region import (
    blocks,
    curve_limit,
    exact_limit,
    explained,
    Limit,
    Region,
    response_limit,
    scaled,
    smallest_true,
    wrong_interval,
)
from dpverify.evidence.bounds.two_step import TwoStepTest
from dpverify.evidence.tally import IntArray, Tally

_TOLERANCE = 1e-6
_SMALLEST = 2.0**-40  # claimed numbers are searched above this
_ROUNDING = 1e-9  # more than the relative error of any claim's limit


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
        prepared = self._prepared(tally)
        return prepared.p_value(prepared.limit(self.claim))

    def claim_log10_p_value(self, tally: Tally) -> float:
        """Decimal logarithm of `claim_p_value`, from above; finite."""
        prepared = self._prepared(tally)
        return prepared.log10_p_value(prepared.limit(self.claim))

    def number_lower(self, tally: Tally, *, significance: float) -> float:
        """Largest number such that the claim with every smaller one is refuted; 0.0 when none is."""
        require.open_unit(significance=significance)
        prepared = self._prepared(tally)
        p_value = self._p_value_of_number(prepared)
        found = binomial_tails.largest_refuted(
            p_value, significance, start=prepared.number_near(self.claim), tolerance=_TOLERANCE * _size(self.claim)
        )
        return found if found > _SMALLEST else 0.0

    def _p_value_of_number(self, prepared: "_Sign | _Box") -> Callable[[float], float]:
        return lambda number: prepared.p_value(prepared.limit(self.claim.with_number(max(number, _SMALLEST))))

    @property
    def working(self) -> dict[str, Any]:
        return {"nuisance": self.nuisance_level, "order": self.order_level, "abstains": self.abstains}

    def p_value(self, tally: Tally, *, eps: float, delta: float) -> float:
        check_hypothesis(eps, delta)
        return self._prepared(tally).p_value(response_limit(eps, slack(tally, delta)))

    def log10_p_value(self, tally: Tally, *, eps: float, delta: float) -> float:
        check_hypothesis(eps, delta)
        return self._prepared(tally).log10_p_value(response_limit(eps, slack(tally, delta)))

    def eps_lower(self, tally: Tally, *, delta: float, significance: float) -> float:
        check_level(delta, significance)
        prepared, d = self._prepared(tally), slack(tally, delta)
        near = TwoStepTest(self.levels).eps_lower(tally, delta=delta, significance=significance)
        return binomial_tails.largest_refuted(
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


def _size(claim: Claim) -> float:
    """A start for searches: the claimed number, and something where that is 0, as in (0, delta)-DP."""
    return claim.number if claim.number > 0 else 1e-3


@dataclass(frozen=True)
class _Sign:
    """v ~ Bin(n, c) and c at most the fixed point of the limit."""

    right: int
    wrong: int

    def number_near(self, claim: Claim) -> float:
        return _size(claim)

    def limit(self, claim: Claim) -> Limit:
        return exact_limit(claim)

    def p_value(self, limit: Limit) -> float:
        if self.right == 0:
            return 1.0
        return max(float(special.betaincc(self.wrong + 1, self.right, _least_wrong(limit))), SMALLEST)

    def log10_p_value(self, limit: Limit) -> float:
        return log10_up(float(log_at_most(self.wrong, self.right + self.wrong, _least_wrong(limit))))


def _least_wrong(limit: Limit) -> float:
    """The rate of wrong guesses of a rule that never abstains is at least this."""
    low, high = 0.0, 0.5  # largest w known to have limit(w) < 1 - w, and the smallest known not to
    while high - low > 1e-15 * high and low < (middle := (low + high) / 2) < high:
        below = bool(limit(np.array([middle]))[0] < 1 - middle)
        low, high = (middle, high) if below else (low, middle)
    return low


@dataclass(frozen=True, eq=False)
class _Box:
    """The outcomes at least as extreme as (right, wrong), built once for a tally; None stands for all."""

    right: int
    wrong: int
    tally: Tally
    test: CurveTest

    def number_near(self, claim: Claim) -> float:
        return _size(claim) if self._ordering_claim is None else self._ordering_claim.number

    def limit(self, claim: Claim) -> Limit:
        """An upper bound on the claim's limit, quick and close to it where it is needed."""
        if self._region is None:
            return exact_limit(claim)
        return curve_limit(claim, self._region.low, self._region.high, one_sided=self.tally.one_sided)

    def p_value(self, limit: Limit) -> float:
        if self._region is None:
            return 1.0
        return min(1.0, self._region.worst_probability(limit) + self.test.nuisance_level)

    def log10_p_value(self, limit: Limit) -> float:
        return log10_of(self.p_value(limit))

    @cached_property
    def _region(self) -> Region | None:
        n, level = self.tally.trials, self.test.order_level
        claim = self._ordering_claim
        if claim is None:
            return None
        low, high = wrong_interval(self.wrong, n, self.test.nuisance_level)
        j, end = blocks(self.wrong, n, low, high)
        wrong_rate = np.where(j < n, special.betainccinv(j + 1, np.maximum(n - j, 1), level), 1.0)
        # with j wrong guesses the order counts an outcome in when it excludes every right rate up to this one; lower
        # by more than the limit's own rounding, which may only add outcomes
        right_rate = (1 - _ROUNDING) * explained(self._order(claim), wrong_rate)

        def extreme(v: IntArray) -> npt.NDArray[np.bool_]:
            return np.asarray((v > 0) & (special.betainc(np.maximum(v, 1), n - v + 1, right_rate) <= level))

        start = np.minimum(smallest_true(extreme, j.size, n), np.where(j <= self.wrong, self.right, n + 1))
        start = np.minimum.accumulate(start[::-1])[::-1]  # increasing but for rounding, which may only add outcomes
        return Region(n, j, end, start, low, high)

    def _order(self, claim: Claim) -> Limit:
        return scaled(exact_limit(claim), self.tally.one_sided)

    @cached_property
    def _ordering_claim(self) -> Claim | None:
        """The claim with the number that two Clopper-Pearson limits at `order_level` certify."""
        n, level = self.tally.trials, self.test.order_level
        right_rate = binomial_tails.clopper_pearson_lower(self.right, n, level)
        wrong_rate = np.array([binomial_tails.clopper_pearson_upper(self.wrong, n, level)])

        def contradicted(number: float) -> bool:
            return bool(right_rate >= explained(self._order(self.test.claim.with_number(number)), wrong_rate)[0])

        if not contradicted(_SMALLEST):
            return None
        low, high = _SMALLEST, _size(self.test.claim)
        while contradicted(high):
            low, high = high, 2 * high
        while high - low > 1e-6 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if contradicted(middle) else (low, middle)
        return self.test.claim.with_number(low)
