"""Where nothing is found, a run still says what it would have caught: no honest mechanism is INCONCLUSIVE for that."""

import numpy as np
import pytest

from dpverify import ApproxDP, audit, GaussianDP, Pair, PureDP, ZCDP


def still(data, *, rng, size):
    return rng.normal(size=size)


def vector(data, *, rng, size):
    return 0.01 * data + rng.normal(size=(size, 5))


def coin(data, *, rng, size):
    return rng.random(size) < 0.5


@pytest.mark.parametrize("claim", [PureDP(1.0), ApproxDP(0.9, 1e-3), ApproxDP(0.5, 1e-6), ZCDP(0.5), GaussianDP(0.5)])
@pytest.mark.parametrize("target", [still, vector, coin])
@pytest.mark.parametrize("significance", [0.05, 2e-4])  # alone, and as one of 250 statements
def test_an_honest_mechanism_far_below_its_claim_is_judged(target, claim, significance):
    record = audit(target, claim=claim, pair=Pair(0, 1), trials=2000, seed=3, significance=significance)
    assert record.verdict.value == "NOT_REFUTED"
    assert claim.number < record.detectable < np.inf
