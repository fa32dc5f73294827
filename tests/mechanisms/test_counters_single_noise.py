"""The negative control: the differencing attack of PUCB's section 2.2 and what is true for future users."""

import numpy as np
import pytest

from dpverify.claims.neighbours import Pair
from dpverify.errors import ParameterError, TargetError
from dpverify.ledger.events import Exposed, LaplaceNoise
from mechanisms.counters.single_noise import SingleNoiseCounter
from mechanisms.counters.stream import Stream

PAIR = Pair(Stream([1, 0, 1, 0]), Stream([1, 1, 1, 0]))


def test_colluding_neighbours_in_time_read_the_item():
    seen = SingleNoiseCounter(releases=4, eps=0.1).release(PAIR.second, rng=np.random.default_rng(0), size=100)
    assert np.allclose(seen[:, 2] - seen[:, 0] - 1, 1, atol=1e-9)  # m_3 - m_1 - x_3 = x_2


def test_likelihood_ratio_is_infinite_under_continual_observation():
    counter = SingleNoiseCounter(releases=4, eps=0.1)
    for data, sign in ((PAIR.first, 1), (PAIR.second, -1)):
        seen = counter.release(data, rng=np.random.default_rng(1), size=50)
        assert (counter.log_ratio(seen, PAIR) == sign * np.inf).all()
    assert isinstance(counter.ledger.events[0], Exposed)
    with pytest.raises(TargetError):
        counter.log_ratio(np.array([[0.0, 5.0, 9.0, 9.0]]), PAIR)


def test_later_users_alone_see_one_laplace_release():
    counter = SingleNoiseCounter(releases=4, eps=0.1, first_seen=3)
    seen = counter.release(PAIR.first, rng=np.random.default_rng(2), size=1000)
    ratio = counter.log_ratio(seen, PAIR)
    assert seen.shape == (1000, 2)
    assert np.allclose(ratio, (np.abs(seen[:, 0] - 3) - np.abs(seen[:, 0] - 2)) * 0.1, atol=1e-9)
    assert np.abs(ratio).max() == pytest.approx(0.1)


def test_one_prefix_is_a_laplace_release():
    assert isinstance(SingleNoiseCounter(releases=1, eps=0.1).ledger.events[0], LaplaceNoise)
    with pytest.raises(ParameterError):
        SingleNoiseCounter(releases=1, eps=0.1, first_seen=2)
