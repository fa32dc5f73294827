"""Rare losses far out: many steps that sample at small rates, where moments are those of the tail alone."""

from fractions import Fraction

import numpy as np
import pytest

from dpverify import Relation
from dpverify.accounting.accountant import eps_upper
from dpverify.accounting.composition import composed
from dpverify.accounting.losses_of_ledger import alternatives
from dpverify.accounting.noise_losses import GaussianLoss
from dpverify.accounting.sampled_losses import SampledLoss, Sampling
from dpverify.ledger.compound_events import PoissonSampled
from dpverify.ledger.events import GaussianNoise, Ledger, Sensitivity

A = Relation.ADD_OR_REMOVE_ONE
# rate, sigma, steps, delta, eps: dp-accounting 0.6 at intervals of 1e-4, 1e-5 and 1e-6, extrapolated
STEPS = [
    (1e-4, 0.5, 100_000, 1e-5, 2.05775),
    (1.9e-4, 0.94, 90_872, 8.2e-11, 0.48989),
    (4.3e-4, 0.76, 82_937, 9.6e-6, 1.04069),
    (1.7e-4, 1.1, 761, 2.3e-11, 0.057502),
]


def sgd(rate, sigma, steps):
    inside = Ledger(GaussianNoise(sigma=sigma, sensitivity=Sensitivity(add_remove=1)))
    return Ledger(PoissonSampled(rate=rate, inside=inside)) * steps


@pytest.mark.parametrize(("rate", "sigma", "steps", "delta", "stated"), STEPS)
def test_small_rates(rate, sigma, steps, delta, stated):
    """The first two were five and 35 times too much: what adding a user costs was charged as 1/(1 - rate) a step."""
    eps = eps_upper(sgd(rate, sigma, steps), delta=delta, relation=A)
    assert stated * (1 - 2e-4) < eps < 1.005 * stated


@pytest.mark.parametrize("sampling", list(Sampling)[:2])
@pytest.mark.parametrize("wide", [0.3, 1.07, 7.0])
def test_coarse_points_keep_both_masses(sampling, wide):
    """E[1 - e^-L] is what one law has and the other one lacks, nothing; points as far apart as the largest loss."""
    rate = Fraction(1, 10_000)
    loss = SampledLoss(rate, ((GaussianLoss(Fraction(4)), 1),), sampling)
    law = loss.on_points(np.arange(-80_000, 80_001) * wide * float(rate))
    assert law.infinite < 1e-9
    assert abs(float((law.masses * -np.expm1(-law.points)).sum())) < 1e-9 < float(rate) / 100


@pytest.mark.parametrize(("rate", "sigma", "steps", "delta"), [(1e-4, 1, 10_000, 1e-6), (1e-4, 2, 100_000, 1e-12)])
def test_searches_begin_near_where_they_end(rate, sigma, steps, delta):
    """At 30,000 times that eps, where they began, sums took 16 seconds."""
    for losses in alternatives(sgd(rate, sigma, steps), A):
        found = composed(losses)
        assert 0.5 * delta < found.delta_at(found.guess(delta)) < 3 * delta
