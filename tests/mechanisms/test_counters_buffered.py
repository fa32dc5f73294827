"""Sum-of-exponentials decoder: exact factorisation, norm, accuracy, streaming, likelihood ratio."""

import math

import numpy as np
import pytest
from scipy import stats

from dpverify.claims.neighbours import Pair
from mechanisms.counters import error_bounds as errors
from mechanisms.counters.buffered import BufferedCounter, buffers, encoder
from mechanisms.counters.stream import Stream
from mechanisms.counters.toeplitz import coefficients, column_norm
from mechanisms.toolbox.noise_laws import GaussianNoiseLaw


def lower(column):
    gap = np.subtract.outer(np.arange(len(column)), np.arange(len(column)))
    return np.where(gap >= 0, column[np.abs(gap)], 0.0)


@pytest.mark.parametrize("releases", [1, 2, 16, 300])
def test_decoder_times_encoder_is_the_prefix_matrix(releases):
    counter = BufferedCounter(releases=releases, noise=GaussianNoiseLaw(1.0))
    assert np.allclose(lower(counter.coefficients) @ lower(counter.encoder), np.tri(releases), rtol=0, atol=1e-11)
    assert np.allclose(counter.correlated(np.eye(releases)), lower(counter.coefficients), rtol=0, atol=1e-12)


@pytest.mark.parametrize("releases", [1, 2, 100, 2000])
def test_column_norm_is_above_one_in_extended_precision(releases):
    """The same recursion in 80-bit arithmetic, eleven more bits; the inflation of 1e-9 is far above both errors."""
    b = BufferedCounter(releases=releases, noise=GaussianNoiseLaw(1.0)).coefficients.astype(np.longdouble)
    c = np.ones(releases, dtype=np.longdouble)
    for k in range(1, releases):
        c[k] = 1 - (b[1 : k + 1] * c[k - 1 :: -1]).sum()
    norm = float(np.sqrt((c**2).sum()))
    assert norm * (1 + 1e-10) <= BufferedCounter.column_norm(releases) <= norm * (1 + 2e-9)


@pytest.mark.parametrize("releases", [16, 256, 20_000])
def test_approximation_and_its_cost_are_as_documented(releases):
    counter = BufferedCounter(releases=releases, noise=GaussianNoiseLaw(1.0))
    assert np.abs(counter.coefficients / coefficients(releases) - 1).max() < 0.03
    cost = counter.column_norm(releases) * errors.worst_deviation(counter)
    assert cost == pytest.approx(column_norm(releases) ** 2, rel=2e-4)
    assert len(buffers(releases)[0]) <= math.log(releases) / 2 + 12


@pytest.mark.parametrize("releases", [1, 2, 30])
def test_streaming_equals_whole_stream_bit_for_bit(releases):
    values = np.random.default_rng(1).random(size=(releases, 2))
    counter = BufferedCounter(releases=releases, noise=GaussianNoiseLaw(2.0), cells=(2,), touches=2)
    whole = counter.release(Stream(values), rng=np.random.default_rng(7), size=4)
    stream = counter.stream(4, rng=np.random.default_rng(7))
    for t in range(releases):
        assert np.array_equal(stream.feed(np.broadcast_to(values[t], (4, 2))), whole[:, t])


@pytest.mark.parametrize("item", [0, 3])
def test_likelihood_ratio_is_that_of_the_multivariate_normal(item):
    values = np.array([1.0, 0, 1, 1, 0])
    changed = values.copy()
    changed[item] = 1 - changed[item]
    counter = BufferedCounter.calibrated(5, rho=0.3)
    seen = counter.release(Stream(values), rng=np.random.default_rng(0), size=40)
    decoder = lower(counter.coefficients)
    covariance = counter.noise.variance * decoder @ decoder.T
    logs = [stats.multivariate_normal(v.cumsum(), covariance).logpdf(seen) for v in (values, changed)]
    ours = counter.log_ratio(seen, Pair(Stream(values), Stream(changed)))
    assert np.allclose(ours, logs[0] - logs[1], atol=1e-9)
    spent = [counter.log_ratio(v.cumsum()[None], Pair(Stream(v), Stream(np.zeros(5))))[0] for v in np.eye(5)]
    assert max(spent) == spent[0] == pytest.approx(0.3, rel=1e-8)


def test_encoder_of_one_step_is_plain():
    assert encoder(1) == [1.0]
