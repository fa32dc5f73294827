"""From a frozen attack and its tally to the bound: which guesses it is computed from, and what it could have seen."""

import numpy as np

from dpverify import PureDP
from dpverify.base.rounding import digits_up
from dpverify.evidence.attack import Attack, Side
from dpverify.evidence.bounds import BinomialTest, WeightedTest
from dpverify.evidence.lower_bound import certify_bound, detectable_eps
from dpverify.evidence.tally import Tally

ALPHA = 0.05


def tally(right, wrong, trials=None):
    return Tally(trials or sum(right) + sum(wrong), np.array(right), np.array(wrong))


def detectable(guess_fraction, significance):
    asked = {"trials": 2000, "guess_fraction": guess_fraction, "claim_eps": 0.3, "delta": 0.0}
    return detectable_eps(BinomialTest(), significance=significance, **asked)


def test_power_is_planned_with_the_share_of_the_event():
    """What a record says it could have seen must not count on significance that was given away."""
    seen = tally([300, 300], [200, 200], 2000)
    attack = Attack(None, np.array([2.0, 1.0]), 2, Side.BOTH, 1, seen, shares=((1, 0.5), (2, 0.5)))
    found = certify_bound(attack, seen, PureDP(0.3), ALPHA, 0.95)
    assert found.test == "shared binomial"
    assert found.detectable_eps == digits_up(detectable(0.5, ALPHA / 2)) > detectable(0.5, ALPHA)


def test_power_is_planned_with_the_guesses_of_the_event():
    """The event has half of the guesses that are counted."""
    seen = tally([300, 300], [200, 200], 2000)
    attack = Attack(None, np.array([2.0, 1.0]), 1, Side.BOTH, 1, Tally.of(300, 200, 2000))
    found = certify_bound(attack, seen, PureDP(0.3), ALPHA, 0.95)
    assert (found.test, found.levels, found.right) == ("binomial", 1, 300)
    assert found.detectable_eps == digits_up(detectable(0.25, ALPHA)) > detectable(0.5, ALPHA)


def test_the_bound_names_the_event_that_decided():
    predicted, seen = Tally.of(3000, 2000, 20_000), tally([300, 4000], [200, 2000], 20_000)
    attack = Attack(None, np.array([2.0, 1.0]), 1, Side.BOTH, 1, predicted, shares=((1, 0.5), (2, 0.5)))
    found = certify_bound(attack, seen, PureDP(0.3), ALPHA, 0.95)
    assert (found.test, found.levels, found.events) == ("shared binomial", 2, 2)
    assert (found.right, found.wrong) == (4300, 2200)
    alone = BinomialTest(2).eps_lower(seen, delta=0.0, significance=ALPHA / 2)
    assert found.eps_lower == alone > BinomialTest(1).eps_lower(seen, delta=0.0, significance=ALPHA / 2)


def test_weights_come_before_shares():
    seen = tally([16, 44, 58], [1, 3, 12], 1000)
    attack = Attack(
        None, np.array([3.0, 2.0, 1.0]), 2, Side.BOTH, 1, Tally.of(60, 4, 1000), ((2, 0.5), (3, 0.5)), (8, 6, 2)
    )
    found = certify_bound(attack, seen, PureDP(0.3), ALPHA, 0.95)
    assert (found.test, found.events, found.levels, found.right, found.wrong) == ("weighted", 1, 2, 60, 4)
    assert found.eps_lower == WeightedTest((8, 6, 2)).eps_lower(seen, delta=0.0, significance=ALPHA)
