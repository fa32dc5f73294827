"""Error bounds: the closed form against other derivations, the spec's table, simulated failure rates."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from dpverify.errors import ParameterError
from mechanisms.counters import error_bounds as errors
from mechanisms.counters.honaker import HonakerCounter
from mechanisms.counters.logbase import LogBase
from mechanisms.counters.single_noise import SingleNoiseCounter
from mechanisms.counters.stream import Stream
from mechanisms.counters.toeplitz import ToeplitzCounter
from mechanisms.counters.tree import BinaryCounter
from mechanisms.toolbox.noise_laws import (
    DiscreteGaussianNoiseLaw,
    DiscreteLaplaceNoiseLaw,
    GaussianNoiseLaw,
    LaplaceNoiseLaw,
)

ALPHA = 1e-6  # level of each exact binomial test here; all are seeded


def test_tail_of_one_and_two_laplace_by_hand():
    for x in (0.0, 0.5, 3.0, 30.0):
        assert errors.laplace_sum_tail(1, x) == pytest.approx(math.exp(-x), rel=1e-12)
        assert errors.laplace_sum_tail(2, x) == pytest.approx((1 + x / 2) * math.exp(-x), rel=1e-12)


@pytest.mark.parametrize("terms", [3, 7, 17])
@pytest.mark.parametrize("x", [0.3, 4.0, 25.0])
def test_tail_against_the_mixture_integral(terms, x):
    """Given one Gamma variable G, Pr[G' - G > x] = E Q(w, x + G): quadrature of a different formula."""
    law = stats.gamma(terms)
    direct, _ = integrate.quad(lambda g: law.pdf(g) * law.sf(x + g), 0, 60 + 10 * terms, epsabs=0, epsrel=1e-11)
    assert errors.laplace_sum_tail(terms, x) == pytest.approx(2 * direct, rel=1e-9)


# Spec table: T, beta, numerical quantile, provable, printed; log2 and noise of the printed counter at eps = 1
TABLE = [
    (2, 0.1, 3.0, 9.1, 9.2),
    (16, 0.01, 38.7, 83, 589),
    (1024, 0.01, 189, 354, 5825),
    (100_000, 1e-6, 678, 1131, 62134),
]


@pytest.mark.parametrize(("horizon", "beta", "quantile", "provable", "printed"), TABLE)
def test_bounds_reproduce_the_table(horizon, beta, quantile, provable, printed):
    counter = BinaryCounter.printed(horizon, 1.0, log=LogBase.TWO)
    scale = counter.noise.scale
    assert errors.numerical_bound(counter, beta) == pytest.approx(quantile, rel=0.012)
    assert errors.binary_tail_bound(scale, horizon, beta) == pytest.approx(provable, rel=0.01)
    assert errors.printed_bound(horizon, 1.0, beta, log=LogBase.TWO) == pytest.approx(printed, rel=0.01)
    assert errors.numerical_bound(counter, beta) <= errors.provable_bound(counter, beta)
    assert errors.provable_bound(counter, beta) <= errors.binary_tail_bound(scale, horizon, beta) * (1 + 1e-12)


COUNTERS = [
    BinaryCounter(releases=13, noise=LaplaceNoiseLaw(1.0)),
    BinaryCounter(releases=13, noise=DiscreteLaplaceNoiseLaw(1.0)),
    BinaryCounter(releases=13, noise=GaussianNoiseLaw(1.0)),
    BinaryCounter(releases=13, noise=DiscreteGaussianNoiseLaw(1.0)),
    HonakerCounter(releases=13, noise=LaplaceNoiseLaw(1.0)),
    HonakerCounter(releases=13, noise=DiscreteLaplaceNoiseLaw(0.3)),
    HonakerCounter(releases=13, noise=GaussianNoiseLaw(1.0)),
    ToeplitzCounter(releases=13, noise=GaussianNoiseLaw(1.0)),
    SingleNoiseCounter(releases=13, eps=1.0),
]


def simulated_errors(counter, trials):
    stream = Stream(np.zeros(counter.releases))
    return counter.counts(counter.release(stream, rng=np.random.default_rng(17), size=trials))


@pytest.mark.parametrize("counter", [COUNTERS[0], COUNTERS[2], COUNTERS[7]], ids=repr)
def test_numerical_bound_holds_and_is_not_far_off(counter):
    """beta = 0.05, n = 40,000: the failure rate is at most beta (exact test, level ALPHA) and above beta/5.

    The second half: failures ~ Binomial(n, p); p <= beta/5 would give more than what is asked for here with
    probability below 1e-9.
    """
    beta, trials = 0.05, 40_000
    bound = errors.numerical_bound(counter, beta)
    failures = int((np.abs(simulated_errors(counter, trials)).max(axis=1) > bound).sum())
    assert stats.binomtest(failures, trials, beta, alternative="greater").pvalue > ALPHA
    assert stats.binomtest(failures, trials, beta / 5, alternative="greater").pvalue < 1e-9


@pytest.mark.parametrize("counter", COUNTERS, ids=repr)
def test_variances_are_the_simulated_ones(counter):
    """Mean square over 20,000 trials, 13 outputs; the tolerance of 8 % is more than 6 standard errors."""
    squares = (simulated_errors(counter, 20_000) ** 2).mean(axis=0)
    assert squares.mean() == pytest.approx(errors.mean_square_error(counter), rel=0.08)
    assert math.sqrt(squares.max()) == pytest.approx(errors.worst_deviation(counter), rel=0.08)


def test_no_noise_has_no_error_and_unknown_sums_are_refused():
    assert errors.numerical_bound(BinaryCounter.printed(1, 1.0, log=LogBase.E), 0.1) == 0
    with pytest.raises(ParameterError):
        errors.numerical_bound(COUNTERS[4], 0.1)
    for bad in (0.0, 1.0, float("nan")):
        with pytest.raises(ParameterError):
            errors.provable_bound(COUNTERS[0], bad)
