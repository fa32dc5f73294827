"""Square-root factorisation: exact coefficients, ledger, streaming, likelihood ratio against dense algebra."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy import stats

from dpverify.claims.neighbours import Pair, Relation
from dpverify.errors import UsageError
from mechanisms.counters.stream import Stream
from mechanisms.counters.toeplitz import coefficients, column_norm, ToeplitzCounter
from mechanisms.toolbox.noise_laws import GaussianNoiseLaw


def dense(releases):
    column = coefficients(releases)
    return np.array([[column[i - j] if i >= j else 0.0 for j in range(releases)] for i in range(releases)])


def test_coefficients_are_central_binomials_over_powers_of_four():
    for k, value in enumerate(coefficients(300)):
        assert abs(Fraction(value) / Fraction(comb(2 * k, k), 4**k) - 1) <= Fraction(max(k, 1), 2**52)


@pytest.mark.parametrize("releases", [1, 2, 5, 64, 65, 200])
def test_square_of_the_root_is_the_prefix_matrix(releases):
    assert np.allclose(dense(releases) @ dense(releases), np.tri(releases), atol=1e-12)
    counter = ToeplitzCounter(releases=releases, noise=GaussianNoiseLaw(1.0))
    assert np.allclose(counter.correlated(np.eye(releases)), dense(releases), atol=1e-12)


@pytest.mark.parametrize("releases", [1, 2, 3, 10, 300])
def test_column_norm_is_rounded_up_and_is_the_largest_column(releases):
    exact = sum(Fraction(comb(2 * k, k), 4**k) ** 2 for k in range(releases))
    norm = Fraction(column_norm(releases))
    assert exact <= norm**2 <= exact * (1 + Fraction(1, 10**11))
    assert np.linalg.norm(dense(releases), axis=0).max() == pytest.approx(float(norm))


@pytest.mark.parametrize("releases", [1, 2, 30, 100])
def test_streaming_equals_whole_stream_bit_for_bit(releases):
    values = np.random.default_rng(1).random(size=(releases, 2))
    counter = ToeplitzCounter(releases=releases, noise=GaussianNoiseLaw(2.0), cells=(2,), touches=2)
    whole = counter.release(Stream(values), rng=np.random.default_rng(7), size=4)
    stream = counter.stream(4, rng=np.random.default_rng(7))
    for t in range(releases):
        assert np.array_equal(stream.feed(np.broadcast_to(values[t], (4, 2))), whole[:, t])
    with pytest.raises(UsageError):
        stream.feed(np.zeros((4, 2)))


@pytest.mark.parametrize("item", [0, 2, 4])
def test_likelihood_ratio_is_that_of_the_multivariate_normal(item):
    values = np.array([1.0, 0, 1, 1, 0])
    changed = values.copy()
    changed[item] = 1 - changed[item]
    counter = ToeplitzCounter(releases=5, noise=GaussianNoiseLaw(1.7))
    seen = counter.release(Stream(values), rng=np.random.default_rng(0), size=40)
    covariance = 1.7**2 * dense(5) @ dense(5).T
    logs = [stats.multivariate_normal(v.cumsum(), covariance).logpdf(seen) for v in (values, changed)]
    ours = counter.log_ratio(seen, Pair(Stream(values), Stream(changed)))
    assert np.allclose(ours, logs[0] - logs[1], atol=1e-9)


@pytest.mark.parametrize("releases", [1, 4, 100])
def test_ledger_is_the_exact_gdp_parameter_of_item_one(releases):
    """The log ratio's mean under the first dataset is mu^2/2 = rho: item 1 spends the ledger, later items less."""
    counter = ToeplitzCounter(releases=releases, noise=GaussianNoiseLaw(2.0))
    (event,) = counter.ledger.events
    (shift,) = event.sensitivity.under(Relation.REPLACE_ONE)
    zeros, spent = np.zeros(releases), []
    for item in range(releases):
        ones = zeros.copy()
        ones[item] = 1
        exact = ones.cumsum()[None]
        spent.append(counter.log_ratio(exact, Pair(Stream(ones), Stream(zeros)))[0])
    assert max(spent) == spent[0] == pytest.approx((shift.size / 2.0) ** 2 / 2, rel=1e-9)
    assert shift.count == 1


def test_calibration_meets_rho_exactly():
    for releases in (1, 8, 1000):
        for rho in (0.1, 1.0):
            for relation, moved in ((Relation.REPLACE_ONE, 4), (Relation.ADD_OR_REMOVE_ONE, 2)):
                counter = ToeplitzCounter.calibrated(releases, rho=rho, relation=relation, cells=(9,), touches=2)
                (event,) = counter.ledger.events
                (shift,) = event.sensitivity.under(relation)
                assert shift.count == moved
                spent = moved * Fraction(shift.size) ** 2 / (2 * Fraction(counter.noise.sigma) ** 2)
                assert Fraction(rho) * (1 - Fraction(1, 10**12)) <= spent <= Fraction(rho)
