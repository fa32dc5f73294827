"""From the guesses of ONE run to a certified lower bound: m canaries, each in or out by a fair coin of its own.

The mechanism sees all coins at once, so nothing is independent given its output t. Guessed are r canaries, chosen by t;
the others abstain. X_i says that the guess on canary i is right, V is the number of right guesses; s is the vector of
coins, s^i the same with coin i turned. Neighbours differ in one coin. Which test is used is decided by the kind of
claim, never by data: `OneRunTest` for pure and approximate claims, `OneRunCurveTest` for claims about a whole profile.

Pure and approximate claims: rho = e^eps, W ~ Bin(r, rho/(1 + rho)), b(k) = Pr[W = k], B = Pr[W >= v]. Then

    Pr[V >= v] <= B + (1 - B) min(1, m delta B/(v b(v))),

which is Theorem 5.2 of Steinke, Nasr, Jagielski 2023 with the best possible excess instead of 2 m delta max_i
Pr[v > W >= v - i]/i: where all canaries are guessed some (eps, delta)-DP mechanism attains it (tests enumerate it).
Proof (Stein's method). Let F solve k F(k) - rho (r - k) F(k + 1) = 1[k >= v] - B for k = 0..r. From below,
F(k) = B Pr[W < k]/(k b(k)) for k <= v; from above, F(k) = (1 - B) Pr[W >= k]/(k b(k)) for k >= v. As b is log-concave
the first grows and the second falls in k: 0 <= F <= F(v) = B (1 - B)/(v b(v)). With p the joint law of output and right
guesses,

    Pr[V >= v] - B = E[V F(V) - rho (r - V) F(V + 1)] = sum_i sum_(t, s: X_i = 1) F(V) (p(t, s) - rho p(t, s^i)),

because turning coin i turns a wrong guess into a right one and leaves all others. Coins are fair, so for every s
sum_t (p(t | s) - rho p(t | s^i))^+ <= delta, and the sum over i is at most F(v) m delta. The minimum with 1 is trivial.
For delta = 0 this is B, whatever depends on what.

A claim with a curve: c <= g(w) for every rule (`Claim.accuracy_limit`, concave). For j = 1..r take the rule that
guesses a canary i drawn at random, where its guess is one of the r and at least j - 1 of the others are right. Averaged
over i and all coins, by concavity, with pi(k) = Pr[V = k],

    R(j) <= g(H(j - 1)),   R(j) = sum_(k >= j) k pi(k)/m,   H(j) = sum_(k >= j) (r - k) pi(k)/m

(Mahloujifar, Melis, Chaudhuri 2024). Pr[V >= v] = a needs R(v) >= v a/m; the least that then has to be, level by level
downwards, is H(j - 1) = max(H(j), g^-1(R(j))) and R(j - 1) = R(j) + (j - 1)/(r - j + 1) (H(j - 1) - H(j)). All of it
grows with a. Where the mass (R + H) m/r exceeds 1, a is impossible: Pr[V >= v] < a. By summation by parts R is a sum of
the H with coefficients > 0, so that rounding each H down rounds the mass down.

How many guesses: a grid of r that is fixed by m alone, with shares of the significance (`guess_counts`, Bonferroni).
Measured on the Gaussian game for eps 1 to 8 and m = 1e3 to 1e5 the best r is near 8 m^0.4. So that one has two thirds
of the significance, and each step away from it a fifth of the step before. Equal shares certify up to 13 % less. A
split of the canaries would leave the part that chooses r out of the certificate.

References
----------
Steinke, Nasr, Jagielski 2023, Privacy Auditing with One (1) Training Run. Mahloujifar, Melis, Chaudhuri 2024, Auditing
f-Differential Privacy in One Run.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.base import require
from dpverify.base.rounding import digits_up
from dpverify.base.seeding import Stage, stream
from dpverify.claims.claim import Claim, WholeProfile
from dpverify.evidence.bounds.binomial_tails import (
    largest_refuted,
    least_reached,
    log10_of,
    log10_up,
    log_at_most,
    log_pmf,
    SMALLEST,
)
from dpverify.evidence.bounds.protocol import check_hypothesis, check_level, pooled
from dpverify.evidence.bounds.rejection_region import exact_limit
from dpverify.evidence.lower_bound import LowerBound, wrong_rate
from dpverify.evidence.tally import Tally, Working

FEWEST = 16  # canaries, and guesses
TIES = (1, 20)  # key of the stream of the coins that break ties

Events = tuple[tuple[int, float], ...]  # (levels that are pooled, share of the significance)
BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]


def guess_counts(canaries: int) -> dict[int, float]:
    """Numbers of guesses with their shares, the smallest first: 1/2, 1/4, ... of the canaries down to 16, made even.

    Of fewer than 32 canaries all are guessed.
    """
    counts, r = [], canaries // 2
    while r >= FEWEST:
        counts.append(r - r % 2)
        r //= 2
    counts = counts[::-1] or [canaries - canaries % 2]
    apart = [abs(math.log(each / (8 * canaries**0.4))) for each in counts]
    weights = [5.0 ** -abs(i - apart.index(min(apart))) for i in range(len(counts))]
    return {each: weight / sum(weights) for each, weight in zip(counts, weights, strict=True)}


def counted(included: BoolArray, scores: FloatArray, guesses: Iterable[int]) -> Tally:
    """Right and wrong guesses: "in" on the half of them with the largest scores, "out" on the half with the smallest.

    Level k holds what the (k+1)-st number of guesses adds to those before. Ties are broken by coins of the audit's own
    (`stream`, seed 0): whoever comes first among equal scores is drawn without a look at coins or scores. Both theorems
    hold for every rule that chooses its guesses by the output and by coins of its own, as those are a part of the
    output t then: post-processing. So scores of two values, of which half of the canaries have one, are guessed as far
    as the number of guesses goes, and the order of the rows says nothing. Canaries whose score is no finite number are
    never guessed.
    """
    kept = np.isfinite(scores)
    own = stream(0, Stage.SELECT, *TIES).permutation(included.size)
    order = np.lexsort((own[kept], scores[kept]))
    inside = included[kept][order]
    totals = list(guesses)
    right = [int((~inside[: r // 2]).sum() + inside[len(inside) - r // 2 :].sum()) for r in totals]
    wrong = [r - v for r, v in zip(totals, right, strict=True)]
    return Tally(included.size, np.diff(right, prepend=0), np.diff(wrong, prepend=0))


# ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OneRunTest:
    """p(eps) = min over events of the first bound divided by the event's share; for pure and approximate claims."""

    events: Events
    name: ClassVar[str] = "one run"

    def p_value(self, tally: Tally, *, eps: float, delta: float) -> float:
        """In (0, 1], never smaller than an exact p-value of H0(eps, delta)."""
        return max(math.exp(self._log_p_value(tally, eps, delta)), SMALLEST)

    def log10_p_value(self, tally: Tally, *, eps: float, delta: float) -> float:
        """Decimal logarithm of the p-value, from above."""
        return log10_up(self._log_p_value(tally, eps, delta))

    def eps_lower(self, tally: Tally, *, delta: float, significance: float) -> float:
        """Largest eps that an event refutes at its share, from below; 0.0 where none refutes eps = 0."""
        return self.strongest(tally, delta=delta, significance=significance)[0]

    def strongest(self, tally: Tally, *, delta: float, significance: float) -> tuple[float, int]:
        """That bound and the levels of its event; of equal ones the event with most guesses."""
        check_level(delta, significance)
        found = []
        for levels, share in self.events:
            chance = partial(_chance, *pooled(tally, levels), tally.trials, delta)
            found.append((largest_refuted(chance, share * significance), levels))
        return max(found)

    def _log_p_value(self, tally: Tally, eps: float, delta: float) -> float:
        check_hypothesis(eps, delta)
        logs = [log_tail(*pooled(tally, k), tally.trials, eps, delta) - math.log(share) for k, share in self.events]
        return min(0.0, min(logs) + _ROUNDING)


_ROUNDING = 1e-12  # more than that of a logarithm of a share, and of a sum of two p-values


def _chance(right: int, wrong: int, canaries: int, delta: float, eps: float) -> float:
    return math.exp(log_tail(right, wrong, canaries, eps, delta))


def log_tail(right: int, wrong: int, canaries: int, eps: float, delta: float) -> float:
    """log of the largest Pr[V >= right] of an (eps, delta)-DP mechanism with right + wrong guesses, from above."""
    if right == 0:
        return 0.0
    r, miss = right + wrong, float(special.expit(-eps))
    log_b = float(log_at_most(wrong, r, miss))
    if delta == 0 or log_b >= 0:
        return log_b
    # log_pmf errs by less than what it adds, 2^-49 of the sum of its terms' sizes; less four times that: from below
    size = 2 * special.gammaln(r + 1.0) + r * (abs(math.log(miss)) + abs(math.log1p(-miss)))
    least_mass = float(log_pmf(wrong, r, miss)) - 2.0**-47 * size
    log_excess = min(0.0, math.log(canaries * delta / right) + log_b - least_mass)
    return min(0.0, float(np.logaddexp(log_b, math.log(-math.expm1(log_b)) + log_excess)) + _ROUNDING)


# ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OneRunCurveTest:
    """The claim itself, and its number, by the recursion; each event at its share."""

    claim: Claim
    events: Events
    name: ClassVar[str] = "one run curve"

    def claim_p_value(self, tally: Tally) -> float:
        """p-value of H0: the claim holds; from above, and not below 1e-12."""
        least = least_wrong(self.claim)
        return min(1.0, *(_tail_of_curve(*pooled(tally, k), tally.trials, least) / share for k, share in self.events))

    def number_lower(self, tally: Tally, *, significance: float) -> float:
        """Largest number such that the claim with every smaller one is refuted; 0.0 when none is."""
        return self.strongest(tally, significance=significance)[0]

    def strongest(self, tally: Tally, *, significance: float) -> tuple[float, int]:
        """That bound and the levels of the event that refutes it; all levels where none refutes anything."""
        require.open_unit(significance=significance)
        size = self.claim.number
        low, high, deciding, left = 0.0, size, self.events[-1][0], list(self.events)
        while high < _LARGEST * size and (refuting := self._refuting(high, tally, left, significance)):
            low, high, deciding, left = high, 2 * high, refuting[-1][0], refuting
        while high - low > _TOLERANCE * high and high > _SMALLEST * size:
            middle = (low + high) / 2
            if refuting := self._refuting(middle, tally, left, significance):
                low, deciding, left = middle, refuting[-1][0], refuting
            else:
                high = middle
        return low, deciding

    def _refuting(self, number: float, tally: Tally, events: Sequence[tuple[int, float]], level: float) -> list[Any]:
        """Those of the events that refute the claim with this number, at their shares."""
        least = least_wrong(self.claim.with_number(number))
        return [(k, s) for k, s in events if impossible(*pooled(tally, k), tally.trials, s * level, least)]


_LARGEST, _SMALLEST = 2.0**80, 2.0**-30  # times the claimed number: where bounds are searched
_TOLERANCE = 1e-6  # relative
_LEAST_P = math.log(1e-12)


def impossible(right: int, wrong: int, canaries: int, chance: float, least: Callable[[float], float]) -> bool:
    """Whether the recursion shows that Pr[V >= right] < chance; `least` is g^-1 from below, see `least_wrong`."""
    r, m = right + wrong, canaries
    rights, wrongs = right * chance / m, wrong * chance / m  # R(j), H(j) from j = right downwards
    rest = chance * r / (m * (wrong + 1.0))  # R(j) is this plus (j - 1)/(r - j + 1) H(j)
    for k in range(right - 1, -1, -1):
        needed = least(rights)
        if needed <= wrongs:  # nothing more is needed, at this level and at all below
            return False
        wrongs = needed
        rights = rest + k / (r - k) * wrongs
        if (rights + wrongs) * (1 - 1e-9) > r / m:
            return True
        rest += wrongs * r / ((r - k) * (r - k + 1.0))
    return False


def _tail_of_curve(right: int, wrong: int, canaries: int, least: Callable[[float], float]) -> float:
    """The least chance that is known to be impossible."""
    low, high = _LEAST_P, 0.0
    if right and impossible(right, wrong, canaries, math.exp(low), least):
        return math.exp(low)
    while high - low > _TOLERANCE:
        middle = (low + high) / 2
        refuted = impossible(right, wrong, canaries, math.exp(middle), least)
        low, high = (low, middle) if refuted else (middle, high)
    return math.exp(high)


def least_wrong(claim: Claim) -> Callable[[float], float]:
    """c -> a w such that every rate of wrong guesses with g >= c is at least w; close to the largest.

    Between two nodes a concave g lies below the chords of the neighbouring intervals, extended. Nodes are asked for
    when they are needed: a limit of Renyi divergences takes a millisecond.
    """
    limit, top, here = exact_limit(claim), len(_NODES) - 1, 0

    @cache
    def value(i: int) -> float:
        found = float(limit(np.array([_NODES[i]]))[0])
        return found if found < 1 - _NODES[i] - 1e-12 else math.inf  # where g is cut off it says nothing more

    def beyond(i: int, end: int, right: float) -> float:
        """Where the chord of nodes i and i + 1, extended beyond its node `end`, reaches `right`."""
        if not (0 <= i < top and value(i) < value(i + 1) < math.inf):
            return 0.0
        return _NODES[end] + (right - value(end)) * (_NODES[i + 1] - _NODES[i]) / (value(i + 1) - value(i))

    def least(right: float) -> float:
        nonlocal here
        right *= _SAFE
        if not value(here) <= right < value(here + 1):
            here = bisect_right(range(top), right, key=value) - 1
        if here < 0:
            here = 0
            return 0.0
        return _SAFE * max(_NODES[here], beyond(here - 1, here, right), beyond(here + 1, here + 1, right))

    return least


_NODES: list[float] = [
    0.0,
    *np.geomspace(1e-24, 1e-12, 40, endpoint=False).tolist(),
    *np.geomspace(1e-12, 1.0, 360).tolist(),
]
_SAFE = 1 - 1e-9  # more than the error of any claim's limit


# ----------------------------------------------------------------------------------------------------------------------


def certify_one_run(tally: Tally, claim: Claim, events: Events, significance: float, power: float) -> LowerBound:
    """What the guesses certify, in the claim's own unit and in eps at its delta."""
    plain, delta, own = OneRunTest(events), claim.delta, isinstance(claim, WholeProfile)
    test = OneRunCurveTest(claim, events) if own else plain
    eps_lower, deciding = plain.strongest(tally, delta=delta, significance=significance)
    number_lower = eps_lower
    if isinstance(test, OneRunCurveTest):
        number_lower, deciding = test.strongest(tally, significance=significance)
        p_value = test.claim_p_value(tally)
        log10_p_value = log10_of(p_value)
    else:
        p_value = plain.p_value(tally, eps=claim.eps, delta=delta)
        log10_p_value = plain.log10_p_value(tally, eps=claim.eps, delta=delta)
    detectable = _detectable(tally, claim, events, significance, power)
    right, wrong = pooled(tally, deciding)
    return LowerBound(
        eps_lower=eps_lower,
        number_lower=number_lower,
        detectable=digits_up(detectable),
        detectable_eps=digits_up(claim.with_number(detectable).eps if detectable < math.inf else math.inf),
        test=test.name,
        right=right,
        wrong=wrong,
        p_value=p_value,
        log10_p_value=log10_p_value,
        levels=deciding,
        events=len(events),
        working=Working.of(tally, pooled=deciding, events=events),
    )


def _detectable(tally: Tally, claim: Claim, events: Events, significance: float, power: float) -> float:
    """Smallest true number that an event refutes with probability >= power; inf when none is.

    Model: canaries are independent, and each guess is right as often as the claim with that number lets it be.
    """
    least = least_wrong(claim) if isinstance(claim, WholeProfile) else None
    needed = []  # (guesses, right ones that refute)
    for levels, share in events:
        r = sum(pooled(tally, levels))
        low, high = 0, r + 1
        while high - low > 1:
            middle = (low + high) // 2
            if least is None:
                refuted = log_tail(middle, r - middle, tally.trials, claim.eps, claim.delta) < math.log(
                    share * significance
                )
            else:
                refuted = impossible(middle, r - middle, tally.trials, share * significance, least)
            low, high = (low, middle) if refuted else (middle, high)
        needed.append((r, high))

    def caught(number: float) -> bool:
        other = claim.with_number(number)
        for r, v in needed:
            if v <= r:
                miss = wrong_rate(other, r / tally.trials) * tally.trials / r
                if special.bdtr(r - v, r, min(1.0, miss)) >= power:
                    return True
        return False

    start = claim.number or 1e-3
    return least_reached(caught, claim.number, 2 * start, most=_LARGEST * start)
