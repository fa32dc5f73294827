"""From the tally of a frozen attack to certified bounds, in the claim's own unit and in eps at its delta."""

from dataclasses import dataclass

from dpverify.claims.claim import Claim
from dpverify.evidence.attack import Attack
from dpverify.evidence.bounds.choose import choose_test
from dpverify.evidence.power import detectable_eps
from dpverify.evidence.tally import Tally


@dataclass(frozen=True)
class LowerBound:
    """eps_lower holds at the claim's delta, number_lower is about eps, rho or mu; both at one significance."""

    eps_lower: float
    number_lower: float
    detectable_eps: float
    test: str
    right: int
    wrong: int


def certify_bound(attack: Attack, tally: Tally, claim: Claim, significance: float, power: float) -> LowerBound:
    """The bound of the test that was chosen from the attack's predicted tally, before this one was seen."""
    expected, event = attack.expected.pooled(attack.event), tally.pooled(attack.event)
    test = choose_test(
        trials=tally.trials,
        delta=claim.delta,
        expected_right=float(expected.right[0]),
        expected_wrong=float(expected.wrong[0]),
        one_sided=tally.one_sided,
        significance=significance,
    )
    lower = test.eps_lower(event, delta=claim.delta, significance=significance)
    return LowerBound(
        eps_lower=lower,
        number_lower=lower,
        detectable_eps=detectable_eps(
            test,
            trials=tally.trials,
            guess_fraction=expected.guesses / tally.trials,
            claim_eps=claim.eps,
            delta=claim.delta,
            significance=significance,
            power=power,
        ),
        test=test.name,
        right=int(event.right[0]),
        wrong=int(event.wrong[0]),
    )


def course(tallies: list[Tally], attack: Attack, claim: Claim, significance: float) -> list[tuple[int, float]]:
    """(trials, eps_lower) after each prefix of the certifying trials: for plots, one look is the certificate."""
    expected = attack.expected.pooled(attack.event)
    points = []
    for tally in tallies:
        test = choose_test(
            trials=tally.trials,
            delta=claim.delta,
            expected_right=float(expected.right[0]) * tally.trials / expected.trials,
            expected_wrong=float(expected.wrong[0]) * tally.trials / expected.trials,
            one_sided=tally.one_sided,
            significance=significance,
        )
        event = tally.pooled(attack.event)
        points.append((tally.trials, test.eps_lower(event, delta=claim.delta, significance=significance)))
    return points
