"""Several events with one significance: level, power, and what it refuses."""

import math

import numpy as np
import pytest
from scipy import special, stats

from dpverify.errors import ParameterError
from dpverify.evidence.bounds import BinomialTest, BonferroniTest
from dpverify.evidence.tally import Tally

ALPHA = 0.05
NESTED = BonferroniTest(((1, 0.5), (2, 0.5)))


def tally(right, wrong, trials=None):
    return Tally(trials or sum(right) + sum(wrong), np.array(right), np.array(wrong))


def test_one_event_with_everything_is_the_binomial_test():
    seen = tally([40, 60], [10, 40])
    for levels in (1, 2):
        alone = BonferroniTest(((levels, 1.0),))
        assert alone.p_value(seen, eps=0.5, delta=0.0) == BinomialTest(levels).p_value(seen, eps=0.5, delta=0.0)
        found, wanted = (each.eps_lower(seen, delta=0.0, significance=ALPHA) for each in (alone, BinomialTest(levels)))
        assert found == wanted


def test_refuted_is_what_one_event_refutes_at_its_share():
    for right, wrong in [([40, 60], [10, 40]), ([10, 300], [9, 150]), ([3, 5], [30, 40])]:
        seen = tally(right, wrong)
        bounds = [BinomialTest(k).eps_lower(seen, delta=0.0, significance=ALPHA / 2) for k in (1, 2)]
        lower = NESTED.eps_lower(seen, delta=0.0, significance=ALPHA)
        assert lower == max(bounds)
        if lower > 0:
            assert NESTED.p_value(seen, eps=lower, delta=0.0) <= ALPHA
            assert NESTED.p_value(seen, eps=lower + 1e-6, delta=0.0) > ALPHA
    assert NESTED.p_value(tally([0, 0], [5, 5]), eps=0.0, delta=0.0) == 1.0


@pytest.mark.parametrize("eps", [0.1, 1.0])
def test_it_keeps_its_level_on_the_boundary(eps):
    """Both levels right with probability e^eps/(1 + e^eps): all outcomes of 30 and 60 guesses, summed exactly."""
    r = special.expit(eps)
    error = 0.0
    for v in range(31):
        for u in range(61):
            if NESTED.eps_lower(tally([v, u], [30 - v, 60 - u]), delta=0.0, significance=ALPHA) > eps:
                error += stats.binom.pmf(v, 30, r) * stats.binom.pmf(u, 60, r)
    assert 0.02 < error <= ALPHA


def test_shares_and_events_are_checked():
    for events in [(), ((1, 0.6), (2, 0.6)), ((1, 0.0),), ((1, math.nan),), ((0, 1.0),), ((1, -0.5), (2, 1.0))]:
        with pytest.raises(ParameterError):
            BonferroniTest(events)
    with pytest.raises(ParameterError, match="delta"):
        NESTED.eps_lower(tally([3, 3], [1, 1]), delta=0.1, significance=ALPHA)
