"""From the tally of a frozen attack to certified bounds, in the claim's own unit and in eps at its delta."""

import math
from dataclasses import dataclass

import numpy as np

from dpverify.base.rounding import digits_up
from dpverify.claims.claim import Claim, WholeProfile
from dpverify.evidence import power
from dpverify.evidence.attack import Attack, Side
from dpverify.evidence.bounds import binomial_tails
from dpverify.evidence.bounds.binomial import BinomialTest, BonferroniTest
from dpverify.evidence.bounds.choice import choose_test
from dpverify.evidence.bounds.protocol import BoundTest, pooled
from dpverify.evidence.bounds.tradeoff_curve import CurveTest
from dpverify.evidence.bounds.two_step import TwoStepTest
from dpverify.evidence.bounds.unconditional import UnconditionalTest
from dpverify.evidence.bounds.weighted import WeightedTest
from dpverify.evidence.tally import Tally, Working


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
    number = power.detectable_number(
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
        working=Working.of(
            tally, pooled=attack.event, nuisance=test.nuisance_level, order=test.order_level, abstains=abstains
        ),
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
        detectable = power.detectable_eps(
            test, trials=n, guess_fraction=fraction, claim_eps=eps, delta=delta, significance=level, power=wanted_power,
            one_sided=tally.one_sided,
        )  # fmt: skip
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
        working=_working(test, tally, deciding),
    )


def _single(attack: Attack, delta: float, significance: float) -> BoundTest:
    """The test of the attack's one event, from what is expected of it."""
    n, right, wrong = attack.expected.trials, int(attack.expected.right.sum()), int(attack.expected.wrong.sum())
    level, one_sided = significance, attack.one_sided
    return choose_test(
        trials=n, delta=delta, expected_right=right, expected_wrong=wrong, one_sided=one_sided, significance=level
    )


def _working(test: BoundTest, tally: Tally, deciding: int) -> Working:
    match test:
        case BonferroniTest():
            return Working.of(tally, pooled=deciding, events=test.events)
        case WeightedTest():
            return Working.of(tally, pooled=deciding, weights=test.weights)
        case UnconditionalTest():
            return Working.of(tally, pooled=deciding, nuisance=test.nuisance_level, order=test.order_level)
    return Working.of(tally, pooled=deciding)


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
