"""The binary mechanism: streaming, both views, ledger, likelihood ratio, the spec's table of true/claimed."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpverify.claims.neighbours import Pair, Relation
from dpverify.errors import ParameterError, UsageError
from mechanisms.counters import dyadic
from mechanisms.counters.logbase import LogBase
from mechanisms.counters.stream import Stream
from mechanisms.counters.tree import BinaryCounter
from mechanisms.toolbox.noise_laws import (
    DiscreteGaussianNoiseLaw,
    DiscreteLaplaceNoiseLaw,
    GaussianNoiseLaw,
    LaplaceNoiseLaw,
)

NOISES = [LaplaceNoiseLaw(1.5), DiscreteLaplaceNoiseLaw(1.5), GaussianNoiseLaw(2.0), DiscreteGaussianNoiseLaw(2.0)]


def exact_eps(counter, relation=Relation.REPLACE_ONE) -> Fraction:
    """Pure-DP parameter of a Laplace ledger: sum of size x count / scale, in exact fractions."""
    return sum(
        (
            Fraction(shift.size) * shift.count / Fraction(event.scale)
            for event in counter.ledger.events
            for shift in event.sensitivity.under(relation)
        ),
        Fraction(0),
    )


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("releases", [1, 2, 3, 7, 8, 21])
def test_streaming_equals_whole_stream_bit_for_bit(noise, releases):
    values = np.random.default_rng(1).integers(0, 2, size=(releases, 2, 3)).astype(float)
    if not isinstance(noise, DiscreteLaplaceNoiseLaw | DiscreteGaussianNoiseLaw):
        values /= 3  # sums that round
    counter = BinaryCounter(releases=releases, noise=noise, cells=(2, 3), touches=6)
    whole = counter.release(Stream(values), rng=np.random.default_rng(7), size=5)
    nodes = BinaryCounter(releases=releases, noise=noise, cells=(2, 3), touches=6, view="nodes").release(
        Stream(values), rng=np.random.default_rng(7), size=5
    )
    stream = counter.stream(5, rng=np.random.default_rng(7))
    for t in range(releases):
        assert np.array_equal(stream.feed(np.broadcast_to(values[t], (5, 2, 3))), whole[:, t])
        assert np.array_equal(stream.node, nodes[:, t])
    with pytest.raises(UsageError, match="seen them all"):
        stream.feed(np.zeros((5, 2, 3)))


def test_output_is_algorithm_5_line_by_line():
    """A literal transcription (with Bin_j(t) for the misprinted Bin_j(T)) on the same noise."""
    horizon, values = 13, np.random.default_rng(3).integers(0, 2, size=13).astype(float)
    noise = LaplaceNoiseLaw(2.0).draw(horizon, (1,), rng=np.random.default_rng(5))[:, 0]
    alpha, noisy, outputs = np.zeros(4), np.zeros(4), []
    for t in range(1, horizon + 1):
        binary = [t >> j & 1 for j in range(4)]
        i = min(j for j in range(4) if binary[j])
        alpha[i] = alpha[:i].sum() + values[t - 1]
        alpha[:i] = noisy[:i] = 0
        noisy[i] = alpha[i] + noise[t - 1]
        outputs.append(sum(noisy[j] for j in range(4) if binary[j]))
    counter = BinaryCounter(releases=horizon, noise=LaplaceNoiseLaw(2.0))
    released = counter.release(Stream(values), rng=np.random.default_rng(5), size=1)
    assert np.allclose(released[0], outputs, rtol=0, atol=1e-12)


def direct_density(outputs, values, log_density):
    """log density of the prefix counts of T = 3 by the chain rule; the map nodes -> outputs has determinant 1."""
    b1, b2, b3 = outputs.T
    return (
        log_density(b1 - values[0])  # node (0, 1]
        + log_density(b2 - values[0] - values[1])  # node (0, 2]
        + log_density(b3 - b2 - values[2])  # node (2, 3], given b2
    )


@pytest.mark.parametrize(
    ("noise", "log_density"),
    [
        (LaplaceNoiseLaw(1.5), stats.laplace(scale=1.5).logpdf),
        (DiscreteLaplaceNoiseLaw(1.5), stats.dlaplace(1 / 1.5).logpmf),
        (GaussianNoiseLaw(2.0), stats.norm(scale=2.0).logpdf),
        (DiscreteGaussianNoiseLaw(2.0), stats.norm(scale=2.0).logpdf),  # the same up to a constant
    ],
)
@pytest.mark.parametrize("item", [0, 1, 2])
def test_likelihood_ratio_is_the_ratio_of_densities(noise, log_density, item):
    values = np.array([1.0, 0.0, 1.0])
    changed = values.copy()
    changed[item] = 1 - values[item]
    counter = BinaryCounter(releases=3, noise=noise)
    seen = counter.release(Stream(values), rng=np.random.default_rng(4), size=200)
    direct = direct_density(seen, values, log_density) - direct_density(seen, changed, log_density)
    assert np.allclose(counter.log_ratio(seen, Pair(Stream(values), Stream(changed))), direct, atol=1e-10)


@pytest.mark.parametrize("noise", [LaplaceNoiseLaw(1.5), DiscreteLaplaceNoiseLaw(1.5)])
@pytest.mark.parametrize("releases", [1, 2, 3, 4, 5, 8])
def test_ledger_is_reached_exactly_by_item_one_and_never_passed(noise, releases):
    counter = BinaryCounter(releases=releases, noise=noise)
    zeros = np.zeros(releases)
    for item in range(1, releases + 1):
        ones = zeros.copy()
        ones[item - 1] = 1
        far = np.full((1, releases), -100.0)  # every node on the far side
        white = BinaryCounter(releases=releases, noise=noise, view="nodes")
        ratio = white.log_ratio(far, Pair(Stream(zeros), Stream(ones)))[0]
        assert ratio == len(dyadic.nodes_containing(item, releases)) / 1.5
        assert Fraction(ratio) <= exact_eps(counter) or math.isclose(ratio, exact_eps(counter), rel_tol=1e-15)


# Spec table: true/claimed of one counter. (T, R, log2, ln)
ONE_COUNTER = [
    (2, 2, 2.000, 2.885),
    (2, 1, 1.000, 1.443),
    (3, 3, 1.262, 1.820),
    (3, 2, 1.262, 1.820),
    (4, 4, 1.500, 2.164),
    (4, 3, 1.000, 1.443),
    (5, 5, 1.292, 1.864),
    (5, 4, 1.292, 1.864),
    (1000, 1000, 1.003, 1.448),
    (1024, 1024, 1.100, 1.587),
    (1024, 1023, 1.000, 1.443),
]


@pytest.mark.parametrize(("horizon", "releases", "log2", "ln"), ONE_COUNTER)
@pytest.mark.parametrize("eps", [0.1, 1.0, 2.25])
def test_printed_counter_spends_what_the_table_says(horizon, releases, log2, ln, eps):
    for base, expected in ((LogBase.TWO, log2), (LogBase.E, ln)):
        counter = BinaryCounter.printed(horizon, eps, log=base, releases=releases)
        assert float(exact_eps(counter) / Fraction(eps)) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("discrete", [False, True])
def test_calibrated_counter_meets_its_claim_exactly_and_wastes_nothing(relation, discrete):
    for releases in (1, 2, 3, 4, 31, 32, 1000):
        for eps in (0.1, 0.3, 1.0, 2.25):
            counter = BinaryCounter.calibrated(
                releases, eps, relation=relation, discrete=discrete, cells=(9,), touches=3
            )
            spent = exact_eps(counter, relation)
            assert spent <= Fraction(eps)
            assert spent >= Fraction(eps) * (1 - Fraction(1, 2**51))  # one rounding step of the scale


def test_replacing_moves_twice_the_cells_unless_there_is_only_one():
    def spent(cells, touches, relation):
        return exact_eps(BinaryCounter(releases=1, noise=LaplaceNoiseLaw(1.0), cells=cells, touches=touches), relation)

    assert spent((), 1, Relation.REPLACE_ONE) == spent((), 1, Relation.ADD_OR_REMOVE_ONE) == 1
    assert spent((5,), 2, Relation.REPLACE_ONE) == 2 * spent((5,), 2, Relation.ADD_OR_REMOVE_ONE) == 4
    assert spent((3,), 2, Relation.REPLACE_ONE) == 3


def test_datasets_outside_the_ledger_are_refused():
    counter = BinaryCounter(releases=2, noise=LaplaceNoiseLaw(1.0), cells=(3,), touches=1)
    rng = np.random.default_rng(0)
    for bad in (np.zeros((2, 3)), Stream(np.zeros((3, 3))), Stream([[1, 1, 0], [0, 0, 0]])):
        with pytest.raises(ParameterError):
            counter.release(bad, rng=rng, size=1)
    with pytest.raises(ParameterError, match="whole numbers"):
        BinaryCounter(releases=1, noise=DiscreteLaplaceNoiseLaw(1.0)).release(Stream([0.5]), rng=rng, size=1)
    with pytest.raises(ParameterError):
        BinaryCounter(releases=1, noise=LaplaceNoiseLaw(1.0), touches=2)
    with pytest.raises(ParameterError):
        BinaryCounter(releases=1, noise=LaplaceNoiseLaw(1.0), view="all")  # type: ignore[arg-type]


def test_streams_are_checked_and_know_their_differences():
    for bad in ([], [1.5], [-0.1], [float("nan")], 1.0):
        with pytest.raises(ParameterError):
            Stream(bad)
    with pytest.raises(ParameterError):
        Stream([1, 0], present=[False, True])
    pair = Pair(Stream([1, 0, 1]), Stream([1, 1, 1]))
    assert pair.checked(Relation.REPLACE_ONE).verified
    with pytest.raises(UsageError):
        pair.checked(Relation.ADD_OR_REMOVE_ONE)
    gone = Pair(Stream([1, 0, 1]), Stream([0, 0, 1], present=[False, True, True]))
    assert gone.checked(Relation.ADD_OR_REMOVE_ONE).verified
    with pytest.raises(UsageError):
        gone.checked(Relation.REPLACE_ONE)
    for other in (Stream([1, 0]), Stream([[1], [0], [1]]), Stream([0, 1, 1])):
        with pytest.raises(UsageError):
            Pair(Stream([1, 0, 1]), other).checked(Relation.REPLACE_ONE)


# Spec table: PUCB's three families together, true/claimed under replace-one. (T, R, log2, ln)
PUCB = [
    (2, 2, 4.00, 5.77),
    (2, 1, 2.00, 2.89),
    (3, 3, 2.52, 3.64),
    (4, 4, 3.00, 4.33),
    (4, 3, 2.00, 2.89),
    (5, 5, 2.58, 3.73),
    (1000, 1000, 2.01, 2.90),
    (1024, 1024, 2.20, 3.17),
    (1024, 1023, 2.00, 2.89),
]
