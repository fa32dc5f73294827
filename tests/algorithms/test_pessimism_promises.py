"""Pessimism of the offline learners: kept with the printed penalties, broken without the term that pays for noise."""

import numpy as np
import pytest

from algorithms.offline.pessimism_promises import batch_counts, extra_pessimism, fan
from audits import audit_apvi, audit_vapvi
from dpverify.base.seeding import Stage, stream


def misses(arrivals, judged, states):
    """(runs,): sum (P^ - P) V~ above what (22) allows at iota = 8; V~ from `arrivals`, P^ from `judged`, (runs, S)."""
    n, iota = arrivals[0].sum(), 8.0
    values = 1 - 7 / 3 * 2 * iota / arrivals
    kernel = judged / n
    excess = ((kernel - 1 / states) * values).sum(axis=1)
    spread = (kernel * values**2).sum(axis=1) - (kernel * values).sum(axis=1) ** 2
    return excess > np.sqrt(2 * spread * iota / n) + 7 / 3 * 2 * iota / n


def test_it_is_the_dependence_that_breaks_lemma_c10():
    """The same values judged by arrivals of other users keep (22)."""
    states = 300
    counts = batch_counts(fan(states), np.ones((2, states, 1)), audit_apvi.PER_STATE * states)
    own, other = (counts(stream(key, Stage.EXPERIMENT), 20).transitions[:, 0, 0, 0] for key in (3, 4))
    assert misses(own, own, states).all()
    assert not misses(own, other, states).any()


def test_d_over_k_grows_with_the_noise_and_with_one_over_kappa():
    noise = audit_vapvi.strong
    less = type(noise).as_printed(100 * noise.rho, noise.H, noise.d)
    large, small = (extra_pessimism(each, 0.1, 0.05) for each in (noise, less))
    fixed = noise.H**3 * noise.d**0.5
    assert (large - fixed) / (small - fixed) == pytest.approx(10, rel=1e-6)
    assert extra_pessimism(noise, 0.05, 0.05) > large
