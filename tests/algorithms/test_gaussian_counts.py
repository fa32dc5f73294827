"""Privatizers at (eps, delta): the account of what is drawn, the stated number, and the law of the noise."""

import numpy as np
import pytest

from algorithms.beyond.gaussian_counts import GaussianMessages, GaussianTrees
from algorithms.core.counting import layout_of
from algorithms.core.environments import river_swim
from dpverify.accounting.accountant import account, meets
from dpverify.base.seeding import Stage, stream
from mechanisms.datasets.visit_counts import CountLayout

SMALL = CountLayout(H=1, S=2, A=2, rewards=True)
MAKE = {"trees": GaussianTrees.central, "messages": GaussianMessages.local}


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("eps", [0.1, 1.0, 10.0])
def test_the_account_is_at_most_what_the_curve_states_and_half_the_noise_is_above(name, eps):
    source = MAKE[name](layout_of(river_swim().model), 20_000, eps, 1e-3)
    assert eps * (1 - 1e-6) < account(source, delta=1e-3) <= eps
    assert meets(source.claim, source.ledger)
    half = source.with_noise(0.5)
    assert account(half, delta=1e-3) > 1.5 * eps
    assert not meets(half.claim, half.ledger)


def test_messages_have_independent_normal_noise():
    """Mean square of 40,000 draws: deviation sqrt(2/40000) = .007 of it; five of them (6e-7)."""
    source = GaussianMessages.local(SMALL, 5, 1.0, 1e-3)
    feed = source.stream(1_250, rng=stream(1, Stage.EXPERIMENT))
    own = stream(2, Stage.EXPERIMENT).random((4, 1_250, SMALL.cells))
    released = np.stack([feed.feed(each) for each in own], axis=1)
    noise = (np.diff(released, axis=1, prepend=0.0) - own.transpose(1, 0, 2)) / source.sigma
    assert abs((noise**2).mean() - 1) < 5 * np.sqrt(2 / noise.size)
    between = np.corrcoef(noise.reshape(len(noise), -1).T) - np.eye(noise[0].size)
    assert abs(between).max() < 6 / np.sqrt(1_250)
