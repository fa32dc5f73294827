"""From the tally of a frozen attack to certified bounds, in the claim's own unit and in eps at its delta."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy
from scipy import special

from dpverify.base import require
from dpverify.base.rounding import digits_up
from dpverify.claims.claim import Claim, WholeProfile
from dpverify.errors import ParameterError
from dpverify.evidence.attack import Attack, Side
from dpverify.evidence.bounds import binomial_tails
from dpverify.evidence.bounds.binomial import binomial_tail, BinomialTest, BonferroniTest
from dpverify.evidence.bounds.binomial_tails import least_reached
from dpverify.evidence.bounds.choice import choose_test
from dpverify.evidence.bounds.protocol import BoundTest, check_level, pooled
from dpverify.evidence.bounds.tradeoff_curve import CurveTest
from dpverify.evidence.bounds.two_step import TwoStepTest
from dpverify.evidence.bounds.weighted import WeightedTest
from dpverify.evidence.tally import Tally, Working

# ----------------------------------------------------------------------------------------------------------------------
# What a run refutes: the most favourable violation that is caught with a stated power, and the trials it takes.
#
# Model of the violating mechanism, with true eps at the claim's delta: a fraction f of the trials is guessed,
# and on that mass the bound of (eps, delta)-DP is attained, c = rho w + d with c + w = f. So a guess is right
# with probability theta = r + (1 - r) d/f (1 where d >= f), rho = e^eps, r = rho/(1 + rho).
# No violation of that eps is easier to refute. A real mechanism whose log ratio varies over the guessed mass is caught
# later than this says, or not at all: measured power is in `auditing.ladder`.
#
# The power is a sum over the number of wrong guesses, in blocks that are each bounded from below by their
# last count: it is never overstated. Rejection means eps_lower > claimed eps. The weighted, unconditional and
# curve tests are planned for with the closed forms next to them (binomial or two-step), which they beat.


_BLOCKS = 100
_SPREAD = 4.0  # standard deviations of the wrong count that are summed on either side
_LARGEST_EPS = 500.0
_MOST_TRIALS = 2**40
_CLEAR = 1e-4  # relative distance of a p-value from the significance that no tolerance of a bound bridges


def detectable_eps(
    test: BoundTest,
    *,
    trials: int,
    guess_fraction: float,
    claim_eps: float,
    delta: float,
    significance: float,
    power: float = 0.95,
    one_sided: bool = False,
) -> float:
    """Smallest true eps that `test` refutes at `claim_eps` with probability >= power; inf when none is.

    The returned eps has at least this power in the model above. Raises ParameterError for a number
    outside its range (0 < guess_fraction <= 1, 0 < power < 1).
    """
    require.integer(at_least=1, trials=trials)
    reached = _power_function(test, claim_eps, delta, significance, guess_fraction, power, one_sided)

    @cache
    def shortfall(eps: float) -> float:
        found = min(max(reached(trials, eps), 1e-300), 1 - 1e-16)
        return float(special.ndtri(power) - special.ndtri(found))

    if shortfall(claim_eps) <= 0:
        return claim_eps
    low, high = claim_eps, max(2 * claim_eps, claim_eps + 0.1)
    while shortfall(high) > 0:
        if high >= _LARGEST_EPS:
            return math.inf
        low, high = high, min(2 * high, _LARGEST_EPS)
    eps = float(scipy.optimize.brentq(shortfall, low, high, xtol=1e-6, rtol=1e-6))
    step = 1e-6
    while shortfall(eps) > 0 and eps < high:
        eps, step = min(eps + step, high), 2 * step
    return eps


def trials_needed(
    test: BoundTest,
    *,
    true_eps: float,
    guess_fraction: float,
    claim_eps: float,
    delta: float,
    significance: float,
    power: float = 0.95,
    one_sided: bool = False,
) -> int | None:
    """A number of trials with which a true eps is refuted at `claim_eps` with probability >= power.

    Within 1 % of the smallest one (the power of discrete tests is not quite monotone); None when even
    2^40 trials do not suffice. Raises ParameterError unless true_eps > claim_eps.
    """
    require.non_negative(true_eps=true_eps)
    reached = _power_function(test, claim_eps, delta, significance, guess_fraction, power, one_sided)
    if not true_eps > claim_eps:
        raise ParameterError("true_eps", true_eps, f"larger than the claimed {claim_eps}")
    high = 1
    while reached(high, true_eps) < power:
        if high >= _MOST_TRIALS:
            return None
        high *= 2
    low = high // 2
    while high - low > max(1, high // 200):
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle, true_eps) >= power else (middle, high)
    return high


def _power_function(
    test: BoundTest,
    claim_eps: float,
    delta: float,
    significance: float,
    guess_fraction: float,
    power: float,
    one_sided: bool,
) -> Callable[[int, float], float]:
    """(trials, true eps) -> lower bound on the power."""
    check_level(delta, significance)
    require.non_negative(claim_eps=claim_eps)
    require.open_unit(power=power)
    if not 0 < guess_fraction <= 1:
        raise ParameterError("guess_fraction", guess_fraction, "in (0, 1]")
    rejects = _rejection(_planned(test, delta), claim_eps, delta, significance, one_sided=one_sided)
    d = delta / 2 if one_sided else delta

    def reached(trials: int, eps: float) -> float:
        rest = float(special.expit(-eps)) * max(0.0, 1 - d / guess_fraction)  # Pr[a guess is wrong]
        wrong, right = guess_fraction * rest, guess_fraction * (1 - rest)
        last = _block_ends(trials, wrong)
        least = _least_right(rejects, last, trials)
        mass = np.diff(scipy.stats.binom.cdf(last, trials, wrong), prepend=0.0)
        caught = special.betainc(np.maximum(least, 1), np.maximum(trials - last - least + 1, 1), right / (1 - wrong))
        return float(mass @ np.where(least <= trials - last, caught, 0.0))

    return reached


def _rejection(
    test: BoundTest, claim_eps: float, delta: float, significance: float, *, one_sided: bool
) -> Callable[[int, int, int], bool]:
    """(right, wrong, trials) -> eps_lower > claim_eps; from the claim's p-value, much the faster, where it is clear."""
    pure = isinstance(test, BinomialTest) and delta == 0

    def rejects(right: int, wrong: int, trials: int) -> bool:
        p = significance
        if pure:
            p = binomial_tail(right, wrong, claim_eps)
        if abs(p - significance) > _CLEAR * significance:
            return p < significance
        tally = Tally.of(right, wrong, trials, one_sided=one_sided)
        return test.eps_lower(tally, delta=delta, significance=significance) > claim_eps

    return rejects


def _planned(test: BoundTest, delta: float) -> BoundTest:
    if isinstance(test, BinomialTest | TwoStepTest):
        return type(test)()
    return BinomialTest() if delta == 0 else TwoStepTest()


def _block_ends(trials: int, wrong: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Last count of each block; what lies beyond the last one counts as not caught."""
    mean, spread = trials * wrong, _SPREAD * math.sqrt(trials * wrong * (1 - wrong))
    first, last = max(0, math.floor(mean - spread)), min(trials, math.ceil(mean + spread + 3))
    return np.unique(np.linspace(first, last, _BLOCKS).astype(np.int64))


def _least_right(
    rejects: Callable[[int, int, int], bool], wrong: np.ndarray[tuple[int], np.dtype[np.int64]], trials: int
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Smallest right count that is rejected with each wrong count (increasing); n - wrong + 1 where none is."""
    found: list[int] = []
    for w in wrong.tolist():
        low, top = (found[-1] - 1 if found else 0), trials - w + 1  # low is not rejected, and top need not be
        guess = 2 * found[-1] - found[-2] if len(found) > 1 else low + 1
        high, step = min(max(guess, low + 1), top), 1
        while high < top and not rejects(high, w, trials):
            low, high, step = high, min(high + step, top), 2 * step
        step = 1
        while high - low > 1 and high - step > low and rejects(high - step, w, trials):
            high, step = high - step, 2 * step
        low = max(low, high - step)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if rejects(middle, w, trials) else (middle, high)
        found.append(high)
    return np.array(found, dtype=np.int64)


# ----------------------------------------------------------------------------------------------------------------------
# The most favourable violation of a claim about a whole profile (rho, mu) that a run refutes.


LARGEST = 2.0**20  # times the claimed number


def detectable_number(claim: Claim, *, trials: int, guess_fraction: float, significance: float, power: float) -> float:
    """Smallest true number that two Clopper-Pearson limits refute with probability >= power; inf when none.

    Model: the mechanism attains its own curve g_x on the guessed mass f: rates c = g_x(w) with c + w = f
    (f = 1: it never abstains, and one limit on c decides). The certifying test is at least as powerful but
    for its nuisance level of 1e-3. The power splits evenly over the two counts.
    """
    if not guess_fraction > 0:
        return math.inf

    def caught(number: float) -> bool:
        wrong = wrong_rate(claim.with_number(number), guess_fraction)
        right = guess_fraction - wrong
        if guess_fraction >= 1:
            v = _low_count(trials, right, 1 - power)
            limit = binomial_tails.clopper_pearson_lower(v, trials, significance)
            return limit > 1 - wrong_rate(claim, 1.0)
        v = _low_count(trials, right, (1 - power) / 2)
        u = trials - _low_count(trials, 1 - wrong, (1 - power) / 2)
        c = binomial_tails.clopper_pearson_lower(v, trials, significance / 2)
        w = binomial_tails.clopper_pearson_upper(u, trials, significance / 2)
        return c > claim.accuracy_limit(w) and w < 1 - c

    return least_reached(caught, claim.number, 2 * claim.number, most=LARGEST * claim.number)


def _low_count(trials: int, rate: float, miss: float) -> int:
    """A count v with Pr[Bin(trials, rate) < v] <= miss."""
    v = int(scipy.stats.binom.ppf(miss, trials, np.clip(rate, 0.0, 1.0)))
    return v if scipy.stats.binom.cdf(v - 1, trials, rate) <= miss else v - 1


def wrong_rate(claim: Claim, mass: float) -> float:
    """The w with g(w) + w = mass, from above."""
    low, high = 0.0, mass / 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if not low < middle < high:  # nothing representable in between: a strong claim's rate underflows
            break
        low, high = (middle, high) if claim.accuracy_limit(middle) + middle < mass else (low, middle)
    return high


# ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LowerBound:
    """eps_lower holds at the claim's delta, number_lower is about eps, rho, mu or a factor; each at the significance.

    p_value is that of the claim itself, log10_p_value its decimal logarithm. detectable is the smallest violation, in
    the claim's own unit, that is refuted with the wanted power if it attains its bound on every guess (the most
    favourable kind: others that large may be missed); detectable_eps is the eps that it means at the claim's delta.
    e_value has mean at most 1 under the claim; sequential runs only.
    The significance is shared by `events` events; the witness is the one that decided, of the attack's first `levels`
    levels (None: of the attack's event). right and wrong are its guesses, and all guesses in sequential runs.
    `working` has what it is computed from.
    """

    eps_lower: float
    number_lower: float
    detectable: float
    detectable_eps: float
    test: str
    right: int
    wrong: int
    p_value: float
    log10_p_value: float
    e_value: float | None = None
    levels: int | None = None
    events: int = 1
    working: Working | None = None


def certify_bound(attack: Attack, tally: Tally, claim: Claim, significance: float, wanted_power: float) -> LowerBound:
    """The bound of the test that was chosen from the attack's predicted tally, before this one was seen."""
    bound = _on_the_curve if isinstance(claim, WholeProfile) else _on_events
    return bound(attack, tally, claim, significance, wanted_power)


def _on_the_curve(attack: Attack, tally: Tally, claim: Claim, significance: float, wanted_power: float) -> LowerBound:
    """One event against all (eps, delta) of the claim's curve."""
    event, abstains, fraction = tally.pooled(attack.event), attack.side is not Side.ALWAYS, attack.guess_fraction()
    test = CurveTest(claim, abstains=abstains, nuisance_level=significance / 50, order_level=significance)
    number = detectable_number(
        claim, trials=tally.trials, guess_fraction=fraction, significance=significance, power=wanted_power
    )
    number = digits_up(number)
    return LowerBound(
        eps_lower=test.eps_lower(event, delta=claim.delta, significance=significance),
        number_lower=test.number_lower(event, significance=significance),
        detectable=number,
        detectable_eps=digits_up(claim.with_number(number).eps) if number < math.inf else math.inf,
        test=test.name,
        right=int(event.right[0]),
        wrong=int(event.wrong[0]),
        p_value=test.claim_p_value(event),
        log10_p_value=test.claim_log10_p_value(event),
        levels=attack.event,
        working=Working.of(tally, pooled=attack.event, **test.working),
    )


def _on_events(attack: Attack, tally: Tally, claim: Claim, significance: float, wanted_power: float) -> LowerBound:
    """One event, or several that share the significance, against the claimed eps at its delta."""
    n, delta, fraction = tally.trials, claim.delta, attack.guess_fraction()
    deciding, seen, level = attack.event, tally.pooled(attack.event), significance
    test = _single(attack, delta, significance)
    if attack.weights:
        test, seen = WeightedTest(attack.weights), tally
    elif len(attack.shares) > 1:
        test = shared = BonferroniTest(attack.shares)
        deciding, seen = shared.deciding(tally, significance=significance), tally
        level = dict(attack.shares)[attack.event] * significance
    event, detectable, eps = tally.pooled(deciding), math.inf, claim.eps
    if fraction > 0:
        detectable = detectable_eps(
            test,
            trials=n,
            guess_fraction=fraction,
            claim_eps=eps,
            delta=delta,
            significance=level,
            power=wanted_power,
            one_sided=tally.one_sided,
        )
    lower = test.eps_lower(seen, delta=delta, significance=significance)
    return LowerBound(
        eps_lower=lower,
        number_lower=lower,
        detectable=digits_up(detectable),
        detectable_eps=digits_up(detectable),
        test=test.name,
        right=int(event.right[0]),
        wrong=int(event.wrong[0]),
        p_value=test.p_value(seen, eps=eps, delta=delta),
        log10_p_value=test.log10_p_value(seen, eps=eps, delta=delta),
        levels=deciding,
        events=1 if attack.weights else max(1, len(attack.shares)),
        working=Working.of(tally, pooled=deciding, **test.working),
    )


def _single(attack: Attack, delta: float, significance: float) -> BoundTest:
    """The test of the attack's one event, from what is expected of it."""
    n, right, wrong = attack.expected.trials, int(attack.expected.right.sum()), int(attack.expected.wrong.sum())
    level, one_sided = significance, attack.one_sided
    return choose_test(
        trials=n, delta=delta, expected_right=right, expected_wrong=wrong, one_sided=one_sided, significance=level
    )


def course(tallies: list[Tally], attack: Attack, claim: Claim, significance: float) -> list[tuple[int, float]]:
    """(trials, eps_lower) after each prefix of the certifying trials: for plots; one look is the certificate.

    Drawn with a plain test of the event, or of all that share the significance, which can be a little below the
    certificate's own test.
    """
    pure = not isinstance(claim, WholeProfile) and claim.delta == 0
    test: BoundTest = BinomialTest(attack.event) if pure else TwoStepTest(attack.event)
    if len(attack.shares) > 1:
        test = BonferroniTest(attack.shares)
    return [(each.trials, test.eps_lower(each, delta=claim.delta, significance=significance)) for each in tallies]


def number_course(
    tallies: list[Tally], attack: Attack, claim: Claim, significance: float, levels: int | None
) -> list[tuple[int, float]]:
    """(trials, lower bound of the claim's own number) at the same prefixes, for claims about a whole profile.

    The number that two Clopper-Pearson limits at half the significance imply: for plots, quick, and below what the
    certificate's own test finds. Empty for claims that are about eps: `course` is in their unit.
    """
    if not isinstance(claim, WholeProfile):
        return []
    points = []
    for tally in tallies:
        right, wrong = pooled(tally, levels)
        low = binomial_tails.clopper_pearson_lower(right, tally.trials, significance / 2)
        high = binomial_tails.clopper_pearson_upper(wrong, tally.trials, significance / 2)
        twice = 2.0 if tally.one_sided else 1.0
        number = 0.0
        if low > high:
            number = float(claim.number_at(np.array([min(1.0, twice * low)]), np.array([twice * high]))[0])
        points.append((tally.trials, number))
    return points
